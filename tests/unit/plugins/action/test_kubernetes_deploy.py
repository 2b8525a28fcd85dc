# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action kubernetes_deploy: slices of a wait become one result, and what lacks is shown in between."""

from __future__ import annotations

import types

import pytest

pytest.importorskip("ansible.plugins.action", reason="a target has no actions")
from ansible_collections.ascend.inference.plugins.action import kubernetes_deploy as action

DIFF = {"before": "", "after": "x", "after_header": "ModelServing/demo"}


@pytest.fixture
def play(monkeypatch):
    """``play(results, **arguments)``: the action's result, the arguments of each slice, and what was shown."""

    def run(results, **arguments):
        calls, shown, seconds, slices = [], [], [0], iter(results)

        def execute(self, name, module_args, task_vars):
            calls.append(module_args)
            seconds[0] += 61
            return dict(next(slices))

        monkeypatch.setattr(action.Asked, "__init__", lambda self: None)
        monkeypatch.setattr(action.Asked, "run", lambda self, tmp, task_vars: {})
        monkeypatch.setattr(action.Asked, "_execute_module", execute, raising=False)
        monkeypatch.setattr(action, "Display", lambda: types.SimpleNamespace(display=shown.append))
        monkeypatch.setattr(action, "time", types.SimpleNamespace(monotonic=lambda: seconds[0]))
        plugin = action.ActionModule()
        plugin._task = types.SimpleNamespace(args=arguments)
        return plugin.run(), calls, shown

    return run


def waiting(text, **more):
    return {"waiting": True, "changed": False, "progress": [text], **more}


def test_a_deployment_that_is_ready_at_once_is_one_run(play):
    result, calls, shown = play([{"waiting": False, "changed": False, "progress": []}], plan={}, timeout=7)
    assert calls == [{"plan": {}, "timeout": 7, "pause": 60}]
    assert shown == []
    assert not result["changed"]


def test_slices_go_on_with_the_time_that_is_gone(play):
    first = waiting("decode: 0 pods of 1", changed=True, created=["ModelServing/demo"], diff=[DIFF])
    second = waiting("decode: 0 of 1 pods are ready", stuck={"p: ImagePullBackOff": 20})
    third = {"waiting": False, "changed": True, "progress": [], "created": ["Deployment/demo-router"], "diff": []}
    result, calls, shown = play([first, second, third], plan={}, timeout=1000)
    assert {call["timeout"] for call in calls} == {1000} and [call.get("waited") for call in calls] == [None, 61, 122]
    assert [call.get("resume") for call in calls] == [None, {}, {"p: ImagePullBackOff": 20}]
    assert {call["pause"] for call in calls} == {60} and all(call["plan"] == {} for call in calls)
    assert shown == ["  61 s: decode: 0 pods of 1", "  122 s: decode: 0 of 1 pods are ready"]
    assert result["created"] == ["ModelServing/demo", "Deployment/demo-router"]
    assert result["changed"]
    assert result["diff"] == [DIFF]
    assert len(result["progress"]) == 2


def test_a_slice_that_fails_ends_it_and_keeps_what_was_changed(play):
    failed = {"failed": True, "msg": "no", "waiting": True, "changed": False, "progress": ["x"]}
    result, calls, _shown = play([waiting("x", changed=True, updated=["ConfigMap/demo-cm"]), failed], plan={})
    assert (result["msg"], result["updated"], len(calls)) == ("no", ["ConfigMap/demo-cm"], 2)


@pytest.mark.parametrize("first, second", [(True, False), (False, True), (False, False), (True, True)])
def test_what_any_slice_changed_is_changed(play, first, second):
    result, _calls, _shown = play([waiting("x", changed=first), {"waiting": False, "changed": second}], plan={})
    assert result["changed"] is (first or second) and result["progress"] == ["x"]


def test_a_pause_that_is_asked_for_is_the_user_s(play):
    result, calls, shown = play([waiting("x")], plan={}, pause=5)
    assert (result["waiting"], calls, shown) == (True, [{"plan": {}, "pause": 5}], [])
