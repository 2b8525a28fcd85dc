# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of each shipped inventory and recipe is kept as text: whoever changes a value sees it in review.

``RENEW_PLANS=1 pytest tests/unit/inventories/test_plans.py`` writes the texts again.
"""

from __future__ import annotations

import functools
import os
import pathlib
import tempfile
import typing as t

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.conformance.test_recipes import OF_A_KIND, described
from ansible_collections.ascend.inference.tests.unit.inventories.plan_text import plan_text, services_text
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import SHIPPED, plan_of, with_values
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import ENTRY, family

# A family of valid deployments, and what differs from it.
FEATURES: dict[str, tuple[str, dict[str, t.Any]]] = {
    "none": ("both", {}),
    "entry": (
        "both",
        {
            "inference_router": {**ENTRY, "frontend_requests_per_minute": 60, "frontend_parallel_requests": 4},
            "inference_secrets": {"client_keys": "y", "api_key": "z"},
            "inference_probe": {"enabled": True, "textfile_directory": "/srv/textfiles"},
            "inference_firewall": {"state": "present"},
        },
    ),
    "several-masters": ("ha", {}),
    "memcache": ("both", {"inference_store.backend": "memcache"}),
    "llmdatadist": ("llmdatadist", {}),
    "layerwise": ("layerwise", {}),
    "cpu": ("cpu", {"inference_kv_hold_timeout": 60}),
}
PLANS = pathlib.Path(__file__).parent / "plans"
# Complete, and what the others are shown beside that are not beside one of their kind.
WHOLE = "inventory-a3_2p1d"
BESIDE = {
    "inventory-a3_kthena_1p1d": "inventory-a3_mooncake_1p1d",
    "inventory-local_pool": "inventory-local",
    **{f"feature-{name}": "feature-none" for name in FEATURES if name != "none"},
}


@functools.cache
def planned(name: str) -> dict[str, t.Any]:
    """The plan with this name."""
    kind, _dash, own = name.partition("-")
    if kind == "feature":
        return launch_plan(*family(*FEATURES[own]))
    with tempfile.TemporaryDirectory() as folder:
        return plan_of(own, with_values(own, pathlib.Path(folder)))


def shown(name: str) -> str:
    if name == WHOLE:
        return plan_text(planned(name))
    beside = BESIDE.get(name, WHOLE)
    return plan_text(planned(name), planned(beside), beside)


def expect(name: str, text: str) -> None:
    path = PLANS / f"{name}.txt"
    if os.environ.get("RENEW_PLANS"):
        path.write_text(text, encoding="utf-8")
    command = "RENEW_PLANS=1 pytest tests/unit/inventories/test_plans.py"
    assert path.is_file(), f"{name} has no text. Write it: {command}"
    assert text == path.read_text(encoding="utf-8"), (
        f"the plan changed. If that is meant: {command}, and read the changes"
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_plan_of_an_inventory(name):
    expect(f"inventory-{name}", shown(f"inventory-{name}"))


@pytest.mark.parametrize("name", OF_A_KIND)
def test_plan_of_a_recipe(name):
    variables, inventory = described(name)
    expect(f"recipe-{name}", services_text(launch_plan(variables, inventory), planned(WHOLE), WHOLE))


@pytest.mark.parametrize("name", sorted(FEATURES))
def test_plan_with_a_feature_that_no_inventory_has(name):
    expect(f"feature-{name}", shown(f"feature-{name}"))


def test_no_text_without_a_plan():
    names = {f"inventory-{name}" for name in SHIPPED} | {f"recipe-{name}" for name in OF_A_KIND}
    names |= {f"feature-{name}" for name in FEATURES}
    assert {path.stem for path in PLANS.glob("*.txt")} == names
