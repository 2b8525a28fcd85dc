# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""hccn_info against simulated hosts: values, stale addresses, busy tools, hanging devices."""

from __future__ import annotations

import ascend_cluster
import pytest


def ask(run_module, host, **options):
    return run_module("hccn_info", executable=f"{host['bin']}/hccn_tool", hccn_conf=host["hccn_conf"], **options)


@pytest.mark.parametrize("driver", ["23.0.5", "25.2.0", "26.0.rc1"])
def test_healthy_host(cluster, run_module, driver):
    host = cluster(generation="a2", devices=3, driver=driver)["node0"]
    result = ask(run_module, host)
    assert not result["failed"] and result["stale"] == [] and result["warnings"] == [] and not result["serial"]
    assert [device["errors"] for device in result["devices"]] == [{}, {}, {}]
    certificates = result["devices"][2].pop("tls_certificates")
    assert certificates[0]["name"] == "pub cert"
    assert result["devices"][2] == {
        "device_id": 2,
        "errors": {},
        "link": "up",
        "net_health": "success",
        "healthy": True,
        "lldp": {"port": "400GE1/0/3:1", "port_type": "ifname", "system_name": "leaf-1"},
        "netdetect": "10.20.0.1",
        "gateway": "10.20.0.1",
        "ip": {"address": "10.20.0.12", "netmask": "255.255.255.0"},
        "vnic": {"link": "up", "address": "192.0.2.197", "netmask": "255.255.255.0"},
        "tls_enabled": False,
    }
    assert result["hccn_conf"]["2"]["address"] == "10.20.0.12"


def test_everything_on_request(cluster, run_module):
    host = cluster(generation="a2", devices=2)["node0"]
    parts = ["optical", "link_stat", "stats", "mac", "mtu", "speed", "fec", "route", "arp"]
    device = ask(run_module, host, gather=parts, devices=[1])["devices"][0]
    assert device["errors"] == {} and device["mtu"] == 1500 and device["speed"] == 200000
    assert device["fec"] == "rs"
    assert device["mac"] == "02:00:5e:00:00:01" and device["stats"]["nic_tx_all_pkg_num"] == 1001
    assert device["optical"]["present"] is True and device["optical"]["temperature_celsius"] == 44
    assert device["link_stat"]["records"][0]["link"] == "up" and device["arp"]
    assert device["route"][0]["destination"] == "0.0.0.0" and device["route"][0]["gateway"] == "10.20.0.1"
    assert "ip" not in device


def test_unset_is_null_and_no_error(cluster, run_module):
    host = cluster(generation="a2", devices=1)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][0].update(ip=None, gateway=None, netdetect=None, link="DOWN", optical=False)
    device = ask(run_module, host, gather=["ip", "gateway", "netdetect", "net_health", "link", "optical"])["devices"][0]
    assert device == {
        "device_id": 0,
        "errors": {},
        "ip": None,
        "gateway": None,
        "netdetect": None,
        "net_health": "fault",
        "healthy": False,
        "link": "down",
        "optical": None,
    }


def test_stale_against_file_and_plan(cluster, run_module):
    host = cluster(generation="a2", devices=4)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][1]["ip"][0] = "10.20.0.24"
        state["devices"][2]["ip"] = None
    result = ask(run_module, host, gather=["ip"], expected={"3": "10.20.0.99", "0": "10.20.0.10"})
    assert result["stale"] == [
        {"device_id": 1, "live": "10.20.0.24", "file": "10.20.0.11", "expected": None},
        {"device_id": 2, "live": None, "file": "10.20.0.12", "expected": None},
        {"device_id": 3, "live": "10.20.0.13", "file": "10.20.0.13", "expected": "10.20.0.99"},
    ]


def test_expected_is_checked(cluster, run_module):
    result = ask(run_module, cluster(devices=1)["node0"], expected={"0": "10.20.0.300"})
    assert result["failed"] and "10.20.0.300" in result["msg"]


@pytest.mark.parametrize("lock, serial", [("none", False), ("device", False), ("global", True)])
def test_lock_models(cluster, run_module, lock, serial):
    host = cluster(generation="a2", devices=4)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"].update(lock=lock, delay=0.05)
    result = ask(run_module, host, workers=4)
    assert [device["errors"] for device in result["devices"]] == [{}] * 4
    assert [device["ip"]["address"] for device in result["devices"]] == [f"10.20.0.1{n}" for n in range(4)]
    assert result["serial"] is serial


def test_an_exporter_that_holds_the_lock_for_a_while(cluster, run_module):
    host = cluster(generation="a2", devices=1)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["busy_calls"] = 3
    result = ask(run_module, host, gather=["link"])
    assert result["devices"][0]["link"] == "up" and result["devices"][0]["errors"] == {}


def test_one_device_s_failure_is_its_own(cluster, run_module):
    host = cluster(generation="a2", devices=3)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][1]["present"] = False
    result = ask(run_module, host, devices=[0, 1, 2], gather=["link", "ip"])
    assert [sorted(device["errors"]) for device in result["devices"]] == [[], ["ip", "link"], []]
    assert "no such device" in result["devices"][1]["errors"]["ip"]
    assert [stale["device_id"] for stale in result["stale"]] == []


def test_hanging_device_costs_one_time_out(cluster, run_module):
    host = cluster(generation="a2", devices=2)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["hang"] = ["hccn_tool -i 1 -link *"]
    result = ask(run_module, host, timeout=4, gather=["link", "ip"])
    assert result["devices"][0]["errors"] == {} and result["devices"][0]["ip"]
    assert "exceeded the timeout" in result["devices"][1]["errors"]["link"]
    assert "skipped" in result["devices"][1]["errors"]["ip"]


def test_the_wrong_answer_is_an_error_of_its_query(run_module, printing, tmp_path):
    result = run_module(
        "hccn_info", executable=printing("link status: UP\n"), devices=[0], hccn_conf=str(tmp_path / "none")
    )
    device = result["devices"][0]
    assert device["link"] == "up"
    assert sorted(device["errors"]) == ["gateway", "ip", "lldp", "net_health", "netdetect", "tls", "vnic"]
    assert "expected 'ipaddr:...'" in device["errors"]["ip"]
    assert result["warnings"] and "cannot be read" in result["warnings"][0]


def test_a_950_is_refused_by_name(run_module, printing, tmp_path):
    text = "Usage\n        hccn_tool -mode -cmd -npu_info [-options]\n"
    result = run_module(
        "hccn_info", executable=printing(text), devices=[0], gather=["link"], hccn_conf=str(tmp_path / "none")
    )
    assert "hccn_tool of a 950" in result["devices"][0]["errors"]["link"]
    assert (
        "All queries of all devices failed" in result["warnings"][0] and "hccn_tool of a 950" in result["warnings"][0]
    )
