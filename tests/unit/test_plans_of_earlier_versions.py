# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollback writes a plan of an earlier version again, which lacks what later versions add: the role service finds the same path without it."""

from __future__ import annotations

import pathlib
import posixpath

import jinja2
import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

ROLE = pathlib.Path(__file__).resolve().parents[2] / "roles/service"
VARIABLES = yaml.safe_load((ROLE / "vars/main.yml").read_text(encoding="utf-8"))


def value_of(name: str, plan: dict) -> str:
    """A variable of the role, for a plan. As in Ansible, what is not defined is an error."""
    engine = jinja2.Environment(undefined=jinja2.StrictUndefined)
    engine.filters["ansible.builtin.path_join"] = lambda parts: posixpath.join(*parts)
    given = {"service_plan": plan}
    for other in ("__service_units", "__service_target"):
        given[other] = engine.from_string(VARIABLES[other]).render(given)
    return engine.from_string(VARIABLES[name]).render(given)


@pytest.mark.parametrize("name", ["p2p", "p2p-0.13", "pooled"])
def test_the_file_of_the_target_is_the_same_without_its_key(name):
    plan = launch_plan(*family(name, {"inference_deployment": "chat"}))
    known = value_of("__service_target_file", plan)
    before = {key: value for key, value in plan["runtime_settings"].items() if key != "target_file"}
    assert known.endswith("/chat.target") and known == plan["runtime_settings"]["target_file"]
    assert value_of("__service_target_file", {**plan, "runtime_settings": before}) == known


def test_no_task_reads_the_key_without_that_default():
    files = [path for path in ROLE.rglob("*") if path.suffix in (".yml", ".j2")]
    found = [path.name for path in files if "runtime_settings.target_file" in path.read_text(encoding="utf-8")]
    assert found == ["main.yml"], "the variable has the default"
