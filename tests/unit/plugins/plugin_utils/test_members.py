# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engines behind a router are no part of its digest where they can be changed while it runs; else the router restarts with another list."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.placement_kept import read_record
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers.join_members import PROGRAM
from ansible_collections.ascend.inference.plugins.plugin_utils.views.service_states import service_states
from ansible_collections.ascend.inference.plugins.plugin_utils.views.service_tree import files

CPU = {
    "inference_engine": "vllm_cpu",
    "inference_runtime": "supervisor",
    "inference_model": {"path": "/m", "name": "m"},
}
NPU = {"inference_hardware": "a3", "inference_model": {"path": "/m", "name": "m"}, "inference_interface": "eth0"}


def planned(variables, decode, address="192.0.2.1", prefill=2, **more):
    """A plan with ``decode`` decode engines, and its router."""
    hosts = {"n1": {"groups": ["prefill", "decode"], "variables": {"ansible_host": address}}}
    sizes = {"prefill": {"instances": prefill}, "decode": {"instances": decode}}
    plan = launch_plan({**variables, "inference_pools": sizes, **more}, hosts)
    return plan, next(service for service in plan["services"] if service["kind"] == "router")


@pytest.mark.parametrize(
    ("variables", "api"),
    [
        (CPU, "workers"),
        ({**NPU, "inference_release": "0.23.0"}, "instances"),
        ({**NPU, "inference_release": "0.18.0"}, ""),
    ],
)
def test_another_number_of_engines_restarts_the_router_only_without_an_api(variables, api):
    (plan, two), (_plan, three) = planned(variables, 2), planned(variables, 3)
    assert plan.get("members", {}).get("api", "") == api
    assert (two["digest"] == three["digest"]) == bool(api)
    assert two["argv"] != three["argv"]
    if api:
        assert [engine["name"] for engine in plan["members"]["engines"]] == [
            "decode-0",
            "decode-1",
            "prefill-0",
            "prefill-1",
        ]


def test_a_router_keeps_its_api_when_one_engine_of_each_pool_is_left():
    def single(deployed):
        hosts = {"n1": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "192.0.2.1"}}}
        sizes = {"prefill": {"instances": 1}, "decode": {"instances": 1}}
        placement = read_record(json.loads(json.dumps(deployed["placement"])))
        return launch_plan({**CPU, "inference_pools": sizes}, hosts, (), placement)

    (several, router), (alone, _router) = planned(CPU, 2, prefill=1), planned(CPU, 1, prefill=1)
    kept = single(several)
    assert next(service for service in kept["services"] if service["kind"] == "router")["digest"] == router["digest"]
    assert kept["members"]["api"] == "workers"
    assert single(kept) == kept, "also the next time"
    assert single(alone) == alone and "members" not in alone


def test_other_arguments_still_restart_the_router():
    found = [
        planned(CPU, 2, inference_router={"args": {"policy": policy}})[1]["digest"]
        for policy in ("random", "round_robin")
    ]
    assert found[0] != found[1]


def test_run_sh_sources_the_engines_and_has_no_other():
    _plan, router = planned({**NPU, "inference_release": "0.23.0"}, 2)
    script = router["members"]["files"][0]
    assert (
        script["path"]
        == router["members"]["script"]
        == "/opt/ascend-inference/deployments/inference/services/router/members.sh"
    )
    assert "--decoder-hosts" not in router["members"]["argv"]
    shell = f'{script["content"]}\nprintf "%s\\n" "$@"'
    done = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=True)
    assert sorted([*router["members"]["argv"], *done.stdout.split()]) == sorted(router["argv"])


def test_the_engines_are_written_and_restart_nothing():
    plan, router = planned(CPU, 2)
    written = {file["path"].rpartition("/")[2] for file in files([router])}
    assert written == {"join_members.py", "members.sh", "members.json"}
    (state,) = service_states(plan, [router])
    assert [path for path in state["newer"] if "/members." in path] == []
    assert [path for path in state["newer"] if path.endswith("join_members.py")]


def test_single_engines_keep_the_plain_router_and_addresses_with_colons_have_no_api():
    plan, router = planned(CPU, 1, prefill=1)
    assert "--enable-igw" not in router["argv"] and "members" not in plan and "members" not in router
    plan, _router = planned({**NPU, "inference_release": "0.23.0"}, 2, "fd00::1")
    assert "members" not in plan


def test_the_program_adds_each_engine_once_it_answers(tmp_path):
    """Others do not wait for an engine that sends a header without an end, nor is one added in whose place another address answers."""
    added, asked, hung = [], {}, {"calls": 0, "ended": threading.Event()}

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *unused):
            pass

        def do_GET(self):
            # engines and router are one server here; the second engine answers at its third question
            name = self.path.split("/")[1]
            asked[name] = asked.get(name, 0) + 1
            if name == "hung":
                hung["calls"] += 1
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
                with contextlib.suppress(OSError):
                    while not hung["ended"].wait(0.2):
                        self.wfile.write(b"x")
                return
            if name == "moved":
                self.send_response(302)
                self.send_header("Location", "/first/health")
                self.end_headers()
                return
            self.send_response(200 if name != "second" or asked[name] >= 3 else 503)
            self.end_headers()

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            added.append((self.path, body))
            if len(added) == 2:  # the file is read in every round
                (tmp_path / "members.json").write_text(json.dumps({"model": "m", "members": []}))
            self.send_response(200)
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    members = [{"url": f"{base}/{name}", "worker_type": "decode"} for name in ("first", "second")]
    odd = [{"url": f"{base}/{name}", "worker_type": "decode"} for name in ("hung", "moved")]
    (tmp_path / "members.json").write_text(json.dumps({"model": "m", "members": odd + members}))
    (tmp_path / "join.py").write_text(PROGRAM.replace("worker.join(5)", "worker.join(0.5)"))
    argv = [sys.executable, str(tmp_path / "join.py"), f"{base}/router", str(tmp_path / "members.json")]
    subprocess.run(argv, check=True, timeout=60)
    assert hung["calls"]
    hung["ended"].set()
    server.shutdown()
    server.server_close()
    assert added == [("/router/workers", {**member, "model_id": "m"}) for member in members]
    assert asked["second"] >= 3
