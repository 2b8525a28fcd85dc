# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbooks bench, trace, compare, drill and restart are asked for, judged with the plan: a refusal comes before any host is contacted.

They judge it again where they use it, because other playbooks run them as well.
"""

from __future__ import annotations

import typing as t

from ..bench.files import CHECK, COMPARE, PAGE, file_findings
from ..bench.settings import read_bench
from ..bench.topologies import FOLDER, WITH, input_findings
from ..description.findings import Finding, PlanError
from ..description.loader import plain
from ..description.values import listed
from ..drill.runs import forbidden
from ..drill.settings import read_drill
from ..plan.linked import linked
from ..trace.requests import number_findings, one_by_one

Variables = t.Mapping[str, t.Any]
FILES = (COMPARE, CHECK, PAGE, "inference_bench_json", "inference_bench_markdown")
FILES_OF_TRACE = (CHECK, "inference_trace_json", "inference_trace_html")
REQUESTS = "inference_trace_requests"


class AskedError(PlanError):
    """What a playbook is asked for cannot be done, whatever the hosts run: stored plans are no help."""


def judge_asked(playbook: str, variables: Variables, plan: Variables) -> None:
    """Raises AskedError with all that is wrong with the variables that say what a playbook does; ``variables``: the controller's.

    For restart ``ValueError``, if a named service does not exist.
    """
    if playbook == "restart":
        linked(plan, listed(plain(variables["inference_services"]) if "inference_services" in variables else ()))
    given = {name: plain(variables[name]) for name in (*FILES, *FILES_OF_TRACE, *NAMES) if name in variables}
    # In a cluster the others do nothing, and say so.
    there = playbook in JUDGES and (playbook in ("bench", "trace") or not plan["runtime_facts"]["in_cluster"])
    found = list(JUDGES[playbook](given, plan)) if there else []
    if found:
        raise AskedError(found)


def _bench(given: Variables, _plan: Variables) -> t.Iterator[Finding]:
    yield from _read(read_bench, given.get("inference_bench", {}))
    yield from file_findings({name: given[name] for name in FILES if name in given})


def _trace(given: Variables, _plan: Variables) -> t.Iterator[Finding]:
    yield from _read(read_bench, one_by_one(given.get("inference_bench", {})))
    yield from number_findings(given.get(REQUESTS, 1))
    yield from file_findings({name: given[name] for name in FILES_OF_TRACE if name in given})


def _compare(given: Variables, _plan: Variables) -> t.Iterator[Finding]:
    yield from input_findings(str(given.get(WITH) or ""), str(given.get(FOLDER) or ""))


def _drill(given: Variables, plan: Variables) -> t.Iterator[Finding]:
    yield from _read(read_drill, given.get("inference_drill", {}))
    yield from forbidden(plan, given.get("inference_drill_confirm"))


def _read(reader: t.Callable[[t.Any], t.Any], raw: t.Any) -> tuple[Finding, ...]:
    try:
        reader(raw)
    except PlanError as error:
        return error.findings
    return ()


NAMES = ("inference_bench", "inference_drill", "inference_drill_confirm", REQUESTS, WITH, FOLDER)
JUDGES: dict[str, t.Callable[[Variables, Variables], t.Iterator[Finding]]] = {
    "bench": _bench,
    "compare": _compare,
    "drill": _drill,
    "trace": _trace,
}
