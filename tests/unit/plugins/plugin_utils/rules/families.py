# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Valid deployments, one of each family, on top of which the tests make single mistakes."""

from __future__ import annotations

import copy
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils.releases.matrix import ROWS

NEWEST = ROWS[-2][0]  # the last row is the development branch


def hosts(number: int, groups: t.Mapping[str, t.Collection[int]], **words: t.Any) -> dict[str, dict[str, t.Any]]:
    """Hosts node1, node2, ... with addresses of their own; ``groups`` says which numbers are in which group."""
    return {
        f"node{index}": {
            "groups": sorted(group for group, members in groups.items() if index in members),
            "variables": {"ansible_host": f"10.1.0.{index}", "inference_interface": "enp1s0", **words},
        }
        for index in range(1, number + 1)
    }


COMMON = {"max-model-len": 32768, "seed": 1024, "trust-remote-code": True, "quantization": "ascend"}
PREFILL = {
    "data_parallel_size": 2,
    "tensor_parallel_size": 8,
    "args": {"max-num-seqs": 8, "max-num-batched-tokens": 16384, "enforce-eager": True},
}
DECODE = {
    "data_parallel_size": 32,
    "tensor_parallel_size": 1,
    "args": {
        "max-num-seqs": 28,
        "max-num-batched-tokens": 64,
        "additional-config": {"recompute_scheduler_enable": True},
    },
}


IMAGE = "registry.example/vllm-ascend@sha256:" + 64 * "0"
# Everything between clients and engines: TLS and keys, HAProxy, two routers.
ENTRY = {"frontend": "haproxy", "certificate": "/c", "certificate_key": "/k", "instances": 2, "balancer": "haproxy"}


def _apart(release: str, transfer: str, **words: t.Any) -> dict[str, t.Any]:
    return {
        "inference_release": release,
        "inference_model": {"path": "/models/qwen-moe-w8a8", "name": "qwen"},
        "inference_kv_transfer": transfer,
        "inference_hardware": "a3",
        "inference_args": dict(COMMON),
        "inference_pools": {"prefill": {"instances": 2, **copy.deepcopy(PREFILL)}, "decode": copy.deepcopy(DECODE)},
        **words,
    }


APART = {"prefill": (1, 2), "decode": (3, 4)}
SMALL = {"instances": 2, "tensor_parallel_size": 4, "args": {"max-num-seqs": 16}}

FAMILIES: dict[str, tuple[dict[str, t.Any], dict[str, t.Any]]] = {
    "p2p": (_apart("0.23.0", "mooncake"), hosts(4, APART)),
    "newest": (
        _apart(NEWEST, "mooncake", inference_engine_install="site", inference_rules_ignore=["RELEASE-CANDIDATE"]),
        hosts(4, APART),
    ),
    "p2p-0.18": (_apart("0.18.0", "mooncake"), hosts(4, APART)),
    "p2p-0.13": (_apart("0.13.0", "mooncake"), hosts(4, APART)),
    "p2p-0.11": (_apart("0.11.0", "mooncake"), hosts(4, APART)),
    "both": (_apart("0.23.0", "mooncake+store", inference_store={"segment_size": "4GB"}), hosts(4, APART)),
    "ha": (
        _apart("0.23.0", "mooncake+store", inference_store={"segment_size": "4GB", "ha": {"oplog": False}}),
        hosts(4, APART),
    ),
    "both-0.18": (_apart("0.18.0", "mooncake+store", inference_store={"segment_size": "4GB"}), hosts(4, APART)),
    "layerwise": (_apart("0.23.0", "mooncake_layerwise"), hosts(4, APART)),
    "layerwise-0.11": (_apart("0.11.0", "mooncake_layerwise"), hosts(4, APART)),
    "docker": (
        _apart("0.23.0", "mooncake", inference_runtime="docker", inference_image=IMAGE),
        hosts(4, APART),
    ),
    "llmdatadist": (
        {
            "inference_release": "0.9.1",
            "inference_model": {"path": "/models/qwen-moe", "name": "qwen"},
            "inference_hardware": "a2",
            "inference_kv_transfer": "llmdatadist",
            "inference_pools": {"prefill": {"tensor_parallel_size": 8}, "decode": {"tensor_parallel_size": 8}},
        },
        hosts(2, {"prefill": (1,), "decode": (2,)}),
    ),
    "pooled": (
        {
            "inference_release": "0.23.0",
            "inference_model": {"path": "/models/qwen", "name": "qwen"},
            "inference_hardware": "a2",
            "inference_kv_transfer": "store",
            "inference_store": {"segment_size": "8GB"},
            "inference_pools": {"colocated": copy.deepcopy(SMALL)},
        },
        hosts(2, {"colocated": (1, 2)}),
    ),
    "one-host": (
        {
            "inference_release": "0.23.0",
            "inference_model": {"path": "/models/qwen", "name": "qwen"},
            "inference_hardware": "a3",
            "inference_kv_transfer": "mooncake+store",
            "inference_pools": {"prefill": copy.deepcopy(SMALL), "decode": copy.deepcopy(SMALL)},
        },
        hosts(1, {"prefill": (1,), "decode": (1,)}),
    ),
    "cpu": (
        {
            "inference_engine": "vllm_cpu",
            "inference_runtime": "supervisor",
            "inference_root": "/tmp/ascend",
            "inference_model": {"path": "/models/tiny", "name": "tiny"},
            "inference_kv_transfer": "mooncake+store",
            "inference_args": {"max-model-len": 1024},
            "inference_pools": {"prefill": {}, "decode": {}},
        },
        hosts(1, {"prefill": (1,), "decode": (1,)}),
    ),
    "kubernetes": (
        {
            "inference_runtime": "kubernetes",
            "inference_deployment": "demo",
            "inference_release": "0.13.0",
            "inference_hardware": "a3",
            "inference_interface": "eth0",
            "inference_model": {"path": "/models/moe", "name": "moe"},
            "inference_pools": {
                "prefill": {"data_parallel_size": 2, "tensor_parallel_size": 2},
                "decode": {"data_parallel_size": 4},
            },
            "inference_kubernetes": {"namespace": "serving"},
            "inference_image": IMAGE,
        },
        {},
    ),
}


# Families whose release has published advisories.
OLD = ("p2p-0.13", "p2p-0.11", "layerwise-0.11", "llmdatadist", "kubernetes")


def without_advisories(name: str, findings: t.Iterable[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    """The findings without the advisories of the family's old release."""
    return [finding for finding in findings if finding["id"] != "ADVISORY" or name not in OLD]


def family(name: str, changes: t.Mapping[str, t.Any]) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
    """A family's words and inventory with some words changed.

    A change is a dotted path and the new value; a path that begins with a host's name changes that host's own word,
    ``node1.groups`` its groups, and ``inventory`` the whole inventory.
    """
    words, inventory = copy.deepcopy(FAMILIES[name])
    for path, value in copy.deepcopy(dict(changes)).items():
        if path == "inventory":
            inventory = value
            continue
        first, *rest = path.split(".", 1 if path.startswith("node") else -1)
        if first in inventory:
            at = inventory[first] if rest == ["groups"] else inventory[first]["variables"]
            at[rest[0]] = value
            continue
        at = words
        for key in [first, *rest][:-1]:
            at = at.setdefault(key, {})
        at[[first, *rest][-1]] = value
    return words, inventory
