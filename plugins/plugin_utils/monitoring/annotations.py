# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an alert says to the people who get it: where, what, the limits of this deployment, what to do. Templates of Prometheus."""

from __future__ import annotations

import json
import re
import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..plan.service import bracketed
from .alerts import Alert

Record = t.Mapping[str, t.Any]
# What the summary names, from the labels that the alert's expressions leave.
SUBJECTS = {
    "deployment": "",
    "service": ", {{ $labels.service }} on {{ $labels.host }}",
    "host": ", {{ $labels.host }}",
    "model": ", {{ $labels.model }} on {{ $labels.host }}",
    "team": ", {{ $labels.team }}",
    "npu": ", {{ $labels.host }}, NPU {{ $labels.id }}{{ $labels.device }}",
    "flag": ", {{ $labels.service }} on {{ $labels.host }}, {{ $labels.flag }}",
    "path": ", {{ $labels.path }}",
    "engine": ", {{ $labels.engine }}",
    # A service that was seen, or a host without series.
    "reader": ", {{ with $labels.service }}{{ . }} on {{ end }}{{ $labels.host }}",
}


def annotations(plan: Record, alert: Alert, limits: str, documents_url: str) -> dict[str, str]:
    """``{summary, description, runbook_url}``. ``limits``: :func:`limits_of`."""
    return {
        "summary": f"{plan['deployment']}{_subject(plan, alert)}: {alert.summary}",
        "description": f"{alert.failures} Fix: {alert.action} Limits, of inference_monitoring.alerts.{alert.name}: {limits}.",
        "runbook_url": f"{documents_url}/guide_monitoring.rst#{alert.name.lower()}",
    }


def limits_of(alert: Alert, threshold: int, window: int, after: int, planned: t.Mapping[str, t.Any]) -> str:
    """The numbers that an alert compares with, in words. ``planned``: numbers of the plan by their names in expressions."""
    limits = [f"threshold {threshold} {alert.unit}"] if alert.unit else []
    limits += [f"window {window} s"] if alert.window else []
    used = set(re.findall(r"\$(\w+)", " ".join(alert.expressions)))
    limits += [f"{name.replace('_', ' ')} {number} (planned)" for name, number in planned.items() if name in used]
    return ", ".join([*limits, f"for {after} s"])


def _subject(plan: Record, alert: Alert) -> str:
    if alert.of == "worker":
        return f", {_engine(plan)} of {{{{ $labels.service }}}} on {{{{ $labels.host }}}}"
    if alert.of == "probe":
        places = [service["host"] for service in plan["services"] if service["kind"] == "probe"]
        return f", probe on {places[0]}" if places else ""
    return SUBJECTS[alert.of]


def _engine(plan: Record) -> str:
    """The engine that a router names by its URL; one that is in no plan keeps its URL, and one without a name is any engine."""
    known = [
        (f"http://{bracketed(service['address'])}:{port['first']}", f"{service['name']} on {service['host']}")
        for service in plan["services"]
        for port in service["ports"]
        if port["name"] == "api" and service["kind"] in ENGINE_KINDS
    ]
    names = "".join(f"{{{{ else if eq $labels.worker {json.dumps(url)} }}}}{name}" for url, name in known)
    return f"engine {{{{ if not $labels.worker }}}}not named{names}{{{{ else }}}}{{{{ $labels.worker }}}}{{{{ end }}}}"
