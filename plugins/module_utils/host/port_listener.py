# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that listens on inherited sockets for a limited time. Runs on Python 3.7.

``port_probe`` gives its source to an interpreter of its own: ``python - SECONDS BANNER SOURCES READY DESCRIPTOR...``. It therefore imports
only the standard library. It closes the descriptor READY when it can answer. It sends the banner to each connection and waits for the other
side to close first, so that no port stays in TIME_WAIT, in which a service could not bind it. SOURCES is a JSON list of names. Each of them
sends ``done NAME`` when it needs the ports no longer, and gets ``ended``; after the last one the program ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time

MOST_CONNECTIONS = 512  # open at the same time; further ones are closed at once
LAST = 0.5  # seconds for connections that are open after the last source is done
DONE, ENDED = b"done ", b"ended\n"
LONGEST = 10.0  # seconds until an idle connection is closed
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close without TIME_WAIT


def serve(listeners, banner, seconds, sources):
    # type: (t.Iterable[socket.socket], bytes, float, t.Iterable[str]) -> None
    """Accept on all sockets for ``seconds``, or until all ``sources`` are done, if there are any."""
    end, connections, left = time.monotonic() + seconds, {}, set(sources)
    limited = bool(left)
    with selectors.DefaultSelector() as selector:
        for listener in listeners:
            listener.setblocking(False)
            selector.register(listener, selectors.EVENT_READ, None)
        while time.monotonic() < end and (left or connections or not limited):
            for key, _events in selector.select(1.0):
                if key.data is None:
                    _accept(selector, key.fileobj, banner, connections)
                elif _closed(key.fileobj, left):
                    _drop(selector, key.fileobj, connections)
            for connection in [item for item, since in connections.items() if time.monotonic() - since > LONGEST]:
                _drop(selector, connection, connections)
            if limited and not left:
                end = min(end, time.monotonic() + LAST)


def _accept(selector, listener, banner, connections):
    with contextlib.suppress(OSError):
        connection, _peer = listener.accept()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        connection.setblocking(False)
        if len(connections) >= MOST_CONNECTIONS:
            connection.close()
            return
        connections[connection] = time.monotonic()
        selector.register(connection, selectors.EVENT_READ, connection)
        connection.send(banner)


def _closed(connection, left):
    # type: (socket.socket, t.Set[str]) -> bool
    try:
        heard = connection.recv(4096)
        if heard.startswith(DONE) and heard.endswith(b"\n"):
            left.discard(heard[len(DONE) : -1].decode("utf-8", "replace"))
            connection.send(ENDED)
        return not heard
    except BlockingIOError:
        return False
    except OSError:
        return True


def _drop(selector, connection, connections):
    connections.pop(connection, None)
    selector.unregister(connection)
    connection.close()


def _stop(_number, _frame):
    raise SystemExit(0)


def main(arguments):
    # type: (t.List[str]) -> None
    """Serve the descriptors that follow seconds, banner, sources and the descriptor to close; SIGTERM ends it."""
    signal.signal(signal.SIGTERM, _stop)
    listeners = [socket.socket(fileno=int(number)) for number in arguments[4:]]
    os.close(int(arguments[3]))
    serve(listeners, arguments[1].encode() + b"\n", float(arguments[0]), json.loads(arguments[2]))


if __name__ == "__main__":
    main(sys.argv[1:])
