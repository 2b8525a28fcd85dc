# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processor time of the playbook check for each host, on simulated hosts of several cluster sizes.

python tests/bench/check.py [--devices 16] [SIZE ...]      # default sizes: 4 40

A size is an even number of hosts, half of them prefill. The time includes the simulated tools, which take most of it and are the same
for each host. The last line compares the largest size with the smallest one; more than twice as much for each host fails.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "tests" / "e2e"), str(REPOSITORY / "tests" / "simulator")]

import test_check  # noqa: E402 - its folder is no package

MOST = 2.0  # allowed ratio of the largest to the smallest size, for each host


def seconds(hosts: int, devices: int) -> float:
    """Processor seconds of one check of a healthy cluster, with all child processes."""
    pool = {"tensor_parallel_size": devices, "instances": hosts // 2}
    shape = {"hosts": hosts, "devices": devices, "pools": {"prefill": pool, "decode": pool}}
    with tempfile.TemporaryDirectory() as folder:
        cluster = test_check.cluster(pathlib.Path(folder), shape)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [
                "ansible-playbook",
                "-i",
                "inventory.yml",
                test_check.PLAYBOOK,
                "-e",
                f"inference_check_html={folder}/page.html",
            ],
            cwd=cluster,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "ANSIBLE_FORKS": "5"},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stdout[-3000:] + done.stderr[-1000:])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure each size and compare the largest with the smallest."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", type=int, default=[4, 40])
    parser.add_argument("--devices", type=int, default=16)
    given = parser.parse_args()
    found = {}
    for hosts in sorted(given.sizes):
        found[hosts] = seconds(hosts, given.devices) / hosts
        print(
            f"{hosts} hosts x {given.devices} devices: {found[hosts]:.1f} processor seconds for each host", flush=True
        )
    ratio = found[max(found)] / found[min(found)]
    print(f"{ratio:.2f} times as much for each of {max(found)} hosts as for each of {min(found)} (allowed: {MOST:g})")
    sys.exit(ratio > MOST)


if __name__ == "__main__":
    main()
