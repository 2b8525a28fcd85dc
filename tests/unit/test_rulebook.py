# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rulebook for Event-Driven Ansible names alerts, playbooks and options that exist, and restarts nothing by default."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.description.variables import RUN_VARIABLES
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_monitoring import ALL
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_monitoring import made as alerts_of

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "extensions/eda/rulebooks/alerts.yml").read_text("utf-8")
BOOK = yaml.safe_load(TEXT)[0]
RULES = BOOK["rules"]
ACTIONS = [action["run_playbook"] for rule in RULES for action in rule["actions"]]


def test_its_alerts_are_those_of_the_rules_whose_action_names_the_watchdog():
    """By the names that Prometheus gives to Alertmanager, which are not those of the collection's settings."""
    rules = alerts_of(plan_of("a3_2p1d"), ALL)[1]
    named = {name for name, rule in rules.items() if "watchdog" in str(rule["annotations"])}
    listed = [ast.literal_eval(text) for text in re.findall(r"alertname (?:not )?in (\[.*?\])", TEXT)]
    assert len(listed) == 2 and listed[0] == listed[1] and named <= set(listed[0]) <= set(rules)
    assert "InferenceEngineFailsAll" in named


def test_the_host_that_makes_the_plan_is_one_of_its_hosts():
    """ansible-rulebook gives them to --limit, which would exclude localhost."""
    assert set(BOOK["hosts"].split(",")) == {"all", "localhost"}


def test_its_playbooks_and_options_exist():
    for action in ACTIONS:
        assert (ROOT / "playbooks" / f"{action['name'].rpartition('.')[2]}.yml").is_file()
        assert {name.removeprefix("inference_") for name in action["extra_vars"]} <= set(RUN_VARIABLES)


def test_it_restarts_nothing_by_default_and_not_again_at_once():
    modes = [action["extra_vars"]["inference_watchdog"] for action in ACTIONS if "watchdog" in action["name"]]
    assert modes == ["{{ eda_watchdog | default('report') }}"]
    assert all(rule["throttle"]["once_within"] == "10 minutes" for rule in RULES)
    assert all("vars.eda_deployment" in rule["condition"] for rule in RULES)
