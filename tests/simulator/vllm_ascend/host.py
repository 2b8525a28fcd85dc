# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated host: the state that an engine reads and writes.

``ASCEND_SIMULATOR_STATE`` names the host's state file, the one that the simulated npu-smi and hccn_tool read (see
ascend_cluster.py).  The engine reads ``generation``, ``hccn_conf`` and the devices' ``id, present, link, tls, ip``, writes the
devices' ``processes``, and has the separate key ``engine`` (see ../README.md).  Without a file, the devices are the
/dev/davinciN, the addresses those of this machine, and the rest is as on a real host.
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
import sys

SIOCGIFADDR = 0x8915
PLACES = ("/var/lib/ascend-simulator/host.json", "/usr/local/Ascend/driver/simulator/host.json")


def state_file():
    """Path of the host's state: from the environment, else the first default path that exists, else a private one."""
    named = os.environ.get("ASCEND_SIMULATOR_STATE")
    if named:
        return pathlib.Path(named)
    for place in PLACES:
        if os.path.isfile(place):
            return pathlib.Path(place)
    return pathlib.Path("/tmp/ascend-simulator/host.json")


def installed_release():
    """Version of the vllm-ascend installed with this program, or ''."""
    try:
        from importlib import metadata

        return metadata.version("vllm-ascend")
    except Exception:  # not installed, or a Python without importlib.metadata
        return ""


def own_pid(folder):
    """This process's id on the host. A container can read it only from the host's /proc, bound next to the state file."""
    try:
        return int(os.readlink(pathlib.Path(folder) / "proc" / "self"))
    except (OSError, ValueError):
        return os.getpid()


class Host:
    """Facts of one simulated host, and the locks of the processes on it."""

    def __init__(self, state=None):
        self.file = pathlib.Path(state) if state else state_file()
        self.run = pathlib.Path(str(self.file) + ".run")  # locks and pools of the running engines
        self.state = self._json(self.file)
        self.facts = self.state.get("engine") or {}
        self._held = []
        self._devices = []

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

    def planted(self, fault):
        """Whether this engine has a fault: if its command line contains the planted text."""
        return self.facts.get(fault, "\0") in " ".join(sys.argv)

    @property
    def generation(self):
        return self.state.get("generation", "a2")

    def devices(self):
        """Physical ids of the NPUs of this host, in order."""
        if "devices" in self.state:
            return sorted(device["id"] for device in self.state["devices"] if device.get("present", True))
        found = (re.fullmatch(r"/dev/davinci(\d+)", path) for path in glob.glob("/dev/davinci*"))
        return sorted(int(match.group(1)) for match in found if match)

    def device(self, number):
        """Record of one NPU as it is now; {} if it is unknown."""
        devices = self._json(self.file).get("devices", ())
        return next((device for device in devices if device["id"] == number), {})

    def tls(self, number):
        return int(self.device(number).get("tls") or 0)

    def device_address(self, number):
        """The address that the NPU really has, or None if unknown."""
        return (self.device(number).get("ip") or [None])[0]

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
        path = self.file.parent / self.state.get("hccn_conf", "/etc/hccn.conf")
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            return None
        match = re.search(rf"^address_{number}=(\S+)", text, re.MULTILINE)
        return match.group(1) if match else None

    # locks -----------------------------------------------------------------------------------------------------------

    def _hold(self, name, content):
        """Hold a lock file until this process ends; False if another process has it."""
        self.run.mkdir(parents=True, exist_ok=True)
        file = open(self.run / name, "a+", encoding="utf-8")  # noqa: SIM115 - open until the process exits
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return False
        file.truncate(0)
        file.write(json.dumps(content))
        file.flush()
        self._held.append(file)
        return True

    def take_device(self, number, name):
        """Hold the NPU until this process ends; False if another process has it."""
        pid = own_pid(self.file.parent)
        if not self._hold(f"device-{number}", {"pid": pid}):
            return False
        self._devices.append(number)
        self._set_processes([number], [{"pid": pid, "name": name, "memory": 50000}])
        return True

    def _set_processes(self, numbers, processes):
        """Set the processes that npu-smi shows on some NPUs."""
        if "devices" not in self.state:
            return
        with contextlib.suppress(OSError), open(f"{self.file}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self._json(self.file)
            for device in state.get("devices", ()):
                if device["id"] in numbers:
                    device["processes"] = processes
            temporary = f"{self.file}.{os.getpid()}"
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(state, file, indent=1)
            os.replace(temporary, self.file)

    def publish_pools(self, pools):
        """Publish to other processes of the host the random port pools of this process: [[first, last, owner]]."""
        pid = own_pid(self.file.parent)
        self._hold(f"pools-{pid}", {"pid": pid, "pools": pools})

    def pool_of(self, port):
        """Owner of the random pool that contains the port, or '' (processes that have exited do not count)."""
        for path in sorted(self.run.glob("pools-*")):
            pid = path.name.split("-")[1]
            with contextlib.suppress(OSError, ValueError, KeyError):
                if pid != str(own_pid(self.file.parent)) and not _held_by_another(path):
                    path.unlink()
                    continue
                for first, last, whose in self._json(path)["pools"]:
                    if first <= port <= last:
                        return f"{whose} of process {pid}"
        return ""

    def release_all(self):
        """Release devices and pools (if the process is killed, the kernel releases the locks)."""
        self._set_processes(self._devices, [])
        for file in self._held:
            with contextlib.suppress(OSError):
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
