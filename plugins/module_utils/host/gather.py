# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All facts of a host for the check, in one call. Runs on Python 3.7."""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import time

from ..tools.runner import ToolMissing, find_executable, run
from ..tools.systemd_version import systemd_version
from . import ascend_software, facts
from .access import access
from .model_facts import model_facts
from .tuning_facts import tuning_facts

IP_TIMEOUT = 10
TOOLS = ("cmake", "g++", "gcc", "git", "make")  # of builds


def gather_host(
    models=(), every_byte=False, disks=(), reference=None, cann_path=ascend_software.ROOT, user="", group=""
):
    # type: (t.Iterable[str], bool, t.Iterable[str], t.Optional[float], str, str, str) -> t.Dict[str, t.Any]
    """The result of the module host_info; ``reference`` is the controller's time in seconds since 1970."""
    found, warnings = interfaces()
    return {
        "listening": facts.listening(),
        "own_processes": facts.own_processes(),
        "interfaces": found,
        "memory": dict(facts.parse_meminfo(facts.read("/proc/meminfo")), shm_mib=shared_memory()),
        "limits": facts.parse_limits(facts.read("/proc/self/limits")),
        "sysctl": {"vm.max_map_count": _number(facts.read("/proc/sys/vm/max_map_count"))},
        "clock": clock(reference),
        "disks": [facts.disk(path) for path in disks],
        "models": [model_facts(path, every_byte) for path in models],
        "access": access(user, models, disks, group),
        "system": system(),
        "tools": [name for name in TOOLS if shutil.which(name)],
        "processors": os.cpu_count(),
        "software": software(cann_path),
        "tuning": tuning_facts(),
        "user": {"uid": os.geteuid(), "sees_processes": facts.sees_all_processes()},
        "warnings": warnings,
    }


def interfaces():
    # type: () -> t.Tuple[t.Optional[t.Dict[str, t.Any]], t.List[str]]
    """Interfaces from ``ip``, and warnings; None if they are unknown."""
    try:
        output = run([find_executable("ip"), "-json", "address"], IP_TIMEOUT)
    except ToolMissing:
        return None, ["the command ip (package iproute2) is missing: interfaces are unknown"]
    if output.rc != 0:
        return None, ["ip -json address failed: " + (output.stderr.strip() or "exceeded the timeout")]
    try:
        return facts.addresses(json.loads(output.stdout or "[]")), []
    except ValueError as error:
        return None, [f"the output of ip -json address is not JSON: {error}"]


def system():
    # type: () -> t.Dict[str, t.Any]
    """Facts of the machine and its operating system."""
    name = socket.gethostname()
    try:
        resolved = sorted({str(entry[4][0]) for entry in socket.getaddrinfo(name, None, socket.AF_INET)})
    except OSError:
        resolved = []
    kernel = os.uname()
    return {
        "hostname": name,
        "hostname_addresses": resolved,
        "machine_id": facts.read("/etc/machine-id").strip(),
        "kernel": kernel.release,
        "machine": kernel.machine,
        "os": operating_system(facts.read("/etc/os-release")),
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "systemd": os.path.isdir("/run/systemd/system"),
        "systemd_version": systemd_version(),
        "selinux_enforcing": facts.read("/sys/fs/selinux/enforce").strip() == "1",  # no such file without SELinux
        "proxy_variables": sorted(
            variable for variable in os.environ if variable.lower() in ("http_proxy", "https_proxy", "all_proxy")
        ),
    }


def operating_system(text):
    # type: (str) -> str
    """The name in os-release(5), such as ``openEuler 24.03 (LTS)``; empty if unknown."""
    pairs = dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)
    return pairs.get("PRETTY_NAME", "").strip("\"'")


def software(cann_path):
    # type: (str) -> t.Dict[str, str]
    """Versions of driver, firmware and CANN from their installers' files; empty if not installed."""
    found = ascend_software.driver()
    return dict(found, cann=ascend_software.current(cann_path, platform.machine()))


def clock(reference):
    # type: (t.Optional[float]) -> t.Dict[str, t.Any]
    """The clock's state, and its offset from the controller's."""
    now = time.time()
    return dict(facts.clock(), epoch=now, offset=None if reference is None else now - reference)


def shared_memory(path="/dev/shm"):  # noqa: S108 - only read
    # type: (str) -> t.Optional[int]
    """Size of the shared memory's file system in MiB."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_blocks * found.f_frsize // 2**20


def _number(text):
    # type: (str) -> t.Optional[int]
    return int(text) if text.strip().isdigit() else None
