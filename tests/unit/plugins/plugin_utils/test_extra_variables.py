# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mapping that the command line gave as text: Ansible splits -e NAME={KEY: VALUE} at its blanks."""

from __future__ import annotations

import re

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.utils.vars import load_extra_vars
from ansible_collections.ascend.inference.plugins.plugin_utils.description.variables import read_description

MODEL = {"inference_model": {"path": "/models/m"}}


def fixes(**variables):
    return [finding.fix for finding in read_description({**MODEL, **variables})[1]]


@pytest.mark.parametrize("name", ["args", "env", "pools", "router", "secrets", "store"])
def test_the_fix_names_a_form_that_is_a_mapping(name):
    fix = next(fix for fix in fixes(**{f"inference_{name}": "{a:"}) if "command line" in fix)
    option = re.search(r"-e '(.*?)', or", fix)[1]
    loader = DataLoader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ansible.context.CLIARGS", {"extra_vars": [option.replace("KEY: VALUE", "a: 1")]})
        if hasattr(load_extra_vars, "extra_vars"):
            patch.delattr(load_extra_vars, "extra_vars")
        assert load_extra_vars(loader) == {f"inference_{name}": {"a": 1}}


def test_another_text_is_no_mapping_of_the_command_line():
    assert "command line" not in fixes(inference_args="max-model-len")[0]
    assert "command line" not in fixes(inference_args=["{"])[0]
