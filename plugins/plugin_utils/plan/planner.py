# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planner: converts the user's variables to the plan, or reports all errors. No I/O, no clock, no randomness."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import typing as t

from ...module_utils.status.plan import PLAN_VERSION
from ..description.empty import empty_places
from ..description.findings import Finding, PlanError, in_order, refused
from ..description.loader import in_order as sorted_keys
from ..description.values import natural
from ..description.variables import Description, Host, read_description, read_hosts
from ..recipes.apply import brought_by_recipe, origin, with_recipe
from ..releases.release import base_for, facts, find_release, plain_name
from ..runtimes.registry import runtime
from .deployment import Context
from .elsewhere import told_where
from .placement import groups_used, hosts_of, place, pool_hosts
from .placement_free import with_free_hosts
from .placement_kept import kept_host, place_beside, placement_record
from .placement_routers import further_routers
from .ports import D2RH, assign, short_lists
from .record import digest_of
from .render.balancer import balancer_section, balancer_services
from .render.engine import engine_services
from .render.firewall import firewall_section
from .render.frontend import frontend_service
from .render.hosts import planned_hosts
from .render.metadata_services import store_services
from .render.probe import probe_services
from .render.router import members_section, router_service
from .render.software import software
from .render.verify import verify_section
from .render.virtual_address import virtual_address_section
from .revision import revision_of
from .routers.registry import flavour_of, unknown_flavour
from .rules.all import OF_SETTINGS, RULES
from .rules.base import Case, judge
from .rules.security import exposure
from .rules.unused import OF_RECIPES
from .service import Service
from .store_hosts import store_hosts
from .written import as_written

OLD = "0.13.0"  # a release that differs from the default of engines in as much as possible
ROOM = 100_000  # maximum number of devices of a deployment that is checked as if it fitted on its hosts
Inventory = t.Mapping[str, t.Mapping[str, t.Any]]
Record = t.Mapping[str, t.Any]


def launch_plan(
    variables: t.Mapping[str, t.Any],
    inventory: Inventory,
    conflicts: t.Sequence[Finding] = (),
    deployed: Record | None = None,
) -> dict[str, t.Any]:
    """Plan a deployment.

    ``variables`` holds the ``inference_*`` variables; ``inventory`` maps each host's name to ``{groups: [...],
    variables: {...}}``; ``conflicts`` are errors from collecting the variables, each with a
    variable's name as its path; ``deployed`` is the ``placement`` of the deployed plan, whose instances keep their places.
    Returns the plan as plain, sorted data; raises ``PlanError`` with all errors.
    """
    with garbage_collection_suspended():
        return _launch_plan(variables, inventory, conflicts, deployed)


@contextlib.contextmanager
def garbage_collection_suspended() -> t.Iterator[None]:
    """Suspend garbage collection: scanning the million objects of a large plan costs a third of the time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _launch_plan(
    variables: t.Mapping[str, t.Any], inventory: Inventory, conflicts: t.Sequence[Finding], deployed: Record | None
) -> dict[str, t.Any]:
    origin_, variables = origin(variables), dict(variables)
    empty = tuple(empty_places(variables, inventory, brought_by_recipe(variables)))
    variables, unknown = with_recipe(variables)
    variables = sorted_keys(variables)
    description, unreadable = read_description(variables)
    unreadable = told_where(unreadable) + unknown
    hosts, more = read_hosts(inventory, description)
    unreadable += [*more, *conflicts, *unknown_flavour(description)]
    too_many = _too_many_pods(description)
    if too_many:
        raise PlanError([*unreadable, *too_many])
    if unknown:  # what the recipe would bring is not missing, and all else may depend on it
        raise refused(finding for finding in unreadable if finding.id != "VARIABLE-MISSING")
    if unreadable:
        certain = _certain(variables, inventory, {conflict.path for conflict in conflicts})
        paths = {finding.path for finding in unreadable}
        raise refused([*unreadable, *(finding for finding in certain if finding.path not in paths)])
    context, services, findings, case = _judged(description, hosts, deployed, empty=empty, written=variables)
    findings = as_written(findings, variables, inventory)
    if any(finding.severity == "error" for finding in findings):
        raise refused(findings)
    plan = _plan(context, services, findings, exposure(case) if case else [])
    return {**plan, "recipe": origin_} if origin_ else plan


def _too_many_pods(description: Description) -> list[Finding]:
    """Findings for pools in a cluster with too many devices: for the planner each pod is a separate host."""
    if not runtime(description.runtime).in_cluster:
        return []
    found = []
    for name, pool in description.pools.present().items():
        devices = pool.instances * pool.devices_per_instance * description.kubernetes.groups
        if devices > ROOM:
            problem = f"{devices} devices are planned for pool {name}, more than {ROOM}"
            path, fix = f"inference_pools.{name}.instances", "Plan fewer or smaller instances."
            why = "Each pod is planned as a host of its own, and no cluster is that large: a number is wrong."
            found.append(Finding(path, "PLACE-CAPACITY", problem, fix, value=str(pool.instances), why=why))
    return found


def _certain(variables: t.Mapping[str, t.Any], inventory: Inventory, disputed: t.Collection[str]) -> list[Finding]:
    """The findings of a description with invalid values that do not depend on these values.

    It is checked twice with different substitutes; findings found both times are independent of the values.
    """
    found = []
    for other in (False, True):
        chosen = {name: variables[name] for name in variables if not (other and name in disputed)}
        description, dummy = read_description(chosen, other)
        hosts, dummy = read_hosts(inventory, description, other)
        found.append(set(_judged(description, hosts)[2]))
    return sorted(found[0] & found[1])


def _judged(
    description: Description,
    hosts: dict[str, Host],
    deployed: Record | None = None,
    trial: bool = False,
    empty: tuple[str, ...] = (),
    written: Record | None = None,
) -> tuple[Context, tuple[Service, ...], list[Finding], Case | None]:
    """The placed deployment, its services, all findings, and what the rules judged, None if nothing was placed.

    A ``trial`` tries no further releases. ``empty``: the places of variables without a value; ``written``: all
    variables as the user wrote them.
    """
    refusal = None if trial else functools.partial(_refusal, description, hosts, deployed)
    description, hosts = runtime(description.runtime).hosts(description, hosts)
    context, findings = _place(description, hosts, deployed)
    if not trial:
        findings = [_tried(finding, description, hosts, deployed) for finding in findings]
        findings = findings if deployed else with_free_hosts(findings, description, hosts)
    if any(finding.id.startswith("PLACE-") for finding in findings):
        findings += _errors_of_settings(description, hosts)
        findings += judge(Case(context, ()), OF_RECIPES, description.rules_ignore) if not context.instances else []
    if findings and not context.instances:
        return context, (), findings, None
    services = tuple(sorted(_services(context), key=lambda service: (service.start.stage, natural(service.name))))
    case = Case(context, services, refusal, empty, written or {})
    judged = judge(case, RULES, description.rules_ignore)
    if not trial and any(finding.id == "RELEASE-UNKNOWN" for finding in findings):
        judged = _of_any_release(judged, description, hosts, deployed)
    return context, services, findings + judged, case


def _refusal(
    description: Description, hosts: dict[str, Host], deployed: Record | None, release: str, base: str = ""
) -> str:
    """The first error of a description with another known release (or ``base``) and its image; empty if it can be planned."""
    other = dataclasses.replace(description, release=release, release_base=base, image="")
    errors = in_order(item for item in _judged(other, hosts, deployed, True)[2] if item.severity == "error")
    return f"{errors[0].place}: {errors[0].problem.rstrip('.')} [{errors[0].id}]" if errors else ""


def _of_any_release(
    found: list[Finding], description: Description, hosts: dict[str, Host], deployed: Record | None
) -> list[Finding]:
    """The findings that do not depend on the release, which is not known: those with an old one, too."""
    other = dataclasses.replace(description, release=OLD, release_base="")
    same = {(finding.id, finding.path) for finding in _judged(other, hosts, deployed, True)[2]}
    return [finding for finding in found if (finding.id, finding.path) in same]


def _tried(finding: Finding, description: Description, hosts: dict[str, Host], deployed: Record | None) -> Finding:
    """A finding of an unknown release whose fix names a base, with what that base refuses of this description."""
    base = base_for(plain_name(description.release))
    if finding.id != "RELEASE-UNKNOWN" or description.release_base or not base:
        return finding
    refused_ = _refusal(description, hosts, deployed, description.release, base)
    return (
        dataclasses.replace(finding, fix=f"{finding.fix} It refuses this description, first {refused_}.")
        if refused_
        else finding
    )


def refusal_of(
    variables: t.Mapping[str, t.Any], inventory: Inventory, release: str, deployed: Record | None = None
) -> str:
    """The first error of variables that can be planned, with another known release; empty if they can be planned with it."""
    words, _findings = with_recipe(variables)
    description, _findings = read_description(words)
    return _refusal(description, read_hosts(inventory, description)[0], deployed, release)


def _errors_of_settings(description: Description, hosts: dict[str, Host]) -> list[Finding]:
    """Errors of settings if hosts are too small for the pools: checked as if every host were large enough."""
    count = sum(pool.instances * pool.devices_per_instance for pool in description.pools.present().values())
    if count > ROOM:
        return []
    roomy = {name: dataclasses.replace(host, devices=tuple(range(count))) for name, host in hosts.items()}
    context, findings = _place(description, roomy)
    if findings:
        return []
    judged = judge(Case(context, tuple(_services(context))), OF_SETTINGS, description.rules_ignore)
    return [finding for finding in judged if finding.severity == "error"]


def _place(
    description: Description, hosts: dict[str, Host], deployed: Record | None = None
) -> tuple[Context, list[Finding]]:
    release, findings = find_release(
        description.engine, description.release, description.release_base, description.releases
    )
    if description.engine_version:
        release = dataclasses.replace(release, vllm=description.engine_version)
    deployed = deployed or {}
    instances, more = place_beside(description, hosts, deployed) if deployed else place(description, hosts)
    transfers = [description.kv_transfer, *(pool.kv_transfer for pool in description.pools.present().values())]
    engine_hosts = [process.host for instance in instances for process in instance.processes]
    # A host may lose its engines and keep the services beside them.
    stay = [*engine_hosts, *(pool_hosts(description, hosts) if deployed else ())]
    masters, etcd = store_hosts(description, hosts, engine_hosts, stay, deployed)
    router = _single(description.router.group, hosts, engine_hosts, stay, deployed.get("router", ""))
    router_hosts = hosts_of(description.router.group, hosts)
    routers = 1 if runtime(description.runtime).in_cluster else description.router.instances  # a cluster has replicas
    context = Context(
        description,
        release,
        hosts,
        tuple(instances),
        assign(instances, release, any(D2RH in word for word in transfers)),
        masters[0]
        if masters
        else _single(description.mooncake_master.group, hosts, engine_hosts, stay, _master(deployed)),
        router,
        bool(deployed.get("posted")),
        masters,
        etcd,
        further_routers(
            routers, router, router_hosts or engine_hosts, router_hosts or stay, deployed.get("routers", ())
        ),
    )
    return context, findings + more + short_lists(description, instances)


def _master(deployed: Record) -> str:
    """The host of the deployed store's service, of either kind."""
    return str(deployed.get("mooncake_master") or deployed.get("memcache_meta") or "")


def _single(
    group: str, hosts: dict[str, Host], engine_hosts: list[Host], stay: list[Host], deployed: str
) -> Host | None:
    """The host of a single-instance service: where it is deployed, else the group's first, else the first engine's.

    Without hosts of its group it stays on one of ``stay``.
    """
    members = hosts_of(group, hosts)
    first = next(iter(members or engine_hosts), None)
    return kept_host(deployed, members or stay) or first


def _services(context: Context) -> list[Service]:
    engines = engine_services(context)
    services = list(engines)
    services += store_services(context)
    if context.router and flavour_of(context).name != "none":
        routers = [
            router_service(context, host, engines, number)
            for number, host in enumerate((context.router, *context.more_routers))
        ]
        services += routers
        if context.balanced:
            services += balancer_services(context, routers)
        if context.description.router.frontend != "none" and not context.contained:
            behind = services[-1:] if context.balanced else routers[:1]
            services.append(frontend_service(context, context.router, behind))
    services += probe_services(context, services)
    return context.runtime.finish(context, services)


def _plan(
    context: Context, services: tuple[Service, ...], findings: list[Finding], exposed: list[str]
) -> dict[str, t.Any]:
    description = context.description
    plan: dict[str, t.Any] = {
        "plan_version": PLAN_VERSION,
        "deployment": description.deployment,
        "release": context.release.name,
        "release_facts": facts(context.release),
        "engine": description.engine,
        "engine_facts": context.engine.facts(),
        "runtime": description.runtime,
        "runtime_facts": context.runtime.facts(),
        "runtime_settings": context.runtime.settings(context),
        "link": description.link,
        "root": description.root,
        "user": description.user,
        "directory": context.directory,
        "folders": context.folders,
        "model": {"path": description.model.path, "name": context.served_name, "source": description.model.source},
        "software": software(context),
        "hosts": planned_hosts(context, services),
        "groups": sorted(groups_used(description)),
        "placement": placement_record(context.instances, services),
        "services": [service.as_dict() for service in services],
        "verify": verify_section(context, services),
        "findings": [finding.as_dict() for finding in findings],
        "exposure": exposed,
    }
    plan["revision"] = revision_of(plan)
    plan.update(firewall_section(context, services))
    plan.update(members_section(context, services))
    plan.update(balancer_section(context, services))
    plan.update(virtual_address_section(context, services))
    plan.update(context.runtime.section(context, services, plan["hosts"]))
    plan["digest"] = digest_of(plan)
    return plan


def on_host(plan: t.Mapping[str, t.Any], host: str) -> list[dict[str, t.Any]]:
    """The plan's services on one host, in start order."""
    return [service for service in plan["services"] if service["host"] == host]
