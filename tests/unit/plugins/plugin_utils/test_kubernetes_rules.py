# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the kubernetes runtime, besides the mistakes of ``rules/mistakes.py``: refused by the planner, before anything asks a cluster."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.kthena_plans import objects, plan, words

NO_PORTS = {"prefill": {"tensor_parallel_size": 2}, "decode": {"tensor_parallel_size": 2}}
NATIVE = {"kubernetes__workload": "native"}
WIDE = {**NATIVE, "pools__decode__data_parallel_size": 32}
SETTING, ROUTER, SCALED = "inference_kubernetes.", "kubernetes__router", "kubernetes__autoscaling__roles"
TO_ONE = {"decode": {"max": 1}}
BY_GROUP_AND_ROLE = {"kubernetes__recovery_policy": "ServingGroupRecreate", "kubernetes__rollout": "RoleRollingUpdate"}


@pytest.mark.parametrize(
    ("changes", "rule", "place"),
    [
        ({"deployment": "Demo"}, "K8S-MANIFEST", "metadata.name"),
        ({"deployment": "1demo"}, "K8S-MANIFEST", "Service/1demo-router.metadata.name"),
        ({"deployment": "d" * 55}, "K8S-MANIFEST", "metadata.name"),
        ({"kubernetes__shared_memory": "64"}, "K8S-MANIFEST", f"{SETTING}shared_memory"),
        ({ROUTER: {"limits": {"memory": "64"}}}, "K8S-MANIFEST", f"{SETTING}router.limits.memory"),
        ({"kubernetes__requests": {"cpu": "9"}}, "K8S-MANIFEST", f"{SETTING}requests.cpu"),
        (BY_GROUP_AND_ROLE, "K8S-MANIFEST", f"{SETTING}rollout"),
        ({"kubernetes__mounts": [{"name": "model", "path": "/x"}]}, "K8S-MANIFEST", "mounts[0].name"),
        ({"kubernetes__pods": {"decode": {"spec": {"volumes": []}}}}, "K8S-MANIFEST", "volumeMounts[0].name"),
        ({"pools__decode__ports": {"api": [7000, 7001]}}, "K8S-UNIFORM", "ports.api"),
        ({"pools__decode__hosts": {"n": {"args": {}}}}, "K8S-UNIFORM", "hosts"),
        ({"kubernetes__partition": 1}, "K8S-MANIFEST", f"{SETTING}partition"),
        ({SCALED: {"decod": {"max": 2}}}, "K8S-AUTOSCALING", "roles.decod"),
        ({SCALED: TO_ONE, "pools__decode__instances": 2}, "K8S-AUTOSCALING", "decode.max"),
        ({SCALED: TO_ONE, "kubernetes__kthena_version": "v0.4.0"}, "K8S-AUTOSCALING", f"{SETTING}autoscaling"),
        ({**NATIVE, SCALED: TO_ONE}, "K8S-WORKLOAD", "autoscaling"),
        ({**NATIVE, "kubernetes__partition": 1}, "K8S-WORKLOAD", "partition"),
        ({**WIDE, "deployment": "d" * 38}, "K8S-MANIFEST", "metadata.name"),
        ({**NATIVE, "kubernetes__groups": 2}, "K8S-WORKLOAD", "groups"),
        ({**NATIVE, "kubernetes__serving": {"x": 1}}, "K8S-WORKLOAD", "serving"),
        ({**NATIVE, ROUTER: {"mode": "kthena_router"}, "pools": NO_PORTS}, "K8S-WORKLOAD", "router.mode"),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_refused_with_place_and_reason(changes, rule, place):
    with pytest.raises(PlanError) as caught:
        plan(**changes)
    found = [finding for finding in caught.value.findings if finding.id == rule and place in finding.path]
    assert found, str(caught.value)
    assert all(item.problem and item.source for item in found)


def test_an_unknown_word_is_refused_with_its_path():
    with pytest.raises(PlanError) as caught:
        plan(kubernetes__namespce="x")
    assert [finding.path for finding in caught.value.findings] == ["inference_kubernetes.namespce"]
    assert "namespace" in caught.value.findings[0].fix


def test_the_longest_name_of_a_deployment_whose_pods_can_all_be_made():
    """The name of a group's StatefulSet has at most 52 characters; one role on a node needs less."""
    (wide,) = objects(plan(**WIDE, deployment="d" * 37), "LeaderWorkerSet")
    assert len(f"{wide['metadata']['name']}-0") == 52
    native = plan(kubernetes__workload="native", deployment="d" * 40)
    assert max(len(item["metadata"]["name"]) for item in objects(native, "Service")) <= 63


def test_a_name_with_a_slash_is_a_finding_and_not_a_traceback():
    with pytest.raises(PlanError) as caught:
        plan(deployment="/srv/x")
    assert "DEPLOYMENT-NAME" in {finding.id for finding in caught.value.findings}


@pytest.mark.parametrize(
    "changes",
    [
        {"pools__decode__load_balancing": "external", "pools__decode__data_parallel_size": 1},  # one process anyway
        {"pools__decode__load_balancing": "internal"},
        {"pools__decode__ports": {"api": [7000]}},
    ],
)
def test_a_pool_whose_pods_are_all_alike_is_right(changes):
    assert "K8S-UNIFORM" not in {finding["id"] for finding in plan(**changes)["findings"]}


def test_a_packaged_router_on_a_host_of_the_inventory_needs_no_image_for_pods():
    """The host installs the package, or runs the image of its own container."""
    gateway = {"gw": {"groups": ["router"], "variables": {"ansible_host": "10.0.0.9"}}}
    changes = {"kubernetes__router": {"mode": "host"}, "router__flavour": "vllm_router"}
    planned = launch_plan(words(**changes), gateway)
    assert [host["name"] for host in planned["kubernetes"]["router"]["hosts"]] == ["gw"]
    assert objects(planned, "Deployment") == [] and planned["kubernetes"]["router"]["service"] == ""
    ids = {finding["id"] for finding in planned["findings"]}
    assert not ids & {"K8S-ROUTER-IMAGE", "K8S-ROUTER-HOST"}


def test_a_packaged_router_in_a_pod_runs_its_own_image_and_the_engines_theirs():
    own = {"router__flavour": "vllm_router", "kubernetes__router": {"image": "example.com/router:1"}}
    planned = plan(**own)
    (router,) = objects(planned, "Deployment")
    assert router["spec"]["template"]["spec"]["containers"][0]["image"] == "example.com/router:1"
    assert {role["image"] for role in planned["kubernetes"]["roles"].values()} == {
        "quay.io/ascend/vllm-ascend:v0.13.0-a3"
    }
