# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planned balancer, with the distribution's own HAProxy, in front of two small HTTP servers in place of the routers."""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import socket
import stat
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.balancer import shift
from ansible_collections.ascend.inference.plugins.module_utils.balancer.admin import Balancer, BalancerProblem
from ansible_collections.ascend.inference.plugins.module_utils.balancer.servers import bring
from ansible_collections.ascend.inference.plugins.module_utils.drill import load
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import state
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import status_plan
from ansible_collections.ascend.inference.plugins.module_utils.status.services import Host
from ansible_collections.ascend.inference.tests.integration import _balancer
from ansible_collections.ascend.inference.tests.integration._frontend import ask
from ansible_collections.ascend.inference.tests.integration._playbook import free_range

COMPLETIONS = "/v1/completions"


class Router:
    """Simulates a router: returns the request that it received. ``how``: stream slowly, be silent for some seconds, or end the connection."""

    def __init__(self, port):
        self.seen, self.healthy, self.how, self.end = [], 200, "", threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *unused):
                pass

            def do_GET(self):
                if self.path == "/health":
                    return self.reply(owner.healthy, {})
                return self.do_POST()

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                owner.seen.append((self.command, self.path))
                if owner.how == "end":
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return None
                if owner.how == "silent":
                    time.sleep(4)
                if owner.how == "stream":
                    self.send_response(200)
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    while not owner.end.wait(0.2):
                        self.wfile.write(b"1\r\n.\r\n")
                    self.wfile.write(b"0\r\n\r\n")
                    return None
                return self.reply(200, {"port": port, "headers": dict(self.headers)})

            def reply(self, status, value):
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *unused: None  # a health check is closed before its answer is read
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.end.set()
        self.server.shutdown()
        self.server.server_close()


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    assert condition()


class Balanced:
    """Two routers behind a running balancer."""

    def __init__(self, folder, **router):
        self.first = free_range(40)
        self.plan = _balancer.planned(pathlib.Path(folder) / "r", self.first, **router)
        self.url = f"http://127.0.0.1:{self.first + 1}"
        self.routers = [Router(self.first), Router(self.first + 20)]
        self.log = pathlib.Path(folder) / "log"
        self.process = _balancer.started(self.plan, self.log)
        section = self.plan["balancer"]
        self.admin = Balancer(section["socket"], section["backend"], state_file=section["state_file"])

    def ask(self, path=COMPLETIONS, **more):
        return ask(self.url + path, **{"data": b"{}", **more})

    def starts_anew(self):
        """As after a crash: nothing is told before, and the runtime starts it again."""
        self.process.kill()
        self.process.wait()
        self.process = _balancer.started(self.plan, self.log)

    def close(self):
        _balancer.stop(self.process)
        for router in self.routers:
            router.close()


@pytest.fixture
def balanced():
    _balancer.install()
    made = []

    def make(**router):
        made.append(Balanced(folder, **router))
        return made[-1]

    with tempfile.TemporaryDirectory(prefix="ha-") as folder:  # the path of the socket must be short
        yield make
        for item in made:
            item.close()


@pytest.mark.parametrize(
    "router", [{}, {"instances": 8}, {"balancer_bind": "0.0.0.0"}, {"frontend_paths": ["/v1/messages"]}], ids=str
)
def test_haproxy_reads_every_line(tmp_path, router):
    _balancer.install()
    plan = _balancer.planned("/srv/ascend", 8000, **router)
    (service,) = [service for service in plan["services"] if service["kind"] == "balancer"]
    path = tmp_path / "haproxy.cfg"
    kept = tmp_path / "state"
    kept.write_text("1\n")  # HAProxy warns if it is not there
    path.write_text(service["files"][0]["content"].replace(plan["balancer"]["state_file"], str(kept)))
    done = subprocess.run([_balancer.PROGRAM, "-c", "-f", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "WARNING" not in done.stdout + done.stderr, done.stdout + done.stderr


def test_clients_reach_the_listed_paths_alone(balanced):
    service = balanced()
    assert service.ask()[0] == 200
    assert service.ask("/v1/models", data=None)[0] == 200
    assert service.ask("/v1/models")[0] == 405 and service.ask(data=None)[0] == 405
    before = [len(router.seen) for router in service.routers]
    paths = [
        "/",
        "/health",
        "/metrics",
        "/add_worker",
        "/workers",
        "/v1/completions/",
        "/v1/../add_worker",
        "//v1/completions",
    ]
    paths += ["/v1/%63ompletions", "/V1/completions", "/haproxy?stats", "/v1/completions;x", "/v1/modelsx"]
    for path in paths:
        assert service.ask(path)[0] == 404, path
        assert service.ask(path, data=None)[0] == 404, path
    assert [len(router.seen) for router in service.routers] == before


def test_clients_choose_neither_rank_nor_request_id(balanced):
    service = balanced()
    connection = http.client.HTTPConnection("127.0.0.1", service.first + 1, timeout=10)
    given = {
        "X-data-parallel-rank": "7",
        "x-worker-priority": "9",
        "X-Request-Id": "theirs",
        "Authorization": "Bearer k",
    }
    connection.request("POST", COMPLETIONS, b"{}", given)
    received = {name.lower(): value for name, value in json.loads(connection.getresponse().read())["headers"].items()}
    assert not {"x-data-parallel-rank", "x-worker-priority"} & set(received)
    assert received["x-request-id"] != "theirs" and len(received["x-request-id"]) == 36
    assert received["authorization"] == "Bearer k", "colocated engines check it"


@pytest.mark.parametrize(("policy", "more"), [("", set()), ("consistent_hash", {"x-session-id", "x-user-id"})])
def test_the_headers_that_reach_a_router_are_named(balanced, policy, more):
    service = balanced(**({"policy": policy} if policy else {}))
    needed = {"accept": "a/b", "content-type": "application/json", "user-agent": "x/1"}
    others = (
        "X-Session-Id",
        "X-User-Id",
        "X-Prefiller-Host-Port",
        "X-SMG-Target",
        "Traceparent",
        "Cookie",
        "X-Unheard-Of",
    )
    connection = http.client.HTTPConnection("127.0.0.1", service.first + 1, timeout=10)
    given = {**needed, **dict.fromkeys((*others, "X-Forwarded-For", "Connection", "TE", "x_data_parallel_rank"), "1")}
    connection.request("POST", COMPLETIONS, b"{}", {**given, "Accept-Encoding": "gzip"})
    received = {name.lower(): value for name, value in json.loads(connection.getresponse().read())["headers"].items()}
    assert needed.items() <= received.items()
    assert set(received) - set(needed) - more == {"host", "content-length", "x-request-id", "connection"}


def test_a_query_and_another_host_end_at_the_balancer(balanced):
    service = balanced()
    for target in ("?a=b", "?", "?bootstrap_host=192.0.2.1"):
        assert service.ask(COMPLETIONS + target)[0] == 200
    with socket.create_connection(("127.0.0.1", service.first + 1), timeout=10) as connection:
        whole = f"http://elsewhere.example{COMPLETIONS}"
        connection.sendall(
            f"POST {whole} HTTP/1.1\r\nHost: elsewhere.example\r\nContent-Length: 2\r\n\r\n{{}}".encode()
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    seen = [each for router in service.routers for each in router.seen]
    assert seen == [("POST", COMPLETIONS)] * 4


def test_another_protocol_version_is_refused(balanced):
    service = balanced()
    with socket.create_connection(("127.0.0.1", service.first + 1), timeout=10) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        assert connection.recv(65536).startswith(b"HTTP/1.1 400")


def test_an_answer_may_take_longer_than_a_client_s_timeout(balanced):
    service = balanced(frontend_client_timeout=2)
    for router in service.routers:
        router.how = "silent"
    assert service.ask()[0] == 200


def test_a_router_that_refuses_connections_loses_no_request(balanced):
    service = balanced()
    service.routers[0].close()
    begin = time.monotonic()
    ports = [json.loads(service.ask()[1])["port"] for _number in range(20)]
    assert set(ports) == {service.first + 20}
    assert time.monotonic() - begin < 5
    time.sleep(3)
    found = service.admin.servers()
    assert (found["router"].up, found["router-1"].up) == (False, True)


def test_a_request_that_was_sent_is_not_repeated(balanced):
    service = balanced()
    for router in service.routers:
        router.how = "end"
    # In one packet: HAProxy never repeats a request that it did not have completely when it sent it.
    with socket.create_connection(("127.0.0.1", service.first + 1), 10) as connection:
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n{}")
        assert connection.recv(12) == b"HTTP/1.1 502"
    assert sum(len(router.seen) for router in service.routers) == 1


def test_no_router_answers(balanced):
    service = balanced()
    for router in service.routers:
        router.healthy = 503
    health = service.plan["services"][-1]["health"]["url"]
    assert ask(health)[0] == 200
    time.sleep(4)
    assert service.ask() == (503, '{"error": {"message": "no router answers", "type": "server_error"}}')
    assert ask(health)[0] == 503


def test_a_drained_router_ends_its_stream_and_gets_no_other_request(balanced):
    service = balanced()
    service.routers[0].how = service.routers[1].how = "stream"
    connection = http.client.HTTPConnection("127.0.0.1", service.first + 1, timeout=10)
    connection.request("POST", COMPLETIONS, b"{}")
    answer = connection.getresponse()
    assert answer.read(2) == b".."
    name, used = ("router", 0) if service.routers[0].seen else ("router-1", 1)
    other = service.routers[1 - used]
    other.how = ""
    found = bring(service.admin, [name], "drain", timeout=1)
    assert found.busy == {name: 1}
    assert [json.loads(service.ask()[1])["port"] for _number in range(6)] == [service.first + 20 * (1 - used)] * 6
    service.routers[used].end.set()
    assert answer.read().strip(b".") == b"", "the stream ends well"
    assert bring(service.admin, [name], "drain", timeout=10).busy == {}
    assert bring(service.admin, [name], "ready", weight=50, timeout=10).after[name].weight == 50
    service.routers[used].how = ""
    assert len({service.ask()[1][:20] for _number in range(6)}) == 2


def test_a_drained_router_gets_no_request_when_the_balancer_starts_anew(balanced):
    service = balanced()
    bring(service.admin, ["router-1"], "drain", weight=0, timeout=10)
    bring(service.admin, ["router"], "ready", weight=70, timeout=10)
    service.starts_anew()
    found = service.admin.servers()
    assert {name: (row.state, row.weight) for name, row in found.items()} == {
        "router": ("ready", 70),
        "router-1": ("drain", 0),
    }
    assert {json.loads(service.ask()[1])["port"] for _number in range(6)} == {service.first}
    mode = stat.S_IMODE(os.stat(service.plan["balancer"]["state_file"]).st_mode)
    assert mode == 0o644, "the service's user reads it"
    bring(service.admin, ["router-1"], "ready", weight=70, timeout=10)
    service.starts_anew()
    assert len({service.ask()[1][:20] for _number in range(6)}) == 2


def test_a_router_that_was_away_serves_at_once_when_the_balancer_starts_anew(balanced):
    service = balanced()
    for router in service.routers:
        router.healthy = 503
    until(lambda: not any(row.up for row in service.admin.servers().values()))
    service.admin.set_weight("router", 90)
    for router in service.routers:
        router.healthy = 200
    service.starts_anew()
    assert service.ask()[0] == 200 and all(row.up for row in service.admin.servers().values())


def test_a_balancer_that_starts_anew_ends_a_move_of_requests(balanced, monkeypatch):
    """Its counters are lost. The routers before get all requests again, as soon as it runs."""
    service = balanced()
    bring(service.admin, ["router-1"], "drain", weight=0, timeout=10)
    watched = threading.Event()

    def send(_service, nonce, number, stream):
        watched.set()
        return load.Request(nonce, number, stream, 0, 0.1, 0.1, "", "text")

    monkeypatch.setattr(load, "send", send)
    crash = threading.Thread(target=lambda: (watched.wait(60), service.starts_anew()))
    crash.start()
    with pytest.raises(BalancerProblem, match="started anew|does not answer"):
        shift.shift(service.admin, ["router"], dict.fromkeys(("router", "router-1")), ["router-1"], seconds=60)
    crash.join()
    found = {name: (row.state, row.weight) for name, row in service.admin.servers().items()}
    assert found == {"router": ("ready", 100), "router-1": ("drain", 0)}


def test_nobody_else_administers_it(balanced):
    service = balanced()
    path = service.plan["balancer"]["socket"]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    status = service.plan["services"][-1]["health"]["url"].rpartition("/")[0]
    for page in ("/", "/stats", "/haproxy?stats", "/metrics", "/health/x"):
        assert ask(status + page)[0] == 404


class Runtime:
    """A runtime whose services all run."""

    def states(self, services):
        return {service["unit"]: state("running") for service in services}

    def log(self, *unused):
        return []


def test_status_names_the_router_that_gets_no_requests(balanced):
    service = balanced()
    service.routers[1].healthy = 503
    time.sleep(4)
    deployed = status_plan({**service.plan, "services": service.plan["services"][-1:]}, "here")
    rows, _problems = Host(Runtime(), deployed, deployed).look()
    assert [text for row in rows for text in row["findings"]] == [
        "sends no requests to router-1, which fails its health check"
    ]
