# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults of a drill: which services on which host, refused where nothing would serve meanwhile."""

from __future__ import annotations

import typing as t

from ...module_utils.drill.etcd import majority
from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.findings import Finding, SettingsError
from ..description.values import natural
from .settings import KINDS, WHY, Drill, Fault, read_drill, whole

Record = t.Mapping[str, t.Any]
ELECTED = ("mooncake_master", "etcd")  # of several, one leads
MARGIN = 300  # seconds for Ansible's own steps during a load


def drill_runs(plan: Record, raw: t.Any, confirmed: t.Any, hosts: t.Collection[str] | None = None) -> dict[str, t.Any]:
    """``{host, settings, load, engines, faults: [{label, kind, host, services, part, action, seconds, times, ...}]}``.

    ``confirmed`` must be the deployment's name; ``hosts``: those of the inventory, one of which has to send the load. Raises PlanError with
    everything that forbids the drill.
    """
    drill = read_drill(raw)
    findings = [*forbidden(plan, confirmed), *_foreign(drill.host, hosts)]
    faults = drill.faults or _every_kind(plan)
    if not faults:
        problem = "no service of the plan has a spare one"
        fix = "Plan two instances of a pool, or name faults and set without_spare: true."
        findings.append(Finding("inference_drill.faults", "DRILL-SPARE", problem, fix, why=WHY))
    runs = []
    for number, fault in enumerate(faults):
        path = f"inference_drill.faults[{number}]"
        services = _services(plan, fault)
        if not services:
            findings.append(_unknown(plan, path, fault))
            continue
        if not drill.without_spare:
            findings += _without_spare(plan, path, fault, services)
        runs.append(_run(plan, drill, fault, services))
    if findings:
        raise SettingsError(findings)
    entry = plan["verify"].get("entry") or plan["verify"]["colocated"][0]
    return {
        "host": drill.host or entry["host"],
        "settings": {
            name: getattr(drill, name) for name in drill.__dataclass_fields__ if name not in ("faults", "limits")
        },
        "limits": {name: getattr(drill.limits, name) for name in drill.limits.__dataclass_fields__},
        "engines": [
            {"name": engine["name"], "url": engine["url"]}
            for kind in ENGINE_KINDS
            for engine in plan["verify"].get(kind, ())
        ],
        "faults": runs,
    }


def forbidden(plan: Record, confirmed: t.Any) -> t.Iterator[Finding]:
    """Why no drill may begin with a plan: pods, or no confirmation by the name of the deployment."""
    if plan["runtime_facts"]["in_cluster"]:
        problem = "processes of pods are not reached by this playbook"
        yield Finding("inference_runtime", "DRILL-SETTING", problem, "Delete a pod with kubectl instead.", why=WHY)
    if str(confirmed or "") != plan["deployment"]:
        problem = "the drill is not confirmed: it kills processes of a service, and requests of its clients fail"
        fix = f"Set inference_drill_confirm: {plan['deployment']}, the name of the deployment."
        yield Finding("inference_drill_confirm", "DRILL-CONFIRM", problem, fix, why="A drill by mistake is an outage.")


def _foreign(host: str, hosts: t.Collection[str] | None) -> t.Iterator[Finding]:
    """The host of the load, if it is neither in the inventory nor the controller. Without a name it is one of the plan."""
    if host and hosts is not None and host != "localhost" and host not in hosts:
        problem = f"{host} is not in the inventory"
        fix = "Name a host of the inventory that reaches the clients' entry, or localhost."
        yield Finding("inference_drill.host", "DRILL-HOST", problem, fix, why="Nothing could send the load.")


def _every_kind(plan: Record) -> tuple[Fault, ...]:
    kinds = [kind for kind in KINDS if kind != "host"]
    return tuple(whole(Fault(kind)) for kind in kinds if len(_instances(plan, kind)) > _needed(plan, kind))


def _instances(plan: Record, kind: str, without: t.Collection[str] = ()) -> set[int]:
    """Numbers of the instances of a kind, without those that have one of the services ``without``."""
    rows = [service for service in plan["services"] if service["kind"] == kind]
    hit = {service["instance"] for service in rows if service["name"] in without}
    return {service["instance"] for service in rows} - hit


def _needed(plan: Record, kind: str) -> int:
    """How many instances of a kind have to be left: one, of etcd a majority."""
    return majority(len(_instances(plan, kind))) if kind == "etcd" else 1


def _services(plan: Record, fault: Fault) -> list[Record]:
    """The services that a fault hits."""
    services = sorted(plan["services"], key=lambda service: natural(service["name"]))
    if fault.kind == "host":
        name = fault.name or max((service["host"] for service in services), key=natural)
        return [service for service in services if service["host"] == name]
    return [service for service in services if _hits(fault, service) and fault.name in ("", service["name"])][-1:]


def _hits(fault: Fault, service: Record) -> bool:
    """Whether a service can be hit. Only processes that answer requests can break them off, not the other ones of an instance."""
    return service["kind"] == fault.kind and (fault.action != "abort" or bool(service["health"]))


def _unknown(plan: Record, path: str, fault: Fault) -> Finding:
    names = (
        sorted({service["host"] for service in plan["services"]}, key=natural)
        if fault.kind == "host"
        else sorted((service["name"] for service in plan["services"] if _hits(fault, service)), key=natural)
    )
    problem = f"the plan has no {fault.kind} {fault.name}".rstrip()
    fix = f"Name one of: {', '.join(names[:8])}." if names else f"Remove the fault: the plan has no {fault.kind}."
    return Finding(path, "DRILL-SETTING", problem, fix, why=WHY)


def _without_spare(plan: Record, path: str, fault: Fault, services: t.Sequence[Record]) -> t.Iterator[Finding]:
    hit = [service["name"] for service in services]
    for kind in sorted({service["kind"] for service in services}):
        left, needed = len(_instances(plan, kind, hit)), _needed(plan, kind)
        if 0 < left < needed:
            problem = (
                f"{left} of {len(_instances(plan, kind))} members of {kind} would be left, and a majority is {needed}"
            )
            fix = "Plan three members, remove the fault, or accept the outage with without_spare: true."
            why = "Without a majority no member leads: every master of the store stops serving."
            yield Finding(path, "DRILL-SPARE", problem, fix, why=why)
        elif not left:
            problem = (
                f"no other {kind} serves while {', '.join(hit)} is away"
                if fault.kind != "host"
                else (f"host {services[0]['host']} runs every {kind} of the deployment")
            )
            fix = "Plan another one, remove the fault, or accept the outage with without_spare: true."
            yield Finding(path, "DRILL-SPARE", problem, fix, why="Every request would fail for the whole restart.")


def _run(plan: Record, drill: Drill, fault: Fault, services: t.Sequence[Record]) -> dict[str, t.Any]:
    candidates = _candidates(plan, fault)
    services = candidates or services
    names = [service["name"] for service in services]
    what = f"all services ({len(names)})" if fault.kind == "host" else names[0]
    what = f"the leader of {', '.join(names)}" if candidates else what
    one = f"one rank of {what}" if fault.part == "rank" else what
    how = {
        "kill": "kill",
        "pause": f"pause for {fault.seconds} s",
        "jitter": f"jitter ({fault.times} pauses of {fault.seconds} s)",
        "abort": f"abort all requests for {fault.seconds} s",
    }[fault.action]
    timeout = drill.recovery_timeout or max(
        [60, *(service["health"]["timeout"] for service in services if service["health"])]
    )
    lasts = fault.seconds * (2 * fault.times - 1) if fault.action != "kill" else 0
    host = services[0]["host"]
    watched = {service["host"] for service in plan["services"] if service["kind"] in ("router", "balancer", "frontend")}
    return {
        "label": f"{how}: {one}" if candidates else f"{how}: {one} on {host}",
        "kind": fault.kind,
        "host": host,
        "names": names,
        "services": [
            {
                "name": service["name"],
                "unit": service["unit"],
                "url": service["health"]["url"] if service["health"] else "",
                **({"host": service["host"]} if candidates else {}),
            }
            for service in services
        ],
        "candidates": _asked(plan, candidates),
        "keeps_keys": any("--enable_oplog=true" in service["argv"] for service in candidates),
        "part": fault.part,
        "action": "pause" if fault.action == "jitter" else fault.action,
        "seconds": fault.seconds,
        "times": fault.times,
        "timeout": timeout,
        "longest": drill.before + lasts + timeout + drill.after + MARGIN,
        "log_hosts": sorted({host, *watched, *(service["host"] for service in candidates)}, key=natural),
    }


def _candidates(plan: Record, fault: Fault) -> list[Record]:
    """All masters of the store or members of etcd, if their leader is to be hit: who leads is known only when the fault is made."""
    if fault.kind not in ELECTED or fault.name:
        return []
    if fault.kind == "mooncake_master" and not (plan["verify"].get("store") or {}).get("masters"):
        return []
    rows = [service for service in plan["services"] if service["kind"] == fault.kind]
    return sorted(rows, key=lambda service: natural(service["name"])) if len(rows) > 1 else []


def _asked(plan: Record, candidates: t.Sequence[Record]) -> list[dict[str, str]]:
    """``[{name, url}]``: which masters to query for the leader."""
    if not candidates or candidates[0]["kind"] == "etcd":
        return [{"name": row["name"], "url": row["health"]["url"].rpartition("/health")[0]} for row in candidates]
    return [{key: item[key] for key in ("name", "url")} for item in plan["verify"]["store"]["masters"]]
