# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rollouts, versions, nodes, quotas, diagnosis and differences of a cluster at their edges: each function alone, as tables."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes import (
    capacity,
    changes,
    diagnosis,
    quota,
    readiness,
)
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.names import COMPONENT, SERVING_ROLE
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.quantity import is_quantity, quantity

# ---- rollouts ----


def serving(spec=None, available="True", **status):
    counts = {"observedGeneration": 2, "updatedReplicas": 4, "availableReplicas": 4, "replicas": 4}
    conditions = [{"type": "Available", "status": available, "reason": "r"}] if available else []
    return {
        "metadata": {"generation": 2},
        "spec": {"replicas": 4, **(spec or {})},
        "status": {**counts, "conditions": conditions, **status},
    }


def partition(value):
    return {"rolloutStrategy": {"rollingUpdateConfiguration": {"partition": value}}}


UNSEEN, UNAVAILABLE = "the controller has observed generation None of 1", "it is not Available"
COUNTS = ("updatedReplicas", "availableReplicas", "replicas")
ROLES = {"template": {"roles": [{"partition": 0}, {"partition": 1}]}}


@pytest.mark.parametrize(
    ("thing", "lacks"),
    [
        (None, ["the ModelServing does not exist"]),
        (serving(), []),
        (serving(observedGeneration=1), ["the controller has observed generation 1 of 2"]),
        (serving(updatedReplicas=3), ["updatedReplicas is 3 of 4"]),
        (serving(updatedReplicas=5), ["updatedReplicas is 5 of 4"]),
        (serving(availableReplicas=3), ["availableReplicas is 3 of 4"]),
        (serving(replicas=5), ["replicas is 5 of 4"]),
        (serving(partition(1), updatedReplicas=3), []),
        (serving(partition(1), updatedReplicas=2), ["updatedReplicas is 2 of 4"]),
        (serving(partition(1), availableReplicas=3), ["availableReplicas is 3 of 4"]),
        (serving(partition("26%"), updatedReplicas=2), []),
        (serving(partition("25%"), updatedReplicas=2), ["updatedReplicas is 2 of 4"]),
        (serving(ROLES, updatedReplicas=0), []),
        (serving({"template": {"roles": [{"partition": 0}]}}, updatedReplicas=0), ["updatedReplicas is 0 of 4"]),
        (serving(available="False"), ["it is not Available"]),
        (serving(available=""), ["it is not Available"]),
        ({"metadata": {"generation": 1}, "spec": {}}, [UNSEEN, *(f"{key} is 0 of 1" for key in COUNTS), UNAVAILABLE]),
        (
            serving(conditions=[{"type": name, "status": "True", "reason": name.lower()} for name in "BA"]),
            ["it is not Available (A: a; B: b)"],
        ),
    ],
)
def test_a_model_serving_is_done_when_its_controller_says_so(thing, lacks):
    assert readiness.pending_serving(thing) == lacks


def test_of_several_objects_each_lack_names_its_object():
    broken = serving(replicas=5)
    assert readiness.pending_engines({"ModelServing/a": broken}) == ["replicas is 5 of 4"]
    both = readiness.pending_engines({"ModelServing/a": broken, "Deployment/b": None})
    assert both == ["ModelServing/a: replicas is 5 of 4", "Deployment/b: it does not exist"]


def rollout(kind="Deployment", generation=2, **status):
    counts = {"updatedReplicas": 2, "availableReplicas": 2, "readyReplicas": 2, "replicas": 2}
    return {
        "kind": kind,
        "metadata": {"generation": generation},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": 2, **counts, **status},
    }


OF_A_SET = ("updatedReplicas", "readyReplicas", "replicas")
REFUSED = [
    {"type": "ReplicaFailure", "status": "True", "message": "no"},
    {"type": "ReplicaFailure", "status": "False", "message": "old"},
    {"type": "Progressing", "status": "True", "message": "other"},
]


@pytest.mark.parametrize(
    ("thing", "lacks"),
    [
        (rollout(), []),
        (rollout(observedGeneration=1), ["no controller has observed it"]),
        (rollout(observedGeneration=3), []),
        (rollout("LeaderWorkerSet", observedGeneration=1), ["no controller has observed it"]),
        (rollout(availableReplicas=1), ["availableReplicas is 1 of 2"]),
        (rollout("LeaderWorkerSet", availableReplicas=0), []),
        (rollout("LeaderWorkerSet", readyReplicas=1), ["readyReplicas is 1 of 2"]),
        (rollout(readyReplicas=0), []),
        (rollout(replicas=3, updatedReplicas=0), ["updatedReplicas is 0 of 2", "replicas is 3 of 2"]),
        (rollout(conditions=REFUSED), []),
        ({**rollout(), "status": None}, ["no controller has observed it"]),
        ({**rollout("LeaderWorkerSet"), "status": None}, [f"{key} is 0 of 2" for key in OF_A_SET]),
        (rollout(replicas=1, conditions=REFUSED), ["replicas is 1 of 2", "the server refuses pods: no"]),
        (rollout(replicas=1, conditions=REFUSED[1:]), ["replicas is 1 of 2"]),
    ],
)
def test_a_rollout_is_done_when_all_numbers_are_those_wanted(thing, lacks):
    assert readiness.pending_rollout(thing) == lacks


def test_a_rollout_without_an_observed_generation():
    old_set, deployment = rollout("LeaderWorkerSet"), rollout()
    for thing in (old_set, deployment):
        del thing["status"]["observedGeneration"]
    assert readiness.pending_rollout(old_set) == []
    assert readiness.pending_rollout(deployment) == ["no controller has observed it"]


def plan(groups=1, **role):
    one = {"image": "i:1", "config_map": "c", "replicas": 2, "pods": 1, **role}
    return {"kubernetes": {"groups": groups, "roles": {"decode": one}, "name": "demo", "namespace": "n"}, "objects": []}


def pod(name="decode-0", image="i:1", role="decode", ready="True", volumes=("c",), deleted=False, **more):
    metadata = {"name": name, "uid": name, "labels": {SERVING_ROLE: role}}
    metadata.update({"deletionTimestamp": "x"} if deleted else {})
    return {
        "metadata": metadata,
        "spec": {
            "containers": [{"image": "side"}, {"image": image}],
            "volumes": [{"name": "v"}] + [{"configMap": {"name": volume}} for volume in volumes],
            **more.pop("spec", {}),
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}], **more},
    }


@pytest.mark.parametrize(
    ("pods", "lacks"),
    [
        ([pod("a"), pod("b")], []),
        ([pod("a")], ["decode: 1 pods of 2"]),
        ([pod("a"), pod("b"), pod("c")], ["decode: 3 pods of 2"]),
        ([pod("a"), pod("b"), pod("c", deleted=True)], []),
        ([pod("a"), pod("b"), pod("c", phase="Failed"), pod("d", phase="Succeeded")], []),
        ([pod("a"), pod("b", image="i:0")], ["decode: 1 of 2 pods are of an older revision"]),
        ([pod("a"), pod("b", volumes=("old",))], ["decode: 1 of 2 pods are of an older revision"]),
        ([pod("a"), pod("b", ready="False")], ["decode: 1 of 2 pods are ready"]),
        ([pod("a"), pod("b", conditions=[])], ["decode: 1 of 2 pods are ready"]),
        ([pod("a"), pod("b"), pod("c", role="prefill")], []),
    ],
)
def test_pods_of_a_role(pods, lacks):
    assert readiness.pending_pods(plan(), pods) == lacks
    assert readiness.incomplete(plan(), pods) == (["decode"] if lacks == ["decode: 1 pods of 2"] else [])


@pytest.mark.parametrize(
    ("kept", "groups", "kept_groups", "number"),
    [(0, 2, 0, 0), (1, 2, 0, 6), (9, 2, 0, 12), (0, 2, 1, 6), (0, 2, 9, 12)],
)
def test_pods_that_may_stay_of_an_older_revision(kept, groups, kept_groups, number):
    role = {"replicas": 2, "pods": 3, "kept": kept}
    assert readiness.kept_pods({"groups": groups, "kept_groups": kept_groups}, role) == number
    assert readiness.planned_pods(plan(2, pods=3), "decode") == 12


# ---- what a cluster offers ----


def crd(properties, served=True, before=None):
    schema = {"schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": properties}}}}, "served": served}
    return {"spec": {"versions": ([before] if before else []) + [schema]}}


def roles_with(*fields):
    return {"template": {"properties": {"roles": {"items": {"properties": dict.fromkeys(fields, {})}}}}}


ROLLING = {"rolloutStrategy": {"properties": {"type": {"enum": ["RoleRollingUpdate"]}}}}


@pytest.mark.parametrize(
    ("found", "version"),
    [
        (crd(roles_with("partition", "maxUnavailable")), "main"),
        (crd(roles_with("maxUnavailable")), "v1.0.0"),
        (crd({**roles_with("x"), **ROLLING}), "v0.4.0"),
        (crd({"rolloutStrategy": {"properties": {"type": {"enum": None}}}}), ""),
        (crd({"rolloutStrategy": {"properties": {"type": {"enum": ["ServingGroupRollingUpdate"]}}}}), ""),
        (crd(roles_with("partition"), before={"served": False}), "main"),
        (crd(roles_with("partition"), before={"served": True}), ""),
        (crd(roles_with("partition"), served=False), ""),
        (crd(None), ""),
        *[({"spec": {"versions": [each]}}, "") for each in ({}, {"schema": None}, {"schema": {"openAPIV3Schema": {}}})],
    ],
)
def test_the_version_of_kthena(found, version):
    assert capacity.crd_version(found) == version
    assert capacity.volcano_version(found) == ""


@pytest.mark.parametrize(
    ("fields", "version"),
    [
        (["subGroupPolicy", "networkTopology"], "v1.14.0 or later"),
        (["subGroupPolicy"], "v1.14.0 or later"),
        (["networkTopology"], "v1.11.0 or later"),
        ([], ""),
    ],
)
def test_the_version_of_volcano(fields, version):
    assert capacity.volcano_version(crd(dict.fromkeys(fields, {}))) == version


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        ({"spec": {"unschedulable": True}}, "cordoned"),
        ({}, "not known to be ready"),
        ({"status": {"conditions": [{"type": "DiskPressure", "status": "True"}]}}, "not known to be ready"),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, "not ready"),
        ({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, "not ready"),
        ({"spec": {"unschedulable": False}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}, ""),
    ],
)
def test_a_node_that_takes_no_pods(node, problem):
    assert capacity._problem(node) == problem
    whole = {**node, "metadata": {"name": "n"}}
    whole["status"] = {**(node.get("status") or {}), "allocatable": {"npu": "8"}}
    assert capacity._allocatable(whole, "npu") == (0 if problem else 8)
    assert capacity._out_of_service([whole], "npu") == (problem + ": n" if problem else "")
    assert capacity._out_of_service([whole], "gpu") == ""


def test_devices_that_others_hold():
    def holder(name, amount, **more):
        limits = {"resources": {"limits": {"npu": amount}}}
        return pod(name, spec={"nodeName": "n", "containers": [limits, {}], **more.pop("spec", {})}, **more)

    mine = holder("mine", "8")
    others = [holder("a", "2"), holder("b", 3), holder("gone", "4", phase="Failed"), holder("going", "4", deleted=True)]
    unplaced = holder("c", "4", spec={"nodeName": None})
    assert capacity.held([mine] + others + [unplaced, holder("d", 0, spec={"nodeName": "m"})], [mine], "npu") == {
        "n": 5
    }
    assert capacity.held([mine], [], "npu") == {"n": 8} and capacity.held([mine], [], "gpu") == {}


# ---- quantities and quotas ----


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        (2, 2),
        ("1k", 1000),
        ("1.5k", 1500),
        ("1Ki", 1024),
        ("2M", 2 * 10**6),
        ("2Mi", 2 * 2**20),
        ("1.5Gi", 1.5 * 2**30),
        ("1E", 10**18),
        ("1e3", 1000),
        ("2E2", 200),
        ("500m", 0.5),
        (".5", 0.5),
        ("3T", 3 * 10**12),
        ("1Pi", 2**50),
        ("5n", 5e-9),
    ],
)
def test_quantities(text, number):
    assert is_quantity(text) and float(quantity(text)) == pytest.approx(number, rel=1e-12)


@pytest.mark.parametrize("text", ["", "1x", "Ki", "1KiB", "1 Gi", "1ee3", "--1", True, None, 1.5, " 1"])
def test_what_is_no_quantity(text):
    assert not is_quantity(text)
    with pytest.raises(ValueError, match="is not a quantity"):
        quantity(text)


def lacking(hard, used, needed, held=None, **spec):
    item = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}, "status": {"used": used}}
    return list(quota._lacking([item], needed, held or {}))


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (lacking({"pods": "4"}, {"pods": "2"}, {"pods": 2}), None),
        (lacking({"pods": "4"}, {"pods": "2"}, {"pods": 3}), ("3 more pods", "2 of 4 are free")),
        (lacking({"count/pods": "4"}, {"count/pods": "2"}, {"pods": 3}), ("3 more count/pods", "2 of 4 are free")),
        (lacking({"pods": "4"}, {"pods": "4"}, {"pods": 3}, {"pods": 3}), None),
        (lacking({"pods": "4"}, {"pods": "4"}, {"pods": 4}, {"pods": 3}), ("1 more pods", "0 of 4 are free")),
        (lacking({"pods": "4"}, {}, {"pods": 4}, {"pods": 1}), None),
        (lacking({"pods": "4"}, {"pods": "?"}, {"pods": 5}, {"pods": 0}), ("5 more pods", "4 of 4 are free")),
        (lacking({"cpu": "4"}, {"cpu": "1"}, {"requests.cpu": 4}), ("4 more cpu", "3 of 4 are free")),
        (lacking({"limits.cpu": "4"}, {}, {"limits.cpu": 5}), ("5 more limits.cpu", "4 of 4 are free")),
        (lacking({"memory": "2Gi"}, {}, {"requests.memory": 3 * 2**30}), ("3Gi more memory", "2Gi of 2Gi are free")),
        (lacking({"pods": "0"}, {}, {"pods": 1}, scopes=["Terminating"]), None),
        (lacking({"pods": "0"}, {}, {"pods": 1}, scopeSelector={"a": 1}), None),
        (lacking({"services": "0"}, {}, {"pods": 1}), None),
    ],
)
def test_room_in_a_quota(found, text):
    assert found == ([("ResourceQuota/q", *text)] if text else [])


def test_what_pods_count_for():
    resources = {"limits": {"cpu": "2", "npu": "1"}, "requests": {"cpu": "1"}}
    spec = {"containers": [{"resources": resources}, {"resources": {"requests": {"memory": "1Ki"}}}, {}]}
    assert {name: int(amount) for name, amount in quota.total([(spec, 3)]).items()} == {
        "pods": 3,
        "limits.cpu": 6,
        "limits.npu": 3,
        "requests.cpu": 3,
        "requests.npu": 3,
        "requests.memory": 3072,
    }
    assert quota.total([(spec, 1), (spec, 1)])["pods"] == 2
    assert [quota.shown(amount) for amount in (5, 0.5, 2**30, -(2**31), 2**29)] == [
        "5",
        "0.5",
        "1Gi",
        "-2Gi",
        "5.36871e+08",
    ]


@pytest.mark.parametrize(("surge", "leaving", "lacks"), [(None, 0, 1), (0, 0, 0), ("25%", 0, 1), (None, 1, 0)])
def test_an_update_needs_room_for_one_more_pod(surge, leaving, lacks):
    spec = {"template": {"spec": {"containers": []}}}
    if surge is not None:
        spec["strategy"] = {"rollingUpdate": {"maxSurge": surge}}
    quotas = [{"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}, "status": {"used": {"pods": "1"}}}]
    running = [pod("a", deleted=bool(leaving))]
    found = quota.update_shortage("Deployment/r", {"spec": spec}, quotas, running)
    assert [item.path for item in found] == ["ResourceQuota/q"] * lacks


@pytest.mark.parametrize(
    ("replicas", "unavailable", "lacks"),
    [(3, None, 1), (4, None, 0), (2, "50%", 0), (1, "99%", 1), (5, 0, 1), (1, 1, 0)],
)
def test_an_update_needs_none_where_an_old_pod_may_go_first(replicas, unavailable, lacks):
    rolling = {} if unavailable is None else {"maxUnavailable": unavailable}
    spec = {"replicas": replicas, "strategy": {"rollingUpdate": rolling}, "template": {"spec": {"containers": []}}}
    quotas = [{"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}, "status": {"used": {"pods": "1"}}}]
    assert len(quota.update_shortage("Deployment/r", {"spec": spec}, quotas, [])) == lacks


# ---- diagnosis ----


def container(name="c", **more):
    return {"name": name, "ready": False, **more}


def pending(part="containerStatuses", **status):
    return {"phase": "P", part: [container(**status)]}


def exited(code):
    return {"terminated": {"exitCode": code, "reason": "E"}}


UNPLACED = {"type": "PodScheduled", "reason": "U", "message": "m"}


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"phase": "Running"}, "Running"),
        ({}, "unknown"),
        ({"phase": "Failed", "reason": "Evicted", "message": "disk"}, "Failed, Evicted: disk"),
        ({"phase": "P", "conditions": [dict(UNPLACED, status="False")]}, "P, U: m"),
        ({"phase": "P", "conditions": [dict(UNPLACED, status="True")]}, "P"),
        (pending(state={"waiting": {"reason": "X", "message": "y"}}), "P, c waits: X y"),
        (pending("initContainerStatuses", name="i", state={"waiting": {"reason": "X"}}), "P, i waits: X"),
        (pending(state=exited(1)), "P, c exited with 1 (E)"),
        (pending(lastState=exited(2)), "P, c exited with 2 (E)"),
        (pending(), "P, c runs but is not ready (its readiness probe fails)"),
        (pending(ready=True), "P"),
    ],
)
def test_the_state_of_a_pod(status, text):
    found = {"metadata": {"name": "p"}, "spec": {}, "status": status}
    assert diagnosis.state_of(found) == text
    leaving = {**found, "metadata": {"name": "p", "deletionTimestamp": "x"}}
    assert "terminating" in diagnosis.state_of(leaving)


@pytest.mark.parametrize(
    ("condition", "ready", "abandoned"),
    [
        ({"status": "False"}, True, True),
        ({"status": "Unknown"}, True, True),
        ({"status": "False", "reason": "ContainersNotReady"}, True, False),
        ({"status": "True"}, True, False),
        ({"status": "False"}, False, False),
    ],
)
def test_a_pod_whose_node_does_not_report(condition, ready, abandoned):
    found = pod("p", conditions=[{"type": "Ready", **condition}], containerStatuses=[container(ready=ready)])
    found["spec"]["nodeName"] = "n"
    assert diagnosis.is_abandoned(found) == abandoned
    assert ("its node does not report: kubectl describe node n" in diagnosis.state_of(found)) == abandoned
    found["metadata"]["deletionTimestamp"] = "x"
    assert ("kubectl delete node n" in diagnosis.state_of(found)) == abandoned


def event(name, kind="Pod", stamp="1", type_="Warning"):
    about = {"kind": kind, "name": name}
    return {"involvedObject": about, "reason": "r", "message": name + stamp, "lastTimestamp": stamp, "type": type_}


def test_warnings_are_those_about_the_pods_and_what_makes_them_the_last_ten():
    pods = [pod("p-10", ready="False"), pod("p-9"), pod("p-2", ready="False"), pod("p-3", deleted=True)]
    events = [event("p-9"), event("p-9", type_="Normal"), event("other"), event("demo", "Deployment")]
    events += [event("demo-1", kind) for kind in ("PodGroup", "ReplicaSet", "StatefulSet", "Job")] + [
        event("demo1", "PodGroup")
    ]
    lines = diagnosis.states(pods, events, ["demo"], "demo")
    assert [line.split(":")[0].strip() for line in lines if line.startswith("  pod")] == [
        "pod p-2",
        "pod p-3",
        "pod p-10",
    ]
    shown = [line.split(":")[0].strip() for line in lines if line.startswith("  event")]
    assert shown == ["event Pod/p-9", "event Deployment/demo"] + [
        f"event {kind}/demo-1" for kind in ("PodGroup", "ReplicaSet", "StatefulSet")
    ]
    many = [event("p-9", stamp=str(number)) for number in range(21, 9, -1)]
    lines = diagnosis.states([pod("p-9")], many, [], "demo")
    assert [line.rpartition("p-9")[2] for line in lines] == [str(number) for number in range(12, 22)]
    ended = [pod(f"e-{number}", phase="Failed", ready="False") for number in range(7)]
    assert len(diagnosis.states(ended, [], [], "demo")) == 5
    newest = dict(event("p-9", stamp=""), series={"lastObservedTime": "9"})
    made = dict(event("p-9", stamp=""), eventTime="8")
    assert [diagnosis._last_seen(item) for item in (newest, made, event("x", stamp="7"), {})] == ["9", "8", "7", ""]


def test_containers_that_failed():
    states = {
        "a": {"state": {"running": {}}, "ready": True},
        "b": {"state": {"running": {}}},
        "c": {"state": {"terminated": {}}},
        "d": {"state": {"waiting": {}}, "lastState": {"terminated": {}}},
        "e": {"state": {"waiting": {}}},
    }
    found = pod("p", containerStatuses=[{"name": name, **state} for name, state in states.items()])
    assert list(diagnosis.failed_containers([found])) == [("p", "b", False), ("p", "c", False), ("p", "d", True)]
    assert list(diagnosis.failed_containers([{"metadata": {"name": "x"}}])) == []


# ---- what changed ----


def thing(kind="ConfigMap", **more):
    head = {"name": "x", "uid": "1", "resourceVersion": "2", "generation": 3, "managedFields": [], "selfLink": "s"}
    return {"kind": kind, "apiVersion": "v1", "metadata": {**head, "labels": {"a": "b"}}, "status": {"s": 1}, **more}


def test_an_object_changed_if_its_content_did():
    made = changes.Changes()
    assert not made.add(thing(), thing(status={"s": 2})) and made.result()["changed"] is False
    other = thing()
    other["metadata"]["uid"] = "9"
    assert not made.add(thing(), other)
    assert made.add(None, thing()) and made.add(thing(data=1), thing(data=2)) and made.add(thing(data=1), None)
    assert made.add(thing("Secret", data=1), thing("Secret", data=2))
    found = made.result()
    assert (found["changed"], found["created"], found["removed"]) == (True, ["ConfigMap/x"], ["ConfigMap/x"])
    assert found["updated"] == ["ConfigMap/x", "Secret/x"]
    assert [bool(row["before"]) for row in found["diff"]] == [False, True, True]
    assert [bool(row["after"]) for row in found["diff"]] == [True, True, False]
    assert (
        {row["before_header"] for row in found["diff"]}
        == {row["after_header"] for row in found["diff"]}
        == {"ConfigMap/x"}
    )
    assert changes.content(thing()) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "x", "labels": {"a": "b"}},
    }
    assert changes.content(None) is None


def test_items_of_lists_are_found_by_key_or_by_value():
    value = [{"name": "a", "x": 1, "y": 2}, {"name": "b"}]
    key = "k:" + json.dumps({"name": "a"})
    assert changes._owned(value, {key: {"f:x": {}}}) == [{"name": "a", "x": 1}]
    assert changes._owned(value, {key: {".": {}}}) == [{"name": "a"}]
    assert changes._owned(["u", "v"], {"v:" + json.dumps("v"): {}}) == ["v"]
    assert changes._owned({"a": {"b": 1}, "c": 2}, {"f:a": {}, ".": {}}) == {"a": {"b": 1}}
    for name in ("selector", "podSelector"):  # with a part of its labels it would select pods of others
        assert changes._common({name: {"a": 1, "b": 2}}, {name: {"a": 1}}) == {name: {"a": 1, "b": 2}}
    assert changes._common({"x": {"a": 1, "b": 2}}, {"x": {"a": 5}, "z": 1}) == {"x": {"a": 1}}


def test_a_role_by_its_component():
    found = pod("x")
    found["metadata"]["labels"] = {COMPONENT: "decode"}
    assert readiness.is_current(plan(), found) and not readiness.is_current(plan(), pod("y", role="none"))


def node(name, devices):
    ready = [{"type": "Ready", "status": "True"}]
    return {"metadata": {"name": name}, "status": {"allocatable": {"npu": devices}, "conditions": ready}}


def needing(devices, replicas=1, groups=1, **more):
    role = {"devices": devices, "replicas": replicas, "pods": 1, **more}
    return {"kubernetes": {"resource": "npu", "groups": groups, "roles": {"decode": role}}, "objects": []}


@pytest.mark.parametrize(
    ("plan_", "taken", "text"),
    [
        (needing(8), {"n1": 8}, None),  # all of the other node is free
        (
            needing(8),
            {"n1": 1, "n2": 1},
            "a pod of decode needs 8 on one node; the cluster has 2 nodes with 16 x npu, of which other pods hold 2",
        ),
        (needing(8, 2), None, None),
        (needing(8, 3), None, "too few for all 3 pods"),
        (needing(8, 1, 3), None, "too few for all 3 pods"),
        (needing(4, 4), {}, None),
        (
            needing(9),
            None,
            "a pod of decode needs 9 on one node; the cluster has 2 nodes with 16 x npu, too few for all 1 pods",
        ),
        (needing(0, 9), None, None),
    ],
)
def test_planned_pods_find_a_place(plan_, taken, text):
    found = capacity.node_shortage(plan_, [node("n1", "8"), node("n2", 8)], taken)
    assert [(item.path, item.id) for item in found] == ([("role decode", "K8S-NODES")] if text else [])
    assert not text or text in found[0].problem
    assert capacity.node_shortage(plan_, [], taken) == []


def test_nodes_without_the_resource_offer_others():
    other = node("n1", 8)
    other["status"]["allocatable"] = {"cpu": "4", "huawei.com/Ascend910": "8"}
    (found,) = capacity.node_shortage(needing(1), [other], None)
    assert found.problem == "no node offers npu, of 1 node; they offer huawei.com/Ascend910"
    assert found.path == "inference_kubernetes.resource"
    other["status"]["allocatable"] = {}
    assert "they offer no devices" in capacity.node_shortage(needing(1), [other], None)[0].problem
    dead = dict(
        node("n2", 8), status={"allocatable": {"npu": 8}, "conditions": [{"type": "Ready", "status": "Unknown"}]}
    )
    (found,) = capacity.node_shortage(needing(8, 2), [node("n1", 8), dead], None)
    assert "1 node with 8 x npu (not ready: n2), too few for all 2 pods" in found.problem
    cordoned = dict(node("n1", 8), spec={"unschedulable": True})
    (found,) = capacity.node_shortage(needing(1), [cordoned], None)
    assert (found.problem, found.fix) == ("no node offers npu, of 1 node; cordoned: n1", "Bring the nodes back.")


def test_roles_that_share_no_node_are_tried_in_every_order():
    def fits(requested, left):
        return capacity._lacking(requested, left) is None

    apart = {"a": {"b"}, "b": {"a"}, "c": set()}
    pods = [(2, 1, "a", apart["a"]), (2, 2, "b", apart["b"]), (2, 2, "b", apart["b"])]
    assert fits(pods, [4, 2]) and not fits(pods, [3, 2]) and not fits(pods, [6])
    for large, small in ("ab", "ba"):  # the large node has to be for the four pods that are smaller
        mixed = [(8, 1, large, {small})] + [(4, 4, small, {large})] * 4
        assert fits(mixed, [8, 16]) and not fits([*mixed, mixed[-1]], [8, 16])
    alone = [(1, 2, "c", {"c"}), (1, 2, "c", {"c"})]
    assert fits(alone, [1, 1]) and not fits(alone, [2])
    assert capacity._lacking(alone, [2]) == (1, "c", {"c"})
