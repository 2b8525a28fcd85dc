# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which addresses may connect to which TCP ports of a host: what every backend writes, and what is compared between deployments."""

from __future__ import annotations

import ipaddress
import re
from collections import namedtuple

# name: cluster, monitoring or client. ports: spans (first, last). networks: of ipaddress; everyone: no address is refused.
Access = namedtuple("Access", "name ports networks everyone")
NAMES = ("cluster", "monitoring", "client")
SSH_PORT = re.compile(r"^\s*(?:Port\s+|ListenAddress\s+\S+:)(\d+)\s*$", re.MULTILINE | re.IGNORECASE)


class Policy:
    """The access to one deployment's ports on one host.

    ``rules`` is the plan's list ``hosts[].firewall``; ``sources`` maps a name of NAMES to addresses and networks. The metrics' ports are open
    to the cluster as well; clients without a network are everyone. Ports of ``spared``, and those open to everyone, are never filtered.
    Raises ``ValueError`` for what is no port or no address.
    """

    def __init__(self, rules, sources, spared=()):
        networks = {name: parse_networks(sources.get(name) or ()) for name in NAMES}
        networks["monitoring"] = merged_networks(networks["monitoring"] + networks["cluster"])
        ports = {name: merged(span(rule["ports"]) for rule in rules if rule["from"] == name) for name in NAMES}
        everyone = not networks["client"]
        if not everyone:
            networks["client"] = merged_networks(networks["client"] + networks["cluster"])
        spared = merged((int(port), int(port)) for port in spared)
        unfiltered = merged(spared + ports["client"]) if everyone else spared
        self.accesses = [
            Access(
                "client",
                ports["client"] if everyone else without(ports["client"], spared),
                networks["client"],
                everyone,
            )
        ]
        self.accesses += [Access(name, without(ports[name], unfiltered), networks[name], False) for name in NAMES[:2]]
        self.accesses = [access for access in self.accesses if access.ports]

    @property
    def filtered(self):
        """The spans of ports that are closed to every address that is not named."""
        return merged(span_ for access in self.accesses if not access.everyone for span_ in access.ports)

    def record(self):
        """What other deployments of the host compare with theirs, as plain data."""
        cluster = [access for access in self.accesses if access.name == "cluster"]
        peers = [str(network) for access in cluster for network in access.networks]
        return {"ports": [list(item) for access in cluster for item in access.ports], "peers": peers}


def conflicts(mine, others):
    """Why two deployments of a host would close each other's ports: their ranges overlap and their hosts differ.

    ``mine`` is a record, ``others`` maps the names of deployments to theirs. Returns one text for each.
    """
    found = []
    for name in sorted(others):
        theirs = others[name]
        both = [
            (max(first, start), min(last, end))
            for first, last in mine["ports"]
            for start, end in theirs["ports"]
            if max(first, start) <= min(last, end)
        ]
        differing = sorted(set(mine["peers"]) ^ set(theirs["peers"]))
        if both and differing:
            found.append(
                f"deployment {name} filters the same ports of this host ({spell(merged(both))}), and these addresses belong to one of both "
                f"deployments only: {', '.join(differing[:8])}. Each would close the ports for the other's hosts. "
                "Fix: list the addresses in inference_firewall.cluster of both deployments"
            )
    return found


def ssh_ports(texts):
    """The ports in configurations of sshd; 22 if there is none."""
    return sorted({int(port) for text in texts for port in SSH_PORT.findall(text)}) or [22]


def parse_networks(texts):
    """Addresses and networks, merged and sorted; a zone such as %eth0 is dropped."""
    found = []
    for text in texts:
        try:
            found.append(ipaddress.ip_network(re.sub(r"%[^/]*", "", str(text)), strict=False))
        except ValueError as error:
            raise ValueError(f"'{text}' is neither an IP address nor a network such as 10.0.0.0/24") from error
    return merged_networks(found)


def merged_networks(networks):
    """Networks of both families without those that others contain."""
    found = []
    for version in (4, 6):
        found += ipaddress.collapse_addresses(network for network in networks if network.version == version)
    return found


def span(text):
    """The span of '7100' or '7100-7115'."""
    first, _minus, last = str(text).partition("-")
    found = int(first), int(last or first)
    if not 0 < found[0] <= found[1] < 65536:
        raise ValueError(f"'{text}' is not a range of ports")
    return found


def merged(spans):
    """Spans in order, with those that overlap or touch joined."""
    found = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def without(spans, holes):
    """Spans with the ports of ``holes`` taken out."""
    found = []
    for first, last in spans:
        for start, end in holes:
            if end < first or start > last:
                continue
            if start > first:
                found.append((first, start - 1))
            first = end + 1
        if first <= last:
            found.append((first, last))
    return found


def spell(spans, separator=", "):
    """Spans as '7100, 7200-7215'."""
    return separator.join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
