# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory of a cluster: its nodes are unknown, so each pod is planned as a separate host.

An address is known only when the pod runs. ``prefill-0.pod`` is its placeholder in the plan; a start script has ``${POD_IP}``
for the pod's own, and the router's a loopback address for each engine's (``forwarding.py``). So hosts and clusters share placement, ports and renderers.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ....module_utils.kubernetes.names import POD_PREFIX, address_of
from ...description.kubernetes import Kubernetes
from ...description.variables import DEVICES, Description, Host, Pool
from ...engines.registry import engine
from ...plan.placement import _span

ROUTER, MASTER = "router", "mooncake-master"
SHARED_API_PORT = 7100


def service_name(description: Description, name: str) -> str:
    """The DNS name of a service in the cluster, resolvable from all namespaces."""
    return f"{description.deployment}-{name}.{description.kubernetes.namespace}.svc"


def on_cluster(description: Description, hosts: t.Mapping[str, Host]) -> tuple[Description, dict[str, Host]]:
    """The description and hosts for planning with the runtime kubernetes.

    A pool's instances are counted over all groups; each pool is a group of as many hosts as it has pods. Hosts of the
    inventory are used only if the router runs on one of them.
    """
    settings = description.kubernetes
    found: dict[str, Host] = {}
    pools: dict[str, Pool] = {}
    for name, pool in description.pools.present().items():
        pools[name] = _pool(description, name, pool)
        for pod in _pods(name, pools[name], _node_devices(description)):
            found[POD_PREFIX + pod] = _host(description, pod, address_of(pod), name, _node_devices(description))
    found[POD_PREFIX + MASTER] = _host(
        description, MASTER, service_name(description, MASTER), description.mooncake_master.group, 0
    )
    if settings.router.mode == "host":
        group = description.router.group
        found.update({name: hosts[name] for name in hosts if group in hosts[name].groups})
    else:
        address = service_name(description, ROUTER)
        found[POD_PREFIX + ROUTER] = _host(description, ROUTER, address, description.router.group, 0)
    router = description.router
    if settings.router.mode in ("kthena_router", "none"):
        router = dataclasses.replace(router, flavour="none")
    return dataclasses.replace(description, pools=dataclasses.replace(description.pools, **pools), router=router), found


def _pool(description: Description, name: str, pool: Pool) -> Pool:
    settings = description.kubernetes
    api = pool.ports.api
    if settings.router.mode == "kthena_router" and not api:
        api = (SHARED_API_PORT,)  # a ModelServer has one port for all roles
    return dataclasses.replace(
        pool,
        group=name,
        instances=pool.instances * settings.groups,
        instances_per_host=0,
        ports=dataclasses.replace(pool.ports, api=api),
    )


def _pods(name: str, pool: Pool, node_devices: int) -> list[str]:
    span = max(1, _span(pool, node_devices)[0]) if node_devices else 1
    if span == 1:
        return [f"{name}-{number}" for number in range(pool.instances)]
    return [f"{name}-{number}-{position}" for number in range(pool.instances) for position in range(span)]


def _node_devices(description: Description) -> int:
    settings: Kubernetes = description.kubernetes
    if not engine(description.engine).npus:
        return 0
    return (
        settings.devices_per_node
        or description.devices
        or DEVICES.get(description.hardware or engine(description.engine).hardware, 8)
    )


def _host(description: Description, name: str, address: str, group: str, devices: int) -> Host:
    return Host(
        name=POD_PREFIX + name,
        address=address,
        interface=description.interface,
        hardware=description.hardware or engine(description.engine).hardware,
        devices=tuple(range(devices)),
        groups=(group,),
    )
