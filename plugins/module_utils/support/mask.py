# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pseudonyms for addresses and names in texts of one archive, so that it can leave the site and still be replayed.

The same word gets the same pseudonym everywhere in the archive, and another one in the next archive: the key is random and is not kept.
"""

from __future__ import annotations

import copy
import hashlib
import hmac
import ipaddress
import os
import re
from typing import Iterable

from .addresses import Addresses
from .words import TOOLS

# Words end where no letter or digit follows: hccn.conf joins addresses with underscores. They begin also after an escape of JSON, such as the
# two characters \n, and after a colour of a terminal, whose last character is the letter m.
_BEGIN = r"(?:(?<![0-9A-Za-z])|(?<=\\[bfnrt])|(?<=[0-9;\[]m))"
_GROUP = "[0-9A-Fa-f]{1,4}"
_GROUPS = f"{_GROUP}(?::{_GROUP}){{0,6}}"
_WORDS = re.compile(
    rf"{_BEGIN}(?P<mac>(?:[0-9A-Fa-f]{{2}}:){{5}}[0-9A-Fa-f]{{2}})(?![0-9A-Za-z:])"
    rf"|{_BEGIN}(?<!-)(?P<dashed>[0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{4}}|(?:[0-9A-Fa-f]{{2}}-){{5}}[0-9A-Fa-f]{{2}})(?![0-9A-Za-z-])"
    rf"|{_BEGIN}(?<![-.])(?P<bare>[0-9A-Fa-f]{{12}}|[0-9A-Fa-f]{{4}}\.[0-9A-Fa-f]{{4}}\.[0-9A-Fa-f]{{4}})(?![0-9A-Za-z-]|\.[0-9A-Za-z])"
    # Programs write a port after a colon, a dot or a bracket, and sentences a colon.
    rf"|{_BEGIN}(?P<mixed>(?:[0-9A-Fa-f]{{0,4}}:){{2,6}}(?:\d{{1,3}}\.){{3}}\d{{1,3}})(?![0-9A-Za-z]|\.\d+\.\d)"
    rf"|{_BEGIN}(?P<ipv6>(?:{_GROUP}:){{7}}{_GROUP}|(?:{_GROUPS})?::(?:{_GROUPS})?)(?![0-9A-Za-z]|\.\d+\.\d)"
    rf"|{_BEGIN}(?<!\.)(?P<ipv4>(?:\d{{1,3}}\.){{3}}\d{{1,3}})(?![0-9A-Za-z]|\.\d)"
)
_SWITCH = re.compile(
    r"System Name TLV[^\S\n]*\n\s*(\S{1,255})"
)  # of hccn_tool -lldp; one way to match, whatever a host writes there
_MOST_NAMES = 256  # of switches of one host, which has at most one for each NPU
_SERIAL = re.compile(
    rf"(?i)(?:\b|{_BEGIN})((?:serial number|vendor sn|serial_number|sn)[\"']?\s*[:=]\s*[\"']?)([\w-]{{4,}})"
)
_LENGTH = re.compile(r"/(\d{1,3})(?![0-9A-Za-z.])")  # of a prefix
_VERSION = re.compile(r"(?i)versions?[\s\"':=|(\[]*\Z")
# Twelve hexadecimal digits are also numbers of bytes, and digests. They are an address after its title, or if the records have it with separators too.
_TITLE_OF_MAC = re.compile(
    r"(?i)(?<![a-z])(?:mac|hwaddr|hw addr|lladdr|ether|link/ether)(?:[ _-]?addr(?:ess)?)?[\s\"':=|(\[]*\Z"
)
_BEFORE = 60  # characters before a version or an address in which its title ends
LOCAL = "localhost"


class Masker:
    """``masker(text)`` is the text with pseudonyms. ``hosts``: names of the inventory; ``words``: those that texts need as they are, in small
    letters; ``key``: for tests. ``kept``: names that are such words, so they stay.
    """

    def __init__(self, hosts: Iterable[str], key: bytes | None = None, words: Iterable[str] = ()) -> None:
        self._key = key or os.urandom(32)
        self._addresses = Addresses(self._digest)
        self._pattern: re.Pattern[str] | None = None
        self._names: dict[str, str] = {}
        self._folded: dict[str, str] = {}
        self._words = TOOLS | set(words)
        self._macs: set[str] = set()
        self.kept: set[str] = set()
        names = sorted(set(hosts))  # pseudonyms have the same order: the planner places by it
        for number, name in enumerate(names, 1):
            self._names[name] = self._pseudonym(name, f"host-{number:0{len(str(len(names)))}d}")
        self.hosts = dict(self._names)
        self._names = {}
        for name, pseudonym in self.hosts.items():
            self._take(name, pseudonym)
        for name, pseudonym in self.hosts.items():
            self._short(name, pseudonym)
            self._domain(name)
        self._pattern = self._compiled()

    def _pseudonym(self, name: str, otherwise: str) -> str:
        if name == LOCAL:  # a word of every plan, which names nobody
            return name
        return self(name) if _is_address(name) else otherwise

    def _take(self, name: str, pseudonym: str) -> None:
        """Mask a name from now on, unless it is a word."""
        if name.lower() in self._words:
            self.kept |= {name} - {LOCAL}
        elif not _is_address(name):  # those are masked in each spelling, and once only
            self._names.setdefault(name, pseudonym)

    def _pseudonym_of(self, word: str) -> str:
        """Tools and people also write names of hosts in capitals."""
        return self._names.get(word) or self._folded[word.lower()]

    def of_host(self) -> Masker:
        """One for the texts of a single host: what it learns there is masked in no other text, as the host may choose words of others."""
        own = copy.copy(self)
        own._names, own._macs = dict(self._names), set(self._macs)
        return own

    def learn(self, texts: Iterable[str]) -> None:
        """Take the names of switches from outputs of hccn_tool -lldp. ValueError if they are more than one host sees."""
        names = {found.group(1) for text in texts for found in _SWITCH.finditer(text)}
        if len(names) > _MOST_NAMES:
            raise ValueError(f"it has more than {_MOST_NAMES} names of switches")
        for name in sorted(names):
            self._take(name, "switch-" + self._digest(name)[:8])
        self._pattern = self._compiled()

    def learn_addresses(self, text: str) -> None:
        """Take MAC addresses with separators, so that they are known without them."""
        self._macs |= {
            _digits(found.group()) for found in _WORDS.finditer(text) if found.group("mac") or found.group("dashed")
        }

    def also(self, name: str, host: str) -> None:
        """``name`` is another name of a host of the inventory, such as its own one."""
        if name not in ("", LOCAL) and name not in self._names and not _is_address(name):
            self._take(name, self.hosts[host])
            self._short(name, self.hosts[host])
            self._domain(name)
            self._pattern = self._compiled()

    def masked(self) -> dict[str, str]:
        """Host of the inventory to its pseudonym, without those that stay."""
        return {name: pseudonym for name, pseudonym in self.hosts.items() if name not in self.kept}

    def __call__(self, text: str) -> str:
        if self._pattern is not None:
            text = self._pattern.sub(lambda found: self._pseudonym_of(found.group()), text)
        text = _SERIAL.sub(lambda found: found.group(1) + "SN" + self._digest(found.group(2))[:12].upper(), text)
        return "\n".join(self._line(line) for line in text.split("\n"))

    def _line(self, line: str) -> str:
        return _WORDS.sub(lambda found: self._word(found, line), line)

    def _word(self, found: re.Match[str], line: str) -> str:
        word = found.group()
        if found.group("bare"):
            return (
                self._mac(word) if _digits(word) in self._macs or _follows(_TITLE_OF_MAC, line, found.start()) else word
            )
        if found.group("mac") or found.group("dashed"):
            return self._mac(word)
        bits = _LENGTH.match(line, found.end())
        if bits and _is_address(word):
            return self._addresses.of_network(ipaddress.ip_address(word), int(bits.group(1)))
        if found.group("ipv6"):
            return self._ipv6(word)
        if found.group("mixed"):
            return self._mixed(word)
        # Versions have four parts at times, and rules compare them.
        is_version = _follows(_VERSION, line, found.start())
        return word if is_version or not _is_address(word) else self._ipv4(word)

    def _mac(self, word: str) -> str:
        """Another address of the same spelling: 02 is locally administered."""
        digits = iter("0200" + self._digest(_digits(word))[:8])
        return "".join(next(digits, "") if character.isalnum() else character for character in word)

    def _ipv4(self, word: str) -> str:
        return self._addresses.ipv4(ipaddress.IPv4Address(word))

    def _ipv6(self, word: str) -> str:
        return self._addresses.ipv6(ipaddress.IPv6Address(word)) if _is_address(word) else word  # such as a time

    def _mixed(self, word: str) -> str:
        """An address of IPv6 that ends like one of IPv4."""
        before, dummy, last = word.rpartition(":")
        if not _is_address(word):  # such as a time before an address
            return f"{before}:{self._ipv4(last) if _is_address(last) else last}"
        return self._ipv6(word)

    def _domain(self, name: str) -> None:
        """What follows the first part of a full name names the site, if it has two parts or more."""
        domain = name.partition(".")[2]
        if "." in domain and not _is_address(name):
            self._names.setdefault(domain, "domain-" + self._digest(domain.lower())[:8])

    def _short(self, name: str, pseudonym: str) -> None:
        """The first part of a full name is a name too."""
        short = name.split(".")[0]
        is_word = short.lower() in self._words  # the full name is masked
        if "." in name and len(short) > 1 and not is_word and not short.isdigit() and not _is_address(name):
            self._names.setdefault(short, pseudonym)

    def _compiled(self) -> re.Pattern[str] | None:
        self._folded = {name.lower(): pseudonym for name, pseudonym in self._names.items()}
        words = sorted((re.escape(name) for name in self._names), key=len, reverse=True)
        return re.compile(rf"{_BEGIN}(?i:{'|'.join(words)})(?![0-9A-Za-z])") if words else None

    def _digest(self, word: str) -> str:
        return hmac.new(self._key, word.encode("utf-8"), hashlib.sha256).hexdigest()


def _follows(title: re.Pattern[str], line: str, start: int) -> bool:
    """Whether a title is right before a place."""
    return bool(title.search(line, max(0, start - _BEFORE), start))


def _digits(word: str) -> str:
    """The digits of a MAC address in any spelling."""
    return re.sub("[:.-]", "", word.lower())


def _is_address(word: str) -> bool:
    try:
        ipaddress.ip_address(word)
    except ValueError:
        return False
    return True
