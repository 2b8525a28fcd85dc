# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run variables with one boolean or number are judged before a playbook begins."""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.module_utils.install.venv_options import ARGUMENTS as OPTIONS
from ansible_collections.ascend.inference.plugins.modules import engine_watchdog
from ansible_collections.ascend.inference.plugins.plugin_utils.description.run_values import (
    BOOLEANS,
    CHOICES,
    MAPPINGS,
    NUMBERS,
    TEXTS,
    wrong_values,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.description.variables import RUN_VARIABLES
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.upgrade import MODES

PLAYBOOKS = pathlib.Path(__file__).resolve().parents[4] / "playbooks"


@pytest.mark.parametrize("name", [f"inference_{name}" for name in BOOLEANS])
def test_a_misspelt_boolean_is_refused(name):
    for value in ("ture", "", "None", "enabled", "2", 2, None, [], "t"):
        (text,) = wrong_values({name: value})
        assert text.startswith(f"{name}: ") and text.endswith(f"Fix: write true or false, such as {name}: true.")
    for value in (True, False, "true", "False", "YES", "no", "on", "off", "1", "0", 1, 0):
        assert wrong_values({name: value}) == []


@pytest.mark.parametrize("name", NUMBERS)
def test_a_text_that_is_no_number_is_refused(name):
    unit, example = NUMBERS[name]
    path = f"inference_{name}"
    for value in ("30m", "", None, "-1", -1, "nan", "inf", [30], {"a": 1}, True):
        (text,) = wrong_values({path: value})
        assert f"is no number of {unit}" in text and text.endswith(f"such as {path}: {example}.")
    for value in (0, 30, "30", 30.0, example):
        assert wrong_values({path: value}) == []
    assert bool(wrong_values({path: "0.5"})) is (name != "upgrade_watch")


def test_the_text_says_what_was_written_and_all_are_named_at_once():
    texts = wrong_values({"inference_logs_minutes": "30m", "inference_status_fail": "ture", "inference_user": "x"})
    assert texts == [
        "inference_status_fail: 'ture' is no boolean, and would silently be taken for false. Nothing was changed. "
        "Fix: write true or false, such as inference_status_fail: true.",
        "inference_logs_minutes: '30m' is no number of minutes. Nothing was changed. "
        "Fix: write minutes as a number without a unit, such as inference_logs_minutes: 30.",
    ]


def test_each_boolean_and_number_of_the_playbooks_is_judged():
    texts = "".join(path.read_text(encoding="utf-8") for path in PLAYBOOKS.rglob("*.yml"))
    booleans = set(re.findall(r"inference_(\w+)['\"\]]* \| default\((?:true|false)\)", texts))
    numbers = set(re.findall(r"inference_(\w+)['\"\]]* \| default\(\d+\)", texts))
    known = {name for name in booleans | numbers if name in RUN_VARIABLES}
    assert known <= {*BOOLEANS, *NUMBERS}
    assert {*BOOLEANS, *NUMBERS} == known


@pytest.mark.parametrize("name", [*MAPPINGS, *TEXTS])
def test_a_value_of_a_bundle_has_its_type(name):
    path = f"inference_{name}"
    wrong, right = ("aarch64", {"machine": "aarch64"}) if name in MAPPINGS else ({"a": 1}, "/srv/x")
    (text,) = wrong_values({path: wrong})
    assert text.startswith(f"{path}: ") and "Nothing was changed. Fix: write" in text
    assert wrong_values({path: right}) == wrong_values({path: ""}) == wrong_values({}) == []
    assert name in RUN_VARIABLES


@pytest.mark.parametrize("name", CHOICES)
def test_a_word_that_a_variable_does_not_know_is_refused(name):
    path = f"inference_{name}"
    for value in ("files", "true", True, False, ["list"], 0):
        (text,) = wrong_values({path: value})
        assert (
            "is no value of it" in text and f"Fix: write {path}: {' or '.join(CHOICES[name])}, or leave it out." in text
        )
    assert all(wrong_values({path: value}) == [] for value in (*CHOICES[name], "", None))
    assert name in RUN_VARIABLES


def test_the_words_are_those_of_the_code_that_reads_them():
    assert CHOICES["upgrade_mode"] == MODES
    assert CHOICES["watchdog"] == tuple(yaml.safe_load(engine_watchdog.DOCUMENTATION)["options"]["mode"]["choices"])
    assert CHOICES["index_strategy"] == tuple(OPTIONS["index_strategy"]["choices"])
