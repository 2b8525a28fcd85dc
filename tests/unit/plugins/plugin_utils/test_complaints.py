# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a refused plan: grouped by place, in a stable order, each violation with its way out."""

from __future__ import annotations

import random

from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import Finding, PlanError

SEVERAL = [
    Finding("node10.inference_address", "B", "this is wrong.", "Do that.", value="x"),
    Finding("node2.inference_address", "B", "this is wrong.", "Do that."),
    Finding("node10.inference_address", "A", "that is wrong", value="x"),
]
TEXT = """\
3 things are wrong with the description; nothing was changed.

node2.inference_address
  1. this is wrong. [B]
     Do that.

node10.inference_address = x
  2. that is wrong. [A]
  3. this is wrong. [B]
     Do that."""


def test_the_text_is_grouped_by_place_whatever_the_order():
    for dummy in range(5):
        random.shuffle(SEVERAL)
        assert str(PlanError(SEVERAL)) == TEXT


def test_one_mistake_that_shows_on_many_hosts_does_not_flood_the_screen():
    error = PlanError(Finding(f"node{number}.devices", "A", "twice") for number in range(500))
    assert len(error.complaints) == 500
    assert len(str(error).splitlines()) < 70
    assert "480 more of [A]" in str(error)
