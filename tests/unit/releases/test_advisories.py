# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Security advisories: their ranges, the release that has the fix, and which settings are exposed."""

from __future__ import annotations

import re
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import status_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules import security
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.security import EXPOSED
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import advisories
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.advisories import (
    ADVISORIES,
    CONDITIONS,
    fixed_releases,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import ORDER, RELEASES
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.version import numbers
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

KNOWN = {advisory.id: advisory for advisory in ADVISORIES}


def named(name, changes):
    """Ids of the advisories that a plan names."""
    findings = launch_plan(*family(name, changes))["findings"]
    return {re.search(r"has (\S+)", item["problem"])[1].rstrip(",") for item in findings if item["id"] == "ADVISORY"}


@pytest.mark.parametrize("advisory", ADVISORIES, ids=lambda item: item.id)
def test_a_row_is_a_range_that_ends_and_a_known_condition(advisory):
    assert re.fullmatch(r"(CVE|PYSEC)-\d{4}-\d+", advisory.id)
    assert numbers(advisory.introduced) < numbers(advisory.fixed)
    assert advisory.when in CONDITIONS and re.fullmatch(r"(\d\d?\.\d)?", advisory.score)
    assert not advisory.affects(advisory.fixed) and not advisory.affects("main")
    assert len(KNOWN) == len(ADVISORIES)


def test_every_condition_can_be_told_from_settings():
    assert set(EXPOSED) == set(CONDITIONS)


@pytest.mark.parametrize(
    ("id_", "inside", "outside"),
    [
        ("CVE-2026-22807", ("0.10.1", "0.11.0", "0.13.0"), ("0.10.0", "0.14.0", "0.23.0")),
        ("CVE-2026-22778", ("0.8.3", "0.14.0"), ("0.8.2", "0.14.1")),
        ("CVE-2026-48746", ("0.3.0", "0.13.0", "0.21.0"), ("0.22.0", "0.23.0")),
        ("CVE-2025-59425", ("0.7.3", "0.10.2"), ("0.11.0", "0.13.0")),
        ("CVE-2025-32444", ("0.6.5", "0.8.4"), ("0.8.5", "0.8.5.post1", "0.9.1")),
    ],
)
def test_ranges(id_, inside, outside):
    assert all(KNOWN[id_].affects(version) for version in inside)
    assert not any(KNOWN[id_].affects(version) for version in outside)


def test_the_nearest_fixed_release_is_a_final_one_where_there_is_one(monkeypatch):
    known = {name: row for name, row in RELEASES.items() if ORDER.get(name, 0) <= ORDER["0.30.0rc2"]}
    monkeypatch.setattr(advisories, "RELEASES", known)  # a release that is added later changes nothing here
    assert fixed_releases(KNOWN["CVE-2026-22807"], RELEASES["0.13.0"])[:2] == ["0.18.0", "0.23.0"]
    assert fixed_releases(KNOWN["PYSEC-2026-2303"], RELEASES["0.23.0"])[0] == "0.24.0rc1"
    assert fixed_releases(KNOWN["CVE-2026-114053"], RELEASES["0.23.0"]) == []


@pytest.mark.parametrize(
    ("name", "changes", "ids"),
    [
        ("p2p-0.13", {}, {"CVE-2026-22807", "CVE-2026-22778"}),
        ("p2p-0.13", {"inference_args.limit-mm-per-prompt": {"image": 0}}, {"CVE-2026-22807"}),
        ("p2p-0.13", {"inference_args.limit-mm-per-prompt": {"video": 0}}, {"CVE-2026-22807", "CVE-2026-22778"}),
        (
            "p2p-0.13",
            {"inference_args.trust-remote-code": False},
            {"CVE-2026-22807", "CVE-2026-22778", "CVE-2026-27893"},
        ),
        ("p2p-0.13", {"inference_secrets.api_key": "x"}, {"CVE-2026-22807", "CVE-2026-22778", "CVE-2026-48746"}),
        ("p2p", {}, set()),
        ("p2p", {"inference_secrets.api_key": "x"}, set()),
        ("p2p", {"inference_args.enable-prompt-embeds": True}, {"PYSEC-2026-2303"}),
        ("p2p", {"inference_model.path": "owner/name"}, {"CVE-2026-114053"}),
        ("cpu", {"inference_model.path": "owner/name"}, set()),
    ],
)
def test_a_plan_names_the_advisories_that_its_settings_are_exposed_to(name, changes, ids):
    assert named(name, changes) == ids
    plan = launch_plan(*family(name, changes))
    version = plan["software"]["engine"]["version"]
    assert {item.id for item in advisories.ADVISORIES if item.when in plan["exposure"] and item.affects(version)} == ids
    assert status_plan(plan, plan["hosts"][0]["name"])["exposure"] == plan["exposure"]


def test_the_finding_says_which_release_has_the_fix():
    findings = [item for item in launch_plan(*family("p2p-0.13", {}))["findings"] if item["id"] == "ADVISORY"]
    assert all(item["fix"].startswith("Set inference_release to 0.18.0.") for item in findings)
    assert {item["severity"] for item in findings} == {"warning"}


def test_a_release_that_the_description_cannot_have_is_not_the_fix():
    words, inventory = family("p2p-0.13", {"inference_kv_transfer": "llmdatadist", "inference_release": "0.11.0"})
    findings = [item for item in launch_plan(words, inventory)["findings"] if item["id"] == "ADVISORY"]
    assert findings and all(
        item["fix"].startswith(
            "Set inference_release to 0.18.0, and change what it refuses, first inference_kv_transfer = llmdatadist: "
        )
        for item in findings
    )


def test_of_the_fixed_releases_the_first_one_that_takes_the_description_is_named():
    case = types.SimpleNamespace(
        context=types.SimpleNamespace(description=types.SimpleNamespace(image="")), refusal=lambda name: name
    )
    refused = {"a": "x: y", "b": "", "c": ""}.get
    assert security._update(case, ["a", "b", "c"], refused) == "Set inference_release to b."
    assert security._update(case, ["a"], refused) == (
        "Set inference_release to a, and change what it refuses, first x: y."
    )
    assert security._update(case, [], refused) == ""
    case.context.description.image = "registry/own:1"
    assert security._update(case, ["b"], refused) == "Set inference_release to b and inference_image to its image."


# CVE-2025-59425 is fixed in 0.11.0, CVE-2026-22807 came with 0.10.1.
@pytest.mark.parametrize(
    ("version", "affected"),
    [
        *((version, True) for version in ("0.11.0rc3", "0.11.0.dev12+g1a2b3c4", "0.11.0a1", "0.11.0-rc.1", "0.11rc1")),
        *(
            (version, False)
            for version in ("0.11", "0.11.0+empty", "0.11.0.post1", "0.11.0+rc1", "0.11.0.1", "0.11.1rc1")
        ),
    ],
)
def test_a_pre_release_of_the_fixed_version_is_before_the_fix(version, affected):
    assert KNOWN["CVE-2025-59425"].affects(version) is affected


def test_a_pre_release_of_the_first_affected_version_may_be_affected():
    assert KNOWN["CVE-2026-22807"].affects("0.10.1rc1") and not KNOWN["CVE-2026-22807"].affects("0.10.0.post1")


def test_a_known_release_with_a_pre_release_of_vllm_is_judged_by_it():
    assert RELEASES["0.11.0rc0"].vllm == "0.11.0rc3" and KNOWN["CVE-2025-59425"].affects(RELEASES["0.11.0rc0"].vllm)
    assert fixed_releases(KNOWN["CVE-2025-59425"], RELEASES["0.11.0rc0"])[0] == "0.11.0"
