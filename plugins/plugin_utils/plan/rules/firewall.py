# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the hosts' firewall."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from ..service import is_network
from .base import Case, Rules

RULES = Rules()
LISTS = ("cluster", "monitoring", "clients")


@RULES.rule("FIREWALL-NETWORK", "Write IP addresses, or networks such as 10.0.0.0/24.", "nft(8)")
def networks(case: Case) -> t.Iterator[Finding]:
    """A source of the firewall is not an IP address or network.

    The filter cannot be loaded.
    """
    firewall = case.context.description.firewall
    for key in LISTS:
        for index, text in enumerate(getattr(firewall, key)):
            if not is_network(text):
                path = f"inference_firewall.{key}[{index}]"
                yield Finding.at(path, text, f"'{text}' is not an IP address or network")


@RULES.rule(
    "FIREWALL-RUNTIME",
    "Remove inference_firewall, and write network policies for the namespace.",
    "design of the planner: pods have no ports of the hosts",
)
def in_cluster(case: Case) -> t.Iterator[Finding]:
    """A firewall is requested for the runtime kubernetes.

    The collection does not connect to the nodes of a cluster, so nothing would be filtered.
    """
    state = case.context.description.firewall.state
    if state != "unmanaged" and case.in_pods:
        yield Finding.at("inference_firewall.state", state, "nodes of a cluster have no firewall of this collection")
