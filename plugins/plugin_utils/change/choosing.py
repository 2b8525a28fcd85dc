# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a change that choose its mode: all hosts agree on the plan to go back to, take their parts of it, and the mode follows."""

from __future__ import annotations

import typing as t

from ansible.utils.unsafe_proxy import wrap_var

from ...module_utils.status.plan import PLAN_VERSION
from ..description.loader import plain
from ..lifecycle.destinations import NAMES
from ..plan.record import readable_plan
from . import choice
from .player import Refused, Result, Run

LOCKED = ("__inference_locked_first", "__inference_locked")  # playbooks/shared/lock.yml


def agree(run: Run, arguments: Result, _host: str) -> Result:
    """The plan to which all hosts go back; kept for each of them."""
    hosts = [str(name) for name in run.variables["ansible_play_hosts_all"]]
    found = choice.agree({host: _locked(run, host) for host in hosts}, arguments["goal"])
    for kind in ("back", "runs"):
        run.store.forget(kind)
    for host, plan in found.plans.items():
        run.store.keep("back", host, {"plan": plan, "programs": found.given.get(host, [])})
    if found.notes:
        run.say("\n".join(found.notes))
    if arguments["goal"] == "rollback":
        _require(choice.rollback_refusals(_known(run), arguments["directory"], arguments["plan"]))
    return {"changed": False}


def take(run: Run, arguments: Result, host: str) -> Result:
    """This host's part of that plan, {} if it has none of its programs; for a rollback also the plan that was recorded here."""
    kept = run.store.kept("back", host)
    plan, content = kept["plan"], ""
    for path in kept["programs"]:
        found = run.execute("ansible.builtin.stat", {"path": path}, True)
        if found.get("failed") or found.get("unreachable"):
            return found
        plan = plan if found["stat"]["exists"] else {}
    if arguments["goal"] == "rollback":
        found = run.execute("deployed_plan_info", {"directory": arguments["directory"]}, True)
        if found.get("failed") or found.get("unreachable"):
            return found
        content = str(found.get("content") or "")
    run.store.keep("back", host, {"plan": plan, "content": content})
    recorded = choice.recorded_plan(content, str(arguments["directory"]), plan)
    comparable = plan.get("plan_version") == PLAN_VERSION
    # Texts of hosts are no templates.
    return {"changed": False, "plan": wrap_var(plan), "recorded": wrap_var(recorded), "comparable": comparable}


def choose(run: Run, arguments: Result, _host: str) -> Result:
    """The mode of the change, and what it costs, or why it is refused."""
    known, given = _known(run), [arguments[key] for key in ("plan", "directory", "options")]
    mode = choice.choose(arguments["goal"], known, *given, run.warn)
    _require(mode["refusals"])
    if mode["text"]:
        run.say(mode["text"])
    left = [host for host, here in known.items() if not here["previous"]]
    return {"changed": False, "mode": mode["mode"], "rounds": wrap_var(mode["rounds"]), "left": left}


def _require(refusals: t.Sequence[str]) -> None:
    if refusals:
        raise Refused("\n".join(refusals))


def _known(run: Run) -> choice.Known:
    """What `choice` knows of all hosts of the play, also of those that are lost now."""
    found = {}
    for host in map(str, run.variables["ansible_play_hosts_all"]):
        kept, variables = run.store.kept("back", host), run.variables["hostvars"][host]
        found[host] = {
            "locked": _locked(run, host),
            "previous": readable_plan(kept["plan"]),
            "content": kept.get("content", ""),
            "runs": run.store.kept("runs", host),
            "variables": {name: plain(variables.get(name)) for name in NAMES},
        }
    return found


def _locked(run: Run, host: str) -> Result:
    """What the lock of this host answered; {} if it was not locked."""
    answers = [plain(run.variables["hostvars"][host].get(name)) or {} for name in LOCKED]
    return next((answer for answer in answers if "phase" in answer), {})


PARTS: dict[str, t.Callable[[Run, Result, str], Result]] = {"agree": agree, "take": take, "choose": choose}
