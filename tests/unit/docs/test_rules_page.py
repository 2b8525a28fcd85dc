# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The generated pages of rules and checks: complete, with links, without sources that a reader cannot open."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.diagnosis.log_causes import CAUSES
from ansible_collections.ascend.inference.plugins.module_utils.verify.faults import FAULTS, Problem
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import RULES as HOST_RULES
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.all import RULES

ROOT = Path(__file__).resolve().parents[3]
PRIVATE = re.compile(r"\b(rules|failure_modes|signals|lifecycle|tuning)\.md\b|failure mode", re.IGNORECASE)


def generator():
    spec = importlib.util.spec_from_file_location("rules_page", ROOT / "docs" / "rules_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = generator().pages()


@pytest.mark.parametrize(("page", "kind", "rules"), [("rules.rst", "rule", RULES), ("checks.rst", "check", HOST_RULES)])
def test_every_rule_is_on_its_page_with_all_its_parts(page, kind, rules):
    entries = re.split(
        rf"^\.\. _ansible_collections\.ascend\.inference\.docsite\.{kind}\.(.+):$", PAGES[page], flags=re.M
    )
    found = dict(zip(entries[1::2], (" ".join(text.split()) for text in entries[2::2]), strict=True))
    assert sorted(found) == sorted(rule.id.lower() for rule in rules)
    for rule in rules:
        text = found[rule.id.lower()]
        assert text.startswith(f"**{rule.id}** ({rule.severity})")
        assert [part for part in ("Why: ", "Fix: ", "Source: ") if part not in text] == ([] if rule.fix else ["Fix: "])


def test_every_finding_of_verification_and_logs_is_on_its_page():
    entries = re.split(
        r"^\.\. _ansible_collections\.ascend\.inference\.docsite\.diagnosis\.(.+):$", PAGES["diagnosis.rst"], flags=re.M
    )
    found = dict(zip(entries[1::2], (" ".join(text.split()) for text in entries[2::2]), strict=True))
    faults = {Problem("text", key).finding("path").id: fault for key, fault in FAULTS.items()}
    causes = {cause.id: cause for cause in CAUSES}
    assert sorted(found) == sorted(name.lower() for name in (*faults, *causes))
    plain = {name: text.replace("\\", "") for name, text in found.items()}
    for name, told in (*faults.items(), *causes.items()):
        assert f"Why: {told.why} Fix: {told.fix}" in plain[name.lower()]
    assert [name for name, cause in causes.items() if cause.problem[1:] not in plain[name.lower()]] == []


def test_issues_of_a_source_are_links():
    linked = generator().linked("vllm-ascend #4725, #10019; Mooncake #3749; see #1 of it")
    assert "`#10019 <https://github.com/vllm-project/vllm-ascend/issues/10019>`__" in linked
    assert "`#3749 <https://github.com/kvcache-ai/Mooncake/issues/3749>`__" in linked
    assert generator().linked("#1") == "#1"


def test_rules_cite_nothing_that_a_reader_cannot_open():
    assert [rule.id for rule in RULES if PRIVATE.search(rule.source)] == []


def test_the_planner_cites_nothing_that_a_reader_cannot_open():
    files = sorted((ROOT / "plugins" / "plugin_utils" / "plan").rglob("*.py"))
    assert [path.name for path in files if PRIVATE.search(path.read_text(encoding="utf-8"))] == []
