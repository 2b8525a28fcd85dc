# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every single mistake on top of a valid deployment is found by its rule, at its place, and described as it is."""

from __future__ import annotations

import inspect
import re

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import Finding, PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.all import RULES
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.base import Rules
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import (
    FAMILIES,
    family,
    without_advisories,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.mistakes import MISTAKES

LOWER = (
    "inference_",
    "vLLM",
    "mooncake",
    "kv-transfer-config",
    "use_ascend_direct",
    "gpu-memory",
    "enable_",
    "enforce-eager",
    "root_fs_dir",
    "kthena-router",
    "systemd",
)


def judged(name, changes):
    """Every finding that is not accepted: those of a plan, or the errors that refuse it."""
    try:
        found = without_advisories(name, launch_plan(*family(name, changes))["findings"])
        return [finding for finding in found if finding["severity"] != "accepted"]
    except PlanError as error:
        return [finding.as_dict() for finding in error.findings]


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_the_valid_deployment_passes_untouched(name):
    assert judged(name, {}) == []
    assert launch_plan(*family(name, {}))["services"]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda item: f"{item.rule}-{item.family}-{item.path}")
def test_a_mistake_is_found_where_it_is(mistake):
    found = [(item["id"], item["path"], item["severity"]) for item in judged(mistake.family, mistake.changes)]
    assert (mistake.rule, mistake.path, mistake.severity) in found


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda item: f"{item.rule}-{item.family}-{item.path}")
def test_only_what_follows_from_the_mistake_is_found(mistake):
    found = {item["id"] for item in judged(mistake.family, mistake.changes)}
    assert found - set(mistake.also) == {mistake.rule}


DEMAND = re.compile(r"\b(must|should|has to|have to|needs to|is required)\b")


# Modules of rules that judge settings alone, and so also where hosts are too small for the pools.
OF_SETTINGS = {
    *(
        "additional_config",
        "arguments",
        "connectors",
        "environment",
        "environment_values",
        "json_values",
        "kv_sizes",
        "kv_hold",
        "model",
    )
}
MODULE = {rule.id: rule.check.__module__.rpartition(".")[2] for rule in RULES}
FIRST_ERRORS = {
    MODULE[mistake.rule]: mistake
    for mistake in reversed(MISTAKES)
    if (mistake.family, mistake.severity) == ("p2p", "error") and MODULE[mistake.rule] in OF_SETTINGS
}


@pytest.mark.parametrize("module", sorted(OF_SETTINGS))
def test_wrong_settings_are_found_together_with_hosts_that_are_too_small(module):
    mistake = FIRST_ERRORS[module]
    small = {f"node{number}.inference_devices": 1 for number in (1, 2, 3, 4)}
    found = {item["id"] for item in judged("p2p", {**mistake.changes, **small})}
    assert mistake.rule in found and any(rule.startswith("PLACE-") for rule in found)


def words(text):
    return set(re.findall(r"[^\W_]+", text.lower()))


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda item: f"{item.rule}-{item.family}-{item.path}")
def test_the_message_says_what_is_wrong_here_and_not_what_the_rule_demands(mistake):
    rule = next(rule for rule in RULES if rule.id == mistake.rule)
    own = [
        found
        for found in judged(mistake.family, mistake.changes)
        if (found["id"], found["path"]) == (mistake.rule, mistake.path)
    ]
    assert own
    for found in own:
        assert found["problem"], "no specific message"
        assert found["problem"] not in (rule.problem, rule.why, rule.problem.rstrip(".")), (
            "the rule instead of the mistake"
        )
        assert (found["why"], found["source"]) == (rule.why, rule.source)
        assert not found["problem"].endswith("."), "a clause after a colon"
        assert not DEMAND.search(found["problem"]), "what is demanded in place of what is wrong"
        quoted = words(found["problem"])
        written = (
            words(found["value"]) | words(found["path"].rsplit(".", 1)[-1]) | words(str(list(mistake.changes.values())))
        )
        planned = {part for name in (*mistake.changes, found["path"]) for part in words(name)}
        assert quoted & (written | planned), "neither the value nor the name that the user wrote"


# Rules of which no mistake can show the other severity, and why.
ONE_SEVERITY = {
    "FLAG-RELEASE": "no vLLM of the data is newer than the one of the release main",
    "IMAGE-DIGEST": "a warning, or a remark about the image that the release itself names",
}


def test_a_rule_that_judges_by_the_case_has_a_mistake_of_each_severity():
    found = {(mistake.rule, mistake.severity) for mistake in MISTAKES}
    several = [rule.id for rule in RULES if re.search(r"\bseverity\b", inspect.getsource(rule.check))]
    assert len(several) > 15
    lacking = [name for name in several if not {(name, "error"), (name, "warning")} <= found]
    assert lacking == [*ONE_SEVERITY], "add the mistake, or a rule that always warns says so itself"


def test_every_rule_has_a_mistake():
    assert {rule.id for rule in RULES} - {mistake.rule for mistake in MISTAKES} == set()
    assert len({mistake.rule for mistake in MISTAKES}) >= 60


INVARIANT = re.compile(r"\b(must|should|exists|is known|are known|fits|have to|has to)\b")


def test_no_rule_states_what_should_be_in_place_of_what_is_wrong():
    for rule in RULES:
        assert rule.problem != rule.why and not INVARIANT.search(rule.problem), f"{rule.id}: {rule.problem}"


def test_a_rule_without_a_reason_cannot_be_made():
    def check(case):
        """Something is wrong."""

    with pytest.raises(ValueError, match="NEW-RULE.*no second paragraph"):
        Rules().rule("NEW-RULE", "Do it.", "nothing")(check)


def test_a_violation_without_a_message_cannot_be_made():
    with pytest.raises(TypeError):
        Finding.at("inference_user", "root")


def test_every_rule_reads_well():
    for rule in RULES:
        assert rule.id == rule.id.upper() and " " not in rule.id
        assert rule.severity in ("error", "warning")
        for text in (rule.problem, rule.why, rule.fix):
            assert text.endswith(".") and text[0] == text[0].upper() or text.startswith(LOWER), f"{rule.id}: {text}"
        assert rule.source, rule.id
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
    assert [(finding["id"], finding["severity"]) for finding in findings] == [("GPU-MEMORY", "accepted")]


def test_the_value_of_a_finding_is_the_one_that_is_written_there():
    """Both pools have a connector; the finding stands at the pool that has a setting of its own."""
    found = judged("p2p", {"inference_pools.prefill.kv_transfer": "none"})
    assert [(item["path"], item["value"]) for item in found] == [("inference_pools.prefill.kv_transfer", "none")]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda item: f"{item.rule}-{item.family}-{item.path}")
def test_the_value_that_is_shown_was_written_there(mistake):
    for item in judged(mistake.family, mistake.changes):
        value = mistake.changes.get(item["path"])
        if item["value"] not in ("", "(hidden)") and isinstance(value, (str, int, float)):
            assert item["value"].lower() in (str(value)[:120].lower(), repr(value).lower()), item


def test_several_settings_are_and_one_is():
    changes = {"inference_router.certificate": "/x.pem", "inference_router.certificate_key": "/y.pem"}
    problems = [item["problem"] for item in judged("p2p", changes)]
    assert problems == ["certificate, certificate_key are set without a frontend"]
