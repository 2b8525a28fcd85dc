# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which modules are for users is said where modules are listed: by ansible-doc and the site's index, and in the guide."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_table import plan_table

ROOT = Path(__file__).resolve().parents[3]
MARK = "For your playbooks: "  # first, because ansible-doc shows the first 37 characters


def documentation(path):
    assigned = (node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.Assign))
    return next(yaml.safe_load(node.value.value) for node in assigned if node.targets[0].id == "DOCUMENTATION")


def test_the_guide_lists_the_modules_that_are_marked():
    modules = [documentation(path) for path in sorted((ROOT / "plugins/modules").glob("*.py"))]
    marked = [module["module"] for module in modules if module["short_description"].startswith(MARK)]
    table = (ROOT / "docs/docsite/rst/guide_index.rst").read_text(encoding="utf-8").partition("\nModule  ")[2]
    listed = re.findall(r"^``(\w+)``", table, re.M)
    assert listed and sorted(listed) == marked


def test_a_marked_module_needs_no_part_of_a_plan():
    for path in sorted((ROOT / "plugins/modules").glob("*.py")):
        module = documentation(path)
        if module["short_description"].startswith(MARK):
            assert {"plan", "verify", "settings", "deployment"}.isdisjoint(module.get("options") or {}), path.name


def test_the_choices_of_show_are_those_that_the_plan_accepts():
    choices = documentation(ROOT / "plugins/modules/plan.py")["options"]["show"]["choices"]
    with pytest.raises(ValueError, match="allowed values: (.+)") as refused:
        plan_table({}, "tabel")
    allowed = str(refused.value).partition("allowed values: ")[2].split(", ")
    assert sorted(choices) == sorted([*allowed, "none"])
