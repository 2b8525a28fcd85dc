# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""npu_info against simulated hosts, and against programs that always print the same."""

from __future__ import annotations

import ascend_cluster
import pytest


def tool(host, name="npu-smi"):
    return f"{host['bin']}/{name}"


def test_a3_gathers_table_and_super_pod(cluster, run_module):
    host = cluster(hosts=3)["node2"]
    result = run_module("npu_info", executable=tool(host))
    assert not result["failed"] and not result["changed"] and result["warnings"] == []
    assert result["generation"] == "a3" and result["driver_version"] == "25.5.1"
    assert [npu["device_id"] for npu in result["npus"]] == list(range(16))
    assert {(npu["super_pod_id"], npu["server_index"]) for npu in result["npus"]} == {(0, 2)}
    assert result["npus"][11]["sdid"] == (2 << 22) | (5 << 18) | (1 << 16) | 11


@pytest.mark.parametrize("generation", ["a2", "a3", "910a", "310p", "950"])
@pytest.mark.parametrize("driver", ["24.1.0", "25.5.1", "26.0.rc1"])
def test_every_generation_and_driver(cluster, run_module, generation, driver):
    host = cluster(generation=generation, devices=4, driver=driver)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][1]["processes"] = [{"pid": 4711, "name": "", "memory": 60000, "container_pid": 12}]
        state["devices"][2]["health"] = "Critical"
    result = run_module("npu_info", executable=tool(host))
    assert (result["generation"], result["driver_version"], result["warnings"]) == (generation, driver, [])
    assert [npu["health"] for npu in result["npus"]] == ["OK", "OK", "Critical", "OK"]
    assert [len(npu["processes"]) for npu in result["npus"]] == [0, 1, 0, 0]
    assert result["npus"][1]["processes"][0]["pid"] == 4711
    wide = driver.startswith("26") and generation in ("a2", "a3", "910a")
    assert result["npus"][1]["processes"][0]["container_pid"] == (12 if wide else None)


def test_details_and_topology(cluster, run_module):
    host = cluster(devices=4)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][3].update(health="Alarm", error_codes=["80E18401", "A4025021"])
    parts = ["table", "board", "health", "usages", "common", "memory", "topology"]
    result = run_module("npu_info", executable=tool(host), gather=parts)
    third = result["npus"][3]
    assert third["health_report"] == {
        "status": "Alarm",
        "error_codes": ["80E18401", "A4025021"],
        "messages": ["simulated fault 80E18401", "simulated fault A4025021"],
    }
    assert third["board"]["firmware_version"] == "7.8.0.1.220"
    assert third["usages"]["hbm_capacity_mib"] == 65536 and third["common"]["aicore_count"] == 24
    assert third["memory"]["hbm_temperature_celsius"] == 50
    assert result["topology"]["matrix"]["2"] == {"0": "HCCS", "1": "HCCS", "2": "X", "3": "SIO"}
    assert "sdid" not in third


def test_sdid_that_contradicts_itself_is_a_warning(cluster, run_module):
    host = cluster(devices=2)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][1]["sdid"] += 7 << 22
    result = run_module("npu_info", executable=tool(host))
    assert len(result["warnings"]) == 1 and "server_index 7" in result["warnings"][0]


def test_missing_card_row_and_lost_chip(cluster, run_module):
    host = cluster(generation="a2", devices=8)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][2]["health"] = "?"
        state["devices"][5]["present"] = False
    result = run_module("npu_info", executable=tool(host))
    assert [npu["npu_id"] for npu in result["npus"]] == [0, 1, 2, 3, 4, 6, 7]
    assert result["npus"][2]["health"] is None and result["npus"][2]["hbm_used_mib"] == 3002


@pytest.mark.parametrize(
    "driver, expected",
    [
        ("not_loaded", "reboot the host"),
        ("container_used", "in use by another container"),
        ("loader", "libascend_hal.so"),
        ("no_npu", "finds no NPU"),
    ],
)
def test_errors_say_what_to_do(cluster, run_module, driver, expected):
    host = cluster(devices=2)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["driver"] = driver
    result = run_module("npu_info", executable=tool(host))
    assert result["failed"] and expected in result["msg"] and "npus" not in result


def test_superpod_asked_for_where_there_is_none(cluster, run_module):
    host = cluster(generation="a2", devices=2)["node0"]
    result = run_module("npu_info", executable=tool(host), gather=["superpod"])
    assert result["failed"] and "does not support spod-info" in result["msg"]


def test_super_pod_of_a_950_is_asked_without_a_chip(cluster, run_module, tmp_path):
    host = cluster(generation="950", devices=2)["node0"]
    program = tmp_path / "npu-smi"
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        f"info) exec {tool(host)} info;;\n"
        '*-c*) echo "This device does not support input parameter of -c."; exit 215;;\n'
        'esac\nprintf "\\tSuper Pod Size : 1024\\n\\tSuper Pod ID : 3\\n\\tChassis ID : 1\\n\\tSuper Pod Type : 1\\n"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    result = run_module("npu_info", executable=str(program), gather=["superpod"])
    assert not result["failed"] and result["warnings"] == []
    assert [(npu["super_pod_id"], npu["super_pod_size"], npu["sdid"]) for npu in result["npus"]] == [
        (3, 1024, None)
    ] * 2


def test_a_program_that_always_prints_the_table_still_gives_the_table(cluster, run_module, printing):
    import subprocess

    text = subprocess.check_output([tool(cluster(devices=4)["node0"]), "info"]).decode()
    result = run_module("npu_info", executable=printing(text))
    assert not result["failed"] and len(result["npus"]) == 4
    assert [npu["sdid"] for npu in result["npus"]] == [None] * 4
    assert len(result["warnings"]) == 1 and result["warnings"][0].startswith("superpod: ")


@pytest.mark.parametrize(
    "text, err, rc", [("", "", 0), ("nonsense\n", "", 0), ("", "boom\n", 3), ("Usage: npu-smi\n", "", 215)]
)
def test_no_answer_is_never_an_empty_list(run_module, printing, text, err, rc):
    result = run_module("npu_info", executable=printing(text, rc, err))
    assert result["failed"] and "program info" in result["msg"]


def test_hanging_tool_is_killed(cluster, run_module):
    host = cluster(devices=2)["node0"]
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["hang"] = ["npu-smi info"]
    result = run_module("npu_info", executable=tool(host), timeout=3)
    assert result["failed"] and "exceeded the timeout" in result["msg"]


def test_missing_executable(run_module):
    result = run_module("npu_info", executable="/nowhere/npu-smi")
    assert result["failed"] and "does not exist" in result["msg"]
