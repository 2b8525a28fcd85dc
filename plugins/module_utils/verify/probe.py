# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State of all steps: plan, credentials, timeouts, and results so far."""

from __future__ import annotations

import time
from typing import Any, Callable, NamedTuple

from .answers import Answer, read_answer, read_stream
from .client import Reply, Target, ask
from .metrics import Samples, read_metrics
from .plan import Engine, VerifyPlan
from .prompts import completion_of, new_nonce, prompt_of, salted


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
        self.entry = Target(plan.entry.url, keys.entry, plan.entry.ca_path, plan.entry.validate_certs)
        self.words = 0  # number of words of a sufficiently long prompt; set by step engines
        self.max_model_len, self.shortest = 0, ""  # the smallest one, and its engine
        self.warnings: list[str] = []
        self.requests: list[dict[str, str]] = []  # {id, hop} of answers whose transfer must be in the logs
        self.served_by: list[str] = []
        self.pairs: dict[str, dict[str, dict[str, Any]]] = {}
        self.ttft_ms: dict[str, float] | None = {}
        self.entry_works = False
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
            time.sleep(0.5)

    def connect_timed_out(self) -> bool:
        return time.monotonic() - self.started > self.limits.connect

    def complete(self, target: Target, prompt: str, max_tokens: int = 0, request_id: str = "", **more: Any) -> Answer:
        """One completion, streamed if `stream=True` is among the extra keys; only refused connections are retried."""
        body = completion_of(self.plan.model, prompt, max_tokens or self.plan.max_tokens, **more)
        while True:
            reply = ask(target, "/v1/completions", body, self.limits.request, request_id)
            if not reply.never_connected or self.connect_timed_out():
                break
            time.sleep(0.5)
        return read_stream(reply) if more.get("stream") else read_answer(reply)

    def new_prompt(self) -> str:
        return prompt_of(new_nonce(), self.words)

    def reference(self, prompt: str, engine: Engine) -> Answer:
        """The text that this engine computes itself, for a prompt that went through the tested path *before*.

        From a prefill engine, never from decode: decode's own cache contains the received KV, so a broken transfer
        would be repeated and look correct. Prefill's cache contains only what it computed, and the salt bypasses it
        and the store. Requested afterwards, because a prompt known to an engine would hide a missing transfer.
        """
        return self.complete(self.target(engine), prompt, self.plan.compared_tokens, **salted(new_nonce()))

    @property
    def reference_engines(self) -> list[Engine]:
        """Engines that compute their own KV: prefill or colocated ones."""
        return list(self.plan.role("prefill") or self.plan.role("colocated"))

    # --- counters ---------------------------------------------------------------------------------------------------

    def metrics(self, target: Target) -> Samples | None:
        """The metrics of a target, or None."""
        reply = ask(target, "/metrics", timeout=min(30.0, self.limits.request))
        return read_metrics(reply.body) if reply.status == 200 and not reply.error else None

    def all_metrics(self) -> dict[str, Samples | None]:
        return {engine.name: self.metrics(self.target(engine)) for engine in self.plan.engines}

    def settle(self, read: Callable[[], Any], enough: Callable[[Any], bool]) -> Any:
        """Read until the result is sufficient or limits.settle has passed: counters are updated with a delay."""
        deadline = time.monotonic() + self.limits.settle
        while True:
            value = read()
            if enough(value) or time.monotonic() > deadline:
                return value
            time.sleep(0.2)

    # --- text ------------------------------------------------------------------------------------------------------

    def hide(self, text: str) -> str:
        """The text without API keys, even if a server repeats them."""
        for key in self.keys:
            text = text.replace(key, "***") if key else text
        return text
