# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts of routers behind the first one, and of a store's masters and members of etcd: kept where they are, else spread."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.variables import read_description, read_hosts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.placement_routers import further_routers
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.store_hosts import store_hosts

VARIABLES = {"inference_model": {"path": "/m"}, "inference_pools": {"prefill": {}, "decode": {}}}


def described(ha, groups):
    variables = {**VARIABLES, "inference_store": {"ha": ha}} if ha is not None else VARIABLES
    inventory = {
        name: {
            "groups": [group for group in groups if name in groups[group]],
            "variables": {"ansible_host": f"10.0.0.{n}"},
        }
        for n, name in enumerate("abcdef", 1)
    }
    description, unreadable = read_description(variables)
    assert unreadable == []
    hosts, problems = read_hosts(inventory, description)
    assert problems == []
    return description, hosts


HOSTS = described(None, {"prefill": "abcdef"})[1]


def hosts(names):
    return [HOSTS[name] for name in names]


@pytest.mark.parametrize(
    ("count", "members", "stay", "deployed", "found"),
    [
        (1, "abc", "abc", (), ""),
        (2, "abc", "abc", (), "b"),
        (4, "abc", "abc", (), "bca"),
        (3, "aabb", "aabb", (), "ba"),
        (3, "bc", "bc", (), "bc"),  # the first one is elsewhere
        (3, "abc", "abc", ("c",), "cb"),
        (3, "abc", "abc", ("a", "a"), "aa"),  # where they are, though others are free
        (3, "abc", "abd", ("d", "x"), "db"),
        (3, "abc", "ab", ("c", ""), "bc"),  # c may not keep one
        (2, "abc", "abc", ("c", "b"), "c"),
    ],
)
def test_routers_stay_or_go_where_the_fewest_are(count, members, stay, deployed, found):
    chosen = further_routers(count, HOSTS["a"], hosts(members), hosts(stay), deployed)
    assert "".join(host.name for host in chosen) == found
    assert further_routers(count, None, hosts(members), hosts(stay), deployed) == ()


ALL = {"prefill": "ab", "decode": "cd"}


@pytest.mark.parametrize(
    ("ha", "groups", "deployed", "masters", "etcd"),
    [
        (None, ALL, {}, "", ""),
        ({}, ALL, {}, "ab", "abc"),
        ({"masters": 3}, ALL, {}, "abc", "abc"),
        ({"etcd_members": 1}, ALL, {}, "ab", "a"),
        ({"etcd_endpoints": ["e:1"]}, ALL, {}, "ab", ""),
        ({}, {**ALL, "mooncake_master": "ef"}, {}, "ef", "efa"),
        ({}, {**ALL, "mooncake_master": "efd"}, {}, "de", "def"),
        ({}, {**ALL, "mooncake_master": "ef"}, {"etcd": ["f"]}, "ef", "fea"),
        ({}, ALL, {"etcd": ["x", "a"]}, "ab", "bac"),
        ({}, {**ALL, "mooncake_master": "e"}, {}, "e", "eab"),  # fewer than wanted
        ({}, {**ALL, "etcd": "fed"}, {}, "ab", "def"),
        ({}, {**ALL, "etcd": "e"}, {}, "ab", "e"),
        # numbers and hosts stay
        ({}, ALL, {"masters": ["c", "a"], "etcd": ["d", "c", "b"]}, "ca", "dcb"),
        ({}, ALL, {"masters": ["x", "b"], "etcd": ["c"]}, "ab", "cab"),
        ({}, ALL, {"mooncake_master": "d"}, "da", "dab"),  # it was a single one
        ({}, {**ALL, "mooncake_master": "ab"}, {"masters": ["c", "b"]}, "ab", "abc"),  # no longer in the group
        ({"masters": 2}, ALL, {"masters": ["d", "c", "b"]}, "dc", "dca"),
        ({}, {**ALL, "etcd": "def"}, {"etcd": ["a", "f"]}, "ab", "dfe"),
    ],
)
def test_masters_and_etcd_keep_their_numbers(ha, groups, deployed, masters, etcd):
    description, every = described(ha, groups)
    engines = [every[name] for name in "abcd"]
    found = store_hosts(description, every, engines, engines, deployed)
    assert ["".join(host.name for host in part) for part in found] == [masters, etcd]


def test_hosts_that_lost_their_engines_may_keep_both():
    description, every = described({}, ALL)
    engines, deployed = [every[name] for name in "abcd"], {"masters": ["f"], "etcd": ["e"]}
    for stay, found in (("abcdef", ["fa", "efa"]), ("abcd", ["ab", "abc"])):
        parts = store_hosts(description, every, engines, [every[name] for name in stay], deployed)
        assert ["".join(host.name for host in part) for part in parts] == found
