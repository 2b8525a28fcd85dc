# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a build on a host needs is checked before anything is changed."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

EVERY = ["cmake", "g++", "gcc", "git", "make"]
GOOD = {
    "tools": EVERY,
    "processors": 192,
    "user": {"uid": 1000, "sees_processes": True},
    "memory": {"memory_available_mib": 700_000},
    "disks": [{"path": "/opt", "free_mib": 300_000}],
}


def found(changes, later=None, **facts):
    """Ids of the findings about builds of node1."""
    plan = launch_plan(*family("p2p", changes))
    results = {"node1": {"host": {**GOOD, **facts, "later": later or {}}}}
    return [(item["id"], item["severity"]) for item in check_plan(plan, results) if item["id"].startswith("BUILD-")]


def test_a_host_with_everything_gives_no_finding():
    assert found({}) == []


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"tools": ["gcc", "git", "make"]}, [("BUILD-TOOLS", "error")]),
        ({"tools": []}, [("BUILD-TOOLS", "error")]),
        ({"tools": [], "user": {"uid": 0}}, []),
        ({"tools": ["g++", "gcc", "git", "make"]}, []),  # cmake comes with the build requirements
        ({"memory": {"memory_available_mib": 60_000}}, [("BUILD-MEMORY", "warning")]),
        ({"disks": [{"path": "/opt", "free_mib": 15_000}]}, [("BUILD-DISK", "warning")]),
        ({"disks": [{"path": "/opt", "free_mib": 9_000}]}, []),  # DISK-FREE says it already
    ],
    ids=str,
)
def test_what_is_missing_is_found_for_a_build_for_the_chip(facts, expected):
    assert found({}, **facts) == expected
    assert found({"inference_engine_install": "site"}, **facts) == []
    assert found({"inference_runtime": "docker", "inference_image": "x/y@sha256:" + 64 * "0"}, **facts) == []


def test_fewer_compilers_need_less_memory():
    facts = {"memory": {"memory_available_mib": 60_000}}
    assert found({}, {"vllm_ascend_environment": {"MAX_JOBS": "16"}}, **facts) == []


def test_mooncake_needs_cmake_where_it_is_built():
    """Release 0.13.0 has no package of Mooncake."""
    without = {"tools": ["g++", "gcc", "git", "make"]}
    site = {"inference_engine_install": "site"}
    old = {**site, "inference_release": "0.13.0"}
    assert found(old, **without) == [("BUILD-TOOLS", "error")]
    assert found(site, **without) == []
    assert found(site, {"mooncake_method": "source"}, **without) == [("BUILD-TOOLS", "error")]
    assert found(old, {"mooncake_method": "wheel"}, **without) == []
