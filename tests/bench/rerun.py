# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it costs to run `site` once more on converged hosts: modules started on each, and time as a ratio to a ping.

    make bench ARGS="rerun"            REPEAT=5 for more than three runs, KEEP=1 to leave the nodes,
                                       LIST=1 to print the modules of the host with most services

First on a cluster of eight hosts, then on its first host alone with 1, 4 and 16 services: the number of modules must not grow with them.
The hosts are containers with systemd, made and reached as molecule's are (rerun/molecule.yml); NPUs and engines are simulated,
ssh, sudo and all roles are not. hccn_tool and npu-smi repeat the simulator's answers (rerun/remember.sh). The ping is
`ansible all -m ping`: same hosts, same connections, same forks. Smallest time of each.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import typing as t

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REPEAT = int(os.environ.get("REPEAT", "3"))
PROGRAMS = pathlib.Path(sys.executable).parent
COUNTS = (1, 4, 16)  # services on one host, the proxy among them
ONE_DEVICE = {"tensor_parallel_size": 1}


def timed(argv: list[str], **environment: str) -> tuple[float, str]:
    """Seconds and output of a command that has to succeed."""
    begin = time.monotonic()
    done = subprocess.run(
        argv,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"exit {done.returncode} of {' '.join(argv)}\n{done.stdout[-8000:]}")
    return time.monotonic() - begin, done.stdout


def counted_site(inventory: str) -> tuple[float, dict[str, list[str]]]:
    """Run `site` on converged hosts: seconds, and for each host the modules that were started there."""
    with tempfile.NamedTemporaryFile("r") as started:
        seconds, output = timed(
            [str(PROGRAMS / "ansible-playbook"), f"--inventory={inventory}", "ascend.inference.site"],
            ANSIBLE_CALLBACK_PLUGINS=str(HERE.parent / "callbacks"),
            ANSIBLE_CALLBACKS_ENABLED="count_modules",
            COUNT_MODULES=started.name,
        )
        modules = collections.defaultdict(list)
        for line in started:
            if not line.startswith("#"):
                host, module, task = line.rstrip("\n").split("\t")
                modules[host].append(f"{module}: {task}")
    changed = {host: int(number) for host, number in re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+)", output, re.M)}
    if not changed or any(changed.values()):
        sys.exit(f"this cluster is not converged: {changed}\n{output[-8000:]}")
    modules.pop("localhost", None)
    return seconds, dict(modules)


def with_services(inventory: str, count: int, folder: pathlib.Path) -> str:
    """An inventory of the first host alone, with this many services."""
    listed = json.loads(timed([str(PROGRAMS / "ansible-inventory"), f"--inventory={inventory}", "--list"])[1])
    name, variables = sorted(listed["_meta"]["hostvars"].items())[0]
    engines: dict[str, t.Any] = {"prefill": {"instances": max((count - 1) // 2, 1), **ONE_DEVICE}}
    if count > 1:
        engines["decode"] = {"instances": count - 1 - engines["prefill"]["instances"], **ONE_DEVICE}
    else:
        engines = {"colocated": {"instances": 1, **ONE_DEVICE}}
    router = variables["inference_router"] if count > 1 else {"flavour": "none"}
    variables = {**variables, "inference_pools": engines, "inference_router": router}
    groups: dict[str, t.Any] = {kind: {"hosts": {name: {}}} for kind in engines}
    path = folder / f"{count}.json"
    path.write_text(json.dumps({"all": {"hosts": {name: variables}, "children": groups}}), encoding="utf-8")
    return str(path)


def measure() -> None:
    """Within molecule's environment: all runs, and what they cost into the file that REPORT names."""
    inventory = f"{os.environ['MOLECULE_EPHEMERAL_DIRECTORY']}/inventory"
    pings, sites, modules = [], [], {}
    for _turn in range(REPEAT):
        pings.append(
            timed([str(PROGRAMS / "ansible"), f"--inventory={inventory}", "all", "-m", "ansible.builtin.ping"])[0]
        )
        seconds, modules = counted_site(inventory)
        sites.append(seconds)
    report: dict[str, t.Any] = {"pings": pings, "sites": sites, "modules": modules, "alone": {}}
    file = pathlib.Path(os.environ["REPORT"])
    file.write_text(json.dumps(report), encoding="utf-8")  # the later measurements may fail
    with tempfile.TemporaryDirectory() as folder:
        for count in COUNTS:
            one_host = with_services(inventory, count, pathlib.Path(folder))
            pause = '{"inference_allow_pause": true}'  # new services get the NPUs of the former ones
            timed(
                [
                    str(PROGRAMS / "ansible-playbook"),
                    f"--inventory={one_host}",
                    f"--extra-vars={pause}",
                    "ascend.inference.site",
                ]
            )
            ping = timed([str(PROGRAMS / "ansible"), f"--inventory={one_host}", "all", "-m", "ansible.builtin.ping"])[0]
            seconds, started = counted_site(one_host)
            report["alone"][count] = {"ping": ping, "site": seconds, "modules": next(iter(started.values()))}
            file.write_text(json.dumps(report), encoding="utf-8")


def molecule(command: str, **environment: str) -> None:
    """One step of the scenario; its output goes to a file that is shown if it fails."""
    variables = {"MOLECULE_COMMAND": command, "MOLECULE_GLOB": "tests/bench/*/molecule.yml", **environment}
    with tempfile.TemporaryFile("w+") as log:
        argv = ["bash", str(ROOT / ".ci/parts/molecule.sh"), "rerun"]
        done = subprocess.run(argv, env={**os.environ, **variables}, stdout=log, stderr=subprocess.STDOUT, check=False)
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
            return 0
        except RuntimeError as error:
            print(error)
            return 1
        finally:
            if file.exists():
                show(json.loads(file.read_text(encoding="utf-8")))
            if not os.environ.get("KEEP"):
                molecule("destroy")


def show(report: dict[str, t.Any]) -> None:
    """Print what was measured."""
    site, ping = min(report["sites"]), min(report["pings"])
    for host, modules in sorted(report["modules"].items()):
        print(f"{host:10} {len(modules):3} modules started")
    print(
        f"{len(report['modules'])} hosts: site {site:6.1f} s  ping {ping:5.1f} s  ratio {site / ping:5.1f}  (smallest of {REPEAT})"
    )
    for count, row in report["alone"].items():
        text = f"{count:>2} services on one host: {len(row['modules']):3} modules started"
        print(f"{text}  site {row['site']:6.1f} s  ping {row['ping']:5.1f} s  ratio {row['site'] / row['ping']:5.1f}")
    if os.environ.get("LIST"):
        print("\n".join(report["alone"][str(COUNTS[-1])]["modules"]))


if __name__ == "__main__":
    sys.exit(measure() if "--measure" in sys.argv else main())
