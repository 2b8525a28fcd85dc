# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entry in monitoring: its hosts as targets, and its alerts. They have files of their own, whichever deployments the inventory has.

``watched``: the member ``entry`` of what plugin_utils/entry/status.py makes of the settings.
"""

from __future__ import annotations

import typing as t

from .entry_alerts import ENTRY_ALERTS
from .rules import filled, rule
from .settings import AlertSettings, Monitoring

Record = t.Mapping[str, t.Any]
JOB = "inference-entry"


def entry_targets(watched: Record) -> list[dict[str, t.Any]]:
    """Each host as a target of Prometheus."""
    return [
        {"targets": [place], "labels": {"job": JOB, "entry": watched["address"], "host": name, "instance": name}}
        for name, place in watched["places"].items()
    ]


def entry_rules(watched: Record, settings: Monitoring) -> list[dict[str, t.Any]]:
    """The group of its alerts."""
    plan = {"deployment": f"entry {watched['address']}", "services": [], "verify": {}}
    words = {"of": f'job="{JOB}",entry="{watched["address"]}"'}
    chosen = [(alert, settings.alerts.get(alert.name, AlertSettings())) for alert in ENTRY_ALERTS]
    found = [
        rule(plan, settings, alert, limits, filled(alert.expressions[0], alert, limits, words))
        for alert, limits in chosen
        if limits.enabled
    ]
    return [{"name": f"ascend-inference-entry-{watched['address']}", "rules": found}]
