# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HAProxy in front of several routers: a router that fails or restarts gets no requests, and the others serve.

It needs HAProxy 2.4 or later (Debian 12 has 2.6, openEuler 22.03 has 2.4), or an image with it. Its administration is a unix socket of the
service's user; no port gives access to it.
"""

from __future__ import annotations

import hashlib
import posixpath
import typing as t
from urllib.parse import urlsplit

from ...description.variables import Host, Router
from ..deployment import Context
from ..service import File, Health, Port, Service, Start, Stop, bracketed, every_address
from .client_paths import LISTED, client_paths, passed
from .container import container
from .template import filled

NAME = "balancer"
PROGRAM = "/usr/sbin/haproxy"
BACKEND = "routers"
# Headers that a request needs besides those of client_paths.CLIENTS. Without a frontend, the key is the engines' own.
NEEDED = ("Authorization", "Content-Length", "Expect", "Host", "Transfer-Encoding")
STOP = 60  # seconds in which open streams may end after a stop signal

# Only a connection that was refused is tried at another router: a request that was sent may have been carried out. One connection to a router
# for each request, because a router that closes an idle connection while a request is sent on it would lose that request. A busy
# router answers late, so a failed health check ends no stream; those of a host that is gone end by TCP keepalive after 25 s.
CONFIGURATION = """# Written by ascend.inference: changes here are lost.
global
    maxconn 8192
    no strict-limits
    nbthread 4
    hard-stop-after @STOP@s
    stats socket @SOCKET@ mode 600 level admin
    server-state-file @KEPT@
    log stdout format raw local0 notice
defaults
    mode http
    log global
    load-server-state-from-file global
    option disable-h2-upgrade
    timeout connect 1s
    timeout check 2s
    timeout queue 5s
    timeout client @CLIENT@s
    timeout http-request @CLIENT@s
    timeout http-keep-alive @CLIENT@s
    timeout server @ANSWER@s
    http-error status 502 content-type application/json string '{"error": {"message": "the router ended during the request", "type": "server_error"}}'
    http-error status 503 content-type application/json string '{"error": {"message": "no router answers", "type": "server_error"}}'
    http-error status 504 content-type application/json string '{"error": {"message": "the router did not answer in time", "type": "server_error"}}'
frontend clients
    bind @LISTEN@
    acl for_clients path @PATHS@
    http-request return status 404 content-type application/json string '{"error": {"message": "there is no such path"}}' unless for_clients
    http-request deny deny_status 405 if { path @LISTED@ } !{ method GET }
    http-request deny deny_status 405 if !{ path @LISTED@ } !{ method POST }
    http-request del-header ^(?!(?:@HEADERS@)$) -m reg
@ID@    http-request set-uri %[path]
    default_backend @BACKEND@
backend @BACKEND@
    balance leastconn
    option httpchk
    http-check send meth GET uri @HEALTH@
    http-check expect status 200
    retries 3
    retry-on conn-failure
    option redispatch 1
    option http-server-close
    option srvtcpka
    srvtcpka-idle 10s
    srvtcpka-intvl 5s
    srvtcpka-cnt 3
    default-server check inter 1s fall 2 rise 2 weight 100
@SERVERS@frontend status
    bind @STATUS@
    http-request return status 404 unless { path /health }
    http-request return status 503 content-type application/json string '{"routers": {}}' if { nbsrv(@BACKEND@) lt 1 }
    http-request return status 200 content-type application/json lf-string '{"routers": {@STATES@}}'
"""


def balancer_hosts(context: Context) -> list[Host]:
    """The first router's host; with a virtual address also the next one that is another host."""
    hosts = [host for host in (context.router, *context.more_routers) if host]
    return list(dict.fromkeys(hosts))[: 2 if context.description.router.virtual_address else 1]


def balancer_services(context: Context, routers: t.Sequence[Service]) -> list[Service]:
    """The balancer of each of these hosts. Each sends requests to all routers."""
    return [_service(context, host, routers, number) for number, host in enumerate(balancer_hosts(context))]


def _service(context: Context, host: Host, routers: t.Sequence[Service], number: int) -> Service:
    """HAProxy on a router's host. Clients, or the frontend, reach the paths of ``client_paths`` and no other."""
    settings, name = context.description.router, balancer_name(number)
    directory, address = context.service_directory(name), settings.balancer_bind or host.address
    reached = host.address if every_address(address) else address
    configuration = posixpath.join(directory, "haproxy.cfg")
    fronted = settings.frontend != "none"
    return Service(
        name=name,
        kind="balancer",
        host=host.name,
        address=reached,
        argv=(posixpath.basename(PROGRAM) if context.contained else PROGRAM, "-db", "-f", configuration),
        env={},
        ports=(
            Port("api", settings.balancer_port, protocol="http", scope="cluster" if fronted else "client"),
            Port("metrics", settings.balancer_status_port, protocol="http"),
        ),
        files=(File(configuration, _configuration(context, host, routers, address, name)),),
        work_directory=directory,
        instance=number,
        start=Start(35, tuple(router.name for router in routers), {"nofile": 1048576}),
        health=Health(f"http://{bracketed(host.address)}:{settings.balancer_status_port}/health", 120),
        stop=Stop("USR1", STOP + 10),
        container=container(context, host, name, directory, own_image=settings.balancer_image)
        if context.contained
        else None,
    )


def balancer_name(number: int) -> str:
    """The name of a balancer: the first one has it without a number."""
    return f"{NAME}-{number}" if number else NAME


def balancer_section(context: Context, services: t.Sequence[Service]) -> dict[str, t.Any]:
    """The plan's ``balancer``: how routers are drained and returned while it runs.

    ``{balancer: {service, host, socket, state_file, backend, servers}}``; with a virtual address ``more`` has the same of the second one.
    """
    balancers = [service for service in services if service.kind == NAME]
    if not balancers:
        return {}
    routers = [service for service in services if service.kind == "router"]
    first, *more = [
        {
            "service": balancer.name,
            "host": balancer.host,
            "socket": socket_path(context, balancer.name),
            "backend": BACKEND,
            "state_file": state_file(context, _servers(routers), balancer.name),
            "servers": [router.name for router in routers],
        }
        for balancer in balancers
    ]
    return {"balancer": {**first, "more": more} if more else first}


def balancer_of(plan: t.Mapping[str, t.Any], host: str) -> dict[str, t.Any]:
    """The section of the balancer on a host, without those of others; {} without one. ``plan``: a whole plan."""
    section = plan.get("balancer") or {}
    found = next((each for each in (section, *section.get("more", ())) if each.get("host") == host), {})
    return {key: value for key, value in found.items() if key != "more"}


def socket_path(context: Context, name: str = NAME) -> str:
    """HAProxy's runtime socket. Only the service's user and root can connect to it."""
    return posixpath.join(_run_folder(context, name), f"{name}.sock")


def state_file(context: Context, servers: str, name: str = NAME) -> str:
    """States and weights of the routers, for a HAProxy that starts anew. ``servers``: their lines of the configuration.

    Another list of routers has another file: HAProxy takes also the ports of routers from it.
    """
    digest = hashlib.sha256(servers.encode()).hexdigest()[:12]
    return posixpath.join(_run_folder(context, name), f"{name}-{digest}.state")


def _run_folder(context: Context, name: str) -> str:
    """Where HAProxy may write. A container can write to one folder of its own only, which the host sees under the same path."""
    if context.contained:
        return posixpath.join(context.service_directory(name), "work")
    return posixpath.dirname(context.digest_file(name))


def _servers(routers: t.Sequence[Service]) -> str:
    return "".join(
        f"    server {router.name} {bracketed(router.address)}:{router.port('api').first}\n" for router in routers
    )


def _configuration(context: Context, host: Host, routers: t.Sequence[Service], address: str, name: str) -> str:
    settings = context.description.router
    servers = _servers(routers)
    states = ", ".join(f'"{router.name}": %[srv_is_up({BACKEND}/{router.name})]' for router in routers)
    values = {
        "SOCKET": socket_path(context, name),
        "KEPT": state_file(context, servers, name),
        "STOP": str(STOP),
        "LISTEN": _listen(address, settings),
        "STATUS": f"{bracketed(host.address)}:{settings.balancer_status_port}",  # of the cluster, not of the clients' network
        "ANSWER": str(settings.frontend_answer_timeout),
        "CLIENT": str(settings.frontend_client_timeout),
        "PATHS": " ".join(client_paths(context)),
        "LISTED": LISTED,
        "HEADERS": _headers(settings),
        "ID": "" if settings.frontend != "none" else "    http-request set-header X-Request-Id %[uuid()]\n",
        "BACKEND": BACKEND,
        "HEALTH": _health_path(routers[0]),
        "SERVERS": servers,
        "STATES": states,
    }
    return filled(CONFIGURATION, values)


def _listen(address: str, settings: Router) -> str:
    """What the clients' part binds. The virtual address also while another host has it: ``transparent`` is IP_FREEBIND, which needs no right."""
    lines = [f"{bracketed(address)}:{settings.balancer_port}"]
    if settings.virtual_address and not every_address(address):
        lines.append(f"{bracketed(plain_address(settings.virtual_address))}:{settings.balancer_port} transparent")
    return "\n    bind ".join(lines)


def plain_address(virtual: str) -> str:
    """A virtual address without the length of its prefix."""
    return virtual.partition("/")[0]


def _health_path(router: Service) -> str:
    """The path that answers 200 when the router has engines: a restarted vllm-router answers 200 at /health before they are added (0.1.17)."""
    return urlsplit(router.health.url).path if router.health else "/health"


def _headers(settings: Router) -> str:
    """The headers that reach a router, as an expression. The frontend has replaced the id of the request already."""
    identified = ["X-Request-Id"] if settings.frontend != "none" else []
    return "|".join(name.lower() for name in (*passed(settings), *NEEDED, *identified))
