# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/check.yml on a simulated A3 cluster of four hosts: ten planted faults, and exactly those (one of them twice) are named."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "simulator"))

import ascend_cluster  # noqa: E402 - its folder is no package; the simulators import nothing of the collection

PLAYBOOK = os.environ.get("CHECK_PLAYBOOK", str(REPOSITORY / "playbooks" / "check.yml"))
FOUR = {
    "hosts": 4,
    "devices": 16,
    "pools": {
        "prefill": {"instances": 2, "data_parallel_size": 2, "tensor_parallel_size": 8},
        "decode": {"data_parallel_size": 32},
    },
}
# What the machine that runs this test has of its own is no simulated host's fault.
MACHINE = [
    "CLOCK",
    "DISK-FREE",
    "HOST-GLIBC",
    "HOST-PYTHON",
    "LIMIT-MEMLOCK",
    "LIMIT-NOFILE",
    "PORT-TAKEN",
    "PROXY-VARIABLES",
]
MACHINE += ["SHM-SIZE", "SYSCTL-MAPS"]
TWO = {"hosts": 2, "devices": 2, "pools": {"prefill": {"tensor_parallel_size": 2}, "decode": {"data_parallel_size": 2}}}


def cluster(folder, shape, **variables):
    """A healthy simulated cluster whose first half prefills and second half decodes, and its inventory."""
    hosts = ascend_cluster.cluster(
        str(folder),
        hosts=shape["hosts"],
        generation="a3",
        devices=shape["devices"],
        driver="25.5.1",
        python=sys.executable,
    )
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text('{"head_dim": 128}')
    (folder / "model" / "model.safetensors").write_text("simulated")
    (folder / "inventory.yml").write_text(yaml.safe_dump(inventory(folder, hosts, shape, variables)))
    return folder


def inventory(folder, hosts, shape, variables):
    def group(members):
        return {
            "hosts": {
                name: {
                    "inference_address": f"127.0.0.{2 + number}",
                    "inference_devices": shape["devices"],
                    "host_check_hccn_conf": hosts[name]["hccn_conf"],
                    "host_check_executables": {
                        "npu_smi": f"{hosts[name]['bin']}/npu-smi",
                        "hccn_tool": f"{hosts[name]['bin']}/hccn_tool",
                    },
                }
                for number, name in members
            }
        }

    named, half = list(enumerate(sorted(hosts))), len(hosts) // 2
    return {
        "all": {
            "vars": {
                "ansible_connection": "local",
                "ansible_python_interpreter": sys.executable,
                "inference_release": "0.23.0",
                "inference_runtime": "supervisor",  # units need a machine whose services systemd manages
                "inference_model": {"path": str(folder / "model"), "name": "ds"},
                "inference_root": "/tmp/ascend-check",
                "inference_check_ignore": MACHINE,
                "inference_pools": shape["pools"],
                **variables,
            }
        },
        "prefill": group(named[:half]),
        "decode": group(named[half:]),
    }


def change(folder, host, edit):
    path = folder / f"{host}.json"
    state = json.loads(path.read_text())
    edit(state)
    path.write_text(json.dumps(state))


def device(number, **values):
    return lambda state: state["devices"][number].update(values)


def check(folder):
    report = folder / "report.json"
    done = subprocess.run(
        ["ansible-playbook", "-i", "inventory.yml", PLAYBOOK]
        + ["-e", f"inference_check_json={report}", "-e", f"inference_check_html={folder / 'report.html'}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), done.stdout + done.stderr
    findings, accepted = [], []
    for one in json.loads(report.read_text())["findings"]:
        (accepted if one["severity"] == "accepted" else findings).append((one["id"], one["path"]))
    return done, findings, accepted


def test_a_healthy_cluster_passes(tmp_path):
    done, findings, _accepted = check(cluster(tmp_path, TWO))
    assert findings == []
    assert done.returncode == 0, done.stdout
    assert "nothing was found" in (tmp_path / "report.html").read_text()


def test_ten_planted_faults_are_named_and_nothing_else(tmp_path):
    folder = cluster(tmp_path, FOUR)
    change(folder, "node0", device(3, health="Critical"))
    change(folder, "node0", device(5, tls=True))
    change(folder, "node1", device(0, link="DOWN"))
    change(folder, "node1", device(7, processes=[{"pid": 4242, "name": "python3", "memory": 900}]))
    change(folder, "node2", device(4, present=False))
    change(folder, "node2", device(9, ip=["10.21.2.99", "255.255.255.0"]))
    change(folder, "node3", lambda state: state.update(driver="25.5.2", tool="25.5.2"))
    change(folder, "node1", device(12, sdid=(2 << 22) | (6 << 18) | 12))
    change(folder, "node3", device(2, net_health="Socket fail"))
    (folder / "network.json").write_text(json.dumps({"dead": ["192.3.2.188"]}))
    done, findings, _accepted = check(folder)
    assert done.returncode != 0
    assert sorted(findings) == sorted(
        [
            ("NPU-HEALTH", "node0 device 3"),
            ("TLS-DIFFERS", "node0 device 5"),
            ("LINK-DOWN", "node1 device 0"),
            ("NPU-BUSY", "node1 device 7"),
            ("NPU-ABSENT", "node2 device 4"),
            ("HCCN-STALE", "node2 device 9"),
            ("DRIVER-DIFFERS", "node3"),
            ("SDID-TWICE", "node1 device 12"),
            ("NET-HEALTH", "node3 device 2"),
            ("PEER-UNREACHABLE", "node3 device 11"),
        ]
    )
    assert "node2 device 9" in done.stdout
