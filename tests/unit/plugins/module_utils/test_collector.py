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
from ansible_collections.ascend.inference.plugins.module_utils.collector import metrics, program, proxies, textfile
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
    names = "health link link_changes_total temperature_celsius hbm_used_bytes hbm_total_bytes ecc_double_bit_errors_total query_failed"
    names = [*names.split(), "last_run_timestamp_seconds"]
    assert {name for name, device in found} == set(metrics.HELP) == {f"inference_npu_{name}" for name in names}
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


SOUND = {
    "npu_id": 4,
    "device_id": None,
    "health": "OK",
    "temperature_celsius": 0,
    "hbm_used_mib": 0,
    "hbm_total_mib": 2,
    "ecc": {
        "hbm_double_bit_error_count": 2,
        "ddr_double_bit_error_count": 3,
        "hbm_single_bit_error_count": 50,
        "x_double_bit_error_count": None,
    },
}
SOUND_LINK = {"values": {"link": "up", "link_stat": {"link_up_count": 0}}, "errors": {}}


@pytest.mark.parametrize(
    ("npu", "answer", "changed"),
    [
        ({}, {}, {}),
        ({"device_id": 0, "npu_id": 9}, {}, {}),
        ({"health": "Warning"}, {}, {"health": 0}),
        ({"health": "Alarm"}, {}, {"health": 0}),
        ({"health": "Critical"}, {}, {"health": 0}),
        ({"health": "Offline"}, {}, {"health": -1, "query_failed": 1}),
        ({"health": None}, {}, {"health": -1, "query_failed": 1}),
        ({"ecc": None}, {}, {"ecc_double_bit_errors_total": None, "query_failed": 1}),
        ({"ecc": {}}, {}, {"ecc_double_bit_errors_total": None}),
        ({"hbm_used_mib": None}, {}, {"hbm_used_bytes": None}),
        ({"temperature_celsius": None}, {}, {"temperature_celsius": None}),
        ({}, {"errors": {"link_stat": "busy"}}, {"query_failed": 1}),
        ({}, {"values": {"link": "down"}}, {"link": 0, "link_changes_total": None}),
        ({}, {"values": {"link": None}}, {"link": -1, "link_changes_total": None, "query_failed": 1}),
        ({}, {"values": {}}, {"link": -1, "link_changes_total": None}),
        ({}, None, {"link": None, "link_changes_total": None}),
    ],
)
def test_each_value_of_a_device(npu, answer, changed):
    good = {
        "health": 1,
        "link": 1,
        "link_changes_total": 0,
        "temperature_celsius": 0,
        "hbm_used_bytes": 0,
        "hbm_total_bytes": 2**21,
    }
    good.update(ecc_double_bit_errors_total=5, query_failed=0)
    device = npu.get("device_id", 4)
    links = {} if answer is None else {device: dict(SOUND_LINK, **answer)}
    found = metrics.samples([dict(SOUND, **npu)], links, [], 5.0)
    assert found[0] == ("inference_npu_last_run_timestamp_seconds", {}, 5.0)
    values = {
        name[len("inference_npu_") :]: value for name, labels, value in found if labels == {"device": str(device)}
    }
    assert values == {name: value for name, value in dict(good, **changed).items() if value is not None}


def test_devices_come_by_number_with_those_that_only_npu_smi_shows():
    npus = [dict(SOUND, npu_id=number) for number in (11, 2)] + [dict(SOUND, npu_id=None)]
    found = metrics.samples(npus, {}, [7, 2], 5.0)
    devices = [labels["device"] for name, labels, value in found if name == "inference_npu_health"]
    assert devices == ["2", "7", "11"]
    assert ("inference_npu_query_failed", {"device": "all"}, 1) not in found


def test_values_of_one_name_stand_together_and_are_escaped():
    found = [
        ("b_total", {}, 2),
        ("a", {"z": 'x"\\y\n', "b": "1"}, 1.5),
        ("b_total", {"x": "\x1b"}, 10**6),
        ("other", {}, 1),
    ]
    assert metrics.text_of(found, {"a": "About a.", "b_total": "About b.", "c": "About c."}) == (
        '# HELP a About a.\n# TYPE a gauge\na{b="1",z="x\\"\\\\y\n"} 1.5\n'
        '# HELP b_total About b.\n# TYPE b_total counter\nb_total 2\nb_total{x="\\\\x1b"} 1000000\n'
    )


def test_counters_of_a_log_have_its_service_and_whether_it_was_read():
    own = {"flags": {"b": 1, "a": 0}, "transfers": 3, "milliseconds": 1500.0, "gaps": 2}
    settings = {
        "deployment": "d",
        "services": [{"service": "s", "role": "decode"}, {"service": "t", "role": "prefill"}],
    }
    found = metrics.log_samples(settings, {"s": own, "t": own}, {"s": "", "t": "gone"}, 9.0)
    labels = {"deployment": "d", "service": "s", "role": "decode"}
    assert found[:7] == [
        ("inference_log_red_flags_total", dict(labels, flag="a"), 0),
        ("inference_log_red_flags_total", dict(labels, flag="b"), 1),
        ("inference_log_transfers_total", labels, 3),
        ("inference_log_transfer_seconds_total", labels, 1.5),
        ("inference_log_gaps_total", labels, 2),
        ("inference_log_read", labels, 1),
        ("inference_log_last_run_timestamp_seconds", labels, 9.0),
    ]
    assert [value for name, labels, value in found if name == "inference_log_read"] == [1, 0]


def test_the_exporter_can_read_the_file_and_a_failure_leaves_none(tmp_path):
    folder = tmp_path / "textfiles"
    textfile.write(str(folder), "a.prom", "x 1\n")
    assert (folder / "a.prom").stat().st_mode & 0o777 == 0o644 and (folder / "a.prom").read_text() == "x 1\n"
    (folder / "b.prom").mkdir()
    with pytest.raises(OSError):
        textfile.write(str(folder), "b.prom", "x 1\n")
    assert sorted(path.name for path in folder.iterdir()) == ["a.prom", "b.prom"]
