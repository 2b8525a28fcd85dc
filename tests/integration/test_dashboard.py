# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each query of each panel has data in a real Prometheus, and each label that a legend names is in it.

Prometheus reads the last half hour of a made-up deployment from its storage, so nothing has to be scraped.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring import dashboard
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.files import monitoring_files
from ansible_collections.ascend.inference.tests.integration import _monitoring
from ansible_collections.ascend.inference.tests.integration._monitoring import INTERVAL, STEPS, Series, steady
from ansible_collections.ascend.inference.tests.integration._playbook import free_ports

# Each panel of the dashboard is in one of them.
CASES = {
    "router, masters, npu_exporter": ("ha", {"npu": "npu_exporter", "probe": True, "node_exporter": True}),
    "proxy, collector, logs": ("p2p", {"npu": "collector", "logs": True, "proxies": True, "node_exporter": True}),
    "colocated": ("pooled", {}),
}
# What a healthy deployment has not: an alert, and requests that have ended while their KV cache is held.
MORE = {"ALERTS": {"alertname": "InferenceEngineDown", "alertstate": "firing", "service": "prefill-0"}}
IDLE = "vllm:num_requests_running"
WAIT = 60


def series_of(plan, raw):
    """What is in the storage."""
    found = [
        item._replace(values=steady(0)) if (item.name, item.labels.get("role")) == (IDLE, "prefill") else item
        for item in _monitoring.healthy(plan, raw)
    ]
    deployment = {"deployment": plan["deployment"]}
    return found + [Series(name, {**deployment, **labels}, steady(1)) for name, labels in MORE.items()]


def storage(folder, series, now):
    """Blocks of the storage, by the promtool that reads OpenMetrics with times."""
    lines = []
    for item in series:
        start, step, _count = re.match(r"([\d.]+)\+([\d.]+)x(\d+)", item.values).groups()
        for number in range(STEPS + 1):
            at = now - INTERVAL * (STEPS - number)
            lines.append(f"{item.text()} {float(start) + float(step) * number} {at}")
    (folder / "metrics.txt").write_text("\n".join([*lines, "# EOF\n"]), encoding="utf-8")
    status, text = _monitoring.promtool(
        "tsdb", "create-blocks-from", "openmetrics", str(folder / "metrics.txt"), str(folder / "data")
    )
    assert status == 0, text


class Prometheus:
    """A real one that reads ``folder/data`` and scrapes nothing."""

    def __init__(self, folder):
        (folder / "prometheus.yml").write_text("scrape_configs: []\n", encoding="utf-8")
        self.url = f"http://127.0.0.1:{free_ports(1)[0]}"
        flags = ["--config.file=prometheus.yml", "--storage.tsdb.path=data"]
        with open(folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", *flags, f"--web.listen-address={self.url[7:]}"], cwd=folder, stdout=log, stderr=log
            )

    def ask(self, path, **query):
        """The data of an answer."""
        with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(query)}", timeout=30) as answer:
            return json.load(answer).get("data", {}).get("result")

    def wait(self):
        """Until it is ready."""
        end = time.monotonic() + WAIT
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                assert time.monotonic() < end and self.process.poll() is None
                time.sleep(0.1)


@pytest.fixture(scope="module", params=sorted(CASES))
def shown(request, tmp_path_factory):
    """The panels of a case, and a function that asks for the data of a target as Grafana does."""
    _monitoring.install()
    name, raw = CASES[request.param]
    folder, plan, now = tmp_path_factory.mktemp("dashboard"), _monitoring.watched_plan(name), int(time.time())
    storage(folder, series_of(plan, raw), now)
    board = json.loads(monitoring_files(plan, raw)["files"][2]["content"])
    server = Prometheus(folder)

    def data(target):
        query = target["expr"].replace("$__rate_interval", f"{4 * INTERVAL}s")
        assert "$" not in query
        if target["instant"]:
            return server.ask("/api/v1/query", query=query, time=now)
        return server.ask("/api/v1/query_range", query=query, start=now - 20 * INTERVAL, end=now, step=INTERVAL)

    try:
        server.wait()
        yield [panel for panel in board["panels"] if panel["type"] != "row"], data
    finally:
        server.process.kill()
        server.process.wait()


def test_every_target_of_every_panel_has_data(shown):
    panels, data = shown
    empty = [(panel["title"], target["expr"]) for panel in panels for target in panel["targets"] if not data(target)]
    assert empty == []
    assert len(panels) >= 8


def test_every_legend_names_labels_that_the_data_has(shown):
    panels, data = shown
    wrong, names = [], set()
    for panel in panels:
        legends = []
        for target in panel["targets"]:
            wanted = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            for item in data(target):
                wrong += [(panel["title"], target["legendFormat"])] if wanted - set(item["metric"]) else []
                legends.append(
                    re.sub(
                        r"{{(\w+)}}", lambda found, item=item: item["metric"].get(found[1], ""), target["legendFormat"]
                    )
                )
        # Two curves of one name cannot be told apart.
        wrong += [] if len(set(legends)) == len(legends) else [(panel["title"], legends)]
        names |= set(legends)
    assert wrong == [] and names


def test_every_panel_is_in_one_of_the_cases():
    written = {
        panel.title
        for row in (
            dashboard.HEALTH,
            dashboard.FLOW,
            dashboard.LOGS,
            dashboard.ROUTER,
            dashboard.PROXY,
            dashboard.STORE,
        )
        for panel in (*row, *dashboard.NPU, *dashboard.PROBE)
    }
    made = set()
    for name, raw in CASES.values():
        board = json.loads(monitoring_files(_monitoring.watched_plan(name), raw)["files"][2]["content"])
        made |= {panel["title"] for panel in board["panels"]}
    assert written - made == set()
