# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engines without Kthena: a Deployment for a role, or a LeaderWorkerSet if an instance has several pods."""

from __future__ import annotations

import typing as t

from ...plan.deployment import Context
from ...plan.service import Service
from .deployment import ONE_BY_ONE
from .model_serving import roles
from .names import Manifest, labels, manifest, object_name


def workloads(context: Context, services: t.Sequence[Service]) -> list[Manifest]:
    """One object for each role, from the same templates as the ModelServing."""
    return [_workload(context, role) for role in roles(context, services) if "entryTemplate" in role]


def _workload(context: Context, role: Manifest) -> Manifest:
    part = role["name"]
    if not role["workerReplicas"]:
        spec = {
            "replicas": role["replicas"],
            "selector": {"matchLabels": labels(context, part)},
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
