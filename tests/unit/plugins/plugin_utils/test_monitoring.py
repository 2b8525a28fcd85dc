# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of monitoring: targets, which rules and panels a deployment gets, settings. promtool judges them in tests/integration."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.ascend.inference.plugins.filter.monitoring import files_filter
from ansible_collections.ascend.inference.plugins.module_utils.files.system_folders import is_system_folder
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring import metrics
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.alerts import ALERTS, parts_of
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.dashboard import WIDTH, uid_of
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.files import monitoring_files
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.rules import facts, host_selector
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import options_data
from ansible_collections.ascend.inference.tests.unit.ansible_text import as_ansible
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

ROOT = Path(__file__).resolve().parents[4]
ALL = {"npu": "npu_exporter", "probe": True, "node_exporter": True, "proxies": True}
# Runs a module of a folder as `python -m` does with PYTHONPATH, without the collection of this checkout.
PROGRAM = (
    "import runpy, sys; folder, name = sys.argv[1:3]; sys.path.insert(0, folder); del sys.argv[1:3];"
    "runpy.run_module(name, run_name='__main__')"
)
PLANS = ("p2p", "p2p-0.11", "both", "ha", "pooled", "cpu", "layerwise")


@pytest.fixture(scope="module")
def plan():
    return plan_of("a3_2p1d")


def planned(name):
    return launch_plan(*family(name, {}))


def made(plan, raw=None):
    """(targets, {alert: rule}, dashboard, notes)."""
    found = monitoring_files(plan, raw or {})
    texts = [file["content"] for file in found["files"]]
    groups = yaml.safe_load(texts[1])["groups"]
    alerts = {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}
    return json.loads(texts[0]), alerts, json.loads(texts[2]), found["notes"]


def queries(board):
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]


def test_texts_of_ansible_are_written_as_texts(plan):
    asked = {**ALL, "install": True}
    assert monitoring_files(as_ansible(plan), as_ansible(asked)) == monitoring_files(plan, asked)


def test_every_engine_is_a_target_with_its_place_in_the_plan(plan):
    targets = made(plan)[0]
    engines = [group for group in targets if group["labels"]["job"] == "inference-engine"]
    assert len(engines) == 34 and len({group["targets"][0] for group in engines}) == 34
    last = next(group for group in engines if group["labels"]["service"] == "decode-0-31")
    service = next(item for item in plan["services"] if item["name"] == "decode-0-31")
    assert last["targets"] == [service["health"]["url"].split("/")[2]]
    expected = {"deployment": "inference", "role": "decode", "instance": "decode-0", "rank": "31", "host": "d2"}
    assert expected.items() <= last["labels"].items()
    assert last["labels"]["revision"] == plan["digest"][:12] and last["labels"]["release"] == plan["release"]


def test_a_proxy_without_metrics_is_no_target_and_named(plan):
    targets, alerts, _board, notes = made(plan)
    assert not [group for group in targets if group["labels"]["job"] == "inference-router"]
    assert "InferenceRouterDown" not in alerts
    assert any(note.startswith("Not watched: router.") for note in notes)
    _targets, alerts, board, notes = made(plan, ALL)
    assert {"InferenceProxyDown", "InferenceProxyLostEngines", "InferenceProxyMetricsOld"} <= set(alerts)
    assert (
        "< 32" in alerts["InferenceProxyLostEngines"]["expr"]
        and "< 2 or" in alerts["InferenceProxyLostEngines"]["expr"]
    )
    assert "Engines that the proxy uses" in {panel["title"] for panel in board["panels"]}
    assert not [note for note in notes if note.startswith("Not watched: router.")]


def test_a_planned_probe_is_a_target_and_watched(plan):
    router = next(service for service in plan["services"] if service["kind"] == "router")
    port = {"name": "metrics", "first": 9500, "count": 1}
    probe = {**router, "name": "probe", "kind": "probe", "ports": [port]}
    targets, alerts, _board, notes = made({**plan, "services": [*plan["services"], probe]})
    assert [group["targets"] for group in targets if group["labels"]["job"] == "inference-probe"] == [
        ["192.0.2.11:9500"]
    ]
    assert "InferenceProbeFails" in alerts and "InferenceProbeMissing" in alerts
    assert not [note for note in notes if "empty answers" in note]


def test_hosts_have_exporters_only_if_they_are_named(plan):
    jobs = {group["labels"]["job"] for group in made(plan)[0]}
    assert jobs == {"inference-engine"}
    targets = made(plan, {**ALL, "npu_exporter_port": 9082})[0]
    found = {group["targets"][0]: group["labels"] for group in targets if group["labels"]["job"] == "inference-npu"}
    # no label deployment: the host may serve several, and would be scraped twice
    assert found["192.0.2.21:9082"] == {"job": "inference-npu", "host": "d1", "instance": "d1"} and len(found) == 4


def test_an_address_of_ipv6_is_in_brackets(plan):
    services = [{**service, "address": "fd00::1"} for service in plan["services"]]
    assert made({**plan, "services": services})[0][0]["targets"][0].startswith("[fd00::1]:")


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("raw", [{}, ALL, {**ALL, "npu": "collector"}], ids=["engines", "all", "collector"])
def test_rules_and_panels_name_only_metrics_that_exist(name, raw):
    plan = planned(name)
    _targets, alerts, board, notes = made(plan, raw)
    known = metrics.exported(plan, raw.get("npu", "none"), raw.get("probe", False), raw.get("proxies", False)) | {
        "ALERTS"
    }
    expressions = [rule["expr"] for rule in alerts.values()] + queries(board)
    assert {found for text in expressions for found in metrics.names_in(text)} - known == set()
    assert len(alerts) >= 6 and len(queries(board)) > 8
    for alert in ALERTS:
        named = [note for note in notes if f"{alert.name}," in note]
        # Everything that has a meaning for the deployment is either watched or named.
        assert f"Inference{alert.name}" in alerts or named or alert.needs, alert.name


@pytest.mark.parametrize("part", ["nothing", "npu", "probe", "proxies", "logs"])
@pytest.mark.parametrize("name", ["p2p", "both", "ha", "cpu"])
def test_what_alerts_compare_with_is_recorded_for_what_is_watched(name, part):
    """A number that nobody records is a series that never appears, so that its alert never fires."""
    found = monitoring_files(
        planned(name), {"node_exporter": True, part: ALL.get(part, True)} if part != "nothing" else {}
    )
    rules = [rule for group in yaml.safe_load(found["files"][1]["content"])["groups"] for rule in group["rules"]]
    recorded = {rule["record"] for rule in rules if "record" in rule}
    compared = {name for rule in rules for name in re.findall(r"inference:\w+:planned", rule["expr"])}
    assert compared <= recorded


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("p2p", {"disaggregated"}),
        ("cpu", {"disaggregated", "store", "router_metrics"}),
        ("both", {"disaggregated", "store"}),
        ("ha", {"disaggregated", "store", "ha"}),
        ("pooled", {"store", "router_metrics"}),
    ],
)
def test_the_parts_of_a_deployment(name, parts):
    plan = planned(name)
    assert parts_of(plan, "none", False) == parts
    more = parts_of(plan, "collector", True, True, True) - parts
    npus = set() if name == "cpu" else {"npu"}
    assert more == {"probe", "logs"} | npus | (set() if "router_metrics" in parts else {"proxies"})


def test_panels_of_the_router_read_the_counters_of_its_mode():
    """With prefill and decode the program has no counters of single engines, and the other way round: such a line would stay empty."""
    pairs, single = (" ".join(queries(made(planned(name))[2])) for name in ("cpu", "pooled"))
    for name in ("pd_request_duration_seconds_bucket", "pd_decode_errors_total", "pd_prefill_errors_total"):
        assert f"vllm_router_{name}" in pairs and f"vllm_router_{name}" not in single
    for name in ("generate_duration_seconds_bucket", "request_errors_total", "retries_exhausted_total"):
        assert f"vllm_router_{name}" in single and f"vllm_router_{name}" not in pairs


def test_an_older_vllm_is_watched_with_the_metrics_that_it_has():
    alerts = made(planned("p2p-0.11"))[1]
    assert "InferenceDecodeComputesPrompts" not in alerts
    assert "external_prefix_cache_hits" in made(planned("p2p-0.13"))[1]["InferenceDecodeComputesPrompts"]["expr"]
    assert "prompt_tokens_by_source" in made(planned("p2p"))[1]["InferenceDecodeComputesPrompts"]["expr"]


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("npu", ["npu_exporter", "collector"])
def test_each_selector_belongs_to_the_deployment_or_to_its_hosts(name, npu):
    """Another deployment of the same Prometheus, on other hosts, is neither shown nor judged."""
    plan = planned(name)
    _targets, alerts, board, _notes = made(plan, {**ALL, "npu": npu, "logs": True})
    texts = [rule["expr"] for rule in alerts.values()] + queries(board)
    selected = [(found, text) for text in texts for found in re.findall(r"[\w:]+\{([^{}]*)\}", text)]
    of, hosts = f'deployment="{plan["deployment"]}"', host_selector(plan)
    assert [pair for pair in selected if of not in pair[0] and hosts not in pair[0]] == []
    bare = [
        text
        for text in texts
        for word in metrics.names_in(text)
        if re.search(rf"(?<![\w:]){re.escape(word)}(?![\w:{{])", text)
    ]
    assert bare == [] and len(selected) > 30


def test_what_each_host_has_to_export_is_recorded(plan):
    def recorded(raw):
        groups = yaml.safe_load(monitoring_files(plan, raw)["files"][1]["content"])["groups"]
        rows = [rule for group in groups for rule in group["rules"] if rule.get("labels", {}).get("host")]
        return {(row["record"].split(":")[1], row["labels"]["host"]): row["expr"] for row in rows}

    found = recorded({**ALL, "logs": True})
    assert {host: found["npus", host] for host in ("p1", "p2", "d1", "d2")} == dict.fromkeys(
        ("p1", "p2", "d1", "d2"), "vector(16)"
    )
    assert found["logs", "p1"] == "vector(2)" and found["logs", "d1"] == "vector(16)"
    assert [key for key in found if key[0] == "proxies"] == [("proxies", "p1")]
    assert recorded({}) == {}


def test_an_older_vllm_is_stuck_also_if_it_does_not_count_what_waits_for_kv_cache():
    older, newer = (
        made(planned("p2p-0.13"))[1],
        made({**planned("p2p"), "release_facts": {**planned("p2p")["release_facts"], "vllm": "0.32.0"}})[1],
    )
    for alerts in (older, newer):
        assert "vllm:num_requests_waiting{" in alerts["InferenceEngineStuck"]["expr"]
    assert (
        "kv_fetch" in newer["InferenceEngineStuck"]["expr"] and "kv_fetch" not in older["InferenceEngineStuck"]["expr"]
    )


def test_what_is_not_watched_is_named(plan):
    notes = " ".join(made(plan)[3])
    for part in ("KvFetchHangs", "TransfersFail", "empty answers with status 200", "memory errors of the NPUs"):
        assert part in notes, notes
    assert "empty answers" not in " ".join(made(plan, ALL)[3])


def test_limits_come_from_the_plan():
    plan = planned("ha")
    assert facts(plan)["store_clients"] == plan["verify"]["store"]["clients"] > 0
    assert facts(plan)["decode_requests"] == 28 * 32
    engines = [group for group in made(plan)[0] if group["labels"]["job"] == "inference-engine"]
    assert facts(plan)["engines"] == len(engines) == 3  # decode is one instance on two hosts, with one API
    assert sum(service["kind"] == "decode" for service in plan["services"]) == 2
    assert facts(plan)["kv_hold_timeout"] == 480
    shorter = launch_plan(*family("p2p", {"inference_kv_hold_timeout": 300}))
    assert facts(shorter)["kv_hold_timeout"] == 300
    assert "* 300" in made(shorter)[1]["InferenceQueueNearHoldTimeout"]["expr"]
    assert facts(planned("pooled"))["kv_hold_timeout"] is None


def test_limits_of_an_alert_are_variables(plan):
    raw = {"alerts": {"AbortRatio": {"threshold": 11, "after": 7, "window": 90}, "PreemptionStorm": {"enabled": False}}}
    alerts = made(plan, raw)[1]
    found = alerts["InferenceAbortRatio"]
    assert found["for"] == "7s" and "> 11 *" in found["expr"] and "[90s]" in found["expr"]
    assert "InferencePreemptionStorm" not in alerts
    assert "InferencePreemptionStorm" in made(plan)[1]
    for given, used in ((0, 0), (-1, 5), (1, 1)):  # 0 is a limit, and no number the default
        rule = made(plan, {"alerts": {"AbortRatio": {"threshold": given} if given >= 0 else {}}})[1][
            "InferenceAbortRatio"
        ]
        assert f"> {used} *" in rule["expr"]


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        ({"alerts": {"AbortRatios": {}}}, "inference_monitoring.alerts.AbortRatios"),
        ({"alerts": {"AbortRatio": {"treshold": 3}}}, "inference_monitoring.alerts.AbortRatio.treshold"),
        ({"probe": True}, "inference_monitoring.probe"),
        ({"npu": "collector"}, "inference_monitoring.npu"),
        ({"npu": "exporter"}, "inference_monitoring.npu"),
        ({"directory": "/etc/x;y"}, "inference_monitoring.directory"),
        ({"directory": "/etc/"}, "inference_monitoring.directory"),
        ({"targets_directory": "/"}, "inference_monitoring.targets_directory"),
        ({"rules_directory": "/var/run"}, "inference_monitoring.rules_directory"),
        ({"dashboards_directory": "/usr"}, "inference_monitoring.dashboards_directory"),
        ({"textfile_directory": "/var/lib"}, "inference_monitoring.textfile_directory"),
        ({"reload": "a b"}, "inference_monitoring.reload"),
    ],
)
def test_wrong_settings_are_refused(plan, raw, place):
    with pytest.raises(AnsibleFilterError, match=re.escape(place)):
        files_filter(plan, raw)


def test_folders_of_programs_of_the_site_are_taken(plan):
    folders = {"directory": "/etc/prometheus", "dashboards_directory": "/etc/grafana/provisioning/dashboards"}
    assert files_filter(plan, folders)["folders"]


def test_pods_are_refused():
    with pytest.raises(AnsibleFilterError, match="kubernetes_sd"):
        files_filter(planned("kubernetes"), {})


def test_names_of_hosts_are_no_patterns(plan):
    hosts = [{"name": "d.1"}, {"name": "node-2"}]
    assert host_selector({**plan, "hosts": hosts}) == 'host=~"d\\\\.1|node-2"'


def test_links_of_alerts_lead_to_their_sections(plan):
    guide = (ROOT / "docs" / "docsite" / "rst" / "guide_monitoring.rst").read_text(encoding="utf-8")
    headings = {heading.lower() for heading in re.findall(r"^(\w+)\n~+$", guide, re.M)}
    links = {rule["annotations"]["runbook_url"] for rule in made(plan, ALL)[1].values()}
    assert {link.rpartition("#")[2] for link in links} - headings == set()
    assert {link.rpartition("/")[2].partition("#")[0] for link in links} == {"guide_monitoring.rst"}


@pytest.mark.parametrize("name", PLANS)
def test_the_dashboard_has_the_structure_that_grafana_imports(name):
    board = made(planned(name), ALL)[2]
    assert re.fullmatch(r"[\w-]{1,40}", board["uid"]) and board["title"] and board["schemaVersion"] >= 36
    assert [variable["type"] for variable in board["templating"]["list"]] == ["datasource"]
    taken = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert place["x"] + place["w"] <= WIDTH and not cells & taken, panel["title"]
        taken |= cells
        assert panel["type"] == "row" or (panel["targets"] and panel["datasource"]["uid"] == "${datasource}")
        assert len({target["refId"] for target in panel.get("targets", ())}) == len(panel.get("targets", ()))
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))


def test_prefill_and_decode_are_beside_each_other(plan):
    board = made(plan)[2]
    places = {panel["title"]: panel["gridPos"] for panel in board["panels"]}
    left, right = places["Requests at prefill"], places["Requests at decode"]
    assert left["y"] == right["y"] and (left["x"], right["x"]) == (0, 12)


def test_a_state_that_is_bad_or_unknown_has_not_the_colour_of_a_good_one(plan):
    """Grafana's own thresholds paint every value below 80 green."""
    board = made(plan, ALL)[2]
    histories = [panel for panel in board["panels"] if panel["type"] == "status-history"]
    assert len(histories) == 3
    for panel in histories:
        (mapping,) = panel["fieldConfig"]["defaults"]["mappings"]
        assert {value: item["color"] for value, item in mapping["options"].items()} == {
            "1": "green",
            "0": "red",
            "-1": "purple",
        }
        assert all(item["text"] for item in mapping["options"].values())


@pytest.mark.parametrize(("name", "numbers"), [("ha", {"prefill": 2, "decode": 1}), ("pooled", {"colocated": 2})])
def test_a_pool_without_one_of_its_engines_is_not_green(name, numbers):
    (stat,) = [panel for panel in made(planned(name))[2]["panels"] if panel["type"] == "stat"]
    assert stat["fieldConfig"]["defaults"]["thresholds"]["steps"] == [{"color": "red", "value": None}]
    found = {row["matcher"]["options"]: row["properties"] for row in stat["fieldConfig"]["overrides"]}
    assert set(found) == set(numbers)
    for role, number in numbers.items():
        assert found[role] == [
            {
                "id": "thresholds",
                "value": {
                    "mode": "absolute",
                    "steps": [{"color": "red", "value": None}, {"color": "green", "value": number}],
                },
            }
        ]


@pytest.mark.parametrize("name", PLANS)
def test_all_curves_of_a_panel_have_its_unit(name):
    """A rate of failures among seconds is shown as a time."""
    grafana = {"short", "s", "bytes", "percentunit", "celsius"}
    of = {"s": r"_seconds", "bytes": "_bytes", "celsius": "_temperature", "percentunit": "_perc|/"}
    plan = planned(name)
    for service in plan["services"]:  # the connector that exports metrics
        service["argv"] = [word.replace("MooncakeConnectorV1", "MooncakeConnectorV2") for word in service["argv"]]
    for panel in made(plan, {**ALL, "logs": True})[2]["panels"]:
        if panel["type"] == "row":
            continue
        unit = panel["fieldConfig"]["defaults"]["unit"]
        assert unit in grafana
        for target in panel["targets"]:
            assert re.search(of.get(unit, ""), target["expr"]), (panel["title"], unit, target["expr"])
            assert unit != "short" or not re.search("_seconds_(bucket|total)", target["expr"]), panel["title"]


def test_the_table_shows_all_alerts(plan):
    formats = {(panel["type"], row["format"]) for panel in made(plan)[2]["panels"] for row in panel.get("targets", ())}
    assert {kind for kind, form in formats if form == "table"} == {"table"} and ("table", "time_series") not in formats


@pytest.mark.parametrize(
    ("inventory", "names"),
    [
        ("a3_llmdatadist_w8a8", ["gpu_prefix_cache"]),
        ("a2_llmdatadist_1p2d", ["prefix_cache"]),
        ("a3_mooncake_1p1d", ["prefix_cache", "external_prefix_cache"]),
    ],
)
def test_the_dashboard_shows_hits_of_kv_pages_by_the_names_of_the_release(inventory, names):
    (panel,) = [row for row in made(plan_of(inventory))[2]["panels"] if "decode finds in KV caches" in row["title"]]
    assert [re.findall(r"vllm:(\w+)_(?:hits|queries)_total", row["expr"]) for row in panel["targets"]] == [
        [name, name] for name in names
    ]


def test_deployments_whose_names_begin_alike_have_their_own_dashboards():
    long = "model-with-a-long-name-in-the-west"
    names = [uid_of(name) for name in ("inference", long + "-1", long + "-2")]
    assert names[0] == "ascend-inference-inference" and len(set(names)) == 3
    assert all(re.fullmatch(r"[\w-]{1,40}", name) for name in names)


def test_another_content_has_another_description(plan):
    first, second = made(plan)[2], made(plan, ALL)[2]
    assert first["description"] != second["description"]
    assert first["description"] == made({**plan, "digest": "0" * 64})[2]["description"]


def test_every_version_of_vllm_has_the_metrics_of_the_oldest_alerts():
    for version in options_data.VLLM_VERSIONS:
        assert {"vllm:num_requests_running", "vllm:generation_tokens_total"} <= metrics.of_vllm(version), version
    assert "vllm:time_per_output_token_seconds_bucket" not in metrics.of_vllm("0.18.0")
    assert "vllm:time_per_output_token_seconds_bucket" in metrics.of_vllm("0.13.0")


def test_metrics_of_a_master_belong_to_its_version():
    assert "master_put_start_alloc_failures_total" not in metrics.of_master("0.3.9")
    assert "master_put_start_alloc_failures_total" in metrics.of_master("0.3.11.post1")


def test_no_folder_belongs_to_the_system():
    """Otherwise service_files would refuse to write into it, as it looks at the folder and at the root two levels above."""
    made = monitoring_files(planned("p2p"), {**ALL, "npu": "collector", "logs": True})
    for directory in (made["directory"], *(made[part]["directory"] for part in ("collector", "proxies", "logs"))):
        assert not is_system_folder(directory)
        assert not is_system_folder(os.path.dirname(os.path.dirname(directory)))


def test_the_collector_is_complete_without_the_collection(tmp_path):
    made = monitoring_files(planned("p2p"), {**ALL, "npu": "collector"})["collector"]
    for file in made["files"]:
        path = tmp_path / file["path"].lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["content"], encoding="utf-8")
    unit = (tmp_path / "etc/systemd/system/ascend-inference-npu-metrics.service").read_text(encoding="utf-8")
    # hccn_tool locks /etc/hccn.conf and writes below /var/log.
    assert re.findall("^ProtectSystem=(.*)$", unit, re.M)[-1] == "true"
    command = re.search("^ExecStart=(.*)$", unit, re.M)[1].split()
    (tmp_path / "textfiles").mkdir()
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            PROGRAM,
            str(tmp_path / made["directory"].lstrip("/")),
            command[2],
            str(tmp_path / "textfiles"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "npu-smi is neither in PATH" in done.stderr and done.returncode == 1
    text = (tmp_path / "textfiles" / "ascend_inference_npu.prom").read_text(encoding="utf-8")
    assert 'inference_npu_query_failed{device="all"} 1' in text
    assert (
        set(command[3:]) == {"/var/lib/prometheus/node-exporter"}
        and "ReadWritePaths=/var/lib/prometheus/node-exporter" in unit
    )


def test_the_counters_of_logs_are_complete_without_the_collection(tmp_path):
    found = monitoring_files(planned("p2p"), {**ALL, "logs": True})["logs"]
    own = next(iter(found["own"].values()))[0]
    for file in [*found["files"], own]:
        path = tmp_path / file["path"].lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["content"].replace("/var/lib/", f"{tmp_path}/"), encoding="utf-8")
    settings = json.loads((tmp_path / own["path"].lstrip("/")).read_text(encoding="utf-8"))
    for folder in (tmp_path / "textfiles", Path(settings["state"]).parent):
        folder.mkdir()
    code, config = str(tmp_path / found["directory"].lstrip("/")), str(tmp_path / own["path"].lstrip("/"))
    arguments = [PROGRAM, code, "ascend_inference_collector.collector.logs", str(tmp_path / "textfiles"), config]
    environment = {**os.environ, "PATH": "/none"}
    done = subprocess.run(
        [sys.executable, "-I", "-c", *arguments], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0 and "sh cannot be started" in done.stderr, done.stderr
    text = (tmp_path / "textfiles" / settings["file"]).read_text(encoding="utf-8")
    assert text.count("inference_log_read{") == len(settings["services"]) and "} 1\n" not in text


@pytest.mark.parametrize("part", ["collector", "proxies", "logs"])
def test_what_rounds_write_has_a_name_of_ours(plan, part):
    """A folder npu-metrics below the root may be somebody's: only what the manifest of the program names goes, and the folder if it is empty then."""
    found = monitoring_files(plan, {**ALL, "npu": "collector", "logs": True, "state": "absent"})[part]
    assert found["outputs"] and all("ascend" in path for path in found["outputs"])
    assert os.path.dirname(found["directory"]) == found["folder"] == found["folders"][0]["path"]


def test_the_collector_is_touched_only_where_it_is_used():
    def state(raw):
        return monitoring_files(planned("p2p"), raw)["collector"]["state"]

    assert (state({}), state({**ALL, "state": "absent"})) == ("", "")
    assert state({**ALL, "npu": "collector"}) == "present"
    assert state({**ALL, "npu": "collector", "state": "absent"}) == "absent"


def test_logs_are_read_on_the_hosts_of_their_services(plan):
    raw = {**ALL, "logs": True}
    found = monitoring_files(plan, raw)["logs"]
    assert found["state"] == "present" and set(found["hosts"]) == {service["host"] for service in plan["services"]}
    read = {}
    for host, files in found["own"].items():
        settings = json.loads(files[0]["content"])
        read[host] = [item["service"] for item in settings["services"]]
        assert settings["transferred"] == "KV cache transfer for request "
        roles = {service["name"]: service["kind"] for service in plan["services"]}
        assert all(item["role"] == roles[item["service"]] and item["log"]["kind"] for item in settings["services"])
    assert "router" in read["p1"] and all("decode" in name for name in read["d1"])
    unit = next(file["content"] for file in found["files"] if file["path"].endswith(".service"))
    assert (
        "CapabilityBoundingSet=CAP_DAC_OVERRIDE\n" in unit
        and "StateDirectory=ascend-inference-log-metrics-inference\n" in unit
    )
    state = "/var/lib/ascend-inference-log-metrics-inference"
    assert found["outputs"][1:] == [f"{state}/state.json", state]  # the folder after what is in it
    assert monitoring_files(plan, ALL)["logs"]["state"] == ""
    assert monitoring_files(plan, {**raw, "state": "absent"})["logs"]["state"] == "absent"
    with pytest.raises(AnsibleFilterError, match=r"inference_monitoring\.logs"):
        files_filter(plan, {"logs": True})


def test_failed_transfers_of_connectors_without_metrics_are_those_of_their_logs(plan):
    assert "InferenceTransfersFail" not in made(plan, ALL)[1]
    alerts = made(plan, {**ALL, "logs": True})[1]
    assert 'flag=~"transfer_.+"' in alerts["InferenceTransfersFail"]["expr"]
    assert "{{ $labels.flag }}" in alerts["InferenceLogRedFlags"]["annotations"]["summary"]


def test_collectors_may_use_folders_of_other_users_and_no_others():
    """Those of node_exporter and of logs need not be root's."""
    plan = launch_plan(*family("p2p", {"inference_runtime": "supervisor"}))
    found = monitoring_files(plan, {**ALL, "logs": True})
    for kind in ("logs", "proxies"):
        unit = next(file["content"] for file in found[kind]["files"] if file["path"].endswith(".service"))
        assert "CapabilityBoundingSet=CAP_DAC_OVERRIDE\n" in unit and "ProtectSystem=strict\n" in unit
        assert ("ProtectHome=read-only" in unit) == (kind == "logs")


def test_proxies_are_asked_on_their_hosts(plan):
    made_proxies = monitoring_files(plan, ALL)["proxies"]
    assert made_proxies["hosts"] == ["p1"] and made_proxies["state"] == "present"
    content = {file["path"].rpartition("/")[2]: file["content"] for file in made_proxies["files"]}
    settings = json.loads(content["proxies.json"])
    assert settings["proxies"] == [{"service": "router", "host": "p1", "url": "http://192.0.2.11:8000/healthcheck"}]
    assert settings["file"] in made_proxies["outputs"][-1]
    unit = content["ascend-inference-proxy-metrics-inference.service"]
    assert "CapabilityBoundingSet=CAP_DAC_OVERRIDE\n" in unit
    assert "proxies.json" in re.search("^ExecStart=(.*)$", unit, re.M)[1]
    assert monitoring_files(plan, {})["proxies"]["state"] == ""
    assert monitoring_files(planned("cpu"), ALL)["proxies"]["state"] == ""  # vllm_router has metrics of its own
