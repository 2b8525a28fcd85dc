# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports: where each range begins, so that no two meet, whatever is added later.

Every pool owns a span of each range, and an instance's place in the span follows from its slot on the host: adding an
instance never moves another's ports. The pools that engines bind at random (AscendDirect, transfer engine, store
clients; Mooncake's sources, see the rules page) are kept clear.
"""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.ascend.inference.plugins.plugin_utils._placement import Instance, Process
from ansible_collections.ascend.inference.plugins.plugin_utils._releases import Release

ORDER = {"prefill": 0, "decode": 1, "colocated": 2, "encode": 3}
API_BASE, API_SPAN, API_STEP = 7100, 200, 16
DP_RPC_BASE, DP_RPC_SPAN = 10500, 100
BOOTSTRAP_BASE, BOOTSTRAP_SPAN = 11000, 100
LLMDATADIST_BASE, LLMDATADIST_SPAN, LLMDATADIST_STEP = 5600, 300, 16
HCCL_BASE, HCCL_SPAN, HCCL_STEP = 60000, 800, 100
KV_SPAN, KV_STEP = 2600, 100
ASCEND_DIRECT_BASE = 20000


@dataclass(frozen=True)
class Assigned:
    """First port of each of an instance's ranges."""

    api: int
    kv: int
    dp_rpc: int
    hccl: int
    bootstrap: int
    llmdatadist: int


def kv_base(release: Release, devices: int) -> int:
    """First port above the pool that AscendDirect binds at random: 20000 + stride x devices, upper end included."""
    end = ASCEND_DIRECT_BASE + release.ascend_direct_stride * devices
    return max(22000, -(-(end + 1) // 100) * 100)


def assign(instance: Instance, release: Release, host_devices: int) -> Assigned:
    """Ports of one instance, from the user's first ports or the pool's own span."""
    pool, order, slot = instance.pool, ORDER[instance.kind], instance.slot
    step = -(-pool.devices_per_instance // KV_STEP) * KV_STEP
    own = pool.ports
    return Assigned(
        api=own.api + slot * API_STEP if own.api else API_BASE + order * API_SPAN + slot * API_STEP,
        kv=(own.kv or kv_base(release, host_devices) + order * KV_SPAN) + slot * step,
        dp_rpc=(own.dp_rpc or DP_RPC_BASE + order * DP_RPC_SPAN) + slot,
        hccl=(own.hccl or HCCL_BASE + order * HCCL_SPAN) + slot * HCCL_STEP,
        bootstrap=(own.bootstrap or BOOTSTRAP_BASE + order * BOOTSTRAP_SPAN) + slot,
        llmdatadist=(own.llmdatadist or LLMDATADIST_BASE + order * LLMDATADIST_SPAN) + slot * LLMDATADIST_STEP,
    )


def api_port(assigned: Assigned, process: Process) -> int:
    """A process' API port: each data-parallel rank of a host has its own under external load balancing."""
    return assigned.api + process.local_index
