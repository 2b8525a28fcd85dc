# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the topology: which pools make a service."""

from __future__ import annotations

import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils._rules._base import Case, Found, Rule


def pools(case: Case) -> t.Iterator[Found]:
    """Prefill and decode come together; something has to serve."""
    words = case.context.description.pools
    if words.prefill and not words.decode:
        yield Found("inference_pools", message="there is a prefill pool but no decode pool")
    if words.decode and not words.prefill:
        yield Found("inference_pools", message="there is a decode pool but no prefill pool")
    if not words.prefill and not words.decode and not words.colocated:
        yield Found("inference_pools", message="there is no pool that answers requests")


def device_overlap(case: Case) -> t.Iterator[Found]:
    """A device that two services of a host want."""
    owner: dict[tuple[str, int], str] = {}
    for service in case.services:
        for device in service.devices:
            other = owner.setdefault((service.host, device), service.name)
            if other != service.name:
                yield Found(f"{service.host}.{service.name}.devices", device, f"{other} already has this device")


def devices_exist(case: Case) -> t.Iterator[Found]:
    """A device that the host does not have."""
    for service in case.services:
        host = case.context.hosts[service.host]
        missing = [one for one in service.devices if one not in host.devices]
        if missing:
            yield Found(f"{service.host}.{service.name}.devices", missing, f"the host has devices {list(host.devices)}")


RULES = (
    Rule(
        "TOPO-POOLS",
        "error",
        "A service needs prefill and decode pools, or a colocated one.",
        "Describe the missing pool in inference_pools.",
        "design of prefill/decode disaggregation",
        pools,
    ),
    Rule(
        "DEV-OVERLAP",
        "error",
        "A device belongs to one service.",
        "Give the pools different devices, or leave them to the planner.",
        "vllm-ascend #4725",
        device_overlap,
    ),
    Rule(
        "DEV-MISSING",
        "error",
        "A planned device exists on its host.",
        "Correct inference_devices of the host or the pool's devices.",
        "vllm-ascend issues on invalid device ids",
        devices_exist,
    ),
)
