# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words that a masked archive needs as they are: replaced everywhere, they would make outputs and documents unreadable for programs.

A host may be named like one of them, such as ``store`` or ``router``. Its name says nothing about the site then.
"""

from __future__ import annotations

import json
import re
from typing import Any, Iterable, Iterator

# Of npu-smi and hccn_tool (titles, states, options), of kinds of services and groups, and of our own reports.
_WORDS = (
    "a address all bus chip check chips cluster colocated common conf count dcmi decode device down driver encode entry error errors etcd eth "
    "fault fec firmware frontend gateway hbm hccn health host hosts id inference info interface ip link lldp local localhost mac main master mcu "
    "memory model mooncake mtu name netdetect netmask node none normal npu ok optical os page pci ping pool port power prefill probe product rank "
    "rate route router rx serial server service smi software speed stat state status store super switch sys system tcp temp temperature tls tool "
    "total tx type unknown up usage verify version vlan vnpu warning "
)
TOOLS = frozenset(_WORDS.split())
_NAME = re.compile(r"[A-Za-z_]+")


def words_of(documents: Iterable[str], hosts: Iterable[str]) -> set[str]:
    """Words of the keys in documents of JSON, in small letters. Keys of an object that has hosts as keys only are no words."""
    names = set(hosts)
    found: set[str] = set()
    for text in documents:
        try:
            value = json.loads(text)
        except ValueError:
            continue
        for key in _keys(value, names):
            found |= {word.lower() for word in key.split("_") if word}
    return found


def _keys(value: Any, hosts: set[str]) -> Iterator[str]:
    """Keys that are names of fields: those of hosts and files have digits or other characters, or only hosts beside them."""
    if isinstance(value, dict):
        if not hosts.issuperset(value):
            yield from (key for key in value if _NAME.fullmatch(key))
        for item in value.values():
            yield from _keys(item, hosts)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item, hosts)
