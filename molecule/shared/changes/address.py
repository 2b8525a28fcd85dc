# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kill the node that has the virtual address, let it return, and change the service, while clients ask that address; print what they saw.

    address.py SCENARIO ADDRESS FOLDER      FOLDER: that of the scenario, with its inventory

It fails if clients get no answer for longer than MOST after a death, if not exactly one node has the address afterwards, or if a request of the
change is lost.
"""

from __future__ import annotations

import http.client
import itertools
import json
import pathlib
import subprocess
import sys
import threading
import time
import typing as t

import changes
from ansible_collections.ascend.inference.tests.simulator import load

BALANCERS = {"node1": "inference-balancer.service", "node2": "inference-balancer-1.service"}
NODES = tuple(BALANCERS)  # that may have the address
PORT = 8001
MOST = 5.0  # seconds without an answer, when the host of the address dies
LATE = 10.0  # when only a program there dies, and packets still reach a host that does not answer them
ARGUMENTS = {"inference_args": {"max-model-len": 4096, "enable-prefix-caching": False, "max-num-seqs": 8}}
QUESTION = json.dumps({"model": "tiny", "prompt": "one two three", "max_tokens": 1})
BACK = 300  # seconds until a node that returned serves
UNIT = "ascend-inference-address-inference.service"


class Clients:
    """Four threads ask the entry while a block runs. ``gap``: the longest time between two answers in seconds."""

    def __init__(self, address: str) -> None:
        self.address, self.answers, self.ended = address, [], threading.Event()
        self.threads = [threading.Thread(target=self._ask, daemon=True) for _number in range(4)]

    def _ask(self) -> None:
        while not self.ended.wait(0.5):
            connection = http.client.HTTPConnection(self.address, PORT, timeout=1.5)
            try:
                connection.request("POST", "/v1/completions", QUESTION, {"Content-Type": "application/json"})
                if connection.getresponse().status == 200:
                    self.answers.append(time.monotonic())
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()

    def __enter__(self) -> Clients:
        for thread in self.threads:
            thread.start()
            time.sleep(0.2)
        return self

    def __exit__(self, *unused: t.Any) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()

    @property
    def gap(self) -> float:
        """The longest time without an answer."""
        return longest(self.answers)


def longest(answers: list[float]) -> float:
    """The longest time between two answers, or since the last one, in seconds."""
    ends = [*sorted(answers), time.monotonic()]
    return round(max(later - earlier for earlier, later in itertools.pairwise(ends)), 1) if answers else 999.0


class Nodes:
    """The nodes of a scenario."""

    def __init__(self, scenario: str, address: str, folder: str) -> None:
        self.scenario, self.address, self.folder = scenario, address, pathlib.Path(folder)

    def docker(self, *argv: str, check: bool = True) -> str:
        """The output of a command of Docker."""
        return subprocess.run(["docker", *argv], check=check, stdout=subprocess.PIPE, text=True).stdout

    def run(self, node: str, command: str, check: bool = True) -> str:
        """The output of a command on a node."""
        return self.docker("exec", f"{self.scenario}-{node}", "bash", "-c", command, check=check)

    def holders(self) -> list[str]:
        """The nodes that have the address."""
        alive = self.docker("ps", "--format", "{{.Names}}").split()
        words = f" {self.address}/"
        return [
            node
            for node in NODES
            if f"{self.scenario}-{node}" in alive and words in self.run(node, "ip -brief address")
        ]

    def play(self, playbook: str, name: str, **variables: t.Any) -> str:
        """Run a playbook; its output. Ends the program if it fails."""
        program = pathlib.Path(sys.executable).with_name("ansible-playbook")
        argv = [str(program), f"--inventory={self.folder / 'inventory'}", "-e", json.dumps(variables)]
        done = subprocess.run(
            [*argv, f"ascend.inference.{playbook}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        (self.folder / f"{name}.log").write_text(done.stdout, encoding="utf-8")
        if done.returncode:
            sys.exit(f"{name}: {playbook} ended with {done.returncode}:\n{done.stdout[-20000:]}")
        return done.stdout

    def until(self, what: str, is_so: t.Callable[[], bool], seconds: float) -> None:
        """Wait until something is so; ends the program if it is not in time."""
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                sys.exit(f"{what}: not after {seconds:.0f} s; {self.holders()} have the address")
            time.sleep(0.5)

    def one_holder(self, what: str) -> str:
        """The one node that has the address, now and some seconds later."""
        self.until(f"{what}: one node has the address", lambda: len(self.holders()) == 1, 20)
        time.sleep(5)
        if len(self.holders()) != 1:
            sys.exit(f"{what}: {self.holders()} have the address")
        return self.holders()[0]


def short(name: str, gap: float, most: float = MOST) -> None:
    """Print how long clients got no answer; ends the program if that was too long."""
    print(f"{name}: {gap} s without an answer", flush=True)
    if gap > most:
        sys.exit(f"{name}: {gap} s without an answer, more than {most}")


def host_dies(nodes: Nodes) -> None:
    """The host dies, and returns without the address."""
    first = nodes.one_holder("before")
    other = next(node for node in NODES if node != first)
    with Clients(nodes.address) as clients:
        time.sleep(5)
        nodes.docker("kill", "--signal=KILL", f"{nodes.scenario}-{first}")
        nodes.until("the other node has the address", lambda: nodes.holders() == [other], 10)
        time.sleep(5)
    short(f"{first} dies", clients.gap)
    with Clients(nodes.address) as clients:
        nodes.docker("start", f"{nodes.scenario}-{first}")
        active = f"systemctl is-active {BALANCERS[first]} 'inference-router*.service' {UNIT}"
        nodes.until(
            f"{first} serves again", lambda: nodes.run(first, active, check=False).split() == ["active"] * 3, BACK
        )
        time.sleep(10)
    short(f"{first} returns", clients.gap)
    if nodes.one_holder("after") != other:
        sys.exit("the address moved although its host served")


def program_dies(nodes: Nodes) -> None:
    """keepalived is killed on the host that has the address: it starts again, and one of both has the address."""
    first = nodes.one_holder("before")
    with Clients(nodes.address) as clients:
        time.sleep(3)
        nodes.run(first, f"systemctl kill --signal=KILL {UNIT}")
        time.sleep(10)
    nodes.one_holder("after")
    short(f"keepalived on {first} dies", clients.gap, LATE)


def balancer_stops(nodes: Nodes) -> None:
    """The balancer of the host that has the address is stopped: the address moves."""
    first = nodes.one_holder("before")
    with Clients(nodes.address) as clients:
        time.sleep(3)
        nodes.run(first, f"systemctl stop {BALANCERS[first]}")
        nodes.until("the address moves", lambda: nodes.holders() not in ([], [first]), 20)
        time.sleep(5)
        nodes.run(first, f"systemctl start {BALANCERS[first]}")
    short(f"balancer on {first} stops", clients.gap, LATE)
    if nodes.one_holder("after") == first:
        sys.exit("the address stayed at a host without a balancer")


def changes_under_load(nodes: Nodes, name: str, playbook: str, **variables: t.Any) -> None:
    """A change under load: no request is lost."""
    time.sleep(12)  # the proxy forgets removed engines at a check without a request under way
    with load.Load(f"http://{nodes.address}:{PORT}", "tiny", clients=2) as requests:
        nodes.play(playbook, name, **variables)
    bad = [request.problem for request in requests.requests if request.problem]
    print(f"{name}: {len(requests.requests)} requests, {len(bad)} lost", flush=True)
    if bad or len(requests.requests) < 10:
        sys.exit(f"{name}: {len(requests.requests)} requests, lost: {sorted(set(bad))}")
    nodes.one_holder(f"after {name}")


def argument_changes(nodes: Nodes) -> None:
    """Another argument: engines change one after the other."""
    changes_under_load(nodes, "argument", "deploy", **ARGUMENTS)
    nodes.play("verify", "verify", **ARGUMENTS)


def release_changes(nodes: Nodes) -> None:
    """Another release, blue/green: requests move at the balancer that has the address, and the other one follows."""
    changes_under_load(nodes, "release", "upgrade", **ARGUMENTS, **changes.OF_NEWER["systemd"])


def main(arguments: list[str]) -> int:
    """Run all parts up to the first that fails."""
    nodes = Nodes(*arguments)
    nodes.play("status", "status")
    host_dies(nodes)
    nodes.play("status", "status-after")
    program_dies(nodes)
    balancer_stops(nodes)
    argument_changes(nodes)
    release_changes(nodes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
