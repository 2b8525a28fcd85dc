# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Alerts: what each one reads, says and can be set to."""

from __future__ import annotations

import re

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring import rules
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.alerts import ALERTS, by_name, parts_of
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.annotations import annotations, limits_of
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.dashboard import uid_of
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.files import (
    configuration,
    monitoring_files,
    notes,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.proxies import silent_routers
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.settings import read_monitoring
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.targets import targets
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_monitoring import made, planned


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_uses_its_limit_and_its_window_or_has_none(alert):
    """A limit that no expression reads could be set and would change nothing."""
    used = set(re.findall(r"\$\{?(\w+)", " ".join(alert.expressions)))
    assert ("threshold" in used) == bool(alert.unit)
    assert ("window" in used) == bool(alert.window)
    facts = set(rules.facts(planned("p2p")))
    assert used - {"of", "hosts", "by", "threshold", "window"} <= facts
    for part, name in (("store", "store_clients"), ("max_num_seqs", "decode_requests"), ("hold", "kv_hold_timeout")):
        assert name not in used or part in alert.needs


def test_a_part_that_a_plan_lacks_has_no_alerts():
    """NPUs on a host with processors only, and proxies where another router has a health page of its own."""
    everything = {"npu": "collector", "node_exporter": True, "proxies": True}
    needs = {f"Inference{alert.name}": set(alert.needs) for alert in ALERTS}
    found = made(planned("cpu"), everything)[1]
    assert [name for name in found if needs[name] & {"npu", "proxies"}] == []
    plan = planned("p2p")
    router = next(service for service in plan["services"] if service["kind"] == "router")
    assert silent_routers(plan) == [router] and "proxies" in parts_of(plan, "none", False, True)
    assert [name for name in made(plan, everything)[1] if "proxies" in needs[name]]
    router["health"] = {**router["health"], "url": "http://192.0.2.1:8000/health"}
    assert silent_routers(plan) == [] and "proxies" not in parts_of(plan, "none", False, True)
    assert [name for name in made(plan, everything)[1] if "proxies" in needs[name]] == []
    router["health"] = None
    assert silent_routers(plan) == []


@pytest.mark.parametrize(
    ("masters", "kinds", "parts"),
    [
        (0, ("prefill", "decode"), {"disaggregated"}),
        (1, ("decode",), {"store"}),
        (2, ("prefill",), {"store", "ha"}),
        (0, ("colocated", "probe"), {"probe"}),
    ],
)
def test_what_services_make_a_part(masters, kinds, parts):
    services = [{"kind": kind, "ports": [], "devices": []} for kind in (*kinds, *["mooncake_master"] * masters)]
    assert parts_of({"services": services}, "npu_exporter", False) == parts
    services[0]["devices"] = [3]
    assert parts_of({"services": services}, "npu_exporter", True) == parts | {"npu", "probe"}
    router = {"kind": "router", "ports": [{"name": "api"}], "devices": [], "health": {"url": "http://a/healthcheck"}}
    assert parts_of({"services": [*services, router]}, "none", False, True, True) == parts | {"proxies", "logs"}
    router["ports"].append({"name": "metrics"})
    assert parts_of({"services": [*services, router]}, "none", False, True) == parts | {"router_metrics"}


def engine(kind="decode", argv=(), env=None, api=True):
    ports = [{"name": "api", "first": 1}] if api else [{"name": "kv", "first": 2}]
    return {"kind": kind, "argv": list(argv), "env": env or {}, "ports": ports}


@pytest.mark.parametrize(
    ("argv", "requests"),
    [
        (["--max-num-seqs", "8"], 8),
        (["--max-num-seqs", "8", "--data-parallel-size-local", "4"], 32),
        (["--max-num-seqs", "8", "--data-parallel-size-local", "x"], 8),
        (["--max-num-seqs", "many"], None),
        (["--max-num-seqs"], None),
        ([], None),
    ],
)
def test_requests_that_an_engine_runs_at_once(argv, requests):
    assert rules.most_requests(engine(argv=argv)) == requests
    plan = {"services": [engine(argv=argv), engine(argv=["--max-num-seqs", "3"]), engine("prefill")], "verify": {}}
    assert rules.facts(plan)["decode_requests"] == (requests + 3 if requests else None)
    assert rules.facts({"services": [engine("prefill", argv)], "verify": {}})["decode_requests"] is None


def test_engines_are_counted_where_prometheus_asks_them():
    services = [engine(), engine(), engine(api=False), engine("prefill"), engine("colocated"), {"kind": "router"}]
    found = rules.facts({"services": services, "verify": {"store": {"clients": 5}}})
    assert (found["engines"], found["decode_engines"], found["prefill_engines"], found["store_clients"]) == (4, 2, 1, 5)


@pytest.mark.parametrize(
    ("connector", "env", "seconds"),
    [
        ("MooncakeConnectorV1", {}, 480),
        ("MooncakeHybridConnector", {"VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": "x"}, 480),
        ("MooncakeConnectorV2", {"VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": "90"}, 90),
        ("MooncakeLayerwiseConnector", {"VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": "90"}, None),
    ],
)
def test_how_long_prefill_holds_kv_cache(connector, env, seconds):
    argv = ["--kv-transfer-config", f'{{"kv_connector": "{connector}"}}']
    plan = {"services": [engine("prefill", argv, env), engine("decode", argv, {"HCCL": "1"})], "verify": {}}
    assert rules.facts(plan)["kv_hold_timeout"] == seconds
    longer = engine("prefill", argv, {"VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": "900"})
    assert rules.facts({"services": [longer, *plan["services"]], "verify": {}})["kv_hold_timeout"] == seconds
    assert rules.facts({"services": [engine("decode", argv)], "verify": {}})["kv_hold_timeout"] is None


def test_what_is_recorded_for_other_rules():
    def recorded(name, raw=None):
        groups = yaml.safe_load(monitoring_files(planned(name), raw or {})["files"][1]["content"])["groups"]
        assert [group["name"] for group in groups] == [
            f"ascend-inference-{end}" for end in ("inference-records", "inference")
        ]
        return {row["record"]: row for row in groups[0]["rules"]}

    found = recorded("p2p")
    assert set(rules.RECORDS) <= set(found)
    assert found["inference:engines:planned"] == {
        "record": "inference:engines:planned",
        "expr": "vector(3)",
        "labels": {"deployment": "inference"},
    }
    assert "inference:store_clients:planned" not in found  # no store
    assert 'vllm:num_requests_running{deployment="inference"}' in found["inference:requests_running:sum"]["expr"]
    assert "inference:prompt_tokens_by_source:rate5m" not in recorded("p2p-0.11")


def test_a_rule_has_the_limits_that_were_set_in_its_text_too():
    plan, raw = planned("p2p"), {"alerts": {"PreemptionStorm": {"after": 0, "threshold": 0, "window": 61}}}
    rule = made(plan, raw)[1]["InferencePreemptionStorm"]
    assert rule["for"] == "0s" and "[61s]" in rule["expr"] and rule["expr"].endswith("* 60 > 0")
    assert rule["labels"] == {"severity": "warning", "deployment": "inference"}
    assert rule["annotations"]["description"].endswith("threshold 0 preemptions per minute, window 61 s, for 0 s.")
    found = made(plan)[1]["InferencePreemptionStorm"]["annotations"]["description"]
    assert found.endswith("threshold 6 preemptions per minute, window 300 s, for 300 s.")


def test_limits_in_words_name_numbers_of_the_plan_that_are_compared_with():
    alert = by_name()["PrefillOverloaded"]
    words = limits_of(alert, 30, 0, 600, {"decode_requests": 896, "engines": 3})
    assert words == "threshold 30 percent of the requests that decode can run, decode requests 896 (planned), for 600 s"
    assert limits_of(by_name()["TargetsMissing"], 0, 0, 1, {"engines": 3}) == "engines 3 (planned), for 1 s"


def test_an_alert_names_its_place():
    plan = {"deployment": "d", "services": []}
    of = {alert.of: annotations(plan, alert, "", "https://x")["summary"].partition(": ")[0] for alert in ALERTS}
    assert of["deployment"] == of["probe"] == "d"
    assert of["service"] == "d, {{ $labels.service }} on {{ $labels.host }}"
    assert of["worker"].startswith(
        "d, engine {{ if not $labels.worker }}not named{{ else }}{{ $labels.worker }}{{ end }} of"
    )
    services = [
        {
            "kind": "probe",
            "host": "h",
            "name": "probe",
            "address": "fd00::1",
            "ports": [{"name": "metrics", "first": 1}],
        },
        {
            "kind": "decode",
            "host": "n",
            "name": "d-0",
            "address": "fd00::2",
            "ports": [{"name": "kv", "first": 2}, {"name": "api", "first": 3}],
        },
        {"kind": "router", "host": "n", "name": "r", "address": "fd00::3", "ports": [{"name": "api", "first": 4}]},
    ]
    plan = {"deployment": "d", "services": services}
    of = {alert.of: annotations(plan, alert, "", "https://x")["summary"].partition(": ")[0] for alert in ALERTS}
    assert of["probe"] == "d, probe on h"
    assert of["worker"].count("else if eq") == 1
    assert '{{ else if eq $labels.worker "http://[fd00::2]:3" }}d-0 on n{{ else }}' in of["worker"]


@pytest.mark.parametrize(
    ("raw", "wanted", "unwanted"),
    [
        ({}, ["NPUs", "empty answers", "router", "messages of logs"], []),
        ({"npu": "npu_exporter"}, ["empty answers"], ["memory errors"]),
        ({"node_exporter": True, "probe": True}, ["memory errors"], ["empty answers"]),
        ({"node_exporter": True, "proxies": True}, ["memory errors"], ["export no metrics"]),
        ({"node_exporter": True, "logs": True}, ["memory errors"], ["messages of logs"]),
    ],
)
def test_what_is_not_watched_follows_the_settings(raw, wanted, unwanted):
    text = "\n".join(
        notes(planned("p2p"), read_monitoring(raw), [("A", "no service exports x"), ("B", "enabled is false")])
    )
    assert [word for word in wanted if word not in text] == [] and [word for word in unwanted if word in text] == []
    assert "Not watched: A, because no service exports x." in text and "B" not in re.findall(r"watched: (\w),", text)
    assert ("Prometheus has to be in it" in text) is False
    opened = {**planned("p2p"), "firewall": {"state": "present"}}
    assert "Prometheus has to be in it" in "\n".join(notes(opened, read_monitoring(raw), []))
    assert "memory errors" not in "\n".join(notes(planned("cpu"), read_monitoring({}), []))


def test_folders_may_be_elsewhere_and_are_made_parents_first():
    raw = {
        "directory": "/etc/prom",
        "rules_directory": "/srv/rules",
        "host": "mon",
        "reload": "prometheus",
        "install": True,
    }
    found = monitoring_files(planned("p2p"), raw)
    assert found["paths"] == {
        "targets": "/etc/prom/targets/ascend-inference-inference.json",
        "rules": "/srv/rules/ascend-inference-inference.yml",
        "dashboards": "/etc/prom/dashboards/ascend-inference-inference.json",
    }
    assert [item["path"] for item in found["folders"]] == [
        "/etc/prom",
        "/etc/prom/targets",
        "/srv/rules",
        "/etc/prom/dashboards",
        "/etc/prom/manifests",
        "/etc/prom/manifests/inference",
    ]
    assert {item["mode"] for item in found["folders"]} == {"0755"} and {item["mode"] for item in found["files"]} == {
        "0644"
    }
    assert (found["host"], found["state"], found["reload"], found["install"]) == ("mon", "present", "prometheus", True)
    assert found["directory"] == "/etc/prom/manifests/inference" and found["node_exporter"] is False
    assert monitoring_files(planned("p2p"), {})["host"] == "localhost"


def test_prometheus_reads_the_files_of_all_deployments():
    found = configuration(read_monitoring({"directory": "/p"}))
    assert found == {
        "rule_files": ["/p/rules/ascend-inference-*.yml"],
        "scrape_configs": [
            {
                "job_name": "ascend-inference",
                "honor_timestamps": False,
                "scrape_interval": "15s",
                "file_sd_configs": [{"files": ["/p/targets/ascend-inference-*.json"]}],
            }
        ],
    }
    alerting = configuration(read_monitoring({"install": True}))["alerting"]
    assert alerting == {"alertmanagers": [{"static_configs": [{"targets": ["127.0.0.1:9093"]}]}]}


@pytest.mark.parametrize(
    ("raw", "jobs"),
    [
        ({}, set()),
        ({"node_exporter": True}, {("inference-host", 9100)}),
        ({"npu": "npu_exporter"}, {("inference-npu", 8082)}),
        ({"npu": "collector", "node_exporter": True, "node_exporter_port": 9}, {("inference-host", 9)}),
    ],
)
def test_exporters_of_hosts(raw, jobs):
    found = targets(planned("p2p"), read_monitoring(raw))
    of_hosts = [group for group in found if "role" not in group["labels"]]
    assert {(item["labels"]["job"], int(item["targets"][0].rpartition(":")[2])) for item in of_hosts} == jobs
    assert len(of_hosts) == 4 * len(jobs)
    without = {**planned("p2p"), "hosts": [{**host, "devices": []} for host in planned("p2p")["hosts"]]}
    left = {item["labels"]["job"] for item in targets(without, read_monitoring(raw))} - {"inference-engine"}
    assert left == {job for job, _port in jobs} - {"inference-npu"}


def board(name, raw=None):
    return made(planned(name), raw or {})[2]


def test_panels_fill_their_lines_and_rows_have_a_line_of_their_own():
    panels = board("p2p", {"npu": "collector", "node_exporter": True, "logs": True, "proxies": True, "probe": True})[
        "panels"
    ]
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    places = [tuple(panel["gridPos"][key] for key in "xywh") for panel in panels]
    taken = set()
    for x, y, width, height in places:
        cells = {(column, line) for column in range(x, x + width) for line in range(y, y + height)}
        assert not cells & taken and x + width <= 24
        taken |= cells
    titles = [panel["title"] for panel in panels if panel["type"] == "row"]
    rows_ = ["Overview", "Prefill and decode", "From prefill to decode", "Proxies", "Logs", "NPUs", "Probe"]
    assert titles == rows_
    heads = [place for panel, place in zip(panels, places, strict=True) if panel["type"] == "row"]
    assert {(x, width, height) for x, _y, width, height in heads} == {(0, 24, 1)}
    assert {height for panel, (_x, _y, _w, height) in zip(panels, places, strict=True) if panel["type"] != "row"} == {7}
    for number, place in enumerate(places[1:], 1):
        x, y, _width, _height = place
        if x:
            assert y == places[number - 1][1], "beside the one before"
        else:
            assert y == places[number - 1][1] + places[number - 1][3], "directly below"


def test_queries_of_a_panel_have_letters_and_their_form():
    for panel in board("p2p", {"npu": "npu_exporter"})["panels"]:
        queries = panel.get("targets", [])
        assert [query["refId"] for query in queries] == list("ABCDEFGH")[: len(queries)]
        for query in queries:
            assert query["instant"] == (panel["type"] in ("stat", "table")) != query["range"]
            assert (
                "$of" not in query["expr"]
                and "$hosts" not in query["expr"]
                and query["datasource"] == panel["datasource"]
            )


def test_a_dashboard_is_imported_as_it_is():
    found = board("p2p")
    found.pop("panels")
    assert re.fullmatch(
        "Written by the playbook ascend.inference.monitoring, content [0-9a-f]{12}", found.pop("description")
    )
    assert found == {
        "uid": "ascend-inference-inference",
        "title": "Inference: inference",
        "tags": ["ascend", "inference"],
        "schemaVersion": 37,
        "editable": True,
        "timezone": "browser",
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}]
        },
        "annotations": {"list": []},
    }


@pytest.mark.parametrize(("length", "cut"), [(23, False), (24, True)])
def test_an_identity_has_at_most_forty_characters(length, cut):
    found = uid_of("x" * length)
    assert len(found) == 40 and found.startswith("ascend-inference-xxx") and ("-" in found[17:]) == cut


def test_the_timers_run_as_they_are_set():
    raw = {"npu": "collector", "node_exporter": True, "proxies": True, "logs": True, "collector_interval": 77}
    raw |= {"collector_python": "/opt/python3", "textfile_directory": "/srv/textfiles"}
    found = monitoring_files(planned("p2p"), raw)
    units = {"collector": "npu-metrics", "proxies": "proxy-metrics-inference", "logs": "log-metrics-inference"}
    for part, unit in units.items():
        one = found[part]
        assert (one["unit"], one["service"]) == (f"ascend-inference-{unit}.timer", f"ascend-inference-{unit}.service")
        files = {file["path"]: file["content"] for file in one["files"]}
        assert {file["mode"] for file in one["files"]} == {"0644"} and {item["mode"] for item in one["folders"]} == {
            "0755"
        }
        timer, service = (files[f"/etc/systemd/system/{one[kind]}"] for kind in ("unit", "service"))
        assert "OnUnitInactiveSec=77\n" in timer and "WantedBy=timers.target\n" in timer
        start = re.search("^ExecStart=(.*)$", service, re.M)[1].split()
        assert start[:2] == ["/opt/python3", "-m"] and start[3] == "/srv/textfiles"
        assert f"Environment=PYTHONPATH={one['directory']} PYTHONDONTWRITEBYTECODE=1\n" in service
        assert "ReadWritePaths=/srv/textfiles\n" in service and "SuccessExitStatus=SIGTERM\n" in service
        folders = [item["path"] for item in one["folders"]]
        assert folders[:2] == [one["folder"], one["directory"]] and folders[-1] == "/srv/textfiles"
        assert {path.rpartition("/")[0] for path in files if not path.startswith("/etc/")} <= set(folders)
        assert one["outputs"][0].startswith("/srv/textfiles/ascend_inference_") and one["outputs"][0].endswith(".prom")
        assert one["state"] == "present"
    assert found["collector"]["hosts"] == [host["name"] for host in planned("p2p")["hosts"]]
    without = {**planned("p2p"), "hosts": [{**host, "devices": []} for host in planned("p2p")["hosts"]]}
    assert monitoring_files(without, raw)["collector"]["hosts"] == []


def test_labels_of_a_target():
    plan = planned("p2p")
    found = targets(plan, read_monitoring({}))
    services_ = {service["name"]: service for service in plan["services"]}
    for group in found:
        service = services_[group["labels"]["service"]]
        (port,) = [port["first"] for port in service["ports"] if port["name"] == "api"]
        assert group == {
            "targets": [f"{service['address']}:{port}"],
            "labels": {
                "job": "inference-engine",
                "deployment": "inference",
                "release": plan["release"],
                "revision": plan["digest"][:12],
                "host": service["host"],
                "role": service["kind"],
                "service": service["name"],
                "instance": f"{service['kind']}-{service['instance']}",
                "rank": str(service["rank"]),
            },
        }
    jobs = {group["labels"]["job"] for group in targets(planned("ha"), read_monitoring({}))}
    assert jobs == {"inference-engine", "inference-store"}
    assert {group["labels"]["job"] for group in targets(planned("cpu"), read_monitoring({}))} >= {"inference-router"}


def test_names_that_other_rules_of_a_site_may_read():
    assert set(rules.RECORDS) == {
        "inference:requests_running:sum",
        "inference:requests_waiting:sum",
        "inference:prompt_tokens:rate5m",
        "inference:generation_tokens:rate5m",
        "inference:prompt_tokens_by_source:rate5m",
        "inference:ttft_seconds:p99_5m",
    }


def test_each_host_has_to_show_its_own_npus():
    plan = planned("p2p")
    names = [host["name"] for host in plan["hosts"]]
    for item in plan["services"]:
        if item["host"] == names[0]:
            item["devices"] = item["devices"][:1]
    wanted = {
        name: len({die for item in plan["services"] if item["host"] == name for die in item["devices"]})
        for name in names
    }
    found = rules.per_host(plan, read_monitoring({"npu": "npu_exporter"}))
    assert found == {"npus": wanted} and len(set(wanted.values())) > 1
