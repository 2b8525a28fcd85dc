# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each role's README says what the role is for, shows an example that its specification accepts, and lists its variables."""

from __future__ import annotations

import re

import pytest
import yaml
from ansible_collections.ascend.inference.docs import role_pages


@pytest.mark.parametrize("role", role_pages.roles(), ids=lambda role: role.name)
def test_table_is_in_step(role):
    written = (role / "README.md").read_text(encoding="utf-8")
    assert written == role_pages.readme(role), "run: python docs/role_pages.py --write"


@pytest.mark.parametrize("role", role_pages.roles(), ids=lambda role: role.name)
def test_example_uses_the_variables_of_the_role(role):
    text = (role / "README.md").read_text(encoding="utf-8")
    (play,) = yaml.safe_load(re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)[0])
    (used,) = play["roles"]
    specs = yaml.safe_load((role / "meta/argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]["main"]
    options = specs.get("options") or {}
    assert used["role"] == f"ascend.inference.{role.name}"
    assert sorted(set(used.get("vars", {})) - set(options)) == []
    assert sorted({name for name, option in options.items() if option.get("required")} - set(used["vars"])) == []
    for name, value in used["vars"].items():
        assert not options[name].get("choices") or value in options[name]["choices"]


def test_markup_becomes_plain_text():
    assert role_pages.plain("From C(.run) packages, or O(main:cann_method=none).\n  More|") == (
        "From `.run` packages, or `cann_method=none`. More\\|"
    )
