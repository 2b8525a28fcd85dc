# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change takes from the answer of a host."""

from __future__ import annotations

from ansible_collections.ascend.inference.plugins.plugin_utils.change.observe import entries, known, own


def test_a_host_says_nothing_of_services_of_others():
    """With balancer-1 of another host among those that are down, its requests would not move."""
    names = {key: ["balancer-1", "decode-0"] for key in ("down", "outdated", "rekeyed", "keyed", "healthy")}
    answer = {**names, "other": ["x.service"], "content": "text"}
    found = own(answer, [{"name": "decode-0"}, {"name": "router"}])
    assert found == {**dict.fromkeys(names, ["decode-0"]), "other": ["x.service"], "content": "text"}


def test_all_lists_of_services_are_limited():
    found = own(known({key: ["other"] for key in ("down", "outdated", "rekeyed", "keyed", "healthy")}, {}, True), [])
    assert not any(value == ["other"] for value in found.values())


def test_only_routers_and_balancers_that_run_are_asked():
    section = {"router": "router", "host": "n1", "url": "u", "record": "r", "started": "s", "away": "a"}
    more = {**section, "router": "router-1", "url": "u1"}
    members = {**section, "api": "x", "model": "m", "engines": [], "more": [more]}
    balancer = {"host": "n1", "service": "balancer"}
    plan = {"members": members, "balancer": {**balancer, "more": [{"host": "n2", "service": "balancer-1"}]}}
    assert entries({}, "n1", []) == ({}, {}) == entries(plan, "n3", [])
    routers, found = entries(plan, "n1", [])
    assert routers["routers"] == ["router", "router-1"] and found["service"] == "balancer"
    routers, found = entries(plan, "n1", ["router", "balancer"])
    assert routers["routers"] == ["router-1"] and routers["url"] == "u1" and found == {}
    assert entries(plan, "n2", ["balancer"])[1]["service"] == "balancer-1"
