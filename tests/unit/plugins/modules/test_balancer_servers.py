# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""balancer_servers against a small HAProxy: what is read back decides. The real HAProxy: tests/integration/test_balancer.py."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.balancer import servers
from ansible_collections.ascend.inference.plugins.module_utils.balancer.admin import Balancer, BalancerProblem, Server

TITLES = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight\n"
READY, DRAIN = 0, 8


class HAProxy:
    """HAProxy's socket in a thread; ``deaf``: it accepts every change and carries none out."""

    def __init__(self, path):
        self.servers = {
            "router": [2, READY, 100, 0],
            "router-1": [2, READY, 100, 0],
        }  # op state, admin state, weight, requests
        self.calls, self.deaf, self.path, self.finish = [], False, path, 0
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.server.bind(path)
        self.server.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            stream, _address = self.server.accept()
            with stream:
                command = b""
                while not command.endswith(b"\n"):
                    command += stream.recv(4096)
                try:
                    for part in self.parts(self.answer(command.decode().strip())):
                        stream.sendall(part.encode())
                except OSError:  # the other end has gone
                    pass

    def parts(self, answer):
        """A real HAProxy sends an answer at once."""
        return [answer]

    def answer(self, command):
        words = command.split()
        if command == "show servers state routers":
            rows = [
                f"3 routers {number} {name} 192.0.2.1 {server[0]} {server[1]} {server[2]} 100"
                for number, (name, server) in enumerate(self.servers.items(), 1)
            ]
            return TITLES + "\n".join(rows) + "\n\n"
        if command == "show stat":
            rows = [f"routers,{name},0,{server[3]}," for name, server in self.servers.items()]
            for server in self.servers.values():
                server[3] = max(0, server[3] - self.finish)
            return "# pxname,svname,qcur,scur,\n" + "\n".join(rows) + "\nclients,FRONTEND,,7,\n\n"
        self.calls.append(command)
        if self.deaf:
            return "\n"
        server = self.servers[words[2].partition("/")[2]]
        if words[3] == "weight":
            server[2] = int(words[4])
        else:
            server[1] = {"drain": DRAIN, "ready": READY}[words[4]]
        return "\n"


@pytest.fixture
def haproxy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    return HAProxy("balancer.sock")


@pytest.fixture
def run(haproxy, run_module):
    def call(check=False, **arguments):
        given = {"socket": haproxy.path, "servers": ["router-1"], "timeout": 5, **arguments}
        return run_module("balancer_servers", check=check, **given)

    return call


def test_a_router_is_drained_once_and_returned(run, haproxy):
    haproxy.servers["router-1"][3], haproxy.finish = 2, 1
    found = run(state="drain")
    assert (found["failed"], found["changed"], found["busy"], found["warnings"]) == (False, True, {}, [])
    assert found["after"]["router-1"] == {"state": "drain", "up": True, "weight": 100, "requests": 0}
    assert found["before"]["router-1"]["requests"] == 2 and found["seconds"] > 0
    assert found["diff"]["before"].count("ready") == 2 and "router-1 drain" in found["diff"]["after"]
    assert not run(state="drain")["changed"]
    assert run()["changed"] and not run()["changed"]
    assert haproxy.calls == ["set server routers/router-1 state drain", "set server routers/router-1 state ready"]


def test_check_mode_changes_nothing(run, haproxy):
    found = run(state="drain", weight=5, check=True)
    assert (
        found["changed"]
        and found["after"]["router-1"]["state"] == "drain"
        and found["after"]["router-1"]["weight"] == 5
    )
    assert haproxy.calls == []


def test_requests_that_do_not_end_are_a_warning(run, haproxy):
    haproxy.servers["router-1"][3] = 3
    found = run(state="drain", timeout=1)
    assert (found["failed"], found["busy"]) == (False, {"router-1": 3})
    assert (
        "router-1 has 3 requests after 1 s" in found["warnings"][0]
        and "inference_drain_timeout" in found["warnings"][0]
    )


@pytest.mark.parametrize(
    "index, value", [(0, 0), (1, DRAIN), (1, 1), (2, 0)], ids=["down", "drained", "maintenance", "weight"]
)
def test_the_last_router_is_not_drained(run, haproxy, index, value):
    haproxy.servers["router"][index] = value
    found = run(state="drain")
    assert found["failed"] and "no other router than router-1" in found["msg"] and haproxy.calls == []
    assert not run(state="drain", allow_last=True)["failed"]


def test_an_accepted_change_proves_nothing(run, haproxy):
    haproxy.deaf = True
    found = run(state="drain")
    assert found["failed"] and "router-1 is not drain" in found["msg"]


def test_a_router_that_stays_down_gets_no_requests(run, haproxy):
    haproxy.servers["router-1"][0] = 0
    found = run(timeout=1)
    assert found["failed"] and "router-1 does not pass the balancer's health check within 1 s" in found["msg"]


def test_weights(run, haproxy):
    assert run(weight=5)["after"]["router-1"]["weight"] == 5
    assert haproxy.calls == ["set server routers/router-1 weight 5"]
    assert not run(weight=5)["changed"] and not run()["changed"]
    assert "HAProxy takes 0 to 256" in run(weight=257)["msg"]


def test_unknown_routers_and_a_dead_balancer(run, haproxy):
    assert "has no router-9; it has router, router-1" in run(servers=["router-9"])["msg"]
    assert "does not answer on ./nothing.sock" in run(socket="./nothing.sock")["msg"]
    haproxy.answer = lambda command: "Unknown command.\n"
    assert "list of servers cannot be read: 'Unknown command.'" in run()["msg"]


def test_a_refused_change_is_a_failure(run, haproxy):
    answer = haproxy.answer
    haproxy.answer = lambda command: "No such server.\n" if command.startswith("set") else answer(command)
    assert "refused 'set server routers/router-1 state drain': No such server." in run(state="drain")["msg"]


@pytest.mark.parametrize(
    "command, old, new",
    [
        ("show stat", "routers,router-1,0,3,", ""),
        ("show stat", "routers,router-1,0,3,", "routers,router-1,0,,"),
        ("show stat", "scur", "stot"),
        ("show stat", "routers,router-1,0,3,", "routers,router-1,0,many,"),
        ("show stat", "routers,router-1,0,3,", "routers,router-1,0,3\0,"),
        ("show servers", "192.0.2.1 2 0", "192.0.2.1 up 0"),
    ],
    ids=["no row", "no value", "no column", "no number", "zero byte", "no state"],
)
def test_requests_that_are_not_known_are_not_none(run, haproxy, command, old, new):
    answer = haproxy.answer
    haproxy.answer = lambda given: answer(given).replace(old, new) if given.startswith(command) else answer(given)
    haproxy.servers["router-1"][3] = 3
    found = run(state="drain", timeout=1)
    assert found["failed"] and "cannot be read" in found["msg"] and haproxy.calls == []


def test_a_server_that_disappears_is_named(run, haproxy):
    answer = haproxy.answer
    haproxy.answer = lambda given: (
        (haproxy.servers.pop("router-1"), "\n")[1] if given.startswith("set") else answer(given)
    )
    found = run(state="drain")
    assert found["failed"] and "router-1 is not drain" in found["msg"]


def test_an_answer_without_an_end_is_none(haproxy):
    def endless(answer):
        while True:
            yield "x"
            time.sleep(0.1)

    haproxy.parts = endless
    begin = time.monotonic()
    with pytest.raises(BalancerProblem, match="does not answer on"):
        Balancer(haproxy.path, "routers", timeout=0.5).ask("show stat")
    assert time.monotonic() - begin < 5


def test_a_weight_of_none_is_predicted_as_it_is():
    before = {"a": Server("a", "ready", True, 5, 0), "b": Server("b", "ready", True, 5, 0)}
    after = servers._predicted(before, ["b"], "drain", ["a"], 0)
    assert {name: (one.state, one.weight) for name, one in after.items()} == {"a": ("ready", 0), "b": ("drain", 5)}
