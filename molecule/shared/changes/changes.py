# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change a service on nodes by the playbooks while two clients send requests, and print a table of what they saw.

    changes.py SCENARIO RUNTIME URL FOLDER      URL: the router; FOLDER: that of the scenario, with its inventory and the nodes' model

A change fails if a request fails, is empty or has another text than the model's, if another service than expected restarts, or if the engines
run with other arguments afterwards. A simulated engine ends when it is stopped, so each request that it still gets fails.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import time
import typing as t

from ansible_collections.ascend.inference.tests.simulator import load
from ansible_collections.ascend.inference.tests.simulator.vllm_ascend.model import Model

NODES = ("node1", "node2")
ENGINES = frozenset(["prefill-0", "prefill-1", "decode-0", "decode-1"])
IDLE = 12  # seconds: the proxy forgets removed engines at a check, every 10 s, without a request under way
BAD = 32  # max-num-seqs of engines that transfer wrong KV
STARTS = {  # commands of a node whose output has a line "NAME PROCESS" for each running service
    "systemd": "for unit in $(systemctl list-units --plain --no-legend --state=running 'inference-*.service' | cut -d' ' -f1); do"
    " echo $unit $(systemctl show --property=MainPID --value $unit); done",
    "docker": "docker ps --quiet | xargs docker inspect --format '{{.Name}} {{.Id}}/{{.State.StartedAt}}'",
}


class Change(t.NamedTuple):
    """``restarted``: names of services; ``sequences``: max-num-seqs of all engines afterwards; ``reason``: in the output of one that must fail."""

    name: str
    playbook: str
    restarted: t.Collection[str]
    variables: dict[str, t.Any]
    sequences: int = 0
    reason: str = ""


def planned(decode: int = 2, sequences: int = 0, **more: t.Any) -> dict[str, t.Any]:
    """Variables of a service with this many decode engines, all with this max-num-seqs."""
    pools = {
        name: {"instances": number, "tensor_parallel_size": 2} for name, number in (("prefill", 2), ("decode", decode))
    }
    arguments = {"max-model-len": 4096, "enable-prefix-caching": False}
    return {
        "inference_pools": pools,
        "inference_args": {**arguments, **({"max-num-seqs": sequences} if sequences else {})},
        **more,
    }


def changes(hosts_engines: t.Collection[str]) -> list[Change]:
    """All changes, in their order."""
    restart = {"inference_services": ["decode-1"]}, {"inference_services": sorted(hosts_engines)}
    back = "was started again and is verified"
    return [
        Change("scale up", "deploy", {"decode-2"}, planned(3)),
        Change("argument", "deploy", ENGINES | {"decode-2"}, planned(3, 8), 8),
        Change("scale down", "deploy", {"decode-2"}, planned(2, 8), 8),
        Change("restart", "restart", {"decode-1"}, planned(2, 8, **restart[0]), 8),
        Change("host", "restart", hosts_engines, planned(2, 8, **restart[1]), 8),
        Change("upgrade", "upgrade", ENGINES, planned(2, 16), 16),
        Change("bad upgrade", "upgrade", ENGINES, planned(2, BAD), 16, back),
    ]


class Service:
    """The service on the nodes of a scenario."""

    def __init__(self, scenario: str, runtime: str, url: str, folder: str) -> None:
        self.scenario, self.runtime, self.url, self.folder = scenario, runtime, url, pathlib.Path(folder)
        self.model = Model(self.folder / "model")

    def run(self, node: str, command: str) -> str:
        """The output of a command on a node."""
        argv = ["docker", "exec", f"{self.scenario}-{node}", "bash", "-c", command]
        return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout

    def starts(self) -> dict[str, str]:
        """{service: its process or container, and its node}."""
        rows = re.compile(r"^/?inference-(\S+?)(?:\.service)? (\S+)$", re.MULTILINE)
        return {
            name: f"{node} {start}"
            for node in NODES
            for name, start in rows.findall(self.run(node, STARTS[self.runtime]))
        }

    def sequences(self) -> set[int]:
        """The values of max-num-seqs with which engines run; 0 without one."""
        lines = [
            line
            for node in NODES
            for line in self.run(node, "ps -eo args").splitlines()
            if " serve /models/tiny " in line
        ]
        return {int((re.findall(r"--max-num-seqs (\d+)", line) or ["0"])[0]) for line in lines}

    def plant(self) -> None:
        """Let engines with BAD sequences transfer wrong KV."""
        fault = json.dumps({"garbled_with": f"--max-num-seqs {BAD}"})[1:-1]
        for node in NODES:
            self.run(node, f"""sed --in-place 's/"engine": {{/&{fault}, /' /var/lib/ascend-simulator/host.json""")

    def play(self, change: Change) -> str:
        """Run the playbook of a change -> what is wrong with its result."""
        program = pathlib.Path(sys.executable).with_name("ansible-playbook")
        argv = [str(program), f"--inventory={self.folder / 'inventory'}", "-e", json.dumps(change.variables)]
        done = subprocess.run(
            [*argv, f"ascend.inference.{change.playbook}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        (self.folder / f"{change.name}.log").write_text(done.stdout, encoding="utf-8")
        if (done.returncode == 0) == bool(change.reason) or change.reason not in " ".join(done.stdout.split()):
            return f"{change.playbook} ended with {done.returncode}:\n{done.stdout[-6000:]}"
        return ""

    def expected(self, prompt: str, tokens: int) -> str:
        """The text of an engine alone."""
        return "".join(self.model.generate(prompt, tokens, [], [], ignore_end=True)[0])

    def problems(self, change: Change) -> list[str]:
        """Run a change under load, print its row -> what went wrong."""
        time.sleep(IDLE)
        before, began = self.starts(), time.monotonic()
        with load.Load(self.url, "tiny", clients=2) as requests:
            found = [self.play(change)]
        after, report = self.starts(), requests.report(self.expected)
        lost = {name: report[name] for name in ("failures", "empty", "wrong")}
        row = f"{report['answered']:5} answered, {report['failures']} failed, {report['empty']} empty, {report['wrong']} wrong"
        times = f"gap {report['gap']} s, p99 {report['first_p99']:.1f} s, {time.monotonic() - began:.0f} s"
        print(f"{change.name:11}{row}, {times}", flush=True)
        restarted = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        if any(lost.values()) or report["answered"] < 10:
            found.append(f"requests were lost, or too few were sent: {report}")
        if restarted != set(change.restarted):
            found.append(f"{sorted(restarted)} restarted instead of {sorted(change.restarted)}")
        if self.sequences() != {change.sequences}:
            found.append(f"engines run with max-num-seqs {self.sequences()} instead of {change.sequences}")
        return [f"{change.name}: {problem}" for problem in found if problem]


def main(arguments: list[str]) -> int:
    """Run all changes up to the first that fails."""
    service = Service(*arguments)
    service.plant()
    on_second = {name for name, start in service.starts().items() if start.startswith(NODES[1])}
    print(f"{service.runtime}: {', '.join(sorted(on_second))} on {NODES[1]}", flush=True)
    for change in changes(on_second):
        found = service.problems(change)
        if found:
            print("\n".join(found))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
