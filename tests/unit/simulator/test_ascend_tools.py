# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator itself: it says what it is, has the tools' exit statuses and streams, prompts, locks, side effects, and a network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import ascend_cluster
import pytest


def call(host, tool, line, stdin=""):
    """-> (exit status, stdout, stderr)"""
    process = subprocess.Popen(
        [os.path.join(host["bin"], tool)] + line.split(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    out, err = process.communicate(stdin)
    return process.returncode, out, err


@pytest.fixture
def hosts(tmp_path):
    return ascend_cluster.cluster(tmp_path, hosts=2, generation="a2", devices=2)


@pytest.fixture
def host(hosts):
    return hosts["node0"]


def device(host, number):
    with open(host["state"], encoding="utf-8") as handle:
        return json.load(handle)["devices"][number]


def test_it_says_that_it_is_a_simulator(host):
    for tool in ("npu-smi", "hccn_tool"):
        status, out, _err = call(host, tool, "--simulator")
        assert status == 0 and "simulator" in out and "not a vendor tool" in out


def test_it_needs_a_name_and_a_state():
    process = subprocess.run(
        [sys.executable, os.path.join(ascend_cluster.HERE, "ascend_tools.py")],
        stderr=subprocess.PIPE,
        env={},
        check=False,
    )
    assert process.returncode == 70 and b"ASCEND_SIMULATOR_STATE" in process.stderr


@pytest.mark.parametrize(
    "tool, line, status, stream, text",
    [
        ("npu-smi", "-v", 0, "out", "npu-smi version: 25.5.0"),
        ("npu-smi", "nonsense", 211, "out", "Command or option is not found."),
        ("npu-smi", "info -t spod-info -i 0 -c 0", 0, "out", "does not support querying spod-info"),
        ("npu-smi", "info -t board -i 9", 215, "out", "Invalid card id."),
        ("npu-smi", "info -t board", 215, "out", "must input card id"),
        ("hccn_tool", "-i 0 -link -g", 0, "out", "link status: UP"),
        ("hccn_tool", "-i 9 -link -g", 4, "err", "The device is not exist!"),
        ("hccn_tool", "-i 99 -link -g", 4, "err", "Get invalid device id."),
        ("hccn_tool", "-i 0 -nonsense -g", 3, "err", "Get unknown option!"),
        ("hccn_tool", "nonsense", 1, "err", "Get invalid major cmd type."),
        ("hccn_tool", "-i 0 -gateway -s gateway 172.16.0.1", 8, "err", "segment of configured gateway"),
        ("hccn_tool", "-i 0 -ip -s address 10.20.0.11 netmask 255.255.255.0", 7, "err", "is conflicted"),
        ("hccn_tool", "-i 0 -ip -s address 192.168.1.9 netmask 255.255.255.0", 7, "err", "is conflicted"),
        ("hccn_tool", "-i 0 -ip -s address 10.20.0.999 netmask 255.255.255.0", 6, "err", "is invalid"),
        ("hccn_tool", "-i 0 -hccs_ping -g address 192.1.2.199", 13, "out", "not supported on this product"),
    ],
)
def test_statuses_and_streams(host, tool, line, status, stream, text):
    found, out, err = call(host, tool, line)
    assert found == status and text in {"out": out, "err": err}[stream]


def test_unset_values(host):
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][0].update(ip=None, gateway=None, netdetect=None)
    assert call(host, "hccn_tool", "-i 0 -ip -g") == (13, "", "Get ipconf failed, because no ip was preset there!\n")
    assert call(host, "hccn_tool", "-i 0 -gateway -g") == (
        2,
        "",
        "Get gateway failed, because no gateway was preset there!\n",
    )
    assert call(host, "hccn_tool", "-i 0 -netdetect -g")[1] == "netdetect address: 0.0.0.0\n"
    assert call(host, "hccn_tool", "-i 0 -net_health -g")[1] == "net health status: Init\n"


def test_prompt(host):
    status, out, _err = call(host, "hccn_tool", "-i 1 -link -s down", "n\n")
    assert status == 22 and "(y/n)" in out and "User aborts command." in out and device(host, 1)["link"] == "UP"
    assert call(host, "hccn_tool", "-i 1 -link -s down", "y\n")[0] == 0 and device(host, 1)["link"] == "DOWN"
    assert call(host, "hccn_tool", "-i 1 -net_health -g")[1] == "net health status: Fault\n"


def test_an_address_change_drops_gateway_and_routes_outside(host):
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][0]["routes"] = [{"address": "172.16.0.0", "netmask": "255.255.0.0", "gateway": "10.20.0.9"}]
    with open(host["hccn_conf"], "a", encoding="utf-8") as handle:
        handle.write("route_address_172.16.0.0_netmask_255.255.0.0_0=gateway_10.20.0.9\nIPv6gateway_0=fe80::1\n")
    assert call(host, "hccn_tool", "-i 0 -ip -s address 10.66.0.5 netmask 255.255.255.0")[:2] == (
        0,
        "Cmd executed successfully!\n",
    )
    changed = device(host, 0)
    assert changed["ip"] == ["10.66.0.5", "255.255.255.0"] and changed["gateway"] is None and changed["routes"] == []
    with open(host["hccn_conf"], encoding="utf-8") as handle:
        text = handle.read()
    assert text.endswith("address_0=10.66.0.5\nnetmask_0=255.255.255.0\n") and text.startswith("# written")
    assert (
        "\ngateway_0=" not in text and "route_" not in text and "IPv6gateway_0" not in text
    )  # the tool drops that one, too
    assert "gateway_1=10.20.0.1" in text


def test_recovery_applies_the_file(host):
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][1]["ip"][0] = "10.20.0.99"
    status, out, _err = call(host, "hccn_tool", "-a -cfg recovery")
    assert status == 0 and "dev:1 recovery success" in out and device(host, 1)["ip"][0] == "10.20.0.11"


def test_root_and_file_are_needed(host):
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["root"] = False
    assert call(host, "hccn_tool", "-i 0 -tls -s enable 1")[0] == 12
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["root"] = True
    os.remove(host["hccn_conf"])
    assert call(host, "hccn_tool", "-i 0 -tls -s enable 1")[0] == 29


@pytest.mark.parametrize("lock, others_busy", [("none", [0, 0]), ("device", [0, 11]), ("global", [11, 11])])
def test_locks(host, lock, others_busy):
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"].update(lock=lock, delay=3)
    running = subprocess.Popen([host["bin"] + "/hccn_tool", "-i", "0", "-link", "-g"], stdout=subprocess.PIPE)
    log = host["state"] + ".log"
    for _attempt in range(1500):
        if os.path.exists(log) or running.poll() is not None:
            break
        time.sleep(0.02)
    time.sleep(0.3)
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["delay"] = 0
    assert [call(host, "hccn_tool", f"-i {number} -ip -g")[0] for number in (1, 0)] == others_busy
    health = call(host, "hccn_tool", "-i 0 -net_health -g")
    assert health[0] == (0 if lock == "none" else 1)  # net_health hides the lock behind the general failure
    assert running.communicate()[0] == b"link status: UP\n"


def test_ping_sees_the_other_hosts(hosts):
    status, out, _err = call(hosts["node0"], "hccn_tool", "-i 0 -ping -g address 10.20.1.11")
    assert status == 0 and "3 packets transmitted, 3 received, 0.00% packet loss" in out
    with ascend_cluster.edit(hosts["node1"]["state"]) as state:
        state["devices"][1]["link"] = "DOWN"
    status, out, err = call(hosts["node0"], "hccn_tool", "-i 0 -ping -g address 10.20.1.11")
    assert status == 1 and "100.00% packet loss" in out and err == "Command execute failed!\n"
    assert call(hosts["node0"], "hccn_tool", "-i 0 -ping -g address 10.20.7.7")[0] == 1


def test_faults_of_the_table(host):
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][0]["health"] = "?"
        state["devices"][1]["present"] = False
        state["behaviour"]["incomplete"] = True
    out = call(host, "npu-smi", "info")[1]
    assert "0000:C1:00.0" in out and "910B3" not in out and "0000:01:00.0" not in out
    assert out.splitlines()[-1].startswith("[WARNING]The driver package")
