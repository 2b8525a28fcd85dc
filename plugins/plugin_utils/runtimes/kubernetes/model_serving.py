# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engines: a ModelServing with a role for each pool, or without Kthena a Deployment or LeaderWorkerSet for each role.

An instance has one entry pod, and workers if it spans nodes.
"""

from __future__ import annotations

import typing as t

from ...description.values import merged
from ...plan.deployment import Context
from ...plan.service import Service
from .config_map import template_of
from .deployment import ONE_BY_ONE
from .names import Manifest, chosen, manifest, object_name
from .pod import engine_template


def model_serving(context: Context, services: t.Sequence[Service]) -> Manifest:
    """The ModelServing of the deployment, with the fields of the cluster's Kthena version."""
    settings = context.description.kubernetes
    spec: Manifest = {
        "replicas": settings.groups,
        "schedulerName": settings.scheduler_name,
        "recoveryPolicy": settings.recovery_policy,
        "rolloutStrategy": {"type": settings.rollout_type},
        "template": {
            "restartGracePeriodSeconds": settings.restart_grace_period,
            "roles": roles(context, services),
        },
    }
    if settings.scheduler_name == "volcano" and any(role["workerReplicas"] for role in spec["template"]["roles"]):
        # One pair serves. Without it Kthena starts no pod until there is room for all instances, each over several nodes.
        least = {role["name"]: 1 for role in spec["template"]["roles"]}
        spec["template"]["gangPolicy"] = {"minRoleReplicas": least}
    if settings.partition and settings.rollout_type == "ServingGroupRollingUpdate":
        spec["rolloutStrategy"]["rollingUpdateConfiguration"] = {"maxUnavailable": 1, "partition": settings.partition}
    spec = merged(spec, settings.serving)
    return manifest(context, "ModelServing", "engines", context.description.deployment, spec=spec)


def roles(context: Context, services: t.Sequence[Service]) -> list[Manifest]:
    """The roles: replicas, and the templates of entry and workers."""
    return [_role(context, services, name) for name in context.description.pools.present()]


def _role(context: Context, services: t.Sequence[Service], name: str) -> Manifest:
    settings = context.description.kubernetes
    pods = template_of(services, name)
    pool = context.description.pools.present()[name]
    role: Manifest = {
        "name": name,
        "replicas": pool.instances // settings.groups,
        "workerReplicas": max(0, len(pods) - 1),
    }
    if settings.rollout_type == "RoleRollingUpdate" and settings.kthena_version != "v0.4.0":
        role["maxUnavailable"] = 1  # without it v1.0.0 replaces all replicas of a changed role at once
    if settings.rollout_type == "RoleRollingUpdate" and settings.partition:
        role["partition"] = settings.partition
    if pods:
        role["entryTemplate"] = engine_template(context, services, pods[0])
    if len(pods) > 1:
        role["workerTemplate"] = _workers(context, services, pods)
    return role


def _workers(context: Context, services: t.Sequence[Service], pods: t.Sequence[Service]) -> Manifest:
    """The template of all workers: it mounts the scripts of all workers, and each worker runs the one with its number."""
    templates = [engine_template(context, services, pod) for pod in pods[1:]]
    first = templates[0]
    container = first["spec"]["containers"][0]
    mounts = {
        volumemount["mountPath"]: volumemount
        for each in templates
        for volumemount in each["spec"]["containers"][0]["volumeMounts"]
    }
    container["volumeMounts"] = list(mounts.values())
    script = container["args"][1].replace("-1.sh", "-${WORKER_INDEX}.sh")
    if context.description.kubernetes.is_native:
        script = f"export ENTRY_ADDRESS=${{LWS_LEADER_ADDRESS}} WORKER_INDEX=${{LWS_WORKER_INDEX}} && {script}"
    container["args"] = [container["args"][0], script]
    return first


def workloads(context: Context, services: t.Sequence[Service]) -> list[Manifest]:
    """One object for each role, from the same templates as the ModelServing."""
    return [_workload(context, role) for role in roles(context, services) if "entryTemplate" in role]


def _workload(context: Context, role: Manifest) -> Manifest:
    part = role["name"]
    if not role["workerReplicas"]:
        spec = {
            "replicas": role["replicas"],
            "selector": {"matchLabels": chosen(context, part)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": dict(ONE_BY_ONE)},
            "template": role["entryTemplate"],
        }
        return manifest(context, "Deployment", part, spec=spec)
    spec = {
        "replicas": role["replicas"],
        "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": dict(ONE_BY_ONE)},
        "leaderWorkerTemplate": {
            "size": role["workerReplicas"] + 1,
            "restartPolicy": "RecreateGroupOnPodRestart",  # the ranks of an instance start together
            "leaderTemplate": role["entryTemplate"],
            "workerTemplate": role["workerTemplate"],
        },
    }
    # Its controller makes a headless Service of its name for all pods; ours of the role has only those that are ready.
    return manifest(context, "LeaderWorkerSet", part, f"{object_name(context, part)}-nodes", spec=spec)
