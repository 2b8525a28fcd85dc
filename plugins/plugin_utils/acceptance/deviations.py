# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every deviation of a handover: findings, warnings, waived rules, what was not asked, and what is not known."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.how_many import how_many
from ..description.findings import Finding, spans
from ..hosts.thresholds import Thresholds, thresholds

Record = t.Mapping[str, t.Any]
# What a deviation is. An error is a fault; unknown: it was not asked, or there is no answer.
SEVERITIES = ("error", "unknown", "warning", "accepted", "remark")
UNPROVEN = "What was not proven may be broken."
STAGES = {
    "check": "host check with all pairs of devices",
    "deploy": "preparation and deployment",
    "verify": "verification with all pairs of ranks",
    "bench": "benchmark",
    "drill": "drill",
}


def deviations(given: Record, versions: t.Mapping[str, t.Mapping[str, str]]) -> list[dict[str, str]]:
    """All deviations, the worst ones first, as findings with ``stage``. ``given``: as of ``acceptance_report``."""
    found: list[dict[str, str]] = []
    for stage, part in (("check", _check), ("verify", _verify), ("bench", _bench), ("drill", _drill)):
        found += [{**finding.as_dict(), "stage": stage} for finding in part(given)]
    found += [{**finding.as_dict(), "stage": stage} for stage, finding in _stages(given)]
    found += [{**finding.as_dict(), "stage": "check"} for finding in _versions(given, versions)]
    return sorted(found, key=lambda item: (SEVERITIES.index(item["severity"]), list(STAGES).index(item["stage"])))


def states(given: Record) -> dict[str, str]:
    """Stage to passed, failed, not finished, not begun or not asked. Only what proved itself has passed."""
    verify, bench, drill = (given.get(name) or {} for name in ("verify", "bench", "drill"))
    verified = bool(verify.get("verified")) and not verify.get("check_mode")
    findings = given.get("findings")
    ended = {
        "check": None if findings is None else not any(item["severity"] == "error" for item in findings),
        "deploy": True if verify else None,  # verify begins after it
        "verify": verified if verify else None,
        "bench": bool(bench["passed"]) if bench else None,
        "drill": bool(drill["passed"]) and not given.get("drill_ended") if drill else None,
    }
    return {stage: _state(stage, given, result) for stage, result in ended.items()}


def _state(stage: str, given: Record, result: bool | None) -> str:
    if not given["settings"].get(stage, True):
        return "not asked"
    if result is not None:
        return "passed" if result else "failed"
    return "not finished" if stage in given["begun"] else "not begun"


def _finding(rule: str, path: str, problem: str, fix: str, severity: str, why: str = UNPROVEN) -> Finding:
    return Finding(path, rule, problem, fix, severity=severity, why=why)


def _stages(given: Record) -> t.Iterator[tuple[str, Finding]]:
    for stage, state in states(given).items():
        if state == "not asked":
            fix = f"Set inference_acceptance.{stage}: true, or sign without it."
            yield stage, _finding("ACCEPTANCE-NOT-ASKED", stage, f"the {STAGES[stage]} was not asked", fix, "unknown")
        elif state in ("not finished", "not begun"):
            fix = "Read the output of the run, correct the reason, and run the playbook acceptance again."
            yield stage, _finding("ACCEPTANCE-NOT-FINISHED", stage, f"the {STAGES[stage]} has {state}", fix, "error")


def _check(given: Record) -> t.Iterator[Finding]:
    yield from (Finding.from_dict(item) for item in given.get("findings") or ())
    if given.get("findings") is None:
        return
    for host in given["unrecorded"]:
        problem = "the outputs of its tools were not recorded"
        fix = "Correct the findings of the host, then run the playbook acceptance again."
        yield _finding("ACCEPTANCE-RECORD", host, problem, fix, "unknown", "Its state cannot be shown to others.")
    if not given["engine_facts"]["npus"]:
        problem, fix = "the deployment has no NPUs", "Set inference_hardware to the hardware of the rack."
        yield _finding(
            "ACCEPTANCE-HARDWARE", "inference_hardware", problem, fix, "unknown", "Nothing was proven about NPUs."
        )
    for host, devices in given["unused"].items():
        problem = f"no service uses its NPUs {spans(devices, ', ')}, so they were neither pinged nor loaded"
        fix = "Plan services on them (inference_devices, inference_pools), or sign without them."
        yield _finding("ACCEPTANCE-DEVICES", host, problem, fix, "unknown")
    pinged, wanted = given["pinged"]
    if pinged < wanted:
        problem = f"{pinged} of {wanted} pairs of devices were pinged"
        fix = "Remove host_check_ping, and correct the findings of the hosts."
        yield _finding("ACCEPTANCE-PINGS", "check", problem, fix, "unknown")
    if given["tcp"] != "listen":
        problem, fix = f"host_check_tcp is {given['tcp']}, so that not all ports were tested", "Remove host_check_tcp."
        yield _finding("ACCEPTANCE-TCP", "host_check_tcp", problem, fix, "unknown")
    limits, usual = vars(thresholds(given["thresholds"])), vars(Thresholds())
    for name in (name for name in limits if limits[name] != usual[name]):
        problem, fix = f"{name} is {limits[name]:g} instead of {usual[name]:g}", "Remove it from host_check_thresholds."
        why = "Findings of the check may be missing."
        yield _finding("ACCEPTANCE-THRESHOLD", "host_check_thresholds", problem, fix, "accepted", why)
    for name in given["settings"]["unplanned"]:
        problem = "the host is in the inventory, and the plan has no service on it, so nothing of it was checked"
        fix = "Put it into a group of the deployment, name another group with inference_group, or sign without it."
        yield _finding("ACCEPTANCE-UNPLANNED", name, problem, fix, "unknown")
    for name in given["left_out"]:
        yield _finding("ACCEPTANCE-LIMIT", name, "--limit excluded the host", "Run without --limit.", "unknown")


def _verify(given: Record) -> t.Iterator[Finding]:
    report = given.get("verify")
    if not report:
        return
    if report.get("check_mode"):
        yield _finding(
            "ACCEPTANCE-NOT-ASKED", "verify", "nothing was sent in check mode", "Run without --check.", "error"
        )
        return
    yield from (Finding.from_dict(item) for item in report["findings"])
    fix = "Read the report of verify, and correct what it names."
    for text in report["warnings"]:
        yield _finding("VERIFY-WARNING", "verify", text, fix, "warning")
    for step in report["steps"]:
        if step["status"] == "skipped" and step["step"] not in given["needless"]:
            problem = f"the step {step['step']} was skipped: {step['message']}"
            yield _finding("VERIFY-SKIPPED", "verify", problem, fix, "unknown")
    uncovered = [
        cell
        for row in report["pairs"].values()
        for cell in row.values()
        if cell.get("status") not in ("passed", "failed")
    ]
    if uncovered:
        problem = f"not tested: {how_many(len(uncovered), 'pair')} of ranks"
        yield _finding("VERIFY-PAIRS", "verify", problem, fix, "unknown")
    if report.get("changed"):
        problem = (
            f"inference_verify changes {', '.join(report['changed'])}: {report.get('reason') or 'no reason is given'}"
        )
        yield _finding(
            "VERIFY-CHANGED",
            "inference_verify",
            problem,
            "Remove the changes.",
            "accepted",
            "The proof is less strict.",
        )


def _bench(given: Record) -> t.Iterator[Finding]:
    if given["status_ignored"]:
        problem, fix = "the service was measured whatever status found", "Remove inference_status_fail: false."
        why = "Figures of a service with findings mean little."
        yield _finding("ACCEPTANCE-STATUS", "inference_status_fail", problem, fix, "accepted", why)
    report = given.get("bench") or {}
    if (report.get("settings") or {}).get("profile") == "smoke":
        problem, fix = (
            "the profile smoke sends a few requests and measures nothing",
            "Set another inference_bench.profile.",
        )
        yield _finding(
            "ACCEPTANCE-SMOKE", "inference_bench.profile", problem, fix, "unknown", "Its figures are chance."
        )
    yield from (Finding.from_dict(item) for item in report.get("findings", ()))


def _drill(given: Record) -> t.Iterator[Finding]:
    for fault in (given.get("drill") or {}).get("faults", ()):
        yield from (Finding.from_dict(item) for item in fault["findings"])
    if given.get("drill_ended"):
        problem = f"the drill was ended: {given['drill_ended']}"
        yield _finding("DRILL-ENDED", "drill", problem, "Correct the reason, then repeat the drill.", "error")


def _versions(given: Record, versions: t.Mapping[str, t.Mapping[str, str]]) -> t.Iterator[Finding]:
    for host, row in versions.items() if given.get("findings") is not None else ():
        unknown = [column for column in given["engine_facts"]["versions"] if not row.get(column)]
        if unknown:
            problem = f"the version of {', '.join(unknown)} is not known"
            fix = "Read /usr/local/Ascend on the host. What this run installed is known in the next run of acceptance."
            yield _finding("ACCEPTANCE-VERSION", host, problem, fix, "unknown", "It cannot be compared later.")
