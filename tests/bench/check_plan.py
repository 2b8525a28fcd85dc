# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller computes in a check: calls and seconds for each host, for 50, 100 and 200 hosts of 8 devices.

Usage: PYTHONPATH=... python tests/bench/check_plan.py [FAULT...]      # default: all of FAULTS

Hosts are not simulated; their facts are made up here. The ratio compares the calls for each host with those of the smallest size;
linear growth keeps it near 1. tests/unit/plugins/plugin_utils/test_check_scale.py limits the ratio.
"""

from __future__ import annotations

import sys
import time
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.connections import port_probes
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.pairs import fabric_peers
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.report_page import check_report
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.report_text import check_text
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan

DEVICES = 8
CONFIG = {"head_dim": 128, "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32}
CONFIG.update(max_position_embeddings=131072, num_key_value_heads=8)


def plan_of(hosts: int) -> dict[str, t.Any]:
    """Half of the hosts prefill, half decode; each is an instance."""
    pool = {"instances": hosts // 2, "tensor_parallel_size": DEVICES}
    inventory = {
        f"node{number}": {
            "groups": ["prefill" if number < hosts // 2 else "decode"],
            "variables": {
                "ansible_host": address(number),
                "inference_interface": "eth0",
                "inference_devices": DEVICES,
            },
        }
        for number in range(hosts)
    }
    return launch_plan(
        {
            "inference_release": "0.23.0",
            "inference_hardware": "a2",
            "inference_model": {"path": "/models/ds", "name": "ds"},
            "inference_pools": {"prefill": pool, "decode": pool},
        },
        inventory,
    )


def address(number: int, network: int = 0, device: int = 0) -> str:
    """Of a host (network 0) or of one of its devices."""
    return f"10.{network + number // 250}.{number % 250}.{device + 1}"


def facts_of(number: int) -> dict[str, t.Any]:
    """Healthy facts of a host."""
    model = {"path": "/models/ds", "exists": True, "config": dict(CONFIG), "config_error": "", "quantized": False}
    model.update(fingerprint="abc", missing=[], damaged=[], tokenizer=True, chat_template=True, weights={})
    system = {"machine": "aarch64", "kernel": "5.10.0", "os": "openEuler 24.03", "machine_id": f"id{number}"}
    system.update(
        hostname_addresses=[address(number)], proxy_variables=[], python="3.11.4", libc="glibc 2.38", systemd=True
    )
    npu = {"name": "910B3", "health": "OK", "processes": [], "temperature_celsius": 45, "hbm_used_mib": 3000}
    npu.update(hbm_total_mib=65536, ecc={"hbm_double_bit_error_count": 0}, board={"firmware_version": "7.8"})
    link = {"link": "up", "net_health": "success", "healthy": True, "mtu": 1500, "speed": 200000, "fec": "rs"}
    link.update(gateway="10.40.0.1", netdetect="10.40.0.1", tls_enabled=False, errors={}, link_stat={}, stats={})
    lldp = {"system_name": f"leaf{number % 4}"}
    addresses = [address(number, 40, device) for device in range(DEVICES)]
    return {
        "host": {
            "listening": [],
            "own_processes": [],
            "interfaces": {"eth0": {"up": True, "addresses": [address(number)]}},
            "memory": {"memory_available_mib": 900000, "shm_mib": 500000},
            "limits": {"nofile": 1048576, "memlock_bytes": None},
            "sysctl": {"vm.max_map_count": 1000000},
            "clock": {"epoch": 1800000000.0, "offset": 0.5, "synchronised": True},
            "disks": [{"path": "/opt", "free_mib": 900000}],
            "models": [model],
            "access": {"user": "u", "group": "HwHiAiUser", "exists": True, "models": {"/models/ds": []}, "roots": {}},
            "system": system,
            "software": {"driver": "25.5.1", "firmware": "7.8", "cann": "9.1.0"},
            "user": {"uid": 0, "sees_processes": True},
            "warnings": [],
        },
        "npu": {
            "generation": "a2",
            "driver_version": "25.5.1",
            "npus": [{**npu, "npu_id": device, "device_id": device} for device in range(DEVICES)],
        },
        "hccn": {
            "hccn_conf": {str(device): {"address": addresses[device]} for device in range(DEVICES)},
            "hccn_conf_access": {"mode": "0644", "owner": "root", "group": "root"},
            "stale": [],
            "devices": [
                {
                    **link,
                    "device_id": device,
                    "lldp": lldp,
                    "ip": {"address": addresses[device], "netmask": "255.255.0.0"},
                }
                for device in range(DEVICES)
            ],
        },
    }


def checked_facts(plan: dict[str, t.Any], works: t.Callable[[str, str], bool]) -> dict[str, dict[str, t.Any]]:
    """Facts of all hosts. Pings and connections succeed between hosts for which ``works`` is true."""
    names = [host["name"] for host in plan["hosts"]]
    facts = {name: facts_of(number) for number, name in enumerate(names)}
    owners = {address(number, 40, device): name for number, name in enumerate(names) for device in range(DEVICES)}
    probes = port_probes(plan, facts)
    for name, peers in fabric_peers(plan, facts).items():
        matrix: dict[str, dict[str, t.Any]] = {}
        for peer in peers:
            reached = works(name, owners[peer["address"]])
            answer = {
                "reachable": reached,
                "reason": None if reached else "100 % of 3 packets lost",
                "average_ms": 0.02,
            }
            for device in peer["devices"]:
                matrix.setdefault(str(device), {})[peer["address"]] = answer
        facts[name]["ping"] = {"matrix": matrix, "unreachable_pairs": []}
    for name in names:
        answers = [
            {
                "name": peer["name"],
                "address": peer["address"],
                "port": port,
                **(
                    {"state": "open", "reason": ""}
                    if works(name, peer["name"])
                    else {"state": "timeout", "reason": "no answer in 3 s"}
                ),
            }
            for peer in probes[name]["peers"]
            for port in peer["ports"]
        ]
        facts[name]["tcp"] = {"listening": probes[name]["listen"], "failed": {}, "answers": answers}
    return facts


def _number(name: str) -> int:
    return int(name[4:])


# Which hosts reach each other
FAULTS: dict[str, t.Callable[[str, str], bool]] = {
    "healthy": lambda source, target: True,
    "one host in ten is cut off": lambda source, target: (
        source == target or bool(_number(source) % 10 and _number(target) % 10)
    ),
    "one pair in seven is lost": lambda source, target: (
        source == target or bool((_number(source) * 31 + _number(target)) % 7)
    ),
    "two islands": lambda source, target: _number(source) % 2 == _number(target) % 2,
}
STEPS: dict[str, t.Callable[[t.Any, t.Any], t.Any]] = {
    "fabric_peers": fabric_peers,
    "port_probes": port_probes,
    "check_plan": check_plan,
    "check_text": lambda plan, facts: check_text(plan, facts, check_plan(plan, facts)),
    "check_report": lambda plan, facts: check_report(plan, facts, check_plan(plan, facts)),
}


def calls(step: str, plan: t.Any, facts: t.Any) -> int:
    """Calls of Python functions and builtins that a step makes: unlike seconds, equal in each run."""
    count = 0

    def counted(_frame: t.Any, event: str, _argument: t.Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        STEPS[step](plan, facts)
    finally:
        sys.setprofile(None)
    return count


def main(faults: list[str]) -> None:
    """Print calls and seconds by fault, step and size."""
    for fault in faults or FAULTS:
        first: dict[str, float] = {}
        for hosts in (50, 100, 200):
            plan = plan_of(hosts)
            facts = checked_facts(plan, FAULTS[fault])
            for step in STEPS:
                begin = time.process_time()
                STEPS[step](plan, facts)
                seconds = time.process_time() - begin
                each = calls(step, plan, facts) / hosts
                ratio = each / first.setdefault(step, each)
                print(
                    f"{fault}: {hosts:>3} hosts, {step:<12} {seconds:6.2f} s, {each:8.0f} calls a host, {ratio:.2f} x",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
