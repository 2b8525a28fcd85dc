# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan with everything that can be watched, and what its services export when all is well, as promtool reads it."""

from __future__ import annotations

import os
import shutil
import subprocess
import typing as t

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify.logs import services_of
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.settings import read_monitoring
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.targets import targets
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

NPU_EXPORTER = {
    "info_link_status": 1,
    "info_health_status": 1,
    "link_up_num": 4,
    "info_hbm_ecc_double_bit_error_cnt": 0,
    "roce_tx_err_pkt_num": 7,
    "info_temperature": 45,
    "info_hbm_used_memory": 50000,
    "info_hbm_total_memory": 65536,
}
NPU_COLLECTOR = {
    "link": 1,
    "health": 1,
    "link_changes_total": 4,
    "ecc_double_bit_errors_total": 0,
    "query_failed": 0,
    "temperature_celsius": 45,
    "hbm_used_bytes": 50000,
    "hbm_total_bytes": 65536,
}
INTERVAL, STEPS = 30, 60  # seconds between two scrapes, and how many there are
CHANGES = {
    "inference_router": {"flavour": "vllm_router"},
    "inference_pools.decode.args.additional-config": {},
    "inference_pools.decode.data_parallel_size": 2,
}
Labels = dict[str, str]


class Series(t.NamedTuple):
    """One series, in the notation of promtool: ``0+10x60``."""

    name: str
    labels: Labels
    values: str

    def text(self) -> str:
        """The series with its labels."""
        labels = ",".join(f'{key}="{value}"' for key, value in sorted(self.labels.items()))
        return f"{self.name}{{{labels}}}"


def install() -> None:
    """Install Prometheus if it is missing (needs root), without the service that the package starts."""
    if not shutil.which("promtool"):
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            pytest.skip("needs promtool, or root to install it")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        subprocess.run(
            ["apt-get", "install", "-y", "-q", "--no-install-recommends", "prometheus"], check=True, env=environment
        )


def promtool(*arguments: str) -> tuple[int, str]:
    """Status and output of the program."""
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout + done.stderr


def watched_plan(name: str = "ha") -> dict[str, t.Any]:
    """With NPUs, a store (``ha``: several masters; ``p2p``: none, and a proxy), a router with metrics, and the newest vLLM.

    ``pooled`` has colocated engines, the others prefill and decode.
    """
    plan = launch_plan(*family(name, CHANGES if name not in ("p2p", "pooled") else {}))
    for service in plan["services"]:  # the connector of vLLM-Ascend that exports metrics
        service["argv"] = [word.replace("MooncakeConnectorV1", "MooncakeConnectorV2") for word in service["argv"]]
    plan["release_facts"]["vllm"] = "0.32.0"
    return plan


def steady(number: float) -> str:
    """A gauge."""
    return f"{number}+0x{STEPS}"


def growing(step: float) -> str:
    """A counter that grows by ``step`` with each scrape."""
    return f"0+{step}x{STEPS}"


def healthy(plan: t.Mapping[str, t.Any], raw: t.Mapping[str, t.Any]) -> list[Series]:
    """What all targets of a busy and healthy deployment export."""
    found = []
    for group in targets(plan, read_monitoring(raw)):
        labels = group["labels"]
        found.append(Series("up", labels, steady(1)))
        made = {"inference-engine": _engine, "inference-router": _router, "inference-store": _store}
        more = made.get(labels["job"], _host(raw))(labels, plan)
        found += [Series(name, {**labels, **own}, values) for name, own, values in more]
    return found


Made = t.Iterator[tuple[str, Labels, str]]


def _engine(labels: Labels, _plan: t.Any) -> Made:
    fetched = 980 if labels["role"] == "decode" else 0
    yield "vllm:num_requests_running", {}, steady(2)
    yield "vllm:num_requests_waiting", {}, steady(0)
    yield "vllm:kv_cache_usage_perc", {}, steady(0.4)
    yield "vllm:generation_tokens_total", {}, growing(300)
    yield "vllm:prompt_tokens_total", {}, growing(1000)
    yield "vllm:prompt_tokens_by_source_total", {"source": "local_compute"}, growing(1000 - fetched)
    yield "vllm:prompt_tokens_by_source_total", {"source": "external_kv_transfer"}, growing(fetched)
    yield "vllm:external_prefix_cache_hits_total", {}, growing(fetched)
    yield "vllm:external_prefix_cache_queries_total", {}, growing(1000)
    yield "vllm:prefix_cache_hits_total", {}, growing(250)
    yield "vllm:prefix_cache_queries_total", {}, growing(1000)
    yield "vllm:num_preemptions_total", {}, growing(1)
    yield "vllm:request_success_total", {"finished_reason": "stop"}, growing(30)
    yield "vllm:request_success_total", {"finished_reason": "abort"}, growing(1)
    yield "vllm:request_queue_time_seconds_bucket", {"le": "60"}, growing(30)
    yield "vllm:request_queue_time_seconds_bucket", {"le": "600"}, growing(30)
    yield "vllm:request_queue_time_seconds_bucket", {"le": "+Inf"}, growing(30)
    for name in ("time_to_first_token", "inter_token_latency", "mooncake_xfer_time"):
        yield f"vllm:{name}_seconds_bucket", {"le": "0.1"}, growing(20)
        yield f"vllm:{name}_seconds_bucket", {"le": "+Inf"}, growing(30)
    yield "vllm:num_requests_kv_fetch_by_stage", {"stage": "in_progress"}, steady(1 if fetched else 0)
    yield "vllm:mooncake_num_failed_transfers_total", {}, steady(2)
    yield "vllm:cache_config_info", {"block_size": "128", "cache_dtype": "auto"}, steady(1)


def _router(_labels: Labels, plan: t.Any) -> Made:
    engines = [service for service in plan["services"] if service["kind"] in ("prefill", "decode", "colocated")]
    pairs = any(service["kind"] == "prefill" for service in engines)
    for worker in [service["health"]["url"].rpartition("/")[0] for service in engines if service["health"]]:
        yield "vllm_router_worker_health", {"worker": worker}, steady(1)
        if pairs:
            yield "vllm_router_pd_decode_errors_total", {"worker": worker}, steady(3)
            yield "vllm_router_pd_prefill_errors_total", {"worker": worker}, steady(0)
    if not pairs:
        yield "vllm_router_request_errors_total", {"error_type": "non_retryable_error"}, steady(1)
        yield "vllm_router_retries_exhausted_total", {}, steady(1)
    duration = f"vllm_router_{'pd_request' if pairs else 'generate'}_duration_seconds_bucket"
    yield duration, {"le": "1"}, growing(20)
    yield duration, {"le": "+Inf"}, growing(30)


def _store(labels: Labels, plan: t.Any) -> Made:
    leads = labels["instance"].endswith("-0")
    yield "master_active_clients", {}, steady(plan["verify"]["store"]["clients"] if leads else 0)
    yield "master_ping_requests_total", {}, growing(30 if leads else 0)
    yield "master_remount_segment_requests_total", {}, steady(8)
    yield "master_total_capacity_bytes", {}, steady(1000 if leads else 0)
    yield "master_allocated_bytes", {}, steady(600 if leads else 0)
    yield "master_put_start_alloc_failures_total", {}, steady(1)
    yield "ha_oplog_standby_lag", {}, steady(5)
    yield "valid_get_nums_", {}, growing(20)
    yield "total_get_nums_", {}, growing(30)
    yield "master_successful_evictions_total", {}, growing(1)


def _host(raw: t.Mapping[str, t.Any]) -> t.Callable[[Labels, t.Any], Made]:
    npu, probe = raw.get("npu", "none"), raw.get("probe", False)

    def made(labels: Labels, plan: t.Any) -> Made:
        dies = sorted(
            {str(die) for item in plan["services"] if item["host"] == labels["host"] for die in item["devices"]}
        )
        if labels["job"] == "inference-npu":
            for die in dies:
                for name, value in NPU_EXPORTER.items():
                    yield f"npu_chip_{name}", {"id": die}, steady(value)
            return
        if npu == "collector" and dies:
            for die in dies:
                for name, value in NPU_COLLECTOR.items():
                    yield f"inference_npu_{name}", {"device": die}, steady(value)
            yield "inference_npu_last_run_timestamp_seconds", {}, growing(INTERVAL)
        router = [service for service in plan["services"] if service["kind"] == "router"][0]
        if raw.get("proxies") and labels["host"] == router["host"]:
            own = {"deployment": plan["deployment"], "service": "router"}
            yield "inference_router_up", own, steady(1)
            yield "inference_router_requests", own, steady(2)
            yield "inference_router_last_run_timestamp_seconds", own, growing(INTERVAL)
            for pool in ("prefill", "decode"):
                ports = [{port["name"] for port in item["ports"]} for item in plan["services"] if item["kind"] == pool]
                count = sum("api" in names for names in ports)
                yield "inference_router_engines", {**own, "pool": pool}, steady(count)
        for service, _log in services_of(read_plan(plan["verify"]), labels["host"]) if raw.get("logs") else ():
            (role,) = [item["kind"] for item in plan["services"] if item["name"] == service]
            own = {"deployment": plan["deployment"], "service": service, "role": role}
            yield "inference_log_red_flags_total", {**own, "flag": "transfer_failed"}, steady(3)
            yield "inference_log_red_flags_total", {**own, "flag": "recomputed"}, growing(1)
            yield "inference_log_red_flags_total", {**own, "flag": "kv_freed_by_force"}, steady(0)
            yield "inference_log_transfers_total", own, growing(20)
            yield "inference_log_transfer_seconds_total", own, growing(0.2)
            yield "inference_log_gaps_total", own, steady(1)
            yield "inference_log_read", own, steady(1)
            yield "inference_log_last_run_timestamp_seconds", own, growing(INTERVAL)
        if probe and labels["host"] == plan["hosts"][0]["name"]:
            for path in ("clients", "prefill-0->decode-0"):
                yield "inference_probe_success", {"deployment": plan["deployment"], "path": path}, steady(1)
                yield "inference_probe_ttft_seconds", {"deployment": plan["deployment"], "path": path}, steady(0.2)
            engine = {"deployment": plan["deployment"], "engine": "decode-0"}
            yield "inference_probe_engine_failed_rounds", engine, steady(0)
            yield (
                "inference_probe_last_run_timestamp_seconds",
                {"deployment": plan["deployment"]},
                growing(INTERVAL),
            )
            yield "inference_probe_paused_until_timestamp_seconds", {"deployment": plan["deployment"]}, steady(0)

    return made
