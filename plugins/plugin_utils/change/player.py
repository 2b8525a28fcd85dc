# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays a script: judges whether a host's turn has come, calls the module, and keeps what it answered.

No host leaves the play when it fails: that would reorder what the others do. Failures are files of the `Store`, and a step is played only if the one
before it is done on all of its hosts, also on one that became unreachable and left no file.
"""

from __future__ import annotations

import typing as t

from ..description.values import natural
from ..hosts.module_answer import shown
from .fills import FILLS, KEPT
from .script import Script, Step, some
from .store import Store
from .verbs import VERBS
from .waits import waited

Result = dict[str, t.Any]
OBSERVED = ("down", "outdated", "other", "rekeyed", "keyed")
Say = t.Callable[[str], t.Any]
Execute = t.Callable[[str, dict[str, t.Any], bool], Result]  # module, arguments, whether in check mode


class Run(t.NamedTuple):
    """What a part of the action change works with on a host: ``variables`` of the task; ``execute`` runs a module there."""

    store: Store
    variables: t.Mapping[str, t.Any]
    execute: Execute
    say: Say
    warn: Say


class Refused(Exception):
    """Why a part of a change fails, as a sentence for people."""


FAILED = (
    "Step {number} of {count} failed on {hosts}, for the reason above: {title}. {reason}{left}"
    "Fix: correct the reason and run the playbook again{again}."
)
LONGEST = 400  # characters of a reason
ALONE = "The other hosts went on, and what could start there runs. "
ELSEWHERE = (
    "{hosts} take part in this change, and are not in this play or failed in it. {serving} "
    "Fix: correct what failed, and run it on all hosts of the deployment at once, without serial."
)


UNKNOWN = (
    "{host}: the comparison of what runs with the plan has no usable answer ({key} is {value}), so it is not known what runs. Nothing was changed. "
    "Fix: look at what runs as Python on the host, then run the playbook again."
)


def observation(answer: t.Mapping[str, t.Any], host: str, keys: t.Iterable[str] = OBSERVED) -> dict[str, list[str]]:
    """What a change knows of a host, from the result of service_state. Raises ``ValueError`` for one that does not say it: silence is no state."""
    found = {}
    for key in keys:
        value = answer.get(key)
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise ValueError(UNKNOWN.format(host=host, key=key, value=repr(value)[:40]))
        found[key] = value
    return found


class Player:
    """Plays the steps of ``store`` on one host; ``check``: whether in check mode, in which steps that wait for others are left out."""

    def __init__(self, store: Store, check: bool) -> None:
        self.store, self.check = store, check

    def play(self, number: int, host: str, execute: Execute, key: t.Callable[[], str], say: Say = len) -> Result:
        """The result of the step on the host; skipped if an earlier one failed, or if it has nothing to do there.

        ``say``: takes lines about what is waited for, from the first of the hosts that wait for the same.
        """
        hosts = self._hosts(number) if self._reached(number) else {}
        if host not in hosts or not self._goes_on(number, host):
            return {"changed": False, "skipped": True}
        store, step = self.store, self.store.step(number)
        arguments = {**store.arguments(number, host), **hosts[host]}
        call = VERBS[step.verb](arguments, store.context(host), key)
        first = next(name for name, more in hosts.items() if more == hosts[host])
        answer = waited(
            lambda more: execute(call.module, {**call.arguments, **more}, call.dry),
            call.most,
            say if host == first else len,
        )
        wrong = "" if answer.get("failed") or answer.get("unreachable") else call.judge(answer)
        if wrong:
            answer = shown({**answer, "failed": True, "msg": wrong})
        if step.may_fail:
            answer = {**answer, "failed": False}
        failed = bool(answer.get("failed") or answer.get("unreachable"))
        kept = ("msg",) if failed else KEPT
        store.note(number, host, {name: answer[name] for name in kept if name in answer}, failed)
        return {**answer, "changed": False} if call.dry else answer

    def reaching(self, number: int) -> str:
        """The step in words, if it is played on a host; empty in check mode, where it is skipped, and for what only locks or releases."""
        if self.check or not self._reached(number) or not self._hosts(number) or self.store.step(number).brief:
            return ""
        return f"step {number + 1} of {self.store.count()}: {self.store.step(number).title}"[:300]

    def script(self, number: int) -> list[dict[str, t.Any]]:
        """All steps when one is reached, as the lock notes them: {step, state}."""
        return [
            {"step": step, "state": "done" if each < number else "begun" if each == number else "open"}
            for each, step in enumerate(self.store.described())
        ]

    def failure(self, host: str = "") -> str:
        """Which step failed where, and what was left out; empty if all steps are done, or if ``host`` has done its own and goes on without others."""
        count, found, mine = self.store.count(), [], not host
        last = next((number for number in range(count) if self.store.step(number).last), count)
        for number in range(count):
            hosts = [host for host in self._hosts(number) if self._goes_on(number, host)]
            missing = [host for host in hosts if not self._done(number, host)]
            if missing:
                given = {"number": number + 1, "count": count, "hosts": some(missing)}
                step, ends = self.store.step(number), self._ends(number)
                alone = step.alone and not ends
                mine = mine or host in missing or not alone
                others = {host for each in range(count) for host in self._hosts(each)} - {*missing}
                left = (ALONE if others else "") if alone else self._left(number + 1, last)
                again = "" if step.alone or self.store.serving() else ", which returns them"
                reason = self._reason(number, missing)
                found.append(FAILED.format(**given, title=step.title, reason=reason, left=left, again=again))
                if not alone:
                    break
        return "\n".join(found) if mine else ""

    def _reason(self, number: int, hosts: t.Iterable[str]) -> str:
        """What the module said on the first of these hosts that said why, without its advice: an upgrade repeats it after it went back."""
        for host in hosts:
            reason = " ".join((self.store.reason(number, host) or "").split()).partition(" Fix: ")[0].rstrip(". ")
            if reason:
                return f"{host}: {reason[:LONGEST]}. "
        return ""

    def _left(self, number: int, count: int) -> str:
        more = (
            "" if number >= count else f"Nothing after it was done; the next step is: {self.store.step(number).title}. "
        )
        return more + (self.store.serving() or "Engines that have left a router are out of it until then.") + " "

    def _reached(self, number: int) -> bool:
        """Whether the last step before that had something to do is done on all of its hosts; each earlier one was when it began."""
        if self.store.step(number).last:
            return True
        if self.store.alone() and any(self._ends(earlier) for earlier in range(number)):
            return False
        for earlier in range(number - 1, -1, -1):
            hosts = self._hosts(earlier)
            if hosts:
                return self.store.step(earlier).alone or all(self._done(earlier, host) for host in hosts)
        return True

    def _ends(self, number: int) -> bool:
        """Whether the step has failed on a host without which the others must not go on."""
        return any(self.store.failed(number, host) for host in self.store.step(number).needed)

    def _goes_on(self, number: int, host: str) -> bool:
        """Whether the host has done its part of all steps before, which matters where others went on without it."""
        return (
            not self.store.alone()
            or self.store.step(number).last
            or all(
                self._done(earlier, host)
                for earlier in range(number)
                if self.store.step(earlier).alone and host in self._hosts(earlier)
            )
        )

    def _done(self, number: int, host: str) -> bool:
        """Whether the step ended well; also if it was for a host outside of the play that cannot be reached."""
        if self.store.answer(number, host) is not None:
            return True
        return bool(self.store.step(number).orphaned) and not self.store.failed(number, host)

    def _hosts(self, number: int) -> dict[str, dict[str, t.Any]]:
        """The hosts that have something to do in a step, each with its further arguments."""
        step = self.store.step(number)
        if self.check and not step.check:
            return {}
        if not step.fill:
            return {host: {} for host in step.at}
        answers = self._answers(step)
        found = {host: FILLS[step.fill](step, host, answers) for host in step.at}
        return {host: more for host, more in found.items() if more is not None}

    def _answers(self, step: Step) -> dict[str, t.Any]:
        if step.asked < 0:
            return {}
        hosts = self.store.step(step.asked).at
        found = {host: self.store.answer(step.asked, host) for host in hosts}
        return {host: answer for host, answer in found.items() if answer is not None}


def refusal(script: Script, check: bool) -> str:
    """Why the script is not played; empty if it is."""
    text = "\n".join(script.refusals)
    return f"Without --check this would be refused: {text}" if text and check else text


def elsewhere(script: Script, hosts: t.Container[str]) -> str:
    """Why hosts that are not in the play are missed; empty if none is."""
    every = {*script.hosts, *(host for step in script.steps for host in step.at)}
    missed = sorted((host for host in every if host not in hosts), key=natural)
    return ELSEWHERE.format(hosts=some(missed), serving=script.serving or "Nothing was changed.") if missed else ""
