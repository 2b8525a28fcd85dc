# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which recipes fit the hosts of an inventory: by what each pool needs, and by what the inventory and facts say of the hosts."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.description.variables import DEVICES
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes.catalogue import RECIPES
from ansible_collections.ascend.inference.plugins.plugin_utils.views import recipe_fit
from ansible_collections.ascend.inference.plugins.plugin_utils.views.recipe_fit import Rack, fit_lines, racks, unfit


def recipe(pools, hosts=9, hardware="a3"):
    words = ("instances", "data_parallel_size", "tensor_parallel_size", "pipeline_parallel_size")
    named = {kind: dict(zip(words, sizes, strict=False)) for kind, sizes in pools.items()}
    variables = {"inference_pools": named}
    return {"hardware": hardware, "hosts": hosts, "variables": variables, "release": "r", "source": "s", "notes": []}


def a3(count, devices=16, gib=0):
    return [Rack(f"n{number}", "a3", devices, gib) for number in range(count)]


@pytest.mark.parametrize(
    ("pools", "hosts", "devices", "needed"),
    [
        ({"prefill": (2, 2, 8), "decode": (1, 32, 1)}, 9, 16, {"prefill": 2, "decode": 2}),
        ({"prefill": (2, 2, 8), "decode": (1, 32, 1)}, 9, 8, {"prefill": 4, "decode": 4}),
        ({"prefill": (2, 1, 8), "decode": (3, 1, 4)}, 9, 16, {"prefill": 1, "decode": 1}),
        ({"prefill": (1, 1, 2), "decode": (1, 1, 2)}, 9, 16, {"prefill": 1, "decode": 1}),
        ({"prefill": (1, 1, 2), "decode": (1, 1, 2)}, 1, 16, {"prefill": 0, "decode": 1}),
        ({"prefill": (1, 1, 8), "decode": (1, 1, 16)}, 1, 16, {"prefill": 1, "decode": 1}),
        ({"colocated": (1, 1, 16, 2)}, 2, 16, {"colocated": 2}),
        ({"colocated": (1, 2, 16, 2)}, 4, 16, {"colocated": 4}),
        ({"colocated": (1, 3, 5)}, 2, 8, {"colocated": 3}),
        ({"colocated": (1, 1, 16)}, 1, 8, {}),
    ],
)
def test_the_hosts_that_pools_need(pools, hosts, devices, needed):
    assert recipe_fit.hosts_of_pools(recipe(pools, hosts), devices) == needed


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_recipe_fits_hosts_like_those_of_its_source_and_not_fewer(name):
    found, devices = RECIPES[name], DEVICES[RECIPES[name]["hardware"]]
    needed = sum(recipe_fit.hosts_of_pools(found, devices).values())
    assert 0 < needed <= found["hosts"]
    hosts = [Rack(f"n{number}", found["hardware"], devices, 0) for number in range(needed)]
    assert unfit(found, hosts) == ""
    assert unfit(found, hosts[1:])
    assert unfit(found, [rack._replace(hardware="310p") for rack in hosts])


@pytest.mark.parametrize(
    ("hosts", "reason"),
    [
        ([Rack("n", "a2", 8, 64)] * 9, "A3 hosts; there are none"),
        (a3(3), "4 A3 hosts with 16 NPUs; there are 3"),
        (a3(1), "4 A3 hosts with 16 NPUs; there is 1"),
        (a3(4), ""),
        (a3(4, gib=62), ""),
        (a3(4, gib=32), "NPUs of 64 GiB; those of n0 have 32"),
        ([*a3(3), *a3(1, gib=32)], "4 A3 hosts with 16 NPUs; there are 3"),
        ([*a3(3), *a3(1, devices=8)], "4 A3 hosts with 16 NPUs; there are 3"),
        (a3(8, devices=8), ""),
        ([*a3(3), *a3(5, devices=8)], ""),
        (a3(40, devices=4), "A3 hosts with more than 4 NPUs: the NPUs of one rank are on one host"),
    ],
)
def test_what_hosts_are_not(hosts, reason):
    assert unfit(recipe({"prefill": (2, 2, 8), "decode": (1, 32, 1)}), hosts) == reason


def test_lines_of_the_fit(monkeypatch):
    shelf = {"small": recipe({"colocated": (1, 2, 8)}, 1), "large": recipe({"colocated": (9, 2, 8)})}
    monkeypatch.setattr(recipe_fit, "RECIPES", {**shelf, "other": {**shelf["small"], "hardware": "a2"}})
    assert fit_lines([*a3(2), *a3(1, 8, 61)]) == [
        "2 A3 hosts with 16 NPUs of 64 GiB, as no facts say otherwise (inference_model_facts)",
        "1 A3 host with 8 NPUs of 61 GiB",
        "",
        "Recipes that fit these hosts, 1 of 3:",
        "small",
        "  1 x colocated (DP 2, TP 8) on 1 A3 host, none; documented for r",
        "  s",
        "",
        "These need 9 A3 hosts with 16 NPUs; there are 2:",
        "  large",
        "",
        "These need A2 hosts; there are none:",
        "  other",
    ]
    assert fit_lines([Rack("n", "950", 8, 0)])[2] == "Recipes that fit these hosts, 0 of 3:"
    (line,) = fit_lines([])
    assert line.startswith("The inventory has no host with NPUs") and "Fix: name it with -i" in line


def inventory(**hosts):
    groups = {"all": list(hosts), "prefill": ["n1"], "decode": ["n2"], "router": ["r"]}
    return groups, {"localhost": {}, **hosts}


def test_hosts_of_pools_with_what_the_inventory_says():
    groups, hostvars = inventory(n1={"inference_hardware": "a2"}, n2={"inference_devices": [0, 1]}, r={})
    assert racks(groups, hostvars) == [Rack("n1", "a2", 8, 0), Rack("n2", "a3", 2, 0)]
    hostvars["localhost"] = {"inference_group": "router"}
    assert [rack.name for rack in racks(groups, hostvars)] == ["r"], "a group without pools is taken as it is"
    assert racks({}, {}) == []
    cpu = {name: {"inference_hardware": "cpu"} for name in ("n1", "n2", "r")}
    assert racks(*inventory(**cpu)) == []


def test_facts_tell_the_number_and_the_memory_of_npus(tmp_path):
    npus = [{"device_id": number, "npu_id": number, "hbm_total_mib": 32768 + number} for number in range(4)]
    path = tmp_path / "check.json"
    path.write_text(json.dumps({"facts": {"n1": {"npu": {"npus": npus}}, "n2": {"npu": {"npus": npus}}}}))
    groups, hostvars = inventory(n1={}, n2={"inference_devices": 2}, r={})
    assert racks(groups, hostvars, str(path)) == [Rack("n1", "a3", 4, 32), Rack("n2", "a3", 2, 32)]
    with pytest.raises(PlanError, match="cannot be read"):
        racks(groups, hostvars, str(tmp_path / "none"))


def test_wrong_words_of_hosts_are_refused():
    groups, hostvars = inventory(n1={"inference_hardware": "a33"}, n2={}, r={})
    with pytest.raises(PlanError, match="'a33' is not one of"):
        racks(groups, hostvars)
