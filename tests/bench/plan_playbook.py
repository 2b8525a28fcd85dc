# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processor time of the whole playbook `plan` against that of the planner alone, for 4, 100 and 1,000 hosts of 16 devices.

Usage: PYTHONPATH=... python tests/bench/plan_playbook.py [HOSTS...]

The third column is what Ansible itself takes for a playbook of one task with the same inventory: below that nothing can go.
"""

from __future__ import annotations

import json
import pathlib
import resource
import subprocess
import sys
import tempfile

from plan import deployment, seconds

PROGRAM = pathlib.Path(sys.executable).with_name("ansible-playbook")
NOTHING = [
    {"hosts": "localhost", "gather_facts": False, "connection": "local", "tasks": [{"ansible.builtin.meta": "noop"}]}
]


def inventory(hosts: int) -> dict:
    """The planner's bench deployment as an inventory file."""
    words, described = deployment(hosts, "external")
    groups: dict[str, dict] = {}
    for name, host in described.items():
        groups.setdefault(host["groups"][0], {}).setdefault("hosts", {})[name] = None
    variables = {name: host["variables"] for name, host in described.items()}
    return {"all": {"vars": words, "hosts": variables, "children": groups}}


def spent(argv: list[str]) -> float:
    """Processor seconds of a command and its children; it has to succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout[-4000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(sizes: list[str]) -> None:
    """Print one line for each size."""
    with tempfile.TemporaryDirectory() as folder:
        empty = pathlib.Path(folder) / "empty.yml"
        empty.write_text(json.dumps(NOTHING), encoding="utf-8")
        for hosts in [int(size) for size in sizes] or [4, 100, 1000]:
            place = pathlib.Path(folder) / "hosts.json"
            place.write_text(json.dumps(inventory(hosts)), encoding="utf-8")
            planner, _services = seconds(hosts, "external")
            least = spent([str(PROGRAM), "-i", str(place), str(empty)])
            whole = spent([str(PROGRAM), "-i", str(place), "ascend.inference.plan"])
            print(
                f"{hosts:>5} hosts: planner {planner:5.2f} s, empty playbook {least:5.2f} s, playbook plan {whole:5.2f} s, "
                f"{(whole - least) / planner:.1f} x the planner",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
