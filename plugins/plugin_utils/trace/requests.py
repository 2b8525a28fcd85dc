# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The requests of the playbook trace: those of a benchmark, sent one by one, and two ways to the router."""

from __future__ import annotations

import typing as t

from ..bench.files import file_findings
from ..bench.runs import bench_runs
from ..bench.settings import Bench
from ..description.findings import Finding
from ..plan.service import bracketed

Record = t.Mapping[str, t.Any]
MOST = 1000
# What inference_bench says of a request and of the program that sends it; its loads, limits and other kinds of requests are those of a benchmark.
TAKEN = (
    "driver",
    "program",
    "tokenizer",
    "chat",
    "input",
    "prefix",
    "prefixes",
    "output",
    "seed",
    "host",
    "cores",
    "timeout",
)
ENTRY, ROUTER = "entry", "router"


def runs_of(plan: Record, raw: t.Any, files: t.Mapping[str, t.Any], requests: t.Sequence[t.Any]) -> dict[str, t.Any]:
    """``bench_runs`` of a benchmark, or of a trace of ``requests``, a list of one number, with ``trace`` and ``files``, the report's by kind (json, html, ...).

    ``files``: variable to its path, empty if it is not set. Raises PlanError with all errors.
    """
    more = file_findings(files)
    found = trace_runs(plan, raw, requests[0], more) if requests else {**bench_runs(plan, raw, more), "trace": False}
    return {**found, "files": {name.rsplit("_", 1)[1]: str(path) for name, path in files.items()}}


def trace_runs(plan: Record, raw: t.Any, requests: t.Any, more: t.Sequence[Finding] = ()) -> dict[str, t.Any]:
    """``bench_runs`` for that many requests, one at a time, with the option ``ways``. Raises PlanError with all errors."""
    findings = [*number_findings(requests), *more]
    found = bench_runs(plan, one_by_one(raw, 1 if findings else int(str(requests))), findings)
    return {**found, "options": {**found["options"], "ways": ways(plan)}, "trace": True}


def number_findings(requests: t.Any) -> list[Finding]:
    """What is wrong with ``inference_trace_requests``."""
    number = str(requests)
    if number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= MOST:
        return []
    problem, fix = f"{requests} is no number of requests", f"Name 1 to {MOST}."
    return [Finding("inference_trace_requests", "BENCH-SETTING", problem, fix, why="Nothing could be sent.")]


def one_by_one(raw: t.Any, number: int = 1) -> t.Any:
    """``inference_bench`` of a benchmark with that many single requests; what is no dictionary stays, and is refused later."""
    if not isinstance(raw, dict):
        return raw
    known = Bench.__dataclass_fields__  # other names stay, and are refused as those of a benchmark
    taken = {name: value for name, value in raw.items() if name in TAKEN or name not in known}
    return {**taken, "profile": "latency", "loads": [1], "repeats": 1, "prompts": number}


def ways(plan: Record) -> list[dict[str, str]]:
    """Clients' way to the router, and the one without what stands in front of it; nothing if nothing does, and in a cluster."""
    entry = plan["verify"].get("entry") or {}
    router = next((item for item in plan["services"] if item["kind"] == "router"), None)
    if plan["runtime_facts"]["in_cluster"] or router is None or entry.get("name") == router["name"]:
        return []
    port = next(port for port in router["ports"] if port["name"] == "api")
    direct = f"{port['protocol']}://{bracketed(router['address'])}:{port['first']}"
    tls = {name: entry.get(name, "") for name in ("ca_path", "server_name")}
    key = "engines" if plan["verify"].get("engine_api_key") else "clients"
    return [
        {"name": ENTRY, "url": entry["url"], "key": "clients", **tls},
        {"name": ROUTER, "url": direct, "key": key, "ca_path": "", "server_name": ""},
    ]
