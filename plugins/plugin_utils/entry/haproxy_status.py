# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of health and metrics, in the configuration of HAProxy."""

from __future__ import annotations

import typing as t

from ..plan.render.template import filled
from ..plan.service import bracketed
from .haproxy_backends import backend, lines
from .pair import own_address
from .plan import EntryPlan

# Prometheus asks at the host's own address. No body and few connections: who may ask takes no place of clients.
WATCHED = """frontend watched
    bind @OWN@:@STATUS@
    maxconn 16
    timeout client 10s
@SOURCES@    tcp-request connection reject unless prometheus
    http-request use-service lua.metrics if METH_GET { path /metrics }
    http-request return status 404
"""


def asked_at(plan: EntryPlan) -> list[str]:
    """Where the pages are: on the host itself alone, or that of a frontend for the hosts of its deployment."""
    port = plan.settings.status_port
    if not plan.front:
        return [f"bind 127.0.0.1:{port}"]
    return [f"bind {bracketed(plan.front.status)}:{port}", "maxconn 64", "timeout client 10s"]


def stated(plan: EntryPlan) -> t.Iterator[str]:
    """Whether any model has a router, and whether any has none. Lines with one name are alternatives; a line has 64 words at most."""
    for name, condition in (("somebody", "ge 1"), ("silent", "lt 1")):
        for route in plan.routes:
            yield f"acl {name} nbsrv({backend(route.model)}) {condition}"


def watched(plan: EntryPlan) -> str:
    """Where Prometheus asks; empty if nobody may, or if the page of the host itself is there already."""
    own, allowed = own_address(plan.settings, plan.pair), plan.settings.monitoring
    if not allowed or own == "127.0.0.1":
        return ""
    sources = lines(f"acl prometheus src {source}" for source in allowed)
    return filled(WATCHED, {"OWN": bracketed(own), "STATUS": str(plan.settings.status_port), "SOURCES": sources})
