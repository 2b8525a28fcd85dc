# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads results of ``kubernetes.core.k8s``, for one or several objects per call."""

from __future__ import annotations

import json
import re
import typing as t

Record = t.Mapping[str, t.Any]


def names(manifests: t.Sequence[Record]) -> str:
    """``ConfigMap/demo-cm, ModelServing/demo``."""
    return ", ".join(f"{manifest['kind']}/{manifest['metadata']['name']}" for manifest in manifests)


def applied(registered: Record, kind: str) -> list[t.Any]:
    """The objects of a kind as the server returned them, from the registered result of a loop over batches."""
    found = []
    for call in registered.get("results", []):
        result = call.get("result") or {}
        several = [item.get("result") for item in result["results"]] if "results" in result else [result]
        found += [item for item in several if item and item.get("kind") == kind]
    return found


def pending_rollout(deployments: t.Sequence[Record]) -> list[str]:
    """Pending parts of a Deployment's rollout (a list of one or none): unseen by its controller, or numbers of pods."""
    if not deployments:
        return ["unseen"]
    one = deployments[0]
    status, wanted = one.get("status") or {}, one["spec"].get("replicas", 1)
    if status.get("observedGeneration", 0) < one["metadata"].get("generation", 1):
        return ["unseen"]
    keys = ("updatedReplicas", "availableReplicas", "replicas")
    return [f"{key} is {status.get(key, 0)} of {wanted}" for key in keys if status.get(key, 0) != wanted]


def api_message(message: str) -> str:
    """The API server's message from the module's message, which contains the response as JSON; else the message itself."""
    found = re.search(r'"message": ?("(?:[^"\\]|\\.)*")', message)
    return str(json.loads(found.group(1))) if found else message
