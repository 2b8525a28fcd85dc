# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fake API server: what it refuses, what it keeps, and the controller's ways that the role must not fall for."""

from __future__ import annotations

import copy
import pathlib
import sys

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.readiness import alive, pending_serving

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "simulator" / "kubernetes"))
import fake_api_server
import fake_shapes
from fake_api_server import Call
from fake_controller import Controller
from fake_serving import ready
from fake_store import Refused, Store

SERVING = {
    "apiVersion": "workload.serving.volcano.sh/v1alpha1",
    "kind": "ModelServing",
    "metadata": {"name": "s"},
    "spec": {
        "replicas": 1,
        "rolloutStrategy": {"type": "RoleRollingUpdate"},
        "template": {
            "roles": [
                {
                    "name": name,
                    "replicas": 1,
                    "workerReplicas": 0,
                    "entryTemplate": {"spec": {"containers": [{"name": "c", "image": "i:1"}]}},
                }
                for name in ("p", "d")
            ]
        },
    },
}


@pytest.fixture
def world():
    """A store and a controller that steps when it is told to."""
    store = Store()
    api = fake_api_server.Api(store, fake_api_server.load_crds(""))
    controller = Controller(store)

    def step(times=1):
        for dummy in range(times):
            for item in store.list("modelservings"):
                controller.servings.serve(item)
            controller.orphans()
            controller.pods()

    return store, api, step


def steps(controller, times):
    """Let a whole controller look so many times."""
    for dummy in range(times):
        controller.step()


def apply(store, api, thing, manager="m", force=False, dry_run=False):
    """Server-side apply into namespace n."""
    return store.apply("modelservings", "n", copy.deepcopy(thing), manager, force, dry_run, api.judge)


def status(store):
    """The status, with conditions by type."""
    found = store.get("modelservings", "n", "s").get("status", {})
    return found, {condition["type"]: condition["status"] for condition in found.get("conditions", [])}


def test_apply_is_idempotent_and_takes_back_what_is_no_longer_said(world):
    store, api, _step = world
    first = apply(store, api, SERVING)
    assert apply(store, api, SERVING) == first
    less = copy.deepcopy(SERVING)
    del less["spec"]["rolloutStrategy"]
    assert "rolloutStrategy" not in apply(store, api, less)["spec"]
    with pytest.raises(Refused, match='conflict with "m": .spec.replicas'):
        apply(store, api, {**SERVING, "spec": {**less["spec"], "replicas": 5}}, "other")
    assert apply(store, api, SERVING, dry_run=True)["metadata"]["generation"] == 3
    assert store.get("modelservings", "n", "s")["metadata"]["generation"] == 2


def test_after_a_change_the_old_generation_is_still_available(world):
    store, api, step = world
    apply(store, api, SERVING)
    assert status(store) == ({}, {})
    step(12)
    found, conditions = status(store)
    assert (found["availableReplicas"], conditions["Available"]) == (1, "True")
    changed = copy.deepcopy(SERVING)
    changed["spec"]["template"]["roles"][0]["entryTemplate"]["spec"]["containers"][0]["image"] = "i:2"
    apply(store, api, changed)
    step()
    found, conditions = status(store)
    assert (found["observedGeneration"], conditions["Available"]) == (1, "True")
    step()
    found, conditions = status(store)
    assert (found["observedGeneration"], found["updatedReplicas"], conditions["Available"]) == (2, 0, "True")
    step(12)
    assert status(store)[0]["updatedReplicas"] == 1


def test_pods_that_cannot_be_made_are_not_reported(world):
    store, api, step = world
    wrong = copy.deepcopy(SERVING)
    container = wrong["spec"]["template"]["roles"][0]["entryTemplate"]["spec"]["containers"][0]
    container["ports"] = [{"containerPort": 99999}]
    apply(store, api, wrong)
    step(10)
    assert status(store) == ({}, {})
    assert store.list("pods") == store.list("events") == []


def test_deletion_in_the_foreground_makes_the_pods_once_more(world):
    store, api, step = world
    apply(store, api, SERVING)
    step(10)
    before = {item["metadata"]["uid"] for item in store.list("pods")}
    thing = store.get("modelservings", "n", "s")
    thing["metadata"]["deletionTimestamp"] = "now"
    store.replace("modelservings", "n", thing)
    seen = set()
    for dummy in range(12):
        step()
        seen |= {item["metadata"]["uid"] for item in store.list("pods")}
    assert seen - before, "the recorded controller made pods again"
    assert store.list("pods") == store.list("modelservings") == []


def test_groups_come_back_under_other_numbers(world):
    store, api, step = world
    two = copy.deepcopy(SERVING)
    two["spec"].update(replicas=2, rolloutStrategy={"type": "ServingGroupRollingUpdate"})
    apply(store, api, two)
    step(12)
    two["spec"]["template"]["roles"][0]["entryTemplate"]["spec"]["containers"][0]["image"] = "i:2"
    apply(store, api, two)
    step(40)
    groups = {item["metadata"]["labels"]["modelserving.volcano.sh/group-name"] for item in store.list("pods")}
    assert groups == {"s-1", "s-2"}


def test_no_state_on_the_way_is_called_ready(world):
    """While an image changes, pending_serving names what is missing until generation, status and pods agree."""
    store, api, step = world
    wanted = copy.deepcopy(SERVING)
    container = wanted["spec"]["template"]["roles"][0]["entryTemplate"]["spec"]["containers"][0]
    ready = 0
    for image in ("i:1", "i:2", "i:3"):
        container["image"] = image
        apply(store, api, wanted)
        for dummy in range(16):
            thing = store.get("modelservings", "n", "s")
            # By the source the group is of the new revision, and still runs, as soon as its last old role is ending.
            if not pending_serving(thing) and len(alive(store.list("pods"))) == 2:
                ready += 1
                assert thing["status"]["observedGeneration"] == thing["metadata"]["generation"]
                images = {pod["spec"]["containers"][0]["image"] for pod in store.list("pods")}
                assert images == {image, "i:1"}
            step()
    assert ready > 5


def images(store):
    """Of all pods."""
    return sorted(pod["spec"]["containers"][0]["image"] for pod in store.list("pods"))


def changed(serving, image, role=1):
    """The ModelServing with another image for a role."""
    result = copy.deepcopy(serving)
    result["spec"]["template"]["roles"][role]["entryTemplate"]["spec"]["containers"][0]["image"] = image
    return result


@pytest.mark.parametrize("partition, left", [(0, []), (1, ["i:1"]), (3, ["i:1"] * 3)])
def test_groups_are_replaced_from_the_last_one_on_and_back(world, partition, left):
    """ServingGroupRollingUpdate: an outdated group that does not run goes first, one at a time; the first ones are kept."""
    store, api, step = world
    three = copy.deepcopy(SERVING)
    rolling = {"maxUnavailable": 1, "partition": partition}
    three["spec"].update(replicas=3)
    three["spec"]["rolloutStrategy"] = {"type": "ServingGroupRollingUpdate", "rollingUpdateConfiguration": rolling}
    apply(store, api, three)
    step(12)
    apply(store, api, changed(three, "broken"))
    step(60)
    assert images(store).count("broken") == (partition < 3), "it stops at the first one that does not run"
    step(20)
    apply(store, api, changed(three, "i:2"))
    step(120)
    assert [image for image in images(store) if image == "i:1"][3:] == left
    apply(store, api, three)
    step(120)
    assert images(store) == ["i:1"] * 6


@pytest.mark.parametrize(
    "policy, ready_ones, kept", [("RoleRecreate", 3, 2), ("ServingGroupRecreate", 3, 0), ("None", 2, 2)]
)
def test_what_a_deleted_pod_takes_with_it(world, policy, ready_ones, kept):
    """handleDeletedPod: with None nothing looks at the pods again, and the status stays as it was."""
    store, api, step = world
    two = copy.deepcopy(SERVING)
    by = "ServingGroupRollingUpdate" if policy == "ServingGroupRecreate" else "RoleRollingUpdate"
    two["spec"].update(recoveryPolicy=policy, rolloutStrategy={"type": by})
    two["spec"]["template"]["roles"][1]["replicas"] = 2
    apply(store, api, two)
    step(12)
    before = {pod["metadata"]["uid"] for pod in store.list("pods")}
    store.remove("pods", "n", "s-0-d-1-0")
    step(20)
    after = [pod for pod in store.list("pods") if ready(pod)]
    assert (len(after), len(before & {pod["metadata"]["uid"] for pod in after})) == (ready_ones, kept)
    assert status(store)[1]["Available"] == "True"
    two["spec"]["template"]["restartGracePeriodSeconds"] = 7
    apply(store, api, two)
    step(12)
    assert len([pod for pod in store.list("pods") if ready(pod)]) == 3, "a change of the specification enqueues it"


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("rolloutStrategy", {"type": "RoleRollingUpdate", "rollingUpdateConfiguration": {}}, "is only valid when"),
        ("recoveryPolicy", "ServingGroupRecreate", "incompatible recoveryPolicy and rolloutStrategy.type"),
        ("template.gangPolicy", {"minRoleReplicas": {"x": 1}}, "role x does not exist in template.roles"),
        ("template.gangPolicy", {"minRoleReplicas": {"p": 2}}, "(2) for role p cannot exceed replicas (1)"),
        ("template.roles.0.maxUnavailable", 2, "maxUnavailable cannot be greater than replicas (1)"),
        ("template.roles.0.maxUnavailable", "10%", "maxUnavailable cannot be 0"),
        ("template.roles.0.maxUnavailable", "1x", "a valid percent string"),
        ("template.roles.0.maxUnavailable", -1, "must be a non-negative integer"),
        ("template.roles.0.workerReplicas", 1, "workerTemplate is required when workerReplicas is greater than 0"),
        ("template.roles.0.name", "a" * 60, "metadata.name: Invalid value"),
        ("template.roles.0.entryTemplate.spec.containers.0.image", "a b", "image cannot contain spaces"),
        ("template.roles", [], "roles must be specified"),
    ],
)
def test_the_webhook_of_kthena_refuses(world, place, value, says):
    store, api, dummy = world
    wrong, owner = copy.deepcopy(SERVING), None
    *path, last = place.split(".")
    owner = wrong["spec"]
    for name in path:
        owner = owner[int(name) if name.isdigit() else name]
    owner[last] = value
    with pytest.raises(Refused, match="admission webhook .* denied the request: validation failed") as caught:
        apply(store, api, wrong)
    assert says in caught.value.message and caught.value.code == 400
    assert store.list("modelservings") == []


def test_a_role_has_its_own_limit_only_where_roles_are_replaced(world):
    store, api, dummy = world
    by_group = copy.deepcopy(SERVING)
    by_group["spec"].pop("rolloutStrategy")
    apply(store, api, by_group)
    by_group["spec"]["template"]["roles"][0]["maxUnavailable"] = 1
    with pytest.raises(Refused, match="only valid when rolloutStrategy.type is RoleRollingUpdate"):
        apply(store, api, by_group)


def test_an_update_whose_pods_are_refused_takes_an_old_one_first(world):
    store, api, step = world
    two = copy.deepcopy(SERVING)
    two["spec"]["template"]["roles"][1].update(replicas=2, maxUnavailable=1)
    apply(store, api, two)
    step(12)
    wrong = copy.deepcopy(two)
    container = wrong["spec"]["template"]["roles"][1]["entryTemplate"]["spec"]["containers"][0]
    container["ports"] = [{"containerPort": 99999}]
    apply(store, api, wrong)
    step(40)
    assert [pod["metadata"]["name"] for pod in store.list("pods")] == ["s-0-d-0-0", "s-0-p-0-0"]


def test_the_grace_of_a_failed_pod_ends_whatever_has_its_name_then(world):
    """handlePodAfterGraceTime of v1.0.0 looks by name only."""
    store, api, step = world
    one = copy.deepcopy(SERVING)
    one["spec"]["template"]["restartGracePeriodSeconds"] = 12
    apply(store, api, changed(one, "crash"))
    step(8)
    first = store.get("pods", "n", "s-0-d-0-0")["metadata"]["uid"]
    apply(store, api, changed(one, "broken"))
    step(8)
    second = store.get("pods", "n", "s-0-d-0-0")["metadata"]["uid"]
    assert second != first
    step(10)
    assert store.get("pods", "n", "s-0-d-0-0")["metadata"]["uid"] != second


def test_pods_are_as_the_controller_makes_them(world):
    store, api, step = world
    wide = copy.deepcopy(SERVING)
    role = wide["spec"]["template"]["roles"][1]
    role["entryTemplate"]["metadata"] = {"labels": {"modelserving.volcano.sh/role": "mine", "a": "b"}}
    role["entryTemplate"]["spec"]["containers"][0]["env"] = [{"name": "WORKER_INDEX", "value": "7"}]
    role["entryTemplate"]["spec"]["schedulerName"] = "other"
    apply(store, api, wide)
    step(4)
    pod = store.get("pods", "n", "s-0-d-0-0")
    uid = store.get("modelservings", "n", "s")["metadata"]["uid"]
    assert [owner["uid"] for owner in pod["metadata"]["ownerReferences"]] == [uid]
    assert pod["metadata"]["labels"]["modelserving.volcano.sh/role"] == "mine"
    assert pod["spec"]["schedulerName"] == "volcano"
    env = {each["name"]: each["value"] for each in pod["spec"]["containers"][0]["env"]}
    assert env == {"GROUP_SIZE": "1", "ENTRY_ADDRESS": "s-0-d-0-0.n", "WORKER_INDEX": "0"}


DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "r"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}},
    },
}


def test_a_deployment_replaces_its_pods_once_new_ones_are_ready(world):
    store, api, dummy = world
    controller = Controller(store)
    apply_to = {"plural": "deployments", "namespace": "n", "manager": "m", "force": False, "dry_run": False}

    def state():
        return sorted(pod["spec"]["containers"][0]["image"] for pod in store.list("pods"))

    store.apply(thing=copy.deepcopy(DEPLOYMENT), judge=api.judge, **apply_to)
    steps(controller, 8)
    assert state() == ["i:1", "i:1"]
    assert store.get("deployments", "n", "r")["status"]["availableReplicas"] == 2
    before = {pod["status"]["podIP"] for pod in store.list("pods")}
    changed = copy.deepcopy(DEPLOYMENT)
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "i:2"
    store.apply(thing=changed, judge=api.judge, **apply_to)
    controller.step()
    assert state() == ["i:1", "i:1", "i:2"], "a quarter more than planned, rounded up"
    steps(controller, 12)
    assert state() == ["i:2", "i:2"]
    assert not before & {pod["status"]["podIP"] for pod in store.list("pods")}, "a new pod has the old address"
    store.remove("deployments", "n", "r")
    steps(controller, 6)
    assert state() == []


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        (("selector",), {"matchLabels": {"a": "c"}}, "`selector` does not match"),
        (("strategy",), {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}, "cannot be 0 when maxSurge is 0"),
        (("strategy",), {"type": "Recreate", "rollingUpdate": {}}, "may not be specified when strategy"),
        (("template", "spec", "containers"), [{"name": "c", "image": ""}], "spec.template.spec.containers[0].image"),
        (
            ("replica",),
            3,
            "failed to create typed patch object (/r; apps/v1, Kind=Deployment): .spec.replica: field not",
        ),
        (("template", "spec", "dnsPolici"), "None", ".spec.template.spec.dnsPolici: field not declared in schema"),
        (("template", "spec", "hostNetwork"), "yes", "spec.template.spec.hostNetwork: must be of type boolean"),
        (("template", "spec", "dnsPolicy"), "none", "Unsupported value: 'none'"),
        (("template", "metadata", "labels"), {"a": "b", "c": "d e"}, "metadata.labels: Invalid value: c: 'd e'"),
    ],
)
def test_a_deployment_is_judged_like_a_server_does(world, place, value, text):
    dummy, api, dummy = world
    thing = copy.deepcopy(DEPLOYMENT)
    owner = thing["spec"]
    for step in place[:-1]:
        owner = owner[step]
    owner[place[-1]] = value
    with pytest.raises(Refused) as caught:
        api.judge(thing, None)
    assert text in str(caught.value)


def groups(size=2, image="i:1"):
    """A LeaderWorkerSet with two groups."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": image}]}}
    inner = {"size": size, "leaderTemplate": template, "workerTemplate": copy.deepcopy(template)}
    spec = {"replicas": 2, "leaderWorkerTemplate": inner}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "w"},
        "spec": spec,
    }


def test_a_leader_worker_set_replaces_whole_groups_from_the_last_one_on():
    store = Store()
    api, controller = fake_api_server.Api(store, fake_shapes.CRDS), Controller(store)
    apply_to = {"plural": "leaderworkersets", "namespace": "n", "manager": "m", "force": False, "dry_run": False}

    def step(times=8):
        for dummy in range(times):
            controller.step()
        return {pod["metadata"]["name"]: pod["spec"]["containers"][0] for pod in store.list("pods")}

    store.apply(thing=groups(), judge=api.judge, **apply_to)
    pods = step()
    assert sorted(pods) == ["w-0", "w-0-1", "w-1", "w-1-1"]
    variables = {item["name"]: item["value"] for item in pods["w-1-1"]["env"]}
    assert variables == {"LWS_LEADER_ADDRESS": "w-1.w.n", "LWS_GROUP_SIZE": "2", "LWS_WORKER_INDEX": "1"}
    assert store.get("services", "n", "w")["spec"]["publishNotReadyAddresses"]
    assert store.get("leaderworkersets", "n", "w")["status"]["readyReplicas"] == 2
    store.apply(thing=groups(image="i:2"), judge=api.judge, **apply_to)
    pods = step(6)
    assert {name: pods[name]["image"] for name in pods if name.startswith("w-0")} == {"w-0": "i:1", "w-0-1": "i:1"}
    assert {item["image"] for item in step(20).values()} == {"i:2"}
    controller.terminate(store.get("pods", "n", "w-0-1"))
    assert len([name for name in step(1) if name.startswith("w-0")]) == 2
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in store.list("pods")}
    step()
    after = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in store.list("pods")}
    assert {name for name in after if after[name] != before[name]} == {"w-0", "w-0-1"}, (
        "a group starts again as a whole"
    )
    store.remove("leaderworkersets", "n", "w")
    assert step() == {}
    assert store.list("services") == []
    with pytest.raises(Refused, match="equal or greater than 1"):
        api.judge(groups(size=0), None)
    wrong = groups()
    wrong["metadata"]["name"] = "1w"
    with pytest.raises(Refused, match="DNS-1035"):
        api.judge(wrong, None)


def test_a_quota_refuses_in_the_words_of_a_server(world):
    store, api, dummy = world
    hard = {"requests.cpu": "5"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}
    store.create("resourcequotas", "n", quota)
    container = {"name": "c", "image": "i"}
    pod = {"kind": "Pod", "metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [container]}}
    with pytest.raises(Refused, match="failed quota: q: must specify requests.cpu"):
        api.judge(pod, None)
    container["resources"] = {"requests": {"cpu": "3500m"}}
    api.judge(pod, None)
    store.create("pods", "n", dict(pod, metadata={"name": "other"}))
    with pytest.raises(
        Refused, match="exceeded quota: q, requested: requests.cpu=3.5, used: requests.cpu=3.5, limited"
    ):
        api.judge(pod, None)


def node(name, says="True", devices="2"):
    """A node with devices."""
    status = {"allocatable": {"x/npu": devices}, "conditions": [{"type": "Ready", "status": says}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def test_a_node_that_dies_keeps_its_pods_until_it_is_gone(world):
    """Not ready at once, ended after a while, and there until the node comes back or goes: a pod of a fixed name is not made again."""
    store, api, _step = world
    controller = Controller(store)
    wanted = copy.deepcopy(SERVING)
    for role in wanted["spec"]["template"]["roles"]:
        role["entryTemplate"]["spec"]["containers"][0]["resources"] = {"limits": {"x/npu": "2"}}
    for number in (1, 2, 3):
        store.create("nodes", "", node(f"n{number}"))
    apply(store, api, wanted)
    steps(controller, 12)
    pods = {pod["metadata"]["name"]: pod for pod in store.list("pods")}
    assert sorted(pod["spec"]["nodeName"] for pod in pods.values()) == ["n1", "n2"], "devices are not shared"
    lost = next(name for name in pods if pods[name]["spec"]["nodeName"] == "n1")
    store.set_status("nodes", "", "n1", node("n1", "Unknown")["status"])
    steps(controller, 6)
    pod = store.get("pods", "n", lost)
    assert pod["status"]["conditions"][0]["status"] == "False" and "reason" not in pod["status"]["conditions"][0]
    assert pod["status"]["containerStatuses"][0]["ready"] and "deletionTimestamp" not in pod["metadata"]
    steps(controller, 40)
    pod = store.get("pods", "n", lost)
    assert pod["metadata"]["uid"] == pods[lost]["metadata"]["uid"] and "deletionTimestamp" in pod["metadata"]
    store.remove("nodes", "", "n1")
    steps(controller, 12)
    pod = store.get("pods", "n", lost)
    assert (pod["spec"]["nodeName"], pod["status"]["conditions"][0]["status"]) == ("n3", "True")


def test_pods_that_no_node_has_room_for_wait(world):
    store, _api, _step = world
    controller = Controller(store)
    store.create("nodes", "", {**node("n1"), "spec": {"unschedulable": True}})
    spec = {"hostNetwork": True, "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]}
    for name in ("a", "b"):
        store.create("pods", "n", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
    controller.step()
    assert store.get("pods", "n", "a")["status"]["conditions"][0]["reason"] == "Unschedulable"
    store.create("nodes", "", node("n2"))
    steps(controller, 6)
    assert store.get("pods", "n", "a")["spec"]["nodeName"] == "n2"
    assert "nodeName" not in store.get("pods", "n", "b")["spec"], "the port is taken"


def test_who_changes_a_field_owns_it_however_it_was_changed(world):
    """kubectl create, scale and edit do not apply, and their fields conflict all the same."""
    store, api, _step = world
    store.create("namespaces", "", {"kind": "Namespace", "metadata": {"name": "n"}})
    path = "/api/v1/namespaces/n/services"
    ports = [{"name": "a", "port": 80}]
    made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": ports}}
    Call(api, path, agent="kubectl/v1.35").route("create", made)
    change = {**made, "spec": {"ports": [{"name": "b", "port": 80}, {"name": "c", "port": 81}]}}
    text = 'with "kubectl" using v1: .spec.ports\\[port=80,protocol="TCP"\\].name'
    with pytest.raises(Refused, match=text):
        store.apply("services", "n", change, "m", False, False, api.judge)
    found = store.apply("services", "n", change, "m", True, False, api.judge)
    assert [port["name"] for port in found["spec"]["ports"]] == ["b", "c"]
    assert found["spec"]["ports"][0]["targetPort"] == 80, "a default is nobody's, and stays"
    kept = store.managed("services", "n", found)["metadata"]["managedFields"]
    assert {item["manager"]: item["operation"] for item in kept} == {"kubectl": "Update", "m": "Apply"}
    patched = Call(api, f"{path}/s", "application/merge-patch+json", "operator/1")
    patched.route("patch", {"spec": {"type": "NodePort"}})
    with pytest.raises(Refused, match='"operator" using v1: .spec.type'):
        store.apply(
            "services", "n", {**change, "spec": {**change["spec"], "type": "ClusterIP"}}, "m", False, False, api.judge
        )
    stale = {**found, "metadata": {**found["metadata"], "resourceVersion": "1"}}
    with pytest.raises(Refused, match="the object has been modified"):
        Call(api, f"{path}/s").route("update", stale)
    listed = Call(api, path)
    listed.route("get", None)
    assert "kind" not in listed.result["items"][0], "items of built-in kinds do not say what they are"


@pytest.mark.parametrize(
    ("kind", "field", "text"),
    [
        ("Deployment", {"selector": {"matchLabels": {"a": "c"}}}, "field is immutable"),
        ("Deployment", {"strategy": {"type": "Recreate"}}, "may not be specified when strategy `type` is 'Recreate'"),
        ("Service", {"clusterIP": "None"}, "may not change once set"),
    ],
)
def test_what_a_server_does_not_change(world, kind, field, text):
    """Also because of a field that it filled in itself: the default of rollingUpdate stays, as nobody takes it back."""
    store, api, _step = world
    labels = {"a": "b", "x": "y"} if "selector" not in field else {"a": "c"}
    pod = {"containers": [{"name": "c", "image": "i:1"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"selector": {"matchLabels": {"a": labels["a"]}}, "template": template}
    spec = {"ports": [{"port": 80, "targetPort": 80}]} if kind == "Service" else spec
    first = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}, "spec": copy.deepcopy(spec)}
    if "selector" in field:
        first["spec"].update(
            selector={"matchLabels": {"a": "b"}}, template={"metadata": {"labels": {"a": "b"}}, "spec": pod}
        )
    plural = kind.lower() + "s"
    store.apply(plural, "n", first, "m", False, False, api.judge)
    with pytest.raises(Refused, match=text):
        store.apply(plural, "n", {**first, "spec": {**spec, **field}}, "m", False, False, api.judge)


def test_what_is_being_removed_stays_until_its_finalizers_go(world):
    store, api, _step = world
    store.create("namespaces", "", {"kind": "Namespace", "metadata": {"name": "n"}})
    head = {"name": "c", "finalizers": ["x/y"]}
    store.create("configmaps", "n", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": head})
    Call(api, "/api/v1/namespaces/n/configmaps/c").route("delete", None)
    assert "deletionTimestamp" in store.get("configmaps", "n", "c")["metadata"]
    namespace = store.get("namespaces", "", "n")
    namespace["metadata"]["deletionTimestamp"] = "now"
    store.replace("namespaces", "", namespace)
    fresh = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}}
    with pytest.raises(Refused, match="unable to create new content in namespace n because it is being terminated"):
        Call(api, "/api/v1/namespaces/n/configmaps").route("create", fresh)


TWICE = [{"name": "v", "mountPath": "/x"}] * 2
TCP = {"protocol": "TCP"}
BLOCK = {"cidr": "192.0.2.0/24"}
MORE = {"limits": {"cpu": "500m"}, "requests": {"cpu": 1}}


@pytest.mark.parametrize(
    ("kind", "spec", "says"),
    [
        ("Service", {"selector": {"a": "b"}}, "spec.ports: Required value"),
        ("Service", {"selector": {"a": "b"}, "clusterIP": "None"}, ""),
        ("Pod", {"serviceAccountName": "x"}, 'error looking up service account n/x: serviceaccount "x" not found'),
        ("Pod", {"serviceAccountName": "there"}, ""),
        ("Pod", {"priorityClassName": "x"}, "no PriorityClass with name x was found"),
        ("Pod", {"priorityClassName": "system-node-critical"}, ""),
        ("Pod", {"priorityClassName": "there"}, ""),
        ("Service", {"ports": [{"port": 80, "targetport": 80}]}, ".spec.ports[0].targetport: field not declared"),
        ("Pod", {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": 1}]}]}, "of type string"),
        ("Pod", {"containers": [{"name": "c", "image": "i"}] * 2}, "Duplicate value"),
        ("Pod", {"containers": [{"name": "c", "image": "i", "livenessProbe": {}}]}, "must specify a handler type"),
        ("Pod", {"containers": [{"name": "c", "image": "i", "volumeMounts": TWICE}]}, "must be unique"),
        ("Pod", {"containers": [{"name": "c", "image": "i", "resources": MORE}]}, "less than or equal to cpu limit"),
        ("NetworkPolicy", {"ingress": [{"from": [{}]}]}, "must specify a peer"),
        ("NetworkPolicy", {"ingress": [{"from": [{"ipBlock": BLOCK, "podSelector": {}}]}]}, "may not specify both"),
        ("NetworkPolicy", {"ingress": [{"ports": [{"port": 70000}]}]}, "must be between 1 and 65535"),
        ("NetworkPolicy", {"ingress": [{"form": []}]}, "field not declared in schema"),
    ],
)
def test_what_a_server_and_its_admission_refuse(world, kind, spec, says):
    store, api, _step = world
    store.create("serviceaccounts", "n", {"kind": "ServiceAccount", "metadata": {"name": "there"}})
    store.create("priorityclasses", "", {"kind": "PriorityClass", "metadata": {"name": "there"}})
    base = {"Pod": {"containers": [{"name": "c", "image": "i"}]}, "NetworkPolicy": {"podSelector": {}}}.get(kind, {})
    spec = {**base, **spec}
    thing = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": "n"}, "spec": spec}
    if not says:
        return api.judge(thing, None)
    with pytest.raises(Refused) as refused:
        api.judge(thing, None)
    assert says in refused.value.message
    return None


def test_admission_applies_to_controllers_too(world):
    store, _api, _step = world
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"serviceAccountName": "x"}}
    assert "error looking up service account n/x" in Controller(store).create_pod("n", pod)
    assert store.list("pods") == []


@pytest.mark.parametrize(("minor", "is_known"), [(25, False), (26, True)])
def test_an_old_server_does_not_know_a_newer_field(world, minor, is_known):
    _store, api, _step = world
    api.minor = minor
    call = Call(api, "/version")
    call.route("get", None)
    assert call.result["minor"] == f"{minor}+"
    spec = {"minAvailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
    thing = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}, "spec": spec}
    if is_known:
        return api.judge(thing, None)
    with pytest.raises(Refused, match="failed to create typed patch object .*unhealthyPodEvictionPolicy"):
        api.judge(thing, None)
    return None


def test_a_kind_is_served_as_long_as_its_crd_is_there_in_this_version(world):
    store, api, _step = world
    version, name = "workload.serving.volcano.sh/v1alpha1", "modelservings.workload.serving.volcano.sh"
    assert "modelservings" in [item["name"] for item in api.resource_list(version)["resources"]]
    store.objects["customresourcedefinitions", "", name]["spec"]["versions"][0]["name"] = "v2"
    assert [item["name"] for item in api.resource_list(version)["resources"]] == ["autoscalingpolicies"]
    with pytest.raises(Refused) as refused:
        api.row(version, "modelservings")
    assert refused.value.code == 404


def test_pods_that_avoid_each_other_share_no_node_and_those_that_lack_a_config_map_do_not_start(world):
    store, _api, _step = world
    controller = Controller(store)
    store.create("nodes", "", node("n1"))
    term = {"labelSelector": {"matchLabels": {"role": "a"}}, "topologyKey": "kubernetes.io/hostname"}
    away = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    for name, more in (("a", {}), ("b", {"affinity": away}), ("c", {"volumes": [{"configMap": {"name": "m"}}]})):
        head = {"name": name, "labels": {"role": name}}
        store.create("pods", "n", {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": {**spec, **more}})
    steps(controller, 8)
    assert ["nodeName" in store.get("pods", "n", name)["spec"] for name in "abc"] == [True, False, True]
    assert "phase" not in store.get("pods", "n", "c").get("status", {})
    assert "configmap 'm' not found" in [event["message"] for event in store.list("events", "n")]
    store.create("configmaps", "n", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}})
    steps(controller, 8)
    assert store.get("pods", "n", "c")["status"]["phase"] == "Running"


def test_a_group_of_a_partition_that_is_made_again_has_the_roles_of_now(world):
    """deleteServingGroup writes them into the ControllerRevision of the old revision, whose name the pods keep."""
    store, api, step = world
    two = copy.deepcopy(SERVING)
    two["spec"].update(replicas=2, recoveryPolicy="ServingGroupRecreate")
    rolling = {"maxUnavailable": 1, "partition": 1}
    two["spec"]["rolloutStrategy"] = {"type": "ServingGroupRollingUpdate", "rollingUpdateConfiguration": rolling}
    apply(store, api, two)
    step(12)
    apply(store, api, changed(two, "i:2"))
    step(30)
    assert images(store) == ["i:1", "i:1", "i:1", "i:2"]
    store.remove("pods", "n", "s-0-p-0-0")
    step(30)
    assert images(store) == ["i:1", "i:1", "i:2", "i:2"]
    assert len({pod["metadata"]["labels"]["modelserving.volcano.sh/revision"] for pod in store.list("pods")}) == 2


def test_a_controller_that_starts_anew_knows_a_group_by_its_first_pod(world):
    """In the middle of an update it may take the group for updated, and then leaves the rest of it alone."""
    store, api, _step = world
    controller = Controller(store)
    two = copy.deepcopy(SERVING)
    two["spec"]["template"]["roles"][1].update(replicas=3, maxUnavailable=1)
    apply(store, api, two)
    steps(controller, 12)
    apply(store, api, changed(two, "i:2"))
    while images(store).count("i:2") < 2:
        controller.step()
    controller.servings.restart()
    steps(controller, 30)
    found, conditions = status(store)
    assert (found["updatedReplicas"], conditions["Available"], images(store).count("i:2")) == (1, "True", 2)


def test_a_group_that_the_server_refuses_is_tried_later_and_later(world):
    store, api, step = world
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
    store.create("resourcequotas", "n", quota)
    apply(store, api, SERVING)
    step(200)
    store.remove("resourcequotas", "n", "q")
    step(20)
    assert store.list("pods") == [], "it waits for some minutes by now"
    step(300)
    assert len(store.list("pods")) == 2


def put(api, path, body, form="application/json", **query):
    """Create an object, or apply it."""
    words = "&".join(f"{key}={query[key]}" for key in query)
    call = Call(api, f"/api/v1/namespaces/n/{path}?{words}", form=form)
    call.route("patch" if "apply" in form else "create", copy.deepcopy(body))
    return call.result


def test_a_quota_counts_objects_of_other_kinds_too(world):
    store, api, _step = world
    store.create("namespaces", "", {"kind": "Namespace", "metadata": {"name": "n"}})
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "1", "count/secrets": "0"}}}
    store.create("resourcequotas", "n", {"apiVersion": "v1", "kind": "ResourceQuota", **quota})
    thing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}}
    form = "application/apply-patch+yaml"
    put(api, "configmaps/a", thing, form, fieldManager="m")
    put(api, "configmaps/a", {**thing, "data": {"a": "c"}}, form, fieldManager="m")
    thing["metadata"]["name"] = "b"
    for path, more in (("configmaps/b", [form]), ("configmaps", [])):
        with pytest.raises(Refused, match="exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited"):
            put(api, path, thing, *more, fieldManager="m")
    with pytest.raises(Refused, match="exceeded quota: q, requested: count/secrets=1"):
        put(api, "secrets", {**thing, "kind": "Secret"})


def test_what_is_dropped_without_a_word_unless_strictness_is_asked_for(world):
    store, api, _step = world
    store.create("namespaces", "", {"kind": "Namespace", "metadata": {"name": "n"}})
    spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": [{"keys": "x"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    with pytest.raises(Refused, match='strict decoding error: unknown field "spec.tolerations.0..keys"'):
        put(api, "pods", pod, fieldValidation="Strict")
    put(api, "pods", pod)


def test_two_items_of_one_key_cannot_be_applied(world):
    store, api, _step = world
    twins = copy.deepcopy(DEPLOYMENT)
    twins["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}] * 2
    with pytest.raises(Refused, match=r'\.env: duplicate entries for key \[name="A"\]'):
        store.apply("deployments", "n", twins, "m", False, False, api.judge)


@pytest.mark.parametrize(
    ("level", "own", "pod", "says"),
    [
        ("baseline", {"capabilities": {"add": ["IPC_LOCK"]}}, {}, "non-default capabilities"),
        ("baseline", {"capabilities": {"add": ["CHOWN"]}}, {}, ""),
        ("baseline", {}, {"sysctls": [{"name": "net.x", "value": "1"}]}, "forbidden sysctls"),
        ("baseline", {"procMount": "Unmasked"}, {}, "procMount"),
        ("baseline", {}, {"seccompProfile": {"type": "Unconfined"}}, "seccompProfile"),
        ("restricted", {"runAsUser": 0}, {}, "runAsUser=0"),
        ("restricted", {"capabilities": {"drop": ["ALL", "CHOWN"]}}, {}, ""),
    ],
)
def test_pod_security_judges_all_containers(world, level, own, pod, says):
    store, _api, _step = world
    labels = {"pod-security.kubernetes.io/enforce": level}
    store.create("namespaces", "", {"kind": "Namespace", "metadata": {"name": "n", "labels": labels}})
    good = {"allowPrivilegeEscalation": False, "runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}}
    good["seccompProfile"] = {"type": "Localhost"}
    first = {"name": "f", "image": "i", "securityContext": {**(good if "seccompProfile" not in pod else {}), **own}}
    box = {"name": "c", "image": "i", "securityContext": good}
    spec = {"containers": [box], "initContainers": [first], "securityContext": pod}
    refused = Controller(store).create_pod(
        "n", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    )
    assert says in refused and bool(refused) == bool(says), refused


def test_fields_by_which_a_server_selects(world):
    store, api, _step = world
    for kind in ("Normal", "Warning"):
        store.create(
            "events", "n", {"apiVersion": "v1", "kind": "Event", "metadata": {"name": kind.lower()}, "type": kind}
        )
    call = Call(api, "/api/v1/namespaces/n/events?fieldSelector=type!=Normal")
    call.route("get", None)
    assert [item["type"] for item in call.result["items"]] == ["Warning"]
    with pytest.raises(Refused, match="field label not supported"):
        Call(api, "/api/v1/namespaces/n/events?fieldSelector=typ!=Normal").route("get", None)


@pytest.mark.parametrize(("devices", "placed"), [("4", 0), ("6", 3)])
def test_volcano_starts_no_pod_of_a_group_before_all_of_it_fit(world, devices, placed):
    """Kthena's PodGroup asks for all pods (minMember), unless a gangPolicy lowers that; its webhook and Volcano's do nothing else here."""
    store, api, _step = world
    controller, wanted = Controller(store), copy.deepcopy(SERVING)
    for role in wanted["spec"]["template"]["roles"]:
        role["entryTemplate"]["spec"]["containers"][0]["resources"] = {"limits": {"x/npu": "2"}}
    wanted["spec"]["template"]["roles"][1]["replicas"] = 2
    store.create("nodes", "", node("n1", devices=devices))
    apply(store, api, wanted)
    steps(controller, 12)
    assert len([pod for pod in store.list("pods") if ready(pod)]) == placed
    wanted["spec"]["template"]["gangPolicy"] = {"minRoleReplicas": {"d": 1}}
    apply(store, api, wanted)
    steps(controller, 12)
    assert len([pod for pod in store.list("pods") if ready(pod)]) == (placed or 2)


def test_a_default_inside_a_part_of_one_owner_is_another_value(world):
    """The ingress of a NetworkPolicy is one value, into which the server writes TCP: who leaves it out conflicts with who says it."""
    store, api, _step = world
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "p"}}
    said, unsaid = (
        {**policy, "spec": {"podSelector": {}, "ingress": [{"ports": [port]}]}}
        for port in ({"port": 1, **TCP}, {"port": 1})
    )
    for manager, thing in (("one", unsaid), ("two", said)):
        store.apply("networkpolicies", "n", thing, manager, False, False, api.judge)
    with pytest.raises(Refused, match="spec.ingress"):
        store.apply("networkpolicies", "n", unsaid, "three", False, False, api.judge)
