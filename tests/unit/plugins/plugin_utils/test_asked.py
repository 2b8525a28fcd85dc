# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What bench, trace, compare and drill are asked for is judged with the plan, before a host is contacted."""

from __future__ import annotations

import pathlib

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance.asked import JUDGES, judge_asked
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError

PLAN = {"deployment": "chat", "runtime_facts": {"in_cluster": False}}
PLAYBOOKS = pathlib.Path(__file__).resolve().parents[4] / "playbooks"


@pytest.mark.parametrize(
    ("playbook", "variables", "path"),
    [
        ("trace", {"inference_bench": {"input": "long"}}, "inference_bench.input"),
        ("trace", {"inference_bench": {"ouput": 12}}, "inference_bench.ouput"),
        ("trace", {"inference_trace_requests": "many"}, "inference_trace_requests"),
        ("trace", {"inference_trace_json": "/no/folder/x.json"}, "inference_trace_json"),
        ("drill", {}, "inference_drill_confirm"),
        ("drill", {"inference_drill_confirm": "yes"}, "inference_drill_confirm"),
        ("drill", {"inference_drill_confirm": "chat", "inference_drill": {"rate": "fast"}}, "inference_drill.rate"),
        ("bench", {"inference_bench": "throughput"}, "inference_bench"),
        ("bench", {"inference_bench": {"profile": "fast"}}, "inference_bench.profile"),
        ("bench", {"inference_bench_compare": "missing.json"}, "inference_bench_compare"),
        ("bench", {"inference_bench_json": "missing/x.json"}, "inference_bench_json"),
        ("compare", {}, "inference_compare_with"),
        ("compare", {"inference_compare_with": "missing.yml"}, "inference_compare_with"),
    ],
)
def test_what_cannot_be_done_is_refused(playbook, variables, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlanError) as caught:
        judge_asked(playbook, variables, PLAN)
    assert [finding.path for finding in caught.value.findings] == [path]
    judge_asked("plan", variables, PLAN)


def test_what_can_be_done_is_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.yml").write_text("inference_args: {seed: 1}\n", encoding="utf-8")
    judge_asked("drill", {"inference_drill_confirm": "chat"}, PLAN)
    judge_asked("bench", {"inference_bench": {"profile": "smoke"}, "inference_bench_json": "x.json"}, PLAN)
    judge_asked("compare", {"inference_compare_with": "other.yml"}, PLAN)


def test_a_restart_of_a_service_that_does_not_exist_is_refused():
    plan = {**PLAN, "services": [{"name": "router", "kind": "router", "ports": []}]}
    for named in ("router,decode-9", ["decode-9"]):
        with pytest.raises(ValueError, match="inference_services names decode-9, and no service"):
            judge_asked("restart", {"inference_services": named}, plan)
    for variables in ({}, {"inference_services": "router"}):
        judge_asked("restart", variables, plan)
    judge_asked("watchdog", {"inference_services": "decode-9"}, plan)


@pytest.mark.parametrize("playbook", sorted({*JUDGES, "restart"}))
def test_the_playbooks_tell_their_names(playbook):
    first = yaml.safe_load((PLAYBOOKS / f"{playbook}.yml").read_text(encoding="utf-8"))[0]
    assert first["vars"]["__inference_playbook"] == playbook
