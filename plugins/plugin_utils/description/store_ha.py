# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variable ``inference_store.ha``: high availability of the store's master."""

from __future__ import annotations

from dataclasses import dataclass

from .loader import documented, number, typed

CLIENT_PORT, PEER_PORT = (
    9410,
    9411,
)  # below the ephemeral range, and not etcd's 2379 and 2380, which a Kubernetes node uses


@dataclass(frozen=True)
class StoreHa:
    """High availability of the store's master: several masters, and etcd, which elects the one that serves."""

    masters: int = documented(
        "Number of masters, each on another host of inference_mooncake_master.group.", number(2, 2, 3)
    )
    cluster_id: str = documented(
        "Name of the store in etcd, the same for masters and engines. Default: the name of the deployment.",
        typed("cluster_id"),
    )
    oplog: bool = documented(
        "Whether the masters write their keys to etcd, so that they survive a failover. Without effect before Mooncake 0.3.13.",
        True,
    )
    etcd_endpoints: tuple[str, ...] = documented(
        "Addresses of an etcd of the site, as HOST:PORT without TLS. Default: the deployment runs its own etcd.",
        typed("endpoint", ()),
    )
    etcd_members: int = documented("Number of members of the deployment's own etcd.", number(3, 1, 7))
    etcd_group: str = documented(
        "Inventory group whose hosts run the deployment's own etcd. Default without such a group: the hosts of the masters, then further "
        "hosts of their group, then those of engines.",
        typed("group", "etcd"),
    )
    etcd_client_port: int = documented("Port of etcd for masters and engines.", number(CLIENT_PORT, 1, 65535))
    etcd_peer_port: int = documented("Port of etcd for its other members.", number(PEER_PORT, 1, 65535))
