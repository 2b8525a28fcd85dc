# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan's services as options of the module service_state."""

from __future__ import annotations

import posixpath
import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..engines.registry import engine
from ..releases.known_issues import met
from .program_code import code_files

Plan = t.Mapping[str, t.Any]
Service = t.Mapping[str, t.Any]

# Software files that are rewritten only on a change: stamps of virtual environments (see python_venv), our plugin.
STAMPS: dict[str, tuple[str, ...]] = {
    "mooncake_master": ("mooncake",),
    "router": ("router",),
    "balancer": (),
    "frontend": (),
    "etcd": (),
    "probe": (),
}


def service_states(plan: Plan, services: t.Iterable[Service]) -> list[dict[str, t.Any]]:
    """Option ``services`` of the module service_state, for some services of the plan."""
    issues = plan.get("known_issues") or [issue for issue in met(plan) if issue["signs"]]
    return [
        {
            "name": service["name"],
            "unit": service["unit"],
            "digest": service["digest"],
            "digest_file": service["digest_file"],
            **({"starts_file": service["starts_file"]} if service.get("starts_file") else {}),
            "newer": [*_written(service), *software_files(plan, service)],
            "stop_timeout": service["stop"]["timeout"],
            "stop_signal": service["stop"]["signal"],
            "script": service["scripts"]["run"],
            "container": service["container"],
            "log": service["log"],
            "url": service["health"]["url"] if service["health"] else "",
            "timeout": service["health"]["timeout"] if service["health"] else 0,
            **({"known_issues": issues} if issues and service["kind"] in ENGINE_KINDS else {}),
        }
        for service in services
    ]


def software_files(plan: Plan, service: Service) -> list[str]:
    """Files that are newer than the service if its software has changed; none if it is in an image."""
    if plan["runtime_facts"]["contained"]:
        return []
    software = plan["software"]
    found = engine(plan["engine"])  # not its facts in the plan: a rollback reads a plan that was made before
    venv = software["router" if service["kind"] == "router" else "engine"]["venv"]
    stamps = STAMPS.get(service["kind"], found.layers)
    files = [posixpath.join(venv, ".ascend-inference", f"{layer}.json") for layer in stamps]
    if service["kind"] not in STAMPS:
        files += [
            posixpath.join(path, found.plugin, item)
            for path in software["engine"]["python_path"]
            for item in found.plugin_files
        ]
    if service["kind"] == "router" and software["router"]["script"]:
        files.append(software["router"]["script"])
    return files


def _written(service: Service) -> list[str]:
    """The service's own files: a manually edited file is newer than the process once it is restored.

    Not the code of a program beside an engine: another version of it is no reason to load a model again.
    """
    code = code_files(service) if service["kind"] == "probe" else []
    return [*service["scripts"].values(), *(file["path"] for file in [*service["files"], *code])]
