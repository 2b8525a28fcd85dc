# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action change: choose how services change, observe the hosts, write the script, and play it step by step."""

from __future__ import annotations

import contextlib
import typing as t

from ansible import constants
from ansible.errors import AnsibleConnectionFailure
from ansible.utils.display import Display
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import visible

from ..plugin_utils.change import choosing, observing
from ..plugin_utils.change.deploy import deploy
from ..plugin_utils.change.half import changed, drained, shifted
from ..plugin_utils.change.locking import lock, released
from ..plugin_utils.change.player import Player, Refused, Run, elsewhere, refusal
from ..plugin_utils.change.recreate import recreate
from ..plugin_utils.change.restart import rejoin, restart
from ..plugin_utils.change.script import Script, file_of, lines
from ..plugin_utils.change.store import Store
from ..plugin_utils.change.watching import chosen
from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.asked import Asked
from ..plugin_utils.lifecycle.run import called, this_run
from ..plugin_utils.plan.linked import linked
from ..plugin_utils.plan.record import whole_plan

Result = dict[str, t.Any]
GOALS: dict[str, t.Callable[..., Script]] = {
    "lock": lock,
    "restart": restart,
    "deploy": deploy,
    "recreate": recreate,
    "drained": drained,
    "changed": changed,
    "shifted": shifted,
    "rejoin": rejoin,
}
CHOICES = ["upgrade", "rollback", "back"]
LONGEST = 300  # characters of a line about what is waited for
ARGUMENTS: dict[str, t.Any] = {
    "part": {
        "type": "str",
        "choices": [*choosing.PARTS, *observing.PARTS, "write", "play", "end"],
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
        run = Run(self._store, task_vars, self._execute, self._print, Display().warning)
        parts = {**choosing.PARTS, **observing.PARTS, "write": self._write, "play": self._play, "end": self._end}
        if arguments["part"] in observing.PARTS and self._store.locks() and (self._why() or self._idle()):
            return {**result, "changed": False, "skipped": True, "rank_table": {}}
        try:
            return {**result, **parts[arguments["part"]](run, plain(arguments), host)}
        except Refused as error:
            if arguments["part"] in observing.PARTS:  # what is locked is released by the script that is written now
                self._store.keep("refused", host, {"text": str(error)})
            return {**result, **self._refused(str(error))}

    def _why(self) -> str:
        """Why no script can follow what has locked the deployment; empty if one can."""
        texts = [self._store.kept("refused", str(host)).get("text") for host in self._vars["ansible_play_hosts_all"]]
        return Player(self._store, self._check).failure() or next(filter(None, texts), "")

    def _idle(self) -> bool:
        """Whether an engine was to be chosen under the lock, and none was."""
        return not (chosen(self._store) or {"engine": "any"})["engine"]

    def _print(self, text: str) -> None:
        Display().display(visible(text))

    def _write(self, _run: Run, arguments: Result, _host: str) -> Result:
        """The script of the goal, printed and kept; its titles for the loop."""
        locks = {} if arguments["goal"] == "lock" else self._store.locks()
        watched = chosen(self._store) if locks else None
        script = self._under_lock(arguments, locks, watched) if locks else self._script(arguments)
        self._store.forget("refused")
        self._store.keep_script(script)
        if (script.steps or script.notes) and not script.locks and not script.refused:
            self._print("\n".join(lines(script)))
        return {
            "changed": False,
            "titles": [step.title for step in script.steps],
            "orphaned": [step.orphaned for step in script.steps],
            "files": [file_of(step) for step in script.steps],
            "recorded": script.recorded,
            "alone": self._store.alone(),
            "watched": watched or {},
        }

    def _script(self, arguments: Result) -> Script:
        """The script of the goal. Raises ``Refused``."""
        hosts = [str(name) for name in self._vars["ansible_play_hosts"]]
        found = self._store.observed(hosts)  # a plan to which a run goes back may lack some hosts of the play
        if arguments["goal"] == "lock":  # before any of them is observed
            found = dict.fromkeys(hosts, {})
        times = {key: arguments[key] for key in ("drain_timeout", "join_timeout")}
        script = GOALS[arguments["goal"]](whole_plan(arguments["plan"]), found, **times, **arguments["options"])
        refused = refusal(script, self._check) or elsewhere(script, found)
        if refused:
            raise Refused(refused)
        return script

    def _under_lock(self, arguments: Result, locks: t.Mapping[str, str], watched: Result | None) -> Script:
        """The same with the release of the lock, which remains if the change is refused, or if no engine was chosen."""
        refused, script = self._why(), Script([], [], [])
        try:
            if watched and watched["names"]:
                names = linked(whole_plan(arguments["plan"]), watched["names"])
                arguments = {**arguments, "options": {**arguments["options"], "names": names}}
            script = script if refused or self._idle() else self._script(arguments)
        except Refused as error:
            refused = str(error)
        except Exception as error:  # whatever hosts answered, none of them stays locked
            refused = f"{type(error).__name__}: {error}"
        return released(script, locks, refused)

    def _play(self, _run: Run, arguments: Result, host: str) -> Result:
        """One step on this host."""
        player, number = Player(self._store, self._check), arguments["number"]
        if host == str(self._vars["ansible_play_hosts_all"][0]) and player.reaching(number):
            given = {"step": player.reaching(number), "script": player.script(number)}
            self._note({**given, "directory": self._store.host(host)["directory"]})
        return player.play(number, host, self._execute, self._engine_key, self._say)

    def _say(self, text: str) -> None:
        Display().display(visible(text)[:LONGEST])

    def _note(self, given: Result) -> None:
        """Note the step in this run's lock, for the next run if this one is killed. That this fails is no reason to end a change."""
        with contextlib.suppress(AnsibleConnectionFailure):
            self._execute("deployment_run", {**given, "state": "note"}, False)

    def _end(self, _run: Run, _arguments: Result, host: str) -> Result:
        """Whether all steps were done; where hosts go on without others, on each host whether its own were."""
        if self._store.locks():  # the next script releases them, and says what failed
            return {"changed": False}
        failed = self._store.refused() or Player(self._store, self._check).failure(host if self._store.alone() else "")
        if failed:
            raise Refused(failed)
        return {"changed": False}

    def _refused(self, text: str) -> Result:
        self._task._ds = None  # ansible-core 2.19 and later would print the task's own lines after the message
        return {"failed": True, "msg": visible(text)}

    def _engine_key(self) -> str:
        """Only for steps that need it: its template reads the whole plan."""
        return str(self._templar.template(self._vars["__service_engine_key"]) or "")

    def _execute(self, module: str, arguments: Result, dry: bool) -> Result:
        self._task.check_mode = self._check or dry
        if module == "deployment_run":
            here, host = this_run(constants.DEFAULT_LOCAL_TMP), str(self._vars["inventory_hostname"])
            return called(
                arguments, here, host, lambda given: self._call(module, given), Display().warning, self._check
            )
        return self._call(module, arguments)

    def _call(self, module: str, arguments: Result) -> Result:
        name = module if "." in module else f"ascend.inference.{module}"
        found: Result = self._execute_module(name, arguments, task_vars=self._vars)
        return found
