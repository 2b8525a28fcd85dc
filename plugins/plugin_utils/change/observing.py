# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a change that ask hosts: what runs, what routers and balancers have, what was recorded; nothing is changed."""

from __future__ import annotations

import itertools
import typing as t

from ..description.findings import PlanError
from ..hosts.facts import check_facts
from ..hosts.rank_table import rank_table
from ..plan.planner import on_host
from ..plan.record import whole_plan
from .observe import entries, known, own, questions
from .player import Refused, Result, Run, observation
from .runs import comparisons, seen_here, shares

NOTES = ("deprecations", "exception", "warnings")  # Ansible's, in an answer
ASKED = 3  # hosts whose recorded plan is read, so that none of them alone says what was deployed


def compare(run: Run, arguments: Result, host: str) -> Result:
    """What runs here, compared with two plans, and which routers get requests."""
    answers, whole = {}, whole_plan(arguments["plan"])
    asked = comparisons(host=host, **arguments["context"])
    for key, question in {**asked, **shares(whole, host)}.items():
        answers[key] = run.execute(question.module, question.arguments, True)
        if question.needed and (answers[key].get("failed") or answers[key].get("unreachable")):
            return {**answers[key], "changed": False}
    try:  # also of a host that is lost later: it tells which half serves
        run.store.keep("runs", host, seen_here(answers, asked["new"].arguments["services"], host))
    except ValueError as error:
        raise Refused(str(error)) from error
    return {"changed": False}


def observe(run: Run, arguments: Result, host: str) -> Result:
    """What runs here, compared with the plan, or also what else is known."""
    context = arguments["context"]
    if arguments["registered"] is not None:
        return _observe_more(run, arguments, host)
    found = run.execute("service_state", {**context, "state": "present", "remove": False}, True)
    if found.get("failed") or found.get("unreachable"):
        return {**found, "changed": False}
    try:
        known_here = {"context": context, "found": own(observation(found, host), context["services"])}
        run.store.keep_host(host, {**known_here, "directory": arguments["directory"]})
    except ValueError as error:
        raise Refused(str(error)) from error
    return {**found, "changed": False}


def _observe_more(run: Run, arguments: Result, host: str) -> Result:
    """What was registered, what routers and the balancer have, and what was recorded."""
    # A plan to which a run goes back may lack hosts of the play, which observe nothing.
    hostvars = run.variables["hostvars"]
    here = (name for name in run.variables["ansible_play_hosts"] if "__service_registered" in hostvars[name])
    asked = host in itertools.islice(here, ASKED)
    fronts = entries(arguments["plan"], host, arguments["registered"].get("down") or ())
    answers = {}
    for key, question in questions(*fronts, arguments["directory"], asked, arguments["registered"]).items():
        answers[key] = run.execute(question.module, question.arguments, True)
        if question.needed and (answers[key].get("failed") or answers[key].get("unreachable")):
            return {**answers[key], "changed": False}
    found = own(known(arguments["registered"], answers, asked), arguments["context"]["services"])
    run.store.keep_host(host, {"found": found, **{key: arguments[key] for key in ("context", "directory")}})
    return {"changed": False}


def devices(run: Run, arguments: Result, host: str) -> Result:
    """The addresses of this host's NPUs, kept for `generate`. A tool that fails is reported there, with those of all hosts."""
    plan, options = arguments["plan"], arguments["options"]
    wanted = sorted(device for service in on_host(plan, host) for device in service["devices"])
    if not wanted:
        return {"changed": False}
    a3 = any(each["name"] == host and each["hardware"] == "a3" for each in plan["hosts"])
    tools = {name: options["executables"].get(name) for name in ("npu_smi", "hccn_tool")}

    def asked(module: str, tool: str, **more: t.Any) -> Result:
        given = {"executable": tools[tool]} if tools[tool] else {}
        answer = run.execute(module, {**given, "timeout": int(options["timeout"]), **more}, True)
        return {key: value for key, value in answer.items() if key not in NOTES}

    found = {"npu": asked("npu_info", "npu_smi")} if a3 else {}
    found["hccn"] = asked("hccn_info", "hccn_tool", devices=wanted, gather=["vnic" if a3 else "ip"])
    run.store.keep("devices", host, found)
    return {"changed": False}


def generate(run: Run, arguments: Result, _host: str) -> Result:
    """LLMDataDist's rank table, the same for all hosts, or one refusal with all devices whose facts are missing."""
    plan = whole_plan(arguments["plan"])
    facts = check_facts(
        plan, {host["name"]: {"gather": run.store.kept("devices", host["name"])} for host in plan["hosts"]}
    )
    try:
        return {"changed": False, "rank_table": rank_table(plan, facts)}
    except PlanError as error:
        texts = [finding.text() for finding in error.findings]
        raise Refused("\n".join(["LLMDataDist's rank table cannot be created.", *texts])) from error


PARTS: dict[str, t.Callable[[Run, Result, str], Result]] = {
    "compare": compare,
    "observe": observe,
    "devices": devices,
    "generate": generate,
}
