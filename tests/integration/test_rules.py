# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules and queries judged by the promtool of this machine's distribution, on series that were made up.

Each fault changes some series of a healthy deployment: exactly its alerts fire, and none fires without it.
"""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring import metrics
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.files import monitoring_files
from ansible_collections.ascend.inference.tests.integration import _monitoring
from ansible_collections.ascend.inference.tests.integration._monitoring import STEPS, growing, promtool, steady

EXPORTER = {"npu": "npu_exporter", "probe": True, "node_exporter": True}
COLLECTOR = {"npu": "collector", "probe": True, "node_exporter": True}
PROXIES = {"proxies": True, "node_exporter": True}
LOGS = {"logs": True, "node_exporter": True}
SETTINGS = {"npu_exporter": EXPORTER, "collector": COLLECTOR, "proxies": PROXIES, "logs": LOGS}
GONE = None
OTHERS = "all but up"
DECODE, PREFILL = {"service": "decode-0"}, {"service": "prefill-0"}
NODE = {"host": "node3"}
SECONDS = 1500  # when the alerts are read
ONCE = f"0x{STEPS // 2} 1x{STEPS}"  # a counter that grows once, between the two last changes of the window
LATE = f"2+0x{STEPS * 5 // 6 - 4} 3+0x{STEPS}"  # the same shortly before the alerts are read
EARLIER = f"2+0x{STEPS // 2 + 4} 3+0x{STEPS}"  # the same, for an alert that waits
ANEW = f"0+30x{STEPS * 5 // 6 - 4} 0+30x{STEPS}"  # a counter of a process that was replaced at that time
BEGINS = f"0x{STEPS * 5 // 6 - 4} 0+30x{STEPS}"  # a counter of a process that has work from then on
NONE_YET = f"_x{STEPS * 5 // 6 - 4} 1+0x{STEPS}"  # a series that appears with its first error

# (settings, the alerts that fire, the changed series: name, labels, values; GONE as values: removed, as name: all series)
STILL = [
    *(
        (f"vllm:{name}_total", DECODE, steady(900))
        for name in ("generation_tokens", "prompt_tokens", "prompt_tokens_by_source")
    ),
    ("vllm:num_requests_kv_fetch_by_stage", DECODE, steady(0)),
]
IDLE = [("vllm:num_requests_running", PREFILL, steady(0)), ("vllm:num_requests_waiting", PREFILL, steady(0))]
WAITING = [("vllm:num_requests_running", DECODE, steady(0)), ("vllm:num_requests_waiting", DECODE, steady(3))]
LOST = ("vllm_router_worker_health", {"worker": "http://10.1.0.3:7300"}, steady(0))
FAULTS = [
    (EXPORTER, {"EngineDown"}, [(OTHERS, DECODE, GONE), ("up", DECODE, steady(0))]),
    # The router loses the engine, too; a second one that it loses has its own alert.
    (EXPORTER, {"EngineDown"}, [(OTHERS, DECODE, GONE), ("up", DECODE, steady(0)), LOST]),
    (
        EXPORTER,
        {"EngineDown", "RouterLostEngine"},
        [(OTHERS, DECODE, GONE), ("up", DECODE, steady(0)), ("vllm_router_worker_health", {}, steady(0))],
    ),
    (EXPORTER, {"RouterLostEngine"}, [LOST]),
    # So does the store.
    (
        EXPORTER,
        {"EngineDown"},
        [(OTHERS, DECODE, GONE), ("up", DECODE, steady(0)), ("master_active_clients", {}, steady(3))],
    ),
    (EXPORTER, {"EngineStuck"}, [*STILL, ("master_active_clients", {}, steady(3))]),
    (EXPORTER, {"TargetsMissing"}, [(GONE, PREFILL, GONE)]),
    (EXPORTER, {"EngineStuck"}, STILL),
    (
        EXPORTER,
        {"DecodeComputesPrompts"},
        [
            ("vllm:prompt_tokens_by_source_total", {**DECODE, "source": "local_compute"}, growing(300)),
            ("vllm:prompt_tokens_by_source_total", {**DECODE, "source": "external_kv_transfer"}, growing(700)),
        ],
    ),
    (EXPORTER, {"PrefillHoldsIdleKV"}, IDLE),
    (
        EXPORTER,
        {"KvFetchHangs"},
        [("vllm:prompt_tokens_by_source_total", {**DECODE, "source": "external_kv_transfer"}, steady(900))],
    ),
    (EXPORTER, {"TransfersFail"}, [("vllm:mooncake_num_failed_transfers_total", DECODE, LATE)]),
    (
        EXPORTER,
        {"QueueNearHoldTimeout"},
        [("vllm:request_queue_time_seconds_bucket", {**DECODE, "le": "60"}, steady(0))],
    ),
    (EXPORTER, {"PreemptionStorm"}, [("vllm:num_preemptions_total", DECODE, growing(10))]),
    (EXPORTER, {"AbortRatio"}, [("vllm:request_success_total", {**DECODE, "finished_reason": "abort"}, growing(5))]),
    (EXPORTER, {"PrefillOverloaded"}, [("vllm:num_requests_waiting", PREFILL, steady(9))]),
    (
        EXPORTER,
        {"DecodeOverloaded"},
        [
            ("vllm:num_requests_waiting", DECODE, steady(9)),
            ("vllm:num_requests_running", {"role": "prefill"}, steady(0)),
        ]
        + [("vllm:kv_cache_usage_perc", {"role": "prefill"}, steady(0.1))],
    ),
    (EXPORTER, {"EnginesDiffer"}, [("vllm:cache_config_info", {**DECODE, "block_size": "128"}, "relabelled")]),
    (EXPORTER, {"RouterDown"}, [(OTHERS, {"role": "router"}, GONE), ("up", {"role": "router"}, steady(0))]),
    (EXPORTER, {"RouterErrors"}, [("vllm_router_pd_decode_errors_total", {}, LATE)]),
    (EXPORTER, {"RouterErrors"}, [("vllm_router_pd_decode_errors_total", {}, NONE_YET)]),
    (EXPORTER, {"RouterLostEngine"}, [("vllm_router_worker_health", {}, steady(0))]),
    (
        EXPORTER,
        {"StoreDown"},
        [(OTHERS, {"instance": "mooncake_master-1"}, GONE), ("up", {"instance": "mooncake_master-1"}, steady(0))],
    ),
    (EXPORTER, {"StoreMissesEngines"}, [("master_active_clients", {}, steady(3))]),
    (
        EXPORTER,
        {"StoreRestarted"},
        [
            ("master_remount_segment_requests_total", {}, LATE),
            ("master_ping_requests_total", {"instance": "mooncake_master-0"}, ANEW),
        ],
    ),
    (
        EXPORTER,
        {"StoreRestarted"},
        [
            ("master_remount_segment_requests_total", {}, LATE),
            ("master_ping_requests_total", {"instance": "mooncake_master-1"}, BEGINS),
        ],
    ),
    (
        EXPORTER,
        {"StoreFull"},
        [("master_allocated_bytes", {}, steady(999)), ("master_put_start_alloc_failures_total", {}, growing(2))],
    ),
    (EXPORTER, {"StandbyLags"}, [("ha_oplog_standby_lag", {}, steady(5000))]),
    (EXPORTER, {"NpuLinkDown"}, [("npu_chip_info_link_status", NODE, steady(0))]),
    (EXPORTER, {"NpuLinkFlaps"}, [("npu_chip_link_up_num", NODE, LATE)]),
    (EXPORTER, {"NpuUnhealthy"}, [("npu_chip_info_health_status", NODE, steady(0))]),
    (EXPORTER, {"NpuQueryFails"}, [("npu_chip_info_link_status", NODE, steady(-1))]),
    (EXPORTER, {"HbmEcc"}, [("npu_chip_info_hbm_ecc_double_bit_error_cnt", NODE, ONCE)]),
    (EXPORTER, {"RoceErrors"}, [("npu_chip_roce_tx_err_pkt_num", NODE, LATE)]),
    (EXPORTER, {"ProbeFails"}, [("inference_probe_success", {"path": "clients"}, steady(0))]),
    (EXPORTER, {"EngineFailsAll"}, [("inference_probe_engine_failed_rounds", {"engine": "decode-0"}, steady(2))]),
    (EXPORTER, {"ProbeMissing"}, [("inference_probe_last_run_timestamp_seconds", {}, GONE)]),
    (EXPORTER, {"ProbeMissing"}, [("inference_probe_last_run_timestamp_seconds", {}, steady(60))]),
    (
        EXPORTER,
        {"ProbeMissing"},
        [
            ("inference_probe_last_run_timestamp_seconds", {}, steady(60)),
            ("inference_probe_paused_until_timestamp_seconds", {}, steady(60)),
        ],
    ),
    (LOGS, {"LogRedFlags"}, [("inference_log_red_flags_total", {"flag": "kv_freed_by_force"}, LATE)]),
    (LOGS, {"LogRedFlags", "TransfersFail"}, [("inference_log_red_flags_total", {"flag": "transfer_failed"}, LATE)]),
    (LOGS, {"LogUnread"}, [("inference_log_read", {}, steady(0))]),
    (LOGS, {"LogUnread"}, [("inference_log_gaps_total", {}, EARLIER)]),
    (LOGS, {"LogUnread"}, [("inference_log_last_run_timestamp_seconds", {}, steady(60))]),
    (LOGS, {"LogUnread"}, [(GONE, {"job": "inference-host"}, GONE)]),
    (PROXIES, {"ProxyDown"}, [("inference_router_up", {}, steady(0)), ("inference_router_engines", {}, GONE)]),
    (PROXIES, {"ProxyLostEngines"}, [("inference_router_engines", {"pool": "prefill"}, steady(1))]),
    (PROXIES, {"ProxyLostEngines"}, [("inference_router_engines", {"pool": "decode"}, steady(0))]),
    (PROXIES, {"ProxyMetricsOld"}, [("inference_router_last_run_timestamp_seconds", {}, steady(60))]),
    (PROXIES, {"ProxyMetricsOld"}, [(GONE, {"job": "inference-host"}, GONE)]),
    (COLLECTOR, {"NpuLinkDown"}, [("inference_npu_link", NODE, steady(0))]),
    (COLLECTOR, {"NpuLinkFlaps"}, [("inference_npu_link_changes_total", NODE, LATE)]),
    (COLLECTOR, {"NpuUnhealthy"}, [("inference_npu_health", NODE, steady(0))]),
    (COLLECTOR, {"NpuQueryFails"}, [("inference_npu_query_failed", NODE, steady(1))]),
    (COLLECTOR, {"NpuMetricsOld"}, [("inference_npu_last_run_timestamp_seconds", NODE, steady(60))]),
    # An exporter or a chip that is gone has no series, of which no other alert could fire.
    (COLLECTOR, {"NpuMissing"}, [(GONE, {**NODE, "job": "inference-host"}, GONE)]),
    (COLLECTOR, {"NpuMissing"}, [(GONE, {**NODE, "device": "1"}, GONE)]),
    (EXPORTER, {"NpuMissing"}, [(GONE, {**NODE, "job": "inference-npu"}, GONE)]),
    (EXPORTER, {"NpuMissing"}, [(GONE, {**NODE, "id": "1"}, GONE)]),
    # One service of one host, and one host of several.
    (LOGS, {"LogUnread"}, [(GONE, {"job": "inference-host", "service": "decode-0-0"}, GONE)]),
    (LOGS, {"LogUnread"}, [(GONE, {"job": "inference-host", "host": "node1"}, GONE)]),
    # No request can begin: the memory of prefill is full of KV cache that nobody fetches, or decode waits for some.
    (EXPORTER, {"EngineStuck"}, [*STILL, *WAITING]),
    (EXPORTER, {"KvFetchHangs"}, [*STILL[:-1], *WAITING]),
    (COLLECTOR, {"HbmEcc"}, [("inference_npu_ecc_double_bit_errors_total", NODE, ONCE)]),
]
PAUSED = "inference_probe_paused_until_timestamp_seconds"
SHORT, LONGER = (
    f"1x47 0x{STEPS}",
    f"1x40 0x{STEPS}",
)  # bad at the last evaluation only, and for five minutes: shorter than the alerts wait
LEFT = "1x46 stale"
BEHIND = f"-3600+{_monitoring.INTERVAL}x{STEPS}"  # of a host whose clock is an hour behind
AHEAD = steady(5000)  # stopped, on a host whose clock is an hour ahead
RUNS = {"ProbeMissing": (EXPORTER, "probe", {}), "NpuMetricsOld": (COLLECTOR, "npu", NODE)}
RUNS |= {"ProxyMetricsOld": (PROXIES, "router", {}), "LogUnread": (LOGS, "log", {})}
RECENT = f"0+{_monitoring.INTERVAL}x32 960+0x{STEPS}"  # eight minutes ago
# Nothing fires: an idle deployment, states that are unusual and right, and for each alert (the third value) one that is not enough, or is over.
QUIET = [
    (EXPORTER, [], ""),
    (COLLECTOR, [], ""),
    (PROXIES, [], ""),
    (EXPORTER, [*STILL, ("vllm:num_requests_running", DECODE, steady(0))], "EngineStuck"),
    # A long prompt is computed: no token of an answer.
    (EXPORTER, [("vllm:generation_tokens_total", PREFILL, steady(900))], "EngineStuck"),
    (EXPORTER, [*IDLE, ("vllm:kv_cache_usage_perc", PREFILL, steady(0.29))], "PrefillHoldsIdleKV"),
    (
        EXPORTER,
        [("vllm:num_requests_waiting", PREFILL, f"0x{STEPS * 5 // 6 - 4} 9x{STEPS}")],
        "PrefillOverloaded",
    ),
    (
        EXPORTER,
        [
            ("vllm:num_requests_waiting", PREFILL, steady(9)),
            ("vllm:num_requests_running", {"role": "decode"}, steady(1000)),
        ],
        "PrefillOverloaded",
    ),
    (
        EXPORTER,
        [("inference_probe_last_run_timestamp_seconds", {}, steady(60)), (PAUSED, {}, steady(7200))],
        "ProbeMissing",
    ),
    (EXPORTER, [("master_allocated_bytes", {}, steady(999))], "StoreFull"),
    (EXPORTER, [("vllm_router_pd_decode_errors_total", {}, GONE)], "RouterErrors"),
    (EXPORTER, [("vllm_router_pd_decode_errors_total", {}, steady(900))], "RouterErrors"),
    (EXPORTER, [("vllm:request_queue_time_seconds_bucket", {}, steady(7))], "QueueNearHoldTimeout"),
    (
        EXPORTER,
        [("vllm:request_queue_time_seconds_bucket", {**DECODE, "le": "60"}, growing(29.8))],
        "QueueNearHoldTimeout",
    ),
    (EXPORTER, [("up", DECODE, SHORT)], "EngineDown"),
    (EXPORTER, [("up", PREFILL, LEFT)], "TargetsMissing"),
    (
        EXPORTER,
        [
            ("vllm:prompt_tokens_by_source_total", {**DECODE, "source": "local_compute"}, growing(190)),
            ("vllm:prompt_tokens_by_source_total", {**DECODE, "source": "external_kv_transfer"}, growing(810)),
        ],
        "DecodeComputesPrompts",
    ),
    (
        EXPORTER,
        [("vllm:prompt_tokens_by_source_total", {**DECODE, "source": "external_kv_transfer"}, growing(1))],
        "KvFetchHangs",
    ),
    (EXPORTER, [("vllm:mooncake_num_failed_transfers_total", DECODE, steady(900))], "TransfersFail"),
    (EXPORTER, [("vllm:num_preemptions_total", DECODE, growing(2.9))], "PreemptionStorm"),
    (EXPORTER, [("vllm:request_success_total", {**DECODE, "finished_reason": "abort"}, growing(1.5))], "AbortRatio"),
    (EXPORTER, [("vllm:num_requests_waiting", DECODE, steady(9))], "DecodeOverloaded"),
    (EXPORTER, [("vllm:cache_config_info", {}, "relabelled")], "EnginesDiffer"),
    (EXPORTER, [("up", {"role": "router"}, SHORT)], "RouterDown"),
    (EXPORTER, [("vllm_router_worker_health", {}, SHORT)], "RouterLostEngine"),
    (EXPORTER, [("up", {"instance": "mooncake_master-1"}, SHORT)], "StoreDown"),
    (EXPORTER, [("master_active_clients", {"instance": "mooncake_master-1"}, steady(3))], "StoreMissesEngines"),
    (EXPORTER, [("master_remount_segment_requests_total", {}, steady(900))], "StoreRestarted"),
    (EXPORTER, [("master_remount_segment_requests_total", {}, LATE)], "StoreRestarted"),  # of an engine that hung
    (EXPORTER, [("ha_oplog_standby_lag", {}, steady(1000))], "StandbyLags"),
    (EXPORTER, [("npu_chip_info_link_status", NODE, SHORT)], "NpuLinkDown"),
    (EXPORTER, [("npu_chip_link_up_num", NODE, steady(900))], "NpuLinkFlaps"),
    (EXPORTER, [("npu_chip_info_health_status", NODE, SHORT)], "NpuUnhealthy"),
    (EXPORTER, [("npu_chip_info_health_status", NODE, LONGER.replace(" 0", " -1"))], "NpuQueryFails"),
    (EXPORTER, [("npu_chip_info_health_status", {**NODE, "id": "1"}, LEFT)], "NpuMissing"),
    (EXPORTER, [("npu_chip_info_hbm_ecc_double_bit_error_cnt", NODE, steady(7))], "HbmEcc"),
    (EXPORTER, [("npu_chip_roce_tx_err_pkt_num", NODE, steady(900))], "RoceErrors"),
    (EXPORTER, [("inference_probe_success", {"path": "clients"}, SHORT)], "ProbeFails"),
    (EXPORTER, [("inference_probe_engine_failed_rounds", {"engine": "decode-0"}, steady(1))], "EngineFailsAll"),
    (EXPORTER, [("inference_probe_last_run_timestamp_seconds", {}, RECENT)], "ProbeMissing"),
    (COLLECTOR, [("inference_npu_link", NODE, steady(-1))], "NpuLinkDown"),
    (COLLECTOR, [("inference_npu_health", NODE, steady(-1))], "NpuUnhealthy"),
    (COLLECTOR, [("inference_npu_link_changes_total", NODE, steady(900))], "NpuLinkFlaps"),
    (COLLECTOR, [("inference_npu_query_failed", NODE, f"0x40 1x{STEPS}")], "NpuQueryFails"),
    (COLLECTOR, [("inference_npu_health", {**NODE, "device": "1"}, LEFT)], "NpuMissing"),
    (COLLECTOR, [("inference_npu_last_run_timestamp_seconds", NODE, RECENT)], "NpuMetricsOld"),
    (COLLECTOR, [("inference_npu_ecc_double_bit_errors_total", NODE, steady(7))], "HbmEcc"),
    (PROXIES, [("inference_router_up", {}, SHORT)], "ProxyDown"),
    (PROXIES, [("inference_router_engines", {"pool": "prefill"}, f"2x40 1x{STEPS}")], "ProxyLostEngines"),
    (PROXIES, [("inference_router_last_run_timestamp_seconds", {}, RECENT)], "ProxyMetricsOld"),
    # Blocks that were computed again after a failed load are no alert; a flag that was there before is none either.
    (LOGS, [("inference_log_red_flags_total", {"flag": "transfer_failed"}, steady(900))], "LogRedFlags"),
    (LOGS, [("inference_log_red_flags_total", {"flag": "transfer_failed"}, steady(7))], "TransfersFail"),
    (LOGS, [("inference_log_read", {}, SHORT)], "LogUnread"),
    (LOGS, [("inference_log_gaps_total", {}, steady(900))], "LogUnread"),
    (LOGS, [("inference_log_last_run_timestamp_seconds", {}, RECENT)], "LogUnread"),
]


for alert, (raw, part, labels) in RUNS.items():
    FAULTS.append((raw, {alert}, [(f"inference_{part}_last_run_timestamp_seconds", labels, AHEAD)]))
    QUIET.append((raw, [(f"inference_{part}_last_run_timestamp_seconds", labels, BEHIND)], alert))


@pytest.fixture(scope="module", autouse=True)
def program():
    _monitoring.install()


@pytest.fixture(scope="module")
def plan():
    return _monitoring.watched_plan()


def plan_for(raw, plan):
    """The plan with everything; for proxies and logs another one, because its router and its connector have metrics."""
    found = _monitoring.watched_plan("p2p") if raw in (PROXIES, LOGS) else plan
    if raw == LOGS:  # a connector that exports nothing
        for service in found["services"]:
            service["argv"] = [word.replace("MooncakeConnectorV2", "MooncakeConnectorV1") for word in service["argv"]]
    return found


def changed(series, changes):
    """The series with some of them changed, or removed."""
    for name, labels, values in changes:
        matching = [
            item
            for item in series
            if (name in (GONE, item.name) or (name == OTHERS and item.name != "up"))
            and labels.items() <= item.labels.items()
        ]
        assert matching, f"no series {name} {labels}"
        for item in matching:
            series.remove(item)
            if values == "relabelled":
                series.append(item._replace(labels={**item.labels, "block_size": "16"}))
            elif values is not GONE:
                series.append(item._replace(values=values))
    return series


def run_cases(folder, plan, cases):
    """Run promtool on cases (settings, alerts, changes) with the same settings: (status, output)."""
    tests = []
    for raw, alerts, changes in cases:
        series = changed(_monitoring.healthy(plan, raw), changes)
        samples = [{"labels": f'{{alertname="Inference{name}"}}', "value": 1} for name in sorted(alerts)]
        found = 'count by (alertname) (count by (alertname, deployment) (ALERTS{alertstate="firing"}))'
        tests.append(
            {
                "name": f"{sorted(alerts)} {changes}",
                "interval": f"{_monitoring.INTERVAL}s",
                "input_series": [{"series": item.text(), "values": item.values} for item in series],
                "promql_expr_test": [{"expr": found, "eval_time": f"{SECONDS}s", "exp_samples": samples}],
            }
        )
    rules = monitoring_files(plan, cases[0][0])["files"][1]["content"]
    (folder / "rules.yml").write_text(rules, encoding="utf-8")
    data = {"rule_files": ["rules.yml"], "evaluation_interval": "120s", "tests": tests}
    (folder / "tests.yml").write_text(json.dumps(data), encoding="utf-8")
    return promtool("test", "rules", str(folder / "tests.yml"))


@pytest.mark.parametrize("raw", SETTINGS.values(), ids=SETTINGS)
def test_each_fault_raises_exactly_its_alert(tmp_path, plan, raw):
    status, output = run_cases(tmp_path, plan_for(raw, plan), [case for case in FAULTS if case[0] == raw])
    assert status == 0, output


@pytest.mark.parametrize("raw", SETTINGS.values(), ids=SETTINGS)
def test_what_is_right_raises_no_alert(tmp_path, plan, raw):
    status, output = run_cases(
        tmp_path, plan_for(raw, plan), [(raw, set(), changes) for own, changes, _alert in QUIET if own == raw]
    )
    assert status == 0, output


def test_every_alert_has_a_fault_and_one_that_is_not_enough():
    """For each way to read its metrics: that of npu-exporter and of the own collector, of connectors and of logs."""
    series = {}
    for _raw, changes, alert in QUIET:
        series.setdefault(alert, set()).update(name for name, _labels, _values in changes)
    for alert in ALERTS:
        assert alert.name in {name for _raw, alerts, _changes in FAULTS for name in alerts}
        assert metrics.names_in(" ".join(alert.expressions)) & series.get(alert.name, set()), alert.name
    for name in ("NpuLinkDown", "NpuUnhealthy", "NpuQueryFails", "NpuLinkFlaps", "HbmEcc", "NpuMissing"):
        kinds = {found.split("_")[0] for found in series[name]}
        assert kinds == {"npu", "inference"}, name


def annotated(folder, plan, cases, rules_of=None):
    """[(description, link, summary)] of all alerts of the faults as Prometheus renders them: promtool prints them where none is expected."""
    tests = []
    for raw, alerts, changes in cases:
        series = changed(_monitoring.healthy(plan, raw), changes)
        names = [f"Inference{name}" for name in sorted(alerts)]
        tests.append(
            {
                "interval": f"{_monitoring.INTERVAL}s",
                "input_series": [{"series": item.text(), "values": item.values} for item in series],
                "alert_rule_test": [
                    {"alertname": name, "eval_time": f"{SECONDS}s", "exp_alerts": []} for name in names
                ],
            }
        )
    rules = monitoring_files(rules_of or plan, cases[0][0])["files"][1]["content"]
    (folder / "rules.yml").write_text(rules, encoding="utf-8")
    data = {"rule_files": ["rules.yml"], "evaluation_interval": "120s", "tests": tests}
    (folder / "tests.yml").write_text(json.dumps(data), encoding="utf-8")
    _status, output = promtool("test", "rules", str(folder / "tests.yml"))
    text = r'"((?:[^"\\]|\\.)*)"'
    return re.findall(rf"Annotations:\{{description={text}, runbook_url={text}, summary={text}\}}", output)


@pytest.mark.parametrize("raw", SETTINGS.values(), ids=SETTINGS)
def test_each_alert_says_where_what_and_at_which_limit(tmp_path, plan, raw):
    plan = plan_for(raw, plan)
    services, hosts = ({item["name"] for item in plan[kind]} for kind in ("services", "hosts"))
    # One fault of each alert, if possible one that raises no other.
    cases = [min((case for case in FAULTS if alert.name in case[1]), key=lambda case: len(case[1])) for alert in ALERTS]
    found = annotated(tmp_path, plan, [case for case in cases if case[0] is raw])
    links = {link.rpartition("#")[2] for _description, link, _summary in found}
    assert links == {name.lower() for case in cases if case[0] is raw for name in case[1]}
    for description, link, summary in found:
        alert = next(item for item in ALERTS if link.endswith(f"/guide_monitoring.rst#{item.name.lower()}"))
        assert summary.endswith(f": {alert.summary}"), summary
        where = summary[: -len(alert.summary) - 2]
        assert where.split(", ")[0] == plan["deployment"], summary
        assert not re.search(r"\{\{|no value| [:,]|  | $|, *$|\bon *$", where), summary
        words = set(re.split(r"[ ,]+|->", where))
        wanted = {"host": hosts, "npu": hosts, "reader": hosts}.get(alert.of, services)
        assert words & wanted or alert.of in ("deployment", "path", "probe"), summary
        assert words & hosts or alert.of not in ("service", "worker", "flag"), summary
        assert alert.of != "npu" or re.search(r"NPU \d+$", where), summary
        assert f"of inference_monitoring.alerts.{alert.name}: " in description, description
        assert description.endswith(f"for {alert.after} s."), description
        assert not alert.unit or f"threshold {alert.threshold} {alert.unit}" in description, description


def test_alerts_of_a_router_name_the_engine(tmp_path, plan):
    """By its name in the plan; one that is in no plan keeps its URL."""
    services = {service["name"]: service for service in plan["services"]}
    labels = {"worker": services["prefill-1"]["health"]["url"].rpartition("/")[0]}
    cases = [
        (EXPORTER, {"RouterLostEngine"}, [("vllm_router_worker_health", labels, steady(0))]),
        (EXPORTER, {"RouterErrors"}, [("vllm_router_pd_decode_errors_total", labels, LATE)]),
    ]
    moved = [{**service, "address": "10.9.9.9"} for service in plan["services"]]
    for rules_of, name in ((plan, "prefill-1 on node2"), ({**plan, "services": moved}, labels["worker"])):
        found = annotated(tmp_path, plan, cases, rules_of)
        assert len(found) == 2, found
        assert all(row[2].startswith(f"inference, engine {name} of router on node1: ") for row in found), found


@pytest.mark.parametrize("raw", [{}, EXPORTER, {"install": True, "alerts": {"EngineDown": {"after": 5}}}])
def test_prometheus_accepts_the_files(tmp_path, plan, raw):
    made = monitoring_files(plan, {**raw, "directory": str(tmp_path)})
    for folder in made["folders"]:
        (tmp_path / folder["path"]).mkdir(parents=True, exist_ok=True)
    for file in made["files"]:
        (tmp_path / file["path"]).write_text(file["content"], encoding="utf-8")
    (tmp_path / "prometheus.yml").write_text(made["configuration"], encoding="utf-8")
    status, output = promtool("check", "config", str(tmp_path / "prometheus.yml"))
    assert status == 0 and "1 rule files found" in output and "FAILED" not in output, output


def test_every_query_of_the_dashboard_parses(tmp_path, plan):
    queries = set()
    for raw in SETTINGS.values():
        board = json.loads(monitoring_files(plan_for(raw, plan), raw)["files"][2]["content"])
        queries |= {target["expr"] for panel in board["panels"] for target in panel.get("targets", ())}
    rules = [
        {"record": f"query{number}", "expr": query.replace("$__rate_interval", "1m")}
        for number, query in enumerate(sorted(queries))
    ]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "a", "rules": rules}]}), encoding="utf-8")
    status, output = promtool("check", "rules", str(tmp_path / "rules.yml"))
    assert status == 0 and len(rules) > 40, output
