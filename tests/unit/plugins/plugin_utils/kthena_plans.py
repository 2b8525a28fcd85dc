# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A deployment on Kubernetes in words, for several tests."""

from __future__ import annotations

import copy

from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan

WORDS = {
    "inference_runtime": "kubernetes",
    "inference_deployment": "demo",
    "inference_release": "0.13.0",
    "inference_hardware": "a3",
    "inference_interface": "eth7",
    "inference_model": {"path": "/data/models/tiny", "name": "tiny"},
    "inference_pools": {
        "prefill": {"data_parallel_size": 2, "tensor_parallel_size": 2, "ports": {"api": 7200}},
        "decode": {"data_parallel_size": 4, "tensor_parallel_size": 1, "ports": {"api": 7300}},
    },
    "inference_kubernetes": {
        "namespace": "serving",
        "resource": "example.com/npu",
        "requests": {"cpu": 4, "memory": "10Gi"},
        "limits": {"cpu": "8", "memory": "20Gi"},
    },
}


def words(**changes):
    """The words with changes; a double underscore goes one level down: ``kubernetes__namespace``."""
    result = copy.deepcopy(WORDS)
    for key, value in changes.items():
        target, *path = f"inference_{key}".split("__")
        owner = result
        for step in path:
            owner = owner.setdefault(target, {})
            target = step
        owner[target] = value
    return result


def plan(**changes):
    """The plan of these words, without an inventory."""
    return launch_plan(words(**changes), {})


def objects(planned, kind):
    """The plan's objects of a kind."""
    return [item for item in planned["objects"] if item["kind"] == kind]


def roles(planned):
    """The roles of the ModelServing by name."""
    return {role["name"]: role for role in objects(planned, "ModelServing")[0]["spec"]["template"]["roles"]}
