# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded plan sends requests and keys to the inventory's own addresses only."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.choice import rollback_refusals
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.destinations import foreign, own_addresses
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import FAMILIES, family


@pytest.fixture(scope="module")
def plan():
    return launch_plan(*family("p2p", {"inference_secrets": {"api_key": "x", "client_keys": "y"}}))


def copy(plan):
    return json.loads(json.dumps(plan))


def hostvars(plan):
    """What is known of the plan's hosts: variables of the inventory, and the plan as the one to go back to."""
    return {
        host["name"]: {
            "variables": {"inventory_hostname": host["name"], "ansible_host": host["address"]},
            "previous": plan,
        }
        for host in plan["hosts"]
    }


def named(plan):
    return [here["variables"] for here in hostvars(plan).values()]


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"kubernetes"}))
@pytest.mark.parametrize("planned", [True, False])
def test_each_plan_can_return_to_its_own_inventory(name, planned):
    known = copy(launch_plan(*family(name, {})))
    found = hostvars(known)
    assert rollback_refusals(found, known["directory"], known if planned else {}) == []


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize(
    "url", ["http://192.0.2.99:8000", "http://[::99]:1", "http://user@evil.example/", "http://[bad"]
)
def test_another_address_is_refused(plan, url, planned):
    forged = copy(plan)
    forged["verify"]["prefill"][0]["url"] = url
    found = hostvars(forged)
    (text,) = rollback_refusals(found, plan["directory"], plan if planned else {})
    assert "no address of the inventory's" in text


def test_another_secret_is_refused(plan):
    forged = copy(plan)
    forged["verify"]["engine_api_key"] = "other_team_key"
    forged["services"][0]["secret_env"] = {"X": "third"}
    found = foreign(forged, own_addresses(named(plan), {}), plan)
    assert [text.split(",")[0].rpartition(" ")[2] for text in found] == ["other_team_key", "third"]
    today = copy(plan)
    today["services"][0]["secret_env"] = {"X": "third"}
    assert len(foreign(forged, own_addresses(named(plan), {}), today)) == 1


def test_addresses_of_the_router_s_variables_are_the_inventory_s():
    known = own_addresses([{"inference_router": {"virtual_address": "10.0.0.9/24", "bind": "FE80::1"}}, {}], {})
    assert known == {"10.0.0.9", "fe80::1"}
    assert own_addresses([{"inference_router": "x"}], {"verify": {"entry": {"url": "http://a:1"}}}) == {"a"}
