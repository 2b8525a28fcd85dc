# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SIMULATED: a router of a deployment, at the given port. It answers completions and chats as vLLM does, with one token and its usage, also as a stream."""

import http.server
import json
import sys


class Router(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self._answer({"data": [{"id": "qwen3"}]})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
        choice = {"index": 0, "finish_reason": "length", "text": "x"}
        part = "delta" if asked.get("stream") else "message"
        if self.path.endswith("/chat/completions"):
            choice[part] = {"content": choice.pop("text")}
        answer = {"model": asked["model"], "choices": [choice]}
        if not asked.get("stream"):
            return self._answer({**answer, "usage": usage})
        asked_usage = (asked.get("stream_options") or {}).get("include_usage")
        events = [answer, *([{**answer, "choices": [], "usage": usage}] if asked_usage else [])]
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        return self._send(text.encode(), "text/event-stream")

    def _answer(self, value):
        self._send(json.dumps(value).encode(), "application/json")

    def _send(self, text, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_unused):
        pass


http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Router).serve_forever()
