# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A router that answers at once and keeps what it was asked: what stands behind the twin of an entry, so that no engine computes for a proof."""

from __future__ import annotations

import http.server
import json
import socketserver
import threading
from typing import Any


class StandIn:
    """Listens on a free port of this host. ``seen``: ``(model, Authorization)`` of each request; one with ``hold`` waits for ``release``."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.release = threading.Event()
        self.held, self.closed = 0, False
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One connection."""

            protocol_version = "HTTP/1.1"

            def log_message(self, *given: Any) -> None:
                """Nothing is logged."""

            def do_GET(self) -> None:
                """A check of health."""
                self._answer(b"{}", "application/json")

            def do_POST(self) -> None:
                """A request, with the tokens that it asks for in ``count``: of the prompt, of the completion, cached ones."""
                asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
                outer.seen.append((str(asked.get("model")), self.headers.get("Authorization") or ""))
                if asked.get("hold"):
                    outer.held += 1
                    outer.release.wait(60)
                prompt, completion, cached = asked.get("count") or [0, 0, 0]
                usage = {"prompt_tokens": prompt, "completion_tokens": completion}
                usage["prompt_tokens_details"] = {"cached_tokens": cached}
                if not asked.get("stream"):
                    return self._answer(json.dumps({"choices": [], "usage": usage}).encode(), "application/json")
                events = [{"choices": [{"index": 0}]}] * completion
                if (asked.get("stream_options") or {}).get("include_usage"):
                    events = [*events, {"choices": [], "usage": usage}]
                text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
                return self._answer(text.encode(), "text/event-stream", chunked=True)

            def _answer(self, data: bytes, kind: str, chunked: bool = False) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                length = ("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(len(data)))
                self.send_header(*length)
                self.end_headers()
                self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data) if chunked else data)

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            """Each connection has a thread."""

            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *given: Any) -> None:
                """Whoever left before the answer is no error."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = int(self.server.server_address[1])
        threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True).start()

    def close(self) -> None:
        """From then on connections are refused."""
        self.release.set()
        if not self.closed:
            self.closed = True
            self.server.shutdown()
            self.server.server_close()
