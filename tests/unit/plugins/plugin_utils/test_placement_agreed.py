# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where hosts recorded different placements, no host decides about another one."""

from __future__ import annotations

import itertools
import json

from ansible_collections.ascend.inference.plugins.plugin_utils.plan.placement_agreed import common_record, strange_files
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan

VARIABLES = {
    "inference_release": "0.18.0",
    "inference_hardware": "a2",
    "inference_model": {"path": "/models/m", "name": "m"},
    "inference_kv_transfer": "mooncake",
    "inference_interface": "eth0",
}


def plan(decode, record=None, **hosts):
    pools = {
        "prefill": {"instances": 1, "tensor_parallel_size": 4},
        "decode": {"instances": decode, "tensor_parallel_size": 4},
    }
    inventory = {
        name: {"groups": groups, "variables": {"ansible_host": f"10.0.0.{name[1:]}"}} for name, groups in hosts.items()
    }
    return launch_plan({**VARIABLES, "inference_pools": pools}, inventory, (), record)["placement"]


def common(**records):
    return common_record({host: json.dumps(record) for host, record in records.items()})


def names(record):
    return sorted((item["kind"], item["number"], item["hosts"][0][0]) for item in record["instances"])


OLD = plan(1, n1=["prefill"], n2=["decode"])
NEW = plan(2, OLD, n1=["prefill"], n2=["decode"])
MOVED = plan(1, n1=["prefill", "decode"])


def test_what_more_hosts_have_counts():
    texts = {
        "n1": json.dumps(OLD),
        "n2": json.dumps(NEW),
        "n3": json.dumps(NEW),
        "n4": "",
        "n5": "{",
        "n6": "cat: denied",
    }
    for order in itertools.permutations(texts):
        assert common_record({host: texts[host] for host in order}) == NEW
    assert common_record({"n1": "", "n2": "{}"}) is None
    assert "differs between hosts" not in str(strange_files(texts))


def test_of_two_hosts_none_decides_what_runs_on_the_other():
    """Root of n1 moves what runs on n2 to itself, and takes the router."""
    forged = json.loads(json.dumps(OLD))
    (taken,) = [item for item in forged["instances"] if item["kind"] == "decode"]
    taken["hosts"] = [["n1", [4, 5, 6, 7]]]
    for found in (common(n1=forged, n2=OLD), common(n2=OLD, n1=forged)):
        assert names(found) == [("prefill", 0, "n1")]
    (said,) = strange_files({"n1": json.dumps(forged), "n2": json.dumps(OLD)})
    assert "n1, n2" in said and "placed anew" in said and said.isprintable()


def test_a_host_that_hides_what_runs_on_another_one_hides_nothing():
    empty = {**OLD, "instances": [], "router": ""}
    assert names(common(n1=empty, n2=OLD)) == [("decode", 0, "n2")]
    assert common(n1=OLD, n2={**OLD, "router": "n2"})["router"] == ""
    assert common(n1=OLD, n2={**OLD, "router": ""})["router"] == "n1"


def test_after_an_interruption_the_next_run_places_what_that_one_placed():
    for wrote in ("n1", "n2"):
        records = {"n1": OLD, "n2": OLD, wrote: NEW}
        assert plan(2, common(**records), n1=["prefill"], n2=["decode"]) == NEW


def test_an_instance_on_a_host_that_does_not_answer_stays_if_all_others_say_so():
    grown = plan(3, NEW, n1=["prefill"], n2=["decode"], n3=["decode"])
    found = common(n1=NEW, n3=grown)
    assert {("decode", 0, "n2"), ("prefill", 0, "n1")} <= set(names(found))
    assert ("decode", 0, "n2") not in names(common(n1=MOVED, n3=grown))


def test_an_instance_counts_if_all_of_its_hosts_have_it():
    pools = {"prefill": {"instances": 1, "tensor_parallel_size": 8, "data_parallel_size": 2}}
    pools["decode"] = {"instances": 1, "tensor_parallel_size": 8}
    inventory = {
        name: {"groups": [group], "variables": {"ansible_host": f"10.0.0.{name[1:]}"}}
        for name, group in {"n1": "prefill", "n2": "prefill", "n3": "decode"}.items()
    }
    wide = launch_plan({**VARIABLES, "inference_pools": pools}, inventory, (), None)["placement"]
    without = {**wide, "instances": [item for item in wide["instances"] if item["kind"] != "prefill"]}
    assert names(common(n1=wide, n2=without)) == [("decode", 0, "n3")]
    assert names(common(n1=wide, n3=without)) == [("decode", 0, "n3")]
