# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a handover: verdict, stages, figures, versions, and every deviation."""

from __future__ import annotations

import statistics
import typing as t

from ...module_utils.tools.how_many import how_many
from ...module_utils.verify.gate import needless
from ...module_utils.verify.plan import read_plan
from ..hosts.check_plan import observed
from ..hosts.reach import coverage, pings
from ..hosts.tcp import tcp_coverage
from ..hosts.versions import versions
from .deviations import STAGES, deviations, states

Record = t.Mapping[str, t.Any]
FORMAT = 1  # of the JSON
PASSED, WITH, NOT = "passed", "passed with deviations", "not passed"


def acceptance_report(plan: Record, given: Record) -> dict[str, t.Any]:
    """``{format, deployment, digest, release, date, verdict, stages, figures, versions, deviations, bench}``.

    ``given``: ``settings`` (of ``acceptance_settings``), ``begun`` (stages that began), ``date``, ``left_out`` (hosts), ``unrecorded`` (hosts), ``facts``
    (of ``check_facts``), ``findings`` (of ``check_plan``), ``tcp`` (mode of the check), ``thresholds`` (those of the check that differ),
    ``status_ignored`` (whether bench ignores findings of status), and the reports ``verify``, ``bench`` and ``drill``;
    what has not happened is None. A stage that began and has no result did not finish, so a page that was written before it is true
    even if the run ends within it.
    """
    # The template engine of ansible-core before 2.19 makes a text of None, and an empty text would be a check without findings.
    given = {**given, "findings": given["findings"] if isinstance(given["findings"], list) else None}
    case = observed(plan, given["facts"], {"ping": "full", "left_out": given["left_out"]})
    table = versions(case)
    reached = pings(case)
    pinged = (len(reached.answers), reached.wanted)
    of_plan = {
        "engine_facts": plan["engine_facts"],
        "unused": _unused(case),
        "needless": needless(read_plan(plan["verify"])),
    }
    found = deviations({**given, **of_plan, "pinged": pinged}, table)
    stages = states(given)
    return {
        "format": FORMAT,
        "deployment": plan["deployment"],
        "digest": plan["digest"],
        "release": plan["release"],
        "vllm": plan["release_facts"]["vllm"],
        "model": plan["model"]["name"],
        "hosts": len(plan["hosts"]),
        "devices": sum(len(service["devices"]) for service in plan["services"]),
        "date": given["date"],
        "verdict": _verdict(stages, found),
        "stages": [{"name": name, "title": STAGES[name], "state": state} for name, state in stages.items()],
        "figures": [*_of_check(case, given), *_of_verify(given), *_of_drill(given)],
        "versions": table,
        "bench": given.get("bench"),
        "deviations": found,
    }


def _unused(case: t.Any) -> dict[str, list[int]]:
    """Host to the devices that npu-smi lists and no service of the plan uses: neither pings nor requests reach them."""
    listed = {host["name"]: set(npus) for host, npus in case.npus()}
    found = {name: sorted(devices - set(case.planned_devices(name))) for name, devices in listed.items()}
    return {name: devices for name, devices in found.items() if devices}


def _verdict(stages: t.Mapping[str, str], found: t.Sequence[Record]) -> str:
    broken = any(state not in ("passed", "not asked") for state in stages.values())
    if broken or any(item["severity"] == "error" for item in found):
        return NOT
    return WITH if found else PASSED


def _of_check(case: t.Any, given: Record) -> t.Iterator[dict[str, str]]:
    if given.get("findings") is not None:
        pairs, connections = coverage(case), tcp_coverage(case)
        answered = len(case.hosts()) - len(case.unreachable())
        texts = [f"{answered} of {len(case.plan['hosts'])} hosts answered", pairs, connections]
        yield {"stage": "check", "text": "; ".join(text for text in texts if text)}


def _of_verify(given: Record) -> t.Iterator[dict[str, str]]:
    report = given.get("verify")
    if not report or report.get("check_mode"):
        return
    cells = [cell.get("status") for row in report["pairs"].values() for cell in row.values()]
    texts = [
        how_many(len(report["requests"]), "request"),
        f"{cells.count('passed')} of {len(cells)} pairs of ranks passed" if cells else "",
    ]
    texts += [
        f"time to first token, {name}: {value:.0f} ms"
        for name, value in sorted(report["ttft_ms"].items())
        if value is not None
    ]
    if report["transfer_ms"]:
        texts.append(f"KV transfer: {statistics.median(report['transfer_ms']):.1f} ms (median)")
    yield {"stage": "verify", "text": "; ".join(text for text in texts if text)}


def _of_drill(given: Record) -> t.Iterator[dict[str, str]]:
    for fault in (given.get("drill") or {}).get("faults", ()):
        gap = ((fault["figures"] or {}).get("fault") or {}).get("gap")
        text = f"{fault['label']}: {'passed' if fault['passed'] else 'failed'}"
        yield {
            "stage": "drill",
            "text": text + (f", no good answer for at most {gap:.1f} s" if gap is not None else ""),
        }
