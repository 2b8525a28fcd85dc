# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service that ends again and again is shown by status, with the line of its log that says why."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import state
from ansible_collections.ascend.inference.plugins.module_utils.status import cause, services

NOW = 5000.0
LOG = """INFO loading weights
Traceback (most recent call last):
  File "engine.py", line 1, in main
ValueError: The model's max seq len (4096) is larger than the KV cache
INFO engine is shut down
"""


@pytest.mark.parametrize(
    ("found", "answers", "expected"),
    [
        (state("activating (auto-restart)", False, True, restarts=3), None, True),
        (state("activating (auto-restart)", False, True, restarts=2), None, False),
        (state("failed (failed)", detail="result start-limit-hit", restarts=None), None, True),
        (state("running", True, restarts=9, since=NOW - 5), False, True),
        (state("running", True, restarts=9, since=NOW - 5), True, False),
        (state("running", True, restarts=9, since=NOW - 5), None, True),
        (state("running", True, restarts=9, since=NOW - 4000), True, False),
        (state("running", True, restarts=9, since=NOW - 4000), None, False),
        (state("running", True, restarts=9, since=NOW - cause.YOUNG), None, False),
        (state("running", True, restarts=9, since=NOW - cause.YOUNG + 1), None, True),
        (state("running", True, restarts=9, since=None), None, False),
        (state("running", True, restarts=9, since=NOW - 4000), False, True),
        (state("restarting", False, True, restarts=4, detail="exit code 1"), None, True),
    ],
)
def test_what_is_a_loop(found, answers, expected):
    assert cause.in_loop(found, answers, NOW) is expected


@pytest.mark.parametrize(
    ("times", "since", "answers", "loop"),
    [
        (3, NOW - 40, True, True),
        (3, NOW - 40, None, False),  # then it is one that in_loop names
        (2, NOW - 40, True, False),
        (6, NOW - cause.RECENT + 1, True, True),
        (6, NOW - cause.RECENT, True, False),
        (6, None, True, False),
    ],
)
def test_a_service_that_runs_again_may_be_in_a_loop(times, since, answers, loop):
    text = cause.restarted(state("running", True, restarts=times, since=since), answers, NOW)
    assert text.startswith(f"restarted {times} times after an unexpected exit"), "as status_table knows it"
    assert ("that is a crash loop, although it runs now. Fix: " in text) is loop and (
        "; see its log" in text
    ) is not loop


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (LOG.splitlines(), "ValueError: The model's max seq len (4096) is larger than the KV cache"),
        (["vllm: error: unrecognized arguments: --x", ""], "vllm: error: unrecognized arguments: --x"),
        (["INFO a", "INFO b", " "], "INFO b"),
        ([], "its log is empty"),
        (["RuntimeError: one", "later", "torch.OutOfMemoryError: two"], "torch.OutOfMemoryError: two"),
    ],
)
def test_the_cause_in_a_log(lines, expected):
    assert cause.cause(lines) == expected


class Runtime:
    def __init__(self, found):
        self.found = found

    def states(self, wanted):
        return {"x-decode-0": self.found}

    def log(self, service, lines):
        return LOG


def test_status_shows_the_loop_first_with_its_cause():
    planned = {
        "name": "decode-0", "kind": "decode", "unit": "x-decode-0", "digest": "d", "digest_file": "/none", "url": "", "patience": 600,
        "base": "", "log": {}, "version": "", "transfers": False, "generated": [], "clients": 0, "engines": [],
    }  # fmt: skip
    found = state("failed (failed)", detail="result start-limit-hit", restarts=10)
    rows, _complaints = services.Host(Runtime(found), {"services": [planned]}, None, clock=lambda: NOW).look()
    text = rows[0]["findings"][0]
    assert text.startswith(
        "is in a crash loop: it ended 10 times, and systemd gave up. Its log says: ValueError: The model's max seq len"
    )
    found = state("activating (auto-restart)", False, True, restarts=4)
    rows, _complaints = services.Host(Runtime(found), {"services": [planned]}, None, clock=lambda: NOW).look()
    assert "it ended 4 times, and it is started again after a pause" in rows[0]["findings"][0]
