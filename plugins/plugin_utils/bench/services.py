# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a benchmark's report says of the services: counters of all measurements, shares of a pool's engines, versions, other findings."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ANSWERING_KINDS
from ...module_utils.tools.how_many import how_many
from ...module_utils.verify.logs import services_of
from ...module_utils.verify.plan import read_plan
from ..description.findings import Finding
from ..description.values import natural

Record = t.Mapping[str, t.Any]
Gained = dict[str, dict[str, float] | None]
# Of a router, in the order of the report; the sum of both is not the number of requests: each has its own form of deployment.
ROUTER = {
    "requests": "requests",
    "pd_requests": "requests over pairs",
    "errors": "errors of pairs",
    "prefill_errors": "errors of prefill",
    "decode_errors": "errors of decode",
    "request_errors": "failed requests",
    "retries": "retries",
    "exhausted": "requests that failed after all retries",
}
STORE = {"reads": "reads", "found": "found", "evictions": "evictions", "refused": "refused blocks"}
TITLES = {"router": ROUTER, "store": STORE}
HARMLESS = {"recomputed"}  # red flags after which answers are right
PARTS = {"id", "path", "severity", "problem"}  # of a finding, that are recorded
BAD = {
    "router": (
        ("errors", "prefill_errors", "decode_errors", "request_errors", "retries", "exhausted"),
        "Read its log for the engine.",
        "A request that is sent again takes the time of two.",
    ),
    "store": (
        ("refused",),
        "Enlarge inference_store.segment_size, or measure with fewer prompts.",
        "Blocks that were not stored are computed again.",
    ),
}


def summed(results: t.Iterable[t.Mapping[str, Record | None]]) -> Gained:
    """What the counters of each service gained in all measurements; None of one that did not always answer."""
    found: Gained = {}
    for services in results:
        for name, gained in services.items():
            if gained is None or found.get(name, {}) is None:
                found[name] = None
                continue
            total = t.cast("dict[str, float]", found.setdefault(name, {}))
            for counter, value in gained.items():
                total[counter] = round(total.get(counter, 0.0) + value, 3)
    return dict(sorted(found.items(), key=lambda item: natural(item[0])))


def shares(plan: Record, engines: Gained) -> dict[str, float]:
    """``{engine: its part of the requests of its pool}``, of pools whose engines are all known and got a request."""
    found = {}
    for pool in ANSWERING_KINDS:
        names = [engine["name"] for engine in plan["verify"].get(pool) or ()]
        counted = {name: (engines.get(name) or {}).get("requests") for name in names}
        total = sum(value or 0.0 for value in counted.values())
        if total and all(value is not None for value in counted.values()):
            found.update({name: round((value or 0.0) / total, 4) for name, value in counted.items()})
    return found


def other_counters(bench: Record, results: t.Iterable[Record]) -> dict[str, dict[str, t.Any]]:
    """``{service: {kind, gained}}`` of routers and masters; ``gained`` is None if it is not known."""
    kinds = {item["name"]: item["kind"] for item in bench["options"].get("others") or ()}
    counted = summed(result.get("others") or {} for result in results)
    return {name: {"kind": kind, "gained": counted.get(name)} for name, kind in kinds.items()}


def transfers(plan: Record, engines: Gained, logs: t.Mapping[str, Record]) -> dict[str, dict[str, float]]:
    """``{engine: {number, seconds, bytes, failed, logged, waited}}``: transfers of KV cache by its counters, or by its log where it has none.

    ``bytes`` and ``failed`` only where they are counted. ``logged`` is 1 for the log, which also has the transfers of the warm-up. ``waited``
    is 1 where requests wait for them in the queue: not at prefill, which sends after it has computed. ``asked`` is 1 at a prefill that sends
    when decode asks: a request waits for it in the queue of decode. Of vLLM's own connector prefill logs the transfers, and decode nothing.
    """
    senders = {engine["name"] for engine in plan["verify"].get("prefill") or ()}
    found: dict[str, dict[str, float]] = {}
    for name, gained in engines.items():
        known, log = gained or {}, logs.get(name) or {}
        if "transfers" in known:
            parts = {"seconds": "transfer_seconds", "bytes": "transferred_bytes", "failed": "failed_transfers"}
            counted = {part: known[counter] for part, counter in parts.items() if counter in known}
            found[name] = {"number": known["transfers"], "seconds": 0.0, **counted, "logged": 0}
        elif log.get("transfers"):
            found[name] = {"number": log["transfers"], "seconds": log["transfer_ms"] / 1000, "logged": 1}
    asked = senders if not plan["engine_facts"]["npus"] else set()
    return {
        name: {**counted, "waited": int(name not in senders), **({"asked": 1} if name in asked else {})}
        for name, counted in found.items()
    }


def with_every_log(plan: Record, known: Record | None) -> Record | None:
    """``known`` whose ``logs``, ``{host: counts of service_log}`` if it has them, are ``{service: counts}`` with an entry for each service.

    A host says something of its own services only. If it gave no answer, or another form of one, what they logged is not known.
    """
    if "logs" not in (known or {}):
        return known
    problem = "its host gave no answer"
    unread = {"readable": False, "problem": problem, "flags": {}, "first": "", "transfers": 0, "transfer_ms": 0.0}
    verify = read_plan(plan["verify"])
    logs = {}
    for host in plan["hosts"]:
        said = known["logs"].get(host["name"]) or {}
        for name, _log in services_of(verify, host["name"]):
            logs[name] = said[name] if _counted(said.get(name)) else unread
    return {**known, "logs": dict(sorted(logs.items()))}


def _counted(log: t.Any) -> bool:
    """Whether an entry has the form of those of service_log."""
    kinds = {
        "readable": bool,
        "problem": str,
        "flags": dict,
        "first": str,
        "transfers": int,
        "transfer_ms": (int, float),
    }
    return (
        isinstance(log, dict)
        and all(isinstance(log.get(key), kind) for key, kind in kinds.items())
        and all(isinstance(count, int) for count in log["flags"].values())
    )


def about_logs(logs: t.Mapping[str, Record]) -> t.Iterator[Finding]:
    """Messages about lost, late or wrong KV cache during the benchmark, and logs that were not read."""
    for name, log in sorted(logs.items(), key=lambda item: natural(item[0])):
        if not log["readable"]:
            fix = "Run verify, which reads the same logs."
            why = "Its messages about KV cache are not known."
            yield _warning(
                "BENCH-LOG", name, f"its log could not be read: {log['problem'] or 'no reason is known'}", fix, why
            )
        if log["flags"]:
            counted = ", ".join(f"{number} {flag}" for flag, number in sorted(log["flags"].items()))
            problem, fix = (
                f"its log has messages about KV cache ({counted}): {log['first']}",
                "Run verify, which names causes.",
            )
            why = "KV cache was lost, late or wrong, so answers may be wrong or computed twice."
            severity = "warning" if set(log["flags"]) <= HARMLESS else "error"
            yield Finding(name, "BENCH-LOG", problem, fix, severity=severity, why=why)


def about_services(engines: Gained, others: t.Mapping[str, Record]) -> t.Iterator[Finding]:
    """Work that was done twice, and services whose counters are not known."""
    for name, gained in engines.items():
        failed = (gained or {}).get("failed_transfers")
        if failed:
            problem, fix = (
                f"{how_many(round(failed), 'transfer')} of KV cache failed",
                "Run check for the links, then verify.",
            )
            yield _warning("BENCH-TRANSFERS", name, problem, fix, "Their prompts were computed again, or not answered.")
    for name, other in others.items():
        gained, (counters, fix, why) = other["gained"], BAD[other["kind"]]
        if gained is None:
            problem = "its counters could not be read, or it was restarted meanwhile"
            yield _warning(
                "BENCH-COUNTERS", name, problem, "Run status, and measure again.", "What it did is not known."
            )
            continue
        bad = [
            f"{TITLES[other['kind']][counter]}: {gained[counter]:.0f}" for counter in counters if gained.get(counter)
        ]
        if bad:
            yield _warning(f"BENCH-{other['kind'].upper()}", name, f"it counted {', '.join(bad)}", fix, why)


def versions(plan: Record) -> dict[str, str]:
    """The planned versions of the software, without those that the engine does not have."""
    facts, router = plan["release_facts"], plan["software"]["router"]
    npus = plan["engine_facts"]["npus"]
    package = next((text for text in router.get("requirements") or () if "==" in text), "")
    own = f"{router['flavour']} of vLLM-Ascend {router.get('source_release')}" if router.get("script") else package
    found = {
        "vLLM-Ascend": plan["release"] if npus else "",
        "vLLM": facts["vllm"],
        "CANN": facts.get("cann") if npus else "",
        "torch-npu": facts.get("torch_npu") if npus else "",
        "Mooncake": (plan["software"].get("mooncake") or {}).get("version"),
        "router": "" if router["flavour"] == "none" else own.replace("==", " ") or router["flavour"],
    }
    return {name: str(value) for name, value in found.items() if value}


def known_findings(known: Record) -> dict[str, t.Any]:
    """``{check: [{id, path, severity, problem}] or None, status: [texts]}``; ``check`` is None if nobody has checked the hosts."""
    check = known.get("check")
    # The template engine of ansible-core before 2.19 makes a text of None, and an empty text would be a check without findings.
    found = [{part: item[part] for part in sorted(PARTS)} for item in check] if isinstance(check, list) else None
    return {"check": found, "status": list(known.get("status") or ())}


def _warning(rule: str, path: str, problem: str, fix: str, why: str) -> Finding:
    return Finding(path, rule, problem, fix, severity="warning", why=why)
