# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Grafana dashboard of a deployment (schema of Grafana 9): prefill and decode beside each other, and what flows between them.

A panel whose metrics no service exports is left out, and with its last panel a row.
"""

from __future__ import annotations

import collections
import string
import typing as t

from ..plan.service import digest
from .alerts import BY, parts_of
from .metrics import exported, names_in
from .rules import host_selector, selector
from .settings import Monitoring
from .targets import targets

Record = t.Mapping[str, t.Any]
SCHEMA = 37  # of Grafana 9; later ones migrate it
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
HEIGHT, WIDTH = 7, 24
LONGEST_UID = 40  # characters
GOOD, BAD, UNKNOWN = "green", "red", "purple"
# Without these, Grafana paints every value below 80 green: also 0, a link that is down, and -1, one whose state is not known.
STEPS: dict[str, t.Any] = {"mode": "absolute", "steps": [{"color": BAD, "value": None}, {"color": GOOD, "value": 1}]}


class Panel(t.NamedTuple):
    """A panel: its width, and (expression, legend) of each curve. ``expressions`` with unknown metrics are left out.

    Of several with one legend, which are names of several releases, the first that is known is shown.
    """

    title: str
    unit: str
    width: int
    expressions: tuple[tuple[str, str], ...]
    kind: str = "timeseries"
    about: str = ""
    states: tuple[str, str] = ("", "")  # the names of the values 1 and 0; -1 is unknown


def _quantiles(metric: str, role: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (
            f'histogram_quantile({part}, sum by (le) (rate(vllm:{metric}_bucket{{$of,role="{role}"}}[$rate])))',
            f"p{int(part * 100)}",
        )
        for part in (0.5, 0.99)
    )


def _share(cache: str, of: str) -> str:
    """The part of looked up tokens that a cache had."""
    found, asked = (f"sum(rate(vllm:{cache}_{what}_total{of}[$rate]))" for what in ("hits", "queries"))
    return f"{found} / {asked}"


def _pool(role: str, width: int) -> list[Panel]:
    """What one pool does; the panels of prefill and decode have the same order."""
    of = f'{{$of,role="{role}"}}'
    return [
        Panel(
            f"Requests at {role}",
            "short",
            width,
            (
                (f"sum(vllm:num_requests_running{of})", "running"),
                (f"sum(vllm:num_requests_waiting{of})", "waiting"),
            ),
        ),
        Panel(
            f"Tokens per second of {role}",
            "short",
            width,
            (
                (f"sum(rate(vllm:prompt_tokens_total{of}[$rate]))", "prompt"),
                (f"sum(rate(vllm:generation_tokens_total{of}[$rate]))", "generated"),
            ),
        ),
        Panel(
            f"KV cache in use at {role}",
            "percentunit",
            width,
            ((f"max by ($by) (vllm:kv_cache_usage_perc{of})", "{{service}}"),),
            about="On prefill also blocks that wait for decode.",
        ),
        Panel(
            f"Prompt tokens that {role} finds in KV caches",
            "percentunit",
            width,
            (
                (_share("prefix_cache", of), "own memory"),
                (_share("gpu_prefix_cache", of), "own memory"),
                (_share("external_prefix_cache", of), "from others"),
            ),
            about="Pages that are computed already. From others: of prefill or of a store, as the connector promised them.",
        ),
        Panel(
            f"Time to first token at {role}",
            "s",
            width,
            _quantiles("time_to_first_token_seconds", role),
            about="Of this engine only: decode does not count the time of prefill.",
        ),
        Panel(f"Time between tokens at {role}", "s", width, _quantiles("inter_token_latency_seconds", role)),
        Panel(f"Time in the queue of {role}", "s", width, _quantiles("request_queue_time_seconds", role)),
    ]


def _beside(first: list[Panel], second: list[Panel]) -> list[Panel]:
    return [panel for pair in zip(first, second, strict=True) for panel in pair]


HEALTH = [
    Panel("Engines that answer", "short", 8, (('sum by (role) (up{$of,job="inference-engine"})', "{{role}}"),), "stat"),
    Panel("Alerts", "short", 8, (('sum by (alertname) (ALERTS{$of,alertstate="firing"})', "{{alertname}}"),), "table"),
    Panel(
        "Ended requests per second",
        "short",
        8,
        (
            (
                "sum by (role, finished_reason) (rate(vllm:request_success_total{$of}[$rate]))",
                "{{role}} {{finished_reason}}",
            ),
        ),
    ),
]
FLOW = [
    Panel(
        "Prompt tokens of decode by source",
        "short",
        12,
        (('sum by (source) (rate(vllm:prompt_tokens_by_source_total{$of,role="decode"}[$rate]))', "{{source}}"),),
        about="external_kv_transfer came from prefill. local_compute should be near zero.",
    ),
    Panel(
        "KV cache that decode waits for",
        "short",
        12,
        (('sum by (stage) (vllm:num_requests_kv_fetch_by_stage{$of,role="decode"})', "{{stage}}"),),
    ),
    Panel(
        "KV cache held by prefill without requests",
        "percentunit",
        12,
        (
            (
                'max by ($by) (vllm:kv_cache_usage_perc{$of,role="prefill"}) unless '
                'sum by ($by) (vllm:num_requests_running{$of,role="prefill"}) > 0',
                "{{service}}",
            ),
        ),
        about="Blocks of prompts that no decode has fetched yet.",
    ),
    Panel(
        "Transfers of KV cache",
        "s",
        12,
        (
            (
                "histogram_quantile(0.99, sum by (le) (rate(vllm:mooncake_xfer_time_seconds_bucket{$of}[$rate])))",
                "p99 of the time",
            ),
        ),
    ),
    Panel(
        "Failed transfers of KV cache per second",
        "short",
        12,
        (("sum(rate(vllm:mooncake_num_failed_transfers_total{$of}[$rate]))", "failed"),),
    ),
]
LOGS = [
    Panel(
        "Red flags in logs",
        "short",
        12,
        (
            (
                "sum by (service, flag) (increase(inference_log_red_flags_total{$of}[$rate])) > 0",
                "{{service}} {{flag}}",
            ),
        ),
        about="Messages about lost, late or wrong KV cache. A log that is not read raises the alert LogUnread.",
    ),
    Panel(
        "Transfers of KV cache by logs",
        "s",
        12,
        (
            (
                "sum by (service) (rate(inference_log_transfer_seconds_total{$of}[$rate])) / "
                "sum by (service) (rate(inference_log_transfers_total{$of}[$rate]))",
                "{{service}}, average",
            ),
        ),
        about="For connectors that export no metrics.",
    ),
]
ROUTER = [
    Panel("Engines that the router uses", "short", 8, (("vllm_router_worker_health{$of}", "{{worker}}"),)),
    Panel(
        "Time of requests at the router",
        "s",
        8,
        (
            (
                "histogram_quantile(0.99, sum by (le) (rate(vllm_router_pd_request_duration_seconds_bucket{$of}[$rate])))",
                "p99",
            ),
            (
                "histogram_quantile(0.99, sum by (le) (rate(vllm_router_generate_duration_seconds_bucket{$of}[$rate])))",
                "p99",
            ),
        ),
    ),
    Panel(
        "Errors of the router per second",
        "short",
        8,
        (
            ("sum by (worker) (rate(vllm_router_pd_decode_errors_total{$of}[$rate]))", "decode {{worker}}"),
            ("sum by (worker) (rate(vllm_router_pd_prefill_errors_total{$of}[$rate]))", "prefill {{worker}}"),
            ("sum by (error_type) (rate(vllm_router_request_errors_total{$of}[$rate]))", "{{error_type}}"),
            ("sum(rate(vllm_router_retries_exhausted_total{$of}[$rate]))", "failed after all retries"),
        ),
        about="A line begins with the first error of its kind.",
    ),
]
PROXY = [
    Panel("Engines that the proxy uses", "short", 12, (("inference_router_engines{$of}", "{{service}} {{pool}}"),)),
    Panel("Requests at the proxy", "short", 12, (("inference_router_requests{$of}", "{{service}}"),)),
]
STORE = [
    Panel(
        "Memory of the store",
        "bytes",
        8,
        (
            ("sum(master_allocated_bytes{$of})", "used"),
            ("sum(master_total_capacity_bytes{$of})", "capacity"),
        ),
    ),
    Panel("Clients of the store", "short", 8, (("max(master_active_clients{$of})", "clients"),)),
    Panel(
        "Reads and evictions of the store per second",
        "short",
        8,
        (
            ("sum(rate(valid_get_nums_{$of}[$rate]))", "found"),
            ("sum(rate(total_get_nums_{$of}[$rate]))", "read"),
            ("sum(rate(master_successful_evictions_total{$of}[$rate]))", "evictions"),
        ),
    ),
]
NPU = [
    Panel(
        "Links of the NPUs",
        "short",
        12,
        (
            ("npu_chip_info_link_status{$hosts}", "{{host}} {{id}}"),
            ("inference_npu_link{$hosts}", "{{host}} {{device}}"),
        ),
        "status-history",
        "1: up, 0: down, -1: not known.",
        ("up", "down"),
    ),
    Panel(
        "Health of the NPUs",
        "short",
        12,
        (
            ("npu_chip_info_health_status{$hosts}", "{{host}} {{id}}"),
            ("inference_npu_health{$hosts}", "{{host}} {{device}}"),
        ),
        "status-history",
        "1: good, 0: faulty, -1: not known.",
        ("good", "faulty"),
    ),
    Panel(
        "Temperature of the NPUs",
        "celsius",
        12,
        (
            ("max by (host) (npu_chip_info_temperature{$hosts})", "{{host}}"),
            ("max by (host) (inference_npu_temperature_celsius{$hosts})", "{{host}}"),
        ),
    ),
    Panel(
        "HBM in use",
        "percentunit",
        12,
        (
            (
                "max by (host) (npu_chip_info_hbm_used_memory{$hosts} / npu_chip_info_hbm_total_memory{$hosts})",
                "{{host}}",
            ),
            (
                "max by (host) (inference_npu_hbm_used_bytes{$hosts} / inference_npu_hbm_total_bytes{$hosts})",
                "{{host}}",
            ),
        ),
    ),
]
PROBE = [
    Panel(
        "Right answers of the probe",
        "short",
        12,
        (("inference_probe_success{$of}", "{{path}}"),),
        "status-history",
        states=("right", "wrong"),
    ),
    Panel("Time to first token of the probe", "s", 12, (("inference_probe_ttft_seconds{$of}", "{{path}}"),)),
]


def rows(plan: Record, settings: Monitoring) -> list[tuple[str, list[Panel]]]:
    """The rows that this deployment needs, with all of their panels."""
    parts = parts_of(plan, settings.npu, settings.probe, settings.proxies, settings.logs)
    kinds = {service["kind"] for service in plan["services"]}
    found = [("Overview", HEALTH)]
    if "disaggregated" in parts:
        found.append(("Prefill and decode", _beside(_pool("prefill", 12), _pool("decode", 12))))
        found.append(("From prefill to decode", FLOW))
    if "colocated" in kinds:
        found.append(("Engines", _pool("colocated", 8)))
    wanted = (
        ("router_metrics", "Router", ROUTER),
        ("proxies", "Proxies", PROXY),
        ("store", "Store", STORE),
        ("logs", "Logs", LOGS),
        ("npu", "NPUs", NPU),
        ("probe", "Probe", PROBE),
    )
    return [*found, *((title, panels) for part, title, panels in wanted if part in parts)]


def dashboard(plan: Record, settings: Monitoring) -> dict[str, t.Any]:
    """The dashboard as Grafana imports it."""
    known = exported(plan, settings.npu, settings.probe, settings.proxies, settings.logs) | {"ALERTS"}
    words = {"of": selector(plan), "hosts": host_selector(plan), "by": BY, "rate": "$__rate_interval"}
    engines = collections.Counter(
        group["labels"]["role"] for group in targets(plan, settings) if group["labels"]["job"] == "inference-engine"
    )
    panels: list[dict[str, t.Any]] = []
    line = 0
    for title, row in rows(plan, settings):
        shown = [panel for item in row if (panel := _panel(item, known, words, engines))]
        if not shown:
            continue
        panels.append(
            _placed({"type": "row", "title": title, "collapsed": False, "panels": []}, len(panels), 0, line, WIDTH, 1)
        )
        line, column = line + 1, 0
        for panel, width in shown:
            if column + width > WIDTH:
                line, column = line + HEIGHT, 0
            panels.append(_placed(panel, len(panels), column, line, width, HEIGHT))
            column += width
        line += HEIGHT
    name = plan["deployment"]
    content = digest([plan["deployment"], panels])[:12]
    return {
        "uid": uid_of(name),
        "title": f"Inference: {name}",
        "description": f"Written by the playbook ascend.inference.monitoring, content {content}",
        "tags": ["ascend", "inference"],
        "schemaVersion": SCHEMA,
        "editable": True,
        "timezone": "browser",
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}]
        },
        "annotations": {"list": []},
        "panels": panels,
    }


def uid_of(name: str) -> str:
    """The dashboard's identity in Grafana. A long one ends with a digest: two that begin alike would replace each other."""
    whole = f"ascend-inference-{name}"
    return whole if len(whole) <= LONGEST_UID else f"{whole[: LONGEST_UID - 9]}-{digest([name])[:8]}"


def _placed(panel: Record, number: int, column: int, line: int, width: int, height: int) -> dict[str, t.Any]:
    return {**panel, "id": number + 1, "gridPos": {"x": column, "y": line, "w": width, "h": height}}


def _panel(
    panel: Panel, known: t.Collection[str], words: Record, engines: t.Mapping[str, int]
) -> tuple[dict[str, t.Any], int] | None:
    curves: dict[str, str] = {}
    for text, legend in panel.expressions:
        if names_in(text) <= set(known):
            curves.setdefault(legend, text)
    if not curves:
        return None
    instant = panel.kind in ("stat", "table")
    queries = [
        {
            "refId": chr(ord("A") + number),
            "datasource": SOURCE,
            "expr": string.Template(text).substitute(words),
            "legendFormat": legend,
            "instant": instant,
            "range": not instant,
            # As time series, a table shows the first alert only, and a menu for the others.
            "format": "table" if panel.kind == "table" else "time_series",
        }
        for number, (legend, text) in enumerate(curves.items())
    ]
    made = {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, **_look(panel)}, "overrides": _numbers(panel, engines)},
        "options": {},
        "targets": queries,
    }
    return made, panel.width


def _look(panel: Panel) -> dict[str, t.Any]:
    """The rest of the fields' defaults: colours and names of values."""
    if panel.kind == "stat":
        return {"min": 0, "thresholds": {**STEPS, "steps": STEPS["steps"][:1]}}
    if not any(panel.states):
        return {"min": 0}
    rows = zip(("1", "0", "-1"), (*panel.states, "not known"), (GOOD, BAD, UNKNOWN), strict=True)
    options = {value: {"text": text, "color": color, "index": n} for n, (value, text, color) in enumerate(rows)}
    return {"thresholds": STEPS, "mappings": [{"type": "value", "options": options}]}


def _numbers(panel: Panel, engines: t.Mapping[str, int]) -> list[dict[str, t.Any]]:
    """A number of engines by role is green only if it is the planned one."""
    if panel.kind != "stat":
        return []
    return [
        {
            "matcher": {"id": "byName", "options": role},
            "properties": [
                {
                    "id": "thresholds",
                    "value": {**STEPS, "steps": [STEPS["steps"][0], {"color": GOOD, "value": number}]},
                }
            ],
        }
        for role, number in sorted(engines.items())
    ]
