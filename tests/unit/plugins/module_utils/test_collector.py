# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collector of NPU metrics with the simulated tools: what is not known is never good."""

from __future__ import annotations

import http.server
import json
import re
import threading

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.collector import metrics, program, proxies
from ansible_collections.ascend.inference.tests.simulator import ascend_cluster


@pytest.fixture(name="host")
def _host(tmp_path, monkeypatch):
    monkeypatch.setattr(program, "davinci_devices", lambda: [0, 1, 2, 3])
    made = ascend_cluster.cluster(tmp_path / "rack", hosts=1, generation="a3", devices=4)
    return next(iter(made.values()))


@pytest.fixture(autouse=True)
def _folders(tmp_path):
    (tmp_path / "rack").mkdir()
    (tmp_path / "textfiles").mkdir()


def collected(tmp_path, host):
    """(exit status, {(name, device): value}) of one round."""
    tools = ["--npu-smi", host["bin"] + "/npu-smi", "--hccn-tool", host["bin"] + "/hccn_tool"]
    status = program.main([str(tmp_path / "textfiles")] + tools)
    assert [path.name for path in (tmp_path / "textfiles").iterdir()] == [program.FILE]
    text = (tmp_path / "textfiles" / program.FILE).read_text()
    found = re.findall(r'^(\w+)(?:\{device="(\w+)"\})? (\S+)$', text, re.M)
    assert len(found) == len([line for line in text.splitlines() if not line.startswith("#")])
    return status, {(name, device): float(value) for name, device, value in found}


def test_healthy_chips(tmp_path, host):
    status, found = collected(tmp_path, host)
    assert status == 0
    assert {name for name, device in found} == set(metrics.HELP)
    for device in "0123":
        assert found["inference_npu_health", device] == found["inference_npu_link", device] == 1
        assert found["inference_npu_query_failed", device] == 0
        assert found["inference_npu_ecc_double_bit_errors_total", device] == 0
        assert found["inference_npu_hbm_total_bytes", device] > 2**30


def test_faults_are_seen_of_their_device_only(tmp_path, host):
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][1]["link"] = "DOWN"
        state["devices"][2]["health"] = "Alarm"
        state["devices"][3]["ecc"] = {"Double Bit Error Count": 5}
    found = collected(tmp_path, host)[1]
    assert [found["inference_npu_link", device] for device in "0123"] == [1, 0, 1, 1]
    assert [found["inference_npu_health", device] for device in "0123"] == [1, 1, 0, 1]
    assert [found["inference_npu_ecc_double_bit_errors_total", device] for device in "0123"] == [0, 0, 0, 5]


def test_a_chip_that_is_not_in_the_table_is_unknown(tmp_path, host):
    with ascend_cluster.edit(host["state"]) as state:
        del state["devices"][3]
    status, found = collected(tmp_path, host)
    assert status == 1
    assert found["inference_npu_health", "3"] == -1 and found["inference_npu_query_failed", "3"] == 1
    assert found["inference_npu_query_failed", "2"] == 0
    assert ("inference_npu_temperature_celsius", "3") not in found


def test_without_npu_smi_all_chips_are_unknown(tmp_path, host, capsys):
    status, found = collected(tmp_path, dict(host, bin=str(tmp_path)))
    assert status == 1 and "npu-smi" in capsys.readouterr().err
    assert [found["inference_npu_query_failed", device] for device in "0123"] == [1] * 4
    assert found["inference_npu_last_run_timestamp_seconds", ""] > 10**9


def test_a_host_without_devices_is_unknown():
    found = metrics.samples([], {}, [], 5.0)
    assert ("inference_npu_query_failed", {"device": "all"}, 1) in found


def test_a_link_that_could_not_be_read_is_unknown():
    npu = {"npu_id": 0, "device_id": None, "health": "OK", "ecc": {}}
    answer = {"values": {"link": None, "link_stat": None}, "errors": {"link": "busy"}}
    found = {name: value for name, labels, value in metrics.samples([npu], {0: answer}, [0], 5.0) if labels}
    assert found["inference_npu_link"] == -1 and found["inference_npu_query_failed"] == 1
    assert "inference_npu_link_changes_total" not in found


def test_hccn_tool_is_asked_for_one_device_after_the_other(tmp_path, host, monkeypatch):
    used = []
    monkeypatch.setattr(program, "read_devices", lambda tool, devices, queries, workers: used.append(workers) or {})
    collected(tmp_path, host)
    assert used == [1]


ANSWERS = {
    "/disaggregated": (200, {"status": "ok", "prefill_instances": 2, "decode_instances": 1, "request_num": 4}),
    "/older": (200, {"status": "ok", "prefill_instances": 2, "decode_instances": 0}),
    "/data_parallel": (200, {"status": "ok", "dp_instances": 3}),
    "/broken": (500, {"error": "no"}),
    "/empty": (200, None),
    "/huge": (200, {"prefill_instances": 10**400, "request_num": 10**400}),
    "/deep": (200, "[" * 100000),
}


class Proxy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status, body = ANSWERS[self.path]
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b"" if body is None else (body if isinstance(body, str) else json.dumps(body)).encode())

    def log_message(self, *_given):
        pass


def test_proxies_are_asked_for_their_engines(tmp_path):
    server = http.server.HTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    urls = {path[1:]: f"http://127.0.0.1:{server.server_address[1]}{path}" for path in ANSWERS}
    urls["gone"] = "http://127.0.0.1:9/healthcheck"
    listed = [{"service": name, "url": url} for name, url in urls.items()]
    settings = tmp_path / "proxies.json"
    settings.write_text(json.dumps({"deployment": "d", "file": "p.prom", "proxies": listed}))
    try:
        assert proxies.main([str(tmp_path / "textfiles"), str(settings)]) == 0
    finally:
        server.shutdown()
        server.server_close()
    text = (tmp_path / "textfiles" / "p.prom").read_text()
    up = dict(re.findall(r'^inference_router_up\{deployment="d",service="(\w+)"\} (\d)$', text, re.M))
    sound = {"disaggregated": "1", "older": "1", "data_parallel": "1", "huge": "1"}
    assert up == {**sound, "broken": "0", "empty": "0", "deep": "0", "gone": "0"}
    counted = re.findall(r'^inference_router_engines\{.*pool="(\w+)",service="(\w+)"\} (\d+)$', text, re.M)
    assert sorted(counted) == [
        ("colocated", "data_parallel", "3"),
        ("decode", "disaggregated", "1"),
        ("decode", "older", "0"),
        ("prefill", "disaggregated", "2"),
        ("prefill", "older", "2"),
    ]
    assert 'inference_router_requests{deployment="d",service="disaggregated"} 4' in text
