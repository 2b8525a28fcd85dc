# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every step needs: who is asked, as whom, how long, and what has been learnt so far."""

from __future__ import annotations

import time
from typing import Any, Callable, NamedTuple

from .answers import Answer, read_answer, read_stream
from .client import Reply, Target, ask
from .metrics import Samples, read_metrics
from .plan import Engine, VerifyPlan
from .prompts import completion_of, new_nonce, prompt_of, salted


class Limits(NamedTuple):
    """Seconds. connect: how long a refused connection is tried again; request: one answer; settle: counters that lag."""

    connect: float = 60.0
    request: float = 300.0
    settle: float = 15.0


class Keys(NamedTuple):
    """API keys; "" = none."""

    engine: str = ""
    entry: str = ""


class Exchange(NamedTuple):
    """One probe: its prompt, what came through the tested way, and what an engine alone says (None: not asked yet)."""

    prompt: str
    answer: Answer
    reference: Answer | None = None


class Probe:
    """The tested service, and the facts that one step learns for the next."""

    def __init__(self, plan: VerifyPlan, keys: Keys, limits: Limits) -> None:
        self.plan = plan
        self.limits = limits
        self.keys = keys
        self.started = time.monotonic()
        self.entry = Target(plan.entry.url, keys.entry, plan.entry.ca_path, plan.entry.validate_certs)
        self.words = 0  # of a prompt that is long enough; set by step engines
        self.max_model_len, self.shortest = 0, ""  # the shortest one, and which engine has it
        self.warnings: list[str] = []
        self.requests: list[dict[str, str]] = []  # {id, hop} of answers whose transfer the logs have to show
        self.served_by: list[str] = []
        self.pairs: dict[str, dict[str, dict[str, Any]]] = {}
        self.ttft_ms: dict[str, float] | None = {}
        self.entry_works = False
        self.exchanges: list[Exchange] = []

    # --- asking -----------------------------------------------------------------------------------------------------

    def target(self, engine: Engine) -> Target:
        return Target(engine.url, self.keys.engine)

    def get(self, target: Target, path: str) -> Reply:
        """GET; a connection that is refused, or a 503, is tried again until limits.connect has passed since the start."""
        while True:
            reply = ask(target, path, timeout=min(30.0, self.limits.request))
            if not (reply.never_connected or reply.status == 503) or self.out_of_patience():
                return reply
            time.sleep(0.5)

    def out_of_patience(self) -> bool:
        return time.monotonic() - self.started > self.limits.connect

    def complete(self, target: Target, prompt: str, max_tokens: int = 0, request_id: str = "", **more: Any) -> Answer:
        """One completion, streamed if `stream=True` is among the extra keys; only refused connections are tried again."""
        body = completion_of(self.plan.model, prompt, max_tokens or self.plan.max_tokens, **more)
        while True:
            reply = ask(target, "/v1/completions", body, self.limits.request, request_id)
            if not reply.never_connected or self.out_of_patience():
                break
            time.sleep(0.5)
        return read_stream(reply) if more.get("stream") else read_answer(reply)

    def new_prompt(self) -> str:
        return prompt_of(new_nonce(), self.words)

    def reference(self, prompt: str, engine: Engine) -> Answer:
        """The text that this engine computes alone, for a prompt that went through the tested way *before*.

        Asked of a prefill engine, never of decode: decode's own cache now holds the KV it was sent, so a broken transfer
        would repeat itself there and look right. Prefill's cache holds only what it computed, and the salt bypasses even
        that, and the pool. Asked afterwards, since a prompt known to an engine would hide a missing transfer.
        """
        return self.complete(self.target(engine), prompt, self.plan.compared_tokens, **salted(new_nonce()))

    @property
    def referees(self) -> list[Engine]:
        """Engines whose KV is their own: prefill ones, or colocated ones."""
        return list(self.plan.role("prefill") or self.plan.role("colocated"))

    # --- counters ---------------------------------------------------------------------------------------------------

    def metrics(self, target: Target) -> Samples | None:
        """None when there are none to read."""
        reply = ask(target, "/metrics", timeout=min(30.0, self.limits.request))
        return read_metrics(reply.body) if reply.status == 200 and not reply.error else None

    def all_metrics(self) -> dict[str, Samples | None]:
        return {engine.name: self.metrics(self.target(engine)) for engine in self.plan.engines}

    def settle(self, read: Callable[[], Any], enough: Callable[[Any], bool]) -> Any:
        """Read until it is enough or limits.settle has passed: counters follow the answer by a moment."""
        deadline = time.monotonic() + self.limits.settle
        while True:
            value = read()
            if enough(value) or time.monotonic() > deadline:
                return value
            time.sleep(0.2)

    # --- words ------------------------------------------------------------------------------------------------------

    def hide(self, text: str) -> str:
        """No key in any message, even if a server repeats it."""
        for key in self.keys:
            text = text.replace(key, "***") if key else text
        return text
