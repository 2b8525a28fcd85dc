# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engines are proven before running routers get them."""

from __future__ import annotations

from ansible_collections.ascend.inference.plugins.filter.joining_engines import joining_engines_filter

ROUTERS = {"services": [{"name": "router", "kind": "router"}, {"name": "router-1", "kind": "router"}]}
ENGINES = [{"name": name, "url": f"http://{name}"} for name in ("prefill-0", "decode-0", "decode-1")]
ALL = {"prefill": ["http://prefill-0"], "decode": ["http://decode-0", "http://decode-1"]}


def joining(**hosts):
    return joining_engines_filter(hosts, list(hosts), ROUTERS, ENGINES)


def asked(added, after, down=()):
    return {"__service_joining": {"added": added, "after": after}, "__service_registered": {"down": list(down)}}


def test_engines_that_a_running_router_lacks_are_proven_with_all_that_it_will_have():
    found = joining(a=asked(["http://decode-1"], ALL), b={})
    assert found == {"joining": ["decode-1"], "peers": ["prefill-0", "decode-0", "decode-1"]}


def test_routers_of_several_hosts_are_joined_at_once():
    others = {"prefill": ["http://prefill-0"], "decode": ["http://decode-0"]}
    found = joining(a=asked(["http://decode-1"], {"decode": ["http://decode-1"]}), b=asked(["http://decode-0"], others))
    assert found == {"joining": ["decode-0", "decode-1"], "peers": ["prefill-0", "decode-0", "decode-1"]}


def test_one_running_router_is_enough():
    assert joining(a=asked(["http://decode-1"], ALL, ["router"]), b={})["joining"] == ["decode-1"]


def test_without_a_running_router_nothing_is_proven_here():
    nothing = {"joining": [], "peers": []}
    assert (
        joining(a=asked(["http://decode-1"], ALL, ["router"]), b={"__service_registered": {"down": ["router-1"]}})
        == nothing
    )
    assert joining_engines_filter({"a": asked(["http://decode-1"], ALL)}, ["a"], {"services": []}, ENGINES) == nothing
    engine = {"services": [*ROUTERS["services"], {"name": "decode-0", "kind": "decode"}]}
    asked_for = {"a": asked(["http://decode-1"], ALL, ["router", "router-1"])}
    assert joining_engines_filter(asked_for, ["a"], engine, ENGINES) == nothing, "an engine that runs is no router"


def test_a_router_that_was_not_asked_adds_nothing():
    assert joining(a={"__service_joining": {"skipped": True}}) == {"joining": [], "peers": []}
