# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page that links the latest pages of a deployment, so that a team needs one bookmark."""

from __future__ import annotations

import typing as t

from .render import page, verdict_of

WHAT = {  # in the order in which somebody looks
    "status": "What runs now, and what is wrong",
    "plan": "What the inventory plans: hosts, devices, ports, findings",
    "check": "Whether the hosts, NPUs and links are fit",
    "bench": "Latency and throughput",
    "trace": "Where the time of a request goes",
}


def pages_index(deployment: str, names: t.Collection[str]) -> str:
    """The page's text. ``names``: the pages beside it, without their ending. Each page has its own date."""
    links = [(name, text) for name, text in WHAT.items() if name in names]
    return page(
        "index", f"Pages of {deployment}", verdict_of("the latest page of each playbook", [], [], "idle"), links=links
    )
