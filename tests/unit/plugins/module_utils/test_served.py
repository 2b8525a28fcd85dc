# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers of servers that never finish one line, one head or one trailer are given up; whole ones are as they were sent."""

from __future__ import annotations

import io
import threading
import time
import urllib.error
import urllib.request

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools import served
from ansible_collections.ascend.inference.plugins.module_utils.tools.bounded_copy import Endless, bounded_copy

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def opening(server):
    return lambda: urllib.request.build_opener(urllib.request.ProxyHandler({})).open(server.url, timeout=5)


def trailing(connection, _number, ended):
    """A trailer that does not end, behind a body that did."""
    connection.sendall(HEAD + b"1\r\nx\r\n0\r\n")
    while not ended.is_set():
        connection.sendall(b"A: b\r\n" * 64)


def sizing(connection, _number, ended):
    """A line with the size of a chunk that does not end."""
    connection.sendall(HEAD)
    while not ended.wait(0.05):
        connection.sendall(b"0")


@pytest.mark.parametrize("kind", ["dripping", "continued"])
def test_a_head_without_an_end_is_given_up(odd_server, kind):
    odd_server.serve = getattr(odd_server, kind)
    begun = time.monotonic()
    with pytest.raises(Endless, match=r"the head of the answer was not whole within 0\.3 s"):
        served.Served(opening(odd_server), 0.3)
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize("serve", [trailing, sizing])
def test_a_body_that_sends_nothing_but_its_frame_is_given_up(odd_server, monkeypatch, serve):
    monkeypatch.setattr(served, "WINDOW", 0.3)
    odd_server.serve = serve
    target, begun = io.BytesIO(), time.monotonic()
    with served.Served(opening(odd_server)) as answer, pytest.raises(Endless, match="a piece of the answer"):
        bounded_copy(answer, target, 10)
    assert time.monotonic() - begun < 3 and len(target.getvalue()) <= 1


def test_a_whole_answer_is_as_it_was_sent(odd_server):
    body = bytes(range(256)) * 20000
    odd_server.serve = lambda connection, *_more: connection.sendall(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX: y\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )
    target = io.BytesIO()
    with served.Served(opening(odd_server)) as answer:
        assert answer.head.headers["X"] == "y" and answer.head.getcode() == 200
        assert bounded_copy(answer, target, len(body)) == len(body)
    assert target.getvalue() == body


def test_an_error_is_that_of_the_other_end(odd_server):
    odd_server.serve = lambda connection, *_more: connection.sendall(
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    )
    with pytest.raises(urllib.error.HTTPError, match="404"):
        served.Served(opening(odd_server))


def test_who_leaves_ends_the_thread(odd_server):
    before = set(threading.enumerate())
    with served.Served(opening(odd_server)) as answer:
        answer.read1(1)
        (reader,) = [
            one for one in set(threading.enumerate()) - before if getattr(one, "_target", None) == answer._read
        ]
    reader.join(5)
    assert not reader.is_alive()
