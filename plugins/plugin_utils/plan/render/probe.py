# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service ``probe``: its program is code of this collection for hosts, which needs only the standard library of Python 3.7.

It runs on the host of the clients' entry, as the verification does, and asks what the section ``verify`` of the plan has.
"""

from __future__ import annotations

import json
import posixpath
import typing as t

from ....module_utils.probe import pause
from ..deployment import Context
from ..service import File, Health, Port, Service, Start, Stop, base_url
from .container import container
from .mooncake import engine_venv
from .router import router_venv
from .verify import verify_section

NAME = "probe"
MODULE = "ascend_inference_probe.probe.program"  # as views/program_code.py writes it


def probe_services(context: Context, services: t.Sequence[Service]) -> list[Service]:
    """The probe of a deployment that wants one; none in a cluster, whose entry is not on a host."""
    settings = context.description.probe
    section = verify_section(context, services) if settings.enabled and not context.runtime.in_cluster else {}
    host = context.hosts.get(str(section.get("entry", {}).get("host", "")))
    if not host:
        return []
    directory = context.service_directory(NAME)
    configuration = posixpath.join(directory, "probe.json")
    values = {
        "deployment": context.description.deployment,
        "verify": section,
        "address": host.address,
        "port": settings.port,
        "interval": settings.interval,
        "timeout": settings.timeout,
        "stalled": settings.stalled_after,
    }
    contained = context.contained and context.engine.images
    box = container(context, host, NAME, directory) if contained else None
    folder = settings.textfile_directory
    textfiles = {"PROBE_TEXTFILES": folder} if folder else {}
    if box and folder:
        # Before the mounts of the inventory: the rule of mounts takes what comes before those as the plan's own.
        box["mounts"] = [f"{folder}:{folder}", *box["mounts"]]
    return [
        Service(
            name=NAME,
            kind=NAME,
            host=host.name,
            address=host.address,
            argv=(_python(context, services, host.name), "-m", MODULE, configuration),
            env={"PYTHONPATH": context.code_directory(NAME), "PYTHONDONTWRITEBYTECODE": "1", **textfiles},
            secret_env=_keys(section),
            ports=(Port("metrics", settings.port, protocol="http"),),
            files=(File(configuration, json.dumps(values, indent=1, sort_keys=True) + "\n"),),
            work_directory=directory,
            start=Start(50),
            health=Health(f"{base_url(host.address, settings.port)}/health", 120),
            stop=Stop("TERM", 10),
            container=box,
            code_directory=context.code_directory(NAME),
            pause_file=pause.path(configuration),
        )
    ]


def _python(context: Context, services: t.Iterable[Service], host: str) -> str:
    """A Python that this deployment installs on the host: the router's, or the engine's."""
    if context.contained:
        return "python3"
    routed = any(service.kind == "router" and service.host == host for service in services)
    name = router_venv(context) if routed else engine_venv(context)
    return context.program(name)


def _keys(section: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Environment variables and the names of their secrets; a client's key is that of the entry."""
    names = {
        "PROBE_ENGINE_KEY": section.get("engine_api_key", ""),
        "PROBE_CLIENT_KEY": section["entry"].get("api_key", ""),
    }
    return {variable: str(name) for variable, name in names.items() if name}
