# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it costs to run `site` once more on a converged cluster of eight hosts: tasks of each host, and time as a ratio to a ping.

    make bench ARGS="rerun"            REPEAT=5 for more than three runs, KEEP=1 to leave the nodes

The hosts are containers with systemd, made and reached as molecule's are (rerun/molecule.yml); NPUs and engines are simulated, ssh,
sudo and all roles are not. The ping is `ansible all -m ping`: same hosts, same connections, same forks. Smallest time of each.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REPEAT = int(os.environ.get("REPEAT", "3"))


def timed(argv: list[str]) -> tuple[float, str]:
    """Seconds and output of a command that has to succeed."""
    begin = time.monotonic()
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"exit {done.returncode} of {' '.join(argv)}\n{done.stdout[-8000:]}")
    return time.monotonic() - begin, done.stdout


def measure() -> None:
    """Within molecule's environment: both commands, in turns, into the file that REPORT names."""
    programs = pathlib.Path(sys.executable).parent
    inventory = f"--inventory={os.environ['MOLECULE_EPHEMERAL_DIRECTORY']}/inventory"
    pings, sites, recap = [], [], {}
    for _turn in range(REPEAT):
        pings.append(timed([str(programs / "ansible"), inventory, "all", "-m", "ansible.builtin.ping"])[0])
        seconds, output = timed([str(programs / "ansible-playbook"), inventory, "ascend.inference.site"])
        sites.append(seconds)
        rows = re.findall(r"^(\S+) +: (ok=.*)$", output, re.M)
        recap = {host: {key: int(one) for key, one in re.findall(r"(\w+)=(\d+)", row)} for host, row in rows}
        if any(item["changed"] for item in recap.values()):
            sys.exit(f"this cluster is not converged: {recap}\n{output[-8000:]}")
    report = {"pings": pings, "sites": sites, "recap": recap, "output": output}
    pathlib.Path(os.environ["REPORT"]).write_text(json.dumps(report), encoding="utf-8")


def molecule(command: str, **environment: str) -> None:
    """One step of the scenario; its output goes to a file that is shown if it fails."""
    told = {"MOLECULE_COMMAND": command, "MOLECULE_GLOB": "tests/bench/*/molecule.yml", **environment}
    with tempfile.TemporaryFile("w+") as log:
        argv = ["bash", str(ROOT / ".ci/parts/molecule.sh"), "rerun"]
        done = subprocess.run(argv, env={**os.environ, **told}, stdout=log, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            log.seek(0)
            raise RuntimeError(f"molecule {command}: exit {done.returncode}\n{log.read()[-16000:]}")


def main() -> int:
    """Make the cluster, measure, remove it."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "report.json"
        try:
            molecule("converge")
            molecule("verify", REPORT=str(file))
        except RuntimeError as error:
            print(error)
            return 1
        finally:
            if not os.environ.get("KEEP"):
                molecule("destroy")
        report = json.loads(file.read_text(encoding="utf-8"))
    site, ping = min(report["sites"]), min(report["pings"])
    for host, counts in report["recap"].items():
        print(f"{host:10} {counts['ok']:3} tasks run, {counts['skipped']:3} skipped, {counts['changed']} changed")
    print(f"site {site:6.1f} s  ping {ping:5.1f} s  ratio {site / ping:5.1f}  (smallest of {REPEAT})")
    return 0


if __name__ == "__main__":
    sys.exit(measure() if "--measure" in sys.argv else main())
