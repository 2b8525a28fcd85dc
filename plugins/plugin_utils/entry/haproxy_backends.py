# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The routers of each model, and the pages of health and metrics, in the configuration of HAProxy."""

from __future__ import annotations

import hashlib
import re
import typing as t

from ..plan.render.template import filled
from ..plan.service import bracketed
from .pair import own_address
from .plan import EntryPlan, Route, Way
from .refusals import ERRORS
from .settings import Entry

BACKEND = """backend @ROUTE@
    balance roundrobin
    option allbackups
    option httpchk
    http-check send meth GET uri @HEALTH@
    http-check expect status 200-499
    retries 3
    retry-on conn-failure
    option redispatch 1
    option http-server-close
    http-reuse never
    option srvtcpka
    srvtcpka-idle 10s
    srvtcpka-intvl 5s
    srvtcpka-cnt 3
    http-request set-header Host @HOST@
@KEY@    http-response lua.answered if { var(txn.held) -m bool }
    http-response set-header X-Request-Id %[var(txn.id)]
@SUCCESS@    default-server check inter 1s fall 2 rise 1 observe layer4 error-limit 1 on-error mark-down
@SERVERS@"""


# A model that takes over is behind a door of this process, which is the spare server of the model: so a request that reached nobody comes to it as
# it would come to a spare router, and once. The door writes the other name into the body. Usage is counted where the request came in.
OTHER = """frontend @ROUTE@-other
    bind @DOOR@ mode 600
    filter lua.usage
    http-request return status 503 if METH_GET { nbsrv(@OTHER@) lt 1 }
    http-request return status 200 if METH_GET
    http-request wait-for-body time @CLIENT@s
    http-request lua.other @MODEL@
    http-request return status 503 content-type application/json string '@SILENT@' unless { var(txn.length) -m found }
    http-request set-var(txn.id) req.fhdr(x-request-id)
    http-request del-header Authorization
    http-request set-header Content-Length %[var(txn.length)]
    use_backend @OTHER@
"""
SUCCESS = "http-response set-var(txn.success) bool(true) if { status 200:299 }"
# Prometheus asks at the host's own address. No body and few connections: who may ask takes no place of clients.
WATCHED = """frontend watched
    bind @OWN@:@STATUS@
    maxconn 16
    timeout client 10s
@SOURCES@    tcp-request connection reject unless prometheus
    http-request use-service lua.metrics if METH_GET { path /metrics }
    http-request return status 404
"""


def backend(model: str) -> str:
    """The name of a model's backend. Names of models have characters that HAProxy's do not."""
    return f"{re.sub('[^A-Za-z0-9]', '_', model)[:40]}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"


def lines(texts: t.Iterable[str]) -> str:
    """Lines of a section; empty ones are left out."""
    return "".join(f"    {line}\n" for line in texts if line)


def section(route: Route, folder: str, run: str, settings: Entry) -> str:
    """The backend of one model, and the door to the one that takes over."""
    key = f"http-request set-header Authorization %[str({route.keys}),map_str({folder}/engine_keys.map)]"
    door = f"unix@{run}/{backend(route.model)[-8:]}.sock"
    values = {
        "ROUTE": backend(route.model),
        "SUCCESS": lines([SUCCESS if settings.usage else ""]),
        "HEALTH": route.health,
        "HOST": route.ways[0].address,
        "KEY": lines([key if route.keys else ""]),
        "SERVERS": lines([*map(_server, route.ways), *([f"server other {door} backup"] if route.other else [])]),
    }
    more = {
        "DOOR": door,
        "OTHER": backend(route.other),
        "MODEL": route.other,
        "CLIENT": str(settings.client_timeout),
        "SILENT": ERRORS["SILENT"],
    }
    return filled(BACKEND, values) + (filled(OTHER, {**values, **more}) if route.other else "")


def _server(way: Way) -> str:
    return f"server {way.name} {way.address} {'backup' if way.spare else f'weight {way.weight}'}"


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
