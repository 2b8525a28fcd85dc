# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ModelServer and ModelRoute for kthena-router."""

from __future__ import annotations

import typing as t

from ....module_utils.kubernetes.names import SERVING_ENTRY, SERVING_GROUP, SERVING_NAME, SERVING_ROLE
from ...plan.deployment import Context
from ...plan.service import Service
from .forwarding import entries
from .names import Manifest, manifest


def model_server(context: Context, services: t.Sequence[Service]) -> Manifest:
    """The ModelServer: pods, port, and labels of prefill and decode."""
    router = context.description.kubernetes.router
    selector: Manifest = {"matchLabels": {SERVING_NAME: context.description.deployment, SERVING_ENTRY: "true"}}
    if context.p2p:
        selector["pdGroup"] = {
            "groupKey": SERVING_GROUP,
            "prefillLabels": {SERVING_ROLE: "prefill"},
            "decodeLabels": {SERVING_ROLE: "decode"},
        }
    policy: Manifest = {"timeout": router.timeout}
    if router.retries:
        policy["retry"] = {"attempts": router.retries, "retryInterval": "150ms"}
    spec: Manifest = {
        "inferenceEngine": "vLLM",
        "model": context.served_name,
        "workloadPort": {"port": entries(services)[0].port("api").first, "protocol": "http"},
        "workloadSelector": selector,
        "trafficPolicy": policy,
    }
    if context.p2p:
        spec["kvConnector"] = {"type": "mooncake"}
    return manifest(context, "ModelServer", "router", context.description.deployment, spec=spec)


def model_route(context: Context) -> Manifest:
    """The ModelRoute of the model."""
    name = context.description.deployment
    rules = [{"name": "default", "targetModels": [{"modelServerName": name}]}]
    spec = {"modelName": context.served_name, "rules": rules}
    return manifest(context, "ModelRoute", "router", name, spec=spec)
