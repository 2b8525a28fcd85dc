# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whom the text of a log names: the rank, host or NPU at fault, which is seldom the process that wrote the line.

Sources: hcomm task_exception_handler.cc and heartbeat.cc, ascend_direct_transport.cpp of Mooncake, torch_npu NPUException.cpp.
"""

from __future__ import annotations

import re

from .words import TRAFFIC, WAITS

# HCCL prints the place of an error that its heartbeats saw; "crimer" is its own word.
_PLACES = tuple(
    re.compile(form)
    for form in (
        r"\bCluster Exception Location\[IP/ID\]: ?\[(?P<host>[^/\]\s]{1,64})/(?P<npu>\d{1,5})\]",
        r"\bcrimer rank ?\[(?P<host>[^/\]\s]{1,64})/(?P<npu>\d{1,5})\]",
    )
)
# 4294967295 and words stand for an unknown rank.
_PEERS = tuple(
    re.compile(form)
    for form in (
        r"\b(?:remote|dst|peer|dest)[ _]?(?:user)?[rR]ank:? ?\[?(?P<rank>\d{1,5})\b",
        r"\b(?:to(?: (?:target|segment))?|source)[:=] ?(?P<peer>\[?[\w.:-]{3,60}\]?:\d{2,5})\b",
    )
)
_KERNEL = re.compile(r"\bfault kernel_name=(?P<kernel>[\w./-]{1,120})")


def named(life, message, number, kind):
    """What is added to a problem: "; the text names NPU 6 of 192.0.2.15", or "".

    life: all messages of the service's life. message, number: the line with the cause.
    """
    lines = [text for one in life for dummy, text in one.lines]
    own = next((text for line, text in message.lines if line == number), "")
    if kind == WAITS or any(place.search(own) for place in _PLACES):
        for text in (own, *lines):
            for place in _PLACES:
                found = place.search(text)
                if found:
                    return f"; HCCL names NPU {found.group('npu')} of {found.group('host')}"
    if kind in (WAITS, TRAFFIC):
        for text in (own, *(text for dummy, text in message.lines)):
            for peer in _PEERS:
                found = peer.search(text)
                if found:
                    word, value = next((key, text) for key, text in found.groupdict().items() if text)
                    return f"; the text names {word} {value}"
    kernel = (
        next(filter(None, map(_KERNEL.search, (own, *lines))), None)
        if "kernel" in own.lower() or "507" in own
        else None
    )
    return f"; the kernel is {kernel.group('kernel')}" if kernel else ""
