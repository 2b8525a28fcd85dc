# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a rollback may begin."""

from __future__ import annotations

from ansible_collections.ascend.inference.plugins.module_utils.status.plan import PLAN_VERSION
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.rollback import refusals, unreached

FOLDER = "/opt/x/deployments/sample"


def plan(release="1.0", hosts=("h1", "h2"), folder=FOLDER, version=PLAN_VERSION):
    return {
        "digest": "d-" + release,
        "plan_version": version,
        "release": release,
        "directory": folder,
        "hosts": [{"name": name} for name in hosts],
    }


def test_one_plan_on_all_of_its_hosts_may_begin():
    assert refusals({"h1": plan(), "h2": plan(), "unrelated": {}}, FOLDER) == []


def test_nothing_to_go_back_to():
    (text,) = refusals({"h1": {}, "h2": {}}, FOLDER)
    assert (
        "verified before the deployed one" in text
        and "for former keys, set them in inference_secrets and run upgrade" in text
    )


def test_hosts_with_different_plans():
    (text,) = refusals({"h1": plan(), "h2": plan("2.0")}, FOLDER)
    assert "h1 release 1.0, h2 release 2.0" in text


def test_a_host_of_the_plan_is_missing():
    (text,) = refusals({"h1": plan(), "h2": {}}, FOLDER)
    assert text.startswith("h2: part of the verified plan")


def test_a_host_that_the_plan_does_not_have():
    (text,) = refusals({"h1": plan(), "h2": plan(), "h3": plan()}, FOLDER)
    assert text.startswith("h3: not part of the verified plan")


def test_a_plan_of_another_folder():
    assert (
        "h1: the plan for the rollback is about /elsewhere"
        in refusals({"h1": plan(hosts=["h1"], folder="/elsewhere")}, FOLDER)[0]
    )


def locked(previous, phase):
    return {"previous": previous, "phase": phase}


def test_a_change_that_did_not_reach_each_host_is_undone_on_all():
    """A host at rest names the plan before the verified one, which the others do not go back to."""
    reached = {"h1": locked(plan("2.0"), "changing")}
    for other in (plan("1.0"), {}):
        found = {**reached, "h2": locked(other, "verified")}
        assert unreached(found) == ["h2"]


def test_a_host_with_a_damaged_journal_goes_back_to_the_verified_plan_with_all():
    """It does not know that it is at rest, and names the plan that all verified last; the others would name the one before."""
    found = {"h1": {**locked(plan("2.0"), ""), "half": "unknown"}, "h2": locked(plan("1.0"), "verified")}
    assert unreached(found) == ["h2"]


def test_hosts_that_name_the_same_plan_are_left_alone():
    assert unreached({"h1": locked(plan(), "changing"), "h2": locked(plan(), "verified")}) == []
    assert unreached({"h1": locked(plan(), "verified"), "h2": locked({}, "verified")}) == [], (
        "no change was interrupted"
    )
    assert unreached({"h1": locked({}, "changing"), "h2": locked(plan(), "verified")}) == [], (
        "nothing is verified there"
    )
    assert unreached({"h1": locked(plan("2.0"), "changing"), "h2": locked({}, "deployed")}) == []
    assert unreached({"h1": locked(plan("2.0"), "changing"), "h3": locked({}, "verified")}) == [], "the plan has no h3"


def test_a_plan_of_another_version_of_the_collection():
    (text,) = refusals({"h1": plan(hosts=["h1"], version=1)}, FOLDER)
    assert text.startswith("h1: the verified plan was written by another version")
