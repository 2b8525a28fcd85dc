# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's placement.json that somebody else wrote never ends in an exception or in two instances in one place."""

from __future__ import annotations

import copy
import json
import os

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.placement_agreed import common_record, strange_files
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.placement_kept import (
    MOST_CHARACTERS,
    UNTRUSTED,
    read_record,
    record_hosts,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

VARIABLES = {
    "inference_release": "0.18.0",
    "inference_hardware": "a2",
    "inference_model": {"path": "/models/m", "name": "m"},
    "inference_kv_transfer": "mooncake",
    "inference_interface": "eth0",
    "inference_pools": {
        "prefill": {"instances": 2, "tensor_parallel_size": 4},
        "decode": {"instances": 2, "tensor_parallel_size": 4},
    },
}
HOSTS = {
    name: {"groups": [group], "variables": {"ansible_host": f"10.0.0.{number}"}}
    for number, (name, group) in enumerate([("n1", "prefill"), ("n2", "decode"), ("n3", "decode")], 1)
}


def plan(record=None):
    return launch_plan(VARIABLES, HOSTS, (), record)


FIRST = plan()["placement"]


def changed(path, value):
    """The text of a placement with ``value`` at ``path``; it is an attack on the first instance of a pool."""
    record = copy.deepcopy(FIRST)
    place = record
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(record)


DECODE = next(index for index, item in enumerate(FIRST["instances"]) if item["kind"] == "decode")
OTHER = next(item for item in FIRST["instances"] if item["kind"] == "decode" and item["number"] == 1)
AT = ("instances", DECODE)
ATTACKS = {
    "nested deeply": "[" * 100_000,
    "nested objects": '{"a":' * 100_000,
    "an infinite number": changed((*AT, "number"), float("inf")),
    "no number": changed((*AT, "number"), float("nan")),
    "more digits than Python converts": '{"instances": [' + "9" * 5000 + "]}",
    "a large number": changed((*AT, "number"), 10**18),
    "a large slot": changed((*AT, "slot"), 10**9),
    "a negative number": changed((*AT, "number"), -1),
    "a negative slot": changed((*AT, "slot"), -5),
    "a fraction": changed((*AT, "slot"), 0.9),
    "a boolean": changed((*AT, "number"), True),
    "a number as text": changed((*AT, "number"), "0"),
    "devices as text": changed((*AT, "hosts"), [["n2", "0123"]]),
    "devices twice": changed((*AT, "hosts"), [["n2", [0, 0, 1, 2]]]),
    "a host twice": changed((*AT, "hosts"), [["n2", [0, 1, 2, 3]], ["n2", [4, 5, 6, 7]]]),
    "no host": changed((*AT, "hosts"), []),
    "devices of another instance": changed((*AT, "hosts"), OTHER["hosts"]),
    "the name of another instance": changed((*AT, "number"), OTHER["number"]),
    "escapes in a host": changed((*AT, "hosts"), [["\x1b]0;owned\x07", [0, 1, 2, 3]]]),
    "escapes in the router": changed(("router",), "\x1b[2J"),
    "a long name": changed(("router",), "n" * 1000),
    "a name that is none": changed(("router",), {"n1": 1}),
    "another kind": changed((*AT, "kind"), "frontend"),
    "a list": "[1]",
    "a text": '"x"',
    "null": "null",
    "a cut file": json.dumps(FIRST)[:-9],
    "10 MB": json.dumps({**FIRST, "more": "x" * 10_000_000}),
    "of another user": UNTRUSTED,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_file_is_ignored_and_named(attack):
    assert common_record({"n1": ATTACKS[attack]}) is None
    (message,) = strange_files({"n1": ATTACKS[attack], "n2": json.dumps(FIRST), "n3": ""})
    assert message.startswith("placement.json of n1 is ignored: ") and "Fix: " in message
    assert message.isprintable() and len(message) < 400


def test_good_and_missing_files_are_not_named():
    assert strange_files({"n1": json.dumps(FIRST), "n2": "", "n3": "{}", "n4": "\r\n"}) == []


def test_hosts_with_one_problem_share_a_message():
    (message,) = strange_files({f"n{number}": "x" for number in range(9)})
    assert "n0, n1, n2, n3, n4 and 4 more is ignored: it is not JSON" in message


def test_hosts_of_others_and_unknown_ones_are_not_used():
    record = read_record(json.loads(changed((*AT, "hosts"), [["n1", [4, 5, 6, 7]]])))
    text = changed((*AT, "hosts"), [["elsewhere", [0, 1, 2, 3]]])
    for found in (record, common_record({"n1": text})):
        if found:
            assert plan(found)["placement"] == FIRST


def test_a_placement_of_8500_instances_is_not_too_large():
    instances = [
        {"kind": "decode", "number": number, "slot": number % 8, "hosts": [[f"node-{number // 8:04}", [number % 8]]]}
        for number in range(8500)
    ]
    text = json.dumps({**FIRST, "instances": instances})
    assert common_record({"n1": text}) and len(text) < MOST_CHARACTERS / 3


SMALL = st.integers(-1, 9) | st.sampled_from([10**30, 300, 65535, True, None, "1", 1.5, float("inf")])
NAME = st.sampled_from(["n1", "n2", "n3", "elsewhere", "all", "*", "localhost", "\x1b[2J", "", 3])
DEVICES = st.sampled_from([[0, 1, 2, 3], [4, 5, 6, 7], [2, 3, 4, 5]]) | st.lists(SMALL, max_size=5)
INSTANCE = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["prefill", "decode", "colocated", "encode", "router", 1]),
        "number": st.integers(0, 3) | SMALL,
        "slot": st.integers(0, 2) | SMALL,
        "hosts": st.lists(st.tuples(NAME, DEVICES).map(list), max_size=2),
    }
)
RECORDS = st.fixed_dictionaries(
    {
        "instances": st.lists(INSTANCE, max_size=5),
        "router": NAME,
        "mooncake_master": st.just("") | NAME,
        "memcache_meta": st.just(""),
    }
)


@given(RECORDS)
@settings(
    max_examples=300 if os.environ.get("LONG") else 100, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
def test_any_record_is_ignored_or_leads_to_a_valid_plan(value):
    record = common_record({"n1": json.dumps(value)})
    if record is None:
        return
    record_hosts(record)
    try:
        found = plan(record)
    except PlanError as error:  # such as no room beside the instances that are said to run, or ports beyond the range
        assert error.findings
        return
    services = [service for service in found["services"] if service["devices"]]
    used = [(service["host"], device) for service in services for device in service["devices"]]
    assert len(used) == len(set(used)) == 16
    assert {service["host"] for service in services if service["kind"] == "prefill"} == {"n1"}
    assert {service["host"] for service in services if service["kind"] == "decode"} <= {"n2", "n3"}
    names = [service["name"] for service in found["services"]]
    assert len(names) == len(set(names))
    ports = [
        (service["host"], port)
        for service in found["services"]
        for row in service["ports"]
        for port in range(row["first"], row["first"] + row["count"])
    ]
    assert all(0 < port < 65536 for _host, port in ports)
    assert len(ports) == len(set(ports))
