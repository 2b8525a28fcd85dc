# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever state a host is in: the table that npu-smi prints of it reads back as that state."""

from __future__ import annotations

import json
import os
import tempfile

import ascend_cluster
import pytest
import simulated_npu_smi
from ansible_collections.ascend.inference.plugins.module_utils.npu_smi.table import parse_info
from simulated_host import Host

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings  # (after importorskip)
from hypothesis import strategies as st

GENERATIONS = ("a2", "a3", "910a", "310p", "950")


@st.composite
def pair(draw, most):
    total = draw(st.integers(0, most))
    return [draw(st.integers(0, total)), total]


@st.composite
def host_states(draw):
    generation = draw(st.sampled_from(GENERATIONS))
    driver = draw(st.sampled_from(["23.0.rc2", "24.1.0.1", "25.5.1", "26.0.rc1"]))
    npus = draw(st.lists(st.integers(0, 32800), min_size=1, max_size=5, unique=True))
    dies = 2 if generation == "a3" else 1
    state = ascend_cluster.host_state(generation, 0, len(npus) * dies, driver=driver)
    for device, npu in zip(state["devices"], [npu for npu in sorted(npus) for _die in range(dies)]):
        device.update(
            npu=npu,
            health=draw(st.sampled_from(["OK", "Warning", "Alarm", "Critical", "UNKNOWN"])),
            temp=draw(st.one_of(st.integers(-20, 110), st.just("NA"))),
            aicore=draw(st.integers(0, 100)),
            hbm=[0, 0] if generation == "310p" else draw(pair(131072)),
            memory=draw(pair(65536)),
            hugepages=draw(pair(99999)),
        )
        if generation != "310p" and device["power"] != "-":
            device["power"] = f"{draw(st.integers(0, 9999)) / 10:.1f}"
        device["processes"] = [
            {
                "pid": draw(st.integers(1, 4194304)),
                "name": draw(st.from_regex(r"[\w:.-]{0,16}", fullmatch=True)),
                "memory": draw(st.integers(0, 99999)),
            }
            for _process in range(draw(st.integers(0, 3)))
        ]
    return state


def expected(state):
    wide = simulated_npu_smi.layout(Host(write(state))) == "116"
    for device in state["devices"]:
        generation = state["generation"]
        yield {
            "npu_id": device["npu"],
            "chip_id": None if generation == "950" else device["chip"],
            "device_id": device["id"] if generation in ("a3", "310p") else None,
            "name": device["name"],
            "health": device["health"],
            "bus_id": device["bus"],
            "power_watts": None if device["power"] in ("-", "NA") else float(device["power"]),
            "temperature_celsius": None if device["temp"] == "NA" else device["temp"],
            "aicore_percent": device["aicore"],
            "memory_used_mib": device["memory"][0],
            "memory_total_mib": device["memory"][1],
            "hbm_used_mib": None if generation == "310p" else device["hbm"][0],
            "hbm_total_mib": None if generation == "310p" else device["hbm"][1],
            "hugepages_used": device["hugepages"][0],
            "hugepages_total": device["hugepages"][1],
            "processes": [
                {
                    "pid": process["pid"],
                    "name": process["name"],
                    "memory_mib": process["memory"],
                    "container_pid": 7 if wide else None,
                }
                for process in device["processes"]
            ],
        }


def write(state):
    for device in state["devices"]:
        for process in device["processes"]:
            process["container_pid"] = 7
    path = os.path.join(tempfile.gettempdir(), f"ascend-property-{os.getpid()}.json")
    with open(path, "w", encoding="utf-8") as handle:
        json.dump(state, handle)
    return path


def place(npu):
    return npu["npu_id"], npu["chip_id"] or 0


@settings(max_examples=150, deadline=None)
@given(host_states())
def test_the_table_reads_back_as_the_state(state):
    path = write(state)
    try:
        result = parse_info(simulated_npu_smi.table(Host(path)))
        assert sorted(result["npus"], key=place) == sorted(expected(state), key=place)
        assert result["generation"] == state["generation"] and result["driver_version"] == state["driver"]
        assert result["warnings"] == []
    finally:
        os.remove(path)
