# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory table of a plan from the facts of an earlier check, and a plan that cannot start."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.plan_memory import plan_memory
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_check_plan import (
    HOSTS,
    facts,
    model,
    plan,
    weights,
)


@pytest.fixture
def file_of(tmp_path):
    """``file_of(data)``: the path of a file as the playbook check writes it."""

    def write(data):
        path = tmp_path / "check.json"
        path.write_text(json.dumps({"findings": [], "facts": data}))
        return str(path)

    return write


def test_the_table_has_a_line_for_each_pool(file_of):
    lines = plan_memory(plan(), file_of(facts()))
    assert lines[1].startswith("Memory of one device")
    assert [line.split()[0] for line in lines[2:]] == ["POOL", "prefill", "decode"]
    assert "16.0 GiB" in lines[3]  # 64 GiB of weights on four devices


def test_another_division_of_the_model_is_calculated_from_the_same_facts(file_of):
    pools = {"prefill": {"tensor_parallel_size": 4}, "decode": {"instances": 2, "tensor_parallel_size": 2}}
    lines = plan_memory(plan(inference_pools=pools), file_of(facts()))
    assert "16.0 GiB" in lines[3] and "32.0 GiB" in lines[4]


def test_a_plan_that_cannot_start_is_refused(file_of):
    data = facts()
    for name in HOSTS:
        model(name, weights=weights(256))(data)
    path = file_of(data)
    with pytest.raises(PlanError, match="the weights of one rank take 64.0 GiB") as refused:
        plan_memory(plan(), path)
    assert [finding.id for finding in refused.value.findings] == ["MODEL-MEMORY", "MODEL-MEMORY"]
    assert plan_memory(plan(), path, ["MODEL-MEMORY"])[2].startswith("POOL")


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (lambda data: [data.pop(name) for name in HOSTS], "none of the planned hosts"),
        (lambda data: [model(name, path="/models/other")(data) for name in HOSTS], "it has /models/other"),
        (lambda data: [model(name, weights={})(data) for name in HOSTS], "no sizes of weights"),
        (lambda data: [data[name].pop("npu") for name in HOSTS], "no memory sizes"),
    ],
)
def test_a_file_without_the_facts_is_refused_with_what_it_lacks(file_of, edit, text):
    data = facts()
    edit(data)
    with pytest.raises(PlanError, match=text):
        plan_memory(plan(), file_of(data))


@pytest.mark.parametrize("content", ["no json", "[]", "{}"])
def test_another_file_is_refused(tmp_path, content):
    with pytest.raises(PlanError, match="cannot be read"):
        plan_memory(plan(), str(tmp_path / "missing.json"))
    (tmp_path / "other.json").write_text(content)
    with pytest.raises(PlanError, match="not a file of the playbook check"):
        plan_memory(plan(), str(tmp_path / "other.json"))
