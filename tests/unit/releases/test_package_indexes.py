# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the plan says that Python packages come from."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.package_indexes import INDEXES
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family


def software(**more):
    return launch_plan(*family("p2p", {"inference_runtime": "systemd", **more}))["software"]


def test_own_indexes_are_for_few_packages_and_a_mirror_replaces_them():
    assert software()["package_indexes"] == INDEXES
    assert {name for names in INDEXES.values() for name in names} >= {"torch", "triton-ascend"}
    assert software(inference_index_url="https://mirror.example/simple")["package_indexes"] == {}


@pytest.mark.parametrize("text", ["mirror.example/simple", "https://", "https://a b", "https://a;b", "ssh://a/b"])
def test_a_mirror_is_a_url(text):
    with pytest.raises(PlanError) as caught:
        software(inference_index_url=text)
    assert {finding.path for finding in caught.value.findings} == {"inference_index_url"}


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("0.13.0", []),
        ("0.18.0", ["opencv-python-headless<=4.11.0.86"]),
        ("0.23.0", []),
        ("0.30.0rc2", ["fastapi<0.124.0"]),
    ],
)
def test_requirements_that_replace_those_of_vllm_are_in_the_plan(release, expected):
    assert software(inference_release=release, inference_engine_install="site")["engine"]["overrides"] == expected
