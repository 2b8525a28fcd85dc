# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Step pairs: every prefill rank with every decode rank, because a bad link of P×D affects only its own requests.

A data-parallel rank has its own devices, KV ports and links. vLLM serves a request by the rank that a header names
(0.11.1 and later); for older releases the counters of each rank show which one served.
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple, Optional, Sequence, Tuple

from ..tools import foreign_json
from ..tools.http_client import Target, ask
from .answers import Answer, excerpt
from .faults import Problem
from .metaserver import Metaserver
from .metrics import ranks_served
from .plan import Engine, VerifyPlan
from .probe import Probe
from .prompts import new_nonce
from .records import Record, failed, milliseconds, passed, skipped
from .transfer import Window, busy, judge, window_of

# Parameters that proxies of the protocol "prefill answers with kv_transfer_params" send to prefill (vLLM-Ascend 0.11-0.23, vllm-router).
ASK_PREFILL = {
    "do_remote_decode": True,
    "do_remote_prefill": False,
    "remote_engine_id": None,
    "remote_block_ids": None,
    "remote_host": None,
    "remote_port": None,
}
ROUNDS_WITHOUT_NEWS = 4
JOIN_TRIES = 4
CALLBACK = 30.0  # seconds in which a decode engine asks for KV
NAMED = 8  # pairs that are named in a text; the others are only counted


class Member(NamedTuple):
    """A data-parallel rank of an engine; rank is None if the engine has only one, or if it cannot be chosen."""

    engine: Engine
    rank: int | None

    @property
    def name(self) -> str:
        return label(self.engine, self.rank)


def label(engine: Engine, rank: int | None) -> str:
    """`decode-0`, or `decode-0 rank 3` for an engine with several ranks."""
    return engine.name if rank is None or engine.ranks == 1 else f"{engine.name} rank {rank}"


def members(engines: tuple[Engine, ...]) -> list[Member]:
    """All ranks, the first one of each engine first, so that a limited number of pairs includes every engine."""
    most = max(engine.ranks for engine in engines)
    return [
        Member(engine, rank if engine.ranks > 1 else None)
        for rank in range(most)
        for engine in engines
        if rank < engine.ranks
    ]


def addressable(plan: VerifyPlan) -> bool:
    """Whether requests can be sent to a chosen pair, without the entry."""
    by_bootstrap = plan.transfer.protocol == "bootstrap" and all(engine.bootstrap for engine in plan.role("prefill"))
    return plan.transfer.protocol == "prefill_answers" or by_bootstrap


def pushes(plan: VerifyPlan) -> bool:
    """Whether prefill pushes, after decode has asked a metaserver for it. Verification has the proxy's; engines that join have no proxy yet."""
    return plan.transfer.protocol == "layerwise"


def check_pairs(probe: Probe) -> list[Record]:
    """All pairs: directly if the protocol allows it, else through the entry as long as new pairs occur."""
    plan = probe.plan
    if not (plan.role("prefill") and plan.role("decode")):  # engines join a router that has none of the other pool
        return [skipped("pairs", "there is no engine of the other pool")]
    by_hand = addressable(plan) or (bool(probe.joining) and pushes(plan))
    if not by_hand and not probe.entry_works:
        return [skipped("pairs", "this connector's pairs can be tested only through the entry, which does not work")]
    pairs = all_pairs(plan)
    if probe.joining:
        pairs = [pair for pair in pairs if probe.joining & {member.engine.name for member in pair}]
    probe.pairs = {prefill.name: {} for prefill in members(plan.role("prefill"))}
    several = any(engine.ranks > 1 for engine in plan.engines)
    if not by_hand:
        broken = _through_entry(probe, pairs)
    elif several and not plan.release.has_rank_header:
        broken = _unaddressed(probe, pairs)
    else:
        broken = _directly(probe, pairs)
    seen = sum(len(row) for row in probe.pairs.values())
    missing = [f"{p.name} -> {d.name}" for p, d in pairs if d.name not in probe.pairs[p.name]]
    kind = "pairs of ranks" if several else "pairs"
    if missing:
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        text = f"{len(missing)} of {len(pairs)} {kind} were not covered: {', '.join(missing[:NAMED])}{more}"
        probe.remark("prefill -> decode", Problem(text, "not_covered"))
    if broken:
        return broken
    if not seen:
        return [skipped("pairs", "the router did not show which engines served, so pairs are unknown")]
    return [passed("pairs", "", f"{seen} of {len(pairs)} {kind} transferred KV, texts correct")]


def all_pairs(plan: VerifyPlan) -> list[tuple[Member, Member]]:
    """Every prefill rank with every decode rank. Diagonals first, so that a limited number of pairs includes every member."""
    prefills, decodes = members(plan.role("prefill")), members(plan.role("decode"))
    longest = max(len(prefills), len(decodes))
    shortest = min(len(prefills), len(decodes))
    order = []
    for shift in range(shortest):
        for number in range(longest):
            order.append((prefills[number % len(prefills)], decodes[(number + shift) % len(decodes)]))
    # With unequal sizes a diagonal may repeat pairs; the remaining ones are added in order.
    order += [(prefill, decode) for prefill in prefills for decode in decodes]
    return list(dict.fromkeys(order))


def _directly(probe: Probe, pairs: list[tuple[Member, Member]]) -> list[Record]:
    """Requests to the ranks by name; if an engine serves them by another rank, as for releases without the header."""
    broken: list[Record] = []
    for prefill, decode in pairs[: probe.plan.max_pairs]:
        problem, row = repeated_pair(probe, prefill, decode, JOIN_TRIES if probe.joining else 1)
        if problem and problem.fault == "rank_ignored":
            probe.remark(f"{prefill.name} -> {decode.name}", problem)
            return broken + _unaddressed(probe, pairs)
        probe.pairs[prefill.name][decode.name] = dict(row, status="failed" if problem else "passed")
        if problem:
            broken.append(failed("pairs", f"{prefill.name} -> {decode.name}", _hidden(probe, problem)))
        if row.get("timed_out"):  # each further pair would cost a timeout
            break
    return broken


def _unaddressed(probe: Probe, pairs: list[tuple[Member, Member]]) -> list[Record]:
    """For releases without the header: requests to each pair of engines, as long as other ranks serve them."""
    broken: list[Record] = []
    for prefill, decode in dict.fromkeys((p.engine, d.engine) for p, d in pairs):
        dull = 0
        while dull < ROUNDS_WITHOUT_NEWS and not broken:
            problem, row = _one_pair(probe, Member(prefill, None), Member(decode, None))
            ranks = row.pop("ranks", {})
            sides = [label(engine, ranks.get(engine.name)) for engine in (prefill, decode)]
            if problem:
                broken.append(failed("pairs", " -> ".join(sides), _hidden(probe, problem)))
            known = probe.pairs.get(sides[0])
            if known is None or (decode.ranks > 1 and sides[1] == decode.name):
                break  # the engine does not count by rank
            dull = dull + 1 if sides[1] in known else 0
            known[sides[1]] = dict(row, status="failed" if problem else "passed")
            if prefill.ranks == decode.ranks == 1:
                break
    return broken


def _parameters(probe: Probe, prefill: Member) -> tuple[dict[str, Any], dict[str, Any]] | Problem:
    """(what prefill is asked with, what decode is asked with unless prefill answers it), or why they are unknown."""
    if probe.plan.transfer.protocol == "prefill_answers":
        return dict(ASK_PREFILL), {}
    reply = ask(Target(prefill.engine.bootstrap), "/query", timeout=min(30.0, probe.limits.request))
    try:
        entries = foreign_json.loads(reply.body)
        entry = entries[str(prefill.rank or 0)] if len(entries) > 1 or prefill.rank else next(iter(entries.values()))
        engine_id = entry["engine_id"]
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration):
        seen = reply.detail or reply.error or f"HTTP {reply.status}: {excerpt(reply.body)}"
        return Problem(f"its registry {prefill.engine.bootstrap}/query does not know the rank: {seen}", "no_registry")
    common = {"transfer_id": "xfer-" + new_nonce()}
    first = dict(common, do_remote_decode=True, do_remote_prefill=False)
    second = dict(common, do_remote_decode=False, do_remote_prefill=True)
    return first, dict(second, remote_engine_id=engine_id, remote_bootstrap_addr=prefill.engine.bootstrap)


def repeated_pair(
    probe: Probe, prefill: Member, decode: Member, tries: int, **more: Any
) -> tuple[Problem | None, dict[str, Any]]:
    """`_one_pair`, up to `tries` times if KV seems to be computed: the counters of engines that clients use may be read amid a request.

    more: further keys of decode's request, such as `stream`.
    """
    for last in [False] * (tries - 1) + [True]:
        problem, row = _one_pair(probe, prefill, decode, **more)
        if last or not problem or problem.fault != "recomputed":
            break
    return problem, row


def _one_pair(probe: Probe, prefill: Member, decode: Member, **more: Any) -> tuple[Problem | None, dict[str, Any]]:
    """(error or None, figures): one request whose KV is computed by prefill, and whose answer comes from decode."""
    prompt = probe.new_prompt()
    both = (prefill.engine, decode.engine)
    before = {engine.name: probe.metrics(probe.target(engine)) for engine in both}
    exchange = _pushed if pushes(probe.plan) else _pulled
    first, answer, problem = exchange(probe, prefill, decode, prompt, **more)
    if problem or not answer:
        return problem, {"timed_out": bool(answer) and answer.problem == "timeout"} if answer else {}
    window, after = _settled(probe, before, both, answer.prompt_tokens)
    row = {"prompt_tokens": answer.prompt_tokens, "milliseconds": milliseconds(answer.seconds)}
    if answer.ttft is not None:
        row["ttft_seconds"] = first + answer.ttft
    row["external_kv_transfer"] = (
        window.engines[decode.engine.name].external if decode.engine.name in window.engines else None
    )
    row["ranks"], problem = _ranks((prefill, decode), before, after)
    if problem:
        return problem, row
    probe.requests.append({"id": answer.request_id, "hop": f"{prefill.name} -> {decode.name}"})
    reference = probe.reference(prompt, prefill.engine)
    if not reference.whole:
        return Problem("could not get the reference output: " + reference.detail, reference.fault), row
    if not probe.same(answer, reference, prompt, prefill.engine):
        return other_text(answer, prefill.engine.name, reference), row
    return judge(probe.plan, window).problem, row


Exchange = Tuple[
    float, Optional[Answer], Optional[Problem]
]  # seconds before decode was asked, its answer, what is wrong


def _pulled(probe: Probe, prefill: Member, decode: Member, prompt: Any, **more: Any) -> Exchange:
    """Request one token and KV from prefill, then the answer from decode with prefill's parameters."""
    request_id, asked = new_nonce(), _parameters(probe, prefill)
    if isinstance(asked, Problem):
        return 0.0, None, asked
    first, problem = _ask_prefill(probe, prefill, prompt, request_id, asked[0])
    params = asked[1] or first.kv_transfer_params or {}
    if problem or not params.get("do_remote_prefill"):
        return 0.0, None, problem or Problem("prefill returned no kv_transfer_params", "no_kv_params")
    return (first.seconds, *_ask_decode(probe, decode, prompt, request_id, params, **more))


def _pushed(probe: Probe, prefill: Member, decode: Member, prompt: Any, **more: Any) -> Exchange:
    """Request the answer from decode, which calls back with what prefill is asked with."""
    request_id = new_nonce()
    failed_first: list[Problem | None] = []
    answered: list[tuple[Answer, Problem | None]] = []

    def ask_prefill(params: dict[str, Any]) -> None:
        failed_first.append(_ask_prefill(probe, prefill, prompt, request_id, params)[1])

    try:
        metaserver = Metaserver(decode.engine.url, ask_prefill)
    except OSError as error:
        return 0.0, None, Problem(f"nothing can listen for decode's call: {error.strerror or error}", "no_callback")
    with metaserver:
        params = {"do_remote_decode": False, "do_remote_prefill": True, "metaserver": metaserver.url}
        # A thread that goes on: decode waits for ever for KV that nobody was asked for, and only the end of the connection stops it.
        asking = threading.Thread(
            target=lambda: answered.append(_ask_decode(probe, decode, prompt, request_id, params, **more)), daemon=True
        )
        asking.start()
        end = time.monotonic() + min(CALLBACK, probe.limits.request)
        while asking.is_alive() and not metaserver.called.wait(0.1) and time.monotonic() < end:
            pass
        if asking.is_alive() and not metaserver.called.is_set():
            text = f"decode did not call back {metaserver.url.rpartition(metaserver.path)[0]} within {CALLBACK:.0f} s"
            return 0.0, None, Problem(text, "no_callback")
        asking.join()
    if failed_first and failed_first[0]:
        return 0.0, None, failed_first[0]
    return (0.0, *answered[0])


def _ask_prefill(
    probe: Probe, prefill: Member, prompt: Any, request_id: str, params: dict[str, Any]
) -> tuple[Answer, Problem | None]:
    """The answer of one token, and what is wrong with it."""
    answer = probe.complete(
        probe.target(prefill.engine), prompt, 1, request_id, prefill.rank, min_tokens=1, kv_transfer_params=params
    )
    return answer, None if answer.whole else Problem("prefill did not answer: " + answer.detail, answer.fault)


def _ask_decode(
    probe: Probe, decode: Member, prompt: Any, request_id: str, params: dict[str, Any], **more: Any
) -> tuple[Answer, Problem | None]:
    """The answer with KV of prefill, and what is wrong with it."""
    answer = probe.complete(
        probe.target(decode.engine),
        prompt,
        probe.plan.max_tokens,
        request_id,
        decode.rank,
        kv_transfer_params=params,
        **more,
    )
    if answer.whole:
        return answer, None
    with_kv = {"hangs": "decode_hangs", "unready": "kv_error"}
    fault = "cut" if answer.problem in ("cut", "empty") else with_kv.get(answer.fault, answer.fault)
    return answer, Problem("decode did not answer: " + answer.detail, fault)


def _ranks(members: Sequence[Member], before: Any, after: Any) -> tuple[dict[str, int], Problem | None]:
    """{engine: the rank that served the request, where it is known}, and a problem if it is another one than was asked."""
    found: dict[str, int] = {}
    for member in members:
        served = ranks_served(before[member.engine.name] or {}, after[member.engine.name] or {})
        if member.rank is not None and served and member.rank not in served:
            text = f"the request for {member.name} was served by rank {', '.join(map(str, sorted(served)))}"
            return found, Problem(text, "rank_ignored")
        if len(served) == 1:
            found[member.engine.name] = next(iter(served))
    return found, None


def _hidden(probe: Probe, problem: Problem) -> Problem:
    return problem._replace(text=probe.hide(problem.text))


def other_text(answer: Answer, engine: str, reference: Answer) -> Problem:
    """The problem of an answer that is not the engine's own one."""
    text = "the answer is {0!r}, but {1} directly returns {2!r}"
    return Problem(text.format(excerpt(answer.text, 60), engine, excerpt(reference.text, 60)), "garbage")


def _settled(probe: Probe, before: Any, both: tuple[Engine, Engine], tokens: int) -> tuple[Window, Any]:
    """The window, and the counters at its end."""
    last: dict[str, Any] = {}

    def read() -> Window:
        last.update({engine.name: probe.metrics(probe.target(engine)) for engine in both})
        return window_of(before, last, 1, tokens)

    window = probe.settle(read, lambda w: bool(w.unread) or len(busy(w, [e.name for e in both])) == 2)
    return window, last


def _through_entry(probe: Probe, pairs: list[tuple[Member, Member]]) -> list[Record]:
    """One request at a time, so that the counters identify its ranks; ends after several rounds without a new pair."""
    wanted, dull = {(p.name, d.name) for p, d in pairs}, 0
    most = ROUNDS_WITHOUT_NEWS * (2 if any(p.rank or d.rank for p, d in pairs) else 1)
    while wanted and dull < most:
        problem, served = _one_request(probe)
        if problem:
            return [failed("pairs", served or "entry", _hidden(probe, problem))]
        news = wanted & {tuple(served.split(" -> "))}
        dull = 0 if news else dull + 1
        wanted -= news
    return []


def _one_request(probe: Probe) -> tuple[Problem | None, str]:
    """(what is wrong or None, "prefill -> decode" that served it)."""
    prompt, before = probe.new_prompt(), probe.all_metrics()
    answer = probe.complete(probe.entry, prompt)
    if not answer.whole:
        return Problem("a repeated request failed: " + answer.detail, "some_lost"), "entry"
    after: dict[str, Any] = {}

    def read() -> Window:
        after.update(probe.all_metrics())
        return window_of(before, after, 1, answer.prompt_tokens)

    decodes = [engine.name for engine in probe.plan.role("decode")]
    window = probe.settle(read, lambda seen: bool(seen.unread) or bool(busy(seen, decodes)))
    found = judge(probe.plan, window)
    if found.problem:
        return found.problem, found.hop
    served = [
        [probe.plan.engine(name) for name in busy(window, [engine.name for engine in probe.plan.role(role)])]
        for role in ("prefill", "decode")
    ]
    reference = probe.reference(prompt, served[0][0])
    if [len(side) for side in served] != [1, 1]:
        hop = found.hop
    else:
        sides = []
        for (engine,) in served:
            ranks = ranks_served(before[engine.name] or {}, after[engine.name] or {})
            sides.append(label(engine, next(iter(ranks)) if len(ranks) == 1 else None))
        hop = " -> ".join(sides)
    probe.requests.append({"id": answer.request_id, "hop": hop})
    if not reference.whole or not probe.same(answer, reference, prompt, served[0][0]):
        return other_text(answer, served[0][0].name, reference), hop
    if [len(side) for side in served] == [1, 1] and sides[0] in probe.pairs:
        row = {"prompt_tokens": answer.prompt_tokens, "milliseconds": milliseconds(answer.seconds), "status": "passed"}
        row["external_kv_transfer"] = window.engines[served[1][0].name].external
        probe.pairs[sides[0]][sides[1]] = row
    return None, hop
