# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An entry, a router and two engines over HTTP, each with its delay, and a program that sends single requests as ``vllm bench serve`` reports them."""

from __future__ import annotations

import http.client
import http.server
import threading
import time

from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_bench_passage import (
    NORMAL,
    REST,
    STAGES,
    Engines,
)

PROGRAM = """
import http.client, json, sys, time
folder, name = (sys.argv[sys.argv.index(option) + 1] for option in ("--result-dir", "--result-filename"))
connection, taken = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1])), []
for number in range(int(sys.argv[2])):
    begin = time.monotonic()
    connection.request("POST", "/v1/completions", "{}")
    assert connection.getresponse().read() == b"{}"
    taken.append(1000 * (time.monotonic() - begin))
mean = sum(taken) / len(taken)
known = {"completed": len(taken), "failed": 0, "output_lens": [2] * len(taken), "errors": [""] * len(taken)}
json.dump({**known, "mean_e2el_ms": mean, "mean_ttft_ms": mean / 2}, open(folder + "/" + name, "w"))
"""


class Serving(Engines):
    """The engines behind a router, and that behind an entry. Each has its delay for every request, also for a list of models."""

    def __init__(self, delays, router_lists=True, entry_lists=True):
        super().__init__(delays)
        self.waited = {"entry": [], "router": []}  # what the sleeps really took
        # The client's time that no engine counts is that of entry and router here, and of nothing else.
        self.delays[REST] = 0
        self.between = {"entry": NORMAL, "router": NORMAL} | {
            name: delays[name] for name in delays if name not in STAGES
        }
        self.routers = [self.serve(self.router(router_lists))]
        self.routers.append(self.serve(self.entry(entry_lists)))
        self.ports = {"router": self.routers[0].server_port, "entry": self.routers[1].server_port}

    def serve(self, handler):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def wait(self, name):
        begin = time.monotonic()
        time.sleep(self.between[name])
        self.waited[name].append(time.monotonic() - begin)

    def router(self, lists):
        outer = self

        class Router(Proxy):
            def do_GET(self):
                outer.wait("router")
                self.answer(b'{"data": []}') if lists else self.answer(b"no such path", 404)

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                outer.wait("router")
                outer.request()
                self.answer(b"{}")

        return Router

    def entry(self, lists):
        outer = self

        class Entry(Proxy):
            def do_GET(self):
                self.pass_on("GET") if lists else self.answer(b"refused", 403)

            def do_POST(self):
                self.pass_on("POST", self.rfile.read(int(self.headers["Content-Length"])))

            def pass_on(self, method, body=None):
                outer.wait("entry")
                connection = http.client.HTTPConnection("127.0.0.1", outer.ports["router"])
                connection.request(method, self.path, body)
                response = connection.getresponse()
                self.answer(response.read(), response.status)
                connection.close()

        return Entry

    def close(self):
        for server in (*self.routers, self.server):
            server.shutdown()
            server.server_close()

    def ways(self):
        common = {"key": "clients", "ca_path": "", "server_name": ""}
        return [{"name": name, "url": f"http://127.0.0.1:{self.ports[name]}", **common} for name in ("entry", "router")]


class Proxy(http.server.BaseHTTPRequestHandler):
    """One connection for several requests, as clients use it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        pass
