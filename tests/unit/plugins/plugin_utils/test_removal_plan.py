# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A removal goes by the plan that was deployed, if this version of the collection can read it and it is about this folder."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import PLAN_VERSION
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.removal import removal_plan

PLACE = "/srv/x/deployments/d"
DEPLOYED = {"plan_version": PLAN_VERSION, "root": "/srv/x", "deployment": "d", "directory": PLACE, "services": []}
TODAYS = {"deployment": "today's"}


def test_the_deployed_plan_is_taken():
    assert removal_plan(json.dumps(DEPLOYED), PLACE, TODAYS) == DEPLOYED


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "null",
    ],
)
def test_todays_plan_stands_for_one_that_cannot_be_read(text):
    assert removal_plan(text, PLACE, TODAYS) == TODAYS


@pytest.mark.parametrize("text", ["{", "[]", "[1]", "{}", "null", "7"])
def test_a_damaged_plan_is_not_taken_for_none(text):
    assert removal_plan("", PLACE, {}) == {}, "nothing was deployed"
    with pytest.raises(ValueError, match="is damaged, .* Nothing was removed"):
        removal_plan(text, PLACE, {})


OTHERS = [
    json.dumps({**DEPLOYED, "runtime": "systemd", "plan_version": found})
    for found in (PLAN_VERSION - 1, PLAN_VERSION + 1, None)
]


@pytest.mark.parametrize("text", OTHERS)
def test_todays_plan_stands_for_one_of_another_version_with_the_same_runtime(text):
    """The runtime finds the services by the name of the deployment, so today's plan removes all of them."""
    todays = {**TODAYS, "runtime": "systemd"}
    assert removal_plan(text, PLACE, todays) == todays


@pytest.mark.parametrize("text", OTHERS)
@pytest.mark.parametrize("todays", [{}, {**TODAYS, "runtime": "docker"}])
def test_a_plan_of_another_version_is_not_taken_for_none(text, todays):
    """Otherwise nothing would be stopped, and the removal would succeed."""
    with pytest.raises(ValueError, match="another version of this collection.* Nothing was removed") as caught:
        removal_plan(text, PLACE, todays)
    assert ("the inventory has the runtime docker:" if todays else "the inventory has no plan for this host:") in str(
        caught.value
    )
    assert "services of the runtime systemd would stay" in str(caught.value)
    assert "Fix: run remove with that version" in str(caught.value)


def test_a_plan_of_another_version_without_a_runtime_is_not_taken_for_none():
    with pytest.raises(ValueError, match="has no plan for this host"):
        removal_plan(json.dumps({"plan_version": PLAN_VERSION - 1}), PLACE, {})


@pytest.mark.parametrize(
    "changed",
    [{"root": "/srv/y"}, {"deployment": "other"}, {"directory": "/srv/x/deployments/other"}, {"directory": None}],
)
def test_a_plan_of_another_folder_is_refused(changed):
    with pytest.raises(ValueError, match="Nothing was removed"):
        removal_plan(json.dumps({**DEPLOYED, **changed}), PLACE, TODAYS)


def test_a_plan_is_refused_in_another_folder():
    with pytest.raises(ValueError, match="move the file away"):
        removal_plan(json.dumps(DEPLOYED), "/srv/x/deployments/other", TODAYS)
