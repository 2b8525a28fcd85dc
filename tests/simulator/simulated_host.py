# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One simulated host: its state file, its hccn.conf, its neighbours, and the failures of its tools."""

from __future__ import annotations

import contextlib
import fcntl
import fnmatch
import glob
import ipaddress
import json
import os
import sys
import time
from collections import namedtuple

Answer = namedtuple("Answer", "out err rc")


def say(out, rc=0):
    return Answer(out, "", rc)


def complain(err, rc):
    return Answer("", err, rc)


class Host:
    def __init__(self, path):
        self.path = path
        self.folder = os.path.dirname(os.path.abspath(path))
        self.reload()

    def reload(self):
        with open(self.path, encoding="utf-8") as handle:
            self.state = json.load(handle)
        self.devices = self.state["devices"]
        self.behaviour = self.state["behaviour"]

    @property
    def conf_path(self):
        return os.path.join(self.folder, self.state["hccn_conf"])

    def device(self, device_id):
        found = [device for device in self.devices if device["id"] == device_id and device["present"]]
        return found[0] if found else None

    @contextlib.contextmanager
    def change(self):
        """The state for a change: read under a lock and written back atomically."""
        with open(self.path + ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.reload()
            yield
            temporary = f"{self.path}.{os.getpid()}"
            with open(temporary, "w", encoding="utf-8") as handle:
                json.dump(self.state, handle, indent=1)
            os.replace(temporary, self.path)

    def behave(self, tool, args):
        """Write the log and apply the configured delay, hang, failure or lock. Returns an Answer if the call ends here, else None."""
        command = " ".join([tool] + args)
        with open(self.path + ".log", "a", encoding="utf-8") as log:
            log.write(command + "\n")
        for entry in self.behaviour["fail"]:
            if fnmatch.fnmatch(command, entry["command"]):
                return Answer(entry.get("out", ""), entry.get("err", ""), entry.get("rc", 0))
        busy = self._busy(args) if tool == "hccn_tool" else None
        if busy:
            return busy
        if any(fnmatch.fnmatch(command, pattern) for pattern in self.behaviour["hang"]):
            time.sleep(3600)
        time.sleep(self.behaviour["delay"])
        return None

    def _busy(self, args):
        device = args[args.index("-i") + 1] if "-i" in args[:-1] else "all"
        busy = (
            complain("Command execute failed!\n", 1)
            if "-net_health" in args
            else say("hccn_tool is busy, please try again.\n", 11)
        )
        lock = self.behaviour["lock"]
        if lock != "none":
            # held until this process exits, like the real tool
            self._lock = open(f"{self.path}.tool-{'all' if lock == 'global' else device}", "w")  # noqa: SIM115 (see above)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return busy
        if self.behaviour["busy_calls"]:
            with self.change():
                self.behaviour["busy_calls"] = max(0, self.behaviour["busy_calls"] - 1)
            return busy
        return None

    # -- hccn.conf, written like the tool: remove the old line, append the new one, keep comments

    def conf_lines(self):
        with open(self.conf_path, encoding="utf-8") as handle:
            return handle.read().splitlines()

    def conf_set(self, key, device, value):
        """Set (or with None delete) ``key_device``. The tool deletes every line that contains ``key_device=``."""
        marker = f"{key}_{device}="
        lines = [
            line for line in self.conf_lines() if (marker not in line if value is None else not line.startswith(marker))
        ]
        if value is not None:
            lines.append(marker + value)
        with open(self.conf_path, "w", encoding="utf-8") as handle:
            handle.write("".join(line + "\n" for line in lines))

    # -- the shared network of the hosts of one folder

    def network(self):
        path = os.path.join(self.folder, "network.json")
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as handle:
            return json.load(handle)

    def neighbours(self):
        """(host, device) of every device of every host in the folder, including this host's."""
        for path in sorted(glob.glob(os.path.join(self.folder, "*.json"))):
            if os.path.basename(path) != "network.json":
                other = Host(path)
                for device in other.devices:
                    if device["present"]:
                        yield other, device

    def cut(self, device, other):
        """True if network.json separates the two addresses (a pair or a single dead address)."""
        network = self.network()
        pairs = [set(pair) for pair in network.get("cut", [])]
        return {device, other} in pairs or device in network.get("dead", []) or other in network.get("dead", [])

    def reaches(self, device, target):
        """RoCE: link up on both ends, in one network or with a gateway, and not the sibling die of an A3."""
        found = [(host, peer) for host, peer in self.neighbours() if peer["ip"] and peer["ip"][0] == target]
        if not found or not device["ip"] or self.cut(device["ip"][0], target):
            return False
        host, peer = found[0]
        siblings = (
            self.state["generation"] == "a3"
            and host.path == self.path
            and peer["npu"] == device["npu"]
            and peer["id"] != device["id"]
        )
        routed = ipaddress.ip_address(target) in network_of(device) or device["gateway"]
        return device["link"] == "UP" == peer["link"] and bool(routed) and not siblings

    def reaches_over_hccs(self, device, target):
        """HCCS: both in one super pod, both virtual NICs up; ``target`` is a vNIC address or an SDID."""
        for host, peer in self.neighbours():
            if target in (peer["vnic"]["address"], str(peer["sdid"])):
                same = (
                    host.state["super_pod"]
                    and self.state["super_pod"]
                    and host.state["super_pod"]["id"] == self.state["super_pod"]["id"]
                )
                up = device["vnic"]["link"] == "UP" == peer["vnic"]["link"]
                return bool(same and up and not self.cut(device["vnic"]["address"], peer["vnic"]["address"]))
        return False


def network_of(device):
    return ipaddress.ip_network("/".join(device["ip"]), strict=False)


def asks(question):
    """Print the question, read stdin like the tools: any line except 'y' means no."""
    sys.stdout.write(question)
    sys.stdout.flush()
    return sys.stdin.readline() in ("y\n", "Y\n")
