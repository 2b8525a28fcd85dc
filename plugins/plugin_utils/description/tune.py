# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of host tuning."""

from __future__ import annotations

from dataclasses import dataclass

from .loader import choice, documented, number

PROFILES = ("safe", "none", "latency")


@dataclass(frozen=True)
class Tune:
    """What the profile latency may do on a host, in addition to binding the NPUs' interrupts."""

    irqbalance: str = documented(
        "What happens to irqbalance, which moves interrupts back. leave: nothing, and while it runs no interrupt is bound. "
        "exclude: a drop-in of its unit excludes the NPUs' interrupts and their CPUs. stop: it is stopped and disabled until the profile is left.",
        choice("leave", "exclude", "stop"),
    )
    housekeeping: int = documented(
        "Number of CPUs of each NUMA node that engines do not use; router, frontend and store master run on them. Only with the runtime "
        "systemd; services get it at their next start.",
        number(0, 0, 64),
    )
    huge_pages: bool = documented("Whether huge pages are reserved for the store's segments on hosts with RoCE.", True)
    transparent_huge_pages: bool = documented(
        "Whether transparent huge pages are set to madvise, and their defrag to defer+madvise.", True
    )
