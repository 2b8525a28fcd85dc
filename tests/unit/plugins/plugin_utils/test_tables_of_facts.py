# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables, limits and texts of the code that plans, checks and reports: a digest for each module, in test_tables_of_facts.txt.

Such facts have a source beside them, and mostly no other test repeats them. Who changes one reads in the difference which module has other facts,
and gives the source.
"""

from __future__ import annotations

import dataclasses
import importlib
import pathlib
import re

import pytest
from ansible_collections.ascend.inference.tests.unit.digests import expect

ROOT = pathlib.Path(__file__).resolve().parents[4]
PACKAGE = "ansible_collections.ascend.inference."
FOLDERS = (
    "plugins/action",
    "plugins/plugin_utils",
    "plugins/module_utils/verify",
    "plugins/module_utils/diagnosis",
)
FILES = sorted(str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def plain(value):
    """Data of a table; of other things their kind."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(str(plain(item)) for item in value)
    if isinstance(value, dict):
        return [[plain(key), plain(item)] for key, item in value.items()]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [[field.name, plain(getattr(value, field.name))] for field in dataclasses.fields(value)]
    return value.pattern if isinstance(value, re.Pattern) else type(value).__name__


def facts(file):
    """The constants that a module defines itself."""
    text = (ROOT / file).read_text(encoding="utf-8")
    names = re.findall(r"^(_?[A-Z][A-Z0-9_]*)(?:: [^=]+)? = ", text, re.MULTILINE)
    module = importlib.import_module(PACKAGE + file[: -len(".py")].replace("/", ".").replace(".__init__", ""))
    return {name: plain(getattr(module, name)) for name in names}


@pytest.mark.parametrize("file", [file for file in FILES if facts(file)])
def test_facts(file):
    expect(__file__, file, facts(file))
