# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the probe."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from .base import Case, Rules

RULES = Rules()


@RULES.rule(
    "PROBE-RUNTIME",
    "Remove inference_probe, and run the playbook verify by a timer of the site.",
    "design of the planner: the probe is a service of a host",
)
def runtime(case: Case) -> t.Iterator[Finding]:
    """The probe is requested for the runtime kubernetes.

    The collection starts nothing outside of the engines' pods there, so nothing would be probed.
    """
    if case.context.description.probe.enabled and case.in_pods:
        yield Finding.at("inference_probe.enabled", True, "the runtime kubernetes has no host for the probe")


@RULES.rule(
    "PROBE-ENTRY",
    "Plan a router, or remove inference_probe and run requests through the site's router by a timer.",
    "design of the planner: the probe asks what clients ask",
)
def entry(case: Case) -> t.Iterator[Finding]:
    """The probe is requested for prefill and decode without a router of this deployment.

    Clients use a router that the collection does not know, so the probe would test another way than theirs.
    """
    if case.context.description.probe.enabled and case.disaggregated and not case.named("router") and not case.in_pods:
        yield Finding.at("inference_probe.enabled", True, "the deployment has no router that clients use")
