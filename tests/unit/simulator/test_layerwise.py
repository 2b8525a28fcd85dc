# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MooncakeLayerwiseConnector: decode first, a metaserver in the middle, prefill pushes."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from ansible_collections.ascend.inference.tests.unit.simulator.conftest import ASK_PREFILL, ask, text_of


class Metaserver(ThreadingHTTPServer):
    """The proxy's part: takes the decoder's message and sends the same prompt to the prefill."""

    daemon_threads = True

    def __init__(self, prefill, port):
        super().__init__(("127.0.0.2", port), Handler)
        self.prefill, self.prompt, self.messages = prefill, "", []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def params(self):
        url = f"http://127.0.0.2:{self.server_port}/v1/metaserver"
        return {"do_remote_prefill": True, "do_remote_decode": False, "metaserver": url}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.messages.append(message)
        body = {"prompt": self.server.prompt, "max_tokens": 1, "kv_transfer_params": message}
        self.server.prefill.ask("/v1/completions", body, {"X-Request-Id": message["request_id"][5:-2]})
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_words):
        pass


@pytest.fixture(params=["0.13.0", "0.23.0"])
def pair(cluster, request):
    hosts = [cluster.host(number, release=request.param) for number in (1, 2)]
    prefill, decode = cluster.pair(*hosts, connector="MooncakeLayerwiseConnector", tensor=(2, 2))
    made = Metaserver(prefill, cluster.port())
    yield prefill, decode, made
    made.shutdown()
    made.server_close()


def test_push(pair, prompt):
    prefill, decode, metaserver = pair
    metaserver.prompt = prompt
    header = {"X-Request-Id": "abc"}
    body = {"prompt": prompt, "max_tokens": 9, "kv_transfer_params": metaserver.params}
    status, text = decode.ask("/v1/completions", body, header)
    assert status == 200
    assert metaserver.messages[0]["request_id"] == "cmpl-abc-0"
    assert text_of(json.loads(text)) == text_of(prefill.complete(prompt, 9))
    assert "Send request: cmpl-abc-0 to proxy metaserver: http://" in decode.text


def test_decode_binds_and_prefill_does_not(pair):
    prefill, decode, _metaserver = pair
    word = "KVCacheRecvingLayerThread listening on" if "0.23.0" in decode.text else "Starting listening on path"
    assert decode.text.count(word) == 2
    assert word not in prefill.text


def test_load_balance_proxy_breaks_the_prefill(pair, prompt):
    prefill, _decode, _metaserver = pair
    body = {"prompt": prompt, "max_tokens": 1, "kv_transfer_params": ASK_PREFILL}
    assert prefill.ask("/v1/completions", body)[0] == 500
    text = prefill.died()
    assert "KeyError: 'remote_cached_tokens'" in text or "TypeError: object of type 'NoneType' has no len()" in text


def test_unreachable_metaserver_hangs_and_says_so(pair, prompt):
    _prefill, decode, _metaserver = pair
    params = {"do_remote_prefill": True, "metaserver": "http://127.0.0.2:23699/v1/metaserver"}
    with pytest.raises(socket.timeout):
        ask(decode.address, decode.port, "/v1/completions", {"prompt": prompt, "kv_transfer_params": params}, timeout=2)
    assert "Access metaserver fail" in decode.text
