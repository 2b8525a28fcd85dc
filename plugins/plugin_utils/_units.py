# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan's services as the modules take them: programs to keep running, and services to wait for."""

from __future__ import annotations

import posixpath
import typing as t

Plan = t.Mapping[str, t.Any]
Service = t.Mapping[str, t.Any]


def unit(plan: Plan, service: Service) -> str:
    """Name of a service's program, unit or container."""
    return f"{plan['deployment']}-{service['name']}"


def programs(plan: Plan, services: t.Iterable[Service]) -> list[dict[str, t.Any]]:
    """Option ``programs`` of the module supervisor_programs: ``[{name, digest, digest_file, newer}]``."""
    return [
        {
            "name": unit(plan, one),
            "digest": one["digest"],
            "digest_file": posixpath.join(plan["directory"], "run", f"{one['name']}.digest"),
            "newer": [posixpath.join(one["work_directory"], "secrets.sh")] if one["secret_env"] else [],
        }
        for one in services
    ]


def waits(plan: Plan, services: t.Iterable[Service]) -> list[dict[str, t.Any]]:
    """Option ``services`` of the module service_wait: ``[{name, unit, url, timeout, log}]``, where there is a URL."""
    return [
        {
            "name": one["name"],
            "unit": unit(plan, one),
            "url": one["health"]["url"],
            "timeout": one["health"]["timeout"],
            "log": one["log"],
        }
        for one in services
        if one["health"]
    ]
