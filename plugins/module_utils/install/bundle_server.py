# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The server of a rack: hands the files of a folder to hosts by HTTP. A program of its own, which needs nothing but Python 3.7.

python3 bundle_server.py FOLDER [--address ADDRESS] [--port PORT]

It reads and never writes. A client that is slow or opens many connections cannot keep it from the others: the head of a request has to be
complete in time, the answer has to be read at a rate, and connections are counted.
"""

from __future__ import annotations

import argparse
import hmac
import io
import os
import re
import socket
import stat
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from urllib.parse import unquote

HEAD = 20.0  # seconds for the whole head of a request, from the connection on; less than a host tries again for
GRACE = 60.0  # seconds after which the average of an answer counts
RATE = 256 * 2**10  # bytes a second; hosts of a rack read hundreds of times faster
CONNECTIONS = 64  # at the same time
WAITING = 16  # of one address whose request is not complete: whoever only connects does not take the places of all
CHUNK = 2**18
RANGE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})", re.ASCII)
OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 10\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class TooSlow(OSError):
    """A client that did not send or read in time; its connection is closed."""


class Server(ThreadingMixIn, HTTPServer):
    """Serves ``folder``. ``limits``: ``head`` and ``grace`` in seconds, ``rate`` in bytes a second, ``connections``, ``waiting``.

    With a ``token``, only to who sends it (RFC 6750, Authorization: Bearer).
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, folder, limits=None, token=""):
        self.token, self.folder = token, os.path.realpath(folder)
        self.limits = {"head": HEAD, "grace": GRACE, "rate": RATE, "connections": CONNECTIONS, "waiting": WAITING}
        self.waiting = {}
        self.limits.update(limits or {})
        self.free = threading.BoundedSemaphore(self.limits["connections"])
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)

    def server_bind(self):
        """Without the name of the host, whose lookup may hang."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request, client_address):
        """A thread for the connection, or 503 if there are as many as may be."""
        others = list(self.waiting.values()).count(client_address[0])
        if others >= self.limits["waiting"] or not self.free.acquire(blocking=False):
            try:
                request.setblocking(False)
                request.send(BUSY)
            except OSError:
                pass
            self.shutdown_request(request)
            return
        self.waiting[request] = client_address[0]
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread was started, which would release it
            self.waiting.pop(request, None)
            self.free.release()
            raise

    def process_request_thread(self, request, client_address):
        """One connection, which is counted until its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.waiting.pop(request, None)
            self.free.release()

    def handle_error(self, request, client_address):
        """A client that goes away or is too slow is one line, not a traceback."""
        error = sys.exc_info()[1]
        note(client_address, f"{type(error).__name__}: {error}")


def note(client, text):
    """One line of the log; a client's text cannot write another one."""
    sys.stderr.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {client[0]} {ascii(text)[1:-1]}\n")
    sys.stderr.flush()  # before Python 3.9 it is buffered if it is no terminal


class _Timed(io.RawIOBase):
    """Reads from a connection until a moment, however often the client sends a byte."""

    def __init__(self, connection, until):
        super().__init__()
        self.connection, self.until = connection, until

    def readable(self):
        return True

    def readinto(self, buffer):
        left = self.until - time.monotonic()
        try:
            if left <= 0:
                raise socket.timeout()
            self.connection.settimeout(left)
            return self.connection.recv_into(buffer)
        except socket.timeout as error:
            raise TooSlow("the head of the request was not complete in time") from error


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.rfile.close()
        until = time.monotonic() + self.server.limits["head"]
        self.rfile = io.BufferedReader(_Timed(self.connection, until))

    def handle(self):
        """One request for each connection: the head of the next one would have no limit of its own."""
        self.handle_one_request()

    def log_message(self, *args):
        note(self.client_address, args[0] % args[1:])

    def version_string(self):
        """Nothing about versions."""
        return "bundle"

    def do_GET(self):
        """The file, or a part of it."""
        self._answer(True)

    def do_HEAD(self):
        """The same without the file."""
        self._answer(False)

    def do_POST(self):
        """No method but GET and HEAD."""
        self._short(405, [("Allow", "GET, HEAD")])

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = do_POST

    def send_error(self, code, message=None, explain=None):
        """No page that repeats what the client sent."""
        self._short(code)

    def _short(self, code, headers=()):
        self.server.waiting.pop(self.request, None)
        self.connection.settimeout(self.server.limits["grace"])
        self.send_response(code)
        for name, value in [*headers, ("Content-Length", "0"), ("Connection", "close")]:
            self.send_header(name, value)
        self.end_headers()

    def _answer(self, whole):
        self.server.waiting.pop(self.request, None)
        given = self.headers.get("Authorization", "").encode("utf-8", "replace")
        if self.server.token and not hmac.compare_digest(given, f"Bearer {self.server.token}".encode()):
            self._short(401, [("WWW-Authenticate", "Bearer")])
            return
        try:
            descriptor = opened(self.server.folder, self.path)
        except OSError:
            self._short(404)
            return
        with os.fdopen(descriptor, "rb", buffering=0) as stream:
            size = os.fstat(descriptor).st_size
            first, last = part_of(self.headers, size)
            partial = (first, last) != (0, size - 1)
            if partial and first > last:
                self._short(416, [("Content-Range", f"bytes */{size}")])
                return
            self.connection.settimeout(self.server.limits["grace"])
            self.send_response(206 if partial else 200)
            if partial:
                self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
            for name, value in (
                ("Content-Type", "application/octet-stream"),
                ("Content-Length", str(last - first + 1)),
                ("Accept-Ranges", "bytes"),
                ("Connection", "close"),
            ):
                self.send_header(name, value)
            self.end_headers()
            if whole:
                stream.seek(first)
                self._send(stream, last - first + 1)

    def _send(self, stream, left):
        """Send bytes; a client that has read less than the rate on average is cut, once the grace is over."""
        start, sent = time.monotonic(), 0
        while left:
            content = memoryview(stream.read(min(left, CHUNK)))
            if not content:
                raise TooSlow("the file became shorter while it was sent")
            left -= len(content)
            while content:
                until = start + max(self.server.limits["grace"], sent / self.server.limits["rate"])
                try:
                    remaining = until - time.monotonic()
                    if remaining <= 0:
                        raise socket.timeout()
                    self.connection.settimeout(remaining)
                    count = self.connection.send(content)
                except socket.timeout as error:
                    raise TooSlow(f"the answer was read too slowly: {sent} bytes") from error
                sent += count
                content = content[count:]


def part_of(headers, size):
    """(first, last) byte of an answer; last is before first if the file has none of the range. Several ranges are no range."""
    found = RANGE.fullmatch(headers.get("Range", "").strip()) if "If-Range" not in headers else None
    first, last = found.groups() if found else ("", "")
    if not (first or last) or (first and last and int(first) > int(last)):
        return 0, size - 1
    if not first:
        return (max(size - int(last), 0), size - 1) if int(last) else (1, 0)
    if int(first) >= size:
        return 1, 0
    return int(first), min(int(last), size - 1) if last else size - 1


def opened(folder, target):
    """A descriptor of the regular file that a request names, within ``folder`` also through links. Raises ``OSError``."""
    names = unquote(target.partition("?")[0], errors="surrogateescape").split("/")
    if names[0] or len(names) < 2 or any(name in ("", ".", "..") or "\0" in name for name in names[1:]):
        raise FileNotFoundError(target)
    real = os.path.realpath(os.path.join(folder, *names[1:]))
    inside = os.path.relpath(real, folder).split(os.sep)
    if inside[0] in ("..", "."):
        raise FileNotFoundError(target)
    # Name by name, because a folder may become a link after the comparison.
    descriptor = os.open(folder, OPEN | os.O_DIRECTORY)
    for place, name in enumerate(inside):
        more = os.O_DIRECTORY if place < len(inside) - 1 else os.O_NONBLOCK  # a pipe would wait for a writer
        try:
            following = os.open(name, OPEN | more, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = following
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(target)
    return descriptor


def main(arguments=None):
    """Serve until the program is ended."""
    parser = argparse.ArgumentParser(description="Hand the files of a folder to hosts by HTTP.")
    parser.add_argument("folder", help="the folder of the bundle")
    parser.add_argument("--address", default="0.0.0.0", help="the address to listen at (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="the port (default: %(default)s)")
    given = parser.parse_args(arguments)
    if not os.path.isfile(os.path.join(given.folder, "manifest.json")):
        parser.error(f"{given.folder} has no manifest.json. Fix: name the folder of a bundle")
    server = Server((given.address, given.port), given.folder)
    note(server.server_address, f"serves {server.folder} at port {server.server_port}")
    server.serve_forever()


if __name__ == "__main__":
    main()
