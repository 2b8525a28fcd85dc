# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""balancer_servers against a small HAProxy: what is read back decides. The real HAProxy: tests/integration/test_balancer.py."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.balancer import admin, servers
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
        self.calls, self.deaf, self.path, self.finish, self.backend = [], False, path, 0, "routers"
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
        if command == f"show servers state {self.backend}":
            rows = [
                f"3 {self.backend} {number} {name} 192.0.2.1 {server[0]} {server[1]} {server[2]} 100"
                for number, (name, server) in enumerate(self.servers.items(), 1)
            ]
            return TITLES + "\n".join(rows) + "\n\n"
        if command == "show stat":
            rows = [f"{self.backend},{name},0,{server[3]}," for name, server in self.servers.items()]
            for server in self.servers.values():
                server[3] = max(0, server[3] - self.finish)
            return "# pxname,svname,qcur,scur,\n" + "\n".join(rows) + "\nclients,FRONTEND,,7,\n\n"
        if words[0] == "show":
            return "Can't find backend.\n\n"
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
        and "raise inference_drain_timeout. If they do not end because an engine hangs" in found["warnings"][0]
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
    assert "weight is 257, and HAProxy takes 0 to 256" in run(weight=257)["msg"]


def test_a_router_that_returns_with_a_small_weight_never_has_its_old_one(run, haproxy):
    haproxy.servers["router-1"][1] = DRAIN
    assert run(weight=5)["after"]["router-1"] == {"state": "ready", "up": True, "weight": 5, "requests": 0}
    assert haproxy.calls == ["set server routers/router-1 weight 5", "set server routers/router-1 state ready"]


@pytest.mark.parametrize(("weight", "refused"), [(-1, True), (0, False), (256, False), (257, True)])
@pytest.mark.parametrize("check", [True, False])
def test_a_weight_that_haproxy_takes(run, haproxy, weight, refused, check):
    found = run(weight=weight, check=check)
    assert found["failed"] is refused and (refused or found["after"]["router-1"]["weight"] == weight)
    assert haproxy.calls == ([] if refused or check else [f"set server routers/router-1 weight {weight}"])


@pytest.mark.parametrize("given", [True, False])
def test_a_balancer_that_restarts_finds_what_was_set_if_a_file_is_named(run, haproxy, tmp_path, given):
    place = tmp_path / "servers.state"
    haproxy.servers["router"][0] = 0
    options = {"state_file": str(place)} if given else {}
    assert run(state="drain", weight=7, allow_last=True, check=True, **options)["changed"] and not place.exists()
    assert not run(state="drain", weight=7, allow_last=True, **options)["failed"]
    assert place.exists() is given
    if given:
        rows = [f"3 routers {number} {name}" for number, name in enumerate(("router", "router-1"), 1)]
        assert place.read_text() == (
            TITLES + f"{rows[0]} 192.0.2.1 2 {READY} 100 100\n{rows[1]} 192.0.2.1 2 {DRAIN} 7 100\n"
        ), "every router is healthy until a check fails"
        assert place.stat().st_mode & 0o777 == 0o644, "the balancer's user reads it"


def test_a_file_that_cannot_be_written_is_a_failure_with_its_name(run, tmp_path):
    found = run(state="drain", state_file=str(tmp_path / "none" / "servers.state"))
    assert found["failed"] and f"{tmp_path}/none/servers.state cannot be written: No such file" in found["msg"]


def test_the_servers_are_those_of_the_named_backend(run, haproxy):
    haproxy.backend = "others"
    found = run(backend="others", weight=3)
    assert found["after"]["router-1"]["weight"] == 3 and haproxy.calls == ["set server others/router-1 weight 3"]
    assert "cannot be read" in run()["msg"], "without a name it is the backend of routers"


def test_several_routers_are_drained_and_each_that_is_busy_is_named(run, haproxy):
    for number, name in enumerate(("router-2", "router-1"), 3):
        haproxy.servers[name] = [2, READY, 100, number]
    found = run(state="drain", servers=["router-2", "router-1"], timeout=0)
    assert found["busy"] == {"router-2": 3, "router-1": 4} and found["changed"]
    assert [text.partition(" requests after 0 s")[0] for text in found["warnings"]] == [
        "router-1 has 4",
        "router-2 has 3",
    ]
    assert found["diff"] == {
        "before": "router ready weight 100\nrouter-1 ready weight 100\nrouter-2 ready weight 100\n",
        "after": "router ready weight 100\nrouter-1 drain weight 100\nrouter-2 drain weight 100\n",
    }


def test_what_a_balancer_says_is_shown_without_its_control_characters(run, haproxy):
    haproxy.answer = lambda command: "\x1b[2J\n"
    assert "\x1b" not in run()["msg"]


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


@pytest.mark.parametrize(
    ("op_state", "admin_state", "state", "up"),
    [
        (2, 0x00, "ready", True),
        (3, 0x00, "ready", True),
        (1, 0x00, "ready", False),
        (0, 0x00, "ready", False),
        (2, 0x08, "drain", True),
        (2, 0x10, "drain", True),
        (2, 0x01, "maint", True),
        (2, 0x20, "maint", True),
        (2, 0x09, "maint", True),
        (2, 0x40, "ready", True),
    ],
)
def test_states_of_a_server(op_state, admin_state, state, up):
    row = {"srv_name": "r\n", "srv_admin_state": str(admin_state), "srv_op_state": str(op_state), "srv_uweight": "7"}
    assert admin._server(row, 3) == Server("r\\n", state, up, 7, 3)


def test_what_haproxy_starts_with_has_every_router_healthy():
    text = TITLES + "3 routers 1 router 192.0.2.1 0 8 50 100\n3 routers 2 router-1 192.0.2.1 2 0 100 100\n\n"
    assert (
        admin.kept(text)
        == TITLES + "3 routers 1 router 192.0.2.1 2 8 50 100\n3 routers 2 router-1 192.0.2.1 2 0 100 100\n"
    )


@pytest.mark.parametrize("text", ["", "1\n", "1\n# srv_name\n1\n", TITLES + "3 routers 1\n"])
def test_a_list_that_is_none_is_an_error(text):
    with pytest.raises(BalancerProblem, match="list of servers cannot be read"):
        admin._table(text)


class Answers(Balancer):
    """HAProxy's answers by the first words of a command."""

    def __init__(self, **answers):
        super().__init__("x.sock", "routers")
        self.answers = answers

    def ask(self, command):
        return self.answers["_".join(command.split()[:2])]


STAT = "# pxname,svname,scur,stot,hrsp_5xx,econ,eresp,\nrouters,a,1,10,1,2,4,\nother,b,1,1,1,1,1,\nrouters,BACKEND,9,9,9,9,9,\n"


def test_counters_are_those_of_the_backend_s_servers():
    assert Answers(show_stat=STAT).counters() == {"a": admin.Counters(10, 7)}
    for text in ("", STAT.replace(",10,", ",,"), STAT.replace("econ", "x")):
        if text:
            with pytest.raises(BalancerProblem, match="counters of the balancer's servers cannot be read"):
                Answers(show_stat=text).counters()
        else:
            assert Answers(show_stat=text).counters() == {}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Name: HAProxy\nUptime_sec: 0\n", 0),
        ("Uptime_sec: 12\n", 12),
        ("Uptime: 1d\n", None),
        ("Uptime_sec: x\n", None),
        ("Uptime_sec: 1\nUptime_sec: 2\n", None),
    ],
)
def test_since_when_it_runs(text, seconds):
    if seconds is None:
        with pytest.raises(BalancerProblem, match="since when"):
            Answers(show_info=text).uptime()
    else:
        assert Answers(show_info=text).uptime() == seconds


class Played:
    """Servers that change as they are told; ``finish`` requests end in each reading."""

    path = "x.sock"

    def __init__(self, finish=1, **found):
        self.found, self.finish, self.set = {name: Server(name, *row) for name, row in found.items()}, finish, []

    def servers(self):
        self.found = {
            name: one._replace(requests=max(0, one.requests - self.finish)) for name, one in self.found.items()
        }
        return dict(self.found)

    def set_state(self, name, state):
        self.set.append((name, state))
        self.found[name] = self.found[name]._replace(state=state)

    def set_weight(self, name, weight):
        self.set.append((name, weight))
        self.found[name] = self.found[name]._replace(weight=weight)


def brought(played, state, timeout=300.0, **more):
    now = [0.0]

    def sleep(seconds):
        now[0] += seconds

    return servers.bring(played, ["a"], state, timeout=timeout, clock=lambda: now[0], sleep=sleep, **more)


def test_a_drain_waits_for_the_last_request_or_for_the_end():
    other = ("ready", True, 100, 9)
    found = brought(Played(a=("ready", True, 100, 5), b=other), "drain")
    assert (found.seconds, found.busy, found.before["a"].state, found.after["a"].requests) == (1.5, {}, "ready", 0)
    found = brought(Played(finish=0, a=("ready", True, 100, 5), b=other), "drain", timeout=2.0)
    assert (found.seconds, found.busy) == (2.0, {"a": 5})


@pytest.mark.parametrize(
    ("other", "allow_last", "drained"),
    [
        (("ready", True, 100, 0), False, True),
        (("ready", False, 100, 0), False, False),
        (("drain", True, 100, 0), False, False),
        (("ready", True, 0, 0), False, False),
        (("ready", True, 0, 0), True, True),
    ],
)
def test_another_router_must_get_requests(other, allow_last, drained):
    played = Played(a=("ready", True, 100, 0), b=other)
    if drained:
        brought(played, "drain", allow_last=allow_last)
        assert played.set == [("a", "drain")]
    else:
        with pytest.raises(BalancerProblem, match="no other router than a gets requests"):
            brought(played, "drain", allow_last=allow_last)
        assert played.set == []


def test_only_what_differs_is_set():
    assert brought(Played(a=("ready", True, 100, 0)), "ready", weight=100).seconds == 0.0
    for weight, changed in ((None, []), (100, []), (0, [("a", 0)]), (5, [("a", 5)])):
        played = Played(a=("ready", True, 100, 0))
        brought(played, "ready", weight=weight)
        assert played.set == changed
    played = Played(a=("drain", True, 100, 0))
    found = brought(played, "ready", weight=5, check=True)
    assert played.set == [] and found.after["a"] == Server("a", "ready", True, 5, 0) and found.before["a"].weight == 100


def test_servers_are_shown_with_their_fields():
    one = {"a": Server("a", "drain", False, 5, 2)}
    assert servers.shown(one) == {"a": {"state": "drain", "up": False, "weight": 5, "requests": 2}}
    assert servers.lines(one) == "a drain weight 5\n"
