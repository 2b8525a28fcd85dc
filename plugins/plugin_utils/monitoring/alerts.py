# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The alerts as data: expression, limits, the failures behind each one, and what to do.

``expressions`` are alternatives: the first one is used whose metrics all exist. They are templates: ``$of`` selects the series of the
deployment, ``$hosts`` those of its hosts, ``$by`` lists the labels that name a service; ``$threshold``, ``$window`` and the facts of the
plan (``facts`` of rules.py) are numbers. A rate needs at least two scrapes in its window.

A series that is missing raises no alert of its own: what a host should have is recorded (``per_host`` of rules.py) and compared.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .proxies import silent_routers

BY = "deployment, role, service, host"


@dataclass(frozen=True)
class Alert:
    """One alert. ``after`` and ``window`` in seconds; ``needs``: the parts of a deployment without which the alert has no meaning; ``of``: what its
    summary names, from the labels of the expressions (``SUBJECTS`` of annotations.py)."""

    name: str
    severity: str
    expressions: tuple[str, ...]
    after: int
    summary: str
    failures: str
    action: str
    threshold: int = 0
    unit: str = ""
    window: int = 0
    needs: tuple[str, ...] = ()
    of: str = "service"


def _sum(expression: str) -> str:
    return f"sum by ($by) ({expression})"


def _by_worker(expression: str) -> str:
    return f"sum by ($by, worker) ({expression})"


def _stuck(unless: str) -> str:
    """Requests that run, or that wait where none runs, without a new token. ``unless``: those that wait for KV cache have an alert of their own."""
    running, waiting = _sum("vllm:num_requests_running{$of}"), _sum("vllm:num_requests_waiting{$of}")
    still = " and ".join(
        _sum(f"rate(vllm:{name}_tokens_total{{$of}}[$window])") + " == 0" for name in ("generation", "prompt")
    )
    return f"({running} > $threshold or ({waiting} > $threshold{unless})) and {still}"


def _unchanged(series: str, over: str = "") -> str:
    """Series that are as they were $threshold seconds ago. The difference to time() would say nothing: a host's clock may be wrong by an hour."""
    now, before = (f"{over}({each})" if over else each for each in (series, series + " offset ${threshold}s"))
    return f"{now} == {before}"


def _lacks(planned: str, series: str) -> str:
    """Hosts with fewer of these series than are planned, or with none."""
    wanted = f"inference:{planned}:planned{{$of}}"
    return f"{wanted} > on (host) count by (host) ({series}) or {wanted} unless on (host) {series}"


ENGINE_DOWN = Alert(
    "EngineDown",
    "critical",
    ('up{$of,job="inference-engine"} == 0',),
    30,
    "does not answer the query of its metrics",
    "The process ended, its API does not answer, or the network or a firewall is in between.",
    "Run status. If the engine serves, open its port to Prometheus (inference_firewall.cluster).",
)
TARGETS_MISSING = Alert(
    "TargetsMissing",
    "critical",
    ('(count(up{$of,job="inference-engine"}) or vector(0)) < $engines',),
    300,
    "Prometheus has fewer engines as targets than are planned",
    "The file with the targets was removed or is not read, so that no other alert can fire.",
    "Run the playbook monitoring, and compare file_sd_configs with its folder.",
    of="deployment",
)
DECODE_COMPUTES = Alert(
    "DecodeComputesPrompts",
    "critical",
    (
        _sum('rate(vllm:prompt_tokens_by_source_total{$of,role="decode",source="local_compute"}[$window])')
        + " * 100 > $threshold * "
        + _sum('rate(vllm:prompt_tokens_total{$of,role="decode"}[$window])'),
        # Promised tokens: the counter of vLLM before 0.16
        "("
        + _sum('rate(vllm:prompt_tokens_total{$of,role="decode"}[$window])')
        + " - "
        + _sum('rate(vllm:external_prefix_cache_hits_total{$of,role="decode"}[$window])')
        + ") * 100 > $threshold * "
        + _sum('rate(vllm:prompt_tokens_total{$of,role="decode"}[$window])'),
    ),
    300,
    "computes prompts itself instead of fetching their KV cache from prefill",
    "The router sends whole prompts to decode, the connectors do not match, or pulls fail and are computed again.",
    "Run verify, which names the pair. Look for failed transfers in the log of decode.",
    threshold=20,
    unit="percent of its prompt tokens",
    window=300,
    needs=("disaggregated",),
)
ENGINE_STUCK = Alert(
    "EngineStuck",
    "critical",
    (
        _stuck(" unless " + _sum('vllm:num_requests_kv_fetch_by_stage{$of,stage="in_progress"}') + " > 0"),
        _stuck(""),
    ),
    120,
    "has requests and produces no tokens, although /health may say 200",
    "A collective operation hangs, a rank is stopped, or no request can begin: they wait for KV cache that never comes, or for memory that is not freed.",
    "Take the engine out of the router and run restart for its instance. Save the log first.",
    threshold=0,
    unit="requests",
    window=120,
)
PREFILL_HOLDS = Alert(
    "PrefillHoldsIdleKV",
    "warning",
    (
        'max by ($by) (vllm:kv_cache_usage_perc{$of,role="prefill"}) * 100 > $threshold and '
        + _sum("vllm:num_requests_running{$of}")
        + " == 0 and "
        + _sum("vllm:num_requests_waiting{$of}")
        + " == 0",
    ),
    180,
    "holds KV cache of prompts that no decode fetches, and has no requests",
    "A decode engine ended or lost its link after prefill had computed the prompts. They are freed after the hold timeout.",
    "Check decode. If the share does not fall after the hold timeout, restart the prefill engine.",
    threshold=30,
    unit="percent of its KV cache",
    needs=("disaggregated",),
)
KV_FETCH = Alert(
    "KvFetchHangs",
    "critical",
    (
        _sum('vllm:num_requests_kv_fetch_by_stage{$of,stage="in_progress"}')
        + " > $threshold and "
        + _sum('rate(vllm:prompt_tokens_by_source_total{$of,source="external_kv_transfer"}[$window])')
        + " == 0",
    ),
    120,
    "waits for KV cache and receives none",
    "The link between the NPUs is interrupted, or the prefill engine of these requests ended.",
    "Run check for the links between the NPUs, then verify for the pairs.",
    threshold=0,
    unit="requests",
    window=120,
    needs=("disaggregated",),
)
TRANSFERS_FAIL = Alert(
    "TransfersFail",
    "critical",
    (
        _sum("rate(vllm:mooncake_num_failed_transfers_total{$of}[$window])") + " * 60 > $threshold",
        # Other connectors export nothing: what their log says.
        _sum('rate(inference_log_red_flags_total{$of,flag=~"transfer_.+"}[$window])') + " * 60 > $threshold",
    ),
    0,
    "fails to transfer KV cache",
    "A link is down, TLS of the NPUs differs, or a peer restarted with other addresses.",
    "Run check and compare TLS and links of the NPUs of both hosts.",
    threshold=0,
    unit="transfers per minute",
    window=300,
    needs=("disaggregated",),
)
QUEUE = Alert(
    "QueueNearHoldTimeout",
    "warning",
    (
        "histogram_quantile(0.99, sum by ($by, le) "
        '(rate(vllm:request_queue_time_seconds_bucket{$of,role="decode"}[$window]))) * 100 > $threshold * $kv_hold_timeout',
    ),
    60,
    "queues requests for so long that prefill may free their KV cache before it is fetched",
    "Decode is too small for the load. After the hold timeout KV cache is freed, and answers may be wrong without any error.",
    "Add decode instances, or reduce the load. Do not only raise inference_kv_hold_timeout.",
    threshold=50,
    unit="percent of the hold timeout",
    window=300,
    needs=("disaggregated", "hold"),
)
PREEMPTIONS = Alert(
    "PreemptionStorm",
    "warning",
    (_sum("rate(vllm:num_preemptions_total{$of}[$window])") + " * 60 > $threshold",),
    300,
    "preempts requests all the time, because its KV cache is full",
    "More or longer requests than the KV cache holds: each preempted request is computed again.",
    "Reduce max-num-seqs, or add instances.",
    threshold=6,
    unit="preemptions per minute",
    window=300,
)
ABORTS = Alert(
    "AbortRatio",
    "warning",
    (
        _sum('rate(vllm:request_success_total{$of,role=~"decode|colocated",finished_reason="abort"}[$window])')
        + " * 100 > $threshold * "
        + _sum('rate(vllm:request_success_total{$of,role=~"decode|colocated"}[$window])'),
    ),
    300,
    "ends requests because their clients left",
    "Clients time out, or an engine was stopped before the router knew.",
    "Compare the clients' timeout with the time to first token.",
    threshold=5,
    unit="percent of its requests",
    window=300,
)
PREFILL_WAITS = Alert(
    "PrefillOverloaded",
    "warning",
    (
        'sum by (deployment) (vllm:num_requests_waiting{$of,role="prefill"}) > 0 and '
        'sum by (deployment) (vllm:num_requests_running{$of,role="decode"}) * 100 < $threshold * $decode_requests',
    ),
    600,
    "requests wait at prefill while decode is idle",
    "The pools have the wrong ratio for this load: too few prefill instances.",
    "Move an instance from decode to prefill, or add a prefill instance.",
    threshold=30,
    unit="percent of the requests that decode can run",
    needs=("disaggregated", "max_num_seqs"),
    of="deployment",
)
DECODE_WAITS = Alert(
    "DecodeOverloaded",
    "warning",
    (
        'sum by (deployment) (vllm:num_requests_waiting{$of,role="decode"}) > $threshold and '
        'sum by (deployment) (vllm:num_requests_running{$of,role="prefill"}) == 0',
    ),
    600,
    "requests wait at decode while prefill is idle",
    "The pools have the wrong ratio for this load: too few decode instances.",
    "Move an instance from prefill to decode, or add a decode instance.",
    threshold=0,
    unit="requests",
    needs=("disaggregated",),
    of="deployment",
)
PAIRS_DIFFER = Alert(
    "EnginesDiffer",
    "critical",
    (
        "count by (deployment) (count by (deployment, block_size, cache_dtype) "
        '(vllm:cache_config_info{$of,role=~"prefill|decode"})) > $threshold',
    ),
    300,
    "prefill and decode report different sizes of blocks or types of the KV cache",
    "Engines of different releases or settings run together, for example after an interrupted change. KV cache is read wrongly.",
    "Run status, then site or rollback.",
    threshold=1,
    unit="kinds",
    needs=("disaggregated",),
    of="deployment",
)
ROUTER_DOWN = Alert(
    "RouterDown",
    "critical",
    ('up{$of,job="inference-router"} == 0',),
    30,
    "does not answer the query of its metrics",
    "The router ended, or the network or a firewall is in between.",
    "Run status. With inference_firewall open the port of metrics: inference_firewall.monitoring.",
    needs=("router_metrics",),
)
ROUTER_ERRORS = Alert(
    "RouterErrors",
    "warning",
    (
        _by_worker("rate(vllm_router_pd_decode_errors_total{$of}[$window])")
        + " * 60 > $threshold or "
        + _by_worker("rate(vllm_router_pd_prefill_errors_total{$of}[$window])")
        # The counter of an engine appears with its first error, which no rate sees.
        + " * 60 > $threshold or "
        + _by_worker(
            "vllm_router_pd_decode_errors_total{$of} unless vllm_router_pd_decode_errors_total{$of} offset ${window}"
        )
        + " > $threshold",
    ),
    0,
    "requests to it failed at the router",
    "An engine refuses or breaks off requests. Requests that clients made wrongly (HTTP 400) count at the first engine too.",
    "Run status for the engine, and look at the log of the router. If it shows bad requests only, raise the threshold.",
    threshold=0,
    unit="errors per minute",
    window=300,
    needs=("disaggregated", "router_metrics"),
    of="worker",
)
ROUTER_WORKER = Alert(
    "RouterLostEngine",
    "critical",
    (
        # An engine that is down for Prometheus, too, has an alert of its own.
        "vllm_router_worker_health{$of} == 0 unless on (deployment, service) "
        "count by (deployment, service) (vllm_router_worker_health{$of} == 0) <= on (deployment) group_left () "
        'count by (deployment) (up{$of,job="inference-engine"} == 0)',
    ),
    60,
    "the router considers it as broken, and sends nothing to it",
    "The engine answers Prometheus, but not the health check of the router. One that answers neither raises EngineDown only.",
    "Run status for the engine, and check the network between it and the router.",
    needs=("router_metrics",),
    of="worker",
)
PROXY_DOWN = Alert(
    "ProxyDown",
    "critical",
    ("inference_router_up{$of} == 0",),
    60,
    "does not answer its health check",
    "The proxy of vLLM-Ascend ended or hangs: clients get no answers from it.",
    "Run status.",
    needs=("proxies",),
)
PROXY_ENGINES = Alert(
    "ProxyLostEngines",
    "warning",
    (
        'sum by ($by) (inference_router_engines{$of,pool="prefill"}) < $prefill_engines or '
        'sum by ($by) (inference_router_engines{$of,pool="decode"}) < $decode_engines',
    ),
    600,
    "distributes requests to fewer engines than are planned",
    "An engine left for a change and was not returned, or never joined.",
    "Run status, then site, which adds the missing engines.",
    needs=("proxies", "disaggregated"),
)
PROXY_OLD = Alert(
    "ProxyMetricsOld",
    "warning",
    (
        _unchanged("inference_router_last_run_timestamp_seconds{$of}")
        + " or "
        + _lacks("proxies", "inference_router_last_run_timestamp_seconds{$of}"),
    ),
    120,
    "the metrics of proxies are old or missing",
    "The timer on the host of the proxy or its node_exporter does not run.",
    "Look at the log of the unit ascend-inference-proxy-metrics-DEPLOYMENT.service.",
    threshold=600,
    unit="seconds",
    needs=("proxies",),
    of="reader",
)
STORE_DOWN = Alert(
    "StoreDown",
    "critical",
    ('up{$of,job="inference-store"} == 0',),
    30,
    "does not answer the query of its metrics",
    "The master of the store ended: engines compute what they would have read.",
    "Run status. Engines reconnect when it is back; its keys are lost without an OpLog.",
    needs=("store",),
)
STORE_CLIENTS = Alert(
    "StoreMissesEngines",
    "critical",
    (
        # A rank that ended or hangs leaves the store, too: its engine has an alert of its own, pending at the latest after its window.
        "max by (deployment) (master_active_clients{$of}) < $store_clients "
        'unless on (deployment) ALERTS{$of,alertname=~"InferenceEngineDown|InferenceEngineStuck"}',
    ),
    300,
    "the store has fewer clients than there are ranks of engines",
    "An engine started without the store or lost it: it serves, and neither reads nor writes shared KV cache.",
    "Compare the start times of engines and master in status; restart the engines that started before it.",
    needs=("store",),
    of="deployment",
)
STORE_RESTARTED = Alert(
    "StoreRestarted",
    "warning",
    (
        # An engine that hung registers again, too. Clients send pings once a second: they begin anew after a restart, and go to another master that leads.
        "sum by (deployment) (increase(master_remount_segment_requests_total{$of}[$window])) > $threshold and on (deployment) "
        "(sum by (deployment) (resets(master_ping_requests_total{$of}[$window])) > 0 or "
        "count by (deployment) (increase(master_ping_requests_total{$of}[$window]) > 0) > 1)",
    ),
    0,
    "engines registered their memory again at a master of the store",
    "The master restarted or another one leads now. Keys of the old one are lost without an OpLog.",
    "Look at the log of the master for its end.",
    threshold=0,
    unit="registrations",
    window=600,
    needs=("store",),
    of="deployment",
)
STORE_FULL = Alert(
    "StoreFull",
    "warning",
    (
        "sum by (deployment) (master_allocated_bytes{$of}) * 100 > $threshold * sum by (deployment) "
        "(master_total_capacity_bytes{$of}) and "
        "sum by (deployment) (rate(master_put_start_alloc_failures_total{$of}[$window])) > 0",
        "sum by (deployment) (master_allocated_bytes{$of}) * 100 > $threshold * sum by (deployment) "
        "(master_total_capacity_bytes{$of})",
    ),
    300,
    "the store is full and refuses new blocks",
    "Eviction is slower than new blocks come, or blocks are pinned.",
    "Raise inference_store.segment_size, or lower the watermark of eviction.",
    threshold=98,
    unit="percent of its capacity",
    window=300,
    needs=("store",),
    of="deployment",
)
STANDBY = Alert(
    "StandbyLags",
    "warning",
    ("max by ($by) (ha_oplog_standby_lag{$of}) > $threshold",),
    300,
    "is behind the leader of the store",
    "A failover would lose the keys that the standby does not have.",
    "Check etcd and the network between the masters.",
    threshold=1000,
    unit="entries",
    needs=("ha",),
)
NPU_LINK = Alert(
    "NpuLinkDown",
    "critical",
    ("npu_chip_info_link_status{$hosts} == 0", "inference_npu_link{$hosts} == 0"),
    30,
    "has an NPU without link",
    "Cable, optical module or switch port.",
    "Run check, which shows the link and the optical module of each NPU.",
    needs=("npu",),
    of="npu",
)
NPU_FLAPS = Alert(
    "NpuLinkFlaps",
    "warning",
    (
        "increase(npu_chip_link_up_num{$hosts}[$window]) > $threshold",
        "increase(inference_npu_link_changes_total{$hosts}[$window]) > $threshold",
    ),
    0,
    "has an NPU whose link was interrupted",
    "A bad optical module or cable: transfers fail and are repeated.",
    "Compare the optical power of both ends; replace the module.",
    threshold=0,
    unit="changes",
    window=3600,
    needs=("npu",),
    of="npu",
)
NPU_HEALTH = Alert(
    "NpuUnhealthy",
    "critical",
    ("npu_chip_info_health_status{$hosts} == 0", "inference_npu_health{$hosts} == 0"),
    30,
    "has an NPU that the driver reports as faulty",
    "Hardware, temperature or the driver.",
    "Run check, and read npu-smi info -t health of the NPU.",
    needs=("npu",),
    of="npu",
)
NPU_QUERY = Alert(
    "NpuQueryFails",
    "warning",
    (
        "npu_chip_info_link_status{$hosts} == -1 or npu_chip_info_health_status{$hosts} == -1",
        "inference_npu_query_failed{$hosts} == 1",
    ),
    600,
    "has an NPU whose state is not known, because a query of it fails",
    "The driver's tools hang or fail, for example after a chip dropped off the bus.",
    "Run npu-smi info on the host.",
    needs=("npu",),
    of="npu",
)
NPU_MISSING = Alert(
    "NpuMissing",
    "critical",
    (_lacks("npus", "npu_chip_info_health_status{$hosts}"), _lacks("npus", "inference_npu_health{$hosts}")),
    300,
    "shows fewer NPUs than its engines use, so that no other alert of those can fire",
    "A chip dropped off the bus, or the exporter, the collector or node_exporter does not run.",
    "Run npu-smi info on the host. If it shows all NPUs, look at the exporter, and at its target in Prometheus.",
    needs=("npu",),
    of="host",
)
NPU_OLD = Alert(
    "NpuMetricsOld",
    "warning",
    (_unchanged("inference_npu_last_run_timestamp_seconds{$hosts}"),),
    0,
    "has old metrics of its NPUs",
    "The timer of the collector does not run, or its tools hang.",
    "Look at the log of the unit ascend-inference-npu-metrics.service.",
    threshold=600,
    unit="seconds",
    needs=("npu",),
    of="host",
)
NPU_ECC = Alert(
    "HbmEcc",
    "critical",
    (
        "increase(npu_chip_info_hbm_ecc_double_bit_error_cnt{$hosts}[$window]) > $threshold",
        "increase(inference_npu_ecc_double_bit_errors_total{$hosts}[$window]) > $threshold",
    ),
    0,
    "has an NPU with memory errors that cannot be corrected",
    "Its HBM is damaged: results may be wrong.",
    "Take the NPU out of the inventory (inference_devices) and have it replaced.",
    threshold=0,
    unit="errors",
    window=86400,
    needs=("npu",),
    of="npu",
)
NPU_ROCE = Alert(
    "RoceErrors",
    "warning",
    ("rate(npu_chip_roce_tx_err_pkt_num{$hosts}[$window]) * 60 > $threshold",),
    0,
    "has an NPU that sends damaged packets",
    "Optical module, cable, or flow control of the switch.",
    "Run check for the counters of the link.",
    threshold=0,
    unit="packets per minute",
    window=300,
    needs=("npu",),
    of="npu",
)
LOG_FLAGS = Alert(
    "LogRedFlags",
    "warning",
    ('sum by ($by, flag) (increase(inference_log_red_flags_total{$of,flag!="recomputed"}[$window])) > $threshold',),
    0,
    "logs messages about lost, late or wrong KV cache",
    "The label flag names the message. Prefill freed blocks that decode had not fetched, a transfer failed, or the store lost keys: answers may be wrong.",
    "Run verify, which shows the lines and their causes; logs gathers them for a support case.",
    threshold=0,
    unit="messages in the window",
    window=300,
    needs=("logs",),
    of="flag",
)
LOG_UNREAD = Alert(
    "LogUnread",
    "warning",
    (
        "max by ($by) (inference_log_read{$of}) == 0 or max by ($by) (increase(inference_log_gaps_total{$of}[$window])) > 0 or "
        + _unchanged("inference_log_last_run_timestamp_seconds{$of}", "min by ($by) ")
        + " or "
        + _lacks("logs", "inference_log_last_run_timestamp_seconds{$of}"),
    ),
    120,
    "the log of a service is not read, or lines of it were lost, so that no counter shows its messages",
    "The timer or node_exporter does not run, the service has no log yet, or the log grows faster than it is read.",
    "Look at the log of the unit ascend-inference-log-metrics-DEPLOYMENT.service.",
    threshold=600,
    unit="seconds",
    window=600,
    needs=("logs",),
    of="reader",
)
PROBE_FAILS = Alert(
    "ProbeFails",
    "critical",
    ("inference_probe_success{$of} == 0",),
    120,
    "the probe got no right answer",
    "An empty answer with status 200, a wrong text, or an engine that hangs: no other metric shows the first two.",
    "The label path names the pair. Run verify.",
    needs=("probe",),
    of="path",
)
ENGINE_FAILS = Alert(
    "EngineFailsAll",
    "critical",
    ("inference_probe_engine_failed_rounds{$of} > $threshold",),
    0,
    "nothing works over this engine, while its peers work with other engines",
    "It accepts requests and ends them without an answer, although /health says 200. As it is always idle, a router that chooses by load sends most "
    "requests there.",
    "Run restart for it, or let watchdog do so (inference_watchdog). Save its log first.",
    threshold=1,
    unit="rounds of the probe in a row",
    needs=("probe", "disaggregated"),
    of="engine",
)
PROBE_OLD = Alert(
    "ProbeMissing",
    "critical",
    (
        _unchanged("inference_probe_last_run_timestamp_seconds{$of}", "max ")
        + " unless time() - max(inference_probe_paused_until_timestamp_seconds{$of}) <= $threshold or "
        "absent(inference_probe_last_run_timestamp_seconds{$of})",
    ),
    120,
    "the probe does not run",
    "Its timer or its host stopped, so that answers are not watched.",
    "Look at the unit of the probe, and at the textfile folder of node_exporter.",
    threshold=600,
    unit="seconds",
    needs=("probe",),
    of="probe",
)
ALERTS: tuple[Alert, ...] = (
    ENGINE_DOWN,
    TARGETS_MISSING,
    ENGINE_STUCK,
    DECODE_COMPUTES,
    PREFILL_HOLDS,
    KV_FETCH,
    TRANSFERS_FAIL,
    QUEUE,
    PREEMPTIONS,
    ABORTS,
    PREFILL_WAITS,
    DECODE_WAITS,
    PAIRS_DIFFER,
    ROUTER_DOWN,
    ROUTER_ERRORS,
    ROUTER_WORKER,
    PROXY_DOWN,
    PROXY_ENGINES,
    PROXY_OLD,
    STORE_DOWN,
    STORE_CLIENTS,
    STORE_RESTARTED,
    STORE_FULL,
    STANDBY,
    NPU_LINK,
    NPU_FLAPS,
    NPU_HEALTH,
    NPU_QUERY,
    NPU_MISSING,
    NPU_OLD,
    NPU_ECC,
    NPU_ROCE,
    LOG_FLAGS,
    LOG_UNREAD,
    PROBE_FAILS,
    ENGINE_FAILS,
    PROBE_OLD,
)


def by_name() -> dict[str, Alert]:
    """All alerts by their name."""
    return {alert.name: alert for alert in ALERTS}


def parts_of(plan: t.Mapping[str, t.Any], npu: str, probe: bool, proxies: bool = False, logs: bool = False) -> set[str]:
    """The parts of a deployment that alerts and panels may need."""
    kinds = {service["kind"] for service in plan["services"]}
    masters = [service for service in plan["services"] if service["kind"] == "mooncake_master"]
    found = {"npu"} if npu != "none" and any(service["devices"] for service in plan["services"]) else set()
    found |= {"logs"} if logs else set()
    found |= {"probe"} if probe or "probe" in kinds else set()
    found |= {"disaggregated"} if {"prefill", "decode"} <= kinds else set()
    found |= {"store"} if masters else set()
    found |= {"ha"} if len(masters) > 1 else set()
    found |= {"proxies"} if proxies and silent_routers(plan) else set()
    routers = [service for service in plan["services"] if service["kind"] == "router"]
    if any(port["name"] == "metrics" for service in routers for port in service["ports"]):
        found.add("router_metrics")
    return found
