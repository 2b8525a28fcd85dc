# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Diagnosis of a deployment that does not become ready: status, pods, waiting reasons, events."""

from __future__ import annotations

from .names import condition, containers, natural
from .readiness import has_ended, is_ready, pending_engines, pending_pods

NO_PODS = (
    "The controller has created no pods. It reports no event if a pod's template is refused; check its log:",
    "  kubectl -n kthena-system logs deploy/kthena-controller-manager --since 1h",
)
MOST_ENDED = 5  # pods that are shown
BETWEEN = ("PodGroup", "ReplicaSet", "StatefulSet")  # what controllers make for pods


def diagnosis(plan, engines, pods, events):
    """Several lines: what is pending, the state of each pod that is not ready, and the last warnings about them."""
    kubernetes = plan["kubernetes"]
    lines = ["The engines of {}/{} did not become ready.".format(kubernetes["namespace"], kubernetes["name"])]
    lines += ["  " + item for item in pending_engines(engines) + pending_pods(plan, pods)]
    lines += NO_PODS if not pods and any(place.startswith("ModelServing/") for place in engines) else ()
    names = {place.split("/")[1] for place in engines}
    return "\n".join(lines + states(pods, events, names, kubernetes["name"]))


def states(pods, events, names, prefix):
    """Lines: the state of each pod that is not ready, and the last warnings about pods and what makes them.

    That are objects with one of the ``names``, and those whose names begin with ``prefix``.
    """
    lines, shown = (
        [],
        [pod for pod in pods if not has_ended(pod)] + [pod for pod in pods if has_ended(pod)][-MOST_ENDED:],
    )
    for pod in sorted(shown, key=lambda item: natural(item["metadata"]["name"])):
        if not is_ready(pod) or pod["metadata"].get("deletionTimestamp"):
            lines.append("  pod {}: {}".format(pod["metadata"]["name"], state_of(pod)))
    names = {pod["metadata"]["name"] for pod in pods} | set(names)
    warnings = [item for item in events if item.get("type") != "Normal" and _concerns(item, names, prefix)]
    for item in sorted(warnings, key=_last_seen)[-10:]:
        about = item.get("involvedObject", {})
        lines.append(
            "  event {}/{}: {}: {}".format(
                about.get("kind"), about.get("name"), item.get("reason"), item.get("message")
            )
        )
    return lines


def failed_containers(pods):
    """``(pod, container, whether it ended)`` of containers that ended, or that run and are not ready."""
    for pod in sorted(pods, key=lambda item: natural(item["metadata"]["name"])):
        for container in containers(pod):
            state = container.get("state") or {}
            ended = "terminated" in state or "terminated" in (container.get("lastState") or {})
            if ended or ("running" in state and not container.get("ready")):
                restarted = ended and "terminated" not in state
                yield pod["metadata"]["name"], container["name"], restarted


def _last_seen(event):
    series = event.get("series") or {}
    return str(series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or "")


def _concerns(event, names, name):
    about = event.get("involvedObject", {})
    is_between = about.get("kind") in BETWEEN and str(about.get("name", "")).startswith(name + "-")
    return about.get("name") in names or is_between


def state_of(pod):
    """A pod's phase, and what keeps it from running or from being ready."""
    status = pod.get("status") or {}
    found = [str(status.get("phase", "unknown"))]
    if status.get("reason"):
        found.append("{}: {}".format(status["reason"], status.get("message", "")))
    if pod["metadata"].get("deletionTimestamp"):
        found.append("terminating")
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        found.append("{}: {}".format(scheduled.get("reason"), scheduled.get("message")))
    for container in containers(pod, init=True):
        found += _container(container)
    if is_abandoned(pod):
        node = pod["spec"].get("nodeName", "")
        found.append(f"its node does not report: kubectl describe node {node}".rstrip())
        if pod["metadata"].get("deletionTimestamp"):
            found.append(f"it stays until the node is back, or gone: kubectl delete node {node}")
    return ", ".join(found)


def is_abandoned(pod):
    """Whether the node controller alone says that a pod is not ready: the last report of its node stays as it was."""
    ready = condition(pod, "Ready")
    is_taken_back = bool(ready) and not is_ready(pod) and not ready.get("reason")
    return is_taken_back and all(item.get("ready") for item in containers(pod) or [{}])


def _container(status):
    state, name, found = status.get("state") or {}, status["name"], []
    waiting = state.get("waiting")
    ended = state.get("terminated") or (status.get("lastState") or {}).get("terminated")
    if waiting:
        found.append("{} waits: {} {}".format(name, waiting.get("reason"), waiting.get("message", "")).rstrip())
    if ended:
        found.append("{} exited with {} ({})".format(name, ended.get("exitCode"), ended.get("reason")))
    if not waiting and not ended and not status.get("ready"):
        found.append(f"{name} runs but is not ready (its readiness probe fails)")
    return found
