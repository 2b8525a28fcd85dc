# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action model_wait: a delivery that stands still is not waited for, and its host is not left because of it."""

from __future__ import annotations

import types

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.ascend.inference.plugins.action import model_wait

GB = 10**9


@pytest.fixture
def wait(monkeypatch):
    """``wait(come)`` -> (result, hours waited); ``come(seconds)`` -> (files that are complete, bytes that are there) of 10 files and 60 GB."""
    now = [0.0]
    monkeypatch.setattr(ActionBase, "run", lambda self, tmp=None, task_vars=None: {})
    monkeypatch.setattr(model_wait.Display, "display", lambda self, text: None)
    clock = types.SimpleNamespace(monotonic=lambda: now[0], sleep=lambda seconds: now.__setitem__(0, now[0] + seconds))
    monkeypatch.setattr(model_wait, "time", clock)

    def run(come, **given):
        def execute(self, name, module_args, task_vars):
            done, there = come(now[0])
            progress = {"run": "7", "runs": there < 60 * GB, "files": 10, "files_done": done, "bytes": 60 * GB}
            return {"exists": False, "progress": {**progress, "bytes_there": there, "error": ""}}

        monkeypatch.setattr(ActionBase, "_execute_module", execute)
        action = model_wait.ActionModule.__new__(model_wait.ActionModule)
        action._task = types.SimpleNamespace(args={"path": "/models/m", "run": "7", **given}, action="model_wait")
        monkeypatch.setattr(
            action,
            "validate_argument_spec",
            lambda **dummy: (None, {"timeout": 86400, "start_timeout": 60, **action._task.args}),
            raising=False,
        )
        return action.run(task_vars={"inventory_hostname": "n1", "ansible_facts": {}}), now[0] / 3600

    return run


@pytest.mark.parametrize(
    "come", [lambda second: (0, 0), lambda second: (0, int(second)), lambda second: (3, 20 * GB + int(second) * 1000)]
)
def test_what_stands_still_or_only_drips_is_left_within_the_hour(wait, come):
    result, hours = wait(come)
    assert "nearly nothing" in result["late"] and not result.get("failed") and hours < 1


@pytest.mark.parametrize("rate", [10**6, 10**9])
def test_what_comes_slowly_is_waited_for(wait, rate):
    result, hours = wait(lambda second: (0, min(int(second * rate), 60 * GB)))
    assert "late" not in result and hours == pytest.approx(60 * GB / rate / 3600, abs=0.1)


def test_files_that_are_compared_and_not_fetched_are_progress(wait):
    """After a run that was killed: the bytes are there, and file after file is read."""
    result, hours = wait(lambda second: (int(second // 1500), 59 * GB if second < 15000 else 60 * GB))
    assert "late" not in result and hours > 4


def test_the_limit_of_time_is_no_failure_of_the_host(wait):
    result, hours = wait(lambda second: (0, int(second * 10**5)), timeout=7200)
    assert "within 7200 s" in result["late"] and not result.get("failed") and hours < 2.1
