# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planner: from the user's words to the plan, or to every complaint at once. Pure: no I/O, no clock, no chance."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils._complaints import Complaint, PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils._context import Context
from ansible_collections.ascend.inference.plugins.plugin_utils._placement import hosts_of, place
from ansible_collections.ascend.inference.plugins.plugin_utils._ports import assign
from ansible_collections.ascend.inference.plugins.plugin_utils._releases import facts, find_release
from ansible_collections.ascend.inference.plugins.plugin_utils._render.engine import engine_services, plugin_path
from ansible_collections.ascend.inference.plugins.plugin_utils._render.mooncake import engine_venv, master_service
from ansible_collections.ascend.inference.plugins.plugin_utils._render.router import (
    flavour,
    router_service,
    router_venv,
    script_path,
)
from ansible_collections.ascend.inference.plugins.plugin_utils._rules._all import RULES
from ansible_collections.ascend.inference.plugins.plugin_utils._rules._base import Case, judge
from ansible_collections.ascend.inference.plugins.plugin_utils._service import Service, digest
from ansible_collections.ascend.inference.plugins.plugin_utils._topology import (
    Description,
    Host,
    natural,
    read_description,
    read_hosts,
)

VERSION = 1


def launch_plan(variables: t.Mapping[str, t.Any], inventory: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """Plan a deployment.

    ``variables`` holds the ``inference_*`` variables; ``inventory`` maps each host's name to ``{groups: [...],
    variables: {...}}``. Returns the plan as plain, sorted data; raises ``PlanError`` with every complaint.
    """
    description, complaints = read_description(variables)
    hosts, more = read_hosts(inventory, description)
    complaints += more
    if complaints:
        raise PlanError(complaints)
    context, complaints = _place(description, hosts)
    if complaints and not context.instances:
        raise PlanError(complaints)
    services = tuple(sorted(_services(context), key=lambda one: (one.start.stage, natural(one.name))))
    findings = judge(Case(context, services), RULES, description.rules_ignore)
    complaints += [one for one in findings if one.severity == "error"]
    if complaints:
        raise PlanError(complaints)
    return _plan(context, services, findings)


def _place(description: Description, hosts: dict[str, Host]) -> tuple[Context, list[Complaint]]:
    release, complaints = find_release(description.engine, description.release)
    instances, more = place(description, hosts)
    ports = {
        one.name: assign(one, release, max(len(process.host.devices) for process in one.processes)) for one in instances
    }
    engine_hosts = [process.host for one in instances for process in one.processes]
    context = Context(
        description,
        release,
        hosts,
        tuple(instances),
        ports,
        _single(description.mooncake_master.group, hosts, engine_hosts),
        _single(description.router.group, hosts, engine_hosts),
    )
    return context, complaints + more


def _single(group: str, hosts: dict[str, Host], engine_hosts: list[Host]) -> Host | None:
    """The host of a service that exists once: the group's first, else the first engine's."""
    members = hosts_of(group, hosts) or engine_hosts
    return members[0] if members else None


def _services(context: Context) -> list[Service]:
    engines = engine_services(context)
    services = list(engines)
    if context.store and context.master:
        services.append(master_service(context, context.master))
    if context.router and flavour(context) != "none":
        services.append(router_service(context, context.router, engines))
    return [_marked(context, one) for one in services]


def _marked(context: Context, service: Service) -> Service:
    """The service with its own name in its environment, by which a re-run knows its processes from strangers'."""
    name = f"{context.description.deployment}-{service.name}"
    return dataclasses.replace(service, env={"ASCEND_INFERENCE_SERVICE": name, **service.env})


def _plan(context: Context, services: tuple[Service, ...], findings: list[Complaint]) -> dict[str, t.Any]:
    description = context.description
    used = sorted({one.host for one in services}, key=natural)
    plan: dict[str, t.Any] = {
        "plan_version": VERSION,
        "deployment": description.deployment,
        "release": context.release.name,
        "release_facts": facts(context.release),
        "engine": description.engine,
        "runtime": description.runtime,
        "link": description.link,
        "root": description.root,
        "user": description.user,
        "directory": context.directory,
        "model": {"path": description.model.path, "name": description.model.name, "source": description.model.source},
        "software": _software(context),
        "hosts": [_host(context, context.hosts[name], services) for name in used],
        "services": [one.as_dict() for one in services],
        "findings": [one.as_dict() for one in findings],
    }
    plan["digest"] = digest(plan)
    return plan


def _software(context: Context) -> dict[str, t.Any]:
    release = context.release
    return {
        "engine": {
            "venv": context.venv(engine_venv(context)),
            "version": release.vllm,
            "python_path": [plugin_path(context)] if context.description.engine == "vllm_cpu" else [],
        },
        "mooncake": {"package": release.mooncake_package, "version": release.mooncake},
        "router": {
            "flavour": flavour(context),
            "venv": context.venv(router_venv(context)),
            "script": script_path(context),
        },
    }


def _host(context: Context, host: Host, services: tuple[Service, ...]) -> dict[str, t.Any]:
    ports = [port for one in services if one.host == host.name for port in one.ports]
    reserved = sorted({number for port in ports for number in range(port.first, port.last + 1) if number >= 32768})
    return {
        "name": host.name,
        "address": host.address,
        "interface": host.interface,
        "hardware": host.hardware,
        "devices": list(host.devices),
        "reserved_ports": reserved,
    }


def on_host(plan: t.Mapping[str, t.Any], host: str) -> list[dict[str, t.Any]]:
    """The plan's services on one host, in start order."""
    return [one for one in plan["services"] if one["host"] == host]
