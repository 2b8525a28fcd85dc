# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The advice: which side waits, the sizes that the measured rates would balance, and the declaration that the planner accepts."""

from __future__ import annotations

import typing as t

from ..description.findings import Finding, PlanError
from ..hosts.plan_memory import plan_memory
from .declaration import ROLES, declaration, plan_of, pools_of, possible_sizes, trial_text
from .evidence import Evidence, evidence_of, gap
from .pools import BUSY, FULL, IDLES, LEAST_REQUESTS, WAITS, judge_pool
from .services import watched_services
from .sizes import LEAST_GAIN, Loads, Sizes, better_sizes, carried

Record = t.Mapping[str, t.Any]
FORMAT = 1  # of the JSON
MOST_TRIED = 4  # sizes that are planned until the planner accepts one
APART = 0.2  # by which the requests of both sides may differ
LEAST_BUSY = 0.01  # of a pool that answered requests, though its counters of time stood still
ERRORS = ("errors", "prefill_errors", "decode_errors", "exhausted")  # of a router
UNEVEN = 0.5  # of the mean: an engine with fewer requests is named


class Inventory(t.NamedTuple):
    """What the planner reads: variables of the controller, of each host, groups; the file of check for the memory, accepted checks."""

    controller: t.Any
    hostvars: t.Any
    groups: Record
    model_facts: str = ""
    ignored: t.Collection[str] | str = ()


def advise_report(plan: Record, measured: Record, settings: t.Any, inventory: Inventory) -> dict[str, t.Any]:
    """``{format, deployment, digest, release, source, seconds, pools, verdict, outcome, sizes, declaration, memory, remarks, unknown}``.

    ``measured``: a benchmark's report, or the result of service_metrics_info; ``settings``: the variable inference_bench.
    ``outcome``: ``change``, ``keep`` (nothing to change) or ``unknown``; ``sizes``: ``{now, next, devices, carried}``, next only with
    ``change``; ``unknown``: findings, as errors where they forbid advice. Raises PlanError for a deployment in a cluster.
    """
    watched_services(plan)  # refuses a cluster
    evidence = evidence_of(plan, measured, settings)
    roles = [role for role in (*ROLES, "colocated") if plan["verify"].get(role)]
    judged = {role: judge_pool(plan, evidence, role) for role in roles}
    pools = {role: found for role, (found, _gaps) in judged.items()}
    unknown = [*evidence.gaps, *(finding for _found, gaps in judged.values() for finding in gaps)]
    unknown += _general(plan, evidence, pools)
    advice = _advice(plan, pools, unknown, inventory)
    more = advice.pop("unknown")
    return {
        "format": FORMAT,
        "deployment": plan["deployment"],
        "digest": plan["digest"],
        "release": plan["release"],
        "source": evidence.source,
        "seconds": evidence.seconds or None,
        "pools": pools,
        "remarks": list(_remarks(plan, evidence, pools)),
        **advice,
        "unknown": [finding.as_dict() for finding in (*unknown, *more)],
    }


def _general(plan: Record, evidence: Evidence, pools: Record) -> t.Iterator[Finding]:
    """What is not known of the deployment as a whole."""
    if not evidence.seconds and not evidence.gaps:
        why = "Without figures there is nothing to compare."
        yield gap("COUNTERS", "engines", "no counters were read", "Run status, then again.", why)
    both = [pools[role]["requests"] for role in ROLES if role in pools]
    if (
        len(both) == 2
        and None not in both
        and min(both) >= LEAST_REQUESTS
        and abs(both[0] - both[1]) > APART * max(both)
    ):
        problem = f"prefill finished {both[0]:.0f} requests and decode {both[1]:.0f}"
        fix = "Compare the members of the router (verify), or measure with bench, when no other client sends requests."
        yield gap(
            "SIDES",
            "router",
            problem,
            fix,
            "Not all requests passed both sides, so their rates do not belong together.",
        )
    if any(item["kind"] == "encode" for item in plan["placement"]["instances"]):
        problem, fix = "whether the encoders limit", "Compare their queues in the dashboard."
        yield gap("ENCODE", "encode", problem, fix, "They are not judged here, and keep their sizes.", blocks=False)
    routers = [item["name"] for item in plan["services"] if item["kind"] == "router"]
    if routers and "live" in evidence.source and not any(evidence.services.get(name) for name in routers):
        problem = "how many requests it holds or refuses: it exports no metrics, or did not answer"
        fix = "Measure with bench, which counts the answers of clients."
        yield gap("ROUTER", "router", problem, fix, "A queue in the router is in no figure here.", blocks=False)


def _advice(plan: Record, pools: Record, unknown: t.Sequence[Finding], inventory: Inventory) -> dict[str, t.Any]:
    """``{outcome, verdict, sizes, declaration, memory, unknown}``."""
    nothing: dict[str, t.Any] = {"outcome": "unknown", "sizes": None, "declaration": None}
    if any(finding.severity == "error" for finding in unknown):
        return {**nothing, "verdict": "no advice, because too little is known", **_memory(plan, inventory)}
    if set(pools) != set(ROLES):
        verdict = "one pool does both, so there is nothing to balance"
        return {**nothing, "outcome": "keep", "verdict": verdict, **_memory(plan, inventory)}
    now = Sizes(*(pools[role]["instances"] for role in ROLES))
    loads = Loads(*(pools[role]["instances"] * max(LEAST_BUSY, pools[role]["busy"]) for role in ROLES))
    devices = sum(pools[role]["instances"] * pools[role]["devices"] for role in ROLES)
    kept = {"now": now._asdict(), "next": None, "devices": devices, "carried": None}
    limiting = [role for role in ROLES if _limits(role, pools[role])]
    possible = possible_sizes(plan)
    better = better_sizes(now, loads, possible) if limiting else []
    if not better:
        verdict = f"nothing to change: {_reason(limiting, now, possible)}"
        return {**nothing, "outcome": "keep", "verdict": verdict, "sizes": kept, **_memory(plan, inventory)}
    refused = []
    for sizes in better[:MOST_TRIED]:
        accepted = _planned(plan, sizes, inventory)
        if isinstance(accepted, Finding):
            refused.append(accepted)
            continue
        gained = round(float(carried(sizes, loads) / carried(now, loads)), 2)
        found = {**accepted, "outcome": "change", "sizes": {**kept, "next": sizes._asdict(), "carried": gained}}
        idle = [role for role in ROLES if pools[role]["state"] == IDLES]
        who = ", ".join([*(f"{role} limits" for role in limiting), *(f"{role} idles" for role in idle)])
        found["verdict"] = f"{who}: try {sizes.prefill} prefill and {sizes.decode} decode"
        return {**found, "unknown": [*refused, *accepted["unknown"]]}
    verdict, memory = "other sizes would carry more, and the planner refuses them", _memory(plan, inventory)
    return {**nothing, "verdict": verdict, "sizes": kept, **memory, "unknown": [*refused, *memory["unknown"]]}


def _reason(limiting: t.Sequence[str], now: Sizes, possible: t.Sequence[Sizes]) -> str:
    """Why no other sizes carry more."""
    if not limiting:
        return "no side limits at this load"
    if len(limiting) > 1:
        return "both sides are nearly full, so only more NPUs carry more"
    (role,) = limiting
    if not any(getattr(sizes, role) > getattr(now, role) for sizes in possible):
        return f"{role} limits, and no sizes with more instances of it fit into these NPUs and hosts"
    return f"{role} limits, and no other sizes carry {float(LEAST_GAIN):.0%} more requests"


def _limits(role: str, pool: Record) -> bool:
    return pool["state"] == WAITS or pool["busy"] >= (BUSY if role == "prefill" else FULL)


def _planned(plan: Record, sizes: Sizes, inventory: Inventory) -> dict[str, t.Any] | Finding:
    """The declaration of these sizes, and the memory of its plan; or why the planner refuses it."""
    try:
        declared = declaration(plan, pools_of(*inventory[:3]), sizes, set(inventory.groups))
        after = plan_of(declared, inventory.controller, inventory.hostvars, inventory.groups, plan["placement"])
        memory = _memory(after, inventory)
    except PlanError as error:
        first = error.findings[0]
        path = f"{sizes.prefill} prefill and {sizes.decode} decode"
        problem = f"the planner refuses these sizes: {first.place}: {first.problem}"
        why = "They would carry more requests, by the measured rates."
        return gap("REFUSED", path, problem, first.fix or "Set the sizes by hand.", why, blocks=False)
    trial = trial_text(declared, inventory.controller, inventory.groups)
    return {"declaration": {**declared, "inventory": trial}, **memory}


def _memory(plan: Record, inventory: Inventory) -> dict[str, t.Any]:
    """``{memory, unknown}``: the memory table of a plan as lines, if a check wrote the facts for it. Raises PlanError if it does not fit."""
    if inventory.model_facts:
        return {"memory": plan_memory(plan, inventory.model_facts, inventory.ignored)[1:], "unknown": []}
    if not any(host["devices"] for host in plan["hosts"]):
        return {"memory": [], "unknown": []}  # engines on processors
    problem = "how the memory of the devices is used"
    fix = "Run check with inference_check_json=facts.json, and set inference_model_facts=facts.json."
    why = "Sizes of an instance stay the same, so it fits as before on equal hosts."
    return {"memory": [], "unknown": [gap("MEMORY", "devices", problem, fix, why, blocks=False)]}


def _remarks(plan: Record, evidence: Evidence, pools: Record) -> t.Iterator[str]:
    """What the figures show beyond the sizes, as sentences."""
    for role, pool in pools.items():
        names = [engine["name"] for engine in plan["verify"][role]]
        requests = {name: (evidence.services.get(name) or {}).get("requests") for name in names}
        known = [number for number in requests.values() if number is not None]
        mean = sum(known) / len(known) if known else 0.0
        few = [name for name, number in requests.items() if number is not None and mean and number < UNEVEN * mean]
        if mean >= LEAST_REQUESTS / 4 and few:
            yield f"{', '.join(few[:4])} finished less than half of the mean of {role}: compare the members of the router (verify)."
        if (
            role == "decode"
            and pool["queue_ms"] is not None
            and pool["tpot_ms"]
            and pool["state"] != WAITS
            and (pool["waiting"] or 0) >= 0.5
        ):
            yield (
                f"A request spends {pool['queue_ms']:.0f} ms in the queue of decode, which includes the transfer of its KV cache, although decode has "
                "room: check the links (check, fabric)."
            )
    for service in plan["services"]:
        gained = evidence.services.get(service["name"]) or {}
        if gained.get("evictions") and gained.get("capacity_bytes"):
            share = gained.get("allocated_bytes", 0.0) / gained["capacity_bytes"]
            yield f"The store evicted {gained['evictions']:.0f} times and is {share:.0%} full: prompts are computed again (inference_store.segment_size)."
        errors = sum(gained.get(name, 0.0) for name in ERRORS)
        if errors:
            yield f"{service['name']} counted {errors:.0f} errors: read its log before changing sizes."
