# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pseudonyms for addresses of IPv4 and IPv6 that keep their relations.

Two addresses with a common prefix of n bits have pseudonyms with a common prefix of n bits (as Crypto-PAn does), because checks compare address,
gateway and netmask: a bit is flipped or not by a digest of all bits before it. An address of IPv6 that contains one of IPv4 has a pseudonym
that contains the pseudonym of that.
"""

from __future__ import annotations

import ipaddress
from typing import Callable

# No address, loopback, netmasks
_KEPT_OCTETS = (0, 127, 255)
_KEPT_BITS = {172: 12, 192: 16}  # private networks stay private
_LAST = 8  # bits of IPv4 that stay
_INTERFACE = 64  # bits of IPv6 before the identifier of the interface
_SOLICITED = int(ipaddress.IPv6Address("ff02::1:ff00:0"))  # RFC 4291: 24 bits of an address of a host follow
# (network whose addresses contain one of IPv4, bits after that): mapped (RFC 4291), NAT64 (RFC 6052)
_CONTAINING = ("::ffff:0:0/96", "64:ff9b::/96")
# (network, bits that stay): those of hosts on one link, of one site, and of groups; of all others the first ones say only that they are global
_KEPT_NETWORKS = (("fe80::/64", 64), ("fe80::/10", 10), ("fc00::/7", 8), ("::/3", 3), ("2000::/3", 3))


class Addresses:
    """``ipv4`` and ``ipv6``: the pseudonym of an address as a text. ``digest``: of a text with the secret of an archive, in hexadecimal digits."""

    def __init__(self, digest: Callable[[str], str]) -> None:
        self._digest = digest
        self._known: dict[str, str] = {}

    def ipv4(self, address: ipaddress.IPv4Address) -> str:
        return self._remembered(str(address), lambda: str(ipaddress.IPv4Address(self._of_ipv4(int(address)))))

    def ipv6(self, address: ipaddress.IPv6Address) -> str:
        return self._remembered(str(address), lambda: self._of_ipv6(address))

    def of_network(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address, length: int) -> str:
        """Of an address before ``/length``: that of a network has no bits after them, and its pseudonym has none either."""
        found = self.ipv4(address) if isinstance(address, ipaddress.IPv4Address) else self.ipv6(address)
        rest = (1 << max(address.max_prefixlen - length, 0)) - 1
        if int(address) & rest or length > address.max_prefixlen:
            return found
        return str(type(address)(int(ipaddress.ip_address(found)) & ~rest))

    def _remembered(self, word: str, made: Callable[[], str]) -> str:
        if word not in self._known:
            self._known[word] = made()
        return self._known[word]

    def _of_ipv4(self, number: int) -> int:
        first = number >> 24
        if first in _KEPT_OCTETS or first >= 224:
            return number
        bits = f"{number:032b}"
        return int(self._flipped(bits[:-_LAST], _KEPT_BITS.get(first, 8)) + bits[-_LAST:], 2)

    def _of_ipv6(self, address: ipaddress.IPv6Address) -> str:
        number = int(address)
        if number < 2:  # :: and ::1
            return str(address)
        for network in _CONTAINING:
            if address in ipaddress.IPv6Network(network):
                inner = ipaddress.IPv4Address(self._of_ipv4(number & 0xFFFFFFFF))
                return f"{network.partition('/')[0].replace(':0:0', ':')}{inner}"
        bits = f"{number:0128b}"
        if address.is_multicast:
            group = number >> 24 == _SOLICITED >> 24
            return str(ipaddress.IPv6Address(int(self._flipped(bits, 104), 2))) if group else str(address)
        kept = next((many for text, many in _KEPT_NETWORKS if address in ipaddress.IPv6Network(text)), 0)
        prefix = self._flipped(bits[:_INTERFACE], kept)
        # Zeros at its begin stay: the address of a network, and ::1 of a gateway, are known by them.
        zeros = len(bits[_INTERFACE:]) - len(bits[_INTERFACE:].lstrip("0"))
        first = min(_INTERFACE + zeros + 1, len(bits))
        return str(ipaddress.IPv6Address(int(prefix + self._flipped(bits, first)[_INTERFACE:], 2)))

    def _flipped(self, bits: str, kept: int) -> str:
        changed = bits[:kept]
        for place in range(kept, len(bits)):
            changed += str(int(bits[place]) ^ (int(self._digest(bits[:place])[0], 16) & 1))
        return changed
