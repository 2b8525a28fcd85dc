# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The racks of racks.yaml: each fault is found with its own cause and nothing else; a good rack has no error and no warning."""

from __future__ import annotations

import copy
import fnmatch
import functools
import json
import pathlib
import sys

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import Output, Tool
from ansible_collections.ascend.inference.plugins.modules import check_info
from ansible_collections.ascend.inference.plugins.modules.hccn_ping import ping
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.connections import port_probes
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.pairs import fabric_peers, fabric_plane
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.simulator import ascend_cluster

RACKS = yaml.safe_load(pathlib.Path(__file__).with_name("racks.yaml").read_text())["racks"]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "simulator"))

import simulated_hccn_tool  # noqa: E402 - the simulators import nothing of the collection
import simulated_host  # noqa: E402
import simulated_npu_smi  # noqa: E402

PROGRAMS = {"npu-smi": simulated_npu_smi.answer, "hccn_tool": simulated_hccn_tool.answer}
NODES = ("node0", "node1", "node2")
TIMEOUT = 30


def in_this_process(argv, timeout, stdin=None):
    """Runs a simulated tool without a process of its own, which would take most of the time; one that hangs is a timeout at once."""
    path = pathlib.Path(argv[0])
    host = simulated_host.Host(str(path.parents[2] / f"{path.parents[1].name}.json"))
    command = " ".join([path.name, *argv[1:]])
    if any(fnmatch.fnmatch(command, pattern) for pattern in host.behaviour["hang"]):
        return Output(argv, None, "", "", True)
    answer = host.behave(path.name, argv[1:]) or PROGRAMS[path.name](host, argv[1:])
    return Output(argv, answer.rc, answer.out, answer.err, False)


def plan_of(kind, variables):
    inventory = {
        name: {
            "groups": ["prefill" if name == "node0" else "decode"],
            "variables": {
                "ansible_host": f"10.0.0.{number}",
                "inference_interface": "eth0",
                "inference_devices": 2,
            },
        }
        for number, name in enumerate(NODES, 1)
    }
    description = {
        "inference_release": "0.23.0",
        "inference_hardware": kind,
        "inference_model": {"path": "/models/ds", "name": "ds"},
        "inference_pools": {
            "prefill": {"tensor_parallel_size": 2},
            "decode": {"instances": 2, "tensor_parallel_size": 2},
        },
    }
    return launch_plan({**description, **variables}, inventory)


def kernel_facts(number):
    """Healthy facts of a host that the simulator does not have."""
    address = f"10.0.0.{number + 1}"
    model = {"path": "/models/ds", "exists": True, "config": {"head_dim": 128}, "config_error": "", "quantized": False}
    model.update(fingerprint="abc", missing=[], damaged=[], tokenizer=True, chat_template=True, weights={})
    system = {
        "hostname": NODES[number],
        "machine": "aarch64",
        "kernel": "5.10.0",
        "os": "openEuler 24.03",
        "machine_id": f"id{number}",
    }
    system.update(hostname_addresses=[address], proxy_variables=[], python="3.11.4", libc="glibc 2.38")
    return {
        "listening": [],
        "own_processes": [],
        "interfaces": {"eth0": {"up": True, "addresses": [address], "mtu": 9000}},
        "memory": {"memory_available_mib": 900000, "shm_mib": 500000},
        "limits": {"nofile": 1048576, "memlock_bytes": None},
        "sysctl": {"vm.max_map_count": 1000000},
        "clock": {"epoch": 1800000000.0, "offset": 0.5, "synchronised": True},
        "disks": [{"path": "/opt", "free_mib": 900000, "free_inodes": 9000000, "read_only": False, "no_exec": False}],
        "models": [model],
        "access": {
            "user": "ascend-inference",
            "group": "HwHiAiUser",
            "exists": True,
            "models": {"/models/ds": []},
            "roots": {},
        },
        "system": system,
        "software": {"driver": "25.5.1", "firmware": "7.8", "cann": "9.1.0"},
        "user": {"uid": 0, "sees_processes": True},
        "warnings": [],
    }


class Rack:
    """Three simulated hosts, and what the check gathers from them."""

    def __init__(self, folder, kind):
        self.folder, self.kind = folder, kind
        self.hosts = ascend_cluster.cluster(folder, hosts=3, generation=kind, devices=2, driver="25.5.1")

    def plant(self, rack):
        for name in NODES:
            both = [rack.get("hosts", {}).get(key, {}) for key in ("all", name)]
            with ascend_cluster.edit(self.hosts[name]["state"]) as state:
                for changes in both:
                    change(state, copy.deepcopy(changes))
        for name in rack.get("hccn_conf_rewritten", []):
            state = json.loads(pathlib.Path(self.hosts[name]["state"]).read_text())
            pathlib.Path(self.hosts[name]["hccn_conf"]).write_text(ascend_cluster.hccn_conf(state))
        if "network" in rack:
            (self.folder / "network.json").write_text(json.dumps(rack["network"]))
        for name in rack.get("hccn_conf", []):
            pathlib.Path(self.hosts[name]["hccn_conf"]).unlink()
        for name, program in rack.get("tools", {}).items():
            (pathlib.Path(self.hosts[name]["bin"]) / program).unlink()

    def options(self, name, link_details):
        host = self.hosts[name]
        return {
            "npu_smi": f"{host['bin']}/npu-smi",
            "hccn_tool": f"{host['bin']}/hccn_tool",
            "hccn_conf": host["hccn_conf"],
            "devices": [0, 1],
            "link_details": link_details,
            "timeout": TIMEOUT,
            "workers": 2,
            "counter_seconds": 0.1,
        }

    def gather(self, plan, names):
        """Facts of these hosts, as check_info returns them."""
        facts = {}
        for name in names:
            options = self.options(name, fabric_plane(plan, name) == "roce")
            facts[name] = {"host": kernel_facts(NODES.index(name))}
            facts[name]["npu"] = check_info.attempt(check_info.npu_part, options, in_this_process)
            facts[name]["hccn"] = check_info.attempt(check_info.hccn_part, options, in_this_process)
            facts[name]["hccn"].update(hccn_conf_access={"mode": "0644", "owner": "root", "group": "root"})
        return facts

    def ping(self, plan, facts):
        for name, peers in fabric_peers(plan, facts).items():
            if peers:
                limits = {"count": 3, "workers": 2, "max_loss_percent": 0, "max_time_ms": None}
                devices = sorted({device for peer in peers for device in peer["devices"]})
                options = {"peers": peers, "devices": devices, "kind": fabric_plane(plan, name), **limits}
                found = ping(options, Tool(f"{self.hosts[name]['bin']}/hccn_tool", TIMEOUT, in_this_process))
                found["unreachable_pairs"] = found.pop("unreachable")
                facts[name]["ping"] = found


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """``healthy(kind)``: facts of hosts without a fault, gathered once."""

    @functools.cache
    def gathered(kind):
        plan = plan_of(kind, {})
        made = Rack(tmp_path_factory.mktemp(kind), kind)
        facts = made.gather(plan, NODES)
        made.ping(plan, facts)
        return facts

    return lambda kind: copy.deepcopy(gathered(kind))


def touched(rack):
    """Hosts whose tools answer differently than without the fault."""
    if "network" in rack or "all" in rack.get("hosts", {}):
        return NODES
    return sorted({*rack.get("hosts", {}), *rack.get("hccn_conf", []), *rack.get("tools", {})})


def change(state, changes):
    """Change a simulated host's state: devices by number, ``each_device``, behaviour, and other keys."""
    for device in state["devices"]:
        device.update(copy.deepcopy(changes.get("each_device", {})))
        device.update(changes.get("devices", {}).get(device["id"], {}))
    state["behaviour"].update(changes.get("behaviour", {}))
    state.update({key: value for key, value in changes.items() if key not in ("devices", "each_device", "behaviour")})


def edit_facts(facts, rack):
    for name in NODES:
        for changes in (rack.get("facts", {}).get("all", {}), rack.get("facts", {}).get(name, {})):
            for path, value in changes.items():
                *parents, last = [int(key) if key.isdigit() else key for key in path.split(".")]
                target = facts[name]
                for key in parents:
                    target = target[key]
                target[last] = copy.deepcopy(value)
    if "same_machine" in rack:
        first, second = rack["same_machine"]
        for part in ("npu", "hccn"):
            facts[second][part] = facts[first][part]
        facts[second]["host"].update({key: facts[first]["host"][key] for key in ("system", "interfaces")})


def connect(plan, facts, blocked):
    """The answers of port_probe: open, but for dropped connections."""
    probes = port_probes(plan, {name: found for name, found in facts.items() if "unreachable" not in found})
    for name in set(NODES) & set(probes):
        answers = []
        for peer in probes[name]["peers"]:
            cut = [name, peer["name"]] in blocked
            state = {"state": "timeout", "reason": "no answer in 3 s"} if cut else {"state": "open", "reason": ""}
            answers += [
                {"name": peer["name"], "address": peer["address"], "port": port, **state} for port in peer["ports"]
            ]
        facts[name]["tcp"] = {"listening": probes[name]["listen"], "failed": {}, "answers": answers}


def checked(folder, rack, facts):
    """All findings of a rack that are not accepted; ``facts`` are those without the fault."""
    made = Rack(folder, rack["kind"])
    made.plant(rack)
    plan = plan_of(rack["kind"], rack.get("variables", {}))
    again = made.gather(plan, touched(rack))
    for name, found in again.items():
        facts[name].update(found)
    edit_facts(facts, rack)
    if again:
        made.ping(plan, facts)
    connect(plan, facts, rack.get("blocked", []))
    if "slow" in rack:
        name, device, time = rack["slow"]
        for answer in facts[name]["ping"]["matrix"][str(device)].values():
            answer["average_ms"] = time
    found = check_plan(plan, facts, rack.get("ignore", []))
    return [finding for finding in found if finding["severity"] != "accepted"]


@pytest.mark.parametrize("rack", RACKS, ids=lambda rack: rack["id"])
def test_a_rack_is_judged_as_the_table_says(tmp_path, healthy, rack):
    found = checked(tmp_path, rack, healthy(rack["kind"]))
    shown = "\n".join(
        f"{item['severity']} {item['id']} {item['path']}: {item['problem']} ({item['value']})" for item in found
    )
    if "finds" in rack:
        assert sorted(f"{item['id']} {item['path']}" for item in found) == sorted(rack["finds"]), shown
    if "severities" in rack:
        assert {item["severity"] for item in found} <= set(rack["severities"]), shown
        assert rack["severities"][0] in {item["severity"] for item in found}, shown
    assert rack.get("says", "") in shown, shown
