# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The present state of everything that tuning sets or needs to know, without any command. Runs on Python 3.7.

All paths are below ``root``, so that tests use a made-up tree. Nothing needs root except the old values of the record.
"""

from __future__ import annotations

import glob
import json
import os
import platform
import re

from .cpu_list import parse_cpus, spell_cpus
from .facts import parse_meminfo, read
from .interrupts import DEVICES, affinity_path, npu_interrupts

SYSCTLS = ("vm.swappiness", "kernel.numa_balancing", "vm.nr_hugepages")
PAGES = "/sys/kernel/mm/transparent_hugepage"
GOVERNORS = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"
JEMALLOC = ("/usr/lib/{}-linux-gnu/libjemalloc.so.2", "/usr/lib64/libjemalloc.so.2")
TOOLS = ("lscpu", "migratepages", "taskset")
RECORD = "/var/lib/ascend-inference/tuning.json"
UNIT = "/etc/systemd/system/ascend-inference-tuning.service"  # applies the settings at boot
INTERRUPT = re.compile(r"[0-9]{1,9}\Z")  # str.isdigit() is true for more, and int() fails for that
BIN = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")


def tuning_facts(root="/"):
    # type: (str) -> t.Dict[str, t.Any]
    """The result of the module tuning_info without its part ``npus``; what the host does not have is missing or empty."""
    root = root.rstrip("/")
    return {
        "machine": platform.machine(),
        "sysctl": {
            name: _line(root + _sysctl_path(name)) for name in SYSCTLS if os.path.exists(root + _sysctl_path(name))
        },
        "governors": _governors(root),
        "transparent_hugepages": {
            name: _chosen(_line(os.path.join(root + PAGES, name)))
            for name in ("enabled", "defrag")
            if os.path.exists(os.path.join(root + PAGES, name))
        },
        "memory": parse_meminfo(read(root + "/proc/meminfo")),
        "online": _cpus(root + "/sys/devices/system/cpu/online"),
        "nodes": _nodes(root),
        "interrupts": _interrupts(root),
        "irqbalance": irqbalance(root),
        "jemalloc": next((path for path in _libraries() if os.path.exists(root + path)), ""),
        "tools": [name for name in TOOLS if any(os.path.exists(os.path.join(root + folder, name)) for folder in BIN)],
        "remembered": _remembered(root),
        "boot": {
            "systemd": os.path.isdir(root + "/run/systemd/system"),
            "unit": os.path.basename(UNIT),
            "present": os.path.exists(root + UNIT),
        },
    }


def irqbalance(root=""):
    # type: (str) -> t.Dict[str, t.Any]
    """Whether irqbalance runs, and the interrupts that its command line excludes (``--banirq``). Anybody's process can have its name, so it is root's."""
    for place in sorted(glob.glob(root + "/proc/[0-9]*/comm")):
        if _line(place) == "irqbalance" and _owner(place) == os.stat(root + "/proc").st_uid:
            words = read(os.path.join(os.path.dirname(place), "cmdline")).replace("=", "\0").split("\0")
            banned = [
                int(value) for word, value in zip(words, words[1:]) if word == "--banirq" and INTERRUPT.match(value)
            ]
            return {"active": True, "banned": sorted(banned)}
    return {"active": False, "banned": []}


def _owner(path):
    # type: (str) -> int
    try:
        return os.stat(path).st_uid
    except OSError:  # the process has ended
        return -1


def _sysctl_path(name):
    # type: (str) -> str
    return "/proc/sys/" + name.replace(".", "/")


def _libraries():
    # type: () -> t.List[str]
    return [path.format(platform.machine()) for path in JEMALLOC]


def _governors(root):
    # type: (str) -> t.Dict[str, t.Any]
    """``found``: number of CPUs by governor; ``possible``: whether all drivers offer ``performance``. Empty without a driver."""
    found, possible = {}, True  # type: t.Dict[str, int], bool
    for place in glob.glob(root + GOVERNORS):
        name = _line(place)
        found[name] = found.get(name, 0) + 1
        offered = _line(os.path.join(os.path.dirname(place), "scaling_available_governors"))
        possible = possible and (not offered or "performance" in offered.split())
    return {"found": found, "possible": possible} if found else {}


def _nodes(root):
    # type: (str) -> t.Dict[str, str]
    """CPUs of each NUMA node; all CPUs on node 0 if the kernel has no nodes."""
    found = {}
    for folder in glob.glob(root + "/sys/devices/system/node/node[0-9]*"):
        cpus = _cpus(os.path.join(folder, "cpulist"))
        if cpus:
            found[os.path.basename(folder)[4:]] = cpus
    online = _cpus(root + "/sys/devices/system/cpu/online")
    return found or ({"0": online} if online else {})


def _interrupts(root):
    # type: (str) -> t.Dict[str, t.Dict[str, t.Any]]
    """By the NPU's PCI address: ``numbers`` and ``cpus`` of the two interrupts, the NUMA ``node`` (-1: not known), ``near`` CPUs."""
    found = {}
    for address, numbers in npu_interrupts(root).items():
        device = os.path.join(root + DEVICES, address)
        node = _line(os.path.join(device, "numa_node"))
        found[address] = {
            "numbers": numbers,
            "cpus": {kind: _cpus(root + affinity_path(number)) for kind, number in numbers.items()},
            "node": int(node) if node.isdigit() else -1,
            "near": _cpus(os.path.join(device, "local_cpulist")),
        }
    return found


def _remembered(root):
    # type: (str) -> t.Dict[str, str]
    """The values of before the first change, by path; empty if nothing is tuned or this user must not read them."""
    try:
        values = json.loads(read(root + RECORD) or "{}").get("values", {})
        return {str(path): str(item["old"]) for path, item in values.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _chosen(text):
    # type: (str) -> str
    """``always [madvise] never`` -> ``madvise``."""
    return next((word[1:-1] for word in text.split() if word[:1] == "["), text)


def _line(path):
    # type: (str) -> str
    return " ".join(read(path).split())


def _cpus(path):
    # type: (str) -> str
    """A file with a list of CPUs, spelt as the kernel does; empty if it is missing or no such list."""
    try:
        return spell_cpus(parse_cpus(read(path)))
    except ValueError:
        return ""
