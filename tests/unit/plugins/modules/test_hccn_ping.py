# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""hccn_ping between simulated hosts that share a network."""

from __future__ import annotations

import json
import os

import ascend_cluster
import pytest


def ping(run_module, host, **options):
    return run_module("hccn_ping", executable=f"{host['bin']}/hccn_tool", **options)


def network(host, **content):
    with open(os.path.join(os.path.dirname(host["state"]), "network.json"), "w", encoding="utf-8") as handle:
        json.dump(content, handle)


def test_roce_rail(cluster, run_module):
    hosts = cluster(hosts=2, generation="a2", devices=2)
    with ascend_cluster.edit(hosts["node0"]["state"]) as state:
        for device in state["devices"]:
            device["gateway"] = "10.20.0.1"
    peers = [{"address": "10.20.1.10", "devices": [0]}, {"address": "10.20.1.11", "devices": [1]}]
    result = ping(run_module, hosts["node0"], peers=peers, count=4)
    assert not result["failed"] and result["unreachable_pairs"] == []
    assert sorted(result["matrix"]) == ["0", "1"] and list(result["matrix"]["1"]) == ["10.20.1.11"]
    good = result["matrix"]["0"]["10.20.1.10"]
    assert (good["transmitted"], good["received"], good["loss_percent"]) == (6, 6, 0.0)
    assert 0 < good["min_ms"] <= good["average_ms"] <= good["max_ms"]


@pytest.mark.parametrize("fail", [True, False])
def test_lost_packets_fail_or_are_reported(cluster, run_module, fail):
    hosts = cluster(hosts=2, generation="a2", devices=2)
    with ascend_cluster.edit(hosts["node1"]["state"]) as state:
        state["devices"][1]["link"] = "DOWN"
    peers = [{"address": "10.20.1.10"}, {"address": "10.20.1.11"}]
    result = ping(run_module, hosts["node0"], peers=peers, devices=[0, 1], fail=fail)
    assert result["failed"] is fail
    assert [(pair["device_id"], pair["address"]) for pair in result["unreachable_pairs"]] == [
        (0, "10.20.1.11"),
        (1, "10.20.1.11"),
    ]
    assert (
        result["matrix"]["0"]["10.20.1.10"]["reachable"] and result["matrix"]["1"]["10.20.1.11"]["loss_percent"] == 100
    )
    if fail:
        assert "2 unreachable pairs: " in result["msg"] and "device 0 to 10.20.1.11" in result["msg"]


def test_hccs_by_address_and_by_sdid(cluster, run_module):
    hosts = cluster(hosts=2, devices=4)
    network(hosts["node0"], cut=[["192.0.2.198", "192.1.2.198"]])
    sdid = (1 << 22) | (1 << 18) | 2
    peers = [{"address": "192.1.2.198", "devices": [0, 1]}, {"sdid": sdid, "devices": [0]}]
    result = ping(run_module, hosts["node0"], peers=peers, kind="hccs", count=2, fail=False)
    assert result["matrix"]["0"]["192.1.2.198"]["reachable"] and result["matrix"]["0"][str(sdid)]["received"] == 2
    assert [(pair["device_id"], pair["address"]) for pair in result["unreachable_pairs"]] == [(1, "192.1.2.198")]


def test_hccs_ping_exits_0_though_all_is_lost(cluster, run_module):
    hosts = cluster(hosts=2, devices=2)
    with ascend_cluster.edit(hosts["node1"]["state"]) as state:
        state["super_pod"]["id"] = 9
    result = ping(run_module, hosts["node0"], peers=[{"address": "192.1.2.199"}], devices=[0], kind="hccs")
    assert result["failed"] and "100 % of 3 packets lost" in result["msg"]


def test_dies_of_one_npu_do_not_reach_each_other_over_roce(cluster, run_module):
    host = cluster(devices=4)["node0"]
    result = ping(run_module, host, peers=[{"address": "10.21.0.11"}], devices=[0, 2], fail=False)
    assert [pair["device_id"] for pair in result["unreachable_pairs"]] == [0]


def test_time_limit(cluster, run_module):
    hosts = cluster(hosts=2, generation="a2", devices=1)
    result = ping(
        run_module, hosts["node0"], peers=[{"address": "10.20.1.10"}], devices=[0], max_time_ms=0.01, fail=False
    )
    assert "(allowed: 0.01 ms)" in result["unreachable_pairs"][0]["reason"]


def test_hang_and_missing_device_are_unreachable_with_a_reason(cluster, run_module):
    hosts = cluster(hosts=2, generation="a2", devices=2)
    with ascend_cluster.edit(hosts["node0"]["state"]) as state:
        state["behaviour"]["hang"] = ["hccn_tool -i 0 -ping *"]
    result = ping(run_module, hosts["node0"], peers=[{"address": "10.20.1.10"}], devices=[0, 9], fail=False, timeout=4)
    reasons = [pair["reason"] for pair in result["unreachable_pairs"]]
    assert "exceeded the timeout" in reasons[0] and "no such device" in reasons[1]


def test_wrong_options(cluster, run_module):
    host = cluster(devices=1)["node0"]
    result = ping(run_module, host, peers=[{"address": "10.0.0.300"}, {"sdid": 5}], devices=[0], count=0)
    for expected in ("peers[0].address", "peers[1]: specify address", "count: 0"):
        assert expected in result["msg"]
    assert result["failed"]


def test_default_devices_come_from_npu_smi(cluster, run_module, monkeypatch):
    from ansible_collections.ascend.inference.plugins.module_utils.npu_smi import devices

    monkeypatch.setattr(devices, "davinci_devices", lambda folder="/dev": [])
    hosts = cluster(hosts=2, generation="a2", devices=3)
    result = ping(run_module, hosts["node0"], peers=[{"address": "10.20.1.10"}])
    assert sorted(result["matrix"]) == ["0", "1", "2"]
