# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods of the planned revision that waiting alone does not help."""

from __future__ import annotations

from .readiness import alive, is_current

STOPPED = (
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
)
CRASHES = 3  # restarts; fewer may be a start that lost a race for a port
SCHEDULING = 5  # times the patience: other pods may still be leaving their nodes


def stuck(plan, pods):
    """``{"POD: REASON": factor}``: how many times ``stuck_timeout`` a pod may be in this state."""
    found = {}
    for pod in alive(pods):
        if is_current(plan, pod):
            for reason, factor in _reasons(pod.get("status") or {}):
                found["{}: {}".format(pod["metadata"]["name"], reason)] = factor
    return found


def _reasons(status):
    for condition in status.get("conditions") or []:
        is_late = condition.get("type") == "PodScheduled" and condition.get("status") == "False"
        if is_late and condition.get("reason") == "Unschedulable":
            yield "Unschedulable", SCHEDULING
    for container in (status.get("initContainerStatuses") or []) + (status.get("containerStatuses") or []):
        reason = ((container.get("state") or {}).get("waiting") or {}).get("reason")
        crashes = reason == "CrashLoopBackOff" and container.get("restartCount", 0) >= CRASHES
        if reason in STOPPED or crashes:
            yield reason, 1
