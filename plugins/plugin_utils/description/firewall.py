# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of the hosts' firewall."""

from __future__ import annotations

from dataclasses import dataclass

from .loader import choice, documented, firsts, typed


@dataclass(frozen=True)
class Firewall:
    """The filter of the planned ports on every host."""

    state: str = documented(
        "present: only the deployment's hosts and the addresses below may connect to the planned ports. absent: remove this filter. "
        "unmanaged: change nothing.",
        choice("unmanaged", "present", "absent"),
    )
    backend: str = documented(
        "The program that filters. auto: firewalld if it is running on the host, else nftables.",
        choice("auto", "nftables", "firewalld"),
    )
    cluster: tuple[str, ...] = documented(
        "More addresses and networks that may connect to all planned ports, such as further addresses of the hosts, or the controller.",
        typed("network", ()),
    )
    monitoring: tuple[str, ...] = documented(
        "Addresses and networks that may connect to ports of metrics.", typed("network", ())
    )
    clients: tuple[str, ...] = documented(
        "Addresses and networks that may connect to the port for clients. Default: all.", typed("network", ())
    )
    spared: tuple[int, ...] = documented(
        "Ports of other programs within the planned ranges, which stay open. Ports of sshd always do.", firsts()
    )
