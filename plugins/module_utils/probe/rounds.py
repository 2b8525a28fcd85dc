# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One round of the probe: an unprocessed prompt through the clients' entry, and one over the next pair of prefill and decode.

The requests and their judgement are those of the verification (`verify`): the text has to be whole and that of a prefill engine, and decode
has to get the prompt's KV from outside.
"""

from __future__ import annotations

import time
from typing import Any, Callable, NamedTuple

from ..tools.http_client import ask
from ..verify.access import check_certificate
from ..verify.entry import check_streamed
from ..verify.pairs import Member, addressable, all_pairs, repeated_pair
from ..verify.plan import VerifyPlan
from ..verify.probe import READERS, Keys, Limits, Probe
from ..verify.ready import needed_tokens
from .blame import MOST, blamed, covering, crossing
from .progress import DOWN, OK, SILENT, STALLED, Progress
from .results import CLIENTS, Outcome, Results

TRIES = 3  # of a request whose KV seems to be computed by decode: counters are read while clients use the engines
CONNECT = 5.0  # seconds in which a refused connection, or a client's limit of requests (429), is tried again
SETTLE = 5.0  # seconds in which counters follow an answer
METRICS = 10.0  # seconds for the counters of an engine
RECOMPUTED = "VERIFY-RECOMPUTED"


class Settings(NamedTuple):
    """deployment: its name. interval: seconds between the begins of rounds. timeout: seconds of one answer.

    stalled: seconds without a token, with requests, from which on an engine is reported.
    """

    deployment: str
    interval: float = 60.0
    timeout: float = 30.0
    stalled: float = 300.0


class Rounds:
    """The state between rounds: results, the pair whose turn it is, and the engines' progress.

    clock: the time of day in seconds since 1970, for what others read. ticks: seconds that no setting of the clock changes, for durations: with
    the other one, a clock that is set would make an engine stuck that is not, or hide one that is.
    """

    def __init__(
        self,
        plan: VerifyPlan,
        keys: Keys,
        settings: Settings,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ):
        self.plan, self.keys, self.settings, self.clock, self.ticks = plan, keys, settings, clock, ticks
        self.pairs: list[tuple[Member, Member]] = all_pairs(plan) if plan.disaggregated and addressable(plan) else []
        self.results, self.progress = Results(), Progress()
        self.blamed: dict[str, int] = {}  # engine: rounds in a row in which nothing worked over it
        self.words, self.turn, self.count = 0, 0, 0
        self.finished: float | None = None  # end of the last round, by the clock
        self.ended = 0.0  # the same in ticks
        self.paused_until = 0.0  # seconds since 1970
        self.results.expect(CLIENTS, CLIENTS)
        for prefill, decode in self.pairs:
            self.results.expect(*_names(prefill, decode))

    def round(self) -> None:
        """Progress first: the requests of the probe are requests, too."""
        began = self.ticks()
        now = self.clock()
        self._look()
        good = self._clients()
        tried = {pair: self._pair(*pair) for pair in self._chosen()}
        if self.pairs and not (good and all(tried.values())):
            self._search(tried, began + self.settings.interval)
        away = {name for name, state in self.progress.states.items() if state.state in (DOWN, SILENT)}
        # Older results say nothing about now: an engine that worked a minute ago may be the one that does not any more.
        paths = [path for path in self.results.paths() if path.last and path.last.at >= now]
        works = {name for path in paths if path.success for name in path.name.split("->")}
        kept = {name: rounds for name, rounds in self.blamed.items() if name not in works and name not in away}
        # One that computes other requests is slow, and not broken.
        busy = {name for name, state in self.progress.states.items() if state.state == OK and state.requests}
        self.blamed = {
            **kept,
            **{name: self.blamed.get(name, 0) + 1 for name in blamed(paths, away) if name not in busy},
        }
        self.count += 1
        self.finished, self.ended = self.clock(), self.ticks()

    def stuck(self) -> dict[str, Any]:
        """{engine: State} of engines without progress for longer than allowed."""
        return {
            name: state
            for name, state in sorted(self.progress.states.items())
            if state.state in (STALLED, SILENT) and state.seconds >= self.settings.stalled
        }

    def _look(self) -> None:
        probe = self._probe()
        timeout = min(METRICS, self.settings.timeout)
        engines = self.plan.engines
        replies = probe.at_once(lambda engine: ask(probe.target(engine), "/metrics", timeout=timeout), engines, READERS)
        now = self.ticks()
        for engine, reply in zip(engines, replies):
            self.progress.look(engine.name, reply, now)

    def _probe(self) -> Probe:
        """A new state of requests: its limit for retries counts from here."""
        probe = Probe(self.plan, self.keys, Limits(CONNECT, self.settings.timeout, SETTLE))
        probe.words = self.words or needed_tokens(self.plan)
        return probe

    def _measured(self) -> Probe:
        """The same with a prompt of a measured length. Tokens of words are counted once, by the engines' tokenizer."""
        probe = self._probe()
        if not self.words:
            self.words = probe.words = probe.words_for(needed_tokens(self.plan))
        return probe

    def _clients(self) -> bool:
        """Try the clients' entry; whether it works."""
        probe, problem = self._measured(), ""
        if probe.entry.url.startswith("https://") and probe.entry.validate_certs:
            broken = check_certificate(probe)
            if broken:
                problem = probe.hide(broken[0].finding("entry").text())
        outcome = Outcome(self.clock(), problem) if problem else self._entry(probe)
        self.results.add(CLIENTS, CLIENTS, outcome)
        return not outcome.problem

    def _entry(self, probe: Probe) -> Outcome:
        for number in range(TRIES):
            probe = probe if not number else self._again(probe)
            records, answer = check_streamed(probe)
            broken = [record["finding"] for record in records if record["status"] == "failed"]
            if not broken or broken[0]["id"] != RECOMPUTED:
                break
        cached = next((record["evidence"].get("external_kv_transfer") for record in records[::-1]), None)
        text = "{path}: {problem}. [{id}] {why} Fix: {fix}".format(**broken[0]) if broken else ""
        return Outcome(self.clock(), probe.hide(text), answer.ttft, cached)

    def _again(self, before: Probe) -> Probe:
        probe = self._probe()
        probe.entry = before.entry  # with the certificate that has been judged
        return probe

    def _chosen(self) -> list[tuple[Member, Member]]:
        """The next pair, and the next one of those that fail, so that it is soon known when they work again.

        Also the next one over an engine that works again, such as after a restart: with many pairs its turn would come in an hour.
        """
        if not self.pairs:
            return []
        after = self.pairs[self.turn :] + self.pairs[: self.turn]
        self.turn = (self.turn + 1) % len(self.pairs)
        # The order changes with each round, so that each of several failing pairs gets its turn.
        failing = [pair for pair in after[1:] if self.results.failing(*_names(*pair))]
        again = self.progress.working_again()
        returned = [pair for pair in after if again & {member.engine.name for member in pair}]
        return list(dict.fromkeys(after[:1] + failing[:1] + returned[:1]))

    def _search(self, tried: dict[tuple[Member, Member], bool], end: float) -> None:
        """Something fails: try each engine once, then both engines of a failing pair with others, until it is known which one it is.

        end: no pair begins later (ticks). The order changes with each round, so that of many engines each gets its turn.
        """
        pairs = self.pairs[self.turn :] + self.pairs[: self.turn]
        names = [(prefill.engine.name, decode.engine.name) for prefill, decode in pairs]
        left = MOST
        for choose in (
            lambda seen: covering(names, {name for pair in seen for name in pair}),
            lambda seen: crossing(seen, names),
        ):
            seen = {(prefill.engine.name, decode.engine.name): good for (prefill, decode), good in tried.items()}
            for number in choose(seen)[:left]:
                if self.ticks() >= end:
                    return
                tried[pairs[number]] = self._pair(*pairs[number])
                left -= 1

    def _pair(self, prefill: Member, decode: Member) -> bool:
        """Try a pair; whether it works."""
        probe = self._measured()
        more = {"stream": True, "stream_options": {"include_usage": True}}
        problem, row = repeated_pair(probe, prefill, decode, TRIES, **more)
        text = problem.finding(f"{prefill.name} -> {decode.name}").text() if problem else ""
        outcome = Outcome(self.clock(), probe.hide(text), row.get("ttft_seconds"), row.get("external_kv_transfer"))
        self.results.add(*_names(prefill, decode), outcome)
        return not problem


def _names(prefill: Member, decode: Member) -> tuple[str, str]:
    """(the path: the engines, the pair: their ranks)."""
    return f"{prefill.engine.name}->{decode.engine.name}", f"{prefill.name}->{decode.name}"
