# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One exchange with peers that misbehave."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools import http_client
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Target, ask


@pytest.fixture
def peer():
    """A peer that answers each connection with fixed bytes (None: nothing, and stays open)."""
    opened = []

    def start(data, close=True):
        server = socket.socket()
        server.bind(("127.0.0.1", 0))
        server.listen(5)
        opened.append(server)

        def serve():
            connection, unused = server.accept()
            opened.append(connection)
            connection.recv(65536)
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
