# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step says while it waits, and that no host keeps the run for ever."""

from __future__ import annotations

from ansible_collections.ascend.inference.plugins.plugin_utils.change.waits import progress, waited


def test_a_module_goes_on_where_it_stopped_until_it_has_ended():
    answers = [{"begun": {"at": 1}, "seconds": 15.0, "busy": {"d-0": "1 request"}}, {"busy": {}}]
    given, said = [], []
    found = waited(lambda more: given.append(more) or answers[len(given) - 1], 60, said.append)
    assert (found, given) == ({"busy": {}}, [{}, {"begun": {"at": 1}}])
    assert said == ["Waiting, 15.0 of at most 60 s: d-0 has 1 request"]


def test_a_host_that_always_goes_on_ends_with_the_time():
    calls = []
    waited(lambda more: calls.append(more) or {"begun": {"at": 1}}, 60, lambda text: None)
    assert len(calls) == 6


def test_a_host_adds_no_lines_to_what_is_said():
    text = progress({"busy": {"d-0": "1\nTASK [All is well]"}, "seconds": "9\nok: [n2]"}, 60)
    assert "\n" not in text and text.startswith("Waiting, 9")
