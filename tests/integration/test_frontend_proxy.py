# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client with a key against the proxy of vLLM-Ascend 0.23.0, the published script, behind the planned frontend with the real HAProxy.

The proxy starts with the planned arguments. Whoever reaches its port takes over the service; the same requests fail at the frontend.
"""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import subprocess
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.integration._frontend import SECRETS, ask, install, started, stop
from ansible_collections.ascend.inference.tests.integration._playbook import free_ports
from ansible_collections.ascend.inference.tests.simulator import upstream_proxies

CACHE = pathlib.Path(__file__).resolve().parents[2] / ".cache/upstream"
VERSION, RELEASE = "0.23.0.post1", "0.23.0"
PROMPT = json.dumps({"model": "tiny", "prompt": "of tenant A", "max_tokens": 4}).encode()


class Engine(http.server.BaseHTTPRequestHandler):
    """Answers like an engine, with its own name as text, and keeps the keys and prompts that it gets."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer({"data": []})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.headers.get("Authorization"), request.get("prompt")))
        self.answer(
            {"choices": [{"index": 0, "text": self.server.name, "finish_reason": "length"}], "kv_transfer_params": {}}
        )

    def answer(self, content):
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        """Disable logging."""


def engine(name, port, running):
    """A started engine; ``seen`` are its requests' keys and prompts."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Engine)
    server.name, server.seen = name, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    running.append(server.shutdown)
    return server


def planned(root, ports):
    """The planned router and frontend of the NPU engine."""
    variables = {
        "inference_release": RELEASE,
        "inference_hardware": "a3",
        "inference_runtime": "supervisor",
        "inference_interface": "lo",
        "inference_root": str(root),
        "inference_rules_ignore": [
            "SUPERVISOR-SOCKET",
            "SOCKET-PATH",
        ],  # no supervisor runs here, and folders of tests have long names
        "inference_model": {"path": "/models/tiny", "name": "tiny"},
        "inference_pools": {
            "prefill": {"tensor_parallel_size": 2, "ports": {"api": ports["prefill"]}},
            "decode": {"tensor_parallel_size": 2, "ports": {"api": ports["decode"]}},
        },
        "inference_secrets": SECRETS,
        "inference_router": {
            "port": ports["router"],
            "frontend": "haproxy",
            "frontend_port": ports["frontend"],
            "frontend_status_port": ports["status"],
        },
    }
    host = {"groups": ["prefill", "decode", "router"], "variables": {"inference_address": "127.0.0.1"}}
    services = {service["kind"]: service for service in launch_plan(variables, {"here": host})["services"]}
    return services["router"], services["frontend"]


def started_proxy(router, log):
    """The published script with the planned arguments, except that it looks for added engines more often."""
    try:
        script = upstream_proxies.fetch(VERSION, CACHE) / os.path.basename(router["argv"][1])
        python = upstream_proxies.python(CACHE)
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"upstream's scripts cannot be fetched here: {error}")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CACHE / "vllm-stub")}
    environment.update({name: SECRETS[key] for name, key in router["secret_env"].items()})
    argv = [str(python), str(script), *router["argv"][2:], "--waiting-retry-interval", "0.5"]
    with open(log, "w") as output:
        return subprocess.Popen(argv, env=environment, stdout=output, stderr=output)


@pytest.fixture
def service(tmp_path):
    """Addresses of the proxy and of the frontend, and the real and the attacker's engines by name."""
    install()
    names = ("prefill", "decode", "evil prefill", "evil decode", "router", "frontend", "status")
    ports, running = dict(zip(names, free_ports(len(names)), strict=True)), []
    router, frontend = planned(tmp_path / "root", ports)
    assert router["argv"][1].endswith("load_balance_proxy_server_example.py")
    try:
        engines = {name: engine(name, ports[name], running) for name in names[:4]}
        proxy = started_proxy(router, tmp_path / "proxy.log")
        running.append(proxy.kill)
        direct, door = (f"http://127.0.0.1:{ports[name]}" for name in ("router", "frontend"))
        wait(lambda: ask(direct + "/healthcheck")[0] == 200, proxy, tmp_path / "proxy.log")
        front = started(frontend, tmp_path / "front.log")
        running.append(lambda: stop(front))
        yield direct, door, engines
    finally:
        for end in reversed(running):
            end()


def wait(done, proxy=None, log=None):
    """Wait until ``done`` is true."""
    end = time.monotonic() + 60
    while True:
        assert proxy is None or proxy.poll() is None, log.read_text()
        try:
            if done():
                return
        except OSError:
            pass
        assert time.monotonic() < end, log.read_text() if log else "too late"
        time.sleep(0.2)


def take_over(url, engines, key):
    """Add the attacker's engines to the proxy, and remove the real ones -> statuses of the four requests."""
    statuses = []
    for change, prefix in (("add", "evil "), ("remove", "")):
        if change == "remove" and statuses == [200, 200]:
            wait(lambda: json.loads(ask(url + "/healthcheck")[1]).get("decode_instances") == 2)
        for role in ("prefill", "decode"):
            address = f"127.0.0.1:{engines[prefix + role].server_port}"
            body = json.dumps({"type": role, "instances": [address]}).encode()
            statuses.append(ask(f"{url}/instances/{change}", key, body)[0])
    return statuses


def test_a_client_key_does_not_reach_what_takes_over_the_service(service):
    direct, door, engines = service
    right = json.loads(ask(door + "/v1/completions", "first.Key+1", PROMPT)[1])["choices"][0]["text"]
    assert right == "decode" and engines["decode"].seen == [("Bearer backends-own", "of tenant A")]
    assert take_over(door, engines, "second-KEY") == [404] * 4
    assert ask(door + "/reset_prefix_cache", "second-KEY", b"{}")[0] == 404
    assert json.loads(ask(direct + "/healthcheck")[1])["decode_instances"] == 1
    # On the proxy's own port, without any key, the same requests succeed: they are what the frontend keeps from clients.
    assert take_over(direct, engines, None) == [200] * 4

    def taken():
        return (
            json.loads(ask(door + "/v1/completions", "first.Key+1", PROMPT)[1])["choices"][0]["text"] == "evil decode"
        )

    wait(taken)
    assert ("Bearer backends-own", "of tenant A") in engines["evil prefill"].seen
