# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pseudonyms for addresses and names in texts of one archive, so that it can leave the site and still be replayed.

The same word gets the same pseudonym everywhere in the archive, and another one in the next archive: the key is random and is not kept.
Addresses keep their relations: two addresses with a common prefix of n bits have pseudonyms with a common prefix of n bits (as Crypto-PAn
does), because checks compare address, gateway and netmask. The last octet stays.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
from typing import Iterable

# Words end where no letter or digit follows: hccn.conf joins addresses with underscores. They begin also after an escape of JSON, such as the
# two characters \n, and after a colour of a terminal, whose last character is the letter m.
_BEGIN = r"(?:(?<![0-9A-Za-z])|(?<=\\[bfnrt])|(?<=[0-9;\[]m))"
_WORDS = re.compile(
    rf"{_BEGIN}(?P<mac>(?:[0-9A-Fa-f]{{2}}:){{5}}[0-9A-Fa-f]{{2}})(?![0-9A-Za-z:])"
    rf"|{_BEGIN}(?<!-)(?P<dashed>[0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{4}})(?![0-9A-Za-z-])"
    rf"|{_BEGIN}(?P<ipv6>[0-9A-Fa-f]{{0,4}}(?::[0-9A-Fa-f]{{0,4}}){{2,7}})(?![0-9A-Za-z:]|\.\d)"  # not of ::ffff:10.0.0.1
    rf"|{_BEGIN}(?<!\.)(?P<ipv4>(?:\d{{1,3}}\.){{3}}\d{{1,3}})(?![0-9A-Za-z]|\.\d)"
)
_SWITCH = re.compile(r"System Name TLV\s*\n\s*(\S+)")  # of hccn_tool -lldp
_SERIAL = re.compile(
    rf"(?i)(?:\b|{_BEGIN})((?:serial number|vendor sn|serial_number|sn)[\"']?\s*[:=]\s*[\"']?)([\w-]{{4,}})"
)
_VERSION = re.compile(r"(?i)versions?[\s\"':=|(\[]*\Z")
_BEFORE = 60  # characters before a version in which its title ends
LOCAL = "localhost"
_KEPT_OCTETS = (0, 127, 255)  # no address, loopback, netmasks
_KEPT_BITS = {172: 12, 192: 16}  # private networks stay private


class Masker:
    """``masker(text)`` is the text with pseudonyms. ``hosts``: names of the inventory; ``key``: for tests."""

    def __init__(self, hosts: Iterable[str], key: bytes | None = None) -> None:
        self._key = key or os.urandom(32)
        self._pattern: re.Pattern[str] | None = None
        self._names: dict[str, str] = {}
        names = sorted(set(hosts))  # pseudonyms have the same order: the planner places by it
        for number, name in enumerate(names, 1):
            self._names[name] = self._pseudonym(name, f"host-{number:0{len(str(len(names)))}d}")
        self.hosts = dict(self._names)
        for name, pseudonym in self.hosts.items():
            self._short(name, pseudonym)
        self._pattern = self._compiled()

    def _pseudonym(self, name: str, otherwise: str) -> str:
        if name == LOCAL:  # a word of every plan, which names nobody
            return name
        return self(name) if _is_address(name) else otherwise

    def learn(self, text: str) -> None:
        """Take the names of switches from the output of hccn_tool -lldp."""
        for name in _SWITCH.findall(text):
            if name not in self._names:
                self._names[name] = "switch-" + self._digest(name)[:8]
        self._pattern = self._compiled()

    def also(self, name: str, host: str) -> None:
        """``name`` is another name of a host of the inventory, such as its own one."""
        if name not in ("", LOCAL) and name not in self._names and not _is_address(name):
            self._names[name] = self.hosts[host]
            self._short(name, self.hosts[host])
            self._pattern = self._compiled()

    def __call__(self, text: str) -> str:
        if self._pattern is not None:
            text = self._pattern.sub(lambda found: self._names[found.group()], text)
        text = _SERIAL.sub(lambda found: found.group(1) + "SN" + self._digest(found.group(2))[:12].upper(), text)
        return "\n".join(self._line(line) for line in text.split("\n"))

    def _line(self, line: str) -> str:
        return _WORDS.sub(lambda found: self._word(found, _is_version(line, found.start())), line)

    def _word(self, found: re.Match[str], is_version: bool) -> str:
        word = found.group()
        if found.group("mac") or found.group("dashed"):
            digits = "0200" + self._digest(re.sub("[:-]", "", word.lower()))[:8]  # 02: locally administered
            size, mark = (2, ":") if found.group("mac") else (4, "-")
            return mark.join(digits[index : index + size] for index in range(0, 12, size))
        if found.group("ipv6"):
            return self._ipv6(word)
        return word if is_version or not _is_address(word) else self._ipv4(word)

    def _ipv4(self, word: str) -> str:
        number = int(ipaddress.IPv4Address(word))
        first = number >> 24
        if first in _KEPT_OCTETS or first >= 224:
            return word
        bits = f"{number:032b}"
        changed = bits[: _KEPT_BITS.get(first, 8)]
        while len(changed) < 24:
            flip = int(self._digest(bits[: len(changed)])[0], 16) & 1
            changed += str(int(bits[len(changed)]) ^ flip)
        return str(ipaddress.IPv4Address(int(changed + bits[24:], 2)))

    def _ipv6(self, word: str) -> str:
        try:
            address = ipaddress.IPv6Address(word)
        except ValueError:
            return word  # such as a time
        if address.is_loopback or address.is_unspecified:
            return word
        digits = self._digest(str(address))
        return f"2001:db8::{digits[:4]}:{digits[4:8]}"  # RFC 3849: documentation

    def _short(self, name: str, pseudonym: str) -> None:
        """The first part of a full name is a name too."""
        short = name.split(".")[0]
        if "." in name and len(short) > 1 and not short.isdigit() and not _is_address(name):
            self._names.setdefault(short, pseudonym)

    def _compiled(self) -> re.Pattern[str] | None:
        words = sorted((re.escape(name) for name in self._names), key=len, reverse=True)
        return re.compile(rf"{_BEGIN}(?:{'|'.join(words)})(?![0-9A-Za-z])") if words else None

    def _digest(self, word: str) -> str:
        return hmac.new(self._key, word.encode("utf-8"), hashlib.sha256).hexdigest()


def _is_version(line: str, start: int) -> bool:
    """Whether the title of a version is right before a place. Versions have four parts at times, and rules compare them."""
    return bool(_VERSION.search(line, max(0, start - _BEFORE), start))


def _is_address(word: str) -> bool:
    try:
        ipaddress.ip_address(word)
    except ValueError:
        return False
    return True
