# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan's services as the modules take them: programs to keep running, and services to wait for."""

from __future__ import annotations

import posixpath
import typing as t

Plan = t.Mapping[str, t.Any]
Service = t.Mapping[str, t.Any]

# Files of the software that are rewritten only when it changes: stamps of the environments (see python_venv), our plugin.
STAMPS: dict[str, tuple[str, ...]] = {"mooncake_master": ("mooncake",), "router": ("router",), "frontend": ()}
ENGINE_STAMPS = {"vllm_cpu": ("vllm", "mooncake"), "vllm_ascend": ("torch_npu", "vllm_ascend", "mooncake")}
PLUGIN = ("plugin.py", "mooncake_serial.py")


def unit(plan: Plan, service: Service) -> str:
    """Name of a service's program, unit or container."""
    return f"{plan['deployment']}-{service['name']}"


def programs(plan: Plan, services: t.Iterable[Service], suffix: str = "") -> list[dict[str, t.Any]]:
    """What supervisor_programs and systemd_units keep running: ``[{name, digest, digest_file, newer}]``.

    ``suffix`` ends the names; systemd's end with .service.
    """
    return [
        {
            "name": unit(plan, one) + suffix,
            "digest": one["digest"],
            "digest_file": posixpath.join(plan["directory"], "run", f"{one['name']}.digest"),
            "newer": [*_written(one), *software_files(plan, one)],
        }
        for one in services
    ]


def software_files(plan: Plan, service: Service) -> list[str]:
    """Files that are newer than the service if its software changed under it."""
    software = plan["software"]
    engine = service["kind"] not in STAMPS
    venv = software["router" if service["kind"] == "router" else "engine"]["venv"]
    stamps = STAMPS.get(service["kind"], ENGINE_STAMPS[plan["engine"]])
    files = [posixpath.join(venv, ".ascend-inference", f"{layer}.json") for layer in stamps]
    if engine:
        files += [
            posixpath.join(path, "ascend_inference_cpu", one)
            for path in software["engine"]["python_path"]
            for one in PLUGIN
        ]
    if service["kind"] == "router" and software["router"]["script"]:
        files.append(software["router"]["script"])
    return files


def _written(service: Service) -> list[str]:
    """The service's own files: one that somebody had edited is newer than the process once it is right again."""
    own = ["run.sh", "environment.sh", *(["secrets.sh"] if service["secret_env"] else [])]
    return [posixpath.join(service["work_directory"], one) for one in own] + [one["path"] for one in service["files"]]


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
