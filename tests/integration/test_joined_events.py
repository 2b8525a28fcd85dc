# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Upstream's proxies send two events of a stream as one if the line ends between them arrive later; such an answer is told from a lost one.

The proxies are real, the engine sends what a network may make of an answer: TCP keeps bytes, not events.
"""

from __future__ import annotations

import http.server
import json
import pathlib
import subprocess
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Target, ask
from ansible_collections.ascend.inference.plugins.module_utils.verify.answers import read_stream
from ansible_collections.ascend.inference.tests.integration._playbook import free_range
from ansible_collections.ascend.inference.tests.simulator import upstream_proxies

CACHE = pathlib.Path(__file__).resolve().parents[2] / ".cache" / "upstream"
SCRIPTS = ("load_balance_proxy_server_example.py", "load_balance_proxy_layerwise_server_example.py")
WORDS = (" one", " two", " three")


class Engine(http.server.BaseHTTPRequestHandler):
    """Prefill and decode. ``late``: the events, by number, whose line ends arrive later."""

    protocol_version = "HTTP/1.1"
    late: tuple[int, ...] = ()

    def do_POST(self):
        """Answer a completion."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        if not body.get("stream"):
            answer = json.dumps({"choices": [{"text": "x"}], "kv_transfer_params": {"remote_host": "here"}}).encode()
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
            return
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, word in enumerate(WORDS):
            reason = "length" if number == len(WORDS) - 1 else None
            self.event(
                json.dumps({"choices": [{"index": 0, "text": word, "finish_reason": reason}]}), number in self.late
            )
        self.event("[DONE]", False)
        self.wfile.write(b"0\r\n\r\n")

    def event(self, text, late):
        """One event as a chunk."""
        data = f"data: {text}\n\n".encode()
        whole = b"%x\r\n" % len(data) + data + b"\r\n"
        cut = -4 if late else len(whole)  # the line ends of the event, and that of the chunk
        for piece in (whole[:cut], whole[cut:]):
            self.wfile.write(piece)
            time.sleep(0.1)

    def log_message(self, *unused):
        """Nothing."""


@pytest.fixture(params=SCRIPTS)
def proxy(request):
    """URL of a proxy in front of the engine."""
    port = free_range(2)
    engine = [("127.0.0.1", port + 1)]
    try:
        argv, environment = upstream_proxies.command(
            "0.23.0.post1", CACHE, request.param, "127.0.0.1", port, engine, engine
        )
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"the package can't be fetched here: {error}")
    server = http.server.ThreadingHTTPServer(engine[0], Engine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    process = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    target = Target(f"http://127.0.0.1:{port}")
    end = time.monotonic() + 60
    while ask(target, "/healthcheck", timeout=2).status != 200 and time.monotonic() < end:
        time.sleep(0.2)
    yield target
    process.terminate()
    process.wait(20)
    server.shutdown()


def test_joined_events_are_no_lost_answer(proxy, monkeypatch):
    body = {"model": "tiny", "prompt": "a", "max_tokens": len(WORDS), "stream": True}
    found = {}
    for late in ((), (0,), (len(WORDS) - 1,)):
        monkeypatch.setattr(Engine, "late", late)
        answer = read_stream(ask(proxy, "/v1/completions", body))
        assert (answer.text, answer.finish_reason) == ("".join(WORDS), "length"), answer
        found[late] = answer.problem
    assert found == {(): "", (0,): "joined", (len(WORDS) - 1,): "joined"}, "upstream joins no events any more"
