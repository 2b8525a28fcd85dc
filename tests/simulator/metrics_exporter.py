# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A SIMULATED /metrics page: ``metrics_exporter.py PORT FILE``. Only for tests; it serves nothing else.

FILE is JSON: ``[[name, {labels}, start, step], ...]``; a value is ``start`` and grows by ``step`` each second since the file was written.
"""

from __future__ import annotations

import http.server
import json
import os
import sys
import time


class Page(http.server.BaseHTTPRequestHandler):
    """The page, computed for each request."""

    def do_GET(self):
        if self.path != "/metrics":
            self.send_error(404)
            return
        with open(FILE, encoding="utf-8") as stream:
            age = time.time() - os.fstat(stream.fileno()).st_mtime
            rows = json.load(stream)
        lines = []
        for name, labels, start, step in rows:
            pairs = ",".join(f'{key}="{value}"' for key, value in labels.items())
            lines.append(f"{name}{{{pairs}}} {start + step * age}\n")
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write("".join(lines).encode())

    def log_message(self, *_given):
        pass


PORT, FILE = int(sys.argv[1]), sys.argv[2]
http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Page).serve_forever()
