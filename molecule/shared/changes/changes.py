# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change a service on nodes by the playbooks while two clients send requests, and print a table of what they saw.

    changes.py SCENARIO RUNTIME HOST FOLDER      HOST: the first node; FOLDER: that of the scenario, with its inventory and the nodes' model

A change fails if a request fails, is empty or has another text than the model's, if another service than expected restarts, or if the engines
run with other arguments or another release afterwards. A simulated engine ends when it is stopped, so each request that it still gets fails.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import time
import typing as t
import urllib.request

from ansible_collections.ascend.inference.tests.simulator import load
from ansible_collections.ascend.inference.tests.simulator.vllm_ascend import release
from ansible_collections.ascend.inference.tests.simulator.vllm_ascend.model import Model

NODES = ("node1", "node2")
IDLE = 12  # seconds: the proxy forgets removed engines at a check, every 10 s, without a request under way
BACK = "was started again and is verified"
BAD = 32  # max-num-seqs of engines that do not work
OLDER, NEWER = "0.23.0.post1", "0.24.0rc1"
OF_NEWER = {  # variables of the newer release, which needs another CANN
    "systemd": {"inference_release": NEWER, "inference_cann_path": f"/opt/ascend-inference/cann-{NEWER}"},
    "docker": {
        "inference_release": NEWER,
        "inference_image": f"simulated/vllm-ascend:{NEWER}-a3",
        "container_runtime_archive": "/srv/images/newer.tar",
    },
}
DRILL = {  # the second node is hit last; it has an engine of each pool, and a router
    "inference_drill_confirm": "inference",
    "inference_drill": {
        "faults": [{"kind": "prefill"}, {"kind": "decode"}, {"kind": "router"}, {"kind": "host", "name": NODES[1]}],
        **{"rate": 6, "words": 24, "tokens": 6, "before": 10, "after": 5, "window": 3, "request_timeout": 30},
    },
}
STARTS = {  # commands of a node whose output has a line "NAME PROCESS" for each running service
    "systemd": "for unit in $(systemctl list-units --plain --no-legend --state=running 'inference-*.service' | cut -d' ' -f1); do"
    " echo $unit $(systemctl show --property=MainPID --value $unit); done",
    "docker": "docker ps --quiet | xargs docker inspect --format '{{.Name}} {{.Id}}/{{.State.StartedAt}}'",
}


class Change(t.NamedTuple):
    """``restarted``: names of services; ``reason``: in the output of one that must fail; all engines have ``sequences`` and
    ``release`` afterwards. ``loaded``: whether clients send requests meanwhile; a drill has a load of its own.
    """

    name: str
    playbook: str
    restarted: t.Collection[str]
    variables: dict[str, t.Any]
    reason: str = ""
    sequences: int = 0
    release: str = OLDER
    loaded: bool = True


class Layout(t.NamedTuple):
    """``port``: where clients ask; ``fault``: what engines with BAD do (a fact of their simulator). The last pool gets more instances and less.

    ``relisted``: names of routers that restart whenever an engine leaves or joins.
    """

    pools: tuple[str, ...]
    port: int
    fault: str
    relisted: frozenset[str] = frozenset()

    @property
    def engines(self) -> set[str]:
        """The names of all engines, two of each pool."""
        return {f"{name}-{number}" for name in self.pools for number in (0, 1)}

    def planned(self, instances: int = 2, sequences: int = 0, **more: t.Any) -> dict[str, t.Any]:
        """Variables of a service with this many instances of the last pool, all with this max-num-seqs."""
        numbers = {**dict.fromkeys(self.pools, 2), self.pools[-1]: instances}
        arguments = {"max-model-len": 4096, "enable-prefix-caching": False}
        return {
            "inference_pools": {
                name: {"instances": number, "tensor_parallel_size": 2} for name, number in numbers.items()
            },
            "inference_args": {**arguments, **({"max-num-seqs": sequences} if sequences else {})},
            **more,
        }

    def settings(self, on_second: t.Collection[str]) -> list[Change]:
        """Changes that one router allows, in their order. ``on_second``: the engines of the second node."""
        last, third = (f"{self.pools[-1]}-{number}" for number in (1, 2))
        every, also = self.engines | self.relisted, self.relisted
        restart = {"inference_services": [last]}, {"inference_services": sorted(on_second)}
        return [
            Change("scale up", "deploy", {third, *also}, self.planned(3)),
            Change("argument", "deploy", self.engines | {third, *also}, self.planned(3, 8), sequences=8),
            Change("scale down", "deploy", {third, *also}, self.planned(2, 8), sequences=8),
            Change("restart", "restart", {last, *also}, self.planned(2, 8, **restart[0]), sequences=8),
            Change("host", "restart", {*on_second, *also}, self.planned(2, 8, **restart[1]), sequences=8),
            Change("upgrade", "upgrade", every, self.planned(2, 16), sequences=16),
            Change("bad upgrade", "upgrade", every, self.planned(2, BAD), BACK, 16),
        ]

    def releases(self, on_second: t.Collection[str], runtime: str) -> list[Change]:
        """Another release, blue/green: one whose engines do not work, one that is good, and back. Routers are of a release, too."""
        newer, every = OF_NEWER[runtime], self.engines | {"router", "router-1"}
        return [
            Change("bad release", "upgrade", {*on_second, "router-1"}, self.planned(2, BAD, **newer), BACK),
            Change("newer", "upgrade", every, self.planned(2, **newer), release=NEWER),
            Change("older", "upgrade", every, self.planned()),
            Change("deaths", "drill", {*on_second, "router-1"}, self.planned(**DRILL), loaded=False),
        ]


LAYOUTS = {  # by the beginning of the scenario's name
    "changes": Layout(("prefill", "decode"), 8000, "garbled_with"),
    "colocated": Layout(("colocated",), 8000, "crashes_with"),
    "dp": Layout(("colocated",), 8001, "crashes_with", frozenset(["router", "router-1"])),
    "halves": Layout(("prefill", "decode"), 8001, "garbled_with"),
    "layerwise": Layout(("prefill", "decode"), 8001, "garbled_with", frozenset(["router", "router-1"])),
}


def option(line: str, name: str) -> str:
    """The value of an option in a command line, or ""."""
    return (re.findall(rf"--{name} (\S+)", line) or [""])[0]


def version(line: str) -> str:
    """The version of vLLM that the engine with this command line reports."""
    with urllib.request.urlopen(f"http://{option(line, 'host')}:{option(line, 'port')}/version", timeout=10) as reply:
        return str(json.load(reply)["version"])


class Service:
    """The service on the nodes of a scenario."""

    def __init__(self, scenario: str, runtime: str, host: str, folder: str) -> None:
        self.scenario, self.runtime, self.folder = scenario, runtime, pathlib.Path(folder)
        self.kind = scenario.split("_", maxsplit=1)[0]
        self.layout = LAYOUTS[self.kind]
        self.url = f"http://{host}:{self.layout.port}"
        self.model = Model(self.folder / "model")

    def changes(self, on_second: t.Collection[str]) -> list[Change]:
        """All changes of the scenario, in their order."""
        if self.kind == "halves":
            return self.layout.releases(on_second, self.runtime)
        return self.layout.settings(on_second)

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

    def engines(self) -> set[tuple[int, str]]:
        """(max-num-seqs with which an engine runs, or 0; the version of vLLM that it reports) of all engines."""
        lines = [
            line
            for node in NODES
            for line in self.run(node, "ps -eo args").splitlines()
            if " serve /models/tiny " in line
        ]
        return {(int(option(line, "max-num-seqs") or 0), version(line)) for line in lines}

    def plant(self) -> None:
        """Let engines with BAD sequences have the fault."""
        fault = json.dumps({self.layout.fault: f"--max-num-seqs {BAD}"})[1:-1]
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
            return f"{change.playbook} ended with {done.returncode}:\n{done.stdout[-20000:]}"
        return ""

    def expected(self, prompt: str, tokens: int) -> str:
        """The text of an engine alone."""
        return "".join(self.model.generate(prompt, tokens, [], [], ignore_end=True)[0])

    def played(self, change: Change) -> list[str]:
        """Run a change, print its row -> what clients saw, and what is wrong with its result."""
        began = time.monotonic()
        if not change.loaded:
            found = self.drilled(change)
            print(f"{change.name:11}{time.monotonic() - began:.0f} s", flush=True)
            return found
        with load.Load(self.url, "tiny", clients=2) as requests:
            found = [self.play(change)]
        report = requests.report(self.expected)
        row = f"{report['answered']:5} answered, {report['failures']} failed, {report['empty']} empty, {report['wrong']} wrong"
        row += f", {report['joined']} with two events as one" if report["joined"] else ""
        times = f"gap {report['gap']} s, p99 {report['first_p99']:.1f} s, {time.monotonic() - began:.0f} s"
        print(f"{change.name:11}{row}, {times}", flush=True)
        if any(report[name] for name in ("failures", "empty", "wrong")) or report["answered"] < 10:
            found.append(f"requests were lost, or too few were sent: {report}")
        return found

    def drilled(self, change: Change) -> list[str]:
        """Run a drill -> what its report finds but empty answers.

        When an engine dies, upstream's proxy ends the streams that have no text yet as if they were complete, which a drill rightly reports.
        """
        report = self.folder / "drill.json"
        outcome = self.play(change._replace(variables={**change.variables, "inference_drill_json": str(report)}))
        if not report.exists():
            return [outcome or "the drill has written no report"]
        faults = json.loads(report.read_text(encoding="utf-8"))["faults"]
        return [str(found) for fault in faults for found in fault["findings"] if found["id"] != "DRILL-EMPTY"]

    def problems(self, change: Change) -> list[str]:
        """Run a change -> what went wrong."""
        time.sleep(IDLE)
        before = self.starts()
        found = self.played(change)
        after = self.starts()
        restarted = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        if restarted != set(change.restarted):
            found.append(f"{sorted(restarted)} restarted instead of {sorted(change.restarted)}")
        runs, wanted = self.engines(), (change.sequences, release.load(change.release).vllm)
        if runs != {wanted}:
            found.append(f"engines run with {runs} (max-num-seqs, vLLM) instead of {wanted}")
        return [f"{change.name}: {problem}" for problem in found if problem]


def main(arguments: list[str]) -> int:
    """Run all changes up to the first that fails."""
    service, runtime = Service(*arguments), arguments[1]
    service.plant()
    on_second = {
        name for name, start in service.starts().items() if start.startswith(NODES[1])
    } & service.layout.engines
    print(f"{runtime}: {', '.join(sorted(on_second))} on {NODES[1]}", flush=True)
    for change in service.changes(on_second):
        found = service.problems(change)
        if found:
            print("\n".join(found))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
