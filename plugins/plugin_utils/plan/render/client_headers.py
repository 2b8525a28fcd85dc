# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The headers of a client that reach a router.

Others choose among engines and ranks, or come before others, or write an address or a trace into logs, and each router and release reads others:
X-data-parallel-rank, X-Worker-Priority, X-Prefiller-Host-Port, Traceparent, Cookie.
"""

from __future__ import annotations

from ...description.variables import Router

CLIENTS = ("Accept", "Content-Type", "User-Agent")
SESSIONS = ("X-Session-Id", "X-User-Id")  # by which the policy consistent_hash chooses


def passed(settings: Router) -> tuple[str, ...]:
    """Their names, which depend on the router's policies."""
    policies = {settings.policy, *map(str, settings.args.values())}
    return (*CLIENTS, *(SESSIONS if "consistent_hash" in policies else ()))
