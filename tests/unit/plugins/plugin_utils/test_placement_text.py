# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a host's placement.json: when it is used, when it counts as none, and what is said when it is ignored."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.placement_kept import (
    MOST_CHARACTERS,
    UNTRUSTED,
    read_text,
)


@pytest.mark.parametrize("text", ["", " \n", "{}", " {}\n", "{}" + " " * (MOST_CHARACTERS - 2)], ids=len)
def test_a_host_without_a_placement(text):
    assert read_text(text) == (None, "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}" + " " * (MOST_CHARACTERS - 1), f"more than {MOST_CHARACTERS} characters"),
        (UNTRUSTED, "other users than root"),
        (f"{UNTRUSTED} of 7", "other users than root"),
        ("{", "not JSON"),
        ("[" * 100000, "not JSON"),
        ("[]", "not a placement"),
        ('{"routers": 1}', "not a placement"),
    ],
    ids=lambda value: value[:12],
)
def test_a_text_that_is_ignored_says_why(text, why):
    found, said = read_text(text)
    assert found is None and why in said
