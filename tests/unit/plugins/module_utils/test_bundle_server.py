# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The server of a rack on real sockets: which files it gives, and that slow or many clients do not keep it from others."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install import bundle_server

BODY = bytes(range(256)) * 4
PATIENCE = 20  # seconds; far more than any limit here


class Rack:
    """A running server with a folder; ``ask`` sends text and reads until the end of the connection."""

    def __init__(self, folder, **limits):
        self.folder = folder
        self.server = bundle_server.Server(("127.0.0.1", 0), str(folder), limits)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def connect(self, receive=0):
        opened = socket.socket()
        if receive:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        opened.settimeout(PATIENCE)
        opened.connect(("127.0.0.1", self.server.server_port))
        return opened

    def ask(self, target, method="GET", *headers):
        """(status, {header in lower case: value}, body)."""
        with self.connect() as opened:
            lines = [f"{method} {target} HTTP/1.1", "Host: rack", *headers, "", ""]
            opened.sendall("\r\n".join(lines).encode("latin-1"))
            head, _empty, body = rest(opened).partition(b"\r\n\r\n")
        first, *others = head.decode("latin-1").split("\r\n")
        return int(first.split()[1]), {line.split(": ")[0].lower(): line.split(": ")[1] for line in others}, body

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(PATIENCE)


def rest(opened):
    """All that comes until the connection ends, also if it is reset."""
    found = b""
    try:
        for content in iter(lambda: opened.recv(2**16), b""):
            found += content
    except ConnectionError:
        pass
    return found


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "bundle"
    (found / "blobs").mkdir(parents=True)
    (found / "manifest.json").write_bytes(b"{}")
    (found / "blobs" / "a b.whl").write_bytes(BODY)
    (found / "empty").write_bytes(b"")
    (tmp_path / "secret").write_bytes(b"secret")
    return found


@pytest.fixture
def started():
    """``started(folder, **limits)`` -> a Rack that is stopped at the end."""
    racks = []

    def start(folder, **limits):
        racks.append(Rack(folder, **limits))
        return racks[-1]

    yield start
    for rack in racks:
        rack.stop()


def test_files_and_their_heads(started, folder):
    rack = started(folder)
    status, headers, body = rack.ask("/blobs/a%20b.whl")
    assert (status, body, headers["content-length"], headers["connection"]) == (200, BODY, "1024", "close")
    status, headers, body = rack.ask("/blobs/a%20b.whl", "HEAD")
    assert (status, body, headers["content-length"]) == (200, b"", "1024")
    assert rack.ask("/empty")[::2] == (200, b"") and rack.ask("/manifest.json?x=1")[::2] == (200, b"{}")


@pytest.mark.parametrize(
    ("given", "status", "first", "end"),
    [
        ("bytes=0-9", 206, 0, 10),
        ("bytes=1000-", 206, 1000, 1024),
        ("bytes=1000-5000", 206, 1000, 1024),
        ("bytes=-24", 206, 1000, 1024),
        ("bytes=-5000", 200, 0, 1024),
        ("bytes=1024-", 416, 0, 0),
        ("bytes=-0", 416, 0, 0),
        ("bytes=9-0", 200, 0, 1024),
        ("bytes=0-1,5-6", 200, 0, 1024),
        ("bytes=-", 200, 0, 1024),
        ("lines=0-1", 200, 0, 1024),
    ],
)
def test_parts_of_files(started, folder, given, status, first, end):
    found, headers, body = started(folder).ask("/blobs/a%20b.whl", "GET", f"Range: {given}")
    assert (found, body) == (status, BODY[first:end])
    expected = {206: f"bytes {first}-{end - 1}/1024", 416: "bytes */1024"}.get(status)
    assert headers.get("content-range") == expected and headers["content-length"] == str(end - first)


def test_a_part_of_another_version_is_not_given(started, folder):
    assert started(folder).ask("/blobs/a%20b.whl", "GET", "Range: bytes=0-9", 'If-Range: "x"')[0] == 200
    assert started(folder).ask("/empty", "GET", "Range: bytes=0-9")[0] == 416


@pytest.mark.parametrize(
    "target",
    ["/../secret", "/blobs/../../secret", "/%2e%2e/secret", "/blobs/%2E%2E/%2e%2e/secret", "//etc/passwd", "/", "/blobs", "/blobs/",
     "/./manifest.json", "/absent", "/manifest.json/", "/manifest.json/x", "/manifest.json%00", "manifest.json", "http://rack/manifest.json",
     "/%ff", "/..%2fsecret", "/out", "/link/secret", "/pipe", "/blobs/up/secret"],
)  # fmt: skip
def test_nothing_else_is_given(started, folder, target):
    (folder / "out").symlink_to(folder.parent / "secret")
    (folder / "link").symlink_to(folder.parent)
    (folder / "blobs" / "up").symlink_to("../..")
    os.mkfifo(str(folder / "pipe"))
    status, _headers, body = started(folder).ask(target)
    assert (status, body) == (404, b"")


def test_links_within_the_folder_are_followed(started, folder):
    (folder / "inside").symlink_to("blobs")
    assert started(folder).ask("/inside/a%20b.whl")[2] == BODY


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_nothing_is_written(started, folder, method):
    status, headers, body = started(folder).ask("/manifest.json", method)
    assert (status, headers["allow"], body) == (405, "GET, HEAD", b"")
    assert (folder / "manifest.json").read_bytes() == b"{}"


def test_what_is_no_request_is_not_repeated(started, folder, capsys):
    rack = started(folder)
    assert rack.ask("/manifest.json", "BREW")[::2] == (501, b"")
    with rack.connect() as opened:
        opened.sendall(b"GET /\x1b[2J<script> and more words HTTP/1.1\r\n\r\n")
        assert b"script" not in rest(opened)
    rack.stop()
    assert "\x1b" not in capsys.readouterr().err


def test_a_head_that_comes_slowly_is_cut_however_often_a_byte_comes(started, folder):
    rack = started(folder, head=0.5)
    with rack.connect() as slow:
        began = time.monotonic()
        slow.settimeout(0.05)
        answer = None
        while answer is None and time.monotonic() < began + PATIENCE:
            try:
                slow.sendall(b"x")
                answer = slow.recv(10)
            except socket.timeout:
                continue
            except ConnectionError:
                answer = b""
        assert answer == b"" and 0.4 < time.monotonic() - began < PATIENCE / 2
    assert rack.ask("/manifest.json")[0] == 200


def test_a_connection_serves_one_request(started, folder):
    with started(folder).connect() as opened:
        opened.sendall(b"GET /manifest.json HTTP/1.1\r\n\r\nGET /manifest.json HTTP/1.1\r\n\r\n")
        assert rest(opened).count(b"HTTP/1.1") == 1


def big(folder, size):
    with (folder / "big").open("wb") as stream:
        stream.truncate(size)


def received(opened, pause, size):
    """Bytes that a client reads which waits between its reads, until the server cuts it."""
    opened.sendall(b"GET /big HTTP/1.1\r\n\r\n")
    found, began = 0, time.monotonic()
    try:
        while time.monotonic() < began + PATIENCE:
            content = opened.recv(2**14)
            if not content:
                break
            found += len(content)
            time.sleep(pause)
    except ConnectionError:
        pass
    assert time.monotonic() - began < PATIENCE
    return found


def test_a_reader_below_the_rate_is_cut_after_the_grace(started, folder):
    size = 256 * 2**20
    big(folder, size)
    rack = started(folder, grace=0.5, rate=200 * 2**20)
    with rack.connect(receive=2**14) as slow:
        assert received(slow, 0.005, size) < size / 4
    assert rack.ask("/manifest.json")[0] == 200


def test_a_reader_that_stops_is_cut(started, folder):
    big(folder, 256 * 2**20)
    rack = started(folder, grace=0.3, rate=2**30, connections=1)
    with rack.connect(receive=2**14) as silent:
        silent.sendall(b"GET /big HTTP/1.1\r\n\r\n")
        waited(lambda: rack.ask("/manifest.json")[0] == 503)
        waited(lambda: rack.ask("/manifest.json")[0] == 200)


def test_a_reader_above_the_rate_is_not_cut_after_the_grace(started, folder):
    size = 4 * 2**20
    big(folder, size)
    with started(folder, grace=0.05, rate=2**10).connect(receive=2**14) as steady:
        assert received(steady, 0.001, size) > size  # with the head


def waited(done):
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_connections_are_counted_and_free_again(started, folder):
    rack = started(folder, connections=2)
    held = [rack.connect() for _each in range(2)]
    try:
        waited(lambda: rack.ask("/manifest.json")[0] == 503)
    finally:
        for opened in held:
            opened.close()
    waited(lambda: rack.ask("/manifest.json")[0] == 200)


def test_the_limits_are_those_of_the_guide():
    server = bundle_server.Server(("127.0.0.1", 0), "/")
    assert server.limits == {"head": 20, "grace": 60, "rate": 256 * 1024, "connections": 64, "waiting": 16}
    server.server_close()


def test_the_program_serves_alone_and_refuses_a_folder_that_is_no_bundle(folder):
    program = [sys.executable, "-I", bundle_server.__file__]
    refused = subprocess.run([*program, str(folder / "blobs")], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "has no manifest.json. Fix:" in refused.stderr
    argv = [*program, str(folder), "--address", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        try:
            port = int(process.stderr.readline().split()[-1])
            with socket.create_connection(("127.0.0.1", port), PATIENCE) as opened:
                opened.sendall(b"GET /manifest.json HTTP/1.1\r\n\r\n")
                assert rest(opened).endswith(b"\r\n\r\n{}")
        finally:
            process.kill()


def test_connections_of_one_address_without_a_request_leave_places_for_others(tmp_path):
    (tmp_path / "a").write_bytes(BODY)
    rack = Rack(tmp_path, connections=4, waiting=2)
    idle = []
    try:
        for dummy in range(2):
            opened = socket.socket()
            opened.bind(("127.0.0.2", 0))
            opened.connect(("127.0.0.1", rack.server.server_port))
            idle.append(opened)
        with socket.socket() as third:
            third.bind(("127.0.0.2", 0))
            third.settimeout(PATIENCE)
            third.connect(("127.0.0.1", rack.server.server_port))
            assert rest(third).startswith(b"HTTP/1.1 503 ")
        assert [rack.ask("/a")[0] for dummy in range(3)] == [200] * 3
        for opened in idle:
            opened.close()
        assert rack.ask("/a")[2] == BODY
    finally:
        rack.stop()
