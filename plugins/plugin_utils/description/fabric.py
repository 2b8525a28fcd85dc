# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of the network between NPUs."""

from __future__ import annotations

from dataclasses import dataclass

from .loader import choice, documented, number, typed


@dataclass(frozen=True)
class Fabric:
    """Settings of the NPUs' network that the playbook fabric applies. What is not set stays as it is."""

    tls: bool | None = documented(
        "Whether TLS is on. It must be the same on all hosts; vLLM-Ascend's guides switch it off.", None
    )
    addresses: tuple[str, ...] = documented(
        "IPv4 addresses with a prefix length: single ones (10.20.0.10/24) and ranges (10.20.0.10-10.20.0.73/24). Hosts with the same "
        "list share it.",
        (),
    )
    addresses_file: str = documented(
        "File on the controller with one device a line: HOST DEVICE ADDRESS/PREFIX, and a gateway if it differs. A relative path begins "
        "at the inventory's directory. Devices in it take nothing from the list.",
        typed("path"),
    )
    order: str = documented(
        "Order in which devices take the addresses. host: all devices of the first host first. device: device 0 of all hosts first.",
        choice("host", "device"),
    )
    prefer: str = documented(
        "keep: a device whose address is in the list keeps it. plan: each device has the address of its position in the list.",
        choice("keep", "plan"),
    )
    gateway: tuple[str, ...] = documented(
        "Default gateways; each device takes the one in its network. first or last: the first or last address of its network.",
        (),
    )
    netdetect: str = documented(
        "Address that a device pings to check its network. gateway: its gateway.", typed("address")
    )
    mtu: int = documented("MTU in bytes. 0: unchanged.", number(0, 0, 65535))
    devices: tuple[int, ...] = documented(
        "Physical ids of the devices to configure. Default: all of the host, also those that no engine uses.", ()
    )
