# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook fabric on two simulated hosts: TLS is switched off on all devices, addresses are given, and all of it is undone."""

from __future__ import annotations

import json
import pathlib

import pytest
from ansible_collections.ascend.inference.tests.integration._fabric import HOSTS, made_site
from ansible_collections.ascend.inference.tests.simulator import ascend_cluster


@pytest.fixture
def site(tmp_path):
    with made_site(tmp_path) as found:
        yield found


OFF = {"inference_fabric": {"tls": False}}


def test_tls_is_switched_off_on_all_devices_and_back(site):
    before = site.everything()
    run = site.play(inference_fabric={"addresses": ["10.30.0.10"]})
    assert run.code != 0 and "No host was changed." in run.text and "[FABRIC-VALUE]" in run.text, run.output
    assert (site.everything(), site.locked()) == (before, {})
    assert (site.root / "deployments").exists(), "it was locked"

    run = site.play(inference_fabric_json=str(site.folder / "report.json"), **OFF)
    assert run.code == 0 and "tls is off on 6 devices" in run.text, run.output
    assert [device["tls"] for name in HOSTS for device in site.devices(name)] == [False] * 6
    report = json.loads((site.folder / "report.json").read_text())
    assert report["node1"]["before"]["2"]["tls"] is True and report["node1"]["after"]["2"]["tls"] is False

    run = site.play(inference_fabric_rollback=True)
    assert run.code == 0 and "tls is on on 6 devices" in run.text, run.output
    assert site.everything() == before and not (site.folder / "node0" / "fabric.json").exists()


@pytest.mark.long
def test_a_host_that_fails_is_reported_with_all_others_and_the_way_back(site):
    """One play of two hosts, which change together: TLS moves no address."""
    before = site.everything()
    tool = pathlib.Path(site.made["node1"]["bin"]) / "hccn_tool"
    real = tool.with_name("hccn_tool_real")
    tool.rename(real)
    script = '#!/bin/sh\ncase "$*" in "-i 1 -tls -s"*) echo "Command execute failed!"; exit 1 ;; esac\n'
    tool.write_text(f'{script}exec "{real}" "$@"\n')
    tool.chmod(0o755)
    run = site.play(inference_fabric_json=str(site.folder / "report.json"), **OFF)
    assert run.code != 0 and "All settings are set on node0." in run.text, run.output
    assert "half set: device 1 (not set: tls)" in run.text and "-e inference_fabric_rollback=true" in run.text
    report = json.loads((site.folder / "report.json").read_text())
    assert report["node1"]["after"]["0"]["tls"] is False and report["node1"]["after"]["1"]["tls"] is True
    assert site.locked() == {} and site.everything() != before

    run = site.play(inference_fabric_rollback=True)
    assert run.code == 0 and site.everything() == before, run.output


@pytest.mark.long
def test_check_mode_changes_nothing_nor_does_the_second_run(site):
    before = site.everything()
    run = site.play("--check", "--diff", **OFF)
    assert run.code == 0 and site.everything() == before, run.output
    assert "tls would be off on 6 devices" in run.text
    assert not (site.folder / "node0" / "fabric.json").exists()

    assert site.play(**OFF).code == 0
    changed = site.everything()
    run = site.play(**OFF)
    assert run.code == 0 and run.changed == 0 and site.everything() == changed, run.output
    assert "No setting differs." in run.output


@pytest.mark.long
def test_hosts_change_one_after_the_other_and_a_running_engine_prevents_all(site):
    with ascend_cluster.edit(site.made["node1"]["state"]) as state:
        state["devices"][1]["processes"] = [{"pid": 4711, "name": "python3", "memory": 100, "container_pid": None}]
    before = site.everything()
    fabric = {"addresses": ["10.30.0.10-10.30.0.15/24"], "gateway": ["first"], "netdetect": "gateway"}
    run = site.play(inference_fabric=fabric)
    assert run.code != 0 and "node1 device 1: processes on it: python3 (4711). [FABRIC-BUSY]" in run.text, run.output
    assert (site.everything(), site.locked()) == (before, {})

    with ascend_cluster.edit(site.made["node1"]["state"]) as state:
        state["devices"][1]["processes"] = []
    run = site.play(inference_fabric=fabric)
    assert run.code == 0, run.output
    assert [device["ip"][0] for name in HOSTS for device in site.devices(name)] == [
        f"10.30.0.{number}" for number in range(10, 16)
    ]
    assert {device["gateway"] for name in HOSTS for device in site.devices(name)} == {"10.30.0.1"}
    assert run.output.count("PLAY [Apply the settings]") == 2, "one host at a time"
