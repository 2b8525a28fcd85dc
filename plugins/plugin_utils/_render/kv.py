# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``--kv-transfer-config`` of every connector, from the topology; both roles' sizes are told to both sides."""

from __future__ import annotations

import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils._context import Context
from ansible_collections.ascend.inference.plugins.plugin_utils._placement import Instance

ROLE = {"prefill": "kv_producer", "decode": "kv_consumer", "colocated": "kv_both", "encode": "kv_both"}
ASCEND_NAMES = {
    "mooncake": "MooncakeConnectorV1",
    "mooncake_hybrid": "MooncakeHybridConnector",
    "mooncake_layerwise": "MooncakeLayerwiseConnector",
    "llmdatadist": "LLMDataDistCMgrConnector",
    "store": "AscendStoreConnector",
}
CPU_NAMES = {"mooncake": "MooncakeSerialConnector", "store": "MooncakeStoreConnector"}


def connector_name(context: Context, word: str) -> str:
    """The connector's registered name in this release (rules.md K1)."""
    if context.description.engine == "vllm_cpu":
        return CPU_NAMES.get(word, word)
    name = ASCEND_NAMES.get(word, word)
    if name == "AscendStoreConnector" and name not in context.release.connectors:
        return "MooncakeConnectorStoreV1"
    return name


def kv_transfer_config(context: Context, instance: Instance) -> dict[str, t.Any] | None:
    """The configuration of one instance, or None where nothing is carried."""
    children = [_child(context, instance, word) for word in context.transfer]
    if not children:
        return None
    if len(children) == 1:
        return {**children[0], **instance.pool.kv}
    return {
        "kv_connector": "MultiConnector",
        "kv_role": ROLE[instance.kind],
        "kv_connector_extra_config": {"connectors": children},
        **instance.pool.kv,
    }


def _child(context: Context, instance: Instance, word: str) -> dict[str, t.Any]:
    config: dict[str, t.Any] = {"kv_connector": connector_name(context, word), "kv_role": ROLE[instance.kind]}
    if word == "store":
        config["kv_connector_extra_config"] = {"lookup_rpc_port": str(_lookup_number(context, instance))}
        return config
    if context.description.engine == "vllm_cpu":
        return config
    config["kv_port"] = str(context.ports[instance.name].kv)
    config["kv_connector_extra_config"] = _sizes(context)
    return config


def _sizes(context: Context) -> dict[str, t.Any]:
    sizes = {}
    for role in ("prefill", "decode"):
        pool = getattr(context.description.pools, role)
        if pool:
            sizes[role] = {"dp_size": pool.data_parallel_size, "tp_size": pool.tensor_parallel_size}
            if pool.pipeline_parallel_size > 1:
                sizes[role]["pp_size"] = pool.pipeline_parallel_size
    return sizes


def _lookup_number(context: Context, instance: Instance) -> int:
    """Not a TCP port but the name of a socket file, unique on the host (rules.md §1.1)."""
    order = ("prefill", "decode", "colocated", "encode").index(instance.kind)
    return order * 100 + instance.slot
