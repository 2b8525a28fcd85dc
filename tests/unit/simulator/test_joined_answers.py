# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The load of tests: an answer of which a proxy sent two events as one is counted apart, and its text is compared as that of others."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.drill.load import Request
from ansible_collections.ascend.inference.tests.simulator import load

JOINED = "joined: two events of the stream came as one"


@pytest.mark.parametrize(
    ("problem", "text", "counts"),
    [
        (JOINED, "good", {"answered": 1, "joined": 1, "failures": 0, "empty": 0, "wrong": 0}),
        (JOINED, "goo", {"answered": 1, "joined": 1, "failures": 0, "empty": 0, "wrong": 1}),
        ("incomplete: no text", "goo", {"answered": 0, "joined": 0, "failures": 1, "empty": 0, "wrong": 0}),
    ],
)
def test_answers_with_two_events_as_one_are_counted_apart(problem, text, counts):
    found = load.Load("http://127.0.0.1:1", "tiny")
    found.requests.append(Request("n", 1, True, 1.0, 0.1, 0.2, problem, text))
    for _twice in range(2):
        report = found.report(lambda _prompt, _tokens: "good")
        assert {name: report[name] for name in counts} == counts
