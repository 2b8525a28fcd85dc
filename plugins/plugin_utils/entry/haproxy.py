# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entry as a configuration of HAProxy. This file, its neighbours haproxy_*.py and *.lua alone know the program.

HAProxy 2.4 or later with Lua, as Debian 12 builds it. It keeps a buffer only while data is in transit, so a buffer that can
hold the largest request costs an idle stream nothing; documents that say otherwise describe versions before 1.7.
"""

from __future__ import annotations

import posixpath
import typing as t

from ..plan.render.client_paths import BY_TASK, CLIENTS, LISTED
from ..plan.render.template import filled
from ..plan.service import bracketed
from .haproxy_backends import asked_at, backend, lines, section, stated, watched
from .haproxy_limits import limits, listening, peers
from .pair import ALIVE
from .plan import EntryPlan
from .refusals import ERRORS, error

PROGRAM = "/usr/sbin/haproxy"
PACKAGE = "haproxy"
USER = "haproxy"  # made by the package
CONFIGURED = "haproxy.cfg"
LOADS = "USR2"  # the signal at which the master starts a new worker, and the former one ends its streams
ENDS = "USR1"  # the signal at which all end their streams, and then themselves
RELOAD = f"/bin/kill -{LOADS} $MAINPID"
HEADERS = 65536  # bytes of a request's headers that clients may send
CONTROL = (
    r"[^\t\r\n\x20-\x7e\x80-\xff]"  # a character of a header that a terminal obeys, where a router writes it into a log
)
SMALL = 65536  # bytes of a body that takes no place
HEAD = 10  # seconds in which a request's headers have to arrive: until then they may fill a buffer, whoever sends them
GUESSES = 30  # requests a minute without a known key, for each IPv4 address or /64 of IPv6
STOP = 3600  # seconds in which open streams of a replaced process may end

# With a Lua filter and two threads, HAProxy 2.6.12 ends with a segmentation fault; so one thread serves where tokens are counted.
# A check and the count behind it are two steps, so two threads may let through one request more than a limit. The table of teams passes to
# the process that a reload starts, through the peer. That of open requests does not: HAProxy 2.4 would add those of the former process, and
# never subtract them. What is read is counted before: a body without a model costs as much as another one. A request goes on with the length of
# its body and without chunks: fields behind chunks (trailers) become headers in uvicorn. Only a connection that was refused is tried elsewhere:
# a request that was sent may have been carried out. What is answered here closes the connection, or one with thousands of such requests would
# have the only thread. The wait for counts of tokens comes before the other counts, or those that waited together would pass them. Comments on
# health and connections: plan/render/balancer.py.
CONFIGURATION = """# Written by ascend.inference: changes here are lost.
global
    maxconn 8192
    no strict-limits
    nbthread @THREADS@
    localpeer @NUMBER@
    hard-stop-after @STOP@s
    tune.bufsize @BUFFER@
    tune.maxrewrite 16384
    lua-load @FOLDER@/model.lua
    lua-load @FOLDER@/metrics.lua
@COUNTER@@ADMIN@    ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets
    log stdout format raw local0 notice
defaults
    mode http
    log global
    option http-no-delay
@IDLE@    option abortonclose
    option disable-h2-upgrade
    timeout connect 2s
    timeout check 2s
    timeout queue 5s
    timeout client @CLIENT@s
    timeout http-request @SENT@s
    timeout http-keep-alive @CLIENT@s
    timeout server @ANSWER@s
    http-error status 400 content-type application/json string '@MALFORMED@'
    http-error status 408 content-type application/json string '@SLOW@'
    http-error status 500 content-type application/json string '@BROKEN@'
    http-error status 502 content-type application/json string '@ENDED@'
    http-error status 503 content-type application/json string '@SILENT@'
    http-error status 504 content-type application/json string '@LATE@'
@PEERS@backend open
    stick-table type string len 64 size 100k expire 1h store conn_cur
backend strangers
    stick-table type ipv6 size 100k expire 2m store gpc0,gpc0_rate(60s)
frontend clients
@LISTEN@@FILTER@    http-after-response set-header Connection close if { be_name clients }
    http-request set-var(txn.id) uuid()
    acl listed path @LISTED@
    acl served path @PATHS@
    acl single req.fhdr_cnt(authorization) eq 1
    acl bearer req.fhdr(authorization) -m beg "Bearer "
    http-request set-var(txn.digest) req.fhdr(authorization),bytes(7),sha2(256),hex,lower if single bearer
    http-request set-var(txn.team) var(txn.digest),map_str(@SECRETS@/keys.map)
    acl known var(txn.team) -m found
    http-request lua.removed @SECRETS@/keys.map if known { stopping }
    http-request track-sc1 src,ipmask(32,64) table strangers unless known
    http-request lua.refused key unless known
    http-request return status 429 content-type application/json string '@BUSY@' hdr Retry-After 2 if !known { sc1_gpc0_rate ge @GUESSES@ }
    http-request sc-inc-gpc0(1) unless known
    http-request return status 401 content-type application/json string '@UNKNOWN@' hdr WWW-Authenticate Bearer unless known
    http-request return status 404 content-type application/json string '@NOPATH@' unless listed or served
    http-request return status 405 content-type application/json string '@METHOD@' hdr Allow GET if listed !{ method GET }
    http-request return status 405 content-type application/json string '@METHOD@' hdr Allow POST if served !{ method POST }
    http-request return status 400 content-type application/json string '@BODILESS@' if listed { req.fhdr_cnt(transfer-encoding) gt 0 }
    http-request return status 400 content-type application/json string '@BODILESS@' if listed { req.hdr_val(content-length) gt 0 }
    http-request return status 400 content-type application/json string '@MALFORMED@' if { req.hdrs -m reg @CONTROL@ }
    http-request return status 431 content-type application/json string '@HEADERS@' if { req.hdrs,length gt @MOSTHEADERS@ }
@LISTS@@COUNTED@    http-request track-sc2 var(txn.team) table open
@PARALLEL@@TOKENS@@RATES@    http-request return status 413 content-type application/json string '@LARGE@' if { req.body_size gt @BODY@ }
    http-request lua.arrive @BODY@ @MOST@ unless { req.body_size le @SMALL@ } { req.fhdr_cnt(content-length) gt 0 }
    http-request return status 503 content-type application/json string '@FULL@' hdr Retry-After 1 if { var(txn.full) -m bool }
    http-request sc-inc-gpc0(0)
    http-request wait-for-body time @CLIENT@s
    http-request return status 413 content-type application/json string '@LARGE@' if { req.body_size gt @BODY@ }
@CHOSEN@    http-request del-header @NOTCLIENTS@ -m reg
    http-request set-header X-Request-Id %[var(txn.id)]
    http-request set-uri %[path]
    http-request set-header Content-Length @LENGTH@
    use_backend @ROUTE@
@BACKENDS@frontend status
@ASKED@@STATED@    http-request use-service lua.metrics if { path /metrics }
    http-request return status 404 unless { path /health @ALIVE@ }
    http-request return status 503 if { path @ALIVE@ } !somebody
    http-request return status 200 if { path @ALIVE@ }
    http-request return status 503 content-type application/json lf-string '@STATES@' if silent
    http-request return status 200 content-type application/json lf-string '@STATES@'
@WATCHED@"""
# The model that a body names, and whether the team may use it.
MODELS = """    http-request lua.model
    http-request return status 400 content-type application/json lf-string '@FAULT@' if { var(txn.fault) -m found }
    http-request set-var(txn.route) var(txn.model),map_str(@FOLDER@/models.map)
    http-request return status 404 content-type application/json lf-string '@NOMODEL@' unless { var(txn.route) -m found }
    http-request set-var(txn.grant) var(txn.team),concat(/,txn.model)
    http-request return status 403 content-type application/json lf-string '@FOREIGN@' unless { var(txn.grant),map_str(@FOLDER@/grants.map) -m found }
"""
# Any model, or none: its engines refuse others. Uploads are forms of engines without a proxy between prefill and decode; no JSON begins as they do.
ANY = """    http-request lua.body unless listed@FORMS@
    http-request return status 400 content-type application/json lf-string '@FAULT@' if { var(txn.fault) -m found }
"""


def files(
    plan: EntryPlan, folder: str, run: str, state: str, digests: t.Mapping[str, str], keys: t.Mapping[str, str]
) -> dict[str, str]:
    """Contents by name. ``digests``: teams by digest of a key; ``keys``: engines' keys by deployment. Only engine_keys.map has a key."""
    grants = [f"{grant.team}/{model} yes" for grant in plan.grants for model in grant.models]
    return {
        **front_files(plan, folder, run),
        **(
            {"usage.lua": filled(_script("usage.lua"), {"FOLDER": folder, "STATE": state})}
            if plan.settings.usage
            else {}
        ),
        "keys.map": _map(f"{digest} {team}" for digest, team in sorted(digests.items())),
        "grants.map": _map(grants),
        "tokens.map": _map(
            f"{grant.team} {grant.tokens_per_day} {grant.tokens_per_month}"
            for grant in plan.grants
            if grant.tokens_per_day or grant.tokens_per_month
        ),
        "engine_keys.map": _map(f"{name} Bearer {key}" for name, key in sorted(keys.items())),
    }


def front_files(plan: EntryPlan, folder: str, run: str = "") -> dict[str, str]:
    """As ``files``, those that a frontend has, too; what its keys become is written at its start: keys.map and engine_keys.map."""
    return {
        CONFIGURED: _configuration(plan, folder, run),
        "model.lua": _script("model.lua"),
        "metrics.lua": filled(_script("metrics.lua"), {"FOLDER": folder}),
        "models.map": _map(f"{route.model} {backend(route.model)}" for route in plan.routes),
    }


def start(configuration: str) -> list[str]:
    """The command of the unit: a master that tells systemd when it is ready, and a worker."""
    return [PROGRAM, "-Ws", "-f", configuration]


def foreground(configuration: str) -> list[str]:
    """As ``start``, for a service whose start nobody is told."""
    return [PROGRAM, "-W", "-f", configuration]


def alone(configuration: str) -> list[str]:
    """The command of one process in the foreground, for a proof."""
    return [PROGRAM, "-db", "-f", configuration]


def check(configuration: str) -> list[str]:
    """The command that reads all files and starts nothing."""
    return [PROGRAM, "-c", "-f", configuration]


def _script(name: str) -> str:
    with open(posixpath.join(posixpath.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


def _map(lines: t.Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _configuration(plan: EntryPlan, folder: str, run: str) -> str:
    settings = plan.settings
    body = settings.body_mib * 2**20
    states = [f'"{route.model}": %[nbsrv({backend(route.model)})]' for route in plan.routes]
    secrets = plan.front.secrets if plan.front else folder
    kept = "|".join(
        [*(name.lower() for name in (plan.front.headers if plan.front else CLIENTS)), "content-length", "host"]
    )
    values = {
        **ERRORS,
        "STOP": str(STOP),
        "BUFFER": str(body + HEADERS + 3 * 16384),
        "FOLDER": folder,
        "CLIENT": str(settings.client_timeout),
        "SENT": str(min(HEAD, settings.client_timeout)),
        "ANSWER": str(settings.answer_timeout),
        # A frontend starts anew with its settings, and idle clients do not hold that up.
        "IDLE": lines([] if plan.front else ["option idle-close-on-response"]),
        "ADMIN": lines([] if plan.front else [f"stats socket {run}/admin.sock mode 600 level admin"]),
        "NUMBER": plan.pair.own.number,
        "PEERS": peers(plan.pair, settings.peer_port),
        "SECRETS": secrets,
        "LISTEN": lines(_listening(plan, secrets)),
        "LISTED": LISTED,
        "PATHS": " ".join(settings.paths),
        "GUESSES": str(GUESSES),
        "MOSTHEADERS": str(HEADERS),
        "CONTROL": CONTROL,
        "BODY": str(body),
        "SMALL": str(SMALL),
        "MOST": str(settings.arriving_mib * 2**20),
        "LARGE": error(f"the request is larger than {settings.body_mib} MiB"),
        **limits(plan, folder),
        "NOTCLIENTS": f"^(?!(?:{kept})$)",
        "BACKENDS": "".join(section(route, secrets, run, settings) for route in plan.routes),
        "THREADS": "1" if settings.usage else "2",
        "ASKED": lines(asked_at(plan)),
        "ALIVE": ALIVE,
        "STATED": lines(stated(plan)),
        "WATCHED": watched(plan),
        "STATES": '{"routers": {' + ", ".join(states) + "}}",
    }
    chosen = filled(ANY, {**values, "FORMS": _forms(settings.paths)}) if plan.front else filled(MODELS, values)
    route = backend(plan.routes[0].model) if plan.front else "%[var(txn.route)]"
    return filled(CONFIGURATION, {**values, "CHOSEN": chosen, "ROUTE": route})


def _listening(plan: EntryPlan, secrets: str) -> t.Iterator[str]:
    secured = "" if plan.settings.plain_http else f" ssl crt {secrets}/entry.pem alpn http/1.1"
    for address in plan.front.listens if plan.front else (plan.settings.address,):
        yield f"bind {bracketed(address)}:{plan.settings.port}{listening(plan.pair)}{secured}"


def _forms(paths: t.Collection[str]) -> str:
    """The condition of an upload, which is no JSON."""
    found = sorted(set(BY_TASK["transcription"]) & set(paths))
    return f" or {{ path {' '.join(found)} }} {{ req.body,bytes(0,2),hex -m str 2D2D }}" if found else ""
