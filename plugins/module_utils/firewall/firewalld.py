# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy as files of firewalld: one policy object and its address sets, firewalld.policy(5) and firewalld.ipset(5).

The policy judges packets to the host before the zones do (negative priority). Rich rules accept the named addresses and drop others, in the
order of their priorities; other ports go on to the zones (target CONTINUE).
"""

from __future__ import annotations

import hashlib
from xml.sax.saxutils import escape

from .nftables import FAMILIES, address_text
from .policy import spell

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'


def policy_name(deployment):
    """The policy's name; firewalld allows 18 characters."""
    return "ascend-" + hashlib.sha256(deployment.encode()).hexdigest()[:8]


def set_name(deployment, access, version):
    """The name of an address set, of 31 characters at most."""
    return f"{policy_name(deployment)}-{access}{version}"


def places(deployment):
    """The paths of all files that a deployment may have, below firewalld's folder."""
    sets = [
        f"ipsets/{set_name(deployment, name, version)}.xml"
        for name in ("cluster", "monitoring", "client")
        for version in FAMILIES
    ]
    return [f"policies/{policy_name(deployment)}.xml"] + sets


def files(deployment, policy):
    """Path below firewalld's folder -> text."""
    found, rules = {}, []
    for access in policy.accesses:
        if access.everyone:
            rules += [rule(ports, "accept", -1) for ports in access.ports]
            continue
        for version in FAMILIES:
            networks = [address_text(network) for network in access.networks if network.version == version]
            if not networks:
                continue
            name = set_name(deployment, access.name, version)
            found[f"ipsets/{name}.xml"] = address_set(networks, version)
            rules += [rule(ports, "accept", -1, version, name) for ports in access.ports]
    rules += [rule(ports, "drop", 1) for ports in policy.filtered]
    lines = [
        HEAD + '<policy priority="-10" target="CONTINUE">',
        f"  <short>ascend.inference {escape(deployment)}</short>",
        "  <description>Written by ascend.inference. Do not edit.</description>",
        '  <ingress-zone name="ANY"/>',
        '  <egress-zone name="HOST"/>',
    ]
    found[f"policies/{policy_name(deployment)}.xml"] = "\n".join([*lines, *rules, "</policy>", ""])
    return found


def address_set(networks, version):
    """The file of an address set."""
    lines = [
        HEAD + '<ipset type="hash:net">',
        f'  <option name="family" value="{"inet" if version == 4 else "inet6"}"/>',
    ]
    return "\n".join([*lines, *(f"  <entry>{network}</entry>" for network in networks), "</ipset>", ""])


def rule(ports, verdict, priority, version=0, source=""):
    """One rich rule of one span of ports."""
    family = f' family="ipv{version}"' if version else ""
    origin = f'    <source ipset="{source}"/>\n' if source else ""
    port = f'    <port port="{spell([ports])}" protocol="tcp"/>\n'
    return f'  <rule{family} priority="{priority}">\n{origin}{port}    <{verdict}/>\n  </rule>'


def normal(listing):
    """The lines of --info-policy without the state of the first one, sorted: a running policy prints its rules in another order."""
    lines = [line.strip() for line in listing.splitlines() if line.strip()]
    return sorted(line for line in lines[1:])
