# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Completeness and content of completions; HTTP 200 alone proves neither."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Sequence

from ..tools import foreign_json
from ..tools.http_client import Reply

JOINED = re.compile(r"(?<=})data: *")
# vLLM-Ascend's proxies of prefill and decode drop a piece of a stream that has only line ends. A TCP segment that ends before them makes one
# (0.23.0.post1 and 0.24.0rc1: tests/integration/test_joined_events.py).
JOINS = (
    "two events of the stream came as one, so a client loses a part of the text or the finish_reason. Proxies of vLLM-Ascend drop the line ends "
    "between two events if these arrive later than the first of them"
)

# What reading raises if a body is JSON of another form, for example a text where a list is expected.
OTHER_FORM = (ValueError, LookupError, TypeError, AttributeError)


class Token(NamedTuple):
    """One generated token: its text, its log-probability, and those of the most probable tokens of its position."""

    text: str
    logprob: float
    top: dict[str, float]


class Answer(NamedTuple):
    """One completion. problem "" = complete; else one of

    refused, unreachable, timeout, cut, tls (no or broken answer) · http_error · empty · not_json · incomplete · no_done · joined (whole, but two
    events of the stream are one). detail is the message. seconds: duration of the exchange; ttft: first streamed text (None without streaming).
    """

    problem: str
    detail: str
    status: int
    text: str = ""
    request_id: str = ""
    finish_reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    kv_transfer_params: dict[str, Any] | None = None
    seconds: float = 0.0
    ttft: float | None = None
    tokens: tuple[Token, ...] = ()  # only if log-probabilities were requested and returned

    @property
    def whole(self) -> bool:
        return not self.problem

    @property
    def unauthorized(self) -> bool:
        """Whether the key is wrong: then the service is there, and nothing is wrong with it."""
        return self.status in (401, 403)

    @property
    def fault(self) -> str:
        """The fault (faults.FAULTS) of an engine that was asked directly and gave no whole answer. 405 and 501: it knows no POST of a completion."""
        if self.unauthorized:
            return "unauthorized"
        if self.status in (405, 501):
            return "not_openai"
        return {"timeout": "hangs", "http_error": "unready"}.get(self.problem, "dead")


def read_answer(reply: Reply) -> Answer:
    """A completion that was not streamed."""
    early = _without_answer(reply)
    if early:
        return early
    try:
        answer = _completion(foreign_json.loads(reply.body), reply)
        return answer._replace(**_gap(answer))
    except OTHER_FORM:
        return _not_a_completion("a completion", reply)


def read_stream(reply: Reply) -> Answer:
    """A streamed completion: chunks, a finish reason, then [DONE]; usage only if the server sends it."""
    early = _without_answer(reply)
    if early:
        return early
    try:
        return _streamed(reply)
    except OTHER_FORM:
        return _not_a_completion("a streamed completion", reply)


def _not_a_completion(wanted: str, reply: Reply) -> Answer:
    detail = f"HTTP 200, but not {wanted}: " + excerpt(reply.body)
    return Answer("not_json", detail, reply.status, seconds=reply.seconds)


def _completion(body: Any, reply: Reply) -> Answer:
    """One of OTHER_FORM is raised if the body has another form than a completion."""
    choice = body["choices"][0]
    usage = body.get("usage") or {}
    return Answer(
        problem="",
        detail="",
        status=reply.status,
        text=_text(choice, "message"),
        request_id=str(body.get("id") or ""),
        finish_reason=choice.get("finish_reason") or "",
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        kv_transfer_params=dict(body["kv_transfer_params"]) if body.get("kv_transfer_params") else None,
        seconds=reply.seconds,
        tokens=_tokens(choice.get("logprobs")),
    )


def _streamed(reply: Reply) -> Answer:
    """One of OTHER_FORM is raised if the chunks have another form than those of a completion."""
    events = _apart(reply.events)
    chunks, done = _chunks(events)
    if not chunks:
        return _not_a_completion("a streamed completion", reply)
    pieces = [(at, _text(choice, "delta")) for at, chunk in chunks for choice in (chunk.get("choices") or [])[:1]]
    spoken = [(at, text) for at, text in pieces if text]
    usages = [chunk["usage"] for unused, chunk in chunks if chunk.get("usage")]
    usage = usages[-1] if usages else {"completion_tokens": len(spoken)}
    reasons = [
        c["finish_reason"] for unused, chunk in chunks for c in chunk.get("choices") or [] if c.get("finish_reason")
    ]
    answer = Answer(
        problem="",
        detail="",
        status=reply.status,
        text="".join(text for unused, text in spoken),
        request_id=str(chunks[0][1].get("id") or ""),
        finish_reason=reasons[-1] if reasons else "",
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        seconds=reply.seconds,
        ttft=spoken[0][0] if spoken else None,
    )
    gap = _gap(answer)
    if not gap and not done:
        gap = {"problem": "no_done", "detail": "the stream ended without [DONE]: it was truncated"}
    if not gap and len(events) > len(reply.events):
        gap = {"problem": "joined", "detail": JOINS}
    return answer._replace(**gap)


def _count(value: Any) -> int:
    """A number of tokens; 0 if it is missing. TypeError if it is no count."""
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= foreign_json.LARGEST:
        raise TypeError("a number of tokens is no count")
    return value


def _text(choice: dict[str, Any], part: str) -> str:
    """The text of a completion, or of a chat: reasoning and content, which a reasoning parser separates (vLLM < 0.12 names it reasoning_content)."""
    if part not in choice:
        text = choice.get("text") or ""
        if not isinstance(text, str):
            raise TypeError("the text of a completion is no text")
        return text
    message = choice[part] or {}
    calls = [call["function"] for call in message.get("tool_calls") or [] if call.get("function")]
    called = "".join((call.get("name") or "") + (call.get("arguments") or "") for call in calls)
    return (
        (message.get("reasoning") or message.get("reasoning_content") or "") + (message.get("content") or "") + called
    )


def _tokens(logprobs: Any) -> tuple[Token, ...]:
    """The tokens of the `logprobs` of a completion or of a chat; empty if they are missing or have another form."""
    try:
        if "content" in logprobs:
            return tuple(
                Token(
                    row["token"],
                    float(row["logprob"]),
                    {top["token"]: float(top["logprob"]) for top in row["top_logprobs"]},
                )
                for row in logprobs["content"]
            )
        rows = list(zip(logprobs["tokens"], logprobs["token_logprobs"], logprobs["top_logprobs"]))
        return tuple(Token(text, float(logprob), {k: float(v) for k, v in top.items()}) for text, logprob, top in rows)
    except (LookupError, TypeError, ValueError, AttributeError):
        return ()


def _without_answer(reply: Reply) -> Answer | None:
    if reply.error:
        detail = {"timeout": "no answer within the timeout"}.get(reply.error, reply.detail)
        return Answer(reply.error, detail, reply.status, seconds=reply.seconds)
    if reply.status != 200:
        detail = "HTTP {}: {}".format(reply.status, excerpt(reply.body) or "(empty body)")
        return Answer("http_error", detail, reply.status, seconds=reply.seconds)
    if not reply.body.strip():
        return Answer("empty", "HTTP 200 with an empty body", reply.status, seconds=reply.seconds)
    return None


def _apart(events: tuple[tuple[float, str], ...]) -> list[tuple[float, str]]:
    """The events, and in place of one that is several in one line these."""
    return [(at, part) for at, data in events for part in (JOINED.split(data) if not _is_json(data) else [data])]


def _is_json(data: str) -> bool:
    try:
        foreign_json.loads(data)
    except ValueError:
        return False
    return True


def _chunks(events: Sequence[tuple[float, str]]) -> tuple[list[tuple[float, dict[str, Any]]], bool]:
    """(seconds, chunk) of all events that are JSON objects, and whether [DONE] came last."""
    chunks = []
    for at, data in events:
        try:
            chunk = foreign_json.loads(data)
        except ValueError:
            continue
        if isinstance(chunk, dict):
            chunks.append((at, chunk))
    return chunks, bool(events) and events[-1][1] == "[DONE]"


def _gap(answer: Answer) -> dict[str, str]:
    """Missing parts of a completion."""
    missing = []
    if not answer.text:
        missing.append("text")
    if answer.completion_tokens < 1:
        missing.append("completion_tokens > 0")
    if answer.finish_reason not in ("length", "stop", "tool_calls"):
        missing.append(f"a finish_reason of length or stop (it is {answer.finish_reason!r})")
    return {"problem": "incomplete", "detail": "missing in the answer: " + ", ".join(missing)} if missing else {}


def same_text(answer: str, reference: str, exact: bool) -> bool:
    """Whether texts are equal; if not exact, whether the answer begins with the (shorter) reference.

    A reference that ends inside a character ends with U+FFFD, which the longer answer does not have.
    """
    if exact:
        return answer == reference
    start = reference.rstrip("\ufffd")
    return bool(start) and answer.startswith(start)


def excerpt(text: str, length: int = 200) -> str:
    """One line of at most `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[:length] + "…"
