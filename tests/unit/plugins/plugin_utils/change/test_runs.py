# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked before the mode of an upgrade is chosen."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.runs import comparisons, seen_here, shares

from ..test_halves import PLANS

HOST = PLANS[0]["hosts"][0]["name"]


def test_what_runs_is_compared_with_both_plans():
    found = comparisons({"old": PLANS[0], "new": PLANS[1]}, HOST, {"pull": "never"}, "ascend", {})
    digests = {}
    for key, plan in (("old", PLANS[0]), ("new", PLANS[1])):
        question = found[key]
        assert (question.module, question.needed, question.arguments["remove"]) == ("service_state", True, False)
        assert question.arguments["settings"]["pull"] == "never" and question.arguments["settings"]["user"] == "ascend"
        digests[key] = {each["name"]: each["digest"] for each in question.arguments["services"]}
        assert digests[key] == {each["name"]: each["digest"] for each in plan["services"] if each["host"] == HOST}
    assert digests["old"] != digests["new"]


def test_the_former_keys_are_known_to_nobody():
    """What runs as the former plan says, runs with whichever keys; else no half would, while they change."""
    keyed = {
        **PLANS[0],
        "services": [{**each, "secret_env": {"VLLM_API_KEY": "api_key"}} for each in PLANS[0]["services"]],
    }
    found = comparisons({"old": keyed, "new": keyed}, HOST, {}, "ascend", {"api_key": "k"})
    assert found["old"].arguments["secrets"] == {} and len(set(found["new"].arguments["secrets"].values())) == 1


def test_the_user_of_a_plan_counts():
    found = comparisons({"old": {**PLANS[0], "user": "root"}}, HOST, {}, "ascend", {})
    assert found["old"].arguments["settings"]["user"] == "root"


def test_each_host_is_asked_for_its_own_balancer_and_address():
    plan = {
        "balancer": {
            "host": "n1",
            "socket": "/a",
            "backend": "b",
            "more": [{"host": "n2", "socket": "/c", "backend": "b"}],
        },
        "virtual_address": {"address": "192.0.2.9", "hosts": [{"host": "n2"}]},
    }
    found = {host: shares(plan, host) for host in ("n1", "n2", "n3")}
    assert {host: {key: asked.arguments for key, asked in here.items()} for host, here in found.items()} == {
        "n1": {"servers": {"socket": "/a", "backend": "b", "servers": []}},
        "n2": {"servers": {"socket": "/c", "backend": "b", "servers": []}, "holds": {"address": "192.0.2.9"}},
        "n3": {},
    }
    assert shares({}, "n1") == {}


def state(**found):
    return {"down": [], "outdated": [], "other": [], "rekeyed": [], "keyed": [], "healthy": [], **found}


def test_a_host_says_nothing_of_services_of_others_and_silence_is_no_state():
    """All services would stop without a consent, because one host says that none runs."""
    answers = {"old": state(healthy=["a", "b"]), "new": state(down=["a", "b"], outdated=["b"])}
    found = seen_here(answers, [{"name": "a"}], "n1")
    assert found["new"] == state(down=["a"]) and found["old"] == state(healthy=["a"])
    with pytest.raises(ValueError, match="^n1: the comparison"):
        seen_here({**answers, "new": {"outdated": []}}, [{"name": "a"}], "n1")


def test_a_balancer_that_does_not_answer_sends_requests_to_nobody():
    states = {"old": state(), "new": state(down=["a"])}
    rows = {"router": {"state": "ready", "weight": 100}}
    answers = {**states, "servers": {"after": rows}, "holds": {"held": True}}
    assert seen_here(answers, [{"name": "a"}], "n1") == {**states, "servers": rows, "holds": True}
    for lost in ("failed", "unreachable"):
        answers = {**states, "servers": {"after": rows, lost: True}, "holds": {"held": True, lost: True}}
        assert seen_here(answers, [{"name": "a"}], "n1") == {**states, "servers": {}, "holds": False}
    assert seen_here(states, [{"name": "a"}], "n1") == {**states, "servers": {}, "holds": False}


def test_a_record_that_cannot_be_read_is_compared_as_the_verified_plan():
    """Root of one host would end each rollback with it."""
    asked = comparisons({"old": {"plan_version": 4}, "new": PLANS[1]}, HOST, {}, "ascend", {})
    assert asked["old"].arguments == asked["new"].arguments
