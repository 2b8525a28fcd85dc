# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods of the planned revision that waiting alone does not help."""

from __future__ import annotations

from .diagnosis import is_abandoned
from .names import SERVING_ROLE, WORKER_INDEX, condition, containers, label, seconds
from .readiness import alive, has_ended, incomplete, is_current, is_ready, planned_pods
from .workloads import role_of

PULLING = ("ErrImagePull", "ImagePullBackOff")  # in turn, with each attempt
STOPPED = (
    *PULLING,
    "ErrImageNeverPull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
)
CRASHES = 3  # restarts; fewer may be a start that lost a race for a port
RECENT = 600  # seconds before the newest pod of the role; records of earlier evictions say nothing about this wait
SLOW = 5  # times the timeout: other pods may still be leaving their nodes, and volumes take their time
UNSCHEDULABLE = "Unschedulable"
UNMADE = 2  # times the timeout: a controller makes pods within seconds


def stuck(plan, pods):
    """``{"POD: REASON": factor}``: how many times ``stuck_timeout`` a pod may be in this state."""
    found, lacking = waiting(pods, lambda pod: is_current(plan, pod)), incomplete(plan, pods)
    for pod in pods:  # one with a fixed name is made again when the old one is gone
        if pod["metadata"].get("deletionTimestamp") and is_abandoned(pod) and role_of(pod) in lacking:
            found["{}: its node does not report, and it stays".format(pod["metadata"]["name"])] = SLOW
    for name in plan["kubernetes"]["roles"]:
        if planned_pods(plan, name) and not any(role_of(pod) == name for pod in pods):
            found[f"{name}: its controller makes no pods"] = UNMADE
        mine = [pod for pod in pods if role_of(pod) == name and is_current(plan, pod)]
        newest = max([_created(pod) for pod in mine] or [0])
        ended = [pod for pod in mine if has_ended(pod) and _created(pod) > newest - RECENT]
        if len(ended) >= CRASHES:
            reasons = sorted({str(pod["status"].get("reason") or pod["status"]["phase"]) for pod in ended})
            found["{}: pods end again and again ({})".format(name, ", ".join(reasons))] = 1
    return found


def waiting(pods, is_meant=lambda pod: True):
    """The same for any pods, without regard to those that have ended. Those that finish their requests hold devices and ports of new ones."""
    passing = UNSCHEDULABLE if leaving(pods) else ""
    return {
        "{}: {}".format(pod["metadata"]["name"], reason): factor
        for pod in alive(pods)
        for reason, factor in _reasons(pod)
        if is_meant(pod) and reason != passing
    }


def leaving(pods):
    """Pods that end, on nodes that report."""
    return [pod for pod in pods if pod["metadata"].get("deletionTimestamp") and not is_abandoned(pod)]


RESTARTED = "restarted and is made again, as "


def restarted(plan, pods):
    """``{"POD OR ROLE: restarted and is made again, as UID"}`` of pods that no controller lets restart several times.

    That of LeaderWorkerSets makes all pods of a group again when a container of one of them restarts, and Kthena a pod that is not ready by
    the end of restartGracePeriodSeconds, under a number that may change.
    """
    found = set()
    for pod in pods:
        is_restarted = any(item.get("restartCount") for item in containers(pod))
        name = pod["metadata"]["name"] if label(pod, WORKER_INDEX) else label(pod, SERVING_ROLE) * (not is_ready(pod))
        if is_restarted and name and is_current(plan, pod):
            found.add("{}: {}{}".format(name, RESTARTED, pod["metadata"]["uid"]))
    return found


def crash_loops(plan, seen):
    """Pods or roles that restarted too often, from all that ``restarted`` has returned; of a role each instance may once."""
    names, roles = [key.split(":", 1)[0] for key in seen if RESTARTED in key], plan["kubernetes"]["roles"]
    least = {name: CRASHES - 1 + (planned_pods(plan, name) if name in roles else 1) for name in set(names)}
    return [
        f"{name}: restarted {names.count(name)} times" for name in sorted(least) if names.count(name) >= least[name]
    ]


def _reasons(pod):
    status = pod.get("status") or {}
    if status.get("phase") == "Pending" and not status.get("conditions") and not pod["spec"].get("nodeName"):
        yield "no scheduler {}".format(pod["spec"].get("schedulerName", "")).rstrip() + " has looked at it", SLOW
    if condition(pod, "PodScheduled").get("reason") == UNSCHEDULABLE:
        yield UNSCHEDULABLE, SLOW
    if condition(pod, "PodReadyToStartContainers").get("status") == "False":
        yield "no volumes or no network, see its events", SLOW
    for container in containers(pod, init=True):
        reason = ((container.get("state") or {}).get("waiting") or {}).get("reason")
        crashes = reason == "CrashLoopBackOff" and container.get("restartCount", 0) >= CRASHES
        if reason in STOPPED or crashes:
            yield PULLING[-1] if reason in PULLING else reason, 1


def _created(pod):
    return seconds(pod["metadata"].get("creationTimestamp") or "1970-01-01T00:00:00Z")
