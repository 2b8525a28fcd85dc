# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fake API server: what it refuses, what it keeps, and the controller's ways that the role must not fall for."""

from __future__ import annotations

import copy
import pathlib
import sys

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.readiness import pending_serving

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "simulator" / "kubernetes"))
import fake_api_server
from fake_controller import Controller
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
                controller.serve(item)
            controller.orphans()
            controller.pods()

    return store, api, step


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
    with pytest.raises(Refused, match="conflicts"):
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
            if not pending_serving(thing):
                ready += 1
                assert thing["status"]["observedGeneration"] == thing["metadata"]["generation"]
                images = {pod["spec"]["containers"][0]["image"] for pod in store.list("pods")}
                assert images == {image, "i:1"}
            step()
    assert ready > 5
