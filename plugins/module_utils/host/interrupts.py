# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interrupts of NPUs: text of the kernel in, records out. Runs on Python 3.7.

An NPU's driver has many interrupts. Two of them matter for latency (vllm_ascend/cpu_binding.py): ``sq_send_trigger_irq``, found by its name
among the NPU's own, and the next number, ``cq_update_irq``. Numbers may change at a boot, so interrupts are identified by the NPU's
address on the PCI bus.
"""

from __future__ import annotations

import os
import re

from .facts import read

SEND = "sq_send_trigger_irq"
DEVICES = "/sys/bus/pci/devices"
PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
KINDS = ("send", "update")


def send_numbers(text):
    # type: (str) -> t.Set[int]
    """Numbers of all interrupts of ``/proc/interrupts`` with the name ``sq_send_trigger_irq``."""
    found = set()
    for line in text.splitlines():
        number, _colon, rest = line.partition(":")
        if SEND in rest.split() and number.strip().isdigit():
            found.add(int(number))
    return found


def npu_interrupts(root=""):
    # type: (str) -> t.Dict[str, t.Dict[str, int]]
    """``{PCI address: {send: number, update: number}}`` of all devices that have both interrupts, below the folder ``root``."""
    sends = send_numbers(read(root + "/proc/interrupts"))
    found = {}
    for address in sorted(_names(root + DEVICES)) if sends else ():
        own = {int(name) for name in _names(os.path.join(root + DEVICES, address, "msi_irqs")) if name.isdigit()}
        numbers = sorted(own & sends)
        if numbers and numbers[0] + 1 in own:
            found[address] = {"send": numbers[0], "update": numbers[0] + 1}
    return found


def affinity_path(number):
    # type: (int) -> str
    """The file with the CPUs of an interrupt."""
    return f"/proc/irq/{number}/smp_affinity_list"


def _names(folder):
    # type: (str) -> t.List[str]
    try:
        return os.listdir(folder)
    except OSError:
        return []
