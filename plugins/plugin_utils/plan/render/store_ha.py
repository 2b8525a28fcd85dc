# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A highly available Mooncake store: etcd's members, and the settings by which masters and engines find the leader.

Mooncake docs, deployment of the store: HA; etcd docs, clustering.
"""

from __future__ import annotations

import posixpath
import typing as t

from ...description.variables import Host
from ..deployment import Context
from ..service import Health, Port, Service, Start, Stop, base_url, bracketed, digest

ETCD = "etcd"
PROGRAM = "/usr/bin/etcd"  # of the packages etcd-server (Debian, Ubuntu) and etcd (openEuler)
CLUSTER_VARIABLE = (
    "MC_STORE_CLUSTER_ID"  # the client's own default, mooncake, differs from the master's, mooncake_cluster
)
QUOTA = 8 * 2**30  # bytes; the largest size of its database that etcd's documents suggest, its default is 2 GiB


def endpoints(context: Context) -> str:
    """The addresses of etcd for Mooncake: ``10.0.0.1:9410;10.0.0.2:9410``."""
    ha = context.description.store.ha
    if ha is None:
        return ""
    own = (f"{bracketed(host.address)}:{ha.etcd_client_port}" for host in context.etcd)
    return ";".join(ha.etcd_endpoints or own)


def cluster_id(context: Context) -> str:
    """The name of the store in etcd."""
    ha = context.description.store.ha
    return (ha.cluster_id if ha else "") or context.description.deployment


def oplog(context: Context) -> bool:
    """Whether keys survive a failover: the user wants it, and the release's Mooncake can."""
    ha = context.description.store.ha
    return bool(ha and ha.oplog and context.release.master_knows("enable_oplog"))


def master_flags(context: Context, host: Host) -> dict[str, t.Any]:
    """Options of the master on ``host``; none without high availability. The address that it publishes is always among its options."""
    if not context.masters:
        return {}
    own = {"metrics_host": host.address} if context.release.master_knows("metrics_host") else {}
    return {**election_flags(context), **own}


def election_flags(context: Context) -> dict[str, str]:
    """Options that are the same for all masters."""
    if context.release.master_knows("ha_backend_connstring"):
        found = {"ha_backend_type": "etcd", "ha_backend_connstring": endpoints(context)}
    else:
        found = {"etcd_endpoints": endpoints(context)}
    return {
        "enable_ha": "true",
        **found,
        "cluster_id": cluster_id(context),
        **({"enable_oplog": "true"} if oplog(context) else {}),
    }


def client_environment(context: Context) -> dict[str, str]:
    """Environment of an engine that uses the store."""
    return {CLUSTER_VARIABLE: cluster_id(context)} if context.masters else {}


def etcd_services(context: Context) -> list[Service]:
    """The members of the deployment's own etcd.

    A cluster cannot be joined by members that it does not know, so other members are another, empty cluster: its folder and token have
    the digest of the list. So has another cluster id, which replaces a database that is full: the OpLog of Mooncake 0.3.13 only
    grows. etcd before 3.5 ends on arm64 without ETCD_UNSUPPORTED_ARCH.
    """
    ha = context.description.store.ha
    if ha is None:
        return []
    client, peer = ha.etcd_client_port, ha.etcd_peer_port
    members = ",".join(f"{_name(number)}={base_url(host.address, peer)}" for number, host in enumerate(context.etcd))
    token = f"{context.description.deployment}-{digest([members, cluster_id(context)])[:8]}"
    found = []
    for number, host in enumerate(context.etcd):
        directory = context.service_directory(_name(number))
        flags = {
            "name": _name(number),
            "data-dir": posixpath.join(directory, "work", token),
            "listen-client-urls": base_url(host.address, client),
            "advertise-client-urls": base_url(host.address, client),
            "listen-peer-urls": base_url(host.address, peer),
            "initial-advertise-peer-urls": base_url(host.address, peer),
            "initial-cluster": members,
            "initial-cluster-token": token,
            "initial-cluster-state": "new",
            "auto-compaction-mode": "periodic",
            "auto-compaction-retention": "10m",
            "quota-backend-bytes": QUOTA,
        }
        found.append(
            Service(
                name=_name(number),
                kind=ETCD,
                host=host.name,
                address=host.address,
                instance=number,
                argv=(PROGRAM, *(f"--{key}={flags[key]}" for key in flags)),
                env={"ETCD_UNSUPPORTED_ARCH": "arm64"},
                ports=(Port("client", client, protocol="http"), Port("peer", peer)),
                work_directory=directory,
                start=Start(5),
                health=Health(f"{base_url(host.address, client)}/health", 120),
                stop=Stop("TERM", 30),
            )
        )
    return found


def _name(number: int) -> str:
    return f"{ETCD}-{number}"
