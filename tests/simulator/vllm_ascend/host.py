# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated host: what an engine finds on it, and what it leaves there while it runs.

``ASCEND_SIMULATOR_STATE`` names a directory (layout: ../README.md).  Without one, the devices are the /dev/davinciN,
the addresses those of this machine, and the rest has the defaults of a real host.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import pathlib
import re
import socket
import struct

SIOCGIFADDR = 0x8915
PLACES = ("/var/lib/ascend-simulator", "/usr/local/Ascend/driver/simulator")


def state_directory():
    """Path of the host's state: the environment's, else the first usual place that exists, else a private one."""
    named = os.environ.get("ASCEND_SIMULATOR_STATE")
    if named:
        return pathlib.Path(named)
    for place in PLACES:
        if os.path.isdir(place):
            return pathlib.Path(place)
    return pathlib.Path("/tmp/ascend-simulator")


def installed_release():
    """Version of the vllm-ascend that stands beside this program, or ''."""
    from importlib import metadata

    try:
        return metadata.version("vllm-ascend")
    except metadata.PackageNotFoundError:
        return ""


class Host:
    """Facts of one simulated host, and the locks of the processes on it."""

    def __init__(self, state=None):
        self.state = pathlib.Path(state) if state else state_directory()
        self.facts = self._json(self.state / "host.json")
        self._held = []

    @staticmethod
    def _json(path):
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return {}

    @property
    def release(self):
        return self.facts.get("release") or installed_release() or "0.23.0"

    @property
    def mooncake(self):
        return self.facts.get("mooncake") or {}

    @property
    def hardware(self):
        return self.facts.get("hardware", "a2")

    def devices(self):
        """Physical ids of the NPUs of this host, in order."""
        named = self.facts.get("devices")
        if isinstance(named, int):
            return list(range(named))
        if named is not None:
            return [int(device["phy_id"] if isinstance(device, dict) else device) for device in named]
        found = (re.fullmatch(r"/dev/davinci(\d+)", path) for path in glob.glob("/dev/davinci*"))
        return sorted(int(match.group(1)) for match in found if match)

    def device(self, number):
        """Record of one NPU: tls (0|1), address, link (UP|DOWN); what is not known is absent."""
        record = {}
        named = self.facts.get("devices")
        for entry in named if isinstance(named, list) else ():
            if isinstance(entry, dict) and int(entry["phy_id"]) == number:
                record.update(entry)
        record.update(self._json(self.state / "devices" / f"{number}.json"))
        return record

    def tls(self, number):
        return int(self.device(number).get("tls", 0))

    # addresses ---------------------------------------------------------------------------------------------------

    def interfaces(self):
        """Name of each interface -> its IPv4 addresses."""
        if "interfaces" in self.facts:
            return {name: list(addresses) for name, addresses in self.facts["interfaces"].items()}
        found = {}
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            for _index, name in socket.if_nameindex():
                request = struct.pack("256s", name.encode()[:15])
                try:
                    found[name] = [socket.inet_ntoa(fcntl.ioctl(probe.fileno(), SIOCGIFADDR, request)[20:24])]
                except OSError:
                    found[name] = []
        return found

    def owns(self, address):
        """Whether the address is one of this host's."""
        if "interfaces" in self.facts:
            return any(address in addresses for addresses in self.interfaces().values())
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.bind((address, 0))
        except OSError:
            return False
        return True

    def address(self):
        """What vLLM's get_ip() finds when VLLM_HOST_IP is unset: the address of the default route."""
        if "interfaces" in self.facts:
            return next((addresses[0] for addresses in self.interfaces().values() if addresses), "127.0.0.1")
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect(("192.0.2.1", 9))
                return probe.getsockname()[0]
        except OSError:
            return "127.0.0.1"

    # /etc/hccn.conf ------------------------------------------------------------------------------------------------

    def hccn_address(self, number):
        """address_N of /etc/hccn.conf, or None when the file or the line is missing."""
        path = pathlib.Path(self.facts.get("hccn_conf", "/etc/hccn.conf"))
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            return None
        match = re.search(rf"^address_{number}=(\S+)", text, re.MULTILINE)
        return match.group(1) if match else None

    # locks -----------------------------------------------------------------------------------------------------------

    def take_device(self, number, name):
        """Hold the NPU until this process ends; False if another process has it."""
        folder = self.state / "devices"
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / f"{number}.lock", "a+", encoding="utf-8")  # noqa: SIM115 - held open as long as we live
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return False
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "name": name, "memory_mb": 50000}))
        file.flush()
        self._held.append(file)
        return True

    def publish_pools(self, pools):
        """Tell the other processes of the host which random port pools this one draws from: [[first, last, whose]]."""
        folder = self.state / "processes"
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / f"{os.getpid()}.json", "a+", encoding="utf-8")  # noqa: SIM115 - held open, as above
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "pools": pools}))
        file.flush()
        self._held.append(file)

    def pool_of(self, port):
        """Whose random pool covers the port, or '' (a process that is gone does not count)."""
        for path in sorted((self.state / "processes").glob("*.json")):
            with contextlib.suppress(OSError, ValueError, KeyError):
                if path.stem != str(os.getpid()) and not _held_by_another(path):
                    path.unlink()
                    continue
                for first, last, whose in self._json(path)["pools"]:
                    if first <= port <= last:
                        return f"{whose} of process {path.stem}"
        return ""

    def release_all(self):
        """Give devices and pools back (the kernel does it too when the process dies)."""
        for file in self._held:
            with contextlib.suppress(OSError):
                os.truncate(file.name, 0)
                if os.path.basename(file.name) == f"{os.getpid()}.json":
                    os.unlink(file.name)
            file.close()
        self._held.clear()


def _held_by_another(path):
    with open(path, encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
