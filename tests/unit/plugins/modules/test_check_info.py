# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""check_info: three parts in one call, each with its own failure; memory errors; pings of a hung chip; incomplete models."""

from __future__ import annotations

import json
import os
import pwd
import time

import ascend_cluster
import pytest
from ansible_collections.ascend.inference.plugins.module_utils.hccn.growth import read_growth
from ansible_collections.ascend.inference.plugins.module_utils.host.model_facts import model_facts
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import Output


def ask(run_module, host, **options):
    tools = {"npu_smi": f"{host['bin']}/npu-smi", "hccn_tool": f"{host['bin']}/hccn_tool"}
    return run_module("check_info", **{**tools, "hccn_conf": host["hccn_conf"], "devices": [0, 1], **options})


def test_all_parts_of_a_healthy_host(cluster, run_module, tmp_path):
    host = cluster(generation="a3", devices=2)["node0"]
    result = ask(run_module, host, disks=[str(tmp_path)], models=[str(tmp_path)])
    assert not result["failed"] and not result["changed"]
    assert [npu["device_id"] for npu in result["npu"]["npus"]] == [0, 1]
    assert result["npu"]["npus"][0]["ecc"]["hbm_double_bit_error_count"] == 0
    assert result["npu"]["npus"][0]["board"]["firmware_version"] and result["npu"]["npus"][0]["sdid"] is not None
    assert result["npu"]["warnings"] == []
    assert result["hccn"]["devices"][1]["optical"]["rx_power_low_thres_milliwatts"] == 0.1445
    assert result["hccn"]["hccn_conf_access"]["mode"] == f"{os.stat(host['hccn_conf']).st_mode & 0o7777:04o}"
    assert result["hccn"]["hccn_conf_access"]["owner"] == pwd.getpwuid(os.getuid()).pw_name
    assert result["host"]["system"]["machine"] and result["host"]["user"]["uid"] >= 0
    assert result["host"]["models"][0]["exists"] and result["host"]["disks"][0]["free_mib"] > 0


def test_a_failed_tool_does_not_lose_the_others(cluster, run_module):
    host = cluster(generation="a3", devices=2)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["driver"] = "not_loaded"
    result = ask(run_module, host, hccn_tool="/nowhere/hccn_tool")
    assert not result["failed"] and result["host"]["system"]
    assert "driver" in result["npu"]["error"] and "does not exist" in result["hccn"]["error"]


def test_a_host_without_devices_is_not_asked_for_npus(run_module):
    result = run_module("check_info")
    assert sorted(set(result) & {"host", "npu", "hccn"}) == ["host"]


@pytest.mark.parametrize("options", [{"timeout": 0}, {"workers": -5}, {"devices": [-1]}])
def test_impossible_options_are_refused(run_module, options):
    assert run_module("check_info", **options)["failed"]


def test_error_counters_that_are_not_0_are_read_twice(cluster, run_module):
    host = cluster(generation="a2", devices=3)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][0].update(rx_errors=17, ecc={"Double Bit Error Count": 3})
        state["devices"][1].update(rx_errors=5, rx_errors_grow=4, link_downs=2, link_downs_grow=1)
    begin = time.monotonic()
    result = ask(run_module, host, devices=[0, 1, 2], counter_seconds=0.5)
    still, growing, clean = result["hccn"]["devices"]
    assert still["growth"]["counters"] == {} and still["growth"]["seconds"] >= 0.5
    assert growing["growth"]["counters"] == {"roce_rx_err_pkt_num": 4, "link_downs": 1}
    assert "growth" not in clean
    assert result["npu"]["npus"][0]["ecc_growth"]["counters"] == {} and "ecc_growth" not in result["npu"]["npus"][1]
    assert time.monotonic() - begin >= 0.5


def test_dead_chips_that_are_not_planned_cost_no_answer_of_the_planned_ones(cluster, run_module):
    host = cluster(generation="a2", devices=4)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["hang"] = [
            f"npu-smi info -t {kind} -i {npu}*" for kind in ("board", "ecc") for npu in (0, 1)
        ]
        state["devices"][2]["ecc"] = {"Double Bit Error Count": 3}
    result = ask(run_module, host, devices=[2, 3], timeout=2, counter_seconds=0, link_details=False)
    assert [npu["ecc"] and npu["ecc"]["hbm_double_bit_error_count"] for npu in result["npu"]["npus"]] == [
        None,
        None,
        3,
        0,
    ]
    assert result["npu"]["npus"][3]["board"]["firmware_version"] and result["npu"]["warnings"] == []


def test_a_failed_second_reading_is_recorded():
    """A chip that hangs some seconds later is hung, too."""
    links = [{"device_id": 0, "errors": {}, "stats": {"roce_rx_err_pkt_num": 3}}]

    def hangs(args, stdin=None):
        return Output(["hccn_tool", *args], None, "", "", True)

    read_growth(hangs, links, 0, 1, time.monotonic())
    assert "growth" not in links[0] and "exceeded the timeout" in links[0]["hung"] and "stats" in links[0]["errors"]


def test_a_hung_chip_is_named_once_and_its_pings_are_given_up(cluster, run_module):
    host = cluster(generation="a2", devices=2)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["hang"] = ["hccn_tool -i 1 *"]
    result = ask(run_module, host, timeout=3, link_details=False)
    assert "exceeded the timeout" in result["hccn"]["devices"][1]["hung"]
    assert "hung" not in result["hccn"]["devices"][0]
    peers = [{"address": f"10.20.9.{number}", "devices": [1]} for number in range(9)]
    found = run_module(
        "hccn_ping", executable=f"{host['bin']}/hccn_tool", devices=[1], peers=peers, timeout=1, fail=False
    )
    assert found["given_up"] == [{"device_id": 1, "pinged": 2, "planned": 9}]
    assert len(found["matrix"]["1"]) == 2


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ({"model.safetensors": ""}, []),
        ({}, ["weights (*.safetensors, *.bin, *.pt, *.gguf)"]),
        (
            {
                "a-00001-of-00002.safetensors": "",
                "model.safetensors.index.json": json.dumps(
                    {"weight_map": {"x": "a-00001-of-00002.safetensors", "y": "a-00002-of-00002.safetensors"}}
                ),
            },
            ["a-00002-of-00002.safetensors"],
        ),
    ],
)
def test_an_incomplete_model_names_what_it_lacks(tmp_path, files, missing):
    (tmp_path / "config.json").write_text("{}")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert model_facts(str(tmp_path))["missing"] == missing


def test_a_link_without_target_is_missing(tmp_path):
    (tmp_path / "model.safetensors").symlink_to(tmp_path / "blobs" / "gone")
    assert model_facts(str(tmp_path))["missing"] == ["model.safetensors"]
