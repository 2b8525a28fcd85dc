# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A value that a narrower scope hides from every engine is named, and one that is still used somewhere is not."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.empty import empty_places
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.mistakes import D, P
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.test_mutations import judged

WIDE, NARROW = {"cudagraph_mode": "FULL"}, {"cudagraph_mode": "FULL", "max_cudagraph_capture_size": 64}


def hidden(changes):
    return [item for item in judged("p2p", changes) if item["id"] == "VALUE-HIDDEN"]


@pytest.mark.parametrize(
    "changes",
    [
        {"inference_args.seed": 1, f"{P}.args.seed": 2},  # decode uses it
        {"inference_args.seed": 1, f"{P}.args.seed": 2, f"{D}.args.seed": "1"},  # and here in equal words
        {"inference_args.seed": 1, f"{P}.args.seed": 2, f"{D}.hosts.node3.args.seed": 2},  # node4 uses it
        {f"{P}.args.seed": 1, f"{P}.hosts.node1.args.seed": 2},  # node2 uses it
        {
            "inference_args.compilation-config": WIDE,
            **{f"{pool}.args.compilation-config": NARROW for pool in (P, D)},
        },  # both have it
        {"inference_kv_transfer": "mooncake", f"{P}.kv_transfer": "mooncake"},
        {"inference_kv_transfer": "mooncake", f"{P}.kv_transfer": "mooncake", f"{D}.kv_transfer": "mooncake"},
    ],
)
def test_a_value_that_some_engine_uses_is_none(changes):
    assert hidden(changes) == []


def test_the_finding_names_what_hides_the_value():
    (found,) = hidden({"inference_args.seed": 1, f"{P}.args.seed": 2, f"{D}.args.--seed": 3})
    assert (found["path"], found["value"]) == ("inference_args.seed", "1")
    assert found["problem"] == f"the engines take it from {D}.args.--seed, {P}.args.seed"


def test_a_mapping_of_other_keys_hides_the_whole():
    other = {f"{pool}.args.compilation-config": {"max_cudagraph_capture_size": 64} for pool in (P, D)}
    (found,) = hidden({"inference_args.compilation-config": WIDE, **other})
    assert found["path"] == "inference_args.compilation-config"


def test_a_variable_is_named_without_its_value():
    name = "inference_env.MY_WORDS"
    (found,) = hidden({name: "one", f"{P}.env.MY_WORDS": "two", f"{D}.env.MY_WORDS": "two"})
    assert (found["path"], found["value"]) == (name, "")


def test_a_null_that_takes_away_what_a_recipe_brings_is_not_empty():
    given = {"inference_recipe": "qwen3-235b-w8a8-a3", "inference_kv_transfer": None, "inference_hardware": None}
    recipe = {"inference_kv_transfer": "mooncake", "inference_hardware": "a3", "inference_pools": {"decode": {}}}
    assert empty_places(given, {}, recipe) == []
    assert empty_places({**given, "inference_link": None}, {}, recipe) == ["inference_link"]
    assert empty_places(
        {"inference_pools": {"decode": {"kv": {"kv_role": None}, "ports": {"api": None}}}}, {}, recipe
    ) == ["inference_pools.decode.ports.api"]
    assert empty_places({}, {"node1": {"variables": {"inference_devices": None, "ansible_host": None}}}, {}) == [
        "node1.inference_devices"
    ]
