# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated engine whose delays are known, for what a benchmark reports."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time


@contextlib.contextmanager
def known_delays(first: float, further: float):
    """A simulated engine that answers each completion with these seconds between its tokens; its URL, and which answers are wrong."""
    answers = {"count": 0, "empty_every": 0, "short_every": 0}

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            if self.path != "/v1/completions":
                self.send_error(404)
                return
            wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answers["count"] += 1
            tokens = wanted["max_tokens"]
            if answers["empty_every"] and answers["count"] % answers["empty_every"] == 0:
                tokens = 0
            elif answers["short_every"] and answers["count"] % answers["short_every"] == 0:
                tokens //= 2
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for number in range(tokens):
                time.sleep(further if number else first)
                self.event({"choices": [{"index": 0, "text": "word "}]})
            self.event({"choices": [], "usage": {"prompt_tokens": 16, "completion_tokens": tokens}})
            self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def event(self, data):
            self.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")
            self.wfile.flush()

        def log_message(self, *_arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", answers
        server.shutdown()
