# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nginx in front of the proxy: TLS, clients' keys, limits, and the list of allowed paths. The proxies support none of these.

The plan and planned files contain no secrets. The keys reach the start script through the environment, and it writes
them to a file that only the service's user can read; nginx's own environment does not contain them.
"""

from __future__ import annotations

import posixpath
import re
import shlex
import typing as t

from ...description.variables import Host, Router
from ..deployment import Context
from ..routers.registry import flavour_of
from ..service import File, Health, Port, Service, Start, Stop, bracketed, every_address
from .client_paths import LISTED, client_paths

NAME = "frontend"
PROGRAM = "/usr/sbin/nginx"
KEYS = "client_keys"  # the secret: clients' keys, separated by spaces

SCRIPT = r"""#!/bin/sh
# Written by ascend.inference. Turns the keys of the environment into a file for nginx, and starts it.
set -euf # f: a key with * is no pattern of names of files, which would become keys
umask 077
configuration=$(cd "$(dirname "$0")" && pwd)/nginx.conf
cd "$(dirname "$0")/work"
mkdir -p temporary
{
    # Regular expressions, because nginx compares plain strings of a map without regard to case. From here on a number
    # identifies a key, so that no log line and no zone of a limit contains the key.
    echo 'map $http_authorization $ascend_client {'
    echo '    default "";'
    number=0
    for key in ${FRONTEND_CLIENT_KEYS:?inference_secrets has no client_keys}; do
        case $key in
        *[!A-Za-z0-9._~+/=-]*) echo "a key of client_keys has a character other than A-Z a-z 0-9 . _ ~ + / = -" >&2; exit 1 ;;
        esac
        number=$((number + 1))
        printf '    "~^Bearer %s$" %s;\n' "$(printf '%s' "$key" | sed 's/[.+]/\\&/g')" "$number"
    done
    echo '}'
    # In nginx's quoted text these characters end the text, escape the next one or start a variable.
    case ${FRONTEND_BACKEND_KEY:-} in
    *[[:cntrl:][:space:]\"\$\\]*) echo 'api_key has a space, a control character or one of " $ \' >&2; exit 1 ;;
    esac
    echo 'map "" $ascend_backend {'
    printf '    default "%s";\n' "${FRONTEND_BACKEND_KEY:+Bearer $FRONTEND_BACKEND_KEY}"
    echo '}'
} > keys.conf
unset FRONTEND_CLIENT_KEYS FRONTEND_BACKEND_KEY
@WATCH@exec @PROGRAM@ -p "$PWD" -c "$configuration" -g 'daemon off;'
"""

# A process of its own, not a copy of the shell that started nginx: that one's environment had the keys. It ends with nginx.
RENEWED = r"""#!/bin/sh
# Written by ascend.inference. Lets nginx, process $1 with the configuration $2, load a certificate or key whose file changed.
set -u
read_both() { cat -- @CERTIFICATE@ @KEY@ 2>&1 | cksum; }
seen=$(read_both)
while sleep @EVERY@ && kill -0 "$1" 2>/dev/null; do
    now=$(read_both)
    [ "$now" != "$seen" ] || continue
    seen=$now
    # Half of a renewal, such as a certificate without its key, is refused here, and tried again when its file changes.
    if @PROGRAM@ -q -t -p "$PWD" -c "$2"; then
        kill -HUP "$1"
        echo "[notice] the certificate was renewed"
    fi
done
"""
EVERY = 10  # seconds
# Tokens are streamed, so buffering is off; an answer takes as long as an engine needs. A client has an IPv4 address, or a /64 of IPv6. Who has
# no key writes no line: 2 KiB for each request would fill the disk, and show keys that somebody wrote into a query. No path has a query.
CONFIGURATION = """# Written by ascend.inference: changes here are lost.
worker_processes auto;
pid temporary/nginx.pid;
error_log stderr warn;
events { worker_connections 8192; }
http {
    access_log off;
    server_tokens off;
    default_type application/json;
    client_body_temp_path temporary/body;
    proxy_temp_path temporary/proxy;
    fastcgi_temp_path temporary/fastcgi;
    uwsgi_temp_path temporary/uwsgi;
    scgi_temp_path temporary/scgi;
    client_max_body_size @BODY@m;
    client_header_timeout @CLIENT@s;
    client_body_timeout @CLIENT@s;
    send_timeout @CLIENT@s;
    proxy_http_version 1.1;
    proxy_buffering off;
    proxy_request_buffering off;
    proxy_read_timeout @ANSWER@s;
    proxy_send_timeout @CLIENT@s;
    proxy_pass_request_headers off;
    proxy_ignore_headers X-Accel-Redirect X-Accel-Expires X-Accel-Limit-Rate X-Accel-Buffering X-Accel-Charset Expires Cache-Control Set-Cookie Vary;
    include @SCRATCH@/keys.conf;
    map $binary_remote_addr $ascend_network { "~(?s)^(.{8}).{8}$" $1; default $binary_remote_addr; }
    map $ascend_client $ascend_stranger { "" $ascend_network; default ""; }
    limit_req_zone $ascend_stranger zone=ascend_strangers:1m rate=30r/m;
    limit_req_log_level info;
    limit_conn_log_level info;
@ZONES@    server {
        listen @LISTEN@;
        set $args "";
        if ($ascend_client = "") { rewrite ^ @STRANGER@ last; }
@TLS@        error_page 413 @large;
        error_page 429 @busy;
        location @large { return 413 '{"error": {"message": "the request is larger than @BODY@ MiB", "type": "invalid_request_error"}}'; }
        location @busy {
            add_header Retry-After 1 always;
            return 429 '{"error": {"message": "too many requests with this API key", "type": "rate_limit_error"}}';
        }
        location = @STRANGER@ {
            internal;
            client_max_body_size 0;
            error_log stderr crit;
            limit_req zone=ascend_strangers burst=20 nodelay;
            limit_req_status 429;
            deny all;
            error_page 403 = @unknown;
            error_page 429 = @guessing;
        }
        location @unknown { return 401 '{"error": {"message": "unknown API key", "type": "authentication_error"}}'; }
        location @guessing {
            add_header Retry-After 2 always;
            return 429 '{"error": {"message": "too many requests without a known API key from this address", "type": "authentication_error"}}';
        }
        location / { return 404 '{"error": {"message": "there is no such path", "type": "invalid_request_error"}}'; }
@PATHS@    }
    server {
        listen @STATUS@;
        location = /health { proxy_pass @HEALTH@; }
        location / { return 404; }
    }
}
"""
# nginx requests the listed path from the router, whatever spelling of it the client sent.
LOCATION = """        location = @PATH@ {
            if ($request_method != @METHOD@) { return 405; }
@LIMITS@            proxy_set_header Authorization $ascend_backend;
            proxy_set_header Connection "";
            proxy_set_header Host $proxy_host;
            proxy_set_header X-Request-Id $request_id;
@CLIENTS@            proxy_pass @ROUTER@@PATH@;
        }
"""
# The headers of a client that reach the router. Others choose among engines and ranks, or come before others, or write an address or a trace into
# logs, and each router and release reads others: X-data-parallel-rank, X-Worker-Priority, X-Prefiller-Host-Port, Traceparent, Cookie.
# nginx itself sends the length of the body, and the id of a request, which names its KV cache between prefill and decode.
SESSIONS = {
    "X-Session-Id": "$http_x_session_id",
    "X-User-Id": "$http_x_user_id",
}  # by which the policy consistent_hash chooses
CLIENTS = {"Accept": "$http_accept", "Content-Type": "$content_type", "User-Agent": "$http_user_agent"}
# Requests without a known key end here, whatever their path, method and size, so that they are counted by address: return, in place of the rewrite,
# would come before limit_req. Those with a known key from the same address are not.
STRANGER = "/.unknown-key"
TLS = """        ssl_certificate @CERTIFICATE@;
        ssl_certificate_key @KEY@;
        ssl_protocols TLSv1.2 TLSv1.3;
"""
TOKEN = re.compile(r"@[A-Z]+@")


def frontend_service(context: Context, host: Host, router: Service) -> Service:
    """nginx on the host of the router, or of the balancer in its place. Clients reach the paths of ``client_paths`` and no other."""
    settings = context.description.router
    directory, address = context.service_directory(NAME), settings.frontend_bind or host.address
    reached = host.address if every_address(address) else address
    secret = {"FRONTEND_CLIENT_KEYS": KEYS}
    if "api_key" in context.description.secrets:
        secret["FRONTEND_BACKEND_KEY"] = "api_key"
    script = posixpath.join(directory, "start.sh")
    watch, renewed = _renewed(settings, directory)
    return Service(
        name=NAME,
        kind="frontend",
        host=host.name,
        address=reached,
        argv=("/bin/sh", script),
        env={},
        secret_env=secret,
        ports=(
            Port("api", settings.frontend_port, protocol="https" if settings.certificate else "http", scope="client"),
            Port("metrics", settings.frontend_status_port, protocol="http"),
        ),
        files=(
            File(posixpath.join(directory, "nginx.conf"), _configuration(context, host, router, directory, address)),
            File(script, filled(SCRIPT, {"PROGRAM": PROGRAM, "WATCH": watch}), "0750"),
            *renewed,
        ),
        work_directory=directory,
        start=Start(40, (router.name,), {"nofile": 1048576}),
        health=Health(f"http://{bracketed(host.address)}:{settings.frontend_status_port}/health", 60),
        stop=Stop("QUIT", 60),
    )


def _renewed(settings: Router, directory: str) -> tuple[str, tuple[File, ...]]:
    """(the line that starts the watch of the certificate's files, its script); nothing without a certificate."""
    if not settings.certificate:
        return "", ()
    values = {
        "CERTIFICATE": shlex.quote(settings.certificate),
        "KEY": shlex.quote(settings.certificate_key),
        "EVERY": str(EVERY),
        "PROGRAM": PROGRAM,
    }
    line = '/bin/sh ../renewed.sh "$$" "$configuration" &\n'
    return line, (File(posixpath.join(directory, "renewed.sh"), filled(RENEWED, values), "0750"),)


def _configuration(context: Context, host: Host, router: Service, directory: str, address: str) -> str:
    settings = context.description.router
    values = {
        "LISTEN": f"{bracketed(address)}:{settings.frontend_port}{' ssl' if settings.certificate else ''}",
        "STATUS": f"{bracketed(host.address)}:{settings.frontend_status_port}",  # of the cluster, not of the clients' network
        "ROUTER": f"http://{bracketed(router.address)}:{router.port('api').first}",
        "HEALTH": _health(context, router),
        "SCRATCH": posixpath.join(directory, "work"),
        "BODY": str(settings.frontend_body_mib),
        "ANSWER": str(settings.frontend_answer_timeout),
        "CLIENT": str(settings.frontend_client_timeout),
        "ZONES": _zones(settings),
        "CLIENTS": "".join(
            f"            proxy_set_header {name} {value};\n" for name, value in passed(settings).items()
        ),
        "STRANGER": STRANGER,
    }
    tls = {"CERTIFICATE": settings.certificate, "KEY": settings.certificate_key}
    values["TLS"] = filled(TLS, tls) if settings.certificate else ""
    values["PATHS"] = "".join(
        filled(
            LOCATION,
            {**values, "PATH": path, "METHOD": "GET" if path == LISTED else "POST", "LIMITS": _limits(settings, path)},
        )
        for path in client_paths(context)
    )
    return filled(CONFIGURATION, values)


def passed(settings: Router) -> dict[str, str]:
    """The headers of a client that reach a router, with nginx's variables of their values."""
    policies = {settings.policy, *map(str, settings.args.values())}
    return {**CLIENTS, **(SESSIONS if "consistent_hash" in policies else {})}


def _health(context: Context, router: Service) -> str:
    """What the frontend's health page asks: the balancer's own one, or the path of the router that answers with engines alone."""
    if router.kind != "router" and router.health:
        return router.health.url
    return f"http://{bracketed(router.address)}:{router.port('api').first}{flavour_of(context).health_path}"


def _zones(settings: Router) -> str:
    """The zones in which nginx counts each key's requests, for the limits that are set."""
    rate = f"    limit_req_zone $ascend_client zone=ascend_rate:1m rate={settings.frontend_requests_per_minute}r/m;\n"
    parallel = "    limit_conn_zone $ascend_client zone=ascend_parallel:1m;\n"
    return (rate if settings.frontend_requests_per_minute else "") + (
        parallel if settings.frontend_parallel_requests else ""
    )


def _limits(settings: Router, path: str) -> str:
    """The limits of a path. The list of models has none: it is cheap, and clients read it as a health check."""
    lines = []
    if path == LISTED:
        return ""
    if settings.frontend_requests_per_minute:
        # A minute's requests may arrive in one burst: the limit is on a key's load, not on its distribution over the minute.
        lines += [
            f"limit_req zone=ascend_rate burst={settings.frontend_requests_per_minute} nodelay;",
            "limit_req_status 429;",
        ]
    if settings.frontend_parallel_requests:
        lines += [f"limit_conn ascend_parallel {settings.frontend_parallel_requests};", "limit_conn_status 429;"]
    return "".join(f"            {line}\n" for line in lines)


def filled(text: str, values: t.Mapping[str, str]) -> str:
    """A template with every ``@NAME@`` replaced once: values are not searched for names again."""
    return TOKEN.sub(lambda found: values[found.group()[1:-1]], text)
