# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machine of the host's networks answers for an address (ARP, or neighbour discovery). The kernel asks, so it needs no rights."""

from __future__ import annotations

import contextlib
import glob
import re
import socket
import time
from typing import Any, Callable

from .kernel_settings import read

DISCARD = 9  # RFC 863: what is sent there is thrown away
LONGEST = 9.0  # seconds: a known neighbour is asked anew only after 5 (DELAY), and then three times
LINE = re.compile(r"^\S+ dev (\S+)(?: lladdr (\S+))?.* ([A-Z]+)\s*$", re.MULTILINE)  # ip-neighbour(8)
UNDECIDED = ("INCOMPLETE", "DELAY", "PROBE", "STALE")


def own_links(folder: str = "/sys/class/net") -> list[str]:
    """The link addresses of this host's interfaces."""
    found = {read(path).strip().lower() for path in glob.glob(f"{folder}/*/address")}
    return sorted(found - {"", "00:00:00:00:00:00"})


def owner(address: str, run: Callable[[list[str]], Any], longest: float = LONGEST) -> str:
    """The link address of the machine that has the address now; empty if none answers, or if it is behind a gateway.

    ``run(argv) -> (rc, stdout, stderr)``. Raises OSError if the program ip is not there.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    end = time.monotonic() + longest
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        while time.monotonic() < end:
            with contextlib.suppress(OSError):  # no route, or refused by an answer: the table says who gave it
                asking.sendto(b"\0", (address, DISCARD))
            time.sleep(0.3)
            rows = LINE.findall(run(["ip", "neighbour", "show", "to", address])[1])
            reached = [link for _device, link, state in rows if link and state in ("REACHABLE", "PERMANENT")]
            if reached:
                return str(reached[0]).lower()
            if not any(state in UNDECIDED for _device, _link, state in rows):
                return ""
    return ""
