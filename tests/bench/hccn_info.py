# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One hccn_info call against the usual shell loops over all devices, on simulated tools, for three ways the tool may lock.

    PYTHONPATH=<the folder of ansible_collections> python tests/bench/hccn_info.py [--devices 16] [--delay 0.2] [--workers 16] [--json]

The loops are seven, one after the other, as a person pastes them: lldp, link, net_health, netdetect, gateway, ip, tls. The call
asks the same seven. The ratio is loop seconds / call seconds. The tools are simulated: what is measured is the waiting for them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "simulator"))

import ascend_cluster  # (found through the line above)
from ansible_collections.ascend.inference.plugins.module_utils.hccn.report import report
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import Tool

QUERIES = ["lldp", "link", "net_health", "netdetect", "gateway", "ip", "tls"]


def loops(tool, devices):
    started = time.monotonic()
    for query in QUERIES:
        subprocess.run(
            f"for i in $(seq 0 {devices - 1}); do {tool} -i $i -{query} -g; done",
            shell=True,
            stdout=subprocess.DEVNULL,
            check=True,
        )
    return time.monotonic() - started


def call(tool, devices, workers, conf):
    started = time.monotonic()
    result = report(Tool(tool, 60), list(range(devices)), QUERIES, workers, conf)
    seconds = time.monotonic() - started
    errors = [device["errors"] for device in result["devices"] if device["errors"]]
    if errors or any(device["link"] != "up" or not device["ip"] for device in result["devices"]):
        sys.exit(f"the call did not answer everything: {errors}")
    return seconds, result["serial"]


def measure(lock, options):
    with tempfile.TemporaryDirectory() as folder:
        host = ascend_cluster.cluster(folder, generation="a3", devices=options.devices)["node0"]
        with ascend_cluster.edit(host["state"]) as state:
            state["behaviour"].update(lock=lock, delay=options.delay)
        tool = os.path.join(host["bin"], "hccn_tool")
        loop_seconds = loops(tool, options.devices)
        seconds, serial = call(tool, options.devices, options.workers, host["hccn_conf"])
    return dict(
        lock=lock,
        loops_seconds=loop_seconds,
        call_seconds=seconds,
        ratio=loop_seconds / seconds,
        fell_back_to_serial=serial,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=16)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds that one call of the tool takes")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure(lock, options) for lock in ("none", "device", "global")]
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print(
        f"{options.devices} devices x {len(QUERIES)} queries at {options.delay} s, {options.workers} workers (simulated tools)"
    )
    for row in rows:
        print(
            "lock {lock:7} loops {loops_seconds:6.1f} s  hccn_info {call_seconds:6.1f} s  ratio {ratio:5.2f}".format(
                **row
            )
        )


if __name__ == "__main__":
    main()
