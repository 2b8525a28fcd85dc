# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the engines' counters prove, at the edges: the last window that is enough, and the first that is not."""

from __future__ import annotations

import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply
from ansible_collections.ascend.inference.plugins.module_utils.verify import load, pool, ready
from ansible_collections.ascend.inference.plugins.module_utils.verify.metrics import Served
from ansible_collections.ascend.inference.plugins.module_utils.verify.probe import Limits
from ansible_collections.ascend.inference.plugins.module_utils.verify.ready import needed_tokens
from ansible_collections.ascend.inference.plugins.module_utils.verify.transfer import Window, judge, of_sent, window_of

BLOCK, SENT, TOKENS = 16, 4, 1000
ROLES = {"prefill": ["p"], "decode": ["d"]}
PLAN = types.SimpleNamespace(
    block_size=BLOCK,
    role=lambda role: [types.SimpleNamespace(name=name) for name in ROLES[role]],
)


def engine(requests=SENT, prompt_tokens=TOKENS, external=None, computed=None, cached=None, promised=None):
    return Served(requests, prompt_tokens, external, computed, cached, promised, None)


def fault(decode, prefill=None, sent=SENT, unread=()):
    """The id of the problem that a window shows; empty without one."""
    window = Window({"p": prefill or engine(), "d": decode}, list(unread), sent, TOKENS)
    found = judge(PLAN, window)
    return found.problem.fault if found.problem else "" if found.counted else "nothing counted"


@pytest.mark.parametrize(
    ("decode", "wanted"),
    [
        # Of each prompt decode computes the last, partial block: at most a block.
        (engine(external=TOKENS, computed=SENT * BLOCK), ""),
        (engine(external=TOKENS, computed=SENT * BLOCK + 1), "recomputed"),
        # Prompts of other clients may have one computed token each; a block each could hide one of ours.
        (engine(SENT + 3, TOKENS, TOKENS, SENT * BLOCK + 3), ""),
        (engine(SENT + 3, TOKENS, TOKENS, SENT * BLOCK + 4), "recomputed"),
        # Nine tenths of our prompts come from prefill ...
        (engine(external=900), ""),
        (engine(external=899), "recomputed"),
        # ... and of all prompts, if others use the service; what they find in decode's own cache needs no transfer, ours is never there.
        (engine(SENT + 1, 2000, 1800), ""),
        (engine(SENT + 1, 2000, 1799), "recomputed"),
        (engine(SENT + 1, 2000, 1000, None, 800), ""),
        (engine(SENT, 2000, 1000, None, 800), "recomputed"),
        # Without counters by source only what the connector promised is known.
        (engine(promised=900), ""),
        (engine(promised=899), "recomputed"),
        (
            engine(SENT, 2000, promised=1799),
            "recomputed",
        ),  # answers may lack their usage: decode's count is of ours alone
        (engine(SENT + 1, 2000, promised=900), ""),
        (engine(), "nothing counted"),
    ],
)
def test_where_decodes_tokens_came_from(decode, wanted):
    assert fault(decode) == wanted


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (654.0, "654 of 654 prompt tokens"),
        (600.0, "600 of 654 prompt tokens"),
        (808.0, "808 prompt tokens (of 654 that were sent, and of other clients')"),
    ],
)
def test_no_share_is_larger_than_the_whole(tokens, text):
    assert of_sent(tokens, 654) == text
    found = judge(PLAN, Window({"p": engine(), "d": engine(SENT, 2000, 1500, 500, 0)}, [], SENT, TOKENS))
    assert found.problem.text.startswith(
        "decode got 1500 prompt tokens (of 1000 that were sent, and of other clients') from outside"
    )


@pytest.mark.parametrize(
    ("prefill", "decode", "wanted"),
    [
        (engine(SENT), engine(SENT, external=TOKENS), ""),
        (engine(SENT - 1), engine(SENT, external=TOKENS), "some_lost"),
        (engine(SENT), engine(SENT - 1, external=TOKENS), "some_lost"),
        (engine(0), engine(SENT, external=TOKENS), "prefill_not_used"),
        (engine(SENT), engine(0, external=TOKENS), "decode_not_used"),
        (engine(0), engine(0), "no_engine_served"),
    ],
)
def test_each_request_takes_both_engines(prefill, decode, wanted):
    assert fault(decode, prefill) == wanted


def test_counters_that_cannot_be_read_prove_nothing():
    assert fault(engine(external=TOKENS), unread=["d"]) == "unread_metrics"


@pytest.mark.parametrize(
    ("partial_blocks", "computed", "wanted"),
    [
        # Of each of our prompts of 250 tokens decode computes one token, or the last 10, which are no whole block.
        (False, SENT + BLOCK - 1, ""),
        (False, SENT + BLOCK, "recomputed"),
        (True, SENT * 10 + BLOCK - 1, ""),
        (True, SENT * 10 + BLOCK, "recomputed"),
    ],
)
def test_a_block_that_decode_computed_is_a_lost_transfer(partial_blocks, computed, wanted):
    plan = types.SimpleNamespace(disaggregated=True, **vars(PLAN))
    probe = types.SimpleNamespace(plan=plan, partial_blocks=partial_blocks)
    window = Window({"p": engine(), "d": engine(external=TOKENS, computed=computed)}, [], SENT, TOKENS)
    problem, dummy = load._lost(probe, window, [types.SimpleNamespace(prompt_tokens=250)] * SENT)
    assert (problem.fault if problem else "") == wanted


@pytest.mark.parametrize(("number", "remarks"), [(3, 0), (4, 1), (5, 1)])
def test_an_engine_is_idle_if_each_could_have_had_two_requests(number, remarks):
    found = []
    roles = {"prefill": ["p", "q"], "decode": ["d"]}
    plan = types.SimpleNamespace(role=lambda role: [types.SimpleNamespace(name=name) for name in roles.get(role, [])])
    probe = types.SimpleNamespace(plan=plan, remark=lambda hop, problem: found.append(problem.text))
    load._remark_idle(probe, Window({"p": engine(), "q": engine(0), "d": engine()}, [], SENT, TOKENS), number)
    assert len(found) == remarks
    assert not found or f"none of {number} concurrent requests was sent to q, 1 of 2 prefill engines" in found[0]


def test_a_probe_has_more_than_two_blocks():
    sizes = [types.SimpleNamespace(block_size=BLOCK, min_prompt_tokens=least) for least in (0, 32, 33, 34)]
    assert [needed_tokens(plan) for plan in sizes] == [33, 33, 33, 34]


class Pool:
    """A probe of two engines and a master whose counters are given (None: it has none); no time passes in it."""

    def __init__(self, hits, puts, gets):
        store = types.SimpleNamespace(name="store", masters=(), master_url="http://m", writers=(), readers=())
        self.plan = types.SimpleNamespace(store=store, block_size=BLOCK, match="exact")
        self.hits, self.puts, self.gets, self.asked = hits, puts, gets, []

    def new_prompt(self):
        return "prompt"

    def target(self, one):
        return one.name

    def complete(self, target, prompt):
        self.asked.append(target)
        return types.SimpleNamespace(whole=True, text="text", prompt_tokens=100, detail="")

    def settle(self, read, enough):
        for _turn in range(5):
            found = read()
            if enough(found):
                break
        return found

    def metrics(self, target):
        if target == "writer":
            return {}
        read = "reader" in self.asked
        if target == "reader":
            by_source = "vllm:prompt_tokens_by_source_total"
            done = {"vllm:request_success_total": 1.0}
            if self.hits is not None:
                done.update({by_source: 100.0, by_source + "{source=external_kv_transfer}": self.hits})
            return done if read else dict.fromkeys(done, 0.0)
        keys = {"master_key_count": self.puts if self.asked else 0.0}
        return keys if self.gets is None else dict(keys, valid_get_nums_=self.gets if read else 0.0)


@pytest.mark.parametrize(
    ("hits", "puts", "gets", "wanted"),
    [
        (BLOCK, 3.0, 1.0, ""),  # a block is the least that a store holds
        (BLOCK - 1, 3.0, 1.0, "pool_not_read"),
        (BLOCK, 1.0, 1.0, ""),
        (BLOCK, 0.0, 1.0, "pool_not_written"),
        (BLOCK, 3.0, 0.0, "pool_not_read"),
        # One of both counters shows the read; nothing is known without both.
        (BLOCK, 3.0, None, ""),
        (None, 3.0, 1.0, ""),
        (None, 3.0, None, "pool_not_read"),
    ],
)
def test_what_shows_that_a_prompt_went_through_the_store(monkeypatch, hits, puts, gets, wanted):
    monkeypatch.setattr(pool, "leader_target", lambda probe: "master")
    engines = [types.SimpleNamespace(name=name) for name in ("writer", "reader")]
    hop, problem, tokens = pool._one_link(Pool(hits, puts, gets), *engines)
    assert (problem.fault if problem else "") == wanted
    assert tokens == (0.0 if wanted else hits or 0.0)
    assert hop == ("writer -> store" if wanted == "pool_not_written" else "store -> reader")


@pytest.mark.parametrize(
    ("before", "after", "unread"),
    [
        ({"p": None}, {"p": {"a": 1.0}}, ["p"]),
        ({"p": {"a": 1.0}}, {"p": None}, ["p"]),
        ({"p": {}}, {"p": {"a": 1.0}}, ["p"]),
        ({"p": {"a": 1.0}}, {"p": {"a": 1.0}}, []),
    ],
)
def test_an_engine_counts_as_read_if_it_was_before_and_after(before, after, unread):
    """Otherwise all requests since its start would be those of the verification."""
    window = window_of(before, after, SENT, TOKENS)
    assert (window.unread, sorted(window.engines)) == (unread, [] if unread else ["p"])


@pytest.mark.parametrize(("requests", "wanted"), [(SENT, "recomputed"), (SENT + 1, "")])
def test_what_decode_computed_for_other_clients_is_no_lost_transfer(requests, wanted):
    plan = types.SimpleNamespace(disaggregated=True, **vars(PLAN))
    probe = types.SimpleNamespace(plan=plan, partial_blocks=False)
    decode = engine(requests, external=TOKENS, computed=SENT + BLOCK)
    window = Window({"p": engine(requests), "d": decode}, [], SENT, TOKENS)
    problem, dummy = load._lost(probe, window, [types.SimpleNamespace(prompt_tokens=250)] * SENT)
    assert (problem.fault if problem else "") == wanted


class Reached(Exception):
    """A prompt of this many tokens would be sent."""


CHUNK = 100


@pytest.mark.parametrize(
    ("room", "chunk", "given", "tokens"),
    [
        (CHUNK - 1, CHUNK, 0, None),
        (CHUNK, CHUNK, 0, None),  # prefill computes it in one chunk, so nothing is proven
        (CHUNK + 1, CHUNK, 0, CHUNK + 1),
        (2 * CHUNK + 1, CHUNK, 0, 2 * CHUNK + 1),
        (9 * CHUNK, CHUNK, 0, 2 * CHUNK + 1),
        (CHUNK, CHUNK, 70, 70),  # somebody has given the length
        (CHUNK, CHUNK, 300, CHUNK),
        (None, CHUNK, 0, 2 * CHUNK + 1),  # no engine says how much it accepts
        (9 * CHUNK, 0, 0, None),
        (9 * CHUNK, 0, 70, 70),
    ],
)
def test_the_long_prompt_has_more_than_a_chunk_and_fits(room, chunk, given, tokens):
    def words_for(number, most):
        assert number <= most
        raise Reached(number)

    plan = types.SimpleNamespace(max_tokens=16, long_prompt_tokens=given, chunk_tokens=chunk)
    probe = types.SimpleNamespace(plan=plan, max_model_len=0 if room is None else room + 17, words_for=words_for)
    if tokens is None:
        (record,) = load.check_long(probe)
        assert record["status"] == "skipped"
    else:
        with pytest.raises(Reached, match=f"^{tokens}$"):
            load.check_long(probe)


@pytest.mark.parametrize(("limit", "wanted"), [(5.0, 5.0), (300.0, 30.0)])
def test_a_list_of_models_has_the_time_of_a_request_and_at_most_half_a_minute(monkeypatch, limit, wanted):
    asked = []

    def ask(target, path, timeout=None):
        asked.append((path, timeout))
        return Reply(404, "", 0.0, "", "")

    monkeypatch.setattr(ready, "ask", ask)
    probe = types.SimpleNamespace(
        target=lambda engine: "engine",
        get=lambda target, path: Reply(200, "", 0.0, "", ""),
        limits=Limits(request=limit),
    )
    assert ready._unfit(probe, "engine") and asked == [("/v1/models", wanted)]
