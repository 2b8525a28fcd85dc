# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Traces in Mooncake's format: what is wrong with one is said before hours of measuring, with its lines."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.bench.trace import trace_problem

# Two requests as the published traces have them.
GOOD = [
    {"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": list(range(14))},
    {"timestamp": 3000, "input_length": 7322, "output_length": 490, "hash_ids": [0, *range(14, 28)]},
]


def judged(tmp_path, *lines, requests=0, most=0):
    path = tmp_path / "trace.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(f"{text}\n" for text in texts))
    return trace_problem(str(path), requests, most).replace(str(path), "FILE")


def test_a_trace_of_mooncake_is_accepted(tmp_path):
    assert judged(tmp_path, *GOOD) == "" == judged(tmp_path, *GOOD, most=7812)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "line 2: is empty"),
        ("timestamp,input_length", "line 2: is no JSON"),
        ("[1]", "line 2: is no object"),
        ('{"timestamp": 1, "input_le', "line 2: is no JSON"),
        ("[" * 100000, "line 2: is no JSON"),
        ({**GOOD[0], "timestamp": -1}, "line 2: timestamp is -1"),
        ({**GOOD[0], "timestamp": "0"}, 'line 2: timestamp is "0"'),
        ({**GOOD[0], "input_length": 0}, "line 2: input_length is 0"),
        ({**GOOD[0], "input_length": 5.5}, "line 2: input_length is 5.5"),
        ({**GOOD[0], "output_length": float("nan")}, "line 2: output_length is NaN"),
        ({"timestamp": 1, "input_length": 5, "output_length": 5}, "line 2: hash_ids is no list of numbers"),
        ({**GOOD[0], "hash_ids": ["a"]}, "line 2: hash_ids is no list of numbers"),
        ({**GOOD[0], "hash_ids": [1]}, "line 2: hash_ids has 1 blocks, and input_length is 6758"),
    ],
)
def test_a_malformed_line_is_named_with_its_number_and_the_format(tmp_path, line, problem):
    found = judged(tmp_path, GOOD[0], line, GOOD[1])
    assert found.startswith(f"FILE is no trace: {problem}. Fix: ") and '"hash_ids"' in found
    assert judged(tmp_path, GOOD[0], line, requests=1) == "", "it is not sent"


def test_few_of_many_malformed_lines_are_named(tmp_path):
    found = judged(tmp_path, *["x"] * 100)
    assert found.count("is no JSON") == 3


def test_requests_that_are_longer_than_the_context_are_counted(tmp_path):
    found = judged(tmp_path, *GOOD * 4, most=7500)
    assert "4 of 8 requests of FILE" in found and "7500 (line 2: 7812, line 4: 7812, line 6: 7812, ...)" in found
    assert judged(tmp_path, *GOOD, requests=1, most=7500) == ""


def test_what_is_no_file_is_named(tmp_path):
    assert "has no requests" in judged(tmp_path)
    assert "cannot be read: No such file" in trace_problem(str(tmp_path / "none"), 0, 0)
    assert "is no file" in trace_problem("/dev/zero", 0, 0) and "is no file" in trace_problem(str(tmp_path), 0, 0)
