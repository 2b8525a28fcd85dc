# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The router's service, for all flavours."""

from __future__ import annotations

import json
import posixpath
import shlex
import typing as t

from ...description.variables import Host
from ..deployment import Context
from ..routers.base import Flavour, Members, Place, split, url
from ..routers.join_members import PROGRAM
from ..routers.registry import flavour_of
from ..service import File, Health, MembersFiles, Port, Service, Start, Stop, base_url
from .container import SOURCES, container
from .vllm import command_line, merged

NAME = "router"
KINDS = ("prefill", "decode", "colocated")


def flavour(context: Context) -> str:
    """The name of the router's flavour; ``none`` without a router of this deployment."""
    return flavour_of(context).name


def router_venv(context: Context) -> str:
    """Name of the router's virtual environment."""
    return f"router-{flavour(context)}-{context.release.name}"


def script_source(context: Context) -> str:
    """The path of the release's own proxy script in vLLM-Ascend's sources; empty for a packaged router."""
    found = flavour_of(context)
    script = None if found.package else found.script(found.name, context.release)
    return script.path if script else ""


def script_path(context: Context) -> str:
    """Path of the release's proxy script on the host; empty for a packaged router."""
    source = script_source(context)
    if not source:
        return ""
    if context.contained:
        return posixpath.join(SOURCES, source)
    return posixpath.join(context.venv(router_venv(context)), "share", "proxy", posixpath.basename(source))


def router_service(context: Context, host: Host, engines: t.Sequence[Service]) -> Service:
    """The proxy in front of all engines with an API."""
    settings, found = context.description.router, flavour_of(context)
    address = settings.bind or host.address
    reached = host.address if address in ("0.0.0.0", "::") else address
    place = Place(address, settings.port, settings.metrics_port or found.metrics_port, tuple(engines), context.posted)
    fronted = settings.frontend != "none" and not context.contained  # clients use the frontend's port then
    ports = [Port("api", settings.port, protocol="http", scope="cluster" if fronted else "client")]
    if found.metrics_port:
        ports.append(Port("metrics", place.metrics_port, protocol="http"))
    directory, npu = context.service_directory(NAME), context.description.engine == "vllm_ascend"
    contained = npu and context.contained
    # Releases up to 0.18 and the layerwise proxy import vLLM for its logger. In an image that imports torch, which loads the NPU libraries.
    # They need the driver, which this container does not have.
    env = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"} if contained and script_source(context) else {}
    env.update({key: str(settings.env[key]) for key in sorted(settings.env)})
    needs_key = "api_key" in context.description.secrets and found.sends_key(place)
    argv = (
        *_program(context, found),
        *command_line(merged(found.flags(found, place), settings.args)),
        *found.tail(place),
    )
    members = found.members(found, context.release, argv)
    return Service(
        name=NAME,
        kind="router",
        host=host.name,
        address=reached,
        argv=argv,
        env=env,
        secret_env={"OPENAI_API_KEY": "api_key"} if needs_key else {},
        ports=tuple(ports),
        work_directory=directory,
        start=Start(30, tuple(engine.name for engine in engines if engine.health)),
        health=Health(base_url(reached, settings.port) + _health_path(found, members), 120),
        stop=Stop("TERM", 30),
        container=container(context, host, NAME, directory, False) if contained else None,
        files=(File(_join_program(directory), PROGRAM),) if members and members.posted else (),
        members=_members_files(context, members, place, argv, base_url(reached, settings.port)) if members else None,
    )


def _health_path(found: Flavour, members: Members | None) -> str:
    """Its path that answers 200; one that has its engines added after the start answers 200 to this without engines."""
    return "/v1/models" if members and members.posted else found.health_path


def _join_program(directory: str) -> str:
    return posixpath.join(directory, "join_members.py")


def _members_files(
    context: Context, members: Members, place: Place, argv: t.Sequence[str], reached: str
) -> MembersFiles:
    """The engines as a script that sets arguments, and for a router that reads none as a file for a program that adds them."""
    directory = context.service_directory(NAME)
    arguments, others = split(argv, members.options)
    lines = ["# Written by ascend.inference. The engines behind the router.", "set -- " + shlex.join(arguments)]
    more: tuple[File, ...] = ()
    if members.posted:
        path = posixpath.join(directory, "members.json")
        kinds = ("decode", "prefill")  # requests are accepted with the first prefill
        rows = [{"url": url(engine), "worker_type": kind} for kind in kinds for engine in place.answering(kind)]
        more = (File(path, json.dumps({"model": context.served_name, "members": rows}, indent=1) + "\n"),)
        python = posixpath.join(context.venv(router_venv(context)), "bin", "python")
        lines.append(shlex.join([python, _join_program(directory), reached, path]) + " &")
    script = File(posixpath.join(directory, "members.sh"), "\n".join(lines) + "\n")
    return MembersFiles(tuple(others), script, more)


def members_section(context: Context, services: t.Sequence[Service]) -> dict[str, t.Any]:
    """The plan's ``members``: how engines are added to and removed from the router while it runs; {} if they cannot be.

    ``{members: {api, router, host, url, model, record, started, engines: [{name, kind, url}]}}``
    """
    router = next((service for service in services if service.kind == "router"), None)
    found = flavour_of(context)
    members = found.members(found, context.release, router.argv) if router else None
    if not router or not members or not router.digest_file:
        return {}
    engines = [service for service in services if service.kind in KINDS and service.health]
    section = {
        "api": members.api,
        "router": router.name,
        "host": router.host,
        "url": base_url(router.address, router.port("api").first),
        "model": context.served_name,
        "record": posixpath.join(posixpath.dirname(router.digest_file), f"{router.name}.removed"),
        "started": router.digest_file,
        "engines": [{"name": engine.name, "kind": engine.kind, "url": url(engine)} for engine in engines],
    }
    return {"members": section}


def _program(context: Context, found: Flavour) -> list[str]:
    programs = posixpath.join(context.venv(router_venv(context)), "bin")
    if found.package:
        return [posixpath.join(programs, found.package.program)]
    return ["python3" if context.contained else posixpath.join(programs, "python"), script_path(context)]
