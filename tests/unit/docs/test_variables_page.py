# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every planner variable is documented where it is defined, and the reference page shows that documentation."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.ascend.inference.docs import variables_page
from ansible_collections.ascend.inference.plugins.plugin_utils.description import loader, variables

ROOT = Path(__file__).resolve().parents[3]
RECORDS = (variables.Description, *variables_page.records())


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_each_field_is_documented(record):
    texts = {field.name: field.metadata.get("doc", "") for field in dataclasses.fields(record)}
    assert [name for name, text in texts.items() if not text.endswith(".")] == []


def test_all_records_are_found():
    names = {record.__name__ for record in RECORDS}
    assert {"Model", "Pool", "Ports", "HostSettings", "Router", "Master", "Kubernetes", "PodSettings", "Mount"} <= names


def test_page_is_in_step():
    shown = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "variables_page.py")], capture_output=True, text=True, check=True
    )
    written = variables_page.PAGE.read_text(encoding="utf-8")
    assert shown.stdout == written, "run: python docs/variables_page.py --write"


def test_page_shows_type_default_and_limits():
    page = variables_page.page()
    assert "``inference_runtime``\n     - ``systemd``, ``docker``" in page
    assert "``port``\n     - number, 1 to 65535\n     - ``8000``" in page
    assert "``path``\n     - string\n     - (required)" in page


def test_documented_keeps_what_the_field_is():
    field = loader.documented("Text.", loader.number(3, 1, 9))
    assert (field.default, field.metadata["most"], field.metadata["doc"]) == (3, 9, "Text.")
    assert loader.documented("Text.").default is dataclasses.MISSING
    assert loader.documented("Text.", "").default == ""
