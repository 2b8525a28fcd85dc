# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engines are proven before running routers get them."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.fills import (
    FILLS,
    engines_to_prove,
    leaving,
    restarting,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.change.script import Step

ENGINES = [{"name": name, "url": f"http://{name}"} for name in ("prefill-0", "decode-0", "decode-1")]
ALL = {"prefill": ["http://prefill-0"], "decode": ["http://decode-0", "http://decode-1"]}


def asked(added, after):
    return {"added": added, "after": after}


def test_engines_that_a_running_router_lacks_are_proven_with_all_that_it_will_have():
    found = engines_to_prove(ENGINES, [asked(["http://decode-1"], ALL), {}])
    assert found == {"joining": ["decode-1"], "peers": ["prefill-0", "decode-0", "decode-1"]}


def test_routers_of_several_hosts_are_joined_at_once():
    others = {"prefill": ["http://prefill-0"], "decode": ["http://decode-0"]}
    answers = [asked(["http://decode-1"], {"decode": ["http://decode-1"]}), asked(["http://decode-0"], others)]
    assert engines_to_prove(ENGINES, answers) == {
        "joining": ["decode-0", "decode-1"],
        "peers": ["prefill-0", "decode-0", "decode-1"],
    }


@pytest.mark.parametrize("answer", [{"skipped": True}, asked([], ALL)])
def test_a_router_that_was_not_asked_or_lacks_none_adds_nothing(answer):
    assert engines_to_prove(ENGINES, [answer])["joining"] == []


def test_engines_that_left_finish_beside_all_decode_engines_that_may_fetch():
    def engine(name, kind):
        return {"name": name, "kind": kind, "url": f"http://{name}"}

    planned = [engine("prefill-0", "prefill"), engine("decode-0", "decode")]
    stranger, gone = engine("prefill-9", "prefill"), engine("decode-1", "decode")
    given = {"planned": planned, "leaving": [gone], "host": "n1"}
    step = Step("Wait", "drain", {"n1": {}, "n2": {}}, fill="leaving", asked=0, given=given)
    answers = {"n2": {"left": [stranger, planned[0], engine("decode-8", "decode")]}}
    downstream = ["http://decode-0", "http://decode-1", "http://decode-8"]
    # Where another host says that decode engines are, n1 asks nobody: it waits for all that is held.
    assert leaving(step, "n1", answers) == {"engines": [gone], "downstream": []}
    known = {"n2": {"left": [stranger, planned[1]]}}
    assert leaving(step, "n1", known) == {"engines": [gone], "downstream": downstream[:2]}
    assert leaving(step, "n2", answers) == {"engines": [stranger, answers["n2"]["left"][2]], "downstream": downstream}
    assert leaving(Step("Wait", "drain", {}, given={**given, "leaving": []}), "n1", {}) is None


ODD = [
    None,
    [],
    [{}],
    [None],
    "x",
    {"a": 1},
    [["x"]],
    [{"url": ["x"], "kind": "decode"}],
    {"r": None},
    {"r": [["x"]]},
    {"r": [None]},
    {"r": 7},
    7,
]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("key", ["added", "after", "left", "restart", "others", "held", "engine"])
@pytest.mark.parametrize("fill", sorted(FILLS))
def test_an_odd_answer_of_one_host_changes_nothing_of_another_one(fill, key, odd):
    engine = {"name": "prefill-0", "kind": "prefill", "url": "http://prefill-0"}
    own = {
        "added": [engine["url"]],
        "after": {"prefill": [engine["url"]]},
        "left": [engine],
        "restart": [],
        "others": [],
    }
    given = {
        "leaving": {"planned": [], "leaving": [], "host": "good"},
        "restarting": {"url": "http://router", "host": "good"},
        "holding": ["good", "evil"],
        "beside": ["good", "evil"],
    }.get(fill, ENGINES)
    step = Step("x", "x", {"good": {}}, given=given)
    alone = FILLS[fill](step, "good", {"good": own})
    assert (
        fill in ("holding", "beside", "counting")
        or FILLS[fill](step, "good", {"good": own, "evil": {key: odd}}) == alone
    )
    FILLS[fill](step, "evil", {"good": own, "evil": {key: odd}})


def test_only_its_own_host_says_that_a_router_has_to_restart():
    step = Step(
        "Restart", "state", {"n1": {}}, fill="restarting", asked=0, given={"url": "http://router", "host": "n1"}
    )
    assert restarting(step, "n1", {"n2": {"restart": ["http://router"]}, "n1": {"restart": []}}) is None
    assert restarting(step, "n1", {"n1": {"restart": ["http://router"]}}) == {}
    every = step._replace(given=None)
    assert restarting(every, "n1", {"n2": {"restart": ["http://other"]}}) == {}
    assert restarting(every, "n1", {"n2": {}}) is None
