# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action change: choose how services change, observe the hosts, write the script, and play it step by step."""

from __future__ import annotations

import contextlib
import itertools
import typing as t

from ansible import constants
from ansible.errors import AnsibleConnectionFailure
from ansible.utils.display import Display
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import PLAN_VERSION
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import visible

from ..plugin_utils.change import choice
from ..plugin_utils.change.deploy import deploy
from ..plugin_utils.change.half import changed, drained, shifted
from ..plugin_utils.change.observe import entries, known, own, questions
from ..plugin_utils.change.player import Player, elsewhere, observation, refusal
from ..plugin_utils.change.recreate import recreate
from ..plugin_utils.change.rejoin import rejoin
from ..plugin_utils.change.restart import restart
from ..plugin_utils.change.runs import comparisons, seen_here, shares
from ..plugin_utils.change.script import Script, lines
from ..plugin_utils.change.store import Store
from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.asked import Asked
from ..plugin_utils.lifecycle.destinations import NAMES
from ..plugin_utils.lifecycle.run import this_run
from ..plugin_utils.plan.record import readable_plan, whole_plan

Result = dict[str, t.Any]
GOALS: dict[str, t.Callable[..., Script]] = {
    "restart": restart,
    "deploy": deploy,
    "recreate": recreate,
    "drained": drained,
    "changed": changed,
    "shifted": shifted,
    "rejoin": rejoin,
}
CHOICES = ["upgrade", "rollback", "back"]
LOCKED = ("__inference_locked_first", "__inference_locked")  # playbooks/shared/lock.yml
ASKED = 3  # hosts whose recorded plan is read, so that none of them alone says what was deployed
LONGEST = 300  # characters of a line about what is waited for
ARGUMENTS: dict[str, t.Any] = {
    "part": {
        "type": "str",
        "choices": ["agree", "take", "compare", "choose", "observe", "write", "play", "end"],
        "required": True,
    },
    "context": {"type": "dict", "no_log": True},
    "registered": {"type": "dict"},
    "directory": {"type": "str"},
    "goal": {"type": "str", "choices": [*GOALS, *CHOICES]},
    "plan": {"type": "dict", "default": {}},
    "options": {"type": "dict", "default": {}},
    "drain_timeout": {"type": "int"},
    "join_timeout": {"type": "int"},
    "number": {"type": "int"},
}


class ActionModule(Asked):
    """Adapter: one of the parts of a change on one host."""

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """The result of the part: of the module that a step calls, or whether the change goes on."""
        result: Result = super().run(tmp, task_vars)
        self._vars, self._store = task_vars, Store(constants.DEFAULT_LOCAL_TMP)
        _unused, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        host, self._check = str(task_vars["inventory_hostname"]), bool(self._task.check_mode)
        parts = {
            "agree": self._agree,
            "take": self._take,
            "choose": self._choose,
            "compare": self._compare,
            "observe": self._observe,
            "write": self._write,
            "play": self._play,
            "end": self._end,
        }
        return {**result, **parts[arguments["part"]](plain(arguments), host)}

    def _agree(self, arguments: Result, _host: str) -> Result:
        """The plan to which all hosts go back; kept for each of them."""
        hosts = [str(name) for name in self._vars["ansible_play_hosts_all"]]
        found = choice.agree({host: self._locked(host) for host in hosts}, arguments["goal"])
        for kind in ("back", "runs"):
            self._store.forget(kind)
        for host, plan in found.plans.items():
            self._store.keep("back", host, {"plan": plan, "programs": found.given.get(host, [])})
        if found.notes:
            self._print("\n".join(found.notes))
        refusals = []
        if arguments["goal"] == "rollback":
            refusals = choice.rollback_refusals(self._known(), arguments["directory"], arguments["plan"])
        return self._refused("\n".join(refusals)) if refusals else {"changed": False}

    def _take(self, arguments: Result, host: str) -> Result:
        """This host's part of that plan, {} if it has none of its programs; for a rollback also the plan that was recorded here."""
        kept = self._store.kept("back", host)
        plan, content = kept["plan"], ""
        for path in kept["programs"]:
            found = self._execute("ansible.builtin.stat", {"path": path}, True)
            if found.get("failed") or found.get("unreachable"):
                return found
            plan = plan if found["stat"]["exists"] else {}
        if arguments["goal"] == "rollback":
            found = self._execute("deployed_plan_info", {"directory": arguments["directory"]}, True)
            if found.get("failed") or found.get("unreachable"):
                return found
            content = str(found.get("content") or "")
        self._store.keep("back", host, {"plan": plan, "content": content})
        recorded = choice.recorded_plan(content, str(arguments["directory"]), plan)
        comparable = plan.get("plan_version") == PLAN_VERSION
        # Texts of hosts are no templates.
        return {"changed": False, "plan": wrap_var(plan), "recorded": wrap_var(recorded), "comparable": comparable}

    def _choose(self, arguments: Result, _host: str) -> Result:
        """The mode of the change, and what it costs, or why it is refused."""
        known, given = self._known(), [arguments[key] for key in ("plan", "directory", "options")]
        mode = choice.choose(arguments["goal"], known, *given, Display().warning)
        if mode["refusals"]:
            return self._refused("\n".join(mode["refusals"]))
        if mode["text"]:
            self._print(mode["text"])
        left = [host for host, here in known.items() if not here["previous"]]
        return {"changed": False, "mode": mode["mode"], "rounds": wrap_var(mode["rounds"]), "left": left}

    def _known(self) -> choice.Known:
        """What `choice` knows of all hosts of the play, also of those that are lost now."""
        found = {}
        for host in map(str, self._vars["ansible_play_hosts_all"]):
            kept, variables = self._store.kept("back", host), self._vars["hostvars"][host]
            found[host] = {
                "locked": self._locked(host),
                "previous": readable_plan(kept["plan"]),
                "content": kept.get("content", ""),
                "runs": self._store.kept("runs", host),
                "variables": {name: plain(variables.get(name)) for name in NAMES},
            }
        return found

    def _locked(self, host: str) -> Result:
        """What the lock of this host answered; {} if it was not locked."""
        answers = [plain(self._vars["hostvars"][host].get(name)) or {} for name in LOCKED]
        return next((answer for answer in answers if "phase" in answer), {})

    def _print(self, text: str) -> None:
        Display().display(visible(text))

    def _compare(self, arguments: Result, host: str) -> Result:
        """What runs here, compared with two plans, and which routers get requests; nothing is changed."""
        answers, whole = {}, whole_plan(arguments["plan"])
        asked = comparisons(host=host, **arguments["context"])
        for key, question in {**asked, **shares(whole, host)}.items():
            answers[key] = self._execute(question.module, question.arguments, True)
            if question.needed and (answers[key].get("failed") or answers[key].get("unreachable")):
                return {**answers[key], "changed": False}
        try:  # also of a host that is lost later: it tells which half serves
            self._store.keep("runs", host, seen_here(answers, asked["new"].arguments["services"], host))
        except ValueError as error:
            return self._refused(str(error))
        return {"changed": False}

    def _observe(self, arguments: Result, host: str) -> Result:
        """What runs here, compared with the plan, or also what else is known; nothing is changed."""
        context = arguments["context"]
        if arguments["registered"] is not None:
            return self._observe_more(arguments, host)
        found = self._execute("service_state", {**context, "state": "present", "remove": False}, True)
        if found.get("failed") or found.get("unreachable"):
            return {**found, "changed": False}
        try:
            known_here = {"context": context, "found": own(observation(found, host), context["services"])}
            self._store.keep_host(host, {**known_here, "directory": arguments["directory"]})
        except ValueError as error:
            return self._refused(str(error))
        return {**found, "changed": False}

    def _observe_more(self, arguments: Result, host: str) -> Result:
        """What was registered, what routers and the balancer have, and what was recorded."""
        # A plan to which a run goes back may lack hosts of the play, which observe nothing.
        here = (
            name for name in self._vars["ansible_play_hosts"] if "__service_registered" in self._vars["hostvars"][name]
        )
        asked = host in itertools.islice(here, ASKED)
        fronts = entries(arguments["plan"], host, arguments["registered"].get("down") or ())
        answers = {}
        for key, question in questions(*fronts, arguments["directory"], asked, arguments["registered"]).items():
            answers[key] = self._execute(question.module, question.arguments, True)
            if question.needed and (answers[key].get("failed") or answers[key].get("unreachable")):
                return {**answers[key], "changed": False}
        found = own(known(arguments["registered"], answers, asked), arguments["context"]["services"])
        self._store.keep_host(host, {"found": found, **{key: arguments[key] for key in ("context", "directory")}})
        return {"changed": False}

    def _write(self, arguments: Result, _host: str) -> Result:
        """The script of the goal, printed and kept; its titles for the loop."""
        hosts = [str(name) for name in self._vars["ansible_play_hosts"]]
        found = self._store.observed(hosts)  # a plan to which a run goes back may lack some hosts of the play
        times = {key: arguments[key] for key in ("drain_timeout", "join_timeout")}
        script = GOALS[arguments["goal"]](whole_plan(arguments["plan"]), found, **times, **arguments["options"])
        refused = refusal(script, self._check) or elsewhere(script, found)
        if refused:
            return self._refused(refused)
        self._store.keep_script(script)
        if script.steps or script.notes:
            self._print("\n".join(lines(script)))
        steps = [(step.title, step.orphaned) for step in script.steps]
        titles, orphaned = [title for title, _host in steps], [host for _title, host in steps]
        return {
            "changed": False,
            "titles": titles,
            "orphaned": orphaned,
            "recorded": script.recorded,
            "alone": self._store.alone(),
        }

    def _play(self, arguments: Result, host: str) -> Result:
        """One step on this host."""
        player, number = Player(self._store, self._check), arguments["number"]
        if host == self._vars["ansible_play_hosts_all"][0] and player.reaching(number):
            given = {"step": player.reaching(number), "script": player.script(number)}
            self._note({**given, "directory": self._store.host(host)["directory"]})
        return player.play(number, host, self._execute, self._engine_key, self._say)

    def _say(self, text: str) -> None:
        Display().display(visible(text)[:LONGEST])

    def _note(self, given: Result) -> None:
        """Note the step in this run's lock, for the next run if this one is killed. That this fails is no reason to end a change."""
        run = this_run(constants.DEFAULT_LOCAL_TMP)
        with contextlib.suppress(AnsibleConnectionFailure):
            self._execute("deployment_run", {**given, "state": "note", "run": run}, False)

    def _end(self, _arguments: Result, host: str) -> Result:
        """Whether all steps were done; where hosts go on without others, on each host whether its own were."""
        failed = Player(self._store, self._check).failure(host if self._store.alone() else "")
        return self._refused(failed) if failed else {"changed": False}

    def _refused(self, text: str) -> Result:
        self._task._ds = None  # ansible-core 2.19 and later would print the task's own lines after the message
        return {"failed": True, "msg": visible(text)}

    def _engine_key(self) -> str:
        """Only for steps that need it: its template reads the whole plan."""
        return str(self._templar.template(self._vars["__service_engine_key"]) or "")

    def _execute(self, module: str, arguments: Result, dry: bool) -> Result:
        self._task.check_mode = self._check or dry
        name = module if "." in module else f"ascend.inference.{module}"
        found: Result = self._execute_module(name, arguments, task_vars=self._vars)
        return found
