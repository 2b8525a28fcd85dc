# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/check.yml on a simulated A3 cluster of four hosts: ten planted faults are reported, and no others (one of them twice)."""

from __future__ import annotations

import json
import os
import pathlib
import re
import socket
import subprocess
import sys

import pytest
import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "simulator"))

import ascend_cluster  # noqa: E402 - its folder is no package; the simulators import nothing of the collection
import replay  # noqa: E402

PLAYBOOK = os.environ.get("CHECK_PLAYBOOK", str(REPOSITORY / "playbooks" / "check.yml"))
FOUR = {
    "hosts": 4,
    "devices": 8,  # half of an A3: the simulated tools start for each value of each device
    "pools": {
        "prefill": {"instances": 2, "data_parallel_size": 2, "tensor_parallel_size": 4},
        "decode": {"data_parallel_size": 16},
    },
}
TWO = {"hosts": 2, "devices": 2, "pools": {"prefill": {"tensor_parallel_size": 2}, "decode": {"data_parallel_size": 2}}}


def cluster(folder, shape, generation="a3", **variables):
    """A healthy simulated cluster whose first half prefills and second half decodes, and its inventory."""
    hosts = ascend_cluster.cluster(
        str(folder),
        hosts=shape["hosts"],
        generation=generation,
        devices=shape["devices"],
        driver="25.5.1",
        python=sys.executable,
    )
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text('{"head_dim": 128}')
    (folder / "model" / "model.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{}")  # no tensors
    (folder / "model" / "tokenizer.json").write_text("{}")
    (folder / "model" / "chat_template.jinja").write_text("{{ messages }}")
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
                "inference_check_ignore": ascend_cluster.MACHINE,
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
    for finding in json.loads(report.read_text())["findings"]:
        (accepted if finding["severity"] == "accepted" else findings).append((finding["id"], finding["path"]))
    return done, findings, accepted


def test_a_healthy_cluster_passes(tmp_path):
    done, findings, _accepted = check(cluster(tmp_path, TWO))
    assert findings == []
    assert done.returncode == 0, done.stdout
    assert re.search(r"(\d+) of \1 TCP connections between hosts were tested", " ".join(done.stdout.split()))
    assert "no findings" in (tmp_path / "report.html").read_text()


def uncabled(state):
    for device_ in state["devices"]:
        device_.update(link="DOWN", lldp=None, ip=None, gateway=None, netdetect=None, optical=False)


def test_an_a3_that_transfers_over_hccs_needs_no_cables_and_a_dead_virtual_nic_is_found(tmp_path):
    folder = cluster(tmp_path, TWO)
    for name in ("node0", "node1"):
        change(folder, name, uncabled)
    done, _findings, _accepted = check(folder)
    assert done.returncode == 0, done.stdout
    severities = {finding["severity"] for finding in json.loads((folder / "report.json").read_text())["findings"]}
    assert "remark" in severities and severities <= {"remark", "accepted"}
    change(folder, "node1", device(1, vnic={"link": "DOWN", "address": "192.1.2.198", "netmask": "255.255.255.0"}))
    done, findings, _accepted = check(folder)
    assert done.returncode != 0
    assert ("VNIC-DOWN", "node1 device 1") in findings


def test_measured_faults_of_an_a2_are_named(tmp_path):
    folder = cluster(tmp_path, TWO, "a2", inference_hardware="a2", inference_release="0.18.0")
    change(folder, "node0", device(0, temp=108))
    change(folder, "node0", device(1, hbm=[61000, 65536]))
    change(folder, "node1", device(0, ecc={"Double Bit Error Count": 3}, link_downs=9))
    change(folder, "node1", device(1, rx_power=0.0054, rx_errors=17))
    done, findings, _accepted = check(folder)
    assert done.returncode != 0
    assert sorted(findings) == [
        ("HBM-USED", "node0 device 1"),
        ("LINK-FLAPS", "node1 device 0"),
        ("NPU-ECC", "node1 device 0"),
        ("NPU-TEMPERATURE", "node0 device 0"),
        ("OPTICAL", "node1 device 1"),
        ("PACKET-ERRORS", "node1 device 1"),
    ]


def test_ten_planted_faults_are_named_and_nothing_else(tmp_path):
    folder = cluster(tmp_path, FOUR)
    change(folder, "node0", device(3, health="Critical"))
    change(folder, "node0", device(5, tls=True))
    change(folder, "node1", device(0, link="DOWN"))
    change(folder, "node1", device(7, processes=[{"pid": 4242, "name": "python3", "memory": 900}]))
    change(folder, "node2", device(4, present=False))
    change(folder, "node2", device(1, ip=["10.21.2.99", "255.255.255.0"]))
    change(folder, "node3", lambda state: state.update(driver="25.5.2", tool="25.5.2"))
    change(folder, "node1", device(6, sdid=(2 << 22) | (3 << 18) | 6))
    change(folder, "node3", device(2, net_health="Socket fail"))
    (folder / "network.json").write_text(json.dumps({"dead": ["192.3.2.196"]}))
    done, findings, _accepted = check(folder)
    assert done.returncode != 0
    assert sorted(findings) == sorted(
        [
            ("NPU-HEALTH", "node0 device 3"),
            ("TLS-DIFFERS", "node0 device 5"),
            ("LINK-DOWN", "node1 device 0"),
            ("NPU-BUSY", "node1 device 7"),
            ("NPU-ABSENT", "node2 device 4"),
            ("HCCN-STALE", "node2 device 1"),
            ("DRIVER-DIFFERS", "node3"),
            ("SDID-TWICE", "node1 device 6"),
            ("NET-HEALTH", "node3 device 2"),
            ("PEER-UNREACHABLE", "node3 device 3"),
        ]
    )
    assert "node2 device 1" in done.stdout


@pytest.mark.long  # test_acceptance_archive.py replays the tools without a playbook
def test_a_masked_archive_of_a_failed_acceptance_reproduces_the_findings(tmp_path):
    (tmp_path / "real" / "out").mkdir(parents=True)
    folder = cluster(tmp_path / "real", TWO)
    change(folder, "node0", device(0, tls=True))
    change(folder, "node1", device(1, health="Critical"))
    (folder / "network.json").write_text(json.dumps({"dead": ["192.0.2.198"]}))
    done = run(
        folder,
        "-e",
        "{inference_acceptance: {mask: true, folder: out}}",
        playbook=str(pathlib.Path(PLAYBOOK).with_name("acceptance.yml")),
    )
    assert done.returncode != 0 and "Not accepted: the check found" in done.stdout, done.stdout + done.stderr
    report = json.loads((folder / "out" / "inference-acceptance.json").read_text())
    found = [
        (item["id"], item["path"])
        for item in report["deviations"]
        if item["severity"] != "accepted" and not item["id"].startswith("ACCEPTANCE-")
    ]
    assert sorted(found) == [
        ("NPU-HEALTH", "node1 device 1"),
        ("PEER-UNREACHABLE", "node0 device 1"),
        ("TLS-DIFFERS", "node0 device 0"),
    ]
    assert report["verdict"] == "not passed"
    assert [row["state"] for row in report["stages"]] == ["failed", "not begun", "not begun", "not begun", "not asked"]
    page = (folder / "out" / "inference-acceptance.html").read_text()
    assert "Not passed." in page and report["digest"] in page and "node1 device 1" in page
    archive = folder / "out" / "inference-acceptance.tar.gz"
    texts = replay.contents(archive)
    whole = "".join([*texts, *texts.values()])
    assert [word for word in ("node0", "node1", "10.20.0.10", "192.0.2.198") if word in whole] == []
    (tmp_path / "again").mkdir()
    replay.replay(archive, tmp_path / "again", folder / "model")
    _done, findings, _accepted = check(tmp_path / "again")
    assert sorted(findings) == sorted(
        (id_, path.replace("node0", "host-1").replace("node1", "host-2")) for id_, path in found
    )


def run(folder, *arguments, playbook=PLAYBOOK):
    return subprocess.run(
        ["ansible-playbook", "-i", "inventory.yml", playbook, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ANSIBLE_HOST_KEY_CHECKING": "false", "ANSIBLE_SSH_TIMEOUT": "3"},
    )


def rewrite(folder, edit):
    path = folder / "inventory.yml"
    inventory_ = yaml.safe_load(path.read_text())
    edit(inventory_)
    path.write_text(yaml.safe_dump(inventory_))


def test_a_limit_that_makes_a_play_empty_is_refused_with_a_fix(tmp_path):
    folder = cluster(tmp_path, TWO)
    done = run(folder, "--limit", "node0")
    assert done.returncode != 0
    assert "--limit 'node0,localhost'" in done.stdout
    done = run(folder, "--limit", "node0,localhost", playbook=str(REPOSITORY / "playbooks" / "deploy.yml"))
    assert done.returncode != 0
    assert "excludes 1 of 2 planned hosts: node1." in " ".join(done.stdout.split())
    assert "Gather facts of the planned hosts" not in done.stdout


def test_a_part_of_the_hosts_is_checked_and_the_rest_named(tmp_path):
    folder = cluster(tmp_path, TWO)
    done = run(folder, "--limit", "node0,localhost")
    assert done.returncode == 0, done.stdout
    assert "Excluded by --limit, not checked: node1." in done.stdout
    assert "1 of 2 planned hosts answered" in done.stdout


def test_a_host_that_is_lost_during_the_check_is_an_error_with_its_reason(tmp_path):
    folder = cluster(tmp_path, TWO)
    change(folder, "node1", device(0, health="Critical"))
    # the connection of node1 fails at the first module: its temporary folder is not writable
    # (with pipelining, which `make` enables, no temporary folder is needed)
    rewrite(
        folder,
        lambda inventory_: inventory_["decode"]["hosts"]["node1"].update(
            ansible_remote_tmp="/proc/none", ansible_shell_type="sh", ansible_pipelining=False
        ),
    )
    done, findings, _accepted = check(folder)
    assert done.returncode != 0
    assert findings == [("HOST-UNREACHABLE", "node1")]
    assert "temporary folder" in done.stdout
    assert "eady to deploy, no findings" not in done.stdout


def test_a_sudo_password_that_is_missing_is_named_beside_the_faults_of_others(tmp_path):
    folder = cluster(tmp_path, TWO)
    change(folder, "node0", device(0, health="Critical"))
    sudo = folder / "sudo"
    sudo.write_text("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    sudo.chmod(0o755)
    become = {"ansible_become": True, "ansible_become_user": "nobody", "ansible_become_exe": str(sudo)}
    rewrite(folder, lambda inventory_: inventory_["decode"]["hosts"]["node1"].update(become))
    done, findings, _accepted = check(folder)
    assert done.returncode != 0
    assert sorted(findings) == [("HOST-ANSWER", "node1"), ("NPU-HEALTH", "node0 device 0")]
    assert "the connected user needs a password for sudo" in " ".join(done.stdout.split())


def test_the_status_names_a_refused_sudo(tmp_path):
    folder = cluster(tmp_path, TWO)
    sudo = folder / "sudo"
    sudo.write_text("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    sudo.chmod(0o755)
    become = {"ansible_become": True, "ansible_become_user": "nobody", "ansible_become_exe": str(sudo)}
    rewrite(folder, lambda inventory_: inventory_["decode"]["hosts"]["node1"].update(become))
    argv = ["ansible-playbook", "-i", "inventory.yml", str(pathlib.Path(PLAYBOOK).with_name("status.yml"))]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "password" in next(line for line in done.stdout.splitlines() if line.startswith("node1")), done.stdout


def test_a_wrong_interpreter_is_one_finding(tmp_path):
    folder = cluster(tmp_path, TWO)
    wrong = {"ansible_python_interpreter": "/usr/bin/python3.99"}
    rewrite(folder, lambda inventory_: inventory_["decode"]["hosts"]["node1"].update(wrong))
    done, findings, _accepted = check(folder)
    assert done.returncode != 0
    assert findings == [("HOST-ANSWER", "node1")]
    assert "ansible_python_interpreter does not exist" in " ".join(done.stdout.split())


def test_all_hosts_unreachable_is_one_report_with_the_reasons(tmp_path):
    folder = cluster(tmp_path, TWO)
    address = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}

    def edit(inventory_):
        inventory_["all"]["vars"].update(address)
        for number, (group, name) in enumerate((("prefill", "node0"), ("decode", "node1"))):
            inventory_[group]["hosts"][name]["inference_address"] = (
                f"198.51.100.{number}"  # RFC 5737: a documentation address
            )

    rewrite(folder, edit)
    done, findings, _accepted = check(folder)
    assert done.returncode != 0
    assert findings == [("HOST-UNREACHABLE", "node0"), ("HOST-UNREACHABLE", "node1")]
    assert "2 places (node0" in done.stdout or "Connection refused" in done.stdout
    assert done.stdout.count("onnection refused") <= 10  # two for each host, and the report


def test_a_port_that_drops_connections_is_named_and_a_free_one_passes(tmp_path):
    folder = cluster(tmp_path, TWO)
    with socket.socket() as full:  # with a full backlog the kernel drops further connections, as a firewall does
        full.bind(("127.0.0.2", 22000))  # prefill's first KV port on node0
        full.listen(0)
        waiting = [socket.socket() for _number in range(4)]
        for item in waiting:
            item.setblocking(False)
            item.connect_ex(("127.0.0.2", 22000))
        done, findings, _accepted = check(folder)
        for item in waiting:
            item.close()
    assert done.returncode != 0
    assert findings == [("PORT-BLOCKED", "node0")]
    text = " ".join(done.stdout.split())
    assert "node1 cannot connect to ports 22000 (prefill-0 kv): 1 of" in text and "no answer in 3 s" in text


def test_an_empty_inventory_is_named(tmp_path):
    (tmp_path / "inventory.yml").write_text("all: {hosts: {}}\n")
    done = run(tmp_path)
    assert done.returncode != 0
    assert "Ansible found no hosts in" in done.stdout
