# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenarios run shipped inventories: their own files, and an overlay that replaces nothing but what is listed here."""

from __future__ import annotations

import pathlib

import pytest
import yaml

ROOT = pathlib.Path(__file__).absolute().parents[3]
# {scenario: (inventory, its variables that the overlay replaces)}
SCENARIOS = {
    "docker_pd": ("a3_mooncake_1p1d", {"inference_interface"}),
    "llmdatadist_1p2d": ("a2_llmdatadist_1p2d", {"inference_interface", "inference_runtime"}),
    "llmdatadist_w8a8": ("a3_llmdatadist_w8a8", {"inference_interface"}),
}
# What says how services are, beyond addresses, origins of packages, and times.
SHAPING = {
    "release",
    "hardware",
    "model",
    "kv_transfer",
    "args",
    "env",
    "pools",
    "router",
    "store",
    "mooncake_master",
    "engine_install",
}


def test_each_scenario_with_an_overlay_is_listed():
    assert sorted(SCENARIOS) == sorted(
        path.parents[3].name for path in (ROOT / "molecule").glob("*/inventory/group_vars/all/overlay.yml")
    )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_overlay_replaces_only_what_is_stated(scenario):
    inventory, replaced = SCENARIOS[scenario]
    folder = ROOT / "molecule" / scenario / "inventory" / "group_vars"
    guide, overlay = folder / "all/guide.yml", folder / "all/overlay.yml"
    assert guide.resolve() == (ROOT / "inventories" / inventory / "group_vars/all.yml").resolve()
    given = set(yaml.safe_load(overlay.read_text()))
    assert given & set(yaml.safe_load(guide.read_text())) == replaced
    assert not {name.removeprefix("inference_") for name in given} & SHAPING
    own = {path.name: set(yaml.safe_load(path.read_text())) for path in folder.glob("*.yml")}
    assert set().union(*own.values()) <= {"ansible_become", "inference_devices"}, own
    settings = yaml.safe_load((ROOT / "molecule" / scenario / "molecule.yml").read_text())["provisioner"]["inventory"]
    assert settings == {"links": {"group_vars": "inventory/group_vars"}}
