# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cluster shows of a deployment, as plain data."""

from __future__ import annotations

from .addresses import resolved
from .capacity import crd_version, volcano_version
from .diagnosis import diagnosis, state_of
from .logs import logs
from .names import natural
from .ownership import is_managed
from .readiness import is_ready, pending_engines, pending_pods
from .state import SERVING_CRD, VOLCANO_CRD, State, engines_of, pods_of, warnings_of
from .status import status
from .workloads import role_of, scaled


def brief(cluster, plan, logs_since=None):
    """The resolved plan and the pods only, with their logs since a time if they are asked for."""
    name, plan = plan["kubernetes"]["router"]["service"], scaled(plan, engines_of(cluster, plan))
    pods, service = pods_of(cluster, plan), cluster.get("Service", name) if name else None
    found = {"resolved_plan": resolved(plan, pods, service), "pods": [_pod(item) for item in pods]}
    return dict(found, **({"logs": logs(cluster, plan, logs_since)} if logs_since is not None else {}))


def info(cluster, plan, with_status=False, logs_since=None):
    """The module's result: the resolved plan, the objects, the pods, and what is missing.

    With the state of each service, and with their logs since a time, if these are asked for.
    """
    state, engines = State(cluster, plan), engines_of(cluster, plan)
    plan, pods = scaled(plan, engines), pods_of(cluster, plan)
    missing = pending_engines(engines) + pending_pods(plan, pods)
    kthena, volcano = state.crds.get(SERVING_CRD), state.crds[VOLCANO_CRD]
    service = state.live.get("Service/{}".format(plan["kubernetes"]["router"]["service"]))
    resource, found = plan["kubernetes"]["resource"], resolved(plan, pods, service)
    if with_status:
        state.count_devices(cluster, resource)
    return {
        **(status(cluster, plan, found, state.running, engines) if with_status else {}),
        **({"devices_held": state.taken} if with_status else {}),
        **({"logs": logs(cluster, plan, logs_since)} if logs_since is not None else {}),
        "resolved_plan": found,
        "kthena_version": crd_version(kthena) if kthena else "",
        "volcano_version": volcano_version(volcano) if volcano else "",
        "namespace_exists": not state.is_namespace_missing,
        "nodes": {
            node["metadata"]["name"]: str((node.get("status") or {}).get("allocatable", {}).get(resource, 0))
            for node in state.nodes
        },
        "objects": sorted(place for place in state.live if is_managed(plan, state.live[place])),
        "pods": [_pod(item) for item in sorted(pods, key=lambda item: natural(item["metadata"]["name"]))],
        "ready": not missing,
        "missing": missing,
        "diagnosis": diagnosis(plan, engines, pods, warnings_of(cluster)) if missing else "",
        "hidden": sorted(state.hidden),
    }


def _pod(pod):
    return {
        "name": pod["metadata"]["name"],
        "role": role_of(pod),
        "address": (pod.get("status") or {}).get("podIP", ""),
        "node": pod["spec"].get("nodeName", ""),
        "ready": is_ready(pod),
        "state": state_of(pod),
    }
