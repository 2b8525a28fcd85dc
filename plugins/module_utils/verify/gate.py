# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sequence of verification steps: each runs if the steps that it needs have passed; all results are reported."""

from __future__ import annotations

import time
from typing import Any, Callable, Collection, Iterable, NamedTuple

from ..tools.engine_kinds import ANSWERING_KINDS
from . import records
from .access import check_access
from .access import why_not as nothing_refused
from .chat import check_chat
from .entry import check_entry
from .faults import Problem
from .limits import check_negative
from .load import check_burst, check_long
from .master import check_master
from .pairs import check_pairs
from .plan import VerifyPlan
from .pool import check_pool
from .probe import Keys, Limits, Probe
from .ready import check_alone, check_engines
from .routers import check_routers
from .texts import check_texts


class Step(NamedTuple):
    """names: the reported steps; needs: steps that must not have failed; why_not: "" or the reason to skip."""

    names: tuple[str, ...]
    check: Callable[[Probe], list[records.Record]]
    needs: tuple[str, ...]
    why_not: Callable[[VerifyPlan], str]


# Seconds of a request while no master of the store answers. Its client waits four seconds for each lookup and put (measured with 0.3.13), so
# requests would take minutes, and what they show does not change the result.
WITHOUT_MASTER = 30.0


def _always(plan: VerifyPlan) -> str:
    return ""


def _with_store(plan: VerifyPlan) -> str:
    return "" if plan.store else "the plan has no store"


def _with_pool(plan: VerifyPlan) -> str:
    return "" if "pool" in plan.mode else f"mode {plan.mode} has no pool"


def _with_routers(plan: VerifyPlan) -> str:
    return "" if len(plan.routers) > 1 else "each request through the entry uses the same router"


def _with_texts(plan: VerifyPlan) -> str:
    return "" if plan.prompts else "switched off by inference_verify"


def _with_pairs(plan: VerifyPlan) -> str:
    return "" if plan.disaggregated else f"mode {plan.mode} has no prefill and decode"


GATE = (
    Step(("master",), check_master, (), _with_store),
    Step(("engines",), check_engines, (), _always),
    Step(("alone",), check_alone, ("engines",), _always),
    Step(("access",), check_access, (), nothing_refused),
    Step(("entry", "stream", "transfer"), check_entry, ("engines", "alone"), _always),
    # A balancer that sees one router down, or none of its requests, still answers each client.
    Step(("routers",), check_routers, ("engines", "alone"), _with_routers),
    Step(("chat",), check_chat, ("engines", "alone", "entry", "stream"), _always),
    Step(("texts",), check_texts, ("engines", "alone"), _with_texts),
    Step(("long",), check_long, ("engines", "alone", "entry", "transfer"), _always),
    Step(("burst",), check_burst, ("engines", "alone", "entry", "transfer"), _always),
    # Also after a failed entry: it shows whether the engines or the router cause the failure.
    Step(("pairs",), check_pairs, ("engines", "alone"), _with_pairs),
    Step(("pool",), check_pool, ("master", "engines", "alone"), _with_pool),
    Step(("negative",), check_negative, ("engines", "alone", "entry"), _always),
)


ABSENT = (_with_store, _with_pool, _with_routers, _with_pairs)  # reasons that are what the plan does not have


def needless(plan: VerifyPlan) -> list[str]:
    """Steps that are skipped because the plan has nothing that they could test, such as those of several routers for one router."""
    found = [name for step in GATE if step.why_not in ABSENT and step.why_not(plan) for name in step.names]
    return [*found, *([] if plan.disaggregated else ["transfer"])]


JOIN = (
    "engines",
    "alone",
    "pairs",
)  # nothing goes through the entry, so that no client gets an answer of an engine that is not proven


def join(
    plan: VerifyPlan, keys: Keys, limits: Limits, joining: Collection[str], peers: Collection[str]
) -> dict[str, Any]:
    """Prove engines that are not behind the router yet: alone, and each with every peer while the peers serve clients.

    ``joining``, ``peers``: names of engines. Returns a report as `verify`; `verified` if no step failed. Of the peers only as many are used as pairs
    may be tested, first those of another pool.
    """
    own = {engine.role for engine in plan.engines if engine.name in joining}
    used = [engine for engine in plan.engines if engine.name in peers and engine.name not in joining]
    pools = [[engine for engine in used if engine.role == role] for role in ANSWERING_KINDS]
    number = {engine.name: position for pool in pools for position, engine in enumerate(pool)}
    used.sort(key=lambda engine: (own == {engine.role}, number[engine.name]))
    names = {*joining, *(engine.name for engine in used[: plan.max_pairs])}
    engines = tuple(engine for engine in plan.engines if engine.name in names)
    probe = Probe(plan._replace(engines=engines), keys, limits)
    probe.joining = frozenset(joining)
    steps = _stepped(probe, [step for step in GATE if step.names[0] in JOIN])
    return records.conclude(dict(_head(plan), **_probe_results(probe), steps=steps), False)


def verify(plan: VerifyPlan, keys: Keys, limits: Limits) -> dict[str, Any]:
    """Run the verification steps against the live service.

    Returns {verified, findings, failures, warnings, remarks, retries {reason: number}, near_ties, changed, reason, steps,
    pairs {prefill rank: {decode rank: {status, …}}}, ttft_ms {stream, whole_answer, engine}, transfer_ms, requests, served_by,
    summary, model, entry, mode, release, check_mode}.
    Logs are not read here: step `logs` is skipped until `verdict.verdict` has them.
    """
    probe = Probe(plan, keys, limits)
    if plan.changed and not plan.reason:
        text = f"{', '.join(plan.changed)}, without a reason"
        probe.remark("inference_verify", Problem(text, "no_reason"))
    steps = _stepped(probe, GATE)
    steps.append(records.skipped("logs", "logs are read on their hosts"))
    steps.sort(key=lambda item: records.STEPS.index(item["step"]))
    return records.conclude(dict(_head(plan), **_probe_results(probe), steps=steps), plan.disaggregated)


def _stepped(probe: Probe, gate: Iterable[Step]) -> list[records.Record]:
    """The records of all steps, in their order of execution."""
    steps: list[records.Record] = []
    for step in gate:
        started = time.monotonic()
        new = _run(step, probe, steps)
        for item in new:
            item["seconds"] = round((time.monotonic() - started) / len(new), 3)
        steps += new
        if "master" in step.names and records.status_of(new, "master") == "failed":
            probe.limits = probe.limits._replace(request=min(WITHOUT_MASTER, probe.limits.request))
    return steps


def _run(step: Step, probe: Probe, done: list[records.Record]) -> list[records.Record]:
    why_not = step.why_not(probe.plan)
    broken = [name for name in step.needs if records.status_of(done, name) == "failed"]
    if broken and not why_not:
        why_not = "skipped because {} failed".format(" and ".join(broken))
    return [records.skipped(name, why_not) for name in step.names] if why_not else step.check(probe)


def check_mode_report(plan: VerifyPlan) -> dict[str, Any]:
    """The report in check mode: every step is skipped with the URLs of its requests; nothing is sent."""
    steps = []
    for step in GATE:
        for name in step.names:
            reason = step.why_not(plan) or f"would send requests to {_urls(plan, name)}"
            steps.append(records.skipped(name, reason))
    report = dict(
        _head(plan),
        warnings=[],
        remarks=[],
        retries={},
        near_ties=0,
        findings=[],
        pairs={},
        ttft_ms={},
        transfer_ms=[],
        requests=[],
        served_by=[],
    )
    report.update(steps=steps, verified=False, failures=[], check_mode=True)
    lines = [f"check mode, nothing sent: {plan.model} at {plan.entry.url} ({plan.mode})"]
    lines += ["  {:8} {}".format(step["step"], step["message"]) for step in steps]
    return dict(report, summary=lines)


def _urls(plan: VerifyPlan, name: str) -> str:
    if name == "master" and plan.store:
        return ", ".join(master.url for master in plan.store.masters) or plan.store.master_url
    if name == "routers":
        return ", ".join(router.url for router in plan.routers)
    if name in ("engines", "alone", "pairs", "pool", "texts"):
        return ", ".join(engine.url for engine in plan.engines)
    return plan.entry.url


def _head(plan: VerifyPlan) -> dict[str, Any]:
    head = {"model": plan.model, "entry": plan.entry.url, "mode": plan.mode, "release": plan.release.name}
    return dict(head, check_mode=False, tails={}, changed=list(plan.changed), reason=plan.reason)


def _probe_results(probe: Probe) -> dict[str, Any]:
    names = ("warnings", "remarks", "near_ties", "pairs", "ttft_ms", "requests", "served_by")
    return dict({name: getattr(probe, name) for name in names}, transfer_ms=[], retries=dict(probe.retries))
