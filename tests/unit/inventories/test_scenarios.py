# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenarios run shipped inventories: the same file of variables, groups and devices, and an overlay that replaces only what is stated here.

The plan with the overlay is the inventory's plan, but for addresses, times, and what ``PARTS`` lists.
"""

from __future__ import annotations

import json
import re
import shutil

import pytest
import yaml
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import INVENTORIES, plan_of

MOLECULE = INVENTORIES.parent / "molecule"
ADDRESSES_AND_TIMES = {
    "inference_interface",
    "inference_start_timeout",
    "inference_stop_timeout",
}
PAUSE = {"inference_allow_pause"}
IMAGE = {"inference_image", "inference_container", "inference_rules_ignore"}
SIZES = {"data_parallel_size", "tensor_parallel_size"}
# What is in nodes instead of a registry, an index, or a vendor's site. No plan reads it.
ORIGINS = re.compile("(?:simulated|software|container_runtime|cann|torch_npu|vllm_ascend|router)_")
# {scenario: (inventory, the planner's variables in the overlay besides addresses and times)}
SCENARIOS = {
    "docker_pd": ("a3_mooncake_1p1d", IMAGE | PAUSE | {"inference_secrets"}),
    "colocated_pool": ("a2_colocated_pool", IMAGE | PAUSE | {"inference_store", "inference_env"}),
    "llmdatadist_1p2d": ("a2_llmdatadist_1p2d", {"inference_runtime"}),
    "llmdatadist_docker": ("a2_llmdatadist_1p2d", IMAGE),
    "llmdatadist_w8a8": ("a3_llmdatadist_w8a8", set()),
    "mooncake_1p1d": (
        "a3_mooncake_1p1d",
        PAUSE
        | {"inference_runtime", "inference_secrets", "inference_probe", "inference_monitoring", "inference_firewall"},
    ),
    "layerwise_2p1d": ("a3_2p1d_layerwise", PAUSE | {"inference_devices", "inference_pools"}),
}
# A scenario's own hosts instead of the inventory's one: each pool on its own.
HOSTS = {"mooncake_1p1d": [["prefill"], ["decode"]]}
# {variable: parts of the plan that it may change}
PARTS = {
    "inference_image": {"services.container.image"},
    "inference_container": {"services.container.mounts"},
    "inference_allow_pause": set(),
    "inference_rules_ignore": set(),  # a mount of the simulation
    "inference_secrets": {
        "services.scripts.secrets",
        "services.secret_env.VLLM_API_KEY",
        "services.secret_env.OPENAI_API_KEY",
        "verify.engine_api_key",
        "exposure",
    },
    "inference_store": {"services.files.content.global_segment_size", "hosts.store_mib", "verify.store.capacity_bytes"},
    "inference_env": {"services.env.ASCEND_SIMULATOR_SEGMENT_MIB", "revision"},
    # Everything, or another service; the plan of the inventory gets it too.
    "inference_runtime": None,
    "inference_probe": None,
    "inference_monitoring": None,
    "inference_firewall": None,
    "inference_devices": None,
    "inference_pools": None,  # of their values, only SIZES
}

# What inference_secrets changes besides where the probe sends requests.
PROBE = {"services.files.content.verify.engine_api_key", "services.secret_env.PROBE_ENGINE_KEY"}


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def variables(scenario):
    return MOLECULE / scenario / "inventory" / "group_vars"


def planned(folder, scenario, without=frozenset()):
    """The plan of the inventory's own hosts with the variables of the scenario, but for those of the overlay ``without``."""
    inventory = SCENARIOS[scenario][0]
    shutil.copytree(variables(scenario), folder / inventory / "group_vars")
    shutil.copy(INVENTORIES / inventory / "hosts.yml", folder / inventory)
    overlay = folder / inventory / "group_vars/all/overlay.yml"
    given = {name: value for name, value in read(overlay).items() if name not in without}
    overlay.write_text(yaml.safe_dump(given))
    return plan_of(inventory, folder)


def differences(one, other, path=""):
    """Paths at which two plans differ, without numbers of lists, digests and texts; JSON in files is compared as data."""
    if path.endswith(".content") and str(one).startswith("{"):
        one, other = json.loads(one), json.loads(other)
    if isinstance(one, dict) and isinstance(other, dict):
        keys = {*one, *other} - {"digest", "findings"}
        return {place for key in keys for place in differences(one.get(key), other.get(key), f"{path}.{key}")}
    if (
        isinstance(one, list)
        and isinstance(other, list)
        and len(one) == len(other)
        and one
        and isinstance(one[0], dict)
    ):
        return {place for pair in zip(one, other, strict=True) for place in differences(*pair, path)}
    return set() if one == other else {path.lstrip(".")}


def test_each_scenario_with_an_overlay_is_listed():
    assert sorted(SCENARIOS) == sorted(
        path.parents[3].name for path in MOLECULE.glob("*/inventory/group_vars/all/overlay.yml")
    )


def guides():
    """The inventories of the published guides."""
    found = INVENTORIES.glob("*/group_vars/all.yml")
    return {path.parents[1].name for path in found if "published_values" in path.read_text()}


def test_each_inventory_of_a_published_guide_for_hosts_has_a_scenario():
    assert guides() - {inventory for inventory, _replaced in SCENARIOS.values()} == {"a3_kthena_1p1d"}  # e2e-kthena


def test_each_of_them_is_run_with_its_own_release_and_runtime():
    own = {
        inventory
        for inventory, replaced in SCENARIOS.values()
        if not {"inference_release", "inference_runtime", "inference_engine_install"} & replaced
    }
    assert guides() - own == {"a3_kthena_1p1d"}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_has_the_variables_groups_and_devices_of_its_inventory(scenario):
    inventory = INVENTORIES / SCENARIOS[scenario][0]
    folder, settings = variables(scenario), read(MOLECULE / scenario / "molecule.yml")
    assert (folder / "all/guide.yml").resolve() == (inventory / "group_vars/all.yml").resolve()
    assert settings["provisioner"]["inventory"] == {"links": {"group_vars": "inventory/group_vars"}}
    groups, devices = {}, {}
    for group, content in read(inventory / "hosts.yml")["all"]["children"].items():
        for host, own in content["hosts"].items():
            groups.setdefault(host, []).append(group)
            own = own or {}
            devices[group] = {"inference_devices": own["inference_devices"]} if "inference_devices" in own else {}
            assert {*own} <= {"ansible_host", "inference_devices"}
    hosts = HOSTS.get(scenario, [*groups.values()])
    assert {name for host in hosts for name in host} == {*devices}
    nodes = [[name for name in node["groups"] if name in devices] for node in settings["platforms"]]
    assert [node for node in nodes if node] == hosts  # the others are no part of the deployment
    found = {path.stem: read(path) for path in folder.glob("*.yml")}
    for group, values in devices.items():
        own = found.pop(group, {})
        assert own.pop("ansible_become", True) is True and own == values, group
    assert not found and {path.name for path in (folder / "all").iterdir()} == {"guide.yml", "overlay.yml"}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_overlay_replaces_only_what_is_stated(scenario, tmp_path):
    replaced = SCENARIOS[scenario][1]
    given = set(read(variables(scenario) / "all/overlay.yml"))
    assert {name for name in given if not ORIGINS.match(name)} == ADDRESSES_AND_TIMES | replaced
    shaping = {name for name in replaced if PARTS[name] is not None}
    for name in ("own", "overlaid"):
        (tmp_path / name).mkdir()
    own = planned(tmp_path / "own", scenario, shaping | {each for each in given if ORIGINS.match(each)})
    parts = {part for name in shaping for part in PARTS[name]} | (PROBE if "inference_probe" in replaced else set())
    assert differences(own, planned(tmp_path / "overlaid", scenario)) == parts


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if "inference_pools" in SCENARIOS[name][1]])
def test_pools_of_a_scenario_differ_in_sizes_only(scenario):
    pools = [read(variables(scenario) / f"all/{name}.yml")["inference_pools"] for name in ("guide", "overlay")]
    assert differences(*pools) <= {f"{pool}.{size}" for pool in pools[0] for size in SIZES}
    assert [{pool: {*values} for pool, values in each.items()} for each in pools[1:]] == [
        {pool: {*values} for pool, values in pools[0].items()}
    ]
