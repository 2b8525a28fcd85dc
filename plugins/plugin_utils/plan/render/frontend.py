# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nginx in front of the proxy: TLS and clients' keys, which the proxies do not support.

The plan and planned files contain no secrets. The keys reach the start script through the environment, and it writes
them to a file that only the service's user can read; nginx's own environment does not contain them.
"""

from __future__ import annotations

import posixpath

from ...description.variables import Host
from ..deployment import Context
from ..routers.base import Flavour
from ..service import File, Health, Port, Service, Start, Stop, bracketed

NAME = "frontend"
PROGRAM = "/usr/sbin/nginx"
KEYS = "client_keys"  # the secret: clients' keys, separated by spaces

SCRIPT = r"""#!/bin/sh
# Written by ascend.inference. Turns the keys of the environment into a file for nginx, and starts it.
set -eu
umask 077
configuration=$(cd "$(dirname "$0")" && pwd)/nginx.conf
cd "$(dirname "$0")/work"
mkdir -p temporary
{
    # Regular expressions, because nginx compares plain strings of a map without regard to case.
    echo 'map $http_authorization $ascend_known {'
    echo '    default 0;'
    for key in ${FRONTEND_CLIENT_KEYS:?inference_secrets has no client_keys}; do
        case $key in
        *[!A-Za-z0-9._~+/=-]*) echo "a key of client_keys has a character other than A-Z a-z 0-9 . _ ~ + / = -" >&2; exit 1 ;;
        esac
        printf '    "~^Bearer %s$" 1;\n' "$(printf '%s' "$key" | sed 's/[.+]/\\&/g')"
    done
    echo '}'
    echo 'map "" $ascend_backend {'
    printf '    default "%s";\n' "${FRONTEND_BACKEND_KEY:+Bearer $FRONTEND_BACKEND_KEY}"
    echo '}'
} > keys.conf
unset FRONTEND_CLIENT_KEYS FRONTEND_BACKEND_KEY
exec @PROGRAM@ -p "$PWD" -c "$configuration" -g 'daemon off;'
"""

# Tokens are streamed, so buffering is off and the timeouts are long.
CONFIGURATION = """# Written by ascend.inference: changes here are lost.
worker_processes auto;
pid temporary/nginx.pid;
error_log stderr warn;
events { worker_connections 4096; }
http {
    access_log off;
    server_tokens off;
    client_body_temp_path temporary/body;
    proxy_temp_path temporary/proxy;
    fastcgi_temp_path temporary/fastcgi;
    uwsgi_temp_path temporary/uwsgi;
    scgi_temp_path temporary/scgi;
    client_max_body_size 256m;
    proxy_http_version 1.1;
    proxy_buffering off;
    proxy_request_buffering off;
    proxy_read_timeout 3600s;
    proxy_send_timeout 3600s;
    include @SCRATCH@/keys.conf;
    server {
        listen @LISTEN@;
@TLS@@ADMIN@        location / {
            default_type application/json;
            if ($ascend_known = 0) { return 401 '{"error": {"message": "unknown API key", "type": "authentication_error"}}'; }
            proxy_set_header Authorization $ascend_backend;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_pass @ROUTER@;
        }
    }
    server {
        listen @STATUS@;
        location = /health { proxy_pass @ROUTER@@HEALTH@; }
        location / { return 404; }
    }
}
"""
TLS = """        ssl_certificate @CERTIFICATE@;
        ssl_certificate_key @KEY@;
        ssl_protocols TLSv1.2 TLSv1.3;
"""


def frontend_service(context: Context, host: Host, router: Service, flavour: Flavour) -> Service:
    """nginx on the router's host. It blocks the paths that change the router or its engines."""
    settings = context.description.router
    directory, address = context.service_directory(NAME), settings.frontend_bind or host.address
    reached = host.address if address in ("0.0.0.0", "::") else address
    secret = {"FRONTEND_CLIENT_KEYS": KEYS}
    if "api_key" in context.description.secrets:
        secret["FRONTEND_BACKEND_KEY"] = "api_key"
    tls = TLS.replace("@CERTIFICATE@", settings.certificate).replace("@KEY@", settings.certificate_key)
    values = {
        "@LISTEN@": f"{bracketed(address)}:{settings.frontend_port}{' ssl' if settings.certificate else ''}",
        "@ADMIN@": "".join(f"        location = {path} {{ return 403; }}\n" for path in flavour.private),
        "@TLS@": tls if settings.certificate else "",
        "@ROUTER@": f"http://{bracketed(router.address)}:{router.port('api').first}",
        "@STATUS@": f"{bracketed(reached)}:{settings.frontend_status_port}",
        "@SCRATCH@": posixpath.join(directory, "work"),
        "@HEALTH@": flavour.health_path,
    }
    text = CONFIGURATION
    for name, value in values.items():
        text = text.replace(name, value)
    script = posixpath.join(directory, "start.sh")
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
            File(posixpath.join(directory, "nginx.conf"), text),
            File(script, SCRIPT.replace("@PROGRAM@", PROGRAM), "0750"),
        ),
        work_directory=directory,
        start=Start(40, (router.name,), {"nofile": 1048576}),
        health=Health(f"http://{bracketed(reached)}:{settings.frontend_status_port}/health", 60),
        stop=Stop("QUIT", 60),
    )
