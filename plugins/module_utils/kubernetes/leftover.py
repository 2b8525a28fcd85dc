# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods that an unfinished update of a ModelServing has left, and that its controller does not replace; and pods that it has forgotten to make.

Kthena (v1.0.0, ``manageRollingUpdate``) replaces roles only of groups whose own revision is not the target. A group gets the revision of an
update when all its roles have it. Back to the start of an update that did not end, it therefore counts as up to date whatever its roles are of.

It tries a pod that the server refuses once only (``scaleUpRoles``; also main), and with the recovery policy None makes no deleted pod again
(``handleDeletedPod``). It looks again when the specification changes, so the same plan, applied again, does not help.
"""

from __future__ import annotations

from .diagnosis import is_abandoned
from .names import SERVING_HASH, SERVING_REVISION, label
from .readiness import alive, incomplete, is_current, is_ready, kept_pods, pending_serving
from .stuck import waiting
from .workloads import instance_of, role_of

LEFT = 0.25  # of stuck_timeout: the controller replaces within seconds what it means to replace
FORGOTTEN = 0.5  # the same for pods that it makes within seconds, unless it has tried before


def forgotten(plan, pods, refused):
    """``{text: role}`` of a ModelServing's roles that lack pods although the server would accept them; ``refused`` has the roles of which it would not."""
    if not any(item["kind"] == "ModelServing" for item in plan["objects"]):
        return {}
    return {
        f"{role}: its controller makes too few pods": role for role in incomplete(plan, pods) if role not in refused
    }


def reminders(serving):
    """What to apply, one after the other, so that the controller looks at a ModelServing: a second more of grace, in no revision, and it as it was."""
    template = (serving.get("spec") or {}).get("template") or {}
    seconds = template.get("restartGracePeriodSeconds")
    if seconds is None:
        return []
    other = dict(template, restartGracePeriodSeconds=seconds + 1)
    return [dict(serving, spec=dict(serving["spec"], template=other)), serving]


def leftovers(plan, engines, pods):
    """``{pod's name: (pod, reason)}`` of those to be deleted now, from which their controller makes pods of the plan.

    Those that wait for what does not come, which serve nobody, all at once; once the controller calls its update complete also those that serve,
    one instance at a time; and those of a role that the plan does not have.
    """
    serving = next((engines[place] for place in engines if place.startswith("ModelServing/")), None)
    status = (serving or {}).get("status") or {}
    leaving = [pod for pod in pods if pod["metadata"].get("deletionTimestamp") and not is_abandoned(pod)]
    if not serving or leaving or status.get("observedGeneration") != serving["metadata"].get("generation"):
        return {}
    found = _of_others(plan, alive(pods), status.get("updateRevision"))
    helpless = {name: (found[name], ", ".join(_reasons(found[name]))) for name in found if _reasons(found[name])}
    if helpless or pending_serving(serving):
        return helpless
    roles = plan["kubernetes"]["roles"]
    unplanned = {name: (found[name], "its role is not planned") for name in found if role_of(found[name]) not in roles}
    serves = [pod for pod in found.values() if role_of(pod) in roles]
    if unplanned or not serves or not all(is_ready(pod) for pod in alive(pods)):
        return unplanned
    last = max(serves, key=instance_of)
    mine = [pod for pod in serves if (role_of(pod), instance_of(pod)) == (role_of(last), instance_of(last))]
    return {pod["metadata"]["name"]: (pod, "it is of another revision") for pod in mine}


def _of_others(plan, pods, target):
    """Pods of other revisions than the planned one, without those that a partition keeps, which have the lowest numbers."""
    hashes = {
        (role_of(pod), label(pod, SERVING_HASH)) for pod in pods if target and label(pod, SERVING_REVISION) == target
    }
    found, roles = {}, plan["kubernetes"]["roles"]
    for name in sorted({role_of(pod) for pod in pods if label(pod, SERVING_HASH)}):
        mine = sorted((pod for pod in pods if role_of(pod) == name), key=instance_of)
        known = {mark for role, mark in hashes if role == name}
        others = [pod for pod in mine if not is_current(plan, pod) or (known and label(pod, SERVING_HASH) not in known)]
        kept = kept_pods(plan["kubernetes"], roles[name]) if name in roles else 0
        if name not in roles and plan["kubernetes"].get("kept_groups"):
            continue
        found.update((pod["metadata"]["name"], pod) for pod in others if pod not in mine[:kept])
    return found


def _reasons(pod):
    return [] if is_ready(pod) else [key.split(": ", 1)[1] for key in waiting([pod])]
