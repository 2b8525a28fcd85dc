# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planner: from the user's words to the plan, or to every complaint at once. Pure: no I/O, no clock, no chance."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import typing as t

from ..description.findings import Finding, PlanError
from ..description.variables import Description, Host, natural, read_description, read_hosts
from ..releases.release import facts, find_release
from ..runtimes.kubernetes.hosts import on_cluster
from ..runtimes.kubernetes.manifests import cluster_part
from ..runtimes.kubernetes.services import in_pods
from .deployment import Context
from .placement import hosts_of, place
from .ports import assign, short_lists
from .render.engine import engine_services
from .render.frontend import frontend_service
from .render.hosts import planned_hosts
from .render.keepers import KEEPERS
from .render.router import flavour, router_service
from .render.software import software
from .render.verify import verify_section
from .rules.all import RULES, WORDS
from .rules.base import Case, judge
from .service import Service, digest

VERSION = 1
ROOM = 100_000  # devices of a deployment that is still imagined on roomy hosts, to judge its words
Inventory = t.Mapping[str, t.Mapping[str, t.Any]]


def launch_plan(variables: t.Mapping[str, t.Any], inventory: Inventory) -> dict[str, t.Any]:
    """Plan a deployment.

    ``variables`` holds the ``inference_*`` variables; ``inventory`` maps each host's name to ``{groups: [...],
    variables: {...}}``. Returns the plan as plain, sorted data; raises ``PlanError`` with every complaint.
    """
    with collector_at_rest():
        return _launch_plan(variables, inventory)


@contextlib.contextmanager
def collector_at_rest() -> t.Iterator[None]:
    """No garbage collection meanwhile: a large plan is a million objects, none of them garbage, looked at for a third of
    the time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _launch_plan(variables: t.Mapping[str, t.Any], inventory: Inventory) -> dict[str, t.Any]:
    description, complaints = read_description(variables)
    hosts, more = read_hosts(inventory, description)
    complaints += more
    if complaints:
        raise PlanError(complaints)
    if description.runtime == "kubernetes":
        description, hosts = on_cluster(description, hosts)
    context, complaints = _place(description, hosts)
    if any(one.id.startswith("PLACE-") for one in complaints):
        complaints += _said_anyway(description, hosts)
    if complaints and not context.instances:
        raise PlanError(complaints)
    services = tuple(sorted(_services(context), key=lambda one: (one.start.stage, natural(one.name))))
    findings = judge(Case(context, services), RULES, description.rules_ignore)
    complaints += [one for one in findings if one.severity == "error"]
    if complaints:
        raise PlanError(complaints)
    return _plan(context, services, findings)


def _said_anyway(description: Description, hosts: dict[str, Host]) -> list[Finding]:
    """What is wrong with the words themselves, where hosts cannot carry the pools: judged as if every host had room."""
    count = sum(one.instances * one.devices_per_instance for one in description.pools.present().values())
    if count > ROOM:
        return []
    roomy = {name: dataclasses.replace(host, devices=tuple(range(count))) for name, host in hosts.items()}
    context, complaints = _place(description, roomy)
    if complaints:
        return []
    findings = judge(Case(context, tuple(_services(context))), WORDS, description.rules_ignore)
    return [one for one in findings if one.severity == "error"]


def _place(description: Description, hosts: dict[str, Host]) -> tuple[Context, list[Finding]]:
    release, complaints = find_release(description.engine, description.release, description.release_base)
    if description.engine_version:
        release = dataclasses.replace(release, vllm=description.engine_version)
    instances, more = place(description, hosts)
    engine_hosts = [process.host for one in instances for process in one.processes]
    context = Context(
        description,
        release,
        hosts,
        tuple(instances),
        assign(instances, release),
        _single(description.mooncake_master.group, hosts, engine_hosts),
        _single(description.router.group, hosts, engine_hosts),
    )
    return context, complaints + more + short_lists(description, instances)


def _single(group: str, hosts: dict[str, Host], engine_hosts: list[Host]) -> Host | None:
    """The host of a service that exists once: the group's first, else the first engine's."""
    members = hosts_of(group, hosts) or engine_hosts
    return members[0] if members else None


def _services(context: Context) -> list[Service]:
    engines = engine_services(context)
    services = list(engines)
    keeper = KEEPERS.get(context.description.store.backend)
    if context.store and context.master and keeper:
        services.append(keeper.service(context, context.master))
    if context.router and flavour(context) != "none":
        services.append(router_service(context, context.router, engines))
        if context.description.router.frontend == "nginx" and not context.contained:
            services.append(frontend_service(context, context.router, services[-1], flavour(context)))
    if context.description.runtime == "kubernetes":
        return in_pods(context, services)
    return [_marked(one) for one in services]


def _marked(service: Service) -> Service:
    """The service with its own directory in its environment, by which its processes are known from strangers'."""
    return dataclasses.replace(service, env={"ASCEND_INFERENCE_SERVICE": service.work_directory, **service.env})


def _plan(context: Context, services: tuple[Service, ...], findings: list[Finding]) -> dict[str, t.Any]:
    description = context.description
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
        "model": {"path": description.model.path, "name": context.served_name, "source": description.model.source},
        "software": software(context),
        "hosts": planned_hosts(context, services),
        "services": [one.as_dict() for one in services],
        "verify": verify_section(context, services),
        "findings": [one.as_dict() for one in findings],
    }
    if description.runtime == "kubernetes":
        plan.update(cluster_part(context, services, plan["hosts"]))
    told = ("name", "host", "digest", "ports", "health", "start", "stop")
    plan["digest"] = digest({**plan, "services": [[one[key] for key in told] for one in plan["services"]]})
    return plan


def on_host(plan: t.Mapping[str, t.Any], host: str) -> list[dict[str, t.Any]]:
    """The plan's services on one host, in start order."""
    return [one for one in plan["services"] if one["host"] == host]
