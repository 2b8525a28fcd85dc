# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SIMULATED: a router of a deployment, at the given port. It answers completions and chats as vLLM does, with one token and its usage."""

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
        self._answer({"model": asked["model"], "choices": [{"text": "x", "message": {"content": "x"}}], "usage": usage})

    def _answer(self, value):
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_unused):
        pass


http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Router).serve_forever()
