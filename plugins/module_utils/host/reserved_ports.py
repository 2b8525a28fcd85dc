# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's list of reserved ports, one value per host (Linux ip-sysctl, ip_local_reserved_ports)."""

from __future__ import annotations

import re

KEY = "net.ipv4.ip_local_reserved_ports"
LINE = re.compile(r"^[ \t]*-?[ \t]*net[./]ipv4[./]ip_local_reserved_ports[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE)
SPAN = re.compile(r"(\d+)(?:-(\d+))?$")


def parse(text):
    """``36100-36115,60000`` as a set of ports; raises ``ValueError`` for an invalid item."""
    ports = set()
    for token in text.replace(",", " ").split():
        found = SPAN.match(token)
        first, last = (int(found.group(1)), int(found.group(2) or found.group(1))) if found else (1, 0)
        if not 0 <= first <= last <= 65535:
            raise ValueError(f"{token!r} is neither a port nor a range of ports such as 36100-36115")
        ports.update(range(first, last + 1))
    return ports


def spell(ports):
    """A set of ports in the kernel's format."""
    spans = []
    for port in sorted(ports):
        if spans and port == spans[-1][1] + 1:
            spans[-1][1] = port
        else:
            spans.append([port, port])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def in_file(text):
    """Ports that a file of sysctl settings reserves; the last line takes effect, as for sysctl."""
    found = LINE.findall(text)
    return parse(found[-1]) if found else set()
