# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a drill: figures of each fault, what the services logged, and findings."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.how_many import how_many
from ...module_utils.verify.logs import services_of
from ...module_utils.verify.plan import read_plan
from ..description.findings import Finding
from .settings import ENTRY_KINDS

Record = t.Mapping[str, t.Any]
FORMAT = 1  # of the JSON
LINES = 3  # of each log
KEPT = 0.9  # of the keys; some may be evicted meanwhile
MOST_LINE = 400  # characters
WHAT = {"mooncake_master": "the store", "etcd": "etcd"}
UNJUDGED = "The drill says nothing about this."


def drill_report(plan: Record, drill: Record, results: t.Sequence[Record]) -> dict[str, t.Any]:
    """``{format, deployment, digest, release, host, settings, limits, faults, findings, passed}``.

    ``results``: for each fault in the order of ``drill.faults`` a mapping with ``fault`` and ``load``, the results of service_fault and
    service_load, ``logs`` of service_log for each host, and ``problem``, why the fault was not made or nothing could be measured.
    """
    faults = [
        _fault(run, {**result, "logs": _own_logs(plan, run, result)}, _limits(drill, run))
        for run, result in zip(drill["faults"], results, strict=False)
    ]
    for run in drill["faults"][len(results) :]:
        faults.append(_fault(run, {"problem": "an earlier step ended the drill"}, _limits(drill, run)))
    findings = [finding for fault in faults for finding in fault["findings"]]
    return {
        "format": FORMAT,
        "deployment": plan["deployment"],
        "digest": plan["digest"],
        "release": plan["release"],
        "host": drill["host"],
        "settings": dict(drill["settings"]),
        "limits": dict(drill["limits"]),
        "faults": faults,
        "passed": not any(finding["severity"] == "error" for finding in findings),
    }


def _limits(drill: Record, run: Record) -> dict[str, t.Any]:
    return {**drill["limits"], **run.get("limits", {})}


def _own_logs(plan: Record, run: Record, result: Record) -> list[dict[str, t.Any]]:
    """The logs of each host in the order of the run's ``log_hosts``, without services that are not there: a host says nothing of others."""
    if not result.get("logs"):
        return []
    verify = read_plan(plan["verify"])
    own = {host: {name for name, _log in services_of(verify, host)} for host in run["log_hosts"]}
    return [
        {name: log for name, log in said.items() if name in own[host]}
        for host, said in zip(run["log_hosts"], result["logs"], strict=False)
    ]


def _fault(run: Record, result: Record, limits: Record) -> dict[str, t.Any]:
    made, figures = result.get("fault") or {}, (result.get("load") or {}).get("figures") or {}
    store = result.get("store") or {}
    findings = [
        *_unmade(run, result, made, figures),
        *_recovery(run, made),
        *_clients(run, figures, limits),
        *_leader(run, store, limits),
        *_address(run, result.get("address") or {}, limits),
        *_unjudged(run, made, figures),
        *_unread(run, result.get("logs") or ()),
    ]
    return {
        "label": run["label"],
        "kind": run["kind"],
        "host": run["host"],
        "services": list(run["names"]),
        "action": run["action"],
        "part": run["part"],
        "lasted": round(made["ended"] - made["begun"], 1) if made else None,
        "processes": made.get("processes", {}),
        "recovered": made.get("recovered", {}),
        **({"aborted": _aborted(run, made)} if run["action"] == "abort" else {}),
        "figures": figures,
        **({"store": _failover(run, store)} if store else {}),
        **({"address": dict(result["address"])} if result.get("address") else {}),
        "logged": _logged(result.get("logs") or ()),
        **({"limits": dict(limits)} if run.get("limits") else {}),
        "findings": [finding.as_dict() for finding in findings],
        "passed": not any(finding.severity == "error" for finding in findings),
    }


def _failover(run: Record, store: Record) -> dict[str, t.Any]:
    keys = ("before", "leader", "leaderless", "clients_after", "clients", "stored_keys")
    return {key: store.get(key) for key in (keys[:3] if run["kind"] == "etcd" else keys)}


def _leader(run: Record, store: Record, limits: Record) -> t.Iterator[Finding]:
    """What the failover of the leader of the store or of etcd took, and what it lost."""
    if not run["candidates"]:
        return
    if not store:
        problem = f"the failover of {WHAT[run['kind']]} was not measured"
        yield _finding(run, "DRILL-UNJUDGED", problem, "Correct the reason, then repeat the drill.", UNJUDGED)
        return
    seconds, before = store.get("leaderless"), store["before"]
    if seconds is None or seconds > limits["leader"]:
        one = "member led with a majority" if run["kind"] == "etcd" else "master served"
        took = f"no other {one}" if seconds is None else f"no {one} for {seconds} s"
        problem = f"{took} after {before['leader']} was hit (limit: {limits['leader']} s)"
        fix = "Check etcd and the masters' logs (playbook status)."
        yield _finding(
            run, "DRILL-LEADER", problem, fix, "Meanwhile no block is stored or found, and no engine can start."
        )
    if seconds is None or run["kind"] == "etcd":
        return
    if unknown := [name for name in ("clients", "stored_keys") if None in (before[name], store[name])]:
        problem = (
            f"{' and '.join(name.replace('_', ' ') for name in unknown)} before or after the failover are not known"
        )
        fix = "Read /metrics of all masters, then repeat the drill."
        yield _finding(run, "DRILL-UNJUDGED", problem, fix, UNJUDGED)
    if run["keeps_keys"] and before["stored_keys"] == 0:
        problem = "the store had no keys before the failover, so nothing could be lost"
        yield _finding(
            run, "DRILL-UNJUDGED", problem, "Use the service first, then repeat the drill.", UNJUDGED, "warning"
        )
    if "clients" not in unknown and store["clients_after"] is None:
        problem = f"{store['leader']} has {store['clients']:.0f} of {before['clients']:.0f} clients"
        fix = "Read the engines' logs: they have to mount their segments again."
        yield _finding(run, "DRILL-CLIENTS", problem, fix, "The memory of the others is not used.")
    if "stored_keys" not in unknown and run["keeps_keys"] and store["stored_keys"] < KEPT * before["stored_keys"]:
        problem = f"{store['stored_keys']:.0f} of {before['stored_keys']:.0f} keys are left, although the masters have an OpLog"
        fix = "Compare --cluster_id and enable_oplog of all masters, and read the new leader's log."
        yield _finding(run, "DRILL-KEYS", problem, fix, "All prompts are computed again until the store is filled.")


def _address(run: Record, address: Record, limits: Record) -> t.Iterator[Finding]:
    """Which hosts of an entry have the clients' address after the fault."""
    if not address:
        return
    after, problem = address["after"], ""
    if len(after) != 1:
        problem = f"after the fault {' and '.join(after) or 'no host'} had the address"
    elif after == [address["before"]] and run["action"] == "pause" and run["seconds"] > limits["gap"]:
        problem = f"the address stayed on {after[0]}, whose program did not answer for {run['seconds']} s"
    if problem:
        fix = "Run status, and read keepalived's log on both hosts (journalctl -u 'ascend-inference-address-*')."
        yield _finding(run, "DRILL-ADDRESS", problem, fix, "Clients reach the address, whoever has it.")


def _logged(logs: t.Sequence[t.Mapping[str, Record]]) -> dict[str, dict[str, t.Any]]:
    """By service: the number of lines with warnings, errors or lost KV, and some of them. Services without such lines are left out."""
    found = {}
    for host in logs:
        for name, log in sorted(host.items()):
            lines = list(dict.fromkeys([*log["red_flags"], *log["alarms"]]))
            if lines:
                found[name] = {"count": len(lines), "lines": [line[:MOST_LINE] for line in lines[:LINES]]}
    return found


def _finding(run: Record, id_: str, problem: str, fix: str, why: str, severity: str = "error") -> Finding:
    return Finding(run["label"], id_, problem, fix, severity=severity, why=why)


def _unmade(run: Record, result: Record, made: Record, figures: Record) -> t.Iterator[Finding]:
    problem = str(result.get("problem") or "")
    if problem or not made or not figures:
        why = "The drill says nothing about this fault."
        yield _finding(
            run, "DRILL-UNMADE", problem or "nothing was measured", "Correct the reason, then repeat it.", why
        )


def _recovery(run: Record, made: Record) -> t.Iterator[Finding]:
    recovered = made.get("recovered") or {}
    leader = (made.get("processes") or recovered) if run["candidates"] else ()  # of several only the leader is hit
    for name in (leader or run["names"]) if made else ():
        seconds = recovered.get(name)
        if seconds is None:
            problem = f"{name} did not come back by itself within {run['timeout']} s; the playbook started it"
            fix = "Read its log (playbook status), and the restart settings of its unit."
            yield _finding(
                run, "DRILL-RECOVERY", problem, fix, "The spare one serves alone until an operator repairs it."
            )


def _clients(run: Record, figures: Record, limits: Record) -> t.Iterator[Finding]:
    if not figures:
        return
    fault = figures["fault"]
    for row, when in ((figures["baseline"], " before the fault"), (fault, "")):
        if not row["wrong"]:
            continue
        problem = f"{row['wrong']} of {row['compared']} compared answers{when} had a wrong text"
        fix = "Run verify, and set inference_kv_hold_timeout above the longest time that a request waits for decode."
        yield _finding(run, "DRILL-WRONG", problem, fix, "Clients got a wrong answer, and no error.")
    if fault["empty"]:
        problem = f"{how_many(fault['empty'], 'answer')} with status 200 and no text"
        fix = "Use the router vllm_router, or a release whose proxy answers 502."
        yield _finding(run, "DRILL-EMPTY", problem, fix, "Clients got nothing, and no error.")
    if fault["failing"] > limits["failing"]:
        problem = (
            f"a request that began {fault['failing']} s after the fault still failed (limit: {limits['failing']} s)"
        )
        fix = "Check the router's health checks: it sends requests to a service that is away."
        if run["kind"] in ENTRY_KINDS:
            fix = "Run status: keepalived moves the address if the other host serves."
        if run["action"] == "abort":
            fix = "Allow inference_watchdog: restart, which takes out what the probe found, or set a router that leaves engines that fail requests."
        yield _finding(run, "DRILL-FAILING", problem, fix, "The spare one was not used.")
    if fault["gap"] > limits["gap"]:
        problem = f"no good answer for {fault['gap']} s (limit: {limits['gap']} s)"
        fix = "Check the router's health checks and timeouts, and whether one instance alone bears the load."
        if run["kind"] in ENTRY_KINDS:
            fix = (
                "Run status: keepalived moves the address if the other host serves, and systemd starts a program again."
            )
        yield _finding(run, "DRILL-GAP", problem, fix, "For clients this is an outage.")
    recovered, most = fault["recovered"], limits["recovery"]
    rate = figures["baseline"]["per_second"]
    if rate and (recovered is None or (most and recovered > most)):
        reached = "was not reached again" if recovered is None else f"took {recovered} s (limit: {most} s)"
        problem = f"95 % of the {rate:.2f} good answers per second before the fault {reached}"
        severity = "error" if most else "warning"
        fix = "Set a longer after, or a lower rate if one instance alone cannot bear it."
        yield _finding(run, "DRILL-SLOW", problem, fix, "The service has less capacity than before.", severity)
    if fault["unsent"]:
        problem = f"{how_many(fault['unsent'], 'request')} not sent, because all clients waited for answers"
        fix = "Set more clients or a lower rate."
        yield _finding(run, "DRILL-UNSENT", problem, fix, "Real clients would have sent them.", "warning")


def _unjudged(run: Record, made: Record, figures: Record) -> t.Iterator[Finding]:
    """What the answers do not show. Without a finding it would count as passed."""
    if not figures:
        return
    for name, number in _aborted(run, made).items() if run["action"] == "abort" else ():
        if not number:
            problem = f"no request to {name} was broken off: none reached it, or each answer began within 20 ms"
            fix = "Set more tokens, a higher rate or more seconds, then repeat the drill."
            yield _finding(run, "DRILL-UNJUDGED", problem, fix, UNJUDGED)
    baseline, fault = figures["baseline"], figures["fault"]
    if not baseline["per_second"]:
        problem = "no good answer came before the fault, so neither the gap nor the recovery is judged"
        yield _finding(run, "DRILL-UNJUDGED", problem, "Run verify, then repeat the drill.", UNJUDGED)
    if not fault["requests"]:
        problem = "no request ended after the fault, so nothing is known about the answers"
        yield _finding(
            run, "DRILL-UNJUDGED", problem, "Set a longer after or a higher rate, then repeat the drill.", UNJUDGED
        )
        return
    stable = fault["compared"] - fault["unstable"]
    lost = f"{fault['not_repeated']} of {fault['compared'] + fault['not_repeated']} second answers were lost"
    if stable < 1:
        reasons = [
            lost if fault["not_repeated"] else "",
            f"{fault['unstable']} texts differ at each repetition" if fault["unstable"] else "",
            "no good answer came after the fault" if not fault["answered"] else "",
        ]
        problem = f"no text was compared: {'; '.join(filter(None, reasons)) or 'inference_drill.compare is 0'}"
        chosen = not any(reasons)
        fix = "Set a larger compare." if chosen else "Run verify, then repeat the drill."
        yield _finding(run, "DRILL-UNJUDGED", problem, fix, UNJUDGED, "warning" if chosen else "error")
    elif fault["not_repeated"]:
        problem = f"{lost}, so their texts are not judged"
        yield _finding(run, "DRILL-UNJUDGED", problem, "Run verify, then repeat the drill.", UNJUDGED, "warning")


def _aborted(run: Record, made: Record) -> dict[str, int]:
    """By service: how many requests were broken off, as its host says."""
    said = made.get("aborted") or {}
    return {name: number if isinstance(number := said.get(name), int) else 0 for name in run["names"]}


def _unread(run: Record, logs: t.Sequence[t.Mapping[str, Record]]) -> t.Iterator[Finding]:
    for name, log in sorted((name, log) for host in logs for name, log in host.items() if not log["readable"]):
        problem = f"the log of {name} was not read: {log['problem'] or 'no reason given'}"
        fix = "Correct the reason, then repeat the drill."
        yield _finding(run, "DRILL-UNJUDGED", problem, fix, "Warnings and errors in it are not shown.", "warning")
