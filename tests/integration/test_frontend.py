# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planned frontend, with the distribution's own HAProxy, in front of a small HTTP server: access control and forwarded requests."""

from __future__ import annotations

import collections
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import ssl
import threading
import time
import typing
import urllib.request

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.render import frontend as rendered
from ansible_collections.ascend.inference.tests.integration._certificate import certify
from ansible_collections.ascend.inference.tests.integration._frontend import (
    BODY,
    SECRETS,
    ask,
    install,
    planned,
    started,
    stop,
)
from ansible_collections.ascend.inference.tests.integration._playbook import free_ports


class Backend(http.server.BaseHTTPRequestHandler):
    """Simulates the router: returns the request that it received, and streams. It answers every path, so that the frontend alone refuses."""

    protocol_version = "HTTP/1.1"
    asked: typing.ClassVar[list[str]] = []
    received: typing.ClassVar[dict[str, str]] = {}

    def do_GET(self):
        if self.request_version != "HTTP/1.0":  # of a check
            self.asked.append(self.path)
        body = json.dumps({"path": self.path, "authorization": self.headers.get("Authorization", "")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.asked.append(self.path)
        self.received.clear()
        self.received.update({name.lower(): ", ".join(self.headers.get_all(name)) for name in self.headers})
        if "Transfer-Encoding" in self.headers:
            while (size := int(self.rfile.readline() or b"0", 16)) > 0:
                self.rfile.read(size + 2)
            self.rfile.readline()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in (b"one", b"two"):
            self.wfile.write(b"3\r\n" + chunk + b"\r\n")
            self.wfile.flush()
            time.sleep(1)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *arguments):
        """Disable logging."""


@pytest.fixture
def frontend(tmp_path):
    """Start the planned frontend; returns its service, its output and its process."""
    install()
    ports, running = free_ports(3), []
    Backend.asked.clear()
    backend = http.server.ThreadingHTTPServer(("127.0.0.1", ports[0]), Backend)
    threading.Thread(target=backend.serve_forever, daemon=True).start()

    def start(certificate="", secrets=None, changed=None, **router):
        _plan, service = planned(tmp_path / "root", ports, certificate, **router)
        if changed:
            changed(service)
        running.append(started(service, tmp_path / "log", secrets))
        return service, tmp_path / "log", running[-1]

    yield start
    for process in running:
        stop(process)
    backend.shutdown()


def test_keys_open_the_door_and_stay_inside(frontend):
    service, log, process = frontend()
    url = f"http://127.0.0.1:{service['ports'][0]['first']}/v1/models"
    for wrong in (None, "", "other", "FIRST.KEY+1", "firstxKey+1", "first.Key+11", "first.Key", "backends-own"):
        assert ask(url, wrong)[0] == 401, wrong
    for key in SECRETS["client_keys"].split():
        status, body = ask(url, key)
        assert status == 200
        assert json.loads(body) == {"path": "/v1/models", "authorization": "Bearer backends-own"}
    directory = pathlib.Path(service["scratch_directory"])
    assert [(directory / name).stat().st_mode & 0o077 for name in ("keys.map", "engine_keys.map")] == [0, 0]
    assert not [key for key in SECRETS["client_keys"].split() if key in (directory / "keys.map").read_text()]
    for pid in [process.pid, *(int(item) for item in children(process.pid))]:
        for name in ("environ", "cmdline"):
            assert b"first.Key" not in pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
    assert "Key" not in log.read_text()


def children(pid):
    """Process ids of a process's children."""
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_an_answer_is_streamed(frontend):
    service, _log, _process = frontend()
    url = f"http://127.0.0.1:{service['ports'][0]['first']}/v1/completions"
    request = urllib.request.Request(url, BODY, {"Authorization": "Bearer second-KEY"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        first = answer.read1(3)
        begin = time.monotonic()
        assert (first, answer.read()) == (b"one", b"two")
        assert time.monotonic() - begin > 0.5


def test_a_stop_ends_streams_and_waits_for_no_idle_client(frontend):
    service, log, process = frontend()
    address, headers = ("127.0.0.1", service["ports"][0]["first"]), {"Authorization": "Bearer second-KEY"}
    idle, busy = (http.client.HTTPConnection(*address, timeout=30) for dummy in range(2))
    idle.request("GET", "/v1/models", headers=headers)
    idle.getresponse().read()
    busy.request("POST", "/v1/completions", BODY, headers)
    answer = busy.getresponse()
    number, end = getattr(signal, f"SIG{service['stop']['signal']}"), time.monotonic() + 20
    process.send_signal(number)
    assert answer.read() == b"onetwo"
    busy.close()  # else HAProxy 2.6 waits for the time of idle clients
    while process.poll() is None and time.monotonic() < end:
        process.send_signal(number)  # a master that has just started loses one
        time.sleep(0.2)
    assert process.returncode == 0, log.read_text()
    idle.close()


# What engines and proxies would take for their own; the frontend that could read no bodies passed these on.
TAKEN = {"kv_transfer_params": {"do_remote_prefill": True}, "ec_transfer_params": {"host": "192.0.2.1"}}


@pytest.mark.parametrize("name", TAKEN)
def test_no_body_says_where_an_engine_gets_cache_from(frontend, name):
    service, _log, _process = frontend()
    url, taken = door(service) + "/v1/completions", {name: TAKEN[name]}
    Backend.asked.clear()
    for body in ({"prompt": "x", **taken}, {"vllm_xargs": taken, "model": "tiny"}):
        status, text = ask(url, "second-KEY", json.dumps(body).encode())
        assert status == 400 and f"{name} is not for clients" in text
    assert Backend.asked == []
    assert ask(url, "second-KEY", json.dumps({"prompt": "x", name: None}).encode())[0] == 200, "and no model"


def test_a_control_character_in_a_header_is_refused(frontend):
    service, _log, _process = frontend()
    Backend.asked.clear()
    assert send(service, f"POST /v1/completions HTTP/1.1\r\nKEY\r\nUser-Agent: x\x1b[2J\r\n{END}") == [b"400"]
    assert Backend.asked == []


def test_an_upload_is_a_form_and_nothing_else_passes_as_one(frontend):
    service, _log, _process = frontend(frontend_paths=["/v1/audio/transcriptions"])
    url, form = (
        door(service) + "/v1/audio/transcriptions",
        b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\na\r\n--x--\r\n',
    )
    assert ask(url, "second-KEY", form)[0] == 200
    assert ask(door(service) + "/v1/completions", "second-KEY", form)[0] == 400
    assert ask(url, "second-KEY", b' {"kv_transfer_params": {"do_remote_prefill": true}}')[0] == 400


def test_tls(frontend, tmp_path):
    place = str(tmp_path / "certificate.pem")
    certify(place)
    service, _log, _process = frontend(place)
    trusted = ssl.create_default_context(cafile=place)
    url = f"https://127.0.0.1:{service['ports'][0]['first']}/v1/models"
    assert ask(url, "second-KEY", context=trusted)[0] == 200
    assert ask(url, context=trusted)[0] == 401
    with pytest.raises(OSError):
        ask(url.replace("https", "http"), "second-KEY")


def at_once(service):
    """Look at the files of the certificate each second."""
    (script,) = (file for file in service["files"] if file["path"].endswith("renewed.sh"))
    script["content"] = script["content"].replace(f"sleep {rendered.EVERY} ", "sleep 1 ")


def test_a_renewed_certificate_is_loaded_without_a_restart_or_a_lost_request(frontend, tmp_path):
    place, old, new = (str(tmp_path / name) for name in ("certificate.pem", "old.pem", "new.pem"))
    for path in (old, new):
        certify(path)
    for end in ("", ".key"):
        shutil.copy(old + end, place + end)
    service, log, process = frontend(place, changed=at_once)
    port, statuses, over = service["ports"][0]["first"], [], threading.Event()
    context = ssl.create_default_context(cafile=old)
    context.load_verify_locations(new)

    def served():
        return ssl.get_server_certificate(("127.0.0.1", port)) == pathlib.Path(new).read_text()

    def client():
        """New connections, each for three requests or until it is closed, which is looked for before each request as clients' libraries do."""
        while not over.is_set():
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
            connection.connect()
            for dummy in range(3):
                connection.request("POST", "/v1/completions", BODY, {"Authorization": "Bearer second-KEY"})
                answer = connection.getresponse()
                statuses.append((answer.status, answer.read()))
                if not connection.sock or select.select([connection.sock], [], [], 0.1)[0]:
                    break
            connection.close()

    clients = [threading.Thread(target=client) for dummy in range(4)]
    for each in clients:
        each.start()
    shutil.copy(new, place)
    time.sleep(3)
    assert not served() and process.poll() is None, "half of a renewal changes nothing"
    shutil.copy(new + ".key", place + ".key")
    end = time.monotonic() + 20
    while not served() and time.monotonic() < end:
        time.sleep(0.2)
    time.sleep(3)
    over.set()
    for each in clients:
        each.join()
    assert served() and process.poll() is None, log.read_text()
    assert set(statuses) == {(200, b"onetwo")} and len(statuses) > 8, statuses
    assert Backend.asked.count("/v1/completions") == len(statuses), "each request has had its answer"
    assert "the certificate was renewed" in log.read_text()
    for pid in children(process.pid):
        assert b"first.Key" not in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    stop(process)
    end = time.monotonic() + 20
    while "renewed.sh" in commands(tmp_path) and time.monotonic() < end:
        time.sleep(0.2)
    assert "renewed.sh" not in commands(tmp_path), "the watch ends with the frontend"


def commands(folder):
    """The command lines of all processes in this folder."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(folder) in os.readlink(path / "cwd"):
                found.append((path / "cmdline").read_bytes().decode())
    return "\n".join(found)


@pytest.mark.parametrize("keys", ["", 'good ba"d'])
def test_keys_that_cannot_be_written_end_the_start_without_being_shown(frontend, keys):
    _service, log, process = frontend(secrets={**SECRETS, "client_keys": keys})
    assert process.wait(timeout=60) != 0
    assert "client_keys" in log.read_text()
    assert "ba" + '"d' not in log.read_text()


def door(service):
    """The URL of the frontend."""
    return f"http://127.0.0.1:{service['ports'][0]['first']}"


NOT_FOR_CLIENTS = (
    "/",
    "/health",
    "/metrics",
    "/instances/add",
    "/instances/remove",
    "/reset_prefix_cache",
    "/add_worker?url=http://127.0.0.1:1",
    "/workers",
    "/invocations",
    "/tokenize",
    "/scale_elastic_ep",
    "/v1/load_lora_adapter",
    "/v1/metaserver",
    "/v1",
    "/v1/",
    "/v1/completions/",
    "/v1/completions/x",
    "/v1/completions/../../instances/add",
    "/v1/completions/%2e%2e/%2e%2e/instances/add",
    "/v1/completions%2f..%2f..%2finstances/add",
    "/v1/completions%3f",
    "/V1/completions",
    "/v1/completions.",
    "/v1/completions;x=1",
    "/v1/completions%20",
    "/v1/completions/%2e%2e/..;/instances/add",
    "/%2e%2e/instances/add",
    "/v1%2fcompletions/../../instances/add",
    "/v1/completions%252f..%252f..%252finstances/add",
    "http://127.0.0.1/instances/add",
    "http://elsewhere.example/instances/add?x=/v1/completions",
)


def raw(service, method, target, key):
    """Status of a request whose path is sent as it is written."""
    connection = http.client.HTTPConnection("127.0.0.1", service["ports"][0]["first"], timeout=30)
    connection.putrequest(method, target, skip_accept_encoding=True)
    connection.putheader("Authorization", f"Bearer {key}")
    connection.putheader("Content-Length", str(len(BODY)) if method == "POST" else "0")
    connection.endheaders(BODY if method == "POST" else None)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_client_reaches_the_listed_paths_and_no_other(frontend):
    service, _log, _process = frontend()
    Backend.asked.clear()
    for target in NOT_FOR_CLIENTS:
        for method in ("POST", "GET"):
            assert raw(service, method, target, "second-KEY") in (400, 404), (method, target)  # 400: above the root
    assert Backend.asked == []
    # Nor does a listed path in another spelling.
    written = ("/instances/../v1/completions", "//v1//completions", "/v1/%63ompletions", "/v1/./completions")
    for target in written:
        assert raw(service, "POST", target, "second-KEY") in (400, 404), target
    assert Backend.asked == []


def test_a_query_ends_at_the_frontend(frontend):
    service, _log, _process = frontend()
    Backend.asked.clear()
    for method, path in (("POST", "/v1/completions"), ("GET", "/v1/models")):
        for query in ("?a=b", "?", "?bootstrap_host=192.0.2.1&url=http://192.0.2.1", "?x?y"):
            assert raw(service, method, path + query, "second-KEY") == 200, (path, query)
        assert raw(service, method, f"http://elsewhere.example{path}?a=b", "second-KEY") == 200
    assert set(Backend.asked) == {"/v1/completions", "/v1/models"}


def test_who_has_no_key_writes_no_line(frontend):
    service, log, _process = frontend(frontend_requests_per_minute=2, frontend_parallel_requests=2)
    before = log.read_text()
    targets = (
        "/v1/completions",
        "/v1/models?api_key=second-KEY",
        "/v1/completions?" + "x" * 2000,
        "/nowhere?second-KEY",
    )
    strangers = [ask(door(service) + target)[0] for dummy in range(10) for target in targets]
    known = [ask(door(service) + "/v1/completions?second-KEY", "second-KEY", BODY)[0] for dummy in range(4)]
    assert set(strangers) == {401, 429} and known.count(429) == 2
    assert log.read_text() == before


def test_addresses_of_one_network_guess_together(frontend):
    """The frontend takes the address from a header of the test, in place of that of the connection."""

    def believed(service):
        for file in service["files"]:
            line = "    http-request set-var(txn.id) uuid()\n"
            file["content"] = file["content"].replace(line, f"{line}    http-request set-src req.fhdr(x-test)\n")

    service, _log, _process = frontend(changed=believed)

    def guessed(addresses):
        begin = "GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        return {status for address in addresses for status in send(service, f"{begin}X-Test: {address}\r\n\r\n")}

    assert guessed(f"2001:db8:0:{number:x}::1" for number in range(60)) == {b"401"}, "60 networks"
    assert guessed(f"2001:db8:0:a0a::{number:x}" for number in range(60)) == {b"401", b"429"}, "one network"
    assert guessed(f"10.0.0.{number}" for number in range(60)) == {b"401"}, "60 addresses"
    assert guessed(["10.0.1.1"] * 60) == {b"401", b"429"}, "one address"


def send(service, text):
    """The status lines of the answers to bytes that are sent as they are, until the connection is closed."""
    answers = b""
    with socket.create_connection(("127.0.0.1", service["ports"][0]["first"]), timeout=30) as connection:
        connection.sendall(text.replace("KEY", "Authorization: Bearer second-KEY\r\nHost: x").encode("latin-1"))
        connection.settimeout(5)
        with contextlib.suppress(TimeoutError):
            while more := connection.recv(65536):
                answers += more
    return re.findall(rb"^HTTP/1\.\d (\d+)", answers, re.M)


END = f"Content-Length: {len(BODY)}\r\n\r\n{BODY.decode()}"
HIDDEN = "POST /instances/add HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
SMUGGLED = {
    "length and chunks": f"POST /v1/completions HTTP/1.1\r\nKEY\r\nContent-Length: {len(HIDDEN) + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}",
    "two lengths": f"POST /v1/completions HTTP/1.1\r\nKEY\r\nContent-Length: 0\r\nContent-Length: {len(HIDDEN)}\r\n\r\n{HIDDEN}",
    "unknown coding": f"POST /v1/completions HTTP/1.1\r\nKEY\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{HIDDEN}",
    "two codings": f"POST /v1/completions HTTP/1.1\r\nKEY\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n{HIDDEN}",
    "chunks in HTTP/1.0": f"POST /v1/completions HTTP/1.0\r\nKEY\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}",
    "size of a chunk": f"POST /v1/completions HTTP/1.1\r\nKEY\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n{HIDDEN}",
    "line in a header": f"POST /v1/completions HTTP/1.1\r\nKEY\r\nX-A: b\n{HIDDEN}",
    "space before the colon": f"POST /v1/completions HTTP/1.1\r\nKEY\r\nTransfer-Encoding : chunked\r\nContent-Length: {len(HIDDEN)}\r\n\r\n{HIDDEN}",
    "NUL in the path": f"POST /v1/completions%00/../instances/add HTTP/1.1\r\nKEY\r\n\r\n{HIDDEN}",
    "pipelined": f"POST /v1/completions HTTP/1.1\r\nKEY\r\n{END}{HIDDEN}",
    "no version": "GET /instances/add\r\n\r\n",
    "CONNECT": "CONNECT 127.0.0.1:80 HTTP/1.1\r\nKEY\r\n\r\n",
    "TRACE": "TRACE /v1/completions HTTP/1.1\r\nKEY\r\n\r\n",
}


@pytest.mark.parametrize("form", SMUGGLED)
def test_no_second_request_hides_in_a_first_one(frontend, form):
    service, _log, _process = frontend()
    Backend.asked.clear()
    statuses = send(service, SMUGGLED[form])
    assert set(Backend.asked) <= {"/v1/completions"}, (statuses, Backend.asked)
    assert set(statuses) <= {b"200", b"400", b"401", b"404", b"405", b"501"}, statuses


def test_chunks_that_are_too_large_together_are_refused(frontend):
    service, _log, _process = frontend(frontend_body_mib=1)
    begin = "POST /v1/completions HTTP/1.1\r\nKEY\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = "80000\r\n" + "x" * 0x80000 + "\r\n"
    assert send(service, begin + 2 * chunks + "1\r\nx\r\n0\r\n\r\n")[:1] == [b"413"]


def test_clients_choose_neither_rank_nor_request_id_nor_host(frontend):
    service, _log, _process = frontend()
    names = ("X-data-parallel-rank", "x-worker-priority", "X-Prefer-PD", "X-Max-Cost", "X-Forwarded-For", "forwarded")
    names += (
        "X-Session-Id",
        "X-User-Id",
        "X-SMG-Target",
        "X-Routing-Key",
        "X-Prefiller-Host-Port",
        "X-Real-IP",
        "Traceparent",
        "Cookie",
    )
    names += ("X-Unheard-Of", "Expect", "TE", "Upgrade", "Proxy-Authorization", "Accept-Encoding")
    lines = "".join(f"{name}: 3\r\n" for name in names)
    for target in ("/v1/completions", "http://x/v1/completions"):
        text = f"POST {target} HTTP/1.1\r\nKEY\r\n{lines}X-Request-Id: of-another\r\n{END}"
        assert send(service, text) == [b"200"]
        assert not {name.lower() for name in names} & set(Backend.received), Backend.received
        assert re.fullmatch("[0-9a-f-]{36}", Backend.received["x-request-id"])
        assert Backend.received["host"].startswith("127.0.0.1:")
        own = {"host", "authorization", "x-request-id", "content-length", "connection"}
        assert set(Backend.received) == own and Backend.received["connection"] == "close"


def test_what_clients_need_of_their_headers_reaches_the_router(frontend):
    service, _log, _process = frontend(policy="consistent_hash")
    lines = {
        "accept": "text/event-stream",
        "content-type": "application/json",
        "user-agent": "x/1",
        "x-session-id": "mine",
    }
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    assert send(service, f"POST /v1/completions HTTP/1.1\r\nKEY\r\n{text}{END}") == [b"200"]
    assert lines.items() <= Backend.received.items()


def test_a_request_without_a_key_learns_no_method(frontend):
    service, _log, _process = frontend()
    for method, target in (("POST", "/v1/models"), ("GET", "/v1/completions"), ("DELETE", "/v1/completions")):
        assert raw(service, method, target, "wrong") == 401, (method, target)
    for method, target in (("GET", "/"), ("POST", "/instances/add"), ("GET", "/nowhere"), ("GET", "/.unknown-key")):
        assert raw(service, method, target, "wrong") == 401, (method, target)
    assert ask(door(service) + "/nowhere", "second-KEY")[0] == 404


def test_a_request_without_a_key_is_refused_before_its_size_is(frontend):
    service, log, _process = frontend(frontend_body_mib=1)
    for target, status in (("/v1/completions", b"413"), ("/v1/models", b"405"), ("/nowhere", b"404")):
        length = "Content-Length: 99999999999"
        assert send(service, f"POST {target}?api_key=secret HTTP/1.1\r\nHost: x\r\n{length}\r\n\r\n{{") == [b"401"]
        assert send(service, f"POST {target} HTTP/1.1\r\nKEY\r\n{length}\r\n\r\n{{") == [status]
    assert "secret" not in log.read_text()


def test_guesses_are_slowed_and_known_keys_of_the_same_address_are_not(frontend):
    service, _log, _process = frontend()
    url = door(service) + "/v1/models"
    found = [ask(url, f"guess-{number}") for number in range(60)]
    counted = collections.Counter(status for status, _body in found)
    assert set(counted) == {401, 429} and counted[401] < 33, counted
    assert "this address" in found[-1][1] and "unknown API key" in found[0][1]
    assert [ask(url, "second-KEY")[0] for _request in range(40)] == [200] * 40
    assert ask(url, "guess")[0] == 429


def test_the_router_gives_the_frontend_no_orders(frontend, monkeypatch):
    """With this header nginx would ask the router again."""

    def end_headers(self):
        self.send_header("X-Accel-Redirect", "/v1/models")
        http.server.BaseHTTPRequestHandler.end_headers(self)

    monkeypatch.setattr(Backend, "end_headers", end_headers)
    service, _log, _process = frontend()
    Backend.asked.clear()
    assert ask(door(service) + "/v1/models", "second-KEY")[0] == 200
    assert Backend.asked.count("/v1/models") == 1


FORMS = {
    "two keys": "Authorization: Bearer second-KEY\r\nAuthorization: Bearer other\r\n",
    "two keys, the wrong one first": "Authorization: Bearer other\r\nAuthorization: Bearer second-KEY\r\n",
    "another protocol": "Authorization: Bearer second-KEY\r\nConnection: upgrade\r\nUpgrade: websocket\r\n",
    "names with underscores": "Authorization: Bearer second-KEY\r\nX_data_parallel_rank: 3\r\nX_Request_Id: of-another\r\n",
    "dropped by the client": "Authorization: Bearer second-KEY\r\nConnection: X-Request-Id, Authorization\r\n",
    "two ids": "Authorization: Bearer second-KEY\r\nX-Request-Id: a\r\nX-Request-Id: b\r\n",
    "an id in capitals": "Authorization: Bearer second-KEY\r\nX-REQUEST-ID: a\r\nX-DATA-PARALLEL-RANK: 3\r\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_unusual_headers_change_nothing_that_is_the_frontends(frontend, form):
    """What reaches the router has the engines' key once, an id of the frontend, no rank, and stays HTTP."""
    service, _log, _process = frontend()
    Backend.asked.clear()
    statuses = send(service, f"POST /v1/completions HTTP/1.1\r\nHost: x\r\n{FORMS[form]}{END}")
    assert statuses in ([b"200"], [b"400"], [b"401"]), statuses
    assert len(Backend.asked) == statuses.count(b"200")
    if Backend.asked:
        got = Backend.received
        assert got["authorization"] == "Bearer backends-own" and re.fullmatch("[0-9a-f-]{36}", got["x-request-id"]), got
        assert not {"upgrade", "x-data-parallel-rank", "x_data_parallel_rank", "x_request_id"} & set(got), got


def test_a_listed_path_is_asked_by_its_method_alone(frontend):
    service, _log, _process = frontend()
    for method, target in (("POST", "/v1/models"), ("GET", "/v1/completions"), ("DELETE", "/v1/completions")):
        assert raw(service, method, target, "second-KEY") == 405, (method, target)


def test_more_paths_can_be_given_to_clients(frontend):
    service, _log, _process = frontend(frontend_paths=["/v1/messages"])
    assert ask(door(service) + "/v1/messages", "second-KEY", BODY)[0] == 200
    assert ask(door(service) + "/v1/messages", None, BODY)[0] == 401


def test_health_of_the_status_page_says_nothing_else(frontend):
    service, _log, _process = frontend()
    status = f"http://127.0.0.1:{service['ports'][1]['first']}"
    assert ask(status + "/health")[0] == 200
    assert [ask(status + target)[0] for target in ("/", "/v1/models", "/instances/add")] == [404] * 3


def test_a_large_request_is_refused(frontend):
    service, _log, _process = frontend(frontend_body_mib=1)
    largest = b'{"prompt": "%s"}' % (b"x" * (2**20 - 14))
    assert len(largest) == 2**20 and ask(door(service) + "/v1/completions", "second-KEY", largest)[0] == 200
    connection = http.client.HTTPConnection("127.0.0.1", service["ports"][0]["first"], timeout=30)
    connection.putrequest("POST", "/v1/completions")
    connection.putheader("Authorization", "Bearer second-KEY")
    connection.putheader("Content-Length", str(2**20 + 1))
    connection.endheaders()
    answer = connection.getresponse()
    assert (answer.status, "larger than 1 MiB" in answer.read().decode()) == (413, True)


def test_the_rate_of_one_key_is_limited_and_others_are_not(frontend):
    service, log, _process = frontend(frontend_requests_per_minute=2)
    url = door(service) + "/v1/completions"
    assert [ask(url, "second-KEY", BODY)[0] for dummy in range(5)] == [200, 200, 429, 429, 429]
    assert ask(door(service) + "/v1/models", "second-KEY")[0] == 429  # the router answers lists, too
    assert ask(url, "first.Key+1", BODY)[0] == 200
    assert ask(door(service) + "/v1/models", "first.Key+1")[0] == 200
    assert "KEY" not in log.read_text()


def test_parallel_requests_of_one_key_are_limited_and_others_are_not(frontend):
    service, log, _process = frontend(frontend_parallel_requests=1)
    url, answers, before = door(service) + "/v1/completions", [], log.read_text()
    held = threading.Thread(target=lambda: answers.append(ask(url, "second-KEY", BODY)[0]))
    held.start()
    time.sleep(0.5)  # the answer takes two seconds
    assert ask(url, "second-KEY", BODY)[0] == 429
    assert ask(url, "first.Key+1", BODY)[0] == 200
    held.join(timeout=30)
    assert answers == [200]
    assert log.read_text() == before
