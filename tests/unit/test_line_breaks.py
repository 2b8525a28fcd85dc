# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A line break in an expression is one: only a text in double quotes turns ``\\n`` into it; Ansible prints it as two characters elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = [path for name in ("playbooks", "roles") for path in sorted((ROOT / name).rglob("*.yml"))]
EXPRESSION = re.compile(r"\{\{.*?\}\}", re.DOTALL)


class Loader(yaml.SafeLoader):
    """Reads texts with tags of Ansible as texts."""


Loader.add_multi_constructor("!", lambda loader, _suffix, node: loader.construct_scalar(node))


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def literal_breaks(text):
    """Expressions of a YAML text with a backslash and an n."""
    found = (
        part
        for document in yaml.load_all(text, Loader)
        for each in texts(document)
        for part in EXPRESSION.findall(each)
    )  # noqa: S506 - of a SafeLoader
    return [part for part in found if "\\n" in part]


def test_a_folded_text_keeps_both_characters():
    assert literal_breaks("a: >-\n  {{ b | join('\\n') }}\n") == ["{{ b | join('\\n') }}"]
    assert literal_breaks("a: \"{{ b | join('\\n') }}\"\n") == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_expression_prints_a_line_break_as_two_characters(path):
    assert literal_breaks(path.read_text(encoding="utf-8")) == []
