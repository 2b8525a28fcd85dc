# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State files for simulated hosts: a healthy cluster, to which a test adds faults.

``cluster(folder, hosts=4, generation="a3", devices=16)`` writes one ``nodeN.json`` and one ``nodeN.hccn.conf`` per host;
``install(folder, "node0")`` puts programs ``npu-smi`` and ``hccn_tool`` for that host into ``<folder>/node0/bin``. A state file:

* ``host, generation (a2|a3|910a|310p|950), driver, tool, firmware, super_pod {id, size, server_index} or null, hccn_conf`` (file name)
* ``behaviour``: ``delay`` (s), ``lock`` (none|device|global: hccn_tool reports busy), ``busy_calls`` (the next N calls are busy),
  ``hang`` and ``fail`` (patterns of whole commands; fail: command, rc, out, err), ``driver`` (ok|not_loaded|container_used|loader|no_npu),
  ``root``, ``incomplete`` (npu-smi's closing warning)
* ``devices``: ``id`` (physical), ``npu, chip, name, health, error_codes, bus, power, temp, aicore, memory, hbm, hugepages`` (used,
  total), ``processes`` (pid, name, memory, container_pid), ``present``, ``sdid``, ``link`` (UP|DOWN), ``net_health`` (null: derived), ``lldp``,
  ``netdetect, gateway, ip`` (address, netmask) or null, ``vnic, tls, mtu, mac, speed, optical, routes``

``network.json`` in the folder, if any: ``cut`` (pairs of addresses that cannot reach each other), ``dead`` (unreachable addresses).
"""

from __future__ import annotations

import json
import os
import stat
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {"a2": "910B3", "a3": "Ascend910", "910a": "910ProA", "310p": "310P3", "950": "950PR"}
DRIVERS = {"a2": "25.5.0", "a3": "25.5.1", "910a": "24.1.0", "310p": "25.2.1", "950": "26.0.rc1"}
# Ids of check's findings about the machine that runs a test, which are no findings of a simulated host.
MACHINE = ["CLOCK", "DISK-FREE", "HOST-GLIBC", "HOST-PYTHON", "LIMIT-MEMLOCK", "LIMIT-NOFILE", "PORT-TAKEN"]
MACHINE += ["PROXY-VARIABLES", "SHM-SIZE", "SYSCTL-MAPS", "TUNE-DIFFERS", "TUNE-JEMALLOC", "TUNE-TOOLS"]
BUSES = ("C1", "01", "C2", "02", "81", "41", "82", "42")


def device(generation, host, index):
    """One healthy, idle device. RoCE addresses 10.(20 + die).host.(10 + index), vNIC 192.(host).2.(199 - index)."""
    dies = 2 if generation == "a3" else 1
    npu, chip = divmod(index, dies)
    hbm = {"a2": 65536, "a3": 65536, "910a": 32768, "310p": 0, "950": 86016}[generation]
    network = f"10.{20 + chip}.{host}"
    return {
        "id": index,
        "npu": npu,
        "chip": chip,
        "name": NAMES[generation],
        "health": "OK",
        "error_codes": [],
        "bus": f"{index // 8:04X}:{BUSES[index % 8]}:00.0",
        "power": {"310p": "NA"}.get(generation, "-" if chip else f"{90 + npu}.5"),
        "temp": 40 + index % 7,
        "aicore": 0,
        "memory": [1800 + index, 21527] if generation == "310p" else [0, 15567 if generation == "910a" else 0],
        "hbm": [3000 + index if hbm else 0, hbm],
        "hugepages": [0, 0],
        "processes": [],
        "present": True,
        "sdid": (host << 22) | (npu << 18) | (chip << 16) | index,
        "link": "UP",
        "net_health": None,
        "lldp": {"port": f"400GE1/0/{npu + 1}:{chip + 1}", "system_name": f"leaf-{chip + 1}"},
        "netdetect": f"{network}.1",
        "gateway": f"{network}.1",
        "ip": [f"{network}.{10 + index}", "255.255.255.0"],
        "vnic": {"link": "UP", "address": f"192.{host}.2.{199 - index}", "netmask": "255.255.255.0"},
        "tls": False,
        "mtu": 1500,
        "mac": f"02:00:5e:{host:02x}:00:{index:02x}",
        "speed": 200000,
        "optical": True,
        "routes": [],
    }


def host_state(generation, host, devices, **changes):
    """A healthy host's state; ``changes`` replace its top-level keys."""
    state = {
        "simulator": "state of the ascend.inference simulator",
        "host": f"node{host}",
        "generation": generation,
        "driver": DRIVERS[generation],
        "tool": changes.get("driver", DRIVERS[generation]),
        "firmware": "7.8.0.1.220",
        "super_pod": {"id": 0, "size": 384, "server_index": host} if generation == "a3" else None,
        "hccn_conf": f"node{host}.hccn.conf",
        "behaviour": {
            "delay": 0,
            "lock": "none",
            "busy_calls": 0,
            "hang": [],
            "fail": [],
            "driver": "ok",
            "root": True,
            "incomplete": False,
        },
        "devices": [device(generation, host, index) for index in range(devices)],
    }
    state.update(changes)
    return state


def hccn_conf(state):
    """The text of /etc/hccn.conf according to the state."""
    lines = ["# written by the simulator"]
    for device in state["devices"]:
        pairs = [("netdetect", device["netdetect"]), ("gateway", device["gateway"])]
        if device["ip"]:
            pairs = [("address", device["ip"][0]), ("netmask", device["ip"][1])] + pairs
        lines += [f"{key}_{device['id']}={value}" for key, value in pairs if value]
        lines += [
            f"route_address_{r['address']}_netmask_{r['netmask']}_{device['id']}=gateway_{r['gateway']}"
            for r in device["routes"]
        ]
    return "".join(line + "\n" for line in lines)


def write(folder, state):
    """Write a host's state and hccn.conf -> path of the state file."""
    path = os.path.join(str(folder), state["host"] + ".json")
    with open(path, "w", encoding="utf-8") as handle:
        json.dump(state, handle, indent=1)
    with open(os.path.join(str(folder), state["hccn_conf"]), "w", encoding="utf-8") as handle:
        handle.write(hccn_conf(state))
    return path


def install(folder, host, python=sys.executable):
    """Install the programs npu-smi and hccn_tool for ``host`` -> their folder (for PATH or ``executable``)."""
    place = os.path.join(str(folder), host, "bin")
    os.makedirs(place, exist_ok=True)
    state = os.path.join(os.path.abspath(str(folder)), host + ".json")
    for tool in ("npu-smi", "hccn_tool"):
        path = os.path.join(place, tool)
        with open(path, "w", encoding="utf-8") as handle:
            handle.write("#!/bin/sh\n# The ascend.inference simulator, not a vendor tool.\n")
            handle.write(
                f"ASCEND_SIMULATOR_STATE='{state}' exec '{python}' -S '{HERE}/ascend_tools.py' --as {tool} \"$@\"\n"
            )
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return place


def cluster(folder, hosts=1, generation="a3", devices=16, python=sys.executable, **changes):
    """Write and install ``hosts`` healthy hosts -> {host name: dict(state=path, bin=folder, hccn_conf=path)}."""
    result = {}
    for number in range(hosts):
        state = host_state(generation, number, devices, **changes)
        path = write(folder, state)
        conf = os.path.join(str(folder), state["hccn_conf"])
        result[state["host"]] = {"state": path, "bin": install(folder, state["host"], python), "hccn_conf": conf}
    return result


class edit:  # noqa: N801 (reads like a verb: with edit(path) as state)
    """``with edit(path) as state: state["devices"][3]["link"] = "DOWN"`` changes a host between two calls."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        with open(self.path, encoding="utf-8") as handle:
            self.state = json.load(handle)
        return self.state

    def __exit__(self, kind, value, traceback):
        if kind is None:
            with open(self.path, "w", encoding="utf-8") as handle:
                json.dump(self.state, handle, indent=1)
