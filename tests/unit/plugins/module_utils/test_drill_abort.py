# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A drill makes an engine a black hole: requests are broken off, /health answers, and nothing remains of it."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.drill import abort, left, processes
from ansible_collections.ascend.inference.plugins.module_utils.drill.fault import FaultError
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import state
from ansible_collections.ascend.inference.plugins.modules import service_fault

from .test_drill import Runtime, until

ENGINE = """
import os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Engine(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.4)
        self.do_GET()

    def log_message(self, *unused):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
server.handle_error = lambda *unused: None
print(server.server_port, flush=True)
os.fork()  # what accepts is in two processes, as with several API servers
server.serve_forever()
"""


class Engine:
    """Its processes, and its clients."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", ENGINE], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.port = int(self.process.stdout.readline())
        until(lambda: len(processes.tree(self.process.pid)) == 2)
        self.health = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)

    def ask(self):
        """The status of a request; 0 if it was broken off."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("POST", "/v1/completions", b"{}")
            return connection.getresponse().status
        except (http.client.HTTPException, OSError):
            return 0
        finally:
            connection.close()

    def healthy(self):
        """On one connection, which stays open between two questions."""
        self.health.request("GET", "/health")
        reply = self.health.getresponse()
        return reply.status == 200 and reply.read() == b"ok"


@pytest.fixture
def engine():
    made = Engine()
    yield made
    os.killpg(made.process.pid, 9)
    made.process.wait()
    made.process.stdout.close()


def test_each_request_is_broken_off_and_health_answers_until_the_time_is_over(engine):
    counted = []
    running = threading.Thread(
        target=lambda: counted.append(
            abort.abort("decode-1", processes.tree(engine.process.pid), engine.port, 3.0, lambda: True)
        )
    )
    assert engine.ask() == 200 and engine.healthy()
    running.start()
    until(lambda: engine.ask() == 0)
    asked = [(engine.ask(), engine.healthy()) for _number in range(8)]
    assert asked == [(0, True)] * 8
    running.join()
    assert counted[0] >= 9 and engine.ask() == 200 and engine.healthy()


def test_it_ends_with_its_module(engine):
    code = (
        "import sys; from ansible_collections.ascend.inference.plugins.module_utils.drill import abort, processes; "
        "abort.abort('d', processes.tree(int(sys.argv[1])), int(sys.argv[2]), 60, lambda: True)"
    )
    argv = [sys.executable, "-c", code, str(engine.process.pid), str(engine.port)]
    module = subprocess.Popen(argv, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    try:
        until(lambda: engine.ask() == 0)
    finally:
        module.kill()
        module.wait()
    assert engine.ask() == 200


def test_the_next_run_ends_it(engine, monkeypatch, tmp_path):
    """The controller was killed; the next run that locks the deployment removes the record of the fault."""
    base = tmp_path / "inference"
    base.mkdir()
    service = {"name": "decode-1", "unit": "unit", "url": f"http://127.0.0.1:{engine.port}/health"}
    runtime = Runtime(engine.process.pid, [state("running", True, start_id=1)])
    monkeypatch.setattr(service_fault, "runtime_of", lambda *unused: runtime)
    given = {"runtime": "", "settings": {}, "services": [service], "part": "main", "action": "abort", "timeout": 9}
    params = {**given, "seconds": 60.0, "times": 1, "directory": str(base)}
    results = []
    running = threading.Thread(
        target=lambda: results.append(service_fault.run(type("Module", (), {"params": params, "check_mode": False})))
    )
    begun = time.monotonic()
    running.start()
    until(lambda: engine.ask() == 0)
    assert "it breaks off no request any more" in left.resume(str(base))
    running.join(20)
    (result,) = results
    assert result["aborted"]["decode-1"] > 0 and 0 < result["ended"] - result["begun"] < 30
    assert time.monotonic() - begun < 30 and result["recovered"]["decode-1"] < 5 and engine.ask() == 200


def test_nothing_is_broken_off_where_it_cannot_be(engine, monkeypatch):
    found = processes.tree(engine.process.pid)
    with pytest.raises(FaultError, match="no process of decode-1 listens on port 1. No request was broken off"):
        abort.abort("decode-1", found, 1, 60, lambda: True)
    monkeypatch.setattr(abort, "PIDFD_GETFD", 9999)  # a number that no kernel knows
    with pytest.raises(FaultError, match="Function not implemented.*Linux 5.6.*Fix: use action: pause"):
        abort.abort("decode-1", found, engine.port, 60, lambda: True)
    assert engine.ask() == 200
