# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of a host from the kernel: text and files in, plain records out. Runs on Python 3.7."""

from __future__ import annotations

import ctypes
import os
import socket
import struct

from ..tools.text import one_line

LISTEN = "0A"
PATH_MAX = 4096  # limits.h
MARK = "ASCEND_INFERENCE_SERVICE="
MAPPED = bytes(10) + b"\xff\xff"
UNSYNCHRONISED = 5
"""adjtimex(2): TIME_ERROR, the clock is not synchronised."""


def parse_sockets(text):
    # type: (str) -> t.List[t.Dict[str, t.Any]]
    """Listening sockets of ``/proc/net/tcp`` or ``tcp6``: ``[{address, port, inode}]`` (proc(5))."""
    found = []
    for line in text.splitlines()[1:]:
        columns = line.split()
        if len(columns) < 10 or columns[3] != LISTEN:
            continue
        address, port = columns[1].split(":")
        found.append({"address": decode_address(address), "port": int(port, 16), "inode": columns[9]})
    return found


def decode_address(encoded):
    # type: (str) -> str
    """The kernel's hexadecimal address (four-byte words in host order) in the usual notation.

    An IPv4 address of an IPv6 socket (RFC 4291, 2.5.5.2), as Java programs have, is returned as the IPv4 address that it occupies.
    """
    data = b"".join(struct.pack("=I", int(encoded[i : i + 8], 16)) for i in range(0, len(encoded), 8))
    if data[:12] == MAPPED:
        data = data[12:]
    return socket.inet_ntop(socket.AF_INET if len(data) == 4 else socket.AF_INET6, data)


def socket_owners(proc="/proc"):
    # type: (str) -> t.Dict[str, int]
    """Inode of each socket -> pid of its process; processes of other users are visible only to root."""
    owners = {}  # type: t.Dict[str, int]
    for pid in sorted((name for name in os.listdir(proc) if name.isdigit()), key=int):
        folder = os.path.join(proc, pid, "fd")
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            try:
                target = os.readlink(os.path.join(folder, name))
            except OSError:
                continue
            if target.startswith("socket:["):
                owners.setdefault(target[8:-1], int(pid))
    return owners


def listening(proc="/proc"):
    # type: (str) -> t.List[t.Dict[str, t.Any]]
    """Listening TCP ports with their owners: ``[{address, port, pid, command, service}]``, by port.

    ``pid`` is 0 if the owner is not visible. ``service`` is the variable in the environment of our own services
    (ASCEND_INFERENCE_SERVICE), so that a second run recognises them.
    """
    owners = socket_owners(proc)
    found = []
    for name in ("tcp", "tcp6"):
        for socket_ in parse_sockets(read(os.path.join(proc, "net", name))):
            pid = owners.get(socket_.pop("inode"), 0)
            found.append(dict(socket_, pid=pid, **(process(pid, proc) if pid else {"command": "", "service": ""})))
    return sorted(found, key=lambda socket_: (socket_["port"], socket_["address"]))


def process(pid, proc="/proc"):
    # type: (int, str) -> t.Dict[str, str]
    """A process' command line, in one line and without control characters, and, for this collection's services, the service's name."""
    command = read(os.path.join(proc, str(pid), "cmdline")).replace("\0", " ").strip()
    return {"command": one_line(command[:200]), "service": service_of(pid, proc)}


def own_processes(proc="/proc"):
    # type: (str) -> t.List[t.Dict[str, t.Any]]
    """Processes of this collection's services, children included: ``[{pid, service}]``."""
    found = []
    for pid in sorted(int(name) for name in os.listdir(proc) if name.isdigit()):
        service = service_of(pid, proc)
        if service:
            found.append({"pid": pid, "service": service})
    return found


def sees_all_processes(proc="/proc"):
    # type: (str) -> bool
    """Whether this user can read the environment of every process, like root; otherwise socket owners are unknown."""
    return os.access(os.path.join(proc, "1", "environ"), os.R_OK)


def service_of(pid, proc="/proc"):
    # type: (int, str) -> str
    """The directory of the process' service, or an empty string. Any user can start a process with any value, which is bounded and in one line here."""
    for variable in read(os.path.join(proc, str(pid), "environ")).split("\0"):
        if variable.startswith(MARK):
            return one_line(variable[len(MARK) : len(MARK) + PATH_MAX])
    return ""


def parse_meminfo(text):
    # type: (str) -> t.Dict[str, int]
    """``/proc/meminfo`` -> memory in MiB and huge pages as a count (proc(5))."""
    values = {}
    for line in text.splitlines():
        name, _colon, rest = line.partition(":")
        columns = rest.split()
        if columns and columns[0].isdigit():
            values[name] = int(columns[0])
    return {
        "memory_total_mib": values.get("MemTotal", 0) // 1024,
        "memory_available_mib": values.get("MemAvailable", 0) // 1024,
        "hugepages_total": values.get("HugePages_Total", 0),
        "hugepages_free": values.get("HugePages_Free", 0),
        "hugepage_size_kib": values.get("Hugepagesize", 0),
    }


def parse_limits(text):
    # type: (str) -> t.Dict[str, t.Optional[int]]
    """``/proc/<pid>/limits`` -> hard limits ``memlock_bytes`` and ``nofile``; None is unlimited."""
    names = {"Max locked memory": "memlock_bytes", "Max open files": "nofile"}
    found = {}  # type: t.Dict[str, t.Optional[int]]
    for line in text.splitlines():
        for label in names:
            if line.startswith(label):
                hard = line[len(label) :].split()[1]
                found[names[label]] = None if hard == "unlimited" else int(hard)
    return found


def clock():
    # type: () -> t.Dict[str, t.Any]
    """Whether the kernel's clock is disciplined, and its own bound of the error in milliseconds (adjtimex(2))."""
    buffer = (ctypes.c_long * 64)()
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(buffer))
    except (OSError, AttributeError):
        return {"synchronised": None, "max_error_ms": None}
    return {"synchronised": state not in (-1, UNSYNCHRONISED), "max_error_ms": buffer[3] / 1000.0}


def disk(path):
    # type: (str) -> t.Dict[str, t.Any]
    """The file system of ``path``, which need not exist: ``{path, free_mib, free_inodes, read_only, no_exec}``.

    ``free_inodes`` is None if the file system creates inodes as needed.
    """
    place = os.path.abspath(path)
    while not os.path.exists(place):
        place = os.path.dirname(place)
    found = os.statvfs(place)
    return {
        "path": path,
        "free_mib": found.f_bavail * found.f_frsize // 2**20,
        "free_inodes": found.f_favail if found.f_files else None,
        "read_only": bool(found.f_flag & os.ST_RDONLY),
        "no_exec": bool(found.f_flag & os.ST_NOEXEC),
    }


def addresses(records):
    # type: (t.List[t.Dict[str, t.Any]]) -> t.Dict[str, t.Dict[str, t.Any]]
    """Interfaces of ``ip -json address``: ``{name: {up, addresses, mtu}}``; an address has no prefix length."""
    found = {}
    for record in records:
        if record.get("ifname"):
            found[record["ifname"]] = {
                "up": "UP" in record.get("flags", []),
                "addresses": [entry["local"] for entry in record.get("addr_info", []) if "local" in entry],
                "mtu": record.get("mtu"),
            }
    return found


def read(path):
    # type: (str) -> str
    """A file's text; empty if it cannot be read."""
    try:
        with open(path, "rb") as handle:
            return handle.read().decode("utf-8", "replace")
    except OSError:
        return ""
