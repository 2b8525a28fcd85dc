# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pause of the probe begins when its file is written: copy does not write a file again that has the same text."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
import pytest
import yaml

TASKS = Path(__file__).resolve().parents[2] / "playbooks/shared/probe_pause.yml"


def test_the_file_that_a_killed_run_left_is_removed_before_a_new_pause():
    end, begin = yaml.safe_load(TASKS.read_text(encoding="utf-8"))
    removed, written = end["ansible.builtin.file"], begin["block"][0]["ansible.builtin.copy"]
    assert (removed["state"], removed["path"]) == ("absent", written["dest"])
    assert "when" not in end and end["loop"] == begin["block"][0]["loop"]


@pytest.mark.parametrize(
    ("answer", "silent"),
    [
        ({"json": {"paused": 1.5}}, True),
        ({"json": {"paused": 0}}, False),  # its round goes on
        ({"json": {}}, False),
        ({}, False),
        ({"msg": "Request failed: <urlopen error [Errno 111] Connection refused>"}, True),  # it does not run
        ({"msg": "connection refused"}, True),
        ({"msg": "Request failed: <urlopen error timed out>"}, False),
        ({"json": {"paused": 0}, "msg": "OK (120 bytes)"}, False),
    ],
)
def test_a_probe_is_silent_once_it_says_so_or_does_not_run(answer, silent):
    """A measurement that begins earlier counts requests of the probe."""
    (wait,) = [task for task in yaml.safe_load(TASKS.read_text(encoding="utf-8"))[1]["block"] if "until" in task]
    environment = jinja2.Environment(autoescape=True)
    environment.tests["search"] = lambda text, pattern: bool(re.search(pattern, text))
    text = wait["vars"]["__inference_silent"]
    assert environment.from_string(text).render(__inference_paused=answer).strip() == str(silent)
    assert (wait["until"], wait["failed_when"]) == ("__inference_silent", "not __inference_silent")
