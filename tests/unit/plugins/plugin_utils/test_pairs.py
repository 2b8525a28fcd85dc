# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which devices ping each other: those that exchange KV cache, and the ring of an instance; and what each host is told to ping."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.pairs import (
    fabric_peers,
    fabric_plane,
    planned_pairs,
)


def engine(name, host, devices, size=1, rank=0, option="--tensor-parallel-size"):
    """A service; ``name`` is such as decode-1."""
    kind, number = name.split("-")
    argv = ["vllm", option, str(size)] if size > 1 else ["vllm"]
    return {"kind": kind, "instance": int(number), "rank": rank, "host": host, "devices": devices, "argv": argv}


def plan(*services, npus=True, **more):
    names = sorted({service["host"] for service in services})
    hosts = [{"name": name, "hardware": "a3"} for name in names]
    return {"engine_facts": {"npus": npus}, "hosts": hosts, "services": list(services), **more}


def shown(pairs):
    """Such as ``d0>p1``: host and device of both ends."""
    return " ".join(f"{source}{device}>{target}{peer}" for (source, device), (target, peer) in pairs)


@pytest.mark.parametrize(
    ("prefill", "decode", "expected"),
    [
        (([0, 1], 2), ([0, 1], 2), "d0>p0 d1>p1"),
        (([0, 1, 2, 3], 4), ([0, 1], 2), "d0>p0 d0>p1 d1>p2 d1>p3"),  # each reads its share of the heads
        (([0, 1], 2), ([0, 1, 2, 3], 4), "d0>p0 d1>p1 d2>p0 d3>p1"),
        (([0, 1, 2, 3], 2), ([0, 1], 2), "d0>p0 d0>p2 d1>p1 d1>p3"),  # of any data parallel group
        (([0, 1], 2), ([0, 1, 2, 3], 2), "d0>p0 d1>p1 d2>p0 d3>p1"),
        (([0, 1], 1), ([5, 7], 1), "d5>p0 d5>p1 d7>p0 d7>p1"),
        (([4, 6], 2), ([0], 1), "d0>p4 d0>p6"),
    ],
)
def test_a_decode_rank_pings_the_prefill_ranks_that_hold_its_heads(prefill, decode, expected):
    for option in ("--tensor-parallel-size", "-tp"):
        services = [
            engine("prefill-0", "p", *prefill, option=option),
            engine("decode-0", "d", *decode, option=option),
            engine("router-0", "d", []),
        ]
        pairs, wanted = planned_pairs(plan(*services))
        assert shown(pairs) == expected and wanted == len(pairs)


def test_each_instance_reads_by_its_own_size():
    services = [
        engine("prefill-0", "p", [0, 1], 2),
        engine("decode-0", "d", [0], 1),
        engine("decode-1", "e", [0, 1], 2),
        engine("encode-0", "f", [0]),
    ]
    assert shown(planned_pairs(plan(*services))[0]) == "d0>p0 d0>p1 e0>p0 e1>p1"


def test_devices_of_one_host_are_not_paired():
    both = [engine("prefill-0", "h", [0], 1), engine("decode-0", "h", [1], 1), engine("decode-1", "d", [0], 1)]
    for mode, expected in (("plan", "d0>h0"), ("ring", ""), ("full", "d0>h0 d0>h1 h0>d0 h1>d0")):
        pairs, wanted = planned_pairs(plan(*both), mode)
        assert (shown(pairs), wanted) == (expected, len(pairs))


def test_collectives_go_round_the_ranks_of_an_instance():
    ranks = [("b", 1), ("a", 0), ("c", 2)]  # in any order
    services = [engine("colocated-0", host, [0, 1], 6, rank) for host, rank in ranks]
    other = engine("colocated-1", "d", [0])
    for mode in ("plan", "ring"):
        pairs, wanted = planned_pairs(plan(*services, other), mode)
        assert (shown(pairs), wanted) == ("a1>b0 b1>c0 c1>a0", 3)


def test_the_rings_are_pinged_beside_the_transfers():
    services = [
        engine("prefill-0", "p", [0], 2, 0),
        engine("prefill-0", "q", [0], 2, 1),
        engine("decode-0", "d", [0, 1], 2),
    ]
    assert shown(planned_pairs(plan(*services))[0]) == "d0>p0 d1>q0 p0>q0 q0>p0"
    assert shown(planned_pairs(plan(*services), "ring")[0]) == "p0>q0 q0>p0"
    assert planned_pairs(plan(*services), "full")[1] == 2 * (1 + 2 + 2)  # p and q with one another, each with d


@pytest.mark.parametrize("left_out", ["p", "d"])
def test_a_host_that_is_left_out_neither_pings_nor_is_pinged(left_out):
    services = [
        engine("prefill-0", "p", [0]),
        engine("prefill-1", "q", [0]),
        engine("decode-0", "d", [0]),
        engine("decode-1", "e", [0]),
    ]
    expected = {"p": "d0>q0 e0>q0", "d": "e0>p0 e0>q0"}[left_out]
    pairs, wanted = planned_pairs(plan(*services), "plan", [left_out])
    assert (shown(pairs), wanted) == (expected, 4)


def prefills(count):
    return [engine(f"prefill-{number}", f"p{number:02}", [0]) for number in reversed(range(count))]


@pytest.mark.parametrize(("count", "pinged"), [(31, 31), (32, 32), (33, 32), (64, 32)])
def test_a_device_pings_32_peers_at_most(count, pinged):
    pairs, wanted = planned_pairs(plan(*prefills(count), engine("decode-0", "d", [0])))
    assert (len(pairs), wanted) == (pinged, count)


def test_devices_share_the_peers_that_one_cannot_ping_alone():
    decodes = [engine(f"decode-{number}", host, [0]) for number, host in enumerate("defg")]
    pairs, wanted = planned_pairs(plan(*prefills(96), *reversed(decodes)))
    assert wanted == 4 * 96
    by_source = {source: [] for source in "defg"}
    for source, target in pairs:
        by_source[source[0]].append(int(target[0][1:]))
    assert by_source == {source: list(range(number % 3, 96, 3)) for number, source in enumerate("defg")}


def test_nothing_is_pinged_where_nobody_wants_it_or_without_npus():
    services = [engine("prefill-0", host, [0], 2, rank) for rank, host in enumerate("pq")]
    services.append(engine("decode-0", "d", [0]))
    assert planned_pairs(plan(*services), "none") == planned_pairs(plan(*services, npus=False)) == ([], 0)
    with pytest.raises(ValueError, match="^unknown mode 'rail'; known modes: plan, ring, full, none"):
        planned_pairs(plan(*services), "rail")


def gathered(*devices, **npus):
    """Facts of a host: (device, RoCE address, virtual NIC's address), and super device ids by device."""
    return {
        "hccn": {
            "devices": [{"device_id": id_, "ip": {"address": a}, "vnic": {"address": b}} for id_, a, b in devices]
        },
        "npu": {"npus": [{"device_id": int(name[1:]), "sdid": sdid} for name, sdid in npus.items()]},
    }


SERVICES = (engine("prefill-0", "p", [0, 1], 2), engine("decode-0", "d", [0, 1], 1), engine("colocated-0", "x", [0]))
FACTS = {
    "p": gathered((0, "10.9.0.0", "10.8.0.0"), (1, "10.9.0.1", "10.8.0.1"), d0=0, d1=7),
    "d": gathered((0, "10.9.1.0", "10.8.1.0"), (1, "10.9.1.1", "10.8.1.1")),
}


def test_a_host_is_told_each_address_once_with_the_devices_that_ping_it():
    assert fabric_peers(plan(*SERVICES), FACTS) == {
        "d": [
            {"address": "10.8.0.0", "sdid": 0, "devices": [0, 1]},
            {"address": "10.8.0.1", "sdid": 7, "devices": [0, 1]},
        ],
        "p": [],
        "x": [],
    }


def test_over_roce_a_device_is_pinged_by_its_port_s_address_only():
    found = fabric_peers(plan(*SERVICES, link="roce"), FACTS)
    assert found["d"] == [
        {"address": "10.9.0.0", "devices": [0, 1]},
        {"address": "10.9.0.1", "devices": [0, 1]},
    ]


def test_a_device_whose_address_or_id_is_not_known_hides_no_other_one():
    found = {**FACTS, "p": gathered((0, "", ""), (1, "10.9.0.1", "10.8.0.1"))}
    expected = [{"address": "10.8.0.1", "devices": [0, 1]}]
    assert fabric_peers(plan(*SERVICES), found)["d"] == expected
    assert fabric_peers(plan(*SERVICES), {"d": FACTS["d"]}) == {"d": [], "p": [], "x": []}


def test_the_mode_and_what_is_left_out_count_for_what_a_host_is_told():
    both = fabric_peers(plan(*SERVICES), FACTS, "full")
    assert [peer["address"] for peer in both["p"]] == ["10.8.1.0", "10.8.1.1"]
    assert both["p"][0] == {"address": "10.8.1.0", "devices": [0, 1]}
    without = fabric_peers(plan(*SERVICES), FACTS, "full", ["x", "d"])
    assert without == {"d": [], "p": [], "x": []}
    assert fabric_peers(plan(*SERVICES), FACTS, "none")["d"] == []


def test_engines_on_no_host_of_the_plan_are_not_pinged():
    wanted = plan(*SERVICES)
    wanted["hosts"] = [host for host in wanted["hosts"] if host["name"] != "d"]
    found = fabric_peers(wanted, {**FACTS, "x": gathered((0, "10.9.2.0", "10.8.2.0"))}, "full")
    assert found["p"] == [{"address": "10.8.2.0", "devices": [0, 1]}]
    assert [peer["address"] for peer in found["x"]] == ["10.8.0.0", "10.8.0.1"]


def test_a_host_pings_on_the_plane_of_its_own_hardware():
    wanted = plan(*SERVICES)
    wanted["hosts"][0]["hardware"] = "a2"
    assert [fabric_plane(wanted, name) for name in "dpx"] == ["roce", "hccs", "hccs"]
    assert fabric_plane(plan(*SERVICES, link="roce"), "p") == "roce"
