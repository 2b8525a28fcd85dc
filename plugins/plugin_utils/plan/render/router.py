# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The router's service, for all flavours."""

from __future__ import annotations

import json
import posixpath
import shlex
import typing as t

from ....module_utils.tools.engine_kinds import ANSWERING_KINDS
from ...description.variables import Host
from ..deployment import Context
from ..routers.base import RESTART, Flavour, Members, Place, listed_at_start, split, url
from ..routers.join_members import KEPT, PROGRAM
from ..routers.registry import flavour_of
from ..service import File, Health, MembersFiles, Port, Service, Start, Stop, base_url, every_address
from .container import SOURCES, container
from .vllm import command_line, merged

NAME = "router"
STEP = 20  # between the ports of two routers, which may run on one host


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


def script_files(context: Context) -> tuple[str, ...]:
    """The files that the role router writes for a proxy script: itself, and the logger that it imports from vLLM; () without a script."""
    script = script_path(context)
    return (script, posixpath.join(posixpath.dirname(script), "vllm", "logger.py")) if script else ()


def _policy(policy: str) -> dict[str, str]:
    """The option of a policy; a flavour without it is refused as for any unknown option."""
    return {"policy": policy} if policy else {}


def router_name(number: int) -> str:
    """The first router keeps its name when others are added, so that it need not restart for that."""
    return f"{NAME}-{number}" if number else NAME


def router_service(context: Context, host: Host, engines: t.Sequence[Service], number: int = 0) -> Service:
    """The proxy in front of all engines with an API; ``number``: of several equal ones, from 0."""
    settings, found = context.description.router, flavour_of(context)
    name, port = router_name(number), settings.port + number * STEP
    address = settings.bind or host.address
    reached = host.address if every_address(address) else address
    metrics_port = (settings.metrics_port or found.metrics_port) + number * STEP
    place = Place(address, port, metrics_port, tuple(engines), context.posted)
    # Clients use another port then.
    fronted = context.balanced or (settings.frontend != "none" and not context.contained)
    ports = [Port("api", port, protocol="http", scope="cluster" if fronted else "client")]
    if found.metrics_port:
        ports.append(Port("metrics", place.metrics_port, protocol="http"))
    directory = context.service_directory(name)
    contained = context.engine.images and context.contained
    # Releases up to 0.18 and the layerwise proxy import vLLM for its logger. In an image that imports torch, which loads the NPU libraries.
    # They need the driver, which this container does not have.
    env = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"} if contained and script_source(context) else {}
    env.update({key: str(settings.env[key]) for key in sorted(settings.env)})
    needs_key = "api_key" in context.description.secrets and found.sends_key(place)
    argv = (
        *_program(context, found),
        *command_line(merged(found.flags(found, place), _policy(settings.policy), settings.args)),
        *found.tail(place),
    )
    members = _members(context, argv)
    return Service(
        name=name,
        kind="router",
        instance=number,
        host=host.name,
        address=reached,
        argv=argv,
        env=env,
        secret_env={"OPENAI_API_KEY": "api_key"} if needs_key else {},
        ports=tuple(ports),
        work_directory=directory,
        # It needs no engine before it starts: engines come and go while it runs, and a unit that lists them would change and be restarted.
        start=Start(30),
        health=Health(base_url(reached, port) + _health_path(found, members), 120),
        stop=Stop("TERM", 30),
        container=container(context, host, name, directory) if contained else None,
        files=(File(_join_program(directory), PROGRAM),) if members and members.posted else (),
        members=_members_files(context, directory, members, place, argv, base_url(reached, port)) if members else None,
    )


def _members(context: Context, argv: t.Sequence[str]) -> Members | None:
    """How engines are added to and removed from the routers; by a restart of each in turn only behind a balancer with several routers."""
    found = flavour_of(context)
    members = found.members(found, context.release, argv)
    several = context.balanced and context.description.router.instances > 1
    return listed_at_start(found) if several and not members else members


def _health_path(found: Flavour, members: Members | None) -> str:
    """Its path that answers 200; one that has its engines added after the start answers 200 to this without engines."""
    return "/v1/models" if members and members.posted else found.health_path


def _join_program(directory: str) -> str:
    return posixpath.join(directory, "join_members.py")


def _members_files(
    context: Context, directory: str, members: Members, place: Place, argv: t.Sequence[str], reached: str
) -> MembersFiles:
    """The engines as a script that sets arguments, and for a router that reads none as a file for a program that adds them.

    The script reads ``members_away`` of run.sh, the file with engines that a run has taken out.
    """
    arguments, others = split(argv, members.options)
    lines = ["# Written by ascend.inference. The engines behind the router.", "set -- " + shlex.join(arguments)]
    python = context.program(router_venv(context))
    more: tuple[File, ...] = ()
    if members.posted:
        path = posixpath.join(directory, "members.json")
        kinds = ("decode", "prefill")  # requests are accepted with the first prefill
        rows = [{"url": url(engine), "worker_type": kind} for kind in kinds for engine in place.answering(kind)]
        more = (File(path, json.dumps({"model": context.served_name, "members": rows}, indent=1) + "\n"),)
        lines.append(shlex.join([python, _join_program(directory), reached, path]) + ' "$members_away" &')
    else:
        program = shlex.join(["python3" if context.contained else python, "-c", KEPT])
        lines += [
            "# Without those that a run has taken out, because they may be about to stop.",
            'if [ -s "$members_away" ]; then',
            f'    members_kept="$({program} "$members_away" "$@")" || members_kept=',
            '    eval "$members_kept"',
            "fi",
        ]
        lines += _recorded(members)
    script = File(posixpath.join(directory, "members.sh"), "\n".join(lines) + "\n")
    return MembersFiles(tuple(others), script, more)


def _recorded(members: Members) -> list[str]:
    """Lines of the script that record the engines with which the router starts; none for a router that says which it has."""
    if members.api != RESTART:
        return []
    return [
        "# Which engines it has since its start: the pools of the options, then the arguments.",
        'members_listed="${members_away%.away}.listed"',
        'rm -rf "$members_listed" "$members_listed.new" 2>/dev/null || true',
        f"""{{ printf '%s\\n' {shlex.quote(json.dumps(members.pairs))} "$@" > "$members_listed.new" \\""",
        '    && mv -f "$members_listed.new" "$members_listed"; } || echo "cannot write $members_listed"',
    ]


def members_section(context: Context, services: t.Sequence[Service]) -> dict[str, t.Any]:
    """The plan's ``members``: how engines are added to and removed from the routers while they run; {} if they cannot be.

    ``{members: {api, model, engines: [{name, kind, url}], router, host, url, record, started, away}}``; ``more`` has the latter keys of each router
    behind the first, if there are several. All have the same engines.
    """
    routers = [service for service in services if service.kind == "router"]
    members = _members(context, routers[0].argv) if routers else None
    if not members or not routers[0].digest_file:
        return {}
    engines = [service for service in services if service.kind in ANSWERING_KINDS and service.health]
    section: dict[str, t.Any] = {
        "api": members.api,
        **_reached(routers[0], members),
        "model": context.served_name,
        "engines": [{"name": engine.name, "kind": engine.kind, "url": url(engine)} for engine in engines],
    }
    more = [_reached(router, members) for router in routers[1:]]
    return {"members": {**section, "more": more} if more else section}


def _reached(router: Service, members: Members) -> dict[str, str]:
    """Where a router's members are changed. ``record``: of what was removed, or of the engines with which it started."""
    record = "listed" if members.api == RESTART else "removed"
    return {
        "router": router.name,
        "host": router.host,
        "url": base_url(router.address, router.port("api").first),
        "record": posixpath.join(posixpath.dirname(router.digest_file), f"{router.name}.{record}"),
        "started": router.digest_file,
        "away": router.members_away,
    }


def members_of(plan: t.Mapping[str, t.Any], host: str, names: t.Collection[str] | None = None) -> dict[str, t.Any]:
    """What changes the members of one host's routers: ``{api, model, engines, routers: [name], url, record, started, away, more: [...]}``.

    ``names``: only these routers. {} if the host has none of them, or they cannot be changed while they run.
    """
    section = plan.get("members") or {}
    keys = ("router", "host", "url", "record", "started", "away")
    every = [{key: section.get(key, "") for key in keys}, *section.get("more", ())] if section else []
    here = [router for router in every if router["host"] == host and (names is None or router["router"] in names)]
    if not here:
        return {}
    places = [{key: router.get(key, "") for key in ("url", "record", "started", "away")} for router in here]
    shared = {key: section[key] for key in ("api", "model", "engines")}
    return {**shared, "routers": [router["router"] for router in here], **places[0], "more": places[1:]}


def _program(context: Context, found: Flavour) -> list[str]:
    venv = router_venv(context)
    if found.package:
        return [context.program(venv, found.package.program)]
    return ["python3" if context.contained else context.program(venv), script_path(context)]
