# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps pods from starting, at the edges of each limit; the simulated clusters show the whole wait."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes import stuck
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.names import SERVING_ROLE, WORKER_INDEX

ROLE = {"image": "engine:1", "config_map": "scripts", "replicas": 3, "pods": 1}
PLAN = {"kubernetes": {"groups": 1, "roles": {"decode": ROLE}}}


def pod(name="decode-0", created="12:00:00", image="engine:1", labels=None, **status):
    mount = {"name": "scripts", "configMap": {"name": "scripts"}}
    spec = {"containers": [{"name": "engine", "image": image}], "volumes": [mount]}
    stamp = f"2026-11-24T{created}Z"
    metadata = {
        "name": name,
        "uid": f"{name}-{created}",
        "creationTimestamp": stamp,
        "labels": {SERVING_ROLE: "decode", **(labels or {})},
    }
    return {"metadata": metadata, "spec": spec, "status": {"conditions": [{"type": "Initialized"}], **status}}


def ended(*times, **more):
    return [pod(f"decode-{number}", created, phase="Failed", **more) for number, created in enumerate(times)]


def container(reason, restarts=0, part="containerStatuses"):
    return {part: [{"restartCount": restarts, "state": {"waiting": {"reason": reason}}}]}


AGAIN = {"decode: pods end again and again (Failed)": 1}


@pytest.mark.parametrize(
    ("pods", "found"),
    [
        (ended("12:00:00", "12:01:00", "12:02:00"), AGAIN),
        (ended("12:00:00", "12:01:00"), {}),
        (ended("12:00:01", "12:05:00", "12:10:00"), AGAIN),  # the first one is 599 s older than the newest
        (ended("12:00:00", "12:05:00", "12:10:00"), {}),  # 600 s: an earlier eviction
        ([*ended("12:00:00", "12:01:00", "12:02:00"), pod("decode-9", "12:20:00", phase="Running")], {}),
        (ended("12:00:00", "12:01:00", "12:02:00", image="engine:0"), {}),  # of the revision before
        (
            ended("12:00:00", "12:01:00", "12:02:00", reason="Evicted"),
            {"decode: pods end again and again (Evicted)": 1},
        ),
    ],
)
def test_pods_that_end_again_and_again(pods, found):
    assert stuck.stuck(PLAN, pods) == found


@pytest.mark.parametrize(
    ("status", "found"),
    [
        (container("CrashLoopBackOff", 3), {"decode-0: CrashLoopBackOff": 1}),
        (container("CrashLoopBackOff", 2), {}),  # a start that lost a race
        (container("ErrImagePull"), {"decode-0: ImagePullBackOff": 1}),  # the two follow each other, and are one state
        (container("ImagePullBackOff"), {"decode-0: ImagePullBackOff": 1}),
        (container("CreateContainerConfigError"), {"decode-0: CreateContainerConfigError": 1}),
        (container("InvalidImageName", part="initContainerStatuses"), {"decode-0: InvalidImageName": 1}),
        (container("ContainerCreating"), {}),
        ({"conditions": [{"type": "PodScheduled", "reason": "Unschedulable"}]}, {"decode-0: Unschedulable": 5}),
        ({"conditions": [{"type": "PodScheduled", "status": "True"}]}, {}),
        (
            {"conditions": [{"type": "PodReadyToStartContainers", "status": "False"}]},
            {"decode-0: no volumes or no network, see its events": 5},
        ),
        ({"phase": "Pending", "conditions": []}, {"decode-0: no scheduler has looked at it": 5}),
        ({"phase": "Running", "conditions": []}, {}),
        ({"phase": "Failed", **container("CrashLoopBackOff", 9)}, {}),  # only a record
    ],
)
def test_each_state_that_waiting_does_not_end(status, found):
    assert stuck.waiting([pod(**status)]) == found


def test_the_scheduler_that_does_not_look_is_named():
    found = pod(phase="Pending", conditions=[])
    found["spec"]["schedulerName"] = "volcano"
    assert stuck.waiting([found]) == {"decode-0: no scheduler volcano has looked at it": 5}
    found["spec"]["nodeName"] = "n1"
    assert stuck.waiting([found]) == {}


def test_a_group_that_restarts_three_times_is_a_crash_loop():
    """The controllers make pods anew each time, so each of them shows one restart; Kthena under other names."""
    seen = set()
    for number, created in enumerate(("12:00:00", "12:01:00", "12:02:00")):
        assert stuck.crash_loops(PLAN, seen) == [], number
        made = pod(created=created, labels={WORKER_INDEX: "0"}, containerStatuses=[{"restartCount": 1}])
        again = stuck.restarted(PLAN, [made, pod("other", created, containerStatuses=[{"restartCount": 1}])])
        assert len(again) == 2
        seen |= again
    assert stuck.crash_loops(PLAN, seen) == ["decode-0: restarted 3 times"], "a role of several instances may more"
