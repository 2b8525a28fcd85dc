# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""port_probe: listeners on free ports only, that end; connections told apart by what happens to them."""

from __future__ import annotations

import os
import socket
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host import facts, port_listener, port_probe


@pytest.fixture
def listening(run_module, tmp_path):
    """``listening(ports, **options)`` starts a listener on 127.0.0.1; it is stopped after the test."""

    def start(ports, **options):
        given = {"name": "n1", "address": "127.0.0.1", "ports": ports, **options}
        return run_module("port_probe", state="listen", directory=str(tmp_path), **given)

    yield start
    run_module("port_probe", state="stopped", directory=str(tmp_path), name="n1")


@pytest.fixture
def ports():
    """Two free ports."""
    sockets = [socket.socket() for _number in range(2)]
    for item in sockets:
        item.bind(("127.0.0.1", 0))
    numbers = [item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    return numbers


def states(run_module, numbers, name="n1", address="127.0.0.1", **options):
    peers = [{"name": name, "address": address, "ports": numbers}]
    return [answer["state"] for answer in run_module("port_probe", peers=peers, **options)["answers"]]


def marks(tmp_path):
    return [item["pid"] for item in facts.own_processes() if item["service"] == f"{tmp_path}/services/port-probe-n1"]


def test_free_ports_are_open_while_it_listens_and_refused_afterwards(run_module, listening, ports, tmp_path):
    assert states(run_module, ports) == ["refused", "refused"]
    found = listening(ports)
    assert (sorted(found["listening"]), found["failed"], found["changed"]) == (sorted(ports), {}, False)
    for _attempt in range(3):
        assert states(run_module, ports) == ["open", "open"]
    (pid,) = marks(tmp_path)
    assert run_module("port_probe", state="stopped", directory=str(tmp_path), name="n1")["stopped"] == [pid]
    assert states(run_module, ports) == ["refused", "refused"]
    for port in ports:  # a service can bind the port at once, without SO_REUSEADDR
        with socket.socket() as service:
            service.bind(("127.0.0.1", port))


def test_a_port_in_use_is_left_alone_and_connected_to(run_module, listening, ports):
    with socket.socket() as service:
        service.bind(("127.0.0.1", ports[0]))
        service.listen(5)
        found = listening(ports)
        assert found["listening"] == [ports[1]] and "in use" in found["failed"][str(ports[0])]
        assert states(run_module, ports) == ["open", "open"]


def test_the_listener_of_another_host_is_no_success(run_module, listening, ports):
    listening(ports)
    assert states(run_module, ports, name="n9") == ["foreign", "foreign"]
    assert states(run_module, ports) == ["open", "open"]


def test_it_ends_by_itself_and_a_second_one_replaces_the_first(listening, ports, tmp_path):
    listening(ports)
    listening(ports, lifetime=2)
    assert len(marks(tmp_path)) == 1
    end = time.monotonic() + 20
    while marks(tmp_path) and time.monotonic() < end:
        time.sleep(0.1)
    assert marks(tmp_path) == []


def test_it_ends_when_all_its_sources_are_done(run_module, listening, ports, tmp_path):
    listening(ports, sources=["n1", "n2"])
    peers = [{"name": "n1", "address": "127.0.0.1", "ports": ports}]
    assert run_module("port_probe", peers=peers)["done"] == []  # without a name
    assert run_module("port_probe", peers=peers, name="n3")["done"] == ["n1"]
    assert run_module("port_probe", peers=peers, name="n2")["done"] == ["n1"]
    assert run_module("port_probe", peers=peers, name="n2")["done"] == ["n1"]
    assert states(run_module, ports) == ["open", "open"] and len(marks(tmp_path)) == 1
    assert run_module("port_probe", peers=peers, name="n1")["done"] == ["n1"]
    end = time.monotonic() + 20
    while marks(tmp_path) and time.monotonic() < end:
        time.sleep(0.1)
    assert states(run_module, ports) == ["refused", "refused"]


def test_neither_a_service_nor_the_listener_of_another_host_is_told(run_module, listening, ports):
    listening(ports[1:], sources=["n2"])
    with socket.socket() as service:
        service.bind(("127.0.0.1", ports[0]))
        service.listen(5)
        peers = [
            {"name": "n1", "address": "127.0.0.1", "ports": ports[:1]},
            {"name": "n9", "address": "127.0.0.1", "ports": ports[1:]},
        ]
        found = run_module("port_probe", peers=peers, name="n2")
    assert [answer["listener"] for answer in found["answers"]] == [False, False] and found["done"] == []
    assert states(run_module, ports[1:]) == ["open"]


def test_dropped_packets_are_a_timeout(run_module, ports):
    with socket.socket() as full:  # a full backlog: the kernel drops further connections, as a firewall does
        full.bind(("127.0.0.1", ports[0]))
        full.listen(0)
        waiting = [socket.socket() for _number in range(4)]
        for item in waiting:
            item.setblocking(False)
            item.connect_ex(("127.0.0.1", ports[0]))
        time.sleep(0.2)
        begin = time.monotonic()
        assert states(run_module, [ports[0]], timeout=0.5) == ["timeout"]
        assert time.monotonic() - begin < 5
        for item in waiting:
            item.close()


def test_an_address_of_another_host_cannot_be_bound(listening, ports, tmp_path):
    found = listening(ports, address="192.0.2.1")  # RFC 5737: a documentation address
    assert marks(tmp_path) == [], "without a port there is nothing to listen on"
    assert found["listening"] == [] and set(found["failed"]) == set(map(str, ports))


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (OSError(113, "No route to host"), "unreachable"),
        (OSError(111, "Connection refused"), "refused"),
        (OSError(110, "Connection timed out"), "timeout"),
        (OSError(99, "Cannot assign requested address"), "failed"),
    ],
)
def test_errors_are_told_apart(monkeypatch, run_module, error, state):
    def fail(*_arguments):
        raise error

    monkeypatch.setattr(port_probe.socket, "create_connection", fail)
    assert states(run_module, [1]) == [state]


@pytest.mark.parametrize("options", [{"timeout": 0}, {"workers": -1}, {"state": "listen"}, {"state": "stopped"}])
def test_impossible_options_are_refused(run_module, options):
    assert run_module("port_probe", **options)["failed"]


@pytest.mark.parametrize(
    ("says", "replied"),
    [(b"ascend.inference check of n1\nended\n", True), (b"ended\n", True), (b"HTTP/1.1 400\r\n", False), (b"", False)],
)
def test_only_an_answer_of_the_listener_ends_its_wait(says, replied):
    """A service that got its port meanwhile closes the connection with another answer, or none."""
    with socket.socket() as service:
        service.bind(("127.0.0.1", 0))
        service.listen(1)
        place = service.getsockname()

        def serve():
            connection, _peer = service.accept()
            with connection:
                connection.recv(256)
                connection.sendall(says)

        thread = threading.Thread(target=serve)
        thread.start()
        answers = [{"name": "n1", "address": place[0], "port": place[1], "listener": True}]
        assert port_probe.finish("n2", answers, 5, 1) == (["n1"] if replied else [])
        thread.join()


@pytest.mark.parametrize(
    ("heard", "left"),
    [
        (b"done n2\n", {"n1"}),
        (b"done n2", {"n1", "n2"}),  # the rest of the name is to come
        (b"GET /n2\n", {"n1", "n2"}),
        (b"xdone n2\n", {"n1", "n2"}),
        (b"done n3\n", {"n1", "n2"}),
    ],
)
def test_a_source_is_done_when_it_says_so_in_a_whole_line(heard, left):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(heard)
        names = {"n1", "n2"}
        assert port_listener._closed(ours, names) is False and names == left
        theirs.shutdown(socket.SHUT_WR)
        assert port_listener._closed(ours, names) is True


def test_each_connection_is_described(run_module, listening, ports):
    listening(ports[:1])
    with socket.socket() as service:
        service.bind(("127.0.0.1", ports[1]))
        service.listen(5)
        peers = [
            {"name": "n1", "address": "127.0.0.1", "ports": ports},
            {"name": "n9", "address": "127.0.0.1", "ports": ports[:1]},
        ]
        own, other, foreign = run_module("port_probe", peers=peers)["answers"]
    common = {"name": "n1", "address": "127.0.0.1"}
    assert own.pop("ms") >= 0 and own == dict(common, port=ports[0], state="open", reason="", listener=True)
    assert other.pop("ms") >= 0 and other == dict(common, port=ports[1], state="open", reason="", listener=False)
    assert (foreign["state"], foreign["reason"], foreign["listener"]) == (
        "foreign",
        "n1 answers at this address",
        False,
    )
    (refused,) = run_module("port_probe", peers=[dict(peers[1], ports=ports[1:])])["answers"]
    assert (refused["state"], refused["reason"], refused["ms"]) == ("refused", "connection refused", None)


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (socket.timeout("timed out"), "timeout", "no answer in 0.5 s"),
        (OSError(110, "Connection timed out"), "timeout", "no answer in 0.5 s"),
        (OSError(113, "No route to host"), "unreachable", "no route to host"),
        (OSError(101, "Network is unreachable"), "unreachable", "network is unreachable"),
        (OSError(13, "Permission denied"), "unreachable", "permission denied"),
        (OSError(1, "Operation not permitted"), "unreachable", "operation not permitted"),
        (OSError(99, "Cannot assign requested address"), "failed", "Cannot assign requested address"),
        (OSError("no such name"), "failed", "no such name"),
    ],
)
def test_the_reason_of_a_failure_is_said(monkeypatch, run_module, error, state, reason):
    asked = []

    def fail(*given):
        asked.append(given)
        raise error

    monkeypatch.setattr(port_probe.socket, "create_connection", fail)
    peers = [{"name": "n1", "address": "192.0.2.1", "ports": [7]}]
    (answer,) = run_module("port_probe", peers=peers, timeout=0.5)["answers"]
    assert (answer["state"], answer["reason"]) == (state, reason) and asked == [(("192.0.2.1", 7), 0.5)]


def test_ports_that_are_none_are_failures_and_doubled_ones_are_one(listening, ports):
    found = listening([ports[0], ports[0], 70000])
    assert found["listening"] == [ports[0]] and list(found["failed"]) == ["70000"] and found["failed"]["70000"]


def test_an_address_of_ipv6_is_listened_on(run_module, listening, ports):
    found = listening(ports, address="::1")
    if found["failed"]:
        pytest.skip("this machine has no IPv6")
    assert states(run_module, ports, address="::1") == ["open", "open"]
    assert states(run_module, ports) == ["refused", "refused"]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"timeout": 0}, "timeout: expected a positive number"),
        ({"workers": 0}, "workers: expected a positive number"),
        ({"lifetime": 0, "workers": -1}, "lifetime, workers: expected a positive number"),
    ],
)
def test_options_that_are_not_positive_are_named(run_module, options, word):
    found = run_module("port_probe", **options)
    assert found["failed"] and found["msg"] == word


def test_no_more_connections_are_made_at_once_than_workers(monkeypatch, run_module):
    now, most, guard = [0], [0], threading.Lock()

    def connect(*_given):
        with guard:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.02)
        with guard:
            now[0] -= 1
        raise OSError(111, "refused")

    monkeypatch.setattr(port_probe.socket, "create_connection", connect)
    assert states(run_module, list(range(1, 13)), workers=3) == ["refused"] * 12 and most[0] == 3


def test_a_listener_that_cannot_be_started_is_an_error(monkeypatch, run_module, tmp_path, ports):
    def refused():
        raise OSError(11, "no more processes")

    monkeypatch.setattr(port_probe.os, "fork", refused)
    given = {"state": "listen", "directory": str(tmp_path), "name": "n1", "address": "127.0.0.1", "ports": ports}
    found = run_module("port_probe", **given)
    assert found["failed"] and "the listener cannot be started: " in found["msg"]
    with socket.socket() as service:
        service.bind(("127.0.0.1", ports[0]))  # nothing holds it


def test_only_the_listener_of_this_name_is_stopped(run_module, listening, ports, tmp_path):
    listening(ports)
    assert run_module("port_probe", state="stopped", directory=str(tmp_path), name="n2")["stopped"] == []
    assert run_module("port_probe", state="stopped", directory=f"{tmp_path}/x", name="n1")["stopped"] == []
    assert run_module("port_probe", state="stopped", directory=str(tmp_path), name="n")["stopped"] == [], "a part of it"
    assert len(marks(tmp_path)) == 1


@pytest.mark.parametrize(("address", "family"), [("10.0.0.1", socket.AF_INET), ("fd00::1", socket.AF_INET6)])
def test_a_socket_has_the_family_of_its_address_and_may_follow_another(monkeypatch, tmp_path, address, family):
    """A port whose connections ended a moment ago is free for a service, and so for the listener."""
    made = []

    class Socket:
        def __init__(self, *given):
            made.append([given])

        def setsockopt(self, *given):
            made[-1].append(given)

        def bind(self, place):
            made[-1].append(place)
            raise OSError(99, "Cannot assign requested address")

        def close(self):
            made[-1].append("closed")

    monkeypatch.setattr(port_probe.socket, "socket", Socket)
    found = port_probe.listen(address, [7, 5], "n1", f"{tmp_path}/none", 1.0)
    assert found == {"listening": [], "failed": {str(port): "Cannot assign requested address" for port in (5, 7)}}
    reuse = (socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    assert made == [[(family, socket.SOCK_STREAM), reuse, (address, port), "closed"] for port in (5, 7)]


def test_a_listener_leaves_no_process_behind_in_the_module(listening, ports, tmp_path):
    listening(ports)
    (pid,) = marks(tmp_path)
    ended = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        fields = facts.read(f"/proc/{name}/stat").rpartition(")")[2].split()
        if fields and fields[1] == str(os.getpid()) and fields[0] == "Z":
            ended.append(int(name))
    assert ended == [] and os.getsid(pid) != os.getsid(0), "it outlives the connection"
