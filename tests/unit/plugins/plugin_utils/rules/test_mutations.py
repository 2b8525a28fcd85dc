# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every single mistake on top of a valid deployment is found by its rule, at the word that is wrong."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.all import RULES
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import FAMILIES, family
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.mistakes import MISTAKES


def judged(name, changes):
    """Every finding: those of a plan, or the complaints that refuse it."""
    try:
        return launch_plan(*family(name, changes))["findings"]
    except PlanError as error:
        return [one.as_dict() for one in error.findings]


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_the_valid_deployment_passes_untouched(name):
    assert launch_plan(*family(name, {}))["findings"] == []


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: f"{one.rule}-{one.family}-{one.path}")
def test_a_mistake_is_found_where_it_is(mistake):
    found = [(one["id"], one["path"], one["severity"]) for one in judged(mistake.family, mistake.changes)]
    assert (mistake.rule, mistake.path, mistake.severity) in found


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: f"{one.rule}-{one.family}-{one.path}")
def test_only_what_follows_from_the_mistake_is_found(mistake):
    found = {one["id"] for one in judged(mistake.family, mistake.changes)}
    assert found - set(mistake.also) == {mistake.rule}


def test_every_rule_has_a_mistake():
    assert {rule.id for rule in RULES} - {one.rule for one in MISTAKES} == set()
    assert len({one.rule for one in MISTAKES}) >= 60


def test_every_rule_reads_well():
    for rule in RULES:
        assert rule.id == rule.id.upper() and " " not in rule.id
        assert rule.severity in ("error", "warning")
        assert rule.why.endswith(".") and rule.fix.endswith(".") and rule.source, rule.id
    assert len({rule.id for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(
    ("family_", "changes"),
    [
        ("cpu", {"inference_root": "/tmp/" + 52 * "x"}),
        ("p2p", {"inference_root": "/tmp/" + 150 * "x"}),
        ("p2p", {"inference_env": {"TMPDIR": "/tmp/" + 65 * "x"}}),
    ],
    ids=["supervisor's socket just fits", "units have no socket", "vLLM's sockets just fit"],
)
def test_a_socket_s_path_may_have_all_the_bytes_that_the_kernel_gives(family_, changes):
    assert judged(family_, changes) == []


def test_an_ignored_rule_is_accepted_and_the_plan_says_so():
    changes = {"inference_pools.decode.args.gpu-memory-utilization": 1.5, "inference_rules_ignore": ["GPU-MEMORY"]}
    findings = launch_plan(*family("p2p", changes))["findings"]
    assert [(one["id"], one["severity"]) for one in findings] == [("GPU-MEMORY", "accepted")]
