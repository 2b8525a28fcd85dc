# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter on_host: the services of a plan that run on one host."""

from __future__ import annotations

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.plan.generated import filled
from ..plugin_utils.plan.planner import on_host


def on_host_filter(plan: t.Any, host: t.Any, made: t.Any = None) -> list[dict[str, t.Any]]:
    """Services of one host, with their generated files if given."""
    services = on_host(plan, host)
    return filled(plain(services), plain(made)) if made else services


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"on_host": on_host_filter}
