# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One HTTP exchange: a reply, or the kind of error.

`http.client` and not `urllib`: proxies of the environment must not be used, and the
time of the first streamed byte is needed.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from typing import Any, NamedTuple
from urllib.parse import urlsplit

BYTES_KEPT = 8 * 1024 * 1024
RANK_HEADER = "X-data-parallel-rank"
PARTIAL_CHAIN = 0x80000  # X509_V_FLAG_PARTIAL_CHAIN; the ssl module has a name for it from Python 3.10 on


class Reply(NamedTuple):
    """status 0 = no answer. error: "" | refused | unreachable | timeout | cut (aborted) | tls.

    seconds: from sending to the last byte. events: (seconds since sending, data) of each server-sent event.
    """

    status: int
    body: str
    seconds: float
    error: str
    detail: str = ""
    events: tuple[tuple[float, str], ...] = ()

    @property
    def never_connected(self) -> bool:
        return self.error in ("refused", "unreachable")


class Target(NamedTuple):
    """A URL with credentials; token "" = without Authorization.

    server_name: the name in the certificate, if it is not the URL's. ca_data: certificates in PEM format that are trusted instead of ca_path.
    check_name: whether the certificate must have the name.
    """

    url: str
    token: str = ""
    ca_path: str = ""
    validate_certs: bool = True
    server_name: str = ""
    ca_data: str = ""
    check_name: bool = True


def ask(
    target: Target,
    path: str,
    payload: dict[str, Any] | None = None,
    timeout: float = 30.0,
    request_id: str = "",
    rank: int | None = None,
    method: str = "",
) -> Reply:
    """GET path, or POST payload as JSON; timeout in seconds bounds the whole exchange. Never raises an exception that a peer can cause.

    method: another method, such as DELETE.
    rank: the data-parallel rank that must serve the request (vLLM 0.11.1 and later read the header), None for any.
    """
    started = time.monotonic()
    body = bytearray()
    events: list[tuple[float, str]] = []
    status = 0
    try:
        connection = connection_of(target, timeout)
    except (OSError, ValueError) as error:  # an unreadable CA file raises OSError
        return Reply(0, "", 0.0, "tls", str(error))
    bound = _Bound(connection, timeout)
    try:
        parts = urlsplit(target.url)
        encoded = None if payload is None else json.dumps(payload).encode("utf-8")
        headers = headers_of(target, encoded is not None, request_id)
        if rank is not None:
            headers[RANK_HEADER] = str(rank)
        bound.connect()
        connection.request(method or ("GET" if encoded is None else "POST"), parts.path + path, encoded, headers)
        response = connection.getresponse()
        status = response.status
        # Proxies of vLLM-Ascend up to 0.17 label every answer application/json, so the request is considered too.
        streamed = response.getheader("Content-Type", "").startswith("text/event-stream") or bool(
            (payload or {}).get("stream")
        )
        _read(response, started, timeout, body, events if streamed else None)
        error, detail = "", ""
    except Exception as problem:  # any exception that a broken peer causes is reported
        error, detail = _name(problem, status), f"{type(problem).__name__}: {problem}"
    finally:
        bound.cancel()
        connection.close()
    if bound.ended:
        error, detail = "timeout", f"no complete answer within {timeout:.0f} s"
    text = body.decode("utf-8", "replace")
    return Reply(status, text, time.monotonic() - started, error, detail, tuple(events))


class _Bound:
    """Ends an exchange at its timeout. The timeout of a socket alone does not: it starts anew with every byte that the peer sends."""

    def __init__(self, connection: http.client.HTTPConnection, seconds: float) -> None:
        self.connection, self.ended = connection, False
        self.socket: Any = None
        self.timer = threading.Timer(seconds, self._end)
        self.timer.daemon = True
        self.timer.start()
        self.cancel = self.timer.cancel

    def connect(self) -> None:
        """Connect, and keep the socket: the connection forgets it once the answer has begun."""
        self.connection.connect()
        self.socket = self.connection.sock

    def _end(self) -> None:
        used = self.socket or self.connection.sock  # the latter in a TLS handshake
        self.ended = True
        if used:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(
                    used, socket.SHUT_RDWR
                )  # not the method of a TLS socket, which another thread uses


def connection_of(target: Target, timeout: float) -> http.client.HTTPConnection:
    """A connection that is not open yet. OSError for a file of certificates that cannot be read, ValueError for a URL that is none."""
    parts = urlsplit(target.url)
    if parts.scheme != "https":
        return http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=timeout)
    named = _NamedConnection(parts.hostname or "", parts.port or 443, timeout=timeout, context=context_of(target))
    named.server_name = target.server_name
    return named


class _NamedConnection(http.client.HTTPSConnection):
    """HTTPS to an address with the server's name, as a client that resolves the name would connect."""

    server_name = ""

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._context.wrap_socket(self.sock, server_hostname=self.server_name or self.host)


def context_of(target: Target) -> ssl.SSLContext:
    """The trust in a target's certificate. Raises OSError for an unreadable CA file."""
    context = ssl.create_default_context(cafile=target.ca_path or None, cadata=target.ca_data or None)
    if target.ca_data:
        context.verify_flags |= PARTIAL_CHAIN  # trusts a certificate that somebody else has signed
    context.check_hostname = target.check_name
    if not target.validate_certs:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def headers_of(target: Target, has_body: bool, request_id: str) -> dict[str, str]:
    """Headers of a request; the key of the target is one of them."""
    headers = {"Accept": "*/*"}
    if has_body:
        headers["Content-Type"] = "application/json"
    if target.token:
        headers["Authorization"] = "Bearer " + target.token
    if request_id:
        headers["X-Request-Id"] = request_id
    return headers


def _read(
    response: http.client.HTTPResponse,
    started: float,
    timeout: float,
    body: bytearray,
    events: list[tuple[float, str]] | None,
) -> None:
    """Fill body (and events) incrementally, so that partial data is kept after an abort."""
    lines = _Lines()
    while len(body) < BYTES_KEPT:
        # Not readline of chunks: it takes a body that ends between two of them for a whole one.
        read = response.read1 if response.chunked else response.read if events is None else response.readline
        piece = read(65536)
        seconds = time.monotonic() - started
        if events is not None:
            found = [line for line in lines.ended_by(piece) if line.startswith(b"data:")]
            events += [(seconds, line[5:].decode("utf-8", "replace").strip()) for line in found]
        if not piece:
            if response.length:  # http.client takes a body that ends before its Content-Length for a whole one
                raise http.client.IncompleteRead(b"", response.length)
            return
        body += piece  # no list of pieces: a peer may send chunks of one byte, and each of them would take 40
        if seconds > timeout:
            raise socket.timeout(f"still sending after {timeout:.0f} s")
    raise http.client.HTTPException(f"more than {BYTES_KEPT} bytes")


class _Lines:
    """The lines of a body that comes in pieces."""

    def __init__(self) -> None:
        self.begun = bytearray()

    def ended_by(self, piece: bytes) -> list[bytes]:
        """The lines that a piece ends, without their ends; the end of the body is an empty piece."""
        self.begun += piece
        if piece and b"\n" not in piece:
            return []
        *ended, last = bytes(self.begun).split(b"\n")
        self.begun = bytearray(last if piece else b"")
        return ended if piece else [last]


def _name(problem: Exception, status: int) -> str:
    if isinstance(problem, socket.timeout):
        return "timeout"
    if isinstance(problem, ssl.SSLError):
        return "tls"
    if isinstance(problem, ConnectionRefusedError):
        return "refused"
    if isinstance(problem, (http.client.HTTPException, ConnectionError)) or status:
        return "cut"
    return "unreachable"
