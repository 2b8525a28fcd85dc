# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What services did in a window of time: their counters read twice, and their states several times between.

Facts: names of vLLM 0.13 to 0.32, mooncake_master 0.3.8 to 0.3.13 and vllm-router 0.1.17. A name that a version lacks is left out of
the result, never zero.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from ..tools.http_client import Target, ask
from ..verify.metrics import Samples, labels_of, read_metrics
from .driver import COUNTERS, MOST_NUMBER, growth

READINGS = 6  # of states in a window, the first and the last one included
# By kind of service: counters, and states that rise and fall.
STATES = {
    "engine": {
        "running": "vllm:num_requests_running",
        "waiting": "vllm:num_requests_waiting",
        "kv_usage": "vllm:kv_cache_usage_perc",
    },
    "store": {"allocated_bytes": "master_allocated_bytes", "capacity_bytes": "master_total_capacity_bytes"},
    "router": {},
}
GROWING = {
    "engine": COUNTERS,
    "store": {
        "reads": "total_get_nums_",
        "found": "valid_get_nums_",
        "evictions": "master_successful_evictions_total",
        "refused": "master_put_start_alloc_failures_total",
    },
    "router": {
        "requests": "vllm_router_requests_total",
        "pd_requests": "vllm_router_pd_requests_total",
        "errors": "vllm_router_pd_errors_total",
        "prefill_errors": "vllm_router_pd_prefill_errors_total",
        "decode_errors": "vllm_router_pd_decode_errors_total",
        "request_errors": "vllm_router_request_errors_total",
        "retries": "vllm_router_retries_total",
        "exhausted": "vllm_router_retries_exhausted_total",
    },
}
SHARES = ("kv_usage",)  # of 1 for each data-parallel rank, which has a series of its own


class Reading(NamedTuple):
    """All samples of a service at one time (seconds of a clock that never goes back), and its states by our names."""

    at: float
    samples: Samples
    states: dict[str, float]


def read(service: dict[str, str], token: str = "") -> Reading | None:
    """One reading of a service ({name, kind, url}); None if it does not answer."""
    reply = ask(Target(service["url"], token), "/metrics", timeout=10.0)
    if reply.status != 200 or reply.error:
        return None
    samples, states = read_metrics(reply.body), {}
    for name, metric in STATES[service["kind"]].items():
        if abs(samples.get(metric, MOST_NUMBER)) < MOST_NUMBER:  # an infinite one has no mean
            series = len(labels_of(reply.body, metric)) if name in SHARES else 1
            states[name] = samples[metric] / max(1, series)
    return Reading(time.monotonic(), samples, states)


def read_counters(services: Sequence[dict[str, str]]) -> dict[str, Samples | None]:
    """The counters of routers and masters ({name, kind, url}) by name; None of one that does not answer. Keys belong to engines."""
    found = {service["name"]: read(service) for service in services}
    return {name: reading.samples if reading else None for name, reading in found.items()}


def gained(
    services: Sequence[dict[str, str]], before: Mapping[str, Samples | None], after: Mapping[str, Samples | None]
) -> dict[str, dict[str, float] | None]:
    """{name: what each counter gained} between two readings; None of a service that was not read twice, or whose counters went back."""
    return {
        service["name"]: growth(before[service["name"]], after[service["name"]], GROWING[service["kind"]])
        for service in services
    }


def watch(
    services: Sequence[dict[str, str]], token: str, seconds: float, sleep: Callable[[float], None] = time.sleep
) -> dict[str, dict[str, float] | None]:
    """{name: {seconds, what each counter gained, means of the states}} over the window; None of a service that did not always answer.

    The states are means of READINGS; ``kv_usage`` is a share of 1. A service whose counters went back was restarted: None as well,
    because what it did before is not known. Keys belong to engines, so other kinds are read without one.
    """
    readings: dict[str, list[Reading | None]] = {service["name"]: [] for service in services}
    for number in range(READINGS):
        if number:
            sleep(seconds / (READINGS - 1))
        for service in services:
            known = readings[service["name"]]
            # One that hung once is unknown, and would delay the readings of the others.
            known.append(None if None in known else read(service, token if service["kind"] == "engine" else ""))
    return {service["name"]: _gained(service["kind"], readings[service["name"]]) for service in services}


def _gained(kind: str, readings: Sequence[Reading | None]) -> dict[str, float] | None:
    known = [reading for reading in readings if reading is not None]
    first, last = known[:1], known[-1:]
    if len(known) < len(readings) or _restarted(GROWING[kind].values(), known):
        return None
    found: dict[str, Any] = growth(first[0].samples, last[0].samples, GROWING[kind]) or {}
    for name in STATES[kind]:
        values = [reading.states[name] for reading in known if name in reading.states]
        if values:
            found[name] = round(sum(values) / len(values), 4)
    return {**found, "seconds": round(last[0].at - first[0].at, 3)}


def _restarted(metrics: Any, readings: Sequence[Reading]) -> bool:
    pairs = zip(readings, readings[1:])
    return any(
        later.samples.get(metric, 0.0) < earlier.samples.get(metric, 0.0)
        for earlier, later in pairs
        for metric in metrics
    )
