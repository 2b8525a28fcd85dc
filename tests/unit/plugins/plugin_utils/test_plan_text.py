# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan for people, the difference to what is deployed, and where the variables come from."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.description.inventory import (
    common_value,
    deployment_variables,
    inventory_of,
    members,
    unknown_group,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import planned
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_diff import plan_diff
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_table import plan_table

INVENTORY = {
    f"n{number}": {
        "groups": ["prefill" if number == 1 else "decode"],
        "variables": {"ansible_host": f"10.0.0.{number}"},
    }
    for number in (1, 2, 3)
}


def plan(**changes):
    variables = {
        "inference_model": {"path": "/models/moe", "name": "moe"},
        "inference_pools": {
            "prefill": {"tensor_parallel_size": 8},
            "decode": {"data_parallel_size": 32, "load_balancing": "external"},
        },
        "inference_secrets": {"api_key": "s"},
        **changes,
    }
    return launch_plan(variables, INVENTORY)


def test_ranks_of_a_host_share_a_line():
    lines = plan_table(plan())
    assert lines[0] == "inference: moe, release 0.23.0.post1, vllm_ascend under systemd, 3 hosts, 34 services"
    assert lines[1].startswith("vLLM-Ascend 0.23.0.post1 is built on a3 hosts with SOC_VERSION=ascend910_9391: ")
    assert lines[2] == "Clients send requests to http://10.0.0.1:8000"
    assert lines[3].split() == ["SERVICE", "HOST", "DEVICES", "PORTS", "HEALTH"]
    assert lines[4].startswith("decode-0-0 .. 15   n2    0-15     api 7300-7315,")
    assert [line for line in lines if line.startswith(("decode", "prefill", "router"))] == lines[4:8]


def test_commands_show_everything_but_secrets():
    lines = plan_table(plan(), "commands")
    assert "HCCL_IF_IP=10.0.0.1 \\" in lines
    assert "VLLM_API_KEY=(secret api_key) \\" in lines
    assert "--tensor-parallel-size 8 \\" in lines


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="table, advice, commands, diff, json"):
        plan_table(plan(), "picture")


def test_findings_come_last():
    shown = plan()
    shown["findings"] = [
        {"severity": "warning", "id": "X-Y", "path": "a.b", "value": "1", "problem": "too small", "fix": "Make it 2."}
    ]
    assert plan_table(shown)[-3:] == ["1 finding:", "1. WARNING a.b = 1: too small. [X-Y]", "   Fix: Make it 2."]


def test_engines_without_a_router_have_no_common_entry():
    alone = {"inference_router": {"flavour": "none"}, "inference_kv_transfer": "store"}
    for instances, shown in ((1, 1), (2, 0)):
        pools = {"colocated": {"group": "decode", "tensor_parallel_size": 8, "instances": instances}}
        lines = plan_table(plan(inference_pools=pools, **alone))
        assert len([line for line in lines if line.startswith("Clients send requests to ")]) == shown


def test_what_somebody_accepted_follows_what_has_to_be_read():
    shown = plan()
    data = {"id": "X", "path": "a", "value": "", "problem": "bad", "why": ""}
    shown["findings"] = [
        {**data, "severity": "accepted", "fix": "Accepted: known"},
        *({**data, "severity": "warning", "path": path, "fix": "Mend it."} for path in ("b", "c")),
    ]
    assert plan_table(shown)[-5:] == [
        "2 findings at 3 places:",
        "1. WARNING 2 places (b, c): bad. [X]",
        "   Fix: Mend it.",
        "",
        "2. ACCEPTED a: bad. [X] Reason: known",
    ]


def test_nothing_deployed_and_nothing_changed():
    assert plan_diff(plan(), None) == ["Nothing is deployed yet: every service is new."]
    assert plan_diff(plan(), plan()) == ["No changes: the deployed plan is the same."]


def test_what_restarts_and_why():
    old, new = plan(), plan(inference_env={"OMP_NUM_THREADS": 4}, inference_args={"seed": 9})
    lines = plan_diff(new, old)
    assert len(lines) == 34
    assert "~ prefill-0 on n1 restarts: argv + --seed 9; env OMP_NUM_THREADS 10 -> 4" in lines
    assert lines[0].startswith("revision ")


def test_what_comes_and_goes():
    old = plan()
    new = copy.deepcopy(old)
    gone = new["services"].pop(0)
    assert plan_diff(new, old) == [f"- {gone['name']} on {gone['host']}"]
    assert plan_diff(old, new) == [f"+ {gone['name']} on {gone['host']}"]


HOSTVARS = {
    "h1": {"inference_model": {"path": "/a"}, "inference_devices": [0, 1], "inference_plan_show": "table", "other": 1},
    "h2": {"inference_model": {"path": "/a"}, "inference_release": "0.18.0", "ansible_host": "10.0.0.2"},
}


def test_words_are_found_wherever_they_stand():
    variables, conflicts = deployment_variables(
        {"inference_runtime": "docker", "ansible_host": "x"}, HOSTVARS, ["h1", "h2"]
    )
    assert not conflicts
    assert variables == {
        "inference_runtime": "docker",
        "inference_model": {"path": "/a"},
        "inference_release": "0.18.0",
    }


def test_on_kubernetes_the_controllers_words_stand_for_the_nodes():
    seen = {"inference_interface": "eth7", "inference_hardware": "a2", "inference_address": "10.0.0.1"}
    variables = deployment_variables({"inference_runtime": "kubernetes", **seen}, {}, [])[0]
    assert variables == {"inference_runtime": "kubernetes", "inference_interface": "eth7", "inference_hardware": "a2"}
    assert deployment_variables({"inference_runtime": "docker", **seen}, {}, [])[0] == {"inference_runtime": "docker"}


def test_hosts_have_to_agree():
    other = {**HOSTVARS, "h2": {"inference_model": {"path": "/b"}}}
    dummy, conflicts = deployment_variables({}, other, ["h1", "h2"])
    assert [(finding.id, finding.path) for finding in conflicts] == [("VARIABLE-CONFLICT", "inference_model")]


@pytest.mark.parametrize("second", [{}, {"inference_bundle": "/other"}, {"inference_bundle": ""}])
def test_a_bundle_that_only_some_hosts_have_is_a_conflict(second):
    hostvars = {"h1": {"inference_bundle": "/bundle"}, "h2": {"inference_bundle": "/bundle"}, "h3": second}
    assert common_value("inference_bundle", hostvars, ["h1", "h2"]) == ("/bundle", [])
    for hosts in (["h1", "h2", "h3"], ["h3", "h1"]):
        conflicts = common_value("inference_bundle", hostvars, hosts)[1]
        assert [(finding.id, finding.path) for finding in conflicts] == [("VARIABLE-CONFLICT", "inference_bundle")]
    assert common_value("inference_bundle", {"h3": {}}, ["h3"]) == ("", [])


@pytest.mark.parametrize(
    ("only", "problem", "fix"),
    [
        ("rack_2", "the inventory has no group 'rack_2'", ""),  # another number is another rack
        ("rak_1", "the inventory has no group 'rak_1'", "Did you mean 'rack_1'? "),
        ("elsewhere", "the inventory has no group 'elsewhere'", ""),
        ("empty", "group 'empty' has no hosts", ""),
    ],
)
def test_a_group_of_the_deployment_without_hosts_is_named(only, problem, fix):
    (found,) = unknown_group({"all": ["n1"], "rack_1": ["n1"], "empty": []}, only)
    assert (found.path, found.value, found.problem) == ("inference_group", only, problem)
    assert found.fix == f"{fix}Name the group that has all hosts of the deployment."
    assert unknown_group({"rack_1": ["n1"]}, "rack_1") == unknown_group({}, "") == []


def test_a_plan_for_a_group_that_does_not_exist_is_refused():
    variables = {"inference_group": "rack_1", "inference_model": {"path": "/m"}, "inference_pools": {"colocated": {}}}
    groups = {"all": ["n1"], "rack1": ["n1"], "colocated": ["n1"]}
    with pytest.raises(PlanError) as refused:
        planned(variables, {"n1": {"ansible_host": "10.0.0.1"}}, groups)
    assert "GROUP-UNKNOWN" in {finding.id for finding in refused.value.findings}


def test_secrets_that_differ_are_not_printed():
    hostvars = {"h1": {"inference_secrets": {"api_key": "one"}}, "h2": {"inference_secrets": {"api_key": "two"}}}
    dummy, conflicts = deployment_variables({}, hostvars, ["h1", "h2"])
    assert "one'" not in conflicts[0].text() and "two'" not in conflicts[0].text()


def test_one_inventory_holds_several_deployments():
    groups = {"all": ["h1", "h2", "h3"], "east": ["h1", "h2"], "prefill": ["h1", "h3"]}
    assert members(groups, "east") == {"h1": ["all", "east", "prefill"], "h2": ["all", "east"]}
    assert inventory_of(HOSTVARS, {"h1": ["all"]}) == {
        "h1": {"groups": ["all"], "variables": {"inference_devices": [0, 1]}}
    }


def test_the_interface_of_nodes_is_the_controllers_word():
    controller = {"inference_runtime": "kubernetes", "inference_interface": "eth7", "inference_address": "10.0.0.9"}
    variables, conflicts = deployment_variables(controller, {"localhost": controller}, ["localhost"])
    assert variables == {"inference_runtime": "kubernetes", "inference_interface": "eth7"} and not conflicts
    assert deployment_variables({**controller, "inference_runtime": "docker"}, {}, [])[0] == {
        "inference_runtime": "docker"
    }


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("inference_modle", "Did you mean inference_model"),  # of a deployment
        ("inference_devises", "Did you mean inference_devices"),  # of a host
        ("inference_allow_pauze", "Did you mean inference_allow_pause"),  # of a run
        *(
            (f"inference_{name}", f"Did you mean inference_{meant}? ")
            for name, meant in (
                ("prefill", "pools.prefill"),
                ("decode", "pools.decode"),
                ("colocated", "pools.colocated"),
                ("encode", "pools.encode"),
                ("port", "router.port"),
                ("model_name", "model.name"),
                ("model_path", "model.path"),
                ("npus", "devices"),
            )
        ),
        ("inference_zzzzzzzzzz", "Variables of a deployment: inference_args, "),
    ],
)
def test_the_fix_of_an_unknown_variable_names_similar_ones(name, fix):
    with pytest.raises(PlanError) as refused:
        plan(**{name: "x"})
    (found,) = [finding for finding in refused.value.findings if finding.id == "VARIABLE-UNKNOWN"]
    assert (found.path, found.problem) == (name, "unknown variable")
    assert found.fix.startswith(fix) and "no effect" in found.why
