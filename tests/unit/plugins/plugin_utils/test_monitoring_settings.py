# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variable inference_monitoring: defaults, limits of numbers, and what needs node_exporter; and the names of metrics that are read."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring import dashboard, metrics
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.rules import RECORDS
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.settings import AlertSettings, read_monitoring
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import options_data
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_monitoring import planned


def test_what_is_not_set():
    found = dataclasses.asdict(read_monitoring({}))
    links = found.pop("documents_url")
    assert links.startswith("https://") and links.endswith("/docs/docsite/rst")
    assert found == {
        "host": "",
        "state": "present",
        "directory": "/etc/prometheus/ascend-inference",
        "targets_directory": "",
        "rules_directory": "",
        "dashboards_directory": "",
        "reload": "",
        "install": False,
        "node_exporter": False,
        "node_exporter_port": 9100,
        "npu": "none",
        "npu_exporter_port": 8082,
        "textfile_directory": "/var/lib/prometheus/node-exporter",
        "collector_interval": 60,
        "collector_python": "/usr/bin/python3",
        "proxies": False,
        "logs": False,
        "probe": False,
        "grafana_url": "",
        "grafana_folder": "",
        "alerts": {},
    }
    assert dataclasses.astuple(AlertSettings()) == (True, -1, -1, 0)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("node_exporter_port", 1, 65535),
        ("npu_exporter_port", 1, 65535),
        ("collector_interval", 10, 3600),
        ("threshold", -1, 10**9),
        ("after", -1, None),
        ("window", 0, None),
    ],
)
def test_the_least_and_the_most_of_a_number(name, least, most):
    of_alert = name in ("threshold", "after", "window")

    def read(value):
        return read_monitoring({"alerts": {"EngineDown": {name: value}}} if of_alert else {name: value})

    for value in (least, most if most is not None else 10**6):
        found = read(value)
        assert getattr(found.alerts["EngineDown"] if of_alert else found, name) == value
    for value in (least - 1, *([most + 1] if most is not None else [])):
        with pytest.raises(PlanError, match=name):
            read(value)


@pytest.mark.parametrize(
    ("raw", "wrong"),
    [
        ({"probe": True}, ["probe"]),
        ({"npu": "collector"}, ["npu"]),
        ({"npu": "npu_exporter"}, []),
        ({"proxies": True}, ["proxies"]),
        ({"logs": True}, ["logs"]),
        ({"logs": True, "probe": True, "alerts": {"X": {}}}, ["alerts.X", "logs", "probe"]),
    ],
)
def test_what_node_exporter_serves_needs_it(raw, wrong):
    found = []
    try:
        read_monitoring(raw)
    except PlanError as error:
        found = [finding.path for finding in error.findings]
    assert found == [f"inference_monitoring.{name}" for name in wrong]
    assert read_monitoring({**raw, "alerts": {}, "node_exporter": True})


def test_a_misspelt_alert_is_named_with_the_nearest_one():
    with pytest.raises(PlanError, match=r"Did you mean 'EngineDown'\? The page of alerts lists them all"):
        read_monitoring({"alerts": {"EngineDwon": {}}})


def all_panels():
    parts = [value for name, value in vars(dashboard).items() if name.isupper() and isinstance(value, list)]
    panels = [panel for part in [*parts, dashboard._pool("decode", 8)] for panel in part]
    return [panel for panel in panels if isinstance(panel, dashboard.Panel)]


def test_every_metric_that_is_read_is_known_and_the_other_way_round():
    """A name that is missing here makes its alert and its curve silently disappear."""
    texts = [expression for alert in ALERTS for expression in alert.expressions] + list(RECORDS.values())
    texts += [expression for panel in all_panels() for expression, _legend in panel.expressions]
    read = {name for text in texts for name in metrics.names_in(text)} - {"up"}
    of_engines = {name for version in options_data.VLLM_VERSIONS for name in metrics.of_vllm(version)}
    routers = {name for flavour in metrics.FLAVOURS.values() for names in flavour.metrics.values() for name in names}
    own = {*metrics.MASTER, *metrics.TRANSFER, *metrics.NPU_EXPORTER, *metrics.PROBE, *metrics.COLLECTOR}
    own |= {*metrics.PROXY, *metrics.LOGS}
    assert read - of_engines - routers - own == set()
    assert {*metrics.MASTER, *metrics.TRANSFER, *metrics.NPU_EXPORTER, *metrics.PROXY, *metrics.LOGS} - read == set()


@pytest.mark.parametrize(
    ("first", "before", "names"),
    [
        ("0.3.6", "0.3.5", {"master_active_clients", "master_successful_evictions_total"}),
        ("0.3.8", "0.3.7", {"valid_get_nums_", "total_get_nums_"}),
        ("0.3.11", "0.3.10", {"master_put_start_alloc_failures_total", "ha_oplog_standby_lag"}),
    ],
)
def test_metrics_of_a_master_from_its_version_on(first, before, names):
    assert names <= metrics.of_master(first) and not names & metrics.of_master(before)
    assert (
        metrics.of_master("") == metrics.of_master("0.3.6") < metrics.of_master("0.3.8") < metrics.of_master("0.3.11")
    )


def test_what_is_exported_follows_what_is_watched():
    plan = planned("p2p")
    base = metrics.exported(plan)
    assert "up" in base and not base & {*metrics.TRANSFER, *metrics.PROBE, *metrics.MASTER}
    for words, names in (
        ({"npu": "npu_exporter"}, metrics.NPU_EXPORTER),
        ({"npu": "collector"}, metrics.COLLECTOR),
        ({"probe": True}, metrics.PROBE),
        ({"proxies": True}, metrics.PROXY),
        ({"logs": True}, metrics.LOGS),
    ):
        assert metrics.exported(plan, **words) - base == set(names)
    probe = {**plan["services"][0], "kind": "probe", "argv": ["--connector=MooncakeConnectorV2"]}
    more = metrics.exported({**plan, "services": [*plan["services"], probe]})
    assert more - base == {*metrics.PROBE, *metrics.TRANSFER}
    assert set(metrics.of_master("0.3.8")) <= metrics.exported(planned("both"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('rate(vllm:a_total{x="vllm:b"}[5m])', {"vllm:a_total"}),
        ('inference:engines:planned{a="b"} > up', {"up"}),
        ('x{a="\\"vllm:b"} or master_x', {"master_x"}),
        ("group_left (npu_chip_a) machine_npu_b ha_c", {"npu_chip_a", "machine_npu_b", "ha_c"}),
        ("mem_cache_hit_nums_ / total_get_nums_", {"mem_cache_hit_nums_", "total_get_nums_"}),
        ("mem_cache_hit_nums", set()),
        ("upper vllm", set()),
    ],
)
def test_names_in_an_expression(text, names):
    assert metrics.names_in(text) == names


@pytest.mark.parametrize("host", ["", "localhost", "n1"])
def test_a_host_of_the_inventory_reads_the_files(host):
    assert read_monitoring({"host": host}, ["n1", "n2"]).host == host
    assert read_monitoring({"host": "elsewhere"}).host == "elsewhere"


def test_another_host_is_refused():
    with pytest.raises(PlanError) as caught:
        read_monitoring({"host": "prometeus"}, ["n1", "prometheus"])
    assert "the inventory has no host 'prometeus'" in str(caught.value)
    assert "Did you mean 'prometheus'?" in str(caught.value)
