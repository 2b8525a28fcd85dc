# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict: the results of the requests combined with the services' logs of the same time window."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any, Dict, Iterable
from urllib.parse import urlsplit

from ..tools.how_many import how_many
from . import records
from .faults import Problem
from .plan import VerifyPlan

Logs = Dict[str, Dict[str, Any]]


def verdict(plan: VerifyPlan, report: dict[str, Any], logs: Iterable[Logs]) -> dict[str, Any]:
    """The report (of `gate.verify`) with step `logs` judged, transfer_ms filled, failing hops' tails in `tails` and the
    known causes in their logs in `causes`, and a sample `request`.

    logs: what `logs.read` returned on each host. A report made in check mode is returned as it is.
    """
    if report.get("check_mode"):
        return report
    read: Logs = {}
    for part in logs:
        read.update(part)
    judged = judge_logs(plan, report, read)
    order = {step: number for number, step in enumerate(records.STEPS)}
    steps = [step for step in report["steps"] if step["step"] != "logs"] + judged
    steps.sort(key=lambda item: order[item["step"]])
    times = [ms for item in read.values() for ms in item["transfer_ms"]]
    joined = dict(report, steps=steps, transfer_ms=report["transfer_ms"] or times, tails=_tails(plan, steps, read))
    joined["warnings"] = report["warnings"] + _warnings(plan, read)
    # Only those of services in a failed hop: a text that once preceded a failure may be harmless in a sound service.
    joined["causes"] = [cause for name in joined["tails"] for cause in read[name].get("causes", [])]
    done = records.conclude(joined, plan.disaggregated)
    return dict(done, request=request(plan))


def request(plan: VerifyPlan) -> str:
    """The curl command of a client that asks for a completion; a required key is taken from $API_KEY."""
    entry = plan.entry
    url = entry.url
    if entry.server_name and url.startswith("https://"):
        parts = urlsplit(url)
        url = f"https://{entry.server_name}" + (f":{parts.port}" if parts.port else "")
    command = ["curl", "-sS", f"{url}/v1/completions", "-H", "Content-Type: application/json"]
    if entry.ca_path:
        command += ["--cacert", entry.ca_path]
    body = json.dumps({"model": plan.model, "prompt": "Once upon a time", "max_tokens": 16})
    line = " ".join(shlex.quote(argument) for argument in [*command, "-d", body])
    return line + (' -H "Authorization: Bearer $API_KEY"' if entry.api_key else "")


def judge_logs(plan: VerifyPlan, report: dict[str, Any], read: Logs) -> list[records.Record]:
    """Check for red flags in all logs; transfer lines per probe request on decode and listener lines on prefill, if printed."""
    readable = {name: log for name, log in read.items() if log["readable"]}
    # Also of a log that was read in part.
    flagged = {name: log["red_flags"] for name, log in read.items() if log.get("red_flags")}
    if not readable and not flagged:
        reasons = "; ".join("{}: {}".format(name, log["problem"]) for name, log in sorted(read.items()))
        return [records.skipped("logs", "no log was read" + (" (" + reasons + ")" if reasons else ""))]
    broken = []
    for name, lines in sorted(flagged.items()):
        problem = Problem("its log shows a red flag: " + lines[0].strip()[:300], "red_flag")
        broken.append(records.failed("logs", name, problem, lines=lines[:5]))
    broken += _listeners(plan, readable)
    proved: list[str] = []
    if plan.disaggregated and plan.release.lines.transferred:
        proved, missing = _transferred(plan, report, readable)
        line = plan.release.lines.transferred.strip()
        for hop in sorted({item["hop"] for item in missing}):
            ids = [item["id"] for item in missing if item["hop"] == hop]
            problem = Problem(f"no line {line!r} for {how_many(len(ids), 'probe request')}", "no_line")
            broken.append(records.failed("logs", hop, problem, requests=ids))
    if broken:
        return broken
    message = f"no red flag in {how_many(len(readable), 'log')}"
    if proved:
        message += f", a transfer line for each of {how_many(len(proved), 'request')}"
    return [records.passed("logs", "", message, read=sorted(readable), proved_requests=proved)]


def _listeners(plan: VerifyPlan, readable: Logs) -> list[records.Record]:
    """Too few listener lines on a prefill. None at all is only a warning: a rotated log does not contain its beginning."""
    wanted = plan.transfer.listeners_per_prefill
    broken = []
    for engine in plan.role("prefill") if plan.release.lines.listening else ():
        found = readable.get(engine.name, {}).get("listening", 0)
        if 0 < found < wanted:
            problem = Problem(f"only {found} of {wanted} ranks listen for KV requests", "listeners")
            broken.append(records.failed("logs", engine.name, problem, found=found, wanted=wanted))
    return broken


def _warnings(plan: VerifyPlan, read: Logs) -> list[str]:
    warnings = [
        "the log of {} was not read: {}".format(n, log["problem"]) for n, log in sorted(read.items()) if log["problem"]
    ]
    warnings += [
        f"{name} freed KV cache of requests that began before this verification, because no decode engine had fetched it within "
        f"inference_kv_hold_timeout, as after one that ended: {log['expired'][0].strip()[:300]}"
        for name, log in sorted(read.items())
        if log.get("expired")
    ]
    if plan.transfer.listeners_per_prefill and plan.release.lines.listening:
        for engine in plan.role("prefill"):
            if read.get(engine.name, {}).get("readable") and not read[engine.name]["listening"]:
                warnings.append(f"the log of {engine.name} has no listener line (rotated?)")
    return warnings


def _transferred(plan: VerifyPlan, report: dict[str, Any], readable: Logs) -> tuple[list[str], list[dict[str, str]]]:
    """(ids with their lines, requests without). If a decode log was not read, none counts as missing.

    Decode logs the id of the HTTP answer, or prefill's id: their common part is the
    X-Request-Id that the proxy sent to both. For a release that logs neither the number of lines is checked.
    """
    decodes = [engine.name for engine in plan.role("decode")]
    unread = [name for name in decodes if name not in readable]
    lines = [line for name in decodes if name in readable for line in readable[name]["transferred"]]
    wanted = max(1, plan.transfer.lines_per_request)
    requests = report["requests"]
    found = {item["id"]: sum(core_id(item["id"]) in line for line in lines) for item in requests if core_id(item["id"])}
    if not any(found.values()) and not unread and len(lines) >= wanted * len(requests):
        return [item["id"] for item in requests], []
    missing = [item for item in requests if found.get(item["id"], 0) < wanted]
    return [item["id"] for item in requests if item not in missing], [] if unread else missing


def core_id(request_id: str) -> str:
    """`cmpl-<X-Request-Id>-0` -> the X-Request-Id."""
    return re.sub(r"^(chat)?cmpl-", "", request_id)


def _tails(plan: VerifyPlan, steps: list[records.Record], read: Logs) -> dict[str, list[str]]:
    """The last lines of each service in a failed hop, by name or role; of all services if it has none of them."""
    hops = [step["hop"] for step in steps if step["status"] == "failed"]
    names = {re.sub(r" rank \d+$", "", name) for hop in hops for name in re.split(r" -> |, ", hop)}
    if not names:
        return {}
    roles = {engine.name: engine.role for engine in plan.engines}
    named = [name for name in read if name in names or roles.get(name) in names]
    return {name: read[name]["tail"] for name in sorted(named or read)}
