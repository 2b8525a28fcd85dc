# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan x facts: each planted fault is named once, on its host and device, and a healthy cluster has none."""

from __future__ import annotations

import copy
import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import RULES, check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.facts import check_facts
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.rank_table import rank_table
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.generated import filled
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan

HOSTS = ("n1", "n2", "n3")


def plan(**changes):
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


def facts():
    """A healthy A3 cluster of three hosts with four dies each."""
    return {name: one_host(number) for number, name in enumerate(HOSTS, 1)}


def one_host(number):
    return {
        "host": {
            "listening": [],
            "own_processes": [],
            "interfaces": {"eth0": {"up": True, "addresses": [f"10.0.0.{number}"]}},
            "memory": {"memory_available_mib": 900000},
            "limits": {"nofile": 1048576},
            "clock": {"epoch": 1.0, "offset": 0.5, "synchronised": True},
            "disks": [{"path": "/opt", "free_mib": 900000}],
            "models": [
                {
                    "path": "/models/ds",
                    "exists": True,
                    "config": {"head_dim": 128},
                    "config_error": "",
                    "quantized": False,
                    "fingerprint": "abc",
                }
            ],
            "system": {"proxy_variables": [], "hostname_addresses": [f"10.0.0.{number}"]},
        },
        "npu": {
            "generation": "a3",
            "driver_version": "25.5.1",
            "npus": [
                {
                    "device_id": device,
                    "health": "OK",
                    "processes": [],
                    "super_pod_id": 3,
                    "sdid": 1000 * number + device,
                }
                for device in range(4)
            ],
        },
        "hccn": {
            "hccn_conf": {},
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
                    "vnic": {"address": f"10.8.{number}.{device + 10}", "netmask": "255.255.0.0"},
                    "tls_enabled": False,
                    "errors": {},
                }
                for device in range(4)
            ],
        },
        "ping": {"unreachable_pairs": []},
    }


def npu(host, device, **values):
    return lambda data: data[host]["npu"]["npus"][device].update(values)


def link(host, device, **values):
    return lambda data: data[host]["hccn"]["devices"][device].update(values)


def kernel(host, **values):
    return lambda data: data[host]["host"].update(values)


def model(host, **values):
    return lambda data: data[host]["host"]["models"][0].update(values)


def ping(data, *cut):
    """Every device pings the same position of each other host; the given pairs fail."""
    for number, name in enumerate(HOSTS, 1):
        peers = [
            (device, f"10.8.{other}.{device + 10}") for other in (1, 2, 3) if other != number for device in range(4)
        ]
        matrix = {str(device): {} for device in range(4)}
        for device, peer in peers:
            matrix[str(device)][peer] = {"reachable": (name, device, peer) not in cut}
        lost = [{"device_id": one[1], "address": one[2], "reason": "lost"} for one in cut if one[0] == name]
        data[name]["ping"] = {"matrix": matrix, "unreachable_pairs": lost}


OURS = "/opt/ascend-inference/deployments/inference/services/prefill-0"
HELD = {"address": "0.0.0.0", "port": 7100, "pid": 7, "command": "nginx", "service": ""}

FAULTS = [
    ("NPU-ABSENT", "n2 device 3", lambda data: data["n2"]["npu"]["npus"].pop(3)),
    ("NPU-HEALTH", "n1 device 2", npu("n1", 2, health="Critical")),
    ("NPU-BUSY", "n3 device 0", npu("n3", 0, processes=[{"pid": 99, "name": "python3"}])),
    ("NPU-GENERATION", "n1", lambda data: data["n1"]["npu"].update(generation="a2")),
    ("DRIVER-DIFFERS", "n3", lambda data: data["n3"]["npu"].update(driver_version="25.5.2")),
    ("SUPER-POD", "n2 device 0", lambda data: [one.update(super_pod_id=4) for one in data["n2"]["npu"]["npus"]]),
    ("SDID-TWICE", "n2 device 1", npu("n2", 1, sdid=1001)),
    ("LINK-DOWN", "n2 device 1", link("n2", 1, link="down", healthy=False)),
    ("NET-HEALTH", "n2 device 1", link("n2", 1, net_health="socket_fail", healthy=False)),
    ("NPU-ADDRESS", "n3 device 3", link("n3", 3, vnic=None)),
    ("NPU-ADDRESS-TWICE", "n2 device 0", link("n2", 0, vnic={"address": "10.8.1.10"})),
    (
        "HCCN-STALE",
        "n1 device 2",
        lambda data: data["n1"]["hccn"].update(stale=[{"device_id": 2, "live": "10.9.1.99", "file": "10.9.1.12"}]),
    ),
    ("TLS-DIFFERS", "n3 device 2", link("n3", 2, tls_enabled=True)),
    ("HCCN-ANSWER", "n1 device 1", link("n1", 1, errors={"lldp": "the tool hung"})),
    ("PEER-UNREACHABLE", "n1 device 3", lambda data: ping(data, ("n1", 3, "10.8.2.13"))),
    ("PEER-UNREACHABLE", "n2 device 3", lambda data: ping(data, ("n1", 3, "10.8.2.13"), ("n3", 3, "10.8.2.13"))),
    (
        "HOST-ANSWER",
        "n2 npu-smi",
        lambda data: data["n2"].update(npu={"error": "npu-smi: the driver is not loaded"}),
    ),
    (
        "RUNTIME",
        "n2",
        lambda data: data["n2"].update(runtime={"error": "n2 cannot run units. Fix: set ansible_become."}),
    ),
    ("HOST-ADDRESS", "n2", kernel("n2", interfaces={"eth1": {"up": True, "addresses": ["10.0.0.2"]}})),
    ("HOST-MACHINE", "n3", lambda data: data["n3"]["host"]["system"].update(machine="riscv64")),
    ("PORT-TAKEN", "n1 port 7100", kernel("n1", listening=[HELD])),
    ("MODEL-MISSING", "n2", model("n2", exists=False)),
    ("MODEL-DIFFERS", "n3", model("n3", fingerprint="xyz")),
    ("MODEL-QUANTIZED", "n2 decode-0", model("n2", quantized=True)),
    ("CLOCK", "n2", kernel("n2", clock={"synchronised": False})),
    ("CLOCK", "n3", kernel("n3", clock={"synchronised": True, "offset": 75.0})),
    ("DISK-FREE", "n1 /opt", kernel("n1", disks=[{"path": "/opt", "free_mib": 100}])),
    ("PROXY-VARIABLES", "n3", kernel("n3", system={"proxy_variables": ["http_proxy"], "hostname_addresses": []})),
    ("HOSTNAME-LOOPBACK", "n1", kernel("n1", system={"proxy_variables": [], "hostname_addresses": ["127.0.1.1"]})),
]


def test_a_healthy_cluster_has_no_complaint():
    assert check_plan(plan(), facts()) == []


@pytest.mark.parametrize(("rule", "path", "plant"), FAULTS, ids=[one[0] for one in FAULTS])
def test_one_fault_one_complaint(rule, path, plant):
    data = facts()
    plant(data)
    assert [(one["id"], one["path"]) for one in check_plan(plan(), data)] == [(rule, path)]


def test_what_the_runtime_s_preflight_said_is_taken_apart_into_reason_and_way_out():
    data = facts()
    data["n1"]["runtime"] = {"error": "n1 cannot run units: it has no systemd. Fix: choose supervisor."}
    (found,) = check_plan(plan(), data)
    assert found["problem"] == "n1 cannot run units: it has no systemd."
    assert (found["fix"], found["value"]) == ("Choose supervisor.", "systemd")


def test_what_follows_from_a_fault_is_not_blamed_too():
    data = facts()
    link("n2", 1, link="down", healthy=False)(data)
    ping(data, ("n1", 1, "10.8.2.11"), ("n3", 1, "10.8.2.11"))
    data["n3"]["npu"]["npus"].pop(2)
    link("n3", 2, errors={"link": "no such device"}, vnic=None)(data)
    assert [(one["id"], one["path"]) for one in check_plan(plan(), data)] == [
        ("LINK-DOWN", "n2 device 1"),
        ("NPU-ABSENT", "n3 device 2"),
    ]


def test_all_faults_are_named_at_once():
    data = facts()
    for _rule, _path, plant in (FAULTS[1], FAULTS[7], FAULTS[12]):
        plant(data)
    assert [one["id"] for one in check_plan(plan(), data)] == ["NPU-HEALTH", "LINK-DOWN", "TLS-DIFFERS"]


def test_a_host_that_was_not_asked_is_named():
    data = facts()
    del data["n2"]
    assert [(one["id"], one["path"]) for one in check_plan(plan(), data)] == [("HOST-UNREACHABLE", "n2")]


def test_our_own_service_is_no_stranger():
    data = facts()
    data["n1"]["host"]["listening"] = [dict(HELD, service=OURS)]
    data["n1"]["host"]["own_processes"] = [{"pid": 99, "service": OURS}]
    data["n1"]["npu"]["npus"][0]["processes"] = [{"pid": 99, "name": "VLLMWorker"}]
    assert check_plan(plan(), data) == []


def test_a_check_can_be_accepted_knowingly_but_not_a_misspelt_one():
    data = facts()
    FAULTS[1][2](data)
    assert [one["severity"] for one in check_plan(plan(), data, ["NPU-HEALTH"])] == ["accepted"]
    assert "CHECK-IGNORE" in [one["id"] for one in check_plan(plan(), data, ["NPU-HEALHT"])]


def test_most_rules_are_seen_red_here():
    seen = {one[0] for one in FAULTS} | {"HOST-UNREACHABLE"}
    left = {one.id for one in RULES} - seen
    assert left == {
        "DRIVER-OLD",
        "HCCN-CONF",
        "HOST-GLIBC",
        "HOST-MEMORY",
        "HOST-PYTHON",
        "HUGEPAGES",
        "LIMIT-NOFILE",
        "MODEL-DTYPE",
        "MODEL-HEAD-DIM",
        "NET-GATEWAY",
        "NPU-COUNT",
    }, "cover the new rule with a fault"


def test_rules_of_other_deployments_are_seen_red():
    a2 = plan(inference_hardware="a2", inference_release="0.18.0")
    a2["hosts"][0]["store_mib"] = 800000
    a2["runtime"] = "supervisor"
    data = facts()
    for one in data.values():
        one["npu"].update(generation="a2", driver_version="23.0.7")
        for die in one["npu"]["npus"]:
            die.update(npu_id=die["device_id"], device_id=None)  # npu-smi's table has no physical id on A2
        one["hccn"]["hccn_conf"] = {str(device): {} for device in range(4)}
    data["n1"]["host"]["limits"] = {"nofile": 1024}
    data["n1"]["host"]["models"][0].update(config={"torch_dtype": "float16"}, quantized=True)
    data["n2"]["hccn"]["hccn_conf"] = {}
    data["n3"]["hccn"]["devices"][0]["gateway"] = None
    data["n3"]["npu"]["npus"] = data["n3"]["npu"]["npus"][:3]
    a2["hosts"][1]["devices"] = [0, 1, 2, 3, 4]
    found = {(one["id"], one["path"]) for one in check_plan(a2, data)}
    assert found == {
        *(("DRIVER-OLD", name) for name in HOSTS),
        ("HCCN-CONF", "n2"),
        ("HOST-MEMORY", "n1"),
        ("LIMIT-NOFILE", "n1"),
        ("MODEL-DTYPE", "n1"),
        ("MODEL-HEAD-DIM", "n1"),
        ("MODEL-QUANTIZED", "n1 prefill-0"),
        ("NET-GATEWAY", "n3 device 0"),
        ("NPU-ABSENT", "n3 device 3"),
        ("NPU-COUNT", "n2"),
    }


def complaints(plan, data):
    return [(one["id"], one["severity"], one["path"]) for one in check_plan(plan, data)]


@pytest.mark.parametrize(
    ("release", "driver", "severity"),
    [
        ("0.23.0", "25.5.1", None),
        ("0.23.0", "25.3.rc1", "warning"),
        ("0.23.0", "24.1.rc1.b030", "warning"),
        ("0.23.0", "23.0.rc2.3", "error"),
        ("0.11.0", "24.1.rc1", None),
        ("0.11.0", "23.0.7", "error"),
        ("0.23.0", "x.x.x", None),
    ],
)
def test_a_driver_is_held_against_what_the_release_needs_and_recommends(release, driver, severity):
    data = facts()
    for one in data.values():
        one["npu"]["driver_version"] = driver
    expected = [("DRIVER-OLD", severity, name) for name in HOSTS] if severity else []
    assert complaints(plan(inference_release=release), data) == expected


def test_an_old_driver_is_not_blamed_for_differing_too():
    data = facts()
    data["n2"]["npu"]["driver_version"] = "23.0.7"
    assert complaints(plan(), data) == [("DRIVER-OLD", "error", "n2")]


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
    assert complaints(wanted, data) == ([("MODEL-HEAD-DIM", "error", "n3")] if missing else [])


def test_head_dim_is_not_missed_without_a_connector():
    data = facts()
    for name in HOSTS:
        model(name, config={})(data)
    colocated = plan(
        inference_release="0.11.0",
        inference_pools={"colocated": {"group": "prefill", "tensor_parallel_size": 4}},
    )
    assert not any("--kv-transfer-config" in one["argv"] for one in colocated["services"])
    assert "MODEL-HEAD-DIM" not in [one["id"] for one in check_plan(colocated, data)]


def test_what_role_model_will_repair_after_the_check_is_not_complained_about():
    data = facts()
    for name in HOSTS:
        model(name, config={"torch_dtype": "float16"}, quantized=True)(data)
    pool = {"tensor_parallel_size": 4, "args": {"quantization": "ascend"}}
    wanted = plan(inference_release="0.18.0", inference_pools={"prefill": pool, "decode": {"instances": 2, **pool}})
    both = {"MODEL-DTYPE", "MODEL-HEAD-DIM"}
    assert {(one["id"], one["path"]) for one in check_plan(wanted, data)} == {(id_, n) for id_ in both for n in HOSTS}
    hostvars = {
        name: {**registered(data[name]), "model_repair": word}
        for name, word in zip(HOSTS, (True, "yes", "false"), strict=True)
    }
    left = check_plan(wanted, check_facts(wanted, hostvars))
    assert {(one["id"], one["path"]) for one in left} == {(id_, "n3") for id_ in both}


def registered(facts_):
    """A host's facts as role host_check leaves them."""
    return {f"__host_check_{kind}": found for kind, found in facts_.items()}


@pytest.mark.parametrize(
    ("release", "version", "wrong"),
    [
        ("0.9.1", "3.9.18", False),
        ("0.9.1", "3.12.1", True),
        ("0.18.0", "3.9.18", True),
        ("0.23.0", "3.12.4", False),
        ("0.23.0", "3.13.0", True),
        ("0.25.1rc1", "3.13.0", False),
    ],
)
def test_the_release_s_package_installs_into_the_host_s_python(release, version, wrong):
    data = facts()
    data["n2"]["host"]["system"]["python"] = version
    transfer = {"inference_kv_transfer": "llmdatadist", "inference_hardware": "a2"} if release == "0.9.1" else {}
    found = check_plan(plan(inference_release=release, **transfer), data)
    assert [one["path"] for one in found if one["id"] == "HOST-PYTHON"] == (["n2"] if wrong else [])


def test_a_python_that_was_named_and_a_build_from_source_are_not_complained_about():
    data = facts()
    data["n2"]["host"]["system"].update(python="3.9.2", libc="glibc 2.34")
    assert [one["id"] for one in check_plan(plan(), data)] == ["HOST-GLIBC", "HOST-PYTHON"]
    words = {"torch_npu_python": "/opt/python3.12/bin/python3", "mooncake_method": "source"}
    hostvars = {name: {**registered(data[name]), **words} for name in HOSTS}
    assert check_plan(plan(), check_facts(plan(), hostvars)) == []
    assert [one["id"] for one in check_plan(plan(inference_runtime="docker"), data)] == []


def test_a_store_on_the_hosts_has_to_fit_into_memory_and_huge_pages():
    store = {"inference_kv_transfer": "mooncake+store", "inference_store": {"segment_size": "4GB"}}
    wanted = plan(inference_link="roce", **store)
    assert [host["store_mib"] for host in wanted["hosts"]] == [4 * 4 * 1024] * 3
    data = facts()
    for name in HOSTS:
        data[name]["host"]["memory"].update(hugepages_total=8192, hugepage_size_kib=2048)
    assert check_plan(wanted, data) == []
    data["n2"]["host"]["memory"]["hugepages_total"] = 8191
    data["n3"]["host"]["memory"]["memory_available_mib"] = 20000
    assert complaints(wanted, data) == [("HOST-MEMORY", "error", "n3"), ("HUGEPAGES", "warning", "n2")]
    hccs = plan(**store)
    assert complaints(hccs, data) == [("HOST-MEMORY", "error", "n3")]
    assert [host["store_mib"] for host in plan()["hosts"]] == [0, 0, 0]


def test_rank_table_of_an_a3_deployment():
    table = rank_table(plan(), facts())
    assert table["server_count"] == "3"
    assert table["prefill_device_list"][0] == {
        "server_id": "10.0.0.1",
        "device_id": "0",
        "device_ip": "10.8.1.10",
        "super_pod_id": "3",
        "super_device_id": "1000",
        "cluster_id": "1",
    }
    assert [one["cluster_id"] for one in table["decode_device_list"]] == [str(number) for number in range(5, 13)]
    assert {type(value) for one in table["decode_device_list"] for value in one.values()} == {str}


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
    assert [one.path for one in caught.value.findings] == ["n2 device 2", "n3 device 1"]
    assert [one.fix.split(";")[0].split(" shows")[0] for one in caught.value.findings] == [
        "hccn_tool -i 2 -vnic -g",
        "npu-smi info -t spod-info has to show it",
    ]


def test_a_rank_table_says_which_host_was_not_asked_and_whose_tool_failed():
    data = copy.deepcopy(facts())
    data["n2"] = {}
    data["n3"]["hccn"] = {"error": "no driver"}
    with pytest.raises(PlanError) as caught:
        rank_table(plan(), data)
    assert [one.path for one in caught.value.findings] == ["n2", "n3"]
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
    with_table = sorted(one["name"] for one in services if any("from" in file for file in one["files"]))
    assert with_table == ["decode-0", "decode-1", "prefill-0"]
    for old, new, newer in zip(services, once, other, strict=True):
        differ = len({old["digest"], new["digest"], newer["digest"]})
        assert differ == (3 if old["name"] in with_table else 1)
        if old["name"] in with_table:
            (file,) = [one for one in new["files"] if one.get("from") == "rank_table"]
            assert json.loads(file["content"]) == {"version": "1.2"}
