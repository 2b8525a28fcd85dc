# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which metrics a deployment exports, from the versions of its software: an expression of another one would never have data.

Names of vLLM are collected from its sources; the others are listed here with the first version that has them.
"""

from __future__ import annotations

import re
import typing as t

from ...module_utils.collector.metrics import HELP, LOG_HELP, PROXY_HELP
from ..plan.routers.registry import FLAVOURS
from ..releases.metric_names import of_vllm
from ..releases.version import numbers

Record = t.Mapping[str, t.Any]
NAME = re.compile(
    r"\b(?:(?:vllm|inference):\w+|(?:vllm_router|master|ha|npu_chip|machine_npu|(?:ascend_)?inference)_\w+"
    r"|(?:mem_cache|file_cache|valid_get|total_get)_\w+_(?!\w)|up\b)"
)
# mooncake_master: name -> first version. Read from the program 0.3.9, 0.3.11.post1 and 0.3.13.post1.
MASTER = {
    "master_active_clients": "0.3.6",
    "master_total_capacity_bytes": "0.3.6",
    "master_allocated_bytes": "0.3.6",
    "master_ping_requests_total": "0.3.6",
    "master_remount_segment_requests_total": "0.3.6",
    "master_successful_evictions_total": "0.3.6",
    "valid_get_nums_": "0.3.8",
    "total_get_nums_": "0.3.8",
    "master_put_start_alloc_failures_total": "0.3.11",
    "ha_oplog_standby_lag": "0.3.11",
}
# MooncakeConnectorV2 of vLLM-Ascend, from 0.30.0rc1 on; other connectors of it export nothing.
TRANSFER = (
    "vllm:mooncake_num_failed_transfers_total",
    "vllm:mooncake_xfer_time_seconds_bucket",
)
# npu-exporter of MindCluster. Before 26.0 a state is 0 or 1; later ones also have -1: the query failed.
NPU_EXPORTER = (
    "npu_chip_info_health_status",
    "npu_chip_info_link_status",
    "npu_chip_info_temperature",
    "npu_chip_info_hbm_used_memory",
    "npu_chip_info_hbm_total_memory",
    "npu_chip_info_hbm_ecc_double_bit_error_cnt",
    "npu_chip_link_up_num",
    "npu_chip_roce_tx_err_pkt_num",
)
# The timer of this collection writes them.
COLLECTOR = tuple(HELP)
PROXY = tuple(PROXY_HELP)
LOGS = tuple(LOG_HELP)
PROBE = (
    "inference_probe_success",
    "inference_probe_ttft_seconds",
    "inference_probe_cached_tokens",
    "inference_probe_engine_failed_rounds",
    "inference_probe_last_run_timestamp_seconds",
    "inference_probe_paused_until_timestamp_seconds",
)


def of_master(version: str) -> frozenset[str]:
    """The names of one mooncake_master; the oldest ones for an unknown version."""
    wanted = numbers(version or "0.3.6")
    return frozenset(name for name, first in MASTER.items() if numbers(first) <= wanted)


def exported(
    plan: Record, npu: str = "none", probe: bool = False, proxies: bool = False, logs: bool = False
) -> frozenset[str]:
    """All names that the deployment's services and exporters have."""
    kinds = {service["kind"] for service in plan["services"]}
    found = of_vllm(plan["release_facts"]["vllm"]) - set(TRANSFER) | {"up"}
    if "mooncake_master" in kinds:
        found |= of_master(plan["release_facts"]["mooncake"])
    if "router" in kinds:
        modes = FLAVOURS[plan["software"]["router"]["flavour"]].metrics
        found = found.union(*(names for pools, names in modes.items() if pools <= kinds))
    if any("MooncakeConnectorV2" in " ".join(service["argv"]) for service in plan["services"]):
        found |= set(TRANSFER)
    if npu != "none":
        found |= set(NPU_EXPORTER if npu == "npu_exporter" else COLLECTOR)
    if proxies:
        found |= set(PROXY)
    if logs:
        found |= set(LOGS)
    return frozenset(found | set(PROBE if probe or "probe" in kinds else ()))


def names_in(expression: str) -> set[str]:
    """The metrics that an expression reads; those that our own recording rules write are left out."""
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', expression)
    return {name for name in NAME.findall(text) if not name.startswith("inference:")}
