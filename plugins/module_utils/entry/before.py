# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host of an entry has to say before anything of the entry is on it: facts alone, which the controller judges.

Routers are asked as the entry will ask them; no engine computes for it. Which machine of the host's networks answers for an address is asked by the
kernel (ARP, or neighbour discovery), so it needs no rights.
"""

from __future__ import annotations

import contextlib
import glob
import ipaddress
import os
import re
import shutil
import socket
import ssl
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

from ..host import facts, gather
from ..host.kernel_settings import read
from ..host.virtual_address import AddressProblem, Kept, chosen_interface, holds
from ..tools.http_client import Target, ask
from ..tools.runner import execute
from .meeting import Meeting
from .state import taken
from .twin import PLACE

DISCARD = 9  # RFC 863: what is sent there is thrown away
RESOLVING = 9.0  # seconds: a known neighbour is asked anew only after 5 (DELAY), and then three times
LINE = re.compile(r"^\S+ dev (\S+)(?: lladdr (\S+))?.* ([A-Z]+)\s*$", re.MULTILINE)  # ip-neighbour(8)
UNDECIDED = ("INCOMPLETE", "DELAY", "PROBE", "STALE")

ASKING = 5.0  # seconds of one question
MOST_AT_ONCE = 64
LISTED = "/v1/models"  # the path of which a router with a key says 401
DENIED = (401, 403)

TIMEOUT = 20  # seconds of one command
VERSION = re.compile(r"^HA-?Proxy version (\d+\.\d+(?:\.\d+)?)", re.MULTILINE)
OFFERED = re.compile(r"^\s*Candidate: (?:\d+:)?(\d+\.\d+(?:\.\d+)?)", re.MULTILINE)  # apt-cache(8)
BOUNDS = re.compile(r"^CapBnd:\s*([0-9a-f]+)", re.MULTILINE)  # proc(5)
DIRECTORY, UNITS = "/etc/ascend-inference/virtual-address", "/etc/systemd/system"


def before(given: dict[str, Any]) -> dict[str, Any]:
    """The facts of the module entry_check_info, see its RETURN. ``given``: its options."""
    offset = None if given["reference"] is None else time.time() - given["reference"]  # before what takes its time
    ports = taken(given["listens"], given["configuration"])  # before the meeting, which listens at one of them itself
    with ThreadPoolExecutor(1) as pool:  # the other host does it at the same time
        met = pool.submit(_met, given["pair"], given["kept"])
        interfaces = gather.interfaces()[0]
        found = {
            "systemd": os.path.isdir("/run/systemd/system"),
            "taken": ports,
            "program": program(given["program"], given["package"], given["files"]),
            "routers": answers(given["routers"], given["engine_keys"]),
            "held": _held(given["address"]),
            "owner": _owner(given["address"]),
            "links": own_links(),
            "kept": _kept(given["kept"], interfaces),
            "capabilities": int((BOUNDS.findall(read("/proc/1/status")) or ["0"])[0], 16),
            "memory_mib": facts.parse_meminfo(read("/proc/meminfo"))["memory_total_mib"],
            "open_files": [_number("/proc/sys/fs/nr_open"), _number("/proc/sys/fs/file-max")],
            "meeting": met.result(),
        }
    return dict(found, offset=offset)


def run(argv: list[str]) -> Any:
    """Run a command -> (rc, stdout, stderr)."""
    done = execute(argv, TIMEOUT, dict(os.environ, LC_ALL="C"))
    return done.rc, done.stdout, done.stderr


def program(path: str, package: str, files: list[dict[str, str]]) -> dict[str, Any]:
    """``{version, features, refused}`` of the program, and ``offered``, the version that a package source has. ``files``: of the twin, which it reads.

    Without the program there is only ``offered``, empty where it is not known: apt alone is asked, in its own lists.
    """
    found = {"version": "", "features": [], "refused": "", "offered": ""}  # type: dict[str, Any]
    if not os.path.exists(path):
        apt = shutil.which("apt-cache")
        offered = OFFERED.findall(run([apt, "policy", package])[1]) if apt else []
        return dict(found, offered=offered[0] if offered else "")
    told = run([path, "-vv"])[1]
    found["version"] = (VERSION.findall(told) or [""])[0]
    found["features"] = [name for name in ("Lua", "OpenSSL") if f"Built with {name} version" in told]
    if "Lua" in found["features"]:
        found["refused"] = _refused(path, files)
    return found


def _refused(path: str, files: list[dict[str, str]]) -> str:
    """What the program says of a configuration that it does not read; empty if it does."""
    folder = tempfile.mkdtemp(prefix="en-")
    try:
        os.mkdir(os.path.join(folder, "usage"))
        for file in files:
            place = file["path"].replace(PLACE, folder)
            with open(os.open(place, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as written:
                written.write(file["content"].replace(PLACE, folder))
        code, out, err = run([path, "-c", "-f", os.path.join(folder, "haproxy.cfg")])
        return (err or out or f"it ended with {code}").strip()[-400:].replace(folder, "") if code else ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _held(address: str) -> Any:
    return holds(address) if _is_one(address) else None


def _owner(address: str) -> str:
    return "" if not _is_one(address) or holds(address) or not shutil.which("ip") else owner(address, run)


def _is_one(address: str) -> bool:
    """Whether it is an address that one interface has: no name, and not that of all interfaces."""
    try:
        return not ipaddress.ip_address(address).is_unspecified
    except ValueError:
        return False


def _kept(given: dict[str, Any], interfaces: Any) -> str:
    """Why keepalived could not keep the address here; empty if it can, or if it has none to keep."""
    if not given:
        return ""
    try:
        beside = f"{given['variable'].rpartition('.')[0]}.virtual_interface"
        wanted = dict(given, interface=chosen_interface(given["own"], interfaces, beside, given["interface"]), ip="ip")
        return str(Kept(run, given["deployment"], wanted, DIRECTORY, UNITS).conflict())
    except AddressProblem as problem:
        return str(problem)


def _met(pair: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """What came of meeting the other host; empty if there is none. Where keepalived runs, it alone speaks VRRP."""
    if not pair:
        return {}
    unit = f"ascend-inference-address-{kept['deployment']}.service"
    keeps = run(["systemctl", "is-active", "--quiet", unit])[0] == 0 if shutil.which("systemctl") else False
    serves = any(each["port"] == pair["port"] and each["address"] == pair["own"] for each in facts.listening())
    return dict(Meeting(pair["own"], pair["other"], pair["port"], not keeps, not serves).held(), keeps=keeps)


def _number(path: str) -> int:
    text = read(path).strip()
    return int(text) if text.isdigit() else 0


def answers(ways: list[dict[str, str]], keys: dict[str, str]) -> list[dict[str, str]]:
    """``[{address, kind, detail}]`` of each way, in their order. ``ways``: ``{address, health, key}``, where ``key`` is a name of ``keys`` or empty.

    kind: "" if it answers, refused, silent (no answer in ASKING), unreachable, tls (it wants TLS), broken, status (500 and above), key (401 or 403).
    """
    if not ways:
        return []
    with ThreadPoolExecutor(min(len(ways), MOST_AT_ONCE)) as pool:
        return list(pool.map(lambda way: _answer(way, keys.get(way["key"], "")), ways))


def _answer(way: dict[str, str], key: str) -> dict[str, str]:
    url = "http://" + way["address"]
    reply = ask(Target(url), way["health"], timeout=ASKING)
    kind, detail = "", reply.detail
    if reply.error:
        kind = {"refused": "refused", "timeout": "silent", "unreachable": "unreachable"}.get(reply.error, "broken")
        kind = "tls" if kind in ("broken", "silent") and _wants_tls(way["address"]) else kind
    elif reply.status >= 500:
        kind, detail = "status", f"{way['health']} got status {reply.status}"
    else:
        listed = ask(Target(url, key), LISTED, timeout=ASKING)
        if listed.status in DENIED:
            kind, detail = "key", f"{LISTED} got status {listed.status}"
        elif listed.status == 400 and _wants_tls(way["address"]):  # nginx and others tell it in a page
            kind, detail = "tls", f"{LISTED} got status 400"
    return {"address": way["address"], "kind": kind, "detail": detail[:200]}


def _wants_tls(address: str) -> bool:
    """Whether a handshake succeeds, with whatever certificate."""
    host, _colon, port = address.rpartition(":")
    context: Any = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ASKING) as plain, context.wrap_socket(plain):
            return True
    except (OSError, ValueError):
        return False


def own_links(folder: str = "/sys/class/net") -> list[str]:
    """The link addresses of this host's interfaces."""
    found = {read(path).strip().lower() for path in glob.glob(f"{folder}/*/address")}
    return sorted(found - {"", "00:00:00:00:00:00"})


def owner(address: str, run: Callable[[list[str]], Any], longest: float = RESOLVING) -> str:
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
