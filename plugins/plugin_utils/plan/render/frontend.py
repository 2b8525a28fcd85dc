# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entry in front of one deployment: TLS, clients' keys, limits, and the list of allowed paths. The proxies support none of these.

It is the playbook entry's program with that one's configuration, for one model. The plan and planned files contain no secrets: the keys reach the
start script through the environment, and it writes digests of the clients' ones, and the engines' one, to files that only the service's user can read.
The program's own environment does not contain them.
"""

from __future__ import annotations

import posixpath
import shlex

from ...description.variables import Host, Router
from ...entry import haproxy
from ...entry.pair import Member, Pair
from ...entry.plan import EntryPlan, Front, Grant, Route, Way
from ...entry.settings import Entry
from ..deployment import Context
from ..routers.registry import flavour_of
from ..service import File, Health, Port, Service, Start, Stop, bracketed, every_address
from .client_paths import LISTED, client_paths, passed
from .template import filled

NAME = "frontend"
PROGRAM = haproxy.PROGRAM
KEYS = "client_keys"  # the secret: clients' keys, separated by spaces
ROUTERS = "routers"  # whose key the engines' one is

SCRIPT = r"""#!/bin/sh
# Written by ascend.inference. Turns the keys of the environment into files of the frontend, and starts it.
set -euf # f: a key with * is no pattern of names of files, which would become keys
umask 077
LC_ALL=C
export LC_ALL
cd @WORK@
# From here on a number identifies a key, so that no log line and no count of a limit contains the key.
number=0
for key in ${FRONTEND_CLIENT_KEYS:?inference_secrets has no client_keys}; do
    case $key in
    *[!A-Za-z0-9._~+/=-]*) echo "a key of client_keys has a character other than A-Z a-z 0-9 . _ ~ + / = -" >&2; exit 1 ;;
    esac
    number=$((number + 1))
    digest=$(printf '%s' "$key" | sha256sum)
    printf '%s key-%s\n' "${digest%% *}" "$number"
done > keys.map
case ${FRONTEND_BACKEND_KEY:-} in
*[!!-~]*) echo 'api_key has a character that is not printable, or a space' >&2; exit 1 ;;
esac
printf '%s' "${FRONTEND_BACKEND_KEY:+@ROUTERS@ Bearer $FRONTEND_BACKEND_KEY
}" > engine_keys.map
unset FRONTEND_CLIENT_KEYS FRONTEND_BACKEND_KEY
@WATCH@exec @START@
"""
# Links, because the program reads both under one name, and a copy would be a second place of the key.
LINKED = """ln -sfn @CERTIFICATE@ entry.pem
ln -sfn @KEY@ entry.pem.key
(/bin/sh @SCRIPT@ "$$" &)
"""
# A process of its own, not a copy of the shell that started the frontend: that one's environment had the keys. It ends with the frontend, and is no child of
# it: HAProxy's master ends when its last child has.
RENEWED = r"""#!/bin/sh
# Written by ascend.inference. Lets the frontend, process $1, load a certificate or key whose file changed.
set -u
read_both() { cat -- @CERTIFICATE@ @KEY@ 2>&1 | cksum; }
seen=$(read_both)
while sleep @EVERY@ && kill -0 "$1" 2>/dev/null; do
    now=$(read_both)
    [ "$now" != "$seen" ] || continue
    seen=$now
    # Half of a renewal, such as a certificate without its key, is refused here, and tried again when its file changes.
    if @CHECK@ > /dev/null; then
        kill -@LOADS@ "$1"
        echo "[notice] the certificate was renewed"
    fi
done
"""
EVERY = 10  # seconds


def frontend_service(context: Context, host: Host, routers: list[Service]) -> Service:
    """The frontend on a host of a router. ``routers``: those behind it, or the balancers in their place. Clients reach ``client_paths`` and no other."""
    settings = context.description.router
    directory, address = context.service_directory(NAME), settings.frontend_bind or host.address
    reached = host.address if every_address(address) else address
    secret = {"FRONTEND_CLIENT_KEYS": KEYS}
    if "api_key" in context.description.secrets:
        secret["FRONTEND_BACKEND_KEY"] = "api_key"
    script = posixpath.join(directory, "start.sh")
    work = posixpath.join(directory, "work")
    plan = _entry(context, host, routers, Front(work, (address,), host.address, passed(settings)))
    made = sorted(haproxy.front_files(plan, directory).items())
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
            *(File(posixpath.join(directory, name), text) for name, text in made),
            *_scripts(settings, directory, work, script),
        ),
        work_directory=directory,
        start=Start(40, tuple(router.name for router in routers), {"nofile": 1048576}),
        health=Health(f"http://{bracketed(host.address)}:{settings.frontend_status_port}/health", 60),
        stop=Stop(haproxy.ENDS, 60),
    )


def _scripts(settings: Router, directory: str, work: str, script: str) -> list[File]:
    """The start, and with a certificate the watch of its files."""
    configuration, renewed = (posixpath.join(directory, name) for name in (haproxy.CONFIGURED, "renewed.sh"))
    both = {"CERTIFICATE": shlex.quote(settings.certificate), "KEY": shlex.quote(settings.certificate_key)}
    watch = filled(LINKED, {**both, "SCRIPT": shlex.quote(renewed)}) if settings.certificate else ""
    started = shlex.join(haproxy.foreground(configuration))
    start = {"WORK": shlex.quote(work), "WATCH": watch, "START": started, "ROUTERS": ROUTERS}
    found = [File(script, filled(SCRIPT, start), "0750")]
    if settings.certificate:
        check = {"CHECK": shlex.join(haproxy.check(configuration)), "EVERY": str(EVERY), "LOADS": haproxy.LOADS}
        found.append(File(renewed, filled(RENEWED, {**both, **check}), "0750"))
    return found


def _entry(context: Context, host: Host, routers: list[Service], front: Front) -> EntryPlan:
    """The entry with one route, which has the name of the deployment, and one grant for each key."""
    settings = context.description.router
    entry = Entry(
        port=settings.frontend_port,
        status_port=settings.frontend_status_port,
        peer_port=0,
        plain_http=not settings.certificate,
        usage=False,
        paths=tuple(path for path in client_paths(context) if path != LISTED),
        body_mib=settings.frontend_body_mib,
        arriving_mib=max(Entry().arriving_mib, settings.frontend_body_mib),
        answer_timeout=settings.frontend_answer_timeout,
        client_timeout=settings.frontend_client_timeout,
    )
    ways = tuple(
        Way(router.name, f"{bracketed(router.address)}:{router.port('api').first}", 1, router.host != host.name)
        for router in routers
    )
    # A balancer answers the list alone, and 503 without routers; the router's own path answers with engines alone.
    health = LISTED if routers[0].kind == "balancer" else flavour_of(context).health_path
    keys = ROUTERS if "api_key" in context.description.secrets else ""
    route = Route(context.description.deployment, ways, health, keys, "")
    grant = Grant("", (), settings.frontend_requests_per_minute, settings.frontend_parallel_requests, 0, 0)
    return EntryPlan(entry, (route,), (grant,), Pair(Member("one", host.address), None), front)
