# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A default that a playbook or a role has in an expression is the documented one, the same everywhere, and that of the role's option."""

from __future__ import annotations

import ast
import pathlib
import re

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.description import variables

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = [path for name in ("playbooks", "roles") for path in sorted((ROOT / name).rglob("*.yml"))]
# a variable, and a literal as its default
LITERAL = re.compile(r"(?<![\w.])(inference_\w+) \| default\((-?\d+|true|false|none|'[^']*'|\[\]|\{\}|omit)[,)]")
PASSED = re.compile(
    r"^ +(?!inference_|__)(\w+): \"\{\{ inference_\w+ \| default\((-?\d+|true|false|'[^']*'|\[\]|\{\})\) \}\}\"",
    re.MULTILINE,
)
DOCUMENTED = {f"inference_{name}": text for name, text in variables.RUN_VARIABLES.items()}
WORDS = re.compile(r"Default: ([^ ]+?)[.,](?: |$)")
# Values that mean "not given", with which the documented default is chosen elsewhere.
NOT_GIVEN = ("", [], {}, None, "omit")


def value_of(text: str):
    return (
        {"true": True, "false": False, "none": None, "omit": "omit"}[text] if text.isalpha() else ast.literal_eval(text)
    )


def defaults():
    """Of each variable: its defaults, each with the files that have it."""
    found = {}
    for path in FILES:
        for name, text in LITERAL.findall(path.read_text(encoding="utf-8")):
            found.setdefault(name, {}).setdefault(text, set()).add(str(path.relative_to(ROOT)))
    return found


DEFAULTS = defaults()


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_variable_has_one_default(name):
    assert len(DEFAULTS[name]) == 1, f"{name} has several defaults: {DEFAULTS[name]}"


@pytest.mark.parametrize("name", sorted(DEFAULTS.keys() & DOCUMENTED.keys()))
def test_the_default_is_the_documented_one(name):
    """A number or a word is stated; without a statement a switch is off and anything else is not given."""
    (text,) = DEFAULTS[name]
    value = value_of(text)
    stated = WORDS.search(DOCUMENTED[name])
    if stated and value not in NOT_GIVEN:
        assert str(value).lower() == stated[1].lower(), f"{name} is {value!r}, and documented is: {DOCUMENTED[name]}"
    elif not stated:
        assert value is False or value in NOT_GIVEN, f"{name} is {value!r} by default, which nothing documents"


def test_an_option_of_a_role_gets_its_own_default():
    """So that the role does the same without the playbook."""
    declared = {}
    for path in sorted((ROOT / "roles").glob("*/defaults/main.yml")):
        declared.update(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    wrong = [
        f"{path.relative_to(ROOT)}: {name} is {declared[name]!r} in the role, and {value} here"
        for path in FILES
        for name, value in PASSED.findall(path.read_text(encoding="utf-8"))
        if name in declared and "{{" not in str(declared[name]) and value_of(value) != declared[name]
    ]
    assert wrong == []
