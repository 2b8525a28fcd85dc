# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels, annotations and placeholders that the planner writes and the modules read."""

from __future__ import annotations

import calendar
import re
import time

MANAGER = "ascend.inference"
ENGINE = "vllm-ascend"
NAME = "app.kubernetes.io/name"
VERSION = "app.kubernetes.io/version"
PART_OF = "app.kubernetes.io/part-of"
MANAGED_BY = "app.kubernetes.io/managed-by"
COMPONENT = "app.kubernetes.io/component"
PLAN_DIGEST = "ascend.inference/plan-sha256"
SERVING_NAME = "modelserving.volcano.sh/name"
SERVING_ROLE = "modelserving.volcano.sh/role"
SERVING_GROUP = "modelserving.volcano.sh/group-name"
SERVING_ROLE_ID = "modelserving.volcano.sh/role-id"
SERVING_REVISION = "modelserving.volcano.sh/revision"  # of all roles, when the pod was made
SERVING_HASH = "modelserving.volcano.sh/role-template-hash"
SERVING_ENTRY = "modelserving.volcano.sh/entry"
GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
POD_PREFIX = "pod:"  # host names of an inventory contain no colon


def is_pod(host):
    """Whether a service's host is a pod."""
    return host.startswith(POD_PREFIX)


def address_of(pod):
    """The placeholder of a pod's address in the plan."""
    return f"{pod}.pod"


def own_labels(deployment):
    """The labels by which everything that belongs to a deployment is found."""
    return {MANAGED_BY: MANAGER, PART_OF: deployment}


def common_labels(deployment, component, release):
    """All labels of an object or a pod of a deployment: these, and what other tools show (kubernetes.io, "Recommended Labels").

    Without ``app.kubernetes.io/instance``: Argo CD before 3.0 takes everything for its own that has the name of an Application there, and prunes it.
    """
    version = re.sub(r"[^A-Za-z0-9._-]", "-", release)[:63].strip("-._")  # the name of an own release may have a plus
    return dict({NAME: ENGINE, VERSION: version, COMPONENT: component}, **own_labels(deployment))


def label(thing, name):
    """An object's label, empty if it has none of this name."""
    return str((thing["metadata"].get("labels") or {}).get(name, ""))


def condition(thing, kind):
    """An object's condition of this type; empty if it has none."""
    found = (thing.get("status") or {}).get("conditions") or []
    return next((item for item in found if item.get("type") == kind), {})


def containers(pod, init=False):
    """The states of a pod's containers; with ``init`` also of those that run before them."""
    status = pod.get("status") or {}
    found = status.get("containerStatuses") or []
    return (status.get("initContainerStatuses") or []) + found if init else found


def address(thing):
    """``KIND/NAME``."""
    return "{}/{}".format(thing["kind"], thing["metadata"]["name"])


def digest_of(thing):
    """The digest of the plan that an object of engines was applied with; empty if it has none, or is not there."""
    return str((((thing or {}).get("metadata") or {}).get("annotations") or {}).get(PLAN_DIGEST, ""))


def seconds(stamp):
    """A time of the server as seconds since 1970."""
    return float(calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")))


def natural(name):
    """Sort key that puts node2 before node10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]
