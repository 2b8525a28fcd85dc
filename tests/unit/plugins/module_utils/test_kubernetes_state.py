# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the cluster shows, and what it means: addresses, what may go, what to roll back to."""

from __future__ import annotations

import functools
import json
import types
import zlib

import pytest

pytest.importorskip("yaml", reason="a target plans nothing")
pytest.importorskip("ansible.errors", reason="a target plans nothing")
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes import (
    addresses,
    changes,
    manifests,
    ownership,
    state,
    verified,
)
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.errors import KubernetesProblem
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import PLAN_VERSION
from ansible_collections.ascend.inference.plugins.modules import kubernetes_verified
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.kthena_plans import plan

PLAN = plan(pools__decode__instances=2)
CONFIG_MAP = PLAN["kubernetes"]["roles"]["prefill"]["config_map"]
LABEL = "modelserving.volcano.sh/"


def pod(role, number, address="10.0.0.1", group="demo-0", ready="True", **head):
    """A pod of the plan, under a name that says nothing."""
    mine = PLAN["kubernetes"]["roles"][role]
    return {
        "metadata": {
            "name": f"p{zlib.crc32(f'{role}{number}{group}'.encode())}",
            "labels": {
                LABEL + "name": "demo",
                LABEL + "role": role,
                LABEL + "role-id": f"{role}-{number}",
                LABEL + "group-name": group,
                LABEL + "entry": "true",
            },
            **head,
        },
        "spec": {
            "containers": [{"image": mine["image"]}],
            "volumes": [{"configMap": {"name": mine["config_map"]}}, {"hostPath": {"path": "/x"}}],
        },
        "status": {"phase": "Running", "podIP": address, "conditions": [{"type": "Ready", "status": ready}]},
    }


ALL = [pod("prefill", 0, "10.0.0.1"), pod("decode", 1, "10.0.0.3"), pod("decode", 0, "10.0.0.2")]


def test_what_a_manager_applied_is_read_from_the_managed_fields_of_a_server():
    """As a server writes them: items of lists by key, values of sets, a list that is one value."""
    fields = {
        "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {".": {}, 'v:"x/y"': {}}},
        "f:spec": {
            "f:template": {"f:spec": {"f:containers": {'k:{"name":"main"}': {".": {}, "f:name": {}, "f:args": {}}}}},
            "f:selector": {},
            "f:others": {".": {}},
        },
    }
    owner = {"manager": "mine", "operation": "Apply", "fieldsV1": fields}
    others = [dict(owner, operation="Update"), dict(owner, subresource="status"), dict(owner, manager="other")]
    head = {"name": "n", "labels": {"a": "1", "b": "2"}, "finalizers": ["z", "x/y"], "resourceVersion": "5"}
    containers = [{"name": "side", "args": ["s"]}, {"name": "main", "args": ["m"], "image": "i"}]
    spec = {
        "replicas": 3,
        "selector": {"k": "v"},
        "others": ["theirs"],
        "template": {"spec": {"containers": containers}},
    }
    thing = {"apiVersion": "v1", "kind": "K", "metadata": dict(head, managedFields=[*others, owner]), "spec": spec}
    assert changes.earlier(thing, {}, "mine", False) == {
        "apiVersion": "v1",
        "kind": "K",
        "metadata": {"name": "n", "labels": {"a": "1"}, "finalizers": ["x/y"]},
        "spec": {
            "selector": {"k": "v"},
            "others": [],
            "template": {"spec": {"containers": [{"name": "main", "args": ["m"]}]}},
        },
    }
    taken = {"spec": {"replicas": 5, "paused": True}, "metadata": {"name": "n", "labels": {"b": "3"}}}
    found = changes.earlier(thing, taken, "nobody", True)
    assert (found["spec"], found["metadata"]["labels"]) == ({"replicas": 3}, {"b": "2"})


def test_a_pod_with_the_labels_of_both_counts_once():
    both, other = pod("prefill", 0), pod("decode", 0)
    lists = [[both], [both, other]]
    found = state.deployed_pods(types.SimpleNamespace(list=lambda kind, labels: lists.pop(0)), PLAN)
    assert found == [both, other]


def test_addresses_follow_labels_and_not_names():
    first, *others = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
    found = addresses.addresses(PLAN, ALL)
    assert found == {"prefill-0.pod": first, "decode-0.pod": others[0], "decode-1.pod": others[1]}
    late = [pod("prefill", 0, "10.0.0.9", group="demo-12"), pod("prefill", 0, "10.0.0.8", group="demo-3")]
    found = addresses.addresses(plan(kubernetes__groups=2), late)
    assert found == {"prefill-0.pod": "10.0.0.8", "prefill-1.pod": "10.0.0.9"}


def test_addresses_of_instances_over_several_nodes_are_those_of_their_leaders():
    """Without Kthena; the groups are in the order of their numbers."""
    wide = plan(kubernetes__workload="native", pools__decode__data_parallel_size=32, pools__decode__instances=11)
    found = []
    for group in (10, *range(10)):
        for worker in (1, 0):
            labels = {"app.kubernetes.io/component": "decode"}
            labels["leaderworkerset.sigs.k8s.io/group-index"] = str(group)
            labels["leaderworkerset.sigs.k8s.io/worker-index"] = str(worker)
            head = {"name": f"w-{group}" + f"-{worker}" * worker, "labels": labels}
            found.append({"metadata": head, "status": {"podIP": f"10.0.{worker}.{group}"}})
    assert list(addresses.addresses(wide, found).values()) == [f"10.0.0.{group}" for group in range(11)]
    without = [item for item in found if item["metadata"]["name"] != "w-3"]
    known = {f"decode-{group}-0.pod": f"10.0.0.{group}" for group in range(11) if group != 3}
    assert addresses.addresses(wide, without) == known, "no instance gets the address of another one"


def test_the_resolved_plan_has_addresses_and_its_objects_stay():
    resolved = addresses.resolved(PLAN, ALL)
    decode = next(service for service in resolved["services"] if service["name"] == "decode-1")
    assert decode["address"] == "10.0.0.3"
    assert decode["health"]["url"] == "http://10.0.0.3:7300/health"
    assert resolved["verify"]["prefill"][0]["url"] == "http://10.0.0.1:7200"
    assert resolved["objects"] == PLAN["objects"]


@pytest.mark.parametrize(
    ("spec", "status", "url"),
    [
        ({"type": "ClusterIP", "clusterIP": "10.96.0.7", "ports": [{"port": 8000}]}, {}, "10.96.0.7:8000"),
        ({"type": "NodePort", "clusterIP": "10.96.0.7", "ports": [{"nodePort": 30001}]}, {}, "10.0.0.1:30001"),
        ({"type": "LoadBalancer", "ports": [{}]}, {"loadBalancer": {"ingress": [{"ip": "9.9.9.9"}]}}, "9.9.9.9:8000"),
    ],
)
def test_verification_asks_where_the_router_is_reached(spec, status, url):
    running = pod("prefill", 0)
    running["status"]["hostIP"] = "10.0.0.1"
    assert (
        addresses.resolved(PLAN, [running], {"spec": spec, "status": status})["verify"]["entry"]["url"]
        == f"http://{url}"
    )


def test_nobody_is_sent_to_a_pod_to_ask():
    found = addresses.resolved(PLAN, ALL)["verify"]
    assert {item["host"] for item in (found["entry"], *found["prefill"], *found["decode"])} == {"localhost"}


def test_a_router_that_is_not_ours_is_asked_where_the_user_says():
    router = {"mode": "none", "url": "http://10.0.0.9:80/"}
    planned = plan(kubernetes__router=router)
    assert planned["verify"]["entry"]["url"] == "http://10.0.0.9:80"
    assert planned["kubernetes"]["router"]["url"] == router["url"]
    assert addresses.resolved(planned, ALL)["verify"]["entry"]["host"] == "localhost"


def live(kind, name, ours=True):
    """An object of the cluster."""
    labels = {"app.kubernetes.io/managed-by": "ascend.inference", "app.kubernetes.io/part-of": "demo"}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": labels if ours else {}}}


def test_only_what_is_managed_may_go_and_configuration_goes_last():
    there = [
        live("ConfigMap", CONFIG_MAP),
        live("ConfigMap", "demo-verified"),
        live("ModelServing", "demo"),
        live("ModelRoute", "demo"),
        live("ConfigMap", "demo-old"),
        live("ConfigMap", "theirs", ours=False),
    ]
    names = [f"{item['kind']}/{item['metadata']['name']}" for item in ownership.stale(PLAN, there)]
    assert names == ["ModelRoute/demo", "ConfigMap/demo-old"]
    kinds = [item["kind"] for item in ownership.stale(PLAN, there, False)]
    assert kinds == ["ModelRoute", "ModelServing", "ConfigMap", "ConfigMap", "ConfigMap"]
    (theirs,) = ownership.foreign(PLAN, [live("ConfigMap", CONFIG_MAP, ours=False)])
    assert (theirs.path, theirs.id, bool(theirs.why)) == (f"ConfigMap/{CONFIG_MAP}", "K8S-FOREIGN", True)
    assert ownership.foreign(PLAN, there) == []


def test_the_plan_to_roll_back_to_is_the_last_verified_one_that_was_not_applied_last():
    first, second = ({"digest": str(n), "release": "0.1", "plan_version": PLAN_VERSION} for n in (1, 2))

    def kept(data):
        return {"data": data}

    data = verified.record_verified(None, first)
    assert verified.rollback_plan(kept(data), "2") == first
    data = verified.record_verified(kept(data), second)
    assert verified.record_verified(kept(data), second) == data
    assert verified.rollback_plan(kept(data), "2") == first
    assert verified.rollback_plan(kept(data), "3") == second
    with pytest.raises(KubernetesProblem, match="a rollback is not possible"):
        verified.rollback_plan(None, "1")
    for other in ({"plan_version": PLAN_VERSION - 1}, {"kubernetes": {"stages": {}}}):
        older = verified.record_verified(None, {**first, **other})
        with pytest.raises(
            KubernetesProblem, match="with the version of the collection that deployed it; or set inference_release 0.1"
        ):
            verified.rollback_plan(kept(older), "2")


def test_a_recorded_plan_of_another_deployment_is_refused():
    verified.refuse_other(PLAN, PLAN)
    for other in (
        {"deployment": "theirs"},
        {"kubernetes": {**PLAN["kubernetes"], "namespace": "kube-system"}},
        {"kubernetes": {**PLAN["kubernetes"], "name": "theirs"}},
    ):
        with pytest.raises(KubernetesProblem, match="a plan of another deployment"):
            verified.refuse_other(PLAN, {**PLAN, **other})


def altered(*path_and_value):
    """A recorded plan in which somebody has set the value at a path, as it comes back from the cluster; ``...`` takes it away."""
    found = json.loads(json.dumps(PLAN))
    *path, last, value = path_and_value or ("digest", PLAN["digest"])
    owner = functools.reduce(lambda part, key: part[key], path, found)
    if value is ...:
        del owner[last]
    else:
        owner[last] = value
    return found


ATTACKS = [
    ("verify", "entry", "url", "http://10.66.6.6:8000"),
    ("verify", "decode", 0, "url", "http://10.66.6.6:7300"),
    ("kubernetes", "secrets", "keys", [*PLAN["kubernetes"]["secrets"]["keys"], "client_keys"]),
    ("kubernetes", "secrets", "name", "theirs"),
    ("verify", "engine_api_key", "client_keys"),
    ("kubernetes", "router", {**PLAN["kubernetes"]["router"], "mode": "none", "url": "http://10.66.6.6:8000"}),
    ("objects", [*PLAN["objects"], {"kind": "Pod", "metadata": {"name": "x"}}]),
    ("objects", 0, "metadata", "namespace", "kube-system"),
    ("objects", ...),
    ("objects", [None]),
    ("verify", []),
]


@pytest.mark.parametrize("change", ATTACKS)
def test_a_record_that_somebody_changed_is_not_applied(tmp_path, change):
    folder = str(tmp_path / "verified")
    with pytest.raises(KubernetesProblem, match="Nothing was applied"):
        verified.proven(PLAN, altered(*change), verified.known_digests(folder, PLAN))
    verified.note_digest(folder, PLAN)
    assert verified.proven(PLAN, altered(), verified.known_digests(folder, PLAN)) == ""
    with pytest.raises(KubernetesProblem, match="has not recorded: it was changed since.*show-managed-fields"):
        verified.proven(PLAN, altered(*change), verified.known_digests(folder, PLAN))


def test_commands_of_pods_are_only_proven_by_the_digest(tmp_path):
    """Without one there is a warning: they differ between releases."""
    folder = str(tmp_path / "verified")
    evil = altered("objects", 0, "data", {"run.sh": "evil"})
    assert "cannot know whether ConfigMap/" in verified.proven(PLAN, evil, verified.known_digests(folder, PLAN))
    verified.note_digest(folder, PLAN)
    with pytest.raises(KubernetesProblem, match="Nothing was applied"):
        verified.proven(PLAN, evil, verified.known_digests(folder, PLAN))


def test_the_digests_of_a_machine_are_kept_and_a_damaged_file_proves_nothing(tmp_path):
    folder = str(tmp_path / "verified")
    assert verified.known_digests(folder, PLAN) is None
    for number in range(verified.KEPT + 5):
        verified.note_digest(folder, {**PLAN, "digest": str(number)})
    newest = [verified.fingerprint({**PLAN, "digest": str(number)}) for number in range(5, verified.KEPT + 5)]
    assert verified.known_digests(folder, PLAN) == newest
    verified.note_digest(folder, {**PLAN, "digest": "9"})
    known = verified.known_digests(folder, PLAN)
    assert len(known) == len(set(known)) == verified.KEPT and known[-1] == verified.fingerprint({**PLAN, "digest": "9"})
    (path,) = (tmp_path / "verified").iterdir()
    assert path.stat().st_mode & 0o77 == 0
    for text in ("{", "{}", "[1, {}]", "[" * 100000):
        path.write_text(text)
        assert verified.known_digests(folder, PLAN) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "verified").write_text("")
    with pytest.raises(KubernetesProblem, match="cannot be kept.*Fix:"):
        verified.note_digest(str(tmp_path / "verified"), PLAN)


class Recording:
    """A cluster that keeps what is applied; ``run(plan)`` makes it run a plan."""

    check = False

    def __init__(self):
        self.things = {}

    def get(self, kind, name):
        return self.things.get((kind, name))

    def apply(self, manifest, *unused, **more):
        self.things[manifest["kind"], manifest["metadata"]["name"]] = json.loads(json.dumps(manifest))

    def run(self, wanted):
        for item in manifests.objects(wanted):
            self.apply(item)


def test_a_rollback_by_the_module_applies_what_this_machine_recorded(tmp_path):
    cluster, newer = Recording(), {**PLAN, "digest": "newer", "release": "newer"}
    params = {"directory": str(tmp_path / "here"), "state": "recorded", "adopt": False}
    for wanted in (PLAN, newer):
        cluster.run(wanted)
        assert kubernetes_verified.handled(cluster, {**params, "plan": wanted}) == {"changed": True}
    asked = {**params, "plan": newer, "state": "read"}
    found = kubernetes_verified.handled(cluster, asked)
    assert found["previous_plan"] == json.loads(json.dumps(PLAN)) and found["warnings"] == []
    elsewhere = kubernetes_verified.handled(cluster, {**asked, "directory": str(tmp_path / "elsewhere")})
    assert "cannot know whether" in elsewhere["warnings"][0]
    data = cluster.get("ConfigMap", manifests.record_name(PLAN))["data"]
    data["previous.json"] = data["previous.json"].replace('"replicas":1', '"replicas":9')
    with pytest.raises(KubernetesProblem, match="has not recorded"):
        kubernetes_verified.handled(cluster, asked)


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100000, '{"kubernetes": []}'])
def test_a_damaged_record_is_refused_and_replaced_by_the_next_verification(text):
    with pytest.raises(KubernetesProblem, match="verified.json of the record.*Fix: find out who wrote it"):
        verified.rollback_plan({"data": {"verified.json": text}}, "2")
    assert set(verified.record_verified({"data": {"verified.json": text}}, PLAN)) == {"verified.json"}


def test_the_digest_that_was_applied_is_that_of_all_objects():
    def thing(digest):
        return {"metadata": {"annotations": {"ascend.inference/plan-sha256": digest}}}

    assert verified.applied_digest([thing("1"), thing("1")]) == "1"
    assert verified.applied_digest([thing("1"), thing("2")]) == "", "an apply that was ended between them"
    assert verified.applied_digest([thing("1"), None]) == verified.applied_digest([None]) == ""
