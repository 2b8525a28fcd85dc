# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recording and alerting rules of a deployment, with its numbers: the data of a file for Prometheus' rule_files."""

from __future__ import annotations

import re
import string
import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ...module_utils.verify.logs import services_of
from ...module_utils.verify.plan import read_plan
from ..plan.rules.environment import HOLD
from .alerts import ALERTS, BY, Alert, parts_of
from .annotations import annotations, limits_of
from .metrics import exported, names_in
from .proxies import silent_routers
from .settings import AlertSettings, Monitoring

Record = t.Mapping[str, t.Any]
HOLD_DEFAULT = 480  # seconds, of all releases with a hold timeout (vllm_ascend/envs.py, vllm/envs.py)
# What the deployment's files record for dashboards and for other rules of a site: name -> expression.
RECORDS = {
    "inference:requests_running:sum": "sum by (deployment, role) (vllm:num_requests_running{$of})",
    "inference:requests_waiting:sum": "sum by (deployment, role) (vllm:num_requests_waiting{$of})",
    "inference:prompt_tokens:rate5m": "sum by (deployment, role) (rate(vllm:prompt_tokens_total{$of}[5m]))",
    "inference:generation_tokens:rate5m": "sum by (deployment, role) (rate(vllm:generation_tokens_total{$of}[5m]))",
    "inference:prompt_tokens_by_source:rate5m": "sum by (deployment, role, source) "
    "(rate(vllm:prompt_tokens_by_source_total{$of}[5m]))",
    "inference:ttft_seconds:p99_5m": "histogram_quantile(0.99, sum by (deployment, role, le) "
    "(rate(vllm:time_to_first_token_seconds_bucket{$of}[5m])))",
}


def facts(plan: Record) -> dict[str, t.Any]:
    """Numbers of the plan that alerts compare with; None where the plan does not have it."""
    engines = [service for service in plan["services"] if service["kind"] in ENGINE_KINDS]
    # An instance over several hosts has processes without an API, which are no targets.
    serving = [service["kind"] for service in engines if any(port["name"] == "api" for port in service["ports"])]
    decode = [most_requests(service) for service in engines if service["kind"] == "decode"]
    return {
        "engines": len(serving),
        "prefill_engines": serving.count("prefill"),
        "decode_engines": serving.count("decode"),
        "decode_requests": sum(number or 0 for number in decode) if decode and all(decode) else None,
        "kv_hold_timeout": _hold(engines),
        "store_clients": (plan["verify"].get("store") or {}).get("clients"),
    }


def per_host(plan: Record, settings: Monitoring) -> dict[str, dict[str, int]]:
    """``{what: {host: number}}``: series that each host has to export, ``npus``, ``logs`` and ``proxies``, of what is watched."""
    verify = read_plan(plan["verify"])
    names = [host["name"] for host in plan["hosts"]]
    found: dict[str, dict[str, int]] = {}
    if settings.npu != "none":
        used = {
            name: {die for item in plan["services"] if item["host"] == name for die in item["devices"]}
            for name in names
        }
        found["npus"] = {name: len(dies) for name, dies in used.items()}
    if settings.logs:
        found["logs"] = {name: len(services_of(verify, name)) for name in names}
    if settings.proxies:
        places = [service["host"] for service in silent_routers(plan)]
        found["proxies"] = {name: places.count(name) for name in names}
    return {what: {name: number for name, number in hosts.items() if number} for what, hosts in found.items()}


def most_requests(service: Record) -> int | None:
    """Requests that an engine runs at once: --max-num-seqs for each of its data-parallel ranks."""
    found = _number(service["argv"], "--max-num-seqs")
    return found * (_number(service["argv"], "--data-parallel-size-local") or 1) if found else None


def _number(argv: t.Sequence[str], flag: str) -> int | None:
    value = argv[argv.index(flag) + 1] if flag in argv[:-1] else ""
    return int(value) if value.isdigit() else None


def _hold(engines: t.Sequence[Record]) -> int | None:
    """Seconds for which prefill holds KV cache; None for connectors that hold none."""
    found = []
    for service in engines:
        text = " ".join(service["argv"])
        if service["kind"] == "prefill" and re.search(r'"(MooncakeConnector\w*|MooncakeHybridConnector)"', text):
            values = [value for name, value in service["env"].items() if name in HOLD and value.isdigit()]
            found.append(int(values[0]) if values else HOLD_DEFAULT)
    return min(found) if found else None


class Judged(t.NamedTuple):
    """The rules that are written, and the alerts that are not, with the reason of each."""

    groups: list[dict[str, t.Any]]
    unwatched: list[tuple[str, str]]


def rules(plan: Record, settings: Monitoring) -> Judged:
    """Groups of rules, and what is not watched."""
    known = exported(plan, settings.npu, settings.probe, settings.proxies, settings.logs)
    parts = parts_of(plan, settings.npu, settings.probe, settings.proxies, settings.logs)
    numbers = facts(plan)
    parts |= {"hold"} if numbers["kv_hold_timeout"] else set()
    parts |= {"max_num_seqs"} if numbers["decode_requests"] else set()
    words = {**numbers, "of": selector(plan), "hosts": host_selector(plan), "by": BY}
    alerts, unwatched = [], []
    for alert in ALERTS:
        chosen = settings.alerts.get(alert.name, AlertSettings())
        expression, reason = _expression(alert, chosen, known, parts)
        if expression:
            alerts.append(rule(plan, settings, alert, chosen, filled(expression, alert, chosen, words)))
        else:
            unwatched.append((alert.name, reason))
    name = f"ascend-inference-{plan['deployment']}"
    groups = [
        {"name": f"{name}-records", "rules": _records(known, numbers, words, plan, per_host(plan, settings))},
        {"name": name, "rules": alerts},
    ]
    return Judged(groups, unwatched)


def selector(plan: Record) -> str:
    """The label of the deployment's series."""
    return f'deployment="{plan["deployment"]}"'


def host_selector(plan: Record) -> str:
    """The label of the series of the deployment's hosts, which have no label of a deployment."""
    names = "|".join(re.escape(host["name"]).replace("\\-", "-") for host in plan["hosts"])
    return 'host=~"' + names.replace("\\", "\\\\") + '"'


def _expression(alert: Alert, chosen: AlertSettings, known: t.Collection[str], parts: set[str]) -> tuple[str, str]:
    if not chosen.enabled:
        return "", "enabled is false"
    missing = [part for part in alert.needs if part not in parts]
    if missing:
        return "", f"the deployment has no {missing[0].replace('_', ' ')}"
    for expression in alert.expressions:
        if names_in(expression) <= set(known):
            return expression, ""
    lacking = sorted(set.union(*(names_in(expression) for expression in alert.expressions)) - set(known))
    return "", f"no service exports {', '.join(lacking)}"


def filled(expression: str, alert: Alert, chosen: AlertSettings, words: Record) -> str:
    """The expression with its numbers. ``words``: those that are no settings."""
    window = f"{chosen.window or alert.window}s"
    return string.Template(expression).substitute(words, threshold=_threshold(alert, chosen), window=window)


def rule(plan: Record, settings: Monitoring, alert: Alert, chosen: AlertSettings, expression: str) -> dict[str, t.Any]:
    """The alert as a rule of Prometheus."""
    after = alert.after if chosen.after < 0 else chosen.after
    limits = limits_of(alert, _threshold(alert, chosen), chosen.window or alert.window, after, facts(plan))
    return {
        "alert": f"Inference{alert.name}",
        "expr": expression,
        "for": f"{after}s",
        "labels": {"severity": alert.severity, "deployment": plan["deployment"]},
        "annotations": annotations(plan, alert, limits, settings.documents_url),
    }


def _threshold(alert: Alert, chosen: AlertSettings) -> int:
    return alert.threshold if chosen.threshold < 0 else chosen.threshold


def _records(
    known: t.Collection[str], numbers: Record, words: Record, plan: Record, hosts: Record
) -> list[dict[str, t.Any]]:
    constants = [
        {
            "record": f"inference:{name}:planned",
            "expr": f"vector({value})",
            "labels": {"deployment": plan["deployment"]},
        }
        for name, value in numbers.items()
        if value is not None
    ]
    series = [
        {"record": name, "expr": string.Template(expression).substitute(words)}
        for name, expression in RECORDS.items()
        if names_in(expression) <= set(known)
    ]
    here = [
        {
            "record": f"inference:{what}:planned",
            "expr": f"vector({number})",
            "labels": {"deployment": plan["deployment"], "host": name},
        }
        for what, of_host in hosts.items()
        for name, number in of_host.items()
    ]
    return [*constants, *here, *series]
