# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metaserver of a layerwise proxy for one request: decode tells it where prefill has to push the KV cache.

A decode engine is asked with ``kv_transfer_params.metaserver``, a URL. It posts its own parameters there, and prefill is asked with these
(vLLM-Ascend 0.13.0 to 0.23.0: mooncake_layerwise_connector.py, load_balance_proxy_layerwise_server_example.py).
"""

from __future__ import annotations

import http.server
import socket
import threading
from typing import Any, Callable
from urllib.parse import urlsplit

from ..tools import foreign_json
from .prompts import new_nonce

MOST = 1024 * 1024  # bytes of decode's parameters, which have a number for each block
PATIENCE = 10.0  # seconds for one call to arrive


class Metaserver:
    """Listens on this host's address towards an engine, at a path that nobody else knows, and passes the first call on.

    ``called`` is set by a call. OSError if the engine accepts no connection, or if nothing can listen.
    """

    def __init__(self, engine_url: str, pass_on: Callable[[dict[str, Any]], Any]) -> None:
        self.called = threading.Event()
        self.pass_on, self.lock = pass_on, threading.Lock()
        self.path = f"/{new_nonce()}/v1/metaserver"
        address, family = _own_address(engine_url)
        server = type("Server", (http.server.ThreadingHTTPServer,), {"address_family": family, "daemon_threads": True})
        handler = type("Handler", (_Handler,), {"metaserver": self})
        self.server = server((address, 0), handler)
        host = f"[{address}]" if ":" in address else address
        self.url = f"http://{host}:{self.server.server_port}{self.path}"

    def __enter__(self) -> Metaserver:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *unused: Any) -> None:
        self.server.shutdown()
        self.server.server_close()

    def take(self, params: dict[str, Any]) -> None:
        """Pass the first call on, and wait for it. Decode repeats a call that fails."""
        with self.lock:
            first = not self.called.is_set()
            self.called.set()
        if first:
            self.pass_on(params)


def _own_address(engine_url: str) -> tuple[str, int]:
    """(this host's address towards an engine, its family)."""
    parts = urlsplit(engine_url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    with socket.create_connection((parts.hostname or "", port), timeout=PATIENCE) as connection:
        return str(connection.getsockname()[0]), connection.family


class _Handler(http.server.BaseHTTPRequestHandler):
    metaserver: Metaserver
    timeout = PATIENCE

    def do_POST(self) -> None:
        """Take decode's parameters, and answer when prefill has, as the proxy does."""
        try:
            size = int(self.headers.get("Content-Length") or "")
            if self.path != self.metaserver.path or not 0 < size <= MOST:
                raise ValueError(self.path)
            params = foreign_json.loads(self.rfile.read(size).decode("utf-8"))
            if not isinstance(params, dict):
                raise ValueError("no parameters")
        except (ValueError, OSError):
            self.send_error(404)
            return
        self.metaserver.take(params)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *unused: Any) -> None:
        """Not into the output of the module."""
