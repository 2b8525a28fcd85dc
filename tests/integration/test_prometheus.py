# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planned files in a real Prometheus: each planted fault raises exactly its alert, which ends with the fault.

The master of the store and its client are real; engines, router and the hosts' exporters are simulated pages with the names of the real ones.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.probe import rounds
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.module_utils.verify.probe import Keys
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.files import monitoring_files
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import CPU
from ansible_collections.ascend.inference.tests.integration import _monitoring
from ansible_collections.ascend.inference.tests.integration._playbook import free_ports
from ansible_collections.ascend.inference.tests.simulator import upstream_proxies
from ansible_collections.ascend.inference.tests.simulator.pd_cluster import Cluster

pytestmark = pytest.mark.long
CACHE = Path(__file__).resolve().parents[2] / ".cache" / "upstream"
EXPORTER = Path(upstream_proxies.__file__).with_name("metrics_exporter.py")
SECOND = 1  # scrape and evaluation interval
PORTS = iter(free_ports(60))
FAST = {"after": 2, "window": 5}
RAW = {"npu": "npu_exporter", "probe": True, "node_exporter": True}
NOT_FAST = {"TargetsMissing", "HbmEcc"}
STORE_CLIENTS = 1
# Without alerts and held KV cache these have nothing to show.
EMPTY = re.compile(r"^sum by \(alertname\) \(ALERTS|unless sum by .* > 0$")


class Deployment:
    """The processes of one plan on loopback, and a Prometheus that reads its files."""

    def __init__(self, folder, mooncake):
        self.folder, self.pages, self.processes, self.commands = folder, {}, {}, {}
        self.plan = _monitoring.watched_plan("both")
        self.plan["verify"]["store"]["clients"] = STORE_CLIENTS
        for service in self.plan["services"]:
            service["address"] = "127.0.0.1"
            service["ports"] = [{**port, "first": next(PORTS)} for port in service["ports"]]
        raw = {**RAW, "node_exporter_port": next(PORTS), "npu_exporter_port": next(PORTS), "directory": str(folder)}
        raw["alerts"] = {alert.name: FAST for alert in ALERTS if alert.name not in NOT_FAST}
        for host in self.plan["hosts"][1:]:
            host["address"] = "127.0.0.2"  # only the first one has exporters here
        self.plan["hosts"] = self.plan["hosts"][:1]
        self.plan["hosts"][0]["address"] = "127.0.0.1"
        self.made = monitoring_files(self.plan, raw)
        for place in self.made["folders"]:
            Path(place["path"]).mkdir(parents=True, exist_ok=True)
        for file in self.made["files"]:
            Path(file["path"]).write_text(file["content"], encoding="utf-8")
        self.export(raw)
        self.store(mooncake)
        self.prometheus()

    def run(self, name, *argv):
        self.commands[name] = argv
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [str(word) for word in argv], stdout=log, stderr=log, cwd=self.folder
            )

    def export(self, raw):
        """A page for each target but the store's, with what a healthy one exports, each second as much as in an interval."""
        found = {}
        for item in _monitoring.healthy(self.plan, raw):
            labels = item.labels
            if labels["job"] != "inference-store" and item.name != "up":
                found.setdefault(labels.get("service", labels["job"]), []).append(item)
        ports = {
            group["labels"].get("service", group["labels"]["job"]): group["targets"][0].rpartition(":")[2]
            for group in json.loads(self.made["files"][0]["content"])
        }
        for name, items in found.items():
            own = {
                "le",
                "source",
                "stage",
                "worker",
                "error_type",
                "finished_reason",
                "block_size",
                "cache_dtype",
                "id",
                "path",
            }
            rows = []
            for item in items:
                start, step = re.match(r"([\d.]+)\+([\d.]+)x", item.values).groups()
                keys = own | ({"deployment"} if item.name.startswith("inference_probe") else set())
                row = [
                    item.name,
                    {key: item.labels[key] for key in sorted(keys & set(item.labels))},
                    float(start),
                    float(step),
                ]
                if item.name == "vllm:num_preemptions_total":
                    row[3] /= _monitoring.INTERVAL  # the limit is per minute
                if item.name.endswith("timestamp_seconds"):
                    row[2:] = [time.time(), 1.0]
                rows.append(row)
            self.pages[name] = rows
            self.show(name, rows)
            self.run(name, sys.executable, EXPORTER, ports[name], self.folder / f"{name}.json")

    def show(self, name, rows):
        new = self.folder / f"{name}.new"
        new.write_text(json.dumps(rows), encoding="utf-8")
        os.replace(new, self.folder / f"{name}.json")

    def current(self, name):
        """The rows of a page with their values of now."""
        age = time.time() - (self.folder / f"{name}.json").stat().st_mtime
        return [[metric, labels, start + step * age, step] for metric, labels, start, step in self.pages[name]]

    def change(self, name, changes):
        """Continue the page with other values: {(name, part of a label's value): (start or None to go on, step)}."""
        rows = self.current(name)
        for (metric, part), (start, step) in changes.items():
            chosen = [row for row in rows if row[0] == metric and part in {*row[1].values(), ""}]
            assert chosen, f"{name} has no {metric} {part}"
            for row in chosen:
                row[2:] = [row[2] if start is None else start, step]
        self.pages[name] = rows
        self.show(name, rows)

    def restore(self, name, before):
        """Gauges have their old values again; counters go on at their old pace."""
        rows = [
            [metric, labels, now if pace else old, pace]
            for (metric, labels, old, pace), (_metric, _labels, now, _step) in zip(
                before, self.current(name), strict=True
            )
        ]
        self.pages[name] = rows
        self.show(name, rows)

    def store(self, mooncake):
        ports = {
            port["name"]: port["first"]
            for item in self.plan["services"]
            if item["kind"] == "mooncake_master"
            for port in item["ports"]
        }
        self.rpc = ports["rpc"]
        flags = [
            f"--rpc_port={ports['rpc']}",
            f"--metrics_port={ports['metrics']}",
            "--rpc_address=127.0.0.1",
            "--client_ttl=3",
        ]
        self.run("master", mooncake / "mooncake_master", *flags)
        self.client(mooncake)

    def client(self, mooncake):
        flags = [f"-master_server_address=127.0.0.1:{self.rpc}", "-metadata_server=P2PHANDSHAKE", "-host=127.0.0.1"]
        self.run("client", mooncake / "mooncake_client", *flags, "-global_segment_size=64MB", f"-port={next(PORTS)}")

    def prometheus(self):
        text = self.made["configuration"].replace(
            "scrape_interval: 15s", f"scrape_interval: {SECOND}s\n  scrape_timeout: {SECOND}s"
        )
        text = f"global: {{evaluation_interval: {SECOND}s}}\n{text}"
        (self.folder / "prometheus.yml").write_text(text, encoding="utf-8")
        self.port = next(PORTS)
        flags = [
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]
        self.run("prometheus", "prometheus", *flags)

    def query(self, expression):
        url = f"http://127.0.0.1:{self.port}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]["result"]

    def firing(self):
        found = self.query('count by (alertname) (ALERTS{alertstate="firing"})')
        return {item["metric"]["alertname"].replace("Inference", "", 1) for item in found}

    def until(self, alerts, seconds=60):
        """Wait until exactly these alerts fire; the last ones seen."""
        end = time.monotonic() + seconds
        seen = None
        while time.monotonic() < end:
            try:
                seen = self.firing()
                if seen == alerts and self.query(f"count(up) >= {len(self.pages) + 1}"):
                    return seen
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.5)
        return seen

    def end(self):
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    _monitoring.install()
    try:
        python = upstream_proxies.venv(CACHE, "mooncake-venv", [f"{CPU.mooncake_package}=={CPU.mooncake}"])
    except upstream_proxies.Unreachable as error:
        pytest.skip(str(error))
    made = Deployment(tmp_path_factory.mktemp("prometheus"), Path(python).parent)
    made.mooncake = Path(python).parent
    try:
        assert made.until(set()) == set()
        time.sleep(10)  # windows are full
        assert made.firing() == set()
        yield made
    finally:
        made.end()


STILL = {("vllm:generation_tokens_total", ""): (None, 0), ("vllm:prompt_tokens_total", ""): (None, 0)}
BY_SOURCE = "vllm:prompt_tokens_by_source_total"
# alert: (page, changed values)
FAULTS = {
    "EngineStuck": (
        "decode-0",
        {**STILL, (BY_SOURCE, ""): (None, 0), ("vllm:num_requests_kv_fetch_by_stage", ""): (0, 0)},
    ),
    "DecodeComputesPrompts": (
        "decode-0",
        {(BY_SOURCE, "local_compute"): (None, 400), (BY_SOURCE, "external_kv_transfer"): (None, 600)},
    ),
    "PrefillHoldsIdleKV": ("prefill-0", {("vllm:num_requests_running", ""): (0, 0)}),
    "KvFetchHangs": ("decode-0", {(BY_SOURCE, "external_kv_transfer"): (None, 0)}),
    "RouterLostEngine": ("router", {("vllm_router_worker_health", ""): (0, 0)}),
    "NpuLinkDown": ("inference-npu", {("npu_chip_info_link_status", ""): (0, 0)}),
    "ProbeFails": ("inference-host", {("inference_probe_success", "clients"): (0, 0)}),
}


def test_every_query_of_the_dashboard_has_data(deployment):
    board = json.loads(deployment.made["files"][2]["content"])
    queries = {target["expr"] for panel in board["panels"] for target in panel.get("targets", ())}
    empty = [query for query in sorted(queries) if not deployment.query(query.replace("$__rate_interval", "5s"))]
    unexpected = [query for query in empty if not EMPTY.search(query)]
    assert unexpected == []
    assert len(queries) - len(empty) > 25


@pytest.mark.parametrize("alert", sorted(FAULTS))
def test_a_planted_fault_raises_exactly_its_alert(deployment, alert):
    name, changes = FAULTS[alert]
    before = [list(row) for row in deployment.pages[name]]
    deployment.change(name, changes)
    assert deployment.until({alert}) == {alert}
    deployment.restore(name, before)
    assert deployment.until(set()) == set()


def test_a_stopped_engine_is_down(deployment):
    deployment.processes["decode-0"].send_signal(signal.SIGSTOP)
    try:
        assert deployment.until({"EngineDown"}) == {"EngineDown"}
    finally:
        deployment.processes["decode-0"].send_signal(signal.SIGCONT)
    assert deployment.until(set()) == set()


def test_an_engine_that_ended_is_named(deployment):
    deployment.processes["decode-0"].kill()
    try:
        assert deployment.until({"EngineDown"}) == {"EngineDown"}
    finally:
        deployment.processes["decode-0"].wait()
        deployment.run("decode-0", *deployment.commands["decode-0"])
    assert deployment.until(set()) == set()


def test_what_the_probe_sees_of_empty_answers_raises_its_alert(deployment, tmp_path):
    """The probe is the real one; the router says 200 to its requests, and nothing else."""
    settings = rounds.Settings(deployment.plan["deployment"], timeout=5.0)
    with Cluster(tmp_path, prefill=1, decode=1, faults={"router-0": ["empty_200"]}) as cluster:
        found = rounds.Rounds(read_plan(cluster.plan()), Keys(cluster.api_key, cluster.entry_key), settings)
        found.round()
    seen = {path.name: float(path.success) for path in found.results.paths()}
    assert seen == {"clients": 0.0, "prefill-0->decode-0": 1.0}
    before = [list(row) for row in deployment.pages["inference-host"]]
    deployment.change("inference-host", {("inference_probe_success", "clients"): (seen["clients"], 0)})
    assert deployment.until({"ProbeFails"}) == {"ProbeFails"}
    (alert,) = deployment.query('ALERTS{alertname="InferenceProbeFails",alertstate="firing"}')
    assert alert["metric"]["path"] == "clients"
    deployment.restore("inference-host", before)
    assert deployment.until(set()) == set()


def test_a_store_without_its_client_is_named(deployment):
    deployment.processes["client"].kill()
    assert deployment.until({"StoreMissesEngines"}) == {"StoreMissesEngines"}
    deployment.client(deployment.mooncake)
    assert deployment.until(set()) == set()


def test_a_dead_store_is_named(deployment):
    deployment.processes["master"].kill()
    assert deployment.until({"StoreDown"}) == {"StoreDown"}
