# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each refusal of a release's configuration code has a rule, is unreachable, or is known as uncovered; a new one is noticed."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.all import RULES
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import ORDER
from ansible_collections.ascend.inference.tests.releases import refusals

ROWS = refusals.known()
SOURCE = """
class Config:
    def check(self, size):
        if size < 1:
            raise ValueError(f"size must be positive, got {size}")
        assert size % 2 == 0, "size must be even"
        assert self.ready
        for one in range(size):
            try:
                pass
            except OSError:
                raise
            raise RuntimeError()

def top():
    raise NotImplementedError(
        "not "
        "here"
    )
"""


@pytest.fixture(name="folder")
def _folder(tmp_path):
    (tmp_path / "vllm_ascend").mkdir()
    (tmp_path / "vllm_ascend" / "platform.py").write_text(SOURCE)
    (tmp_path / "vllm_ascend" / "other.py").write_text("raise ValueError('of another file')")
    return tmp_path


def test_refusals_of_a_source_are_read(folder):
    assert refusals.read(folder) == [
        "Config.check: size must be positive, got {}",
        "Config.check: size must be even",
        "Config.check: assert self.ready",
        "Config.check: RuntimeError()",
        "top: not here",
    ]


def test_a_new_refusal_and_one_that_is_gone_are_noticed(folder):
    lines = refusals.differences("0.30.0rc2", folder)
    new = [line for line in lines if "has no meaning" in line]
    own = [row for row in ROWS if "0.30.0rc2" in row["releases"]]
    assert len(new) == 5 and len(lines) == 5 + len(own) and len(own) > 100


def test_new_refusals_join_the_known_ones_without_a_meaning():
    rows = [
        {"text": "a", "releases": ["1", "2"], "says": "rule X"},
        {"text": "gone", "releases": ["2"], "says": "rule X"},
    ]
    assert [(row["text"], row["releases"], row["says"]) for row in refusals.merged(rows, {"2": ["a", "b"]})] == [
        ("a", ["1", "2"], "rule X"),
        ("b", ["2"], ""),
    ]


@pytest.mark.parametrize("row", ROWS, ids=[row["text"][:60] for row in ROWS])
def test_each_refusal_has_a_rule_or_a_reason(row):
    kind, dummy, what = row["says"].partition(" ")
    assert set(row["releases"]) <= set(ORDER) and row["releases"]
    if kind == "rule":
        assert what in {rule.id for rule in RULES}
    else:
        assert kind in ("unreachable:", "uncovered:") and len(what) > 20
