# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long planning takes: seconds for 250, 500 and 1,000 hosts of 16 devices, and how the time grows.

Usage: PYTHONPATH=... python tests/bench/plan.py [internal|external]

Prints one line for each size. The ratio compares the time per host with that of the smallest size; linear growth keeps it
near 1.
"""

from __future__ import annotations

import gc
import sys
import time

from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan


def deployment(hosts: int, load_balancing: str) -> tuple[dict, dict]:
    """Half of the hosts prefill, each an instance of its own; the rest decode, two hosts an instance."""
    pools = {
        "prefill": {"instances": hosts // 2, "data_parallel_size": 2, "tensor_parallel_size": 8},
        "decode": {"instances": hosts // 4, "data_parallel_size": 32, "load_balancing": load_balancing},
    }
    words = {
        "inference_model": {"path": "/models/bench", "name": "bench"},
        "inference_pools": {name: {**pool, "args": {"max-num-seqs": 16}} for name, pool in pools.items()},
    }
    inventory = {
        f"node{number}": {
            "groups": ["prefill" if number < hosts // 2 else "decode"],
            "variables": {"ansible_host": f"10.0.{number // 250}.{number % 250 + 1}", "inference_interface": "eth0"},
        }
        for number in range(hosts)
    }
    return words, inventory


def seconds(hosts: int, load_balancing: str) -> tuple[float, int]:
    """Processor seconds of one plan, and its number of services; the better of two runs."""
    words, inventory = deployment(hosts, load_balancing)
    best, services = float("inf"), 0
    for dummy in range(2):
        gc.collect()
        start = time.process_time()
        services = len(launch_plan(words, inventory)["services"])
        best = min(best, time.process_time() - start)
    return best, services


def main(ways: list[str]) -> None:
    """Print the measure, for internal and external load balancing or the one that is named."""
    for way in ways or ["internal", "external"]:
        base = 0.0
        for hosts in (250, 500, 1000):
            spent, services = seconds(hosts, way)
            base = base or spent / hosts
            ratio = spent / hosts / base
            print(f"{way}: {hosts:>5} hosts, {services:>6} services: {spent:6.2f} s, {ratio:.2f} x per host")


if __name__ == "__main__":
    main(sys.argv[1:])
