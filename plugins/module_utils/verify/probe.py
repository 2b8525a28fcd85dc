# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State of all steps: plan, credentials, timeouts, and results so far."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterable, NamedTuple

from ..tools import foreign_json
from ..tools.http_client import Reply, Target, ask
from .agreement import tied
from .answers import Answer, read_answer, read_stream, same_text
from .faults import Problem
from .metrics import FINISHED, Samples, read_metrics
from .plan import Engine, VerifyPlan
from .prompts import chat_of, completion_of, new_nonce, prompt_of, salted

AT_ONCE = 8  # requests that are sent concurrently where their order does not matter
TOO_MANY = 429  # the frontend's limit of a key
LOGPROBS = 5  # most probable tokens of each position; vLLM allows 20 by default
READERS = 64  # counters that are read concurrently
PAUSE = 0.5  # seconds before a request is repeated


class Limits(NamedTuple):
    """Timeouts in seconds. connect: retries of refused connections; request: one answer; settle: delayed counters."""

    connect: float = 60.0
    request: float = 300.0
    settle: float = 15.0


class Keys(NamedTuple):
    """API keys; "" = none."""

    engine: str = ""
    entry: str = ""


class Exchange(NamedTuple):
    """One probe: its prompt, the answer through the tested path, and an engine's reference (None: not requested yet)."""

    prompt: str
    answer: Answer
    reference: Answer | None = None


class Probe:
    """The tested service, and facts that one step provides for the next."""

    def __init__(self, plan: VerifyPlan, keys: Keys, limits: Limits) -> None:
        self.plan = plan
        self.limits = limits
        self.keys = keys
        self.started = time.monotonic()
        self.entry = Target(
            plan.entry.url, keys.entry, plan.entry.ca_path, plan.entry.validate_certs, plan.entry.server_name
        )
        self.words = 0  # number of words of a sufficiently long prompt; set by step engines
        self.max_model_len, self.shortest = 0, ""  # the smallest one, and its engine
        self.warnings: list[str] = []
        self.remarks: list[dict[str, str]] = []  # findings that do not fail the verification
        self.retries: Counter[str] = Counter()  # repeated requests by reason
        self.finished: dict[str, float] = {}  # by url: finished requests at the last reading of the counters
        self.near_ties = 0  # texts that differ from the reference at a near tie only
        self.partial_blocks = False  # whether decode computes a prompt's last, partial block; set by step transfer
        self.requests: list[dict[str, str]] = []  # {id, hop} of answers whose transfer must be in the logs
        self.served_by: list[str] = []
        self.pairs: dict[str, dict[str, dict[str, Any]]] = {}
        self.ttft_ms: dict[str, float] | None = {}
        self.entry_works = False
        self.leader_url = ""  # of the master of the store that serves; set by step master
        self.joining: frozenset[str] = frozenset()  # names of engines; if there are any, only their pairs are tested
        self.exchanges: list[Exchange] = []

    # --- requests ----------------------------------------------------------------------------------------------------

    def target(self, engine: Engine) -> Target:
        return Target(engine.url, self.keys.engine)

    def get(self, target: Target, path: str) -> Reply:
        """GET; a refused connection or a 503 is retried until limits.connect has passed since the start."""
        while True:
            reply = ask(target, path, timeout=min(30.0, self.limits.request))
            if not (reply.never_connected or reply.status == 503) or self.connect_timed_out():
                return reply
            self._pause(reply)

    def connect_timed_out(self) -> bool:
        return time.monotonic() - self.started > self.limits.connect

    def _pause(self, reply: Reply) -> None:
        self.retries[reply.error or f"HTTP {reply.status}"] += 1
        time.sleep(PAUSE)

    def complete(
        self,
        target: Target,
        prompt: str,
        max_tokens: int = 0,
        request_id: str = "",
        rank: int | None = None,
        **more: Any,
    ) -> Answer:
        """One completion, streamed if `stream=True` is among the extra keys. rank: the data-parallel rank that has to serve it.

        Only refused connections, and a client's limit of requests (429), are retried.
        """
        body = completion_of(self.plan.model, prompt, max_tokens or self.plan.max_tokens, **more)
        return self._answer(target, "/v1/completions", body, request_id, rank)

    def chat(self, target: Target, text: str, max_tokens: int = 0, **more: Any) -> Answer:
        """One answer of the chat API to a user's message; retries and streams as `complete`."""
        body = chat_of(self.plan.model, text, max_tokens or self.plan.max_tokens, **more)
        return self._answer(target, "/v1/chat/completions", body, "", None)

    def _answer(self, target: Target, path: str, body: dict[str, Any], request_id: str, rank: int | None) -> Answer:
        while True:
            reply = ask(target, path, body, self.limits.request, request_id, rank)
            if not (reply.never_connected or reply.status == TOO_MANY) or self.connect_timed_out():
                break
            self._pause(reply)
        answer = read_stream(reply) if body.get("stream") else read_answer(reply)
        if answer.problem == "joined":  # whole, and the next one is most likely sound
            self.warnings.append(answer.detail)
            answer = answer._replace(problem="", detail="")
        return answer

    def at_once(self, work: Callable[[Any], Any], items: Iterable[Any], workers: int = AT_ONCE) -> list[Any]:
        """The results of concurrent requests, in the order of their items."""
        items = list(items)
        if not items:
            return []
        with ThreadPoolExecutor(max_workers=min(workers, len(items))) as pool:
            return list(pool.map(work, items))

    def new_prompt(self) -> str:
        return prompt_of(new_nonce(), self.words)

    def reference(self, prompt: str, engine: Engine, cached: bool = False) -> Answer:
        """The text that this engine computes itself, for a prompt that went through the tested path *before*.

        From a prefill engine, never from decode: decode's own cache contains the received KV, so a broken transfer
        would be repeated and look correct. Prefill's cache contains only what it computed, and the salt bypasses it
        and the store. Requested afterwards, because a prompt known to an engine would hide a missing transfer.
        cached: without the salt, for steps with many or long prompts: the engine that computed the prompt does not do it again.
        With a store it has the salt always, because another engine could read the prompt's KV from there.
        """
        salt = {} if cached and not self.plan.store else salted(new_nonce())
        return self.complete(self.target(engine), prompt, self.plan.compared_tokens, **salt)

    def same(self, answer: Answer, reference: Answer, prompt: str, engine: Engine, chat: bool = False) -> bool:
        """Whether an answer is the reference's, of this engine for this prompt. Texts that part at a near tie count as equal.

        The probabilities are requested only then: engines with speculative decoding may compute such requests without it.
        """
        if same_text(answer.text, reference.text, self.plan.match == "exact"):
            return True
        if not self.plan.near_tie:
            return False
        target, tokens = self.target(engine), self.plan.compared_tokens
        if chat:
            again = self.chat(target, prompt, tokens, logprobs=True, top_logprobs=LOGPROBS)
        else:
            again = self.complete(target, prompt, tokens, logprobs=LOGPROBS, **salted(new_nonce()))
        if not tied(again.tokens, answer.text, self.plan.near_tie):
            return False
        self.near_ties += 1
        return True

    def reference_engine(self, served_by: Iterable[str]) -> Engine:
        """The engine for a reference: one that served the request, if known; its cache contains only its own KV."""
        names = list(served_by)
        served = [engine for engine in self.reference_engines if engine.name in names]
        return (served or self.reference_engines)[0]

    def pair_hop(self) -> str:
        """The engines that served the requests through the entry, as prefill -> decode; `entry` without a transfer."""
        if not self.plan.disaggregated:
            return "entry"
        sides = []
        for role in ("prefill", "decode"):
            served = [engine.name for engine in self.plan.role(role) if engine.name in self.served_by]
            known = served or [engine.name for engine in self.plan.role(role)]
            sides.append(known[0] if len(known) == 1 else role)
        return " -> ".join(sides)

    def words_for(self, needed: int, most: int = 0) -> int:
        """Number of filler words for a prompt of `needed` to `most` tokens, from /tokenize; without it one token per word is assumed."""
        words, most = needed, most or 2 * needed
        for _unused in range(4):
            body = {"model": self.plan.model, "prompt": prompt_of(new_nonce(), words)}
            reply = ask(self.target(self.plan.engines[0]), "/tokenize", body, timeout=min(60.0, self.limits.request))
            try:
                count = int(foreign_json.loads(reply.body)["count"])
            except (ValueError, LookupError, TypeError, OverflowError):
                return words
            if needed <= count <= most:
                return words
            # The token count of the nonce varies: aim between the bounds, at most a quarter above the smaller one.
            # A word is at least one token, whatever an engine counts: a prompt that grows with its answer could fill the memory.
            words = min(most, max(1, words * min(needed + needed // 4, (needed + most) // 2) // max(count, 1)))
        return words

    @property
    def reference_engines(self) -> list[Engine]:
        """Engines that compute their own KV: prefill or colocated ones."""
        return list(self.plan.role("prefill") or self.plan.role("colocated"))

    # --- counters ---------------------------------------------------------------------------------------------------

    def metrics(self, target: Target) -> Samples | None:
        """The metrics of a target, or None. A counter of finished requests that starts again is a remark."""
        reply = ask(target, "/metrics", timeout=min(30.0, self.limits.request))
        if reply.status != 200 or reply.error:
            return None
        samples = read_metrics(reply.body)
        finished = samples.get(FINISHED, 0.0)
        if finished < self.finished.get(target.url, 0.0):
            names = [engine.name for engine in self.plan.engines if engine.url == target.url]
            text = "its counters started again at 0 during the verification: it was restarted"
            self.remark(", ".join(names) or target.url, Problem(text, "restarted"))
        self.finished[target.url] = finished
        return samples

    def all_metrics(self) -> dict[str, Samples | None]:
        """The metrics of all engines at once, so that engines that hang cost one timeout together."""
        engines = self.plan.engines
        found = self.at_once(lambda engine: self.metrics(self.target(engine)), engines, READERS)
        return {engine.name: samples for engine, samples in zip(engines, found)}

    def settle(self, read: Callable[[], Any], enough: Callable[[Any], bool]) -> Any:
        """Read until the result is sufficient or limits.settle has passed: counters are updated with a delay."""
        deadline = time.monotonic() + self.limits.settle
        while True:
            value = read()
            if enough(value) or time.monotonic() > deadline:
                return value
            time.sleep(0.2)

    def remark(self, hop: str, problem: Problem) -> None:
        """A finding of severity warning: shown, but the verification does not fail."""
        found = problem._replace(text=self.hide(problem.text)).finding(hop, "warning").as_dict()
        if found not in self.remarks:
            self.remarks.append(found)

    # --- text ------------------------------------------------------------------------------------------------------

    def hide(self, text: str) -> str:
        """The text without API keys, even if a server repeats them."""
        for key in self.keys:
            text = text.replace(key, "***") if key else text
        return text
