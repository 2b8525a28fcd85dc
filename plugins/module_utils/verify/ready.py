# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps engines and alone: each component separately, before requests through all of them."""

from __future__ import annotations

from typing import Any

from ..tools import foreign_json
from ..tools.http_client import Reply, ask
from .answers import Answer, excerpt
from .faults import Problem
from .plan import Engine, VerifyPlan
from .probe import Probe
from .prompts import new_nonce, salted
from .records import Record, failed, passed


def silence(path: str, reply: Reply) -> Problem:
    """What a reply to GET `path` that is not HTTP 200 shows."""
    text = f"its {path} does not answer: "
    if reply.error:
        return Problem(text + (reply.detail or reply.error), "hangs" if reply.error == "timeout" else "dead")
    if reply.status in (401, 403):
        return Problem(f"{text}HTTP {reply.status}", "unauthorized")
    return Problem("{}HTTP {}: {}".format(text, reply.status, excerpt(reply.body) or "(empty body)"), "unready")


def needed_tokens(plan: VerifyPlan) -> int:
    """The least length of a prompt in tokens: more than two KV blocks, because a shorter one is not transferred."""
    return max(2 * plan.block_size + 1, plan.min_prompt_tokens)


def check_engines(probe: Probe) -> list[Record]:
    """Check that each engine is healthy and serves the planned model. Also sets max_model_len and the prompt length."""
    broken = []
    for engine in probe.plan.engines:
        problem = _unfit(probe, engine)
        if problem:
            broken.append(failed("engines", engine.name, problem))
    if broken:
        return broken
    needed = needed_tokens(probe.plan)
    probe.words = probe.words_for(needed)
    room = probe.max_model_len - probe.plan.max_tokens
    if 0 < room < needed:
        message = (
            "max_model_len {0} is too small for a probe of {1} tokens (more than two KV blocks) and an answer of {2}"
        )
        values = (probe.max_model_len, needed, probe.plan.max_tokens)
        return [failed("engines", probe.shortest, Problem(message.format(*values), "no_room"))]
    message = f"{len(probe.plan.engines)} healthy, all serve {probe.plan.model}"
    return [passed("engines", "", message, max_model_len=probe.max_model_len, probe_words=probe.words)]


def _unfit(probe: Probe, engine: Engine) -> Problem | None:
    """Why this engine cannot be used; None when it can."""
    target = probe.target(engine)
    reply = probe.get(target, "/health")
    if reply.status != 200 or reply.error:
        return silence("/health", reply)
    reply = ask(target, "/v1/models", timeout=min(30.0, probe.limits.request))
    if reply.status != 200 or reply.error:
        return silence("/v1/models", reply)
    try:
        models: dict[str, Any] = {item["id"]: item for item in foreign_json.loads(reply.body)["data"]}
    except (ValueError, LookupError, TypeError):
        return Problem("its /v1/models is not a list of models: " + excerpt(reply.body), "not_openai")
    if probe.plan.model not in models:
        return Problem(
            "serves model {}, expected {}".format(", ".join(sorted(models)), probe.plan.model), "wrong_model"
        )
    length = models[probe.plan.model].get("max_model_len") or 0
    # The smallest one limits the probe.
    if length and (not probe.max_model_len or length < probe.max_model_len):
        probe.max_model_len, probe.shortest = length, engine.name
    return None


def check_alone(probe: Probe) -> list[Record]:
    """Send the same prompt to each engine directly: answers must be complete and equal. Salted to bypass cache and store."""
    prompt = probe.new_prompt()
    answers: dict[str, Answer] = {}
    broken = []
    asked = _asked_alone(probe)
    for engine in asked:
        tokens = probe.plan.compared_tokens
        answer = probe.complete(probe.target(engine), prompt, tokens, **salted(new_nonce()))
        answers[engine.name] = answer
        if not answer.whole:
            text = probe.hide("queried directly: " + answer.detail)
            broken.append(failed("alone", engine.name, Problem(text, answer.fault)))
    if broken:
        return broken
    expected = _majority([answer.text for answer in answers.values()])
    base = next(engine for engine in asked if answers[engine.name].text == expected)
    for name, answer in answers.items():
        if answer.text != expected and not probe.same(answer, answers[base.name], prompt, base):
            message = f"returns {excerpt(answer.text, 60)!r} when queried directly; other engines return {excerpt(expected, 60)!r}"
            broken.append(failed("alone", name, Problem(message, "different_engine")))
    short = [answer.prompt_tokens for answer in answers.values() if answer.prompt_tokens <= 2 * probe.plan.block_size]
    if short and not broken:
        text = "the probe of {0} words has only {1} tokens; two KV blocks are {2}"
        problem = Problem(text.format(probe.words, short[0], 2 * probe.plan.block_size), "short_probe")
        broken.append(failed("alone", probe.plan.engines[0].name, problem))
    tokens = max(answer.prompt_tokens for answer in answers.values())
    text = (
        "{0} engines, same text after {1} prompt tokens" if len(answers) > 1 else "{0} engine answers {1} prompt tokens"
    )
    return broken or [passed("alone", "", text.format(len(answers), tokens), text=excerpt(expected, 60))]


def _asked_alone(probe: Probe) -> list[Engine]:
    """All engines; if some join, they and as many of their peers as it takes to outvote one of them."""
    peers = [engine for engine in probe.plan.engines if engine.name not in probe.joining]
    if not probe.joining:
        return peers
    joining = [engine for engine in probe.plan.engines if engine.name in probe.joining]
    return peers[: len(joining) + 1] + joining


def _majority(texts: list[str]) -> str:
    """The most frequent text; of equally frequent ones the first."""
    return max(texts, key=lambda text: (texts.count(text), -texts.index(text)))
