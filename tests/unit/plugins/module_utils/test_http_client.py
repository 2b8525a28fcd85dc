# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One exchange with peers that misbehave."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
import tracemalloc

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools import http_client
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Target, ask


@pytest.fixture
def peer():
    """A peer that answers each connection with fixed bytes (None: nothing, and stays open)."""
    opened = []
    heard = []

    def start(data, close=True):
        server = socket.socket()
        server.bind(("127.0.0.1", 0))
        server.listen(5)
        opened.append(server)

        def serve():
            connection, unused = server.accept()
            opened.append(connection)
            heard.append(connection.recv(65536))
            if data:
                connection.sendall(data)
            if close:  # after the rest of the request: bytes that nobody read would reset the connection, and the answer would be lost
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(5)
                with contextlib.suppress(OSError):
                    while connection.recv(65536):
                        pass
                connection.close()

        threading.Thread(target=serve, daemon=True).start()
        return Target(f"http://127.0.0.1:{server.getsockname()[1]}")

    start.heard = heard
    yield start
    for item in opened:
        item.close()


def test_an_answer(peer):
    reply = ask(peer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"), "/health")
    assert (reply.status, reply.body, reply.error) == (200, "OK", "")


def test_nobody_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: nobody else can take it
        reply = ask(Target(f"http://127.0.0.1:{taken.getsockname()[1]}"), "/health")
    assert (reply.error, reply.status, reply.never_connected) == ("refused", 0, True)


def test_an_unknown_name_is_unreachable():
    assert ask(Target("http://no-such-host.invalid:80"), "/").error == "unreachable"


def test_silence_is_a_timeout(peer):
    assert ask(peer(None, close=False), "/", timeout=0.3).error == "timeout"


def test_a_closed_connection_is_cut_and_not_tried_again(peer):
    reply = ask(peer(None), "/")
    assert reply.error == "cut"
    assert not reply.never_connected


def test_a_broken_body_keeps_what_came(peer):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    reply = ask(peer(head + b"a\r\ndata: one\n\r\n" + b"ff\r\ndata: tw"), "/")
    assert reply.status == 200
    assert [data for unused, data in reply.events][:1] == ["one"]


CHUNKS = (b"HTTP/1.1 200 OK", b"Content-Type: text/event-stream", b"Transfer-Encoding: chunked", b"", b"")


@pytest.mark.parametrize("kind", [b"text/event-stream", b"application/json"])
def test_chunks_without_the_last_one_are_cut(peer, kind):
    head = b"\r\n".join(CHUNKS).replace(b"text/event-stream", kind)
    reply = ask(peer(head + b"b\r\ndata: one\n\n\r\n"), "/")
    assert (reply.status, reply.error, reply.body) == (200, "cut", "data: one\n\n")


def test_events_are_lines_and_not_chunks(peer):
    sent = [b"da", b"ta: one\n\ndata: two\n", b"\nda", b"ta: ", b"three\r\n", b": none\n\ndata: [DONE]"]
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in [*sent, b""])
    reply = ask(peer(b"\r\n".join(CHUNKS) + body), "/")
    assert (reply.error, reply.body) == ("", b"".join(sent).decode())
    assert [data for unused, data in reply.events] == ["one", "two", "three", "[DONE]"]


@pytest.mark.parametrize("kind", [b"text/event-stream", b"application/json"])
def test_small_chunks_take_no_more_memory_than_what_they_carry(peer, kind, monkeypatch):
    """Each piece of a list takes 40 bytes and more, and a load has many exchanges at a time."""
    monkeypatch.setattr(http_client, "BYTES_KEPT", 2**17)
    head = b"\r\n".join(CHUNKS).replace(b"text/event-stream", kind)
    target = peer(head + b"2\r\nxy\r\n" * 2**16)
    tracemalloc.start()
    try:
        reply = ask(target, "/")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (reply.error, len(reply.body)) == ("cut", 2**17)
    assert peak < 10 * 2**17


@pytest.mark.parametrize("kind", ["text/plain", "text/event-stream"])
def test_a_body_that_ends_before_its_length_is_cut(peer, kind):
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 64\r\n\r\n".encode()
    reply = ask(peer(head + b"vllm:request_success_total 12"), "/metrics")
    assert (reply.status, reply.error, reply.body) == (200, "cut", "vllm:request_success_total 12")


def test_a_body_that_is_longer_than_what_is_kept_is_cut(peer, monkeypatch):
    monkeypatch.setattr(http_client, "BYTES_KEPT", 20)
    reply = ask(peer(b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n" + b"x" * 30), "/metrics")
    assert (reply.status, reply.error) == (200, "cut")


def test_a_stream_that_calls_itself_json_is_read_as_a_stream(peer):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    body = b"data: one\n\ndata: [DONE]\n\n"
    assert [data for unused, data in ask(peer(head + body), "/", {"stream": True}).events] == ["one", "[DONE]"]
    whole = ask(peer(head + body), "/", {"stream": False})
    assert (whole.error, whole.events, whole.body) == ("", (), body.decode())


def test_garbage_is_cut(peer):
    assert ask(peer(b"\x00\x01\x02\r\n\r\n"), "/").error == "cut"


def test_tls_asked_of_a_plain_server(peer):
    target = peer(b"HTTP/1.1 400 Bad\r\n\r\n")
    assert ask(target._replace(url=target.url.replace("http:", "https:")), "/", timeout=5).error == "tls"


def test_a_missing_ca_file_is_said():
    reply = ask(Target("https://127.0.0.1:1", ca_path="/no/such/ca.pem"), "/")
    assert reply.error == "tls"
    assert reply.detail


def test_environment_proxies_are_not_used(peer, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert ask(peer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "/").status == 200


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("options", "first", "has", "has_not"),
    [
        ({}, "GET /v1/a HTTP/1.1", "Accept: */*", "Content-Type Authorization X-Request-Id X-data-parallel-rank"),
        ({"payload": {}}, "POST /v1/a HTTP/1.1", "Content-Type: application/json", "Authorization"),
        ({"method": "DELETE"}, "DELETE /v1/a HTTP/1.1", "Accept: */*", "Content-Type"),
        ({"rank": 0}, "GET /v1/a HTTP/1.1", "X-data-parallel-rank: 0", "Content-Type"),
        ({"request_id": "r1"}, "GET /v1/a HTTP/1.1", "X-Request-Id: r1", "Content-Type"),
    ],
)
def test_what_is_sent(peer, options, first, has, has_not):
    target = peer(OK)
    assert ask(target._replace(url=target.url + "/v1"), "/a", **options).status == 200
    text = peer.heard[0].decode()
    assert text.splitlines()[0] == first and has in text
    assert not any(f"\n{word}:" in text for word in has_not.split())
    assert text.partition("\r\n\r\n")[2] in ("", "{}")


def test_a_token_is_sent_as_a_bearer(peer):
    ask(peer(OK)._replace(token="t1"), "/")
    assert "\r\nAuthorization: Bearer t1\r\n" in peer.heard[0].decode()


def test_an_answer_that_drips_ends_at_the_timeout(peer):
    """Each byte renews the timeout of a socket."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)

        def serve():
            connection, _peer = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
                for _number in range(100):
                    connection.sendall(b"data: x\n")
                    time.sleep(0.02)

        threading.Thread(target=serve, daemon=True).start()
        reply = ask(Target(f"http://127.0.0.1:{server.getsockname()[1]}"), "/", timeout=0.2)
    assert (reply.status, reply.error) == (200, "timeout") and reply.seconds > 0.15
    seconds = [when for when, _data in reply.events]
    assert reply.events[0][1] == "x" and seconds == sorted(seconds) and 0 <= seconds[0] < reply.seconds


@pytest.mark.parametrize(
    ("error", "status", "name"),
    [
        (socket.timeout("late"), 200, "timeout"),
        (ssl.SSLError("bad"), 0, "tls"),
        (ConnectionRefusedError(111, "refused"), 0, "refused"),
        (ConnectionResetError(104, "reset"), 0, "cut"),
        (http.client.BadStatusLine("x"), 0, "cut"),
        (OSError(113, "no route"), 0, "unreachable"),
        (OSError(5, "broken"), 200, "cut"),
        (ValueError("odd"), 0, "unreachable"),
    ],
)
def test_how_an_exchange_ended(error, status, name):
    assert http_client._name(error, status) == name
    reply = http_client.Reply(0, "", 0.0, name)
    assert reply.never_connected == (name in ("refused", "unreachable"))


def test_which_certificates_are_trusted(monkeypatch):
    made, create = [], ssl.create_default_context

    def noted(**options):
        made.append(options)
        return create()

    monkeypatch.setattr(http_client.ssl, "create_default_context", noted)
    plain = http_client.context_of(Target("https://x"))
    assert (plain.check_hostname, plain.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert not plain.verify_flags & http_client.PARTIAL_CHAIN or create().verify_flags & http_client.PARTIAL_CHAIN
    other = http_client.context_of(Target("https://x", validate_certs=False))
    assert (other.check_hostname, other.verify_mode) == (False, ssl.CERT_NONE)
    named = http_client.context_of(Target("https://x", check_name=False, ca_data="PEM", ca_path="/ca"))
    assert (named.check_hostname, named.verify_mode) == (False, ssl.CERT_REQUIRED)
    assert named.verify_flags & http_client.PARTIAL_CHAIN
    assert made == [
        {"cafile": None, "cadata": None},
        {"cafile": None, "cadata": None},
        {"cafile": "/ca", "cadata": "PEM"},
    ]


@pytest.mark.parametrize(
    ("url", "kind", "host", "port"),
    [
        ("http://a", http.client.HTTPConnection, "a", 80),
        ("http://a:8000/v1", http.client.HTTPConnection, "a", 8000),
        ("https://a", http.client.HTTPSConnection, "a", 443),
        ("https://[::1]:9", http.client.HTTPSConnection, "::1", 9),
    ],
)
def test_where_a_url_leads(url, kind, host, port):
    connection = http_client.connection_of(Target(url, server_name="n"), 7.0)
    assert isinstance(connection, kind) and isinstance(connection, http.client.HTTPSConnection) == url.startswith(
        "https"
    )
    assert (connection.host, connection.port, connection.timeout) == (host, port, 7.0)
    assert getattr(connection, "server_name", "n") == "n"
