# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict of a handover: only what proved itself passed, and every deviation is on the page."""

from __future__ import annotations

import json
import pathlib
import re

import jinja2
import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.ascend.inference.plugins.filter.acceptance import settings_filter
from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance.declaration import declaration, records
from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance.page import acceptance_page
from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance.report import acceptance_report
from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance.text import acceptance_text
from ansible_collections.ascend.inference.plugins.plugin_utils.bench import curves
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.files import file_findings
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.facts import check_facts
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of

ALL = ["check", "deploy", "verify", "bench", "drill"]
LOAD = {"title": "4", "round": "", "completed": 10, "failed": 0, "empty": 0, "loaded_share": None, "measurements": 1}
FIGURES = {"ttft_p50": 81.5, "output_throughput": 1200.0}
WHY = {"why": "w", "fix": "f", "value": ""}


@pytest.fixture(scope="module")
def plan():
    return plan_of("a3_2p1d")


def finding(severity, id_="NPU-HEALTH", path="n1 device 3", problem="it is ill"):
    return {"id": id_, "path": path, "problem": problem, "severity": severity, **WHY}


@pytest.fixture(scope="module")
def matrices(plan):
    """What hccn_ping returned on each host: all devices reach those of all other hosts."""
    devices = [(service["host"], device) for service in plan["services"] for device in service["devices"]]
    found = {host["name"]: {} for host in plan["hosts"]}
    for host, device in devices:
        found[host][str(device)] = {
            f"{other} device {peer}": {"reachable": True} for other, peer in devices if other != host
        }
    return found


@pytest.fixture
def perfect(plan, matrices):
    """A handover without a deviation."""
    npus = [{"device_id": 0, "board": {"firmware_version": "7.8"}}]
    facts = {
        "npu": {"driver_version": "25.5.1", "npus": npus},
        "host": {"software": {"cann": "8.5.0"}, "system": {"kernel": "5.10", "os": "openEuler", "machine": "aarch64"}},
    }
    pairs = {"prefill-0": {"decode-0": {"status": "passed"}, "decode-1": {"status": "passed"}}}
    verify = {
        "verified": True,
        "check_mode": False,
        "findings": [],
        "warnings": [],
        "steps": [],
        "pairs": pairs,
        "changed": [],
    }
    bench = {"passed": True, "findings": [], "devices": 32}
    return {
        "settings": {"bench": True, "drill": True, "unplanned": []},
        "begun": ALL,
        "date": "2026-11-23 02:00 UTC",
        "left_out": [],
        "unrecorded": [],
        "tcp": "listen",
        "thresholds": {"link_downs": 3},  # the default
        "status_ignored": False,
        "facts": {name: {**facts, "ping": {"matrix": matrix}} for name, matrix in matrices.items()},
        "findings": [],
        "verify": {
            **verify,
            "requests": [{}] * 7,
            "ttft_ms": {"stream": 80.4, "engine": None},
            "transfer_ms": [2.0, 4.0, 9.0],
            "reason": "",
        },
        "bench": {**bench, "loads": [{**LOAD, **{part: FIGURES for part in ("median", "least", "most")}}]},
        "drill": {
            "passed": True,
            "faults": [{"label": "kill prefill-1", "passed": True, "findings": [], "figures": {"fault": {"gap": 1.5}}}],
        },
        "drill_ended": "",
    }


def found(plan, given):
    report = acceptance_report(plan, given)
    return report, [(item["severity"], item["id"], item["path"]) for item in report["deviations"]]


def test_nothing_to_say_is_a_pass_with_figures_versions_and_digest(plan, perfect):
    report, deviations = found(plan, perfect)
    head = {"format": 1, "deployment": "inference", "digest": plan["digest"], "release": plan["release"]}
    head |= {"vllm": plan["release_facts"]["vllm"], "model": plan["model"]["name"], "date": perfect["date"]}
    assert {name: report[name] for name in head} == head and report["bench"] == perfect["bench"]
    assert (report["hosts"], report["devices"]) == (4, sum(len(service["devices"]) for service in plan["services"]))
    assert (report["verdict"], deviations) == ("passed", [])
    assert {row["state"] for row in report["stages"]} == {"passed"} and len(report["stages"]) == 5
    text = "\n".join(acceptance_text(report))
    for word in (
        "PASSED",
        plan["digest"],
        "25.5.1",
        "8.5.0",
        "2 of 2 pairs of ranks passed",
        "KV transfer: 4.0 ms",
        "81.5",
        "None.",
        "Signatures",
    ):
        assert word in text, word
    assert "no good answer for at most 1.5 s" in text and "stream: 80 ms" in text


@pytest.mark.parametrize(
    ("change", "severity", "id_", "verdict"),
    [
        ({"findings": [finding("error")]}, "error", "NPU-HEALTH", "not passed"),
        ({"findings": [finding("warning")]}, "warning", "NPU-HEALTH", "passed with deviations"),
        ({"findings": [finding("accepted")]}, "accepted", "NPU-HEALTH", "passed with deviations"),
        ({"findings": [finding("remark")]}, "remark", "NPU-HEALTH", "passed with deviations"),
        ({"left_out": ["n1"]}, "unknown", "ACCEPTANCE-LIMIT", "passed with deviations"),
        ({"unrecorded": ["n1"]}, "unknown", "ACCEPTANCE-RECORD", "passed with deviations"),
        (
            {"settings": {"bench": True, "drill": True, "unplanned": ["spare"]}},
            "unknown",
            "ACCEPTANCE-UNPLANNED",
            "passed with deviations",
        ),
        (
            {"settings": {"bench": True, "drill": False, "unplanned": []}, "drill": None},
            "unknown",
            "ACCEPTANCE-NOT-ASKED",
            "passed with deviations",
        ),
        (
            {"settings": {"bench": False, "drill": True, "unplanned": []}, "bench": None},
            "unknown",
            "ACCEPTANCE-NOT-ASKED",
            "passed with deviations",
        ),
        ({"tcp": "none"}, "unknown", "ACCEPTANCE-TCP", "passed with deviations"),
        ({"thresholds": {"temperature_celsius": 120}}, "accepted", "ACCEPTANCE-THRESHOLD", "passed with deviations"),
        ({"status_ignored": True}, "accepted", "ACCEPTANCE-STATUS", "passed with deviations"),
        ({"drill_ended": "a step failed"}, "error", "DRILL-ENDED", "not passed"),
        ({"drill": None}, "error", "ACCEPTANCE-NOT-FINISHED", "not passed"),
        ({"bench": None, "begun": ["check", "deploy", "verify"]}, "error", "ACCEPTANCE-NOT-FINISHED", "not passed"),
        ({"findings": None}, "error", "ACCEPTANCE-NOT-FINISHED", "not passed"),
    ],
)
def test_each_deviation_is_named_and_judged(plan, perfect, change, severity, id_, verdict):
    report, deviations = found(plan, {**perfect, **change})
    assert [item[:2] for item in deviations] == [(severity, id_)]
    assert report["verdict"] == verdict
    assert verdict.upper() in acceptance_text(report)[0]


@pytest.mark.parametrize(
    ("change", "id_", "verdict"),
    [
        ({"warnings": ["the log of decode-0 was not read"]}, "VERIFY-WARNING", "passed with deviations"),
        (
            {"steps": [{"step": "texts", "status": "skipped", "message": "switched off by inference_verify"}]},
            "VERIFY-SKIPPED",
            "passed with deviations",
        ),
        (
            {"pairs": {"prefill-0": {"decode-0": {"status": "passed"}, "decode-1": {}}}},
            "VERIFY-PAIRS",
            "passed with deviations",
        ),
        ({"changed": ["texts"], "reason": ""}, "VERIFY-CHANGED", "passed with deviations"),
        ({"check_mode": True}, "ACCEPTANCE-NOT-ASKED", "not passed"),
        ({"verified": False, "findings": [finding("error", "VERIFY-PAIRS")]}, "VERIFY-PAIRS", "not passed"),
    ],
)
def test_what_verify_did_not_prove_is_a_deviation(plan, perfect, change, id_, verdict):
    report, deviations = found(plan, {**perfect, "verify": {**perfect["verify"], **change}})
    assert [item[1] for item in deviations] == [id_] and report["verdict"] == verdict


def test_a_benchmark_that_measures_nothing_is_no_proof(plan, perfect):
    bench = {**perfect["bench"], "settings": {"profile": "smoke"}}
    assert found(plan, {**perfect, "bench": bench})[1] == [("unknown", "ACCEPTANCE-SMOKE", "inference_bench.profile")]


def test_an_unknown_version_and_an_unreachable_host_are_not_taken_for_good(plan, perfect):
    first, second = (host["name"] for host in plan["hosts"][:2])
    perfect["facts"][first] = {**perfect["facts"][first], "host": {"system": {"kernel": "5.10"}}}
    perfect["facts"][second] = {"unreachable": "no route"}
    report, deviations = found(plan, perfect)
    versions = [("unknown", "ACCEPTANCE-VERSION", name) for name in (first, second)]
    assert sorted(deviations) == [("unknown", "ACCEPTANCE-PINGS", "check"), *versions]
    assert "pairs of devices were pinged" in report["deviations"][0]["problem"]


def test_one_pair_of_devices_that_was_not_pinged_is_a_deviation(plan, perfect):
    name = plan["hosts"][0]["name"]
    matrix = {device: dict(peers) for device, peers in perfect["facts"][name]["ping"]["matrix"].items()}
    next(iter(matrix.values())).popitem()
    perfect["facts"][name] = {**perfect["facts"][name], "ping": {"matrix": matrix}}
    assert found(plan, perfect)[1] == [("unknown", "ACCEPTANCE-PINGS", "check")]


def test_a_step_is_no_deviation_if_the_plan_has_nothing_that_it_tests(plan, perfect):
    absent = [{"step": step, "status": "skipped", "message": "none"} for step in ("master", "routers", "pool")]
    assert "store" not in plan["verify"] and len(plan["verify"].get("routers", [])) < 2
    assert found(plan, {**perfect, "verify": {**perfect["verify"], "steps": absent}})[1] == []
    failed = [{"step": step, "status": "skipped", "message": "engines failed"} for step in ("transfer", "pairs")]
    assert len(found(plan, {**perfect, "verify": {**perfect["verify"], "steps": failed}})[1]) == 2


def test_an_npu_that_no_service_uses_is_not_proven(plan, perfect):
    host = plan["hosts"][0]["name"]
    npu = perfect["facts"][host]["npu"]
    more = [*npu["npus"], {"device_id": 16, "board": {}}, {"device_id": 17, "board": {}}]
    perfect["facts"][host] = {**perfect["facts"][host], "npu": {**npu, "npus": more}}
    report, deviations = found(plan, perfect)
    assert (report["verdict"], deviations) == ("passed with deviations", [("unknown", "ACCEPTANCE-DEVICES", host)])
    assert "no service uses its NPUs 16-17" in report["deviations"][0]["problem"]


def test_a_run_that_ended_early_leaves_a_page_that_says_so(plan, perfect):
    early = {**perfect, "begun": ["check", "deploy", "verify"], "verify": None, "bench": None, "drill": None}
    report, _deviations = found(plan, early)
    assert [row["state"] for row in report["stages"]] == [
        "passed",
        "not finished",
        "not finished",
        "not begun",
        "not begun",
    ]
    assert report["verdict"] == "not passed"
    for nothing in (None, ""):  # ansible-core before 2.19 has "" for none
        first = {**early, "begun": ["check"], "findings": nothing, "facts": {}}
        report, _deviations = found(plan, first)
        assert report["stages"][0]["state"] == "not finished" and report["figures"] == []


def test_no_place_is_left_out_of_the_page_and_nothing_is_loaded_or_run(plan, perfect):
    hosts = [f"rack-{number}" for number in range(30)]
    many = [finding("warning", path=host, problem="<script>\x1b[2J") for host in hosts]
    report = acceptance_report(plan, {**perfect, "findings": many})
    text, page = "\n".join(acceptance_text(report)), acceptance_page(report)
    assert [host for host in hosts if not re.search(rf"\b{host}\b", text) or not re.search(rf"\b{host}\b", page)] == []
    assert "\x1b" not in text + page and "<script>" not in page and "Deviations: 30" in text
    assert not re.search(r"(?:src|href)=|url\(|@import", page)


@pytest.mark.parametrize(
    ("settings", "confirmed", "text"),
    [
        ({"drill": True}, "", "inference_drill_confirm"),
        ({"drills": True}, "", "drills"),
        ({"mask": "perhaps"}, "", "mask"),
        ({"folder": "/none/of/this"}, "", "Create the folder"),
    ],
)
def test_what_would_end_the_run_later_is_refused_at_once(plan, settings, confirmed, text):
    with pytest.raises(AnsibleFilterError, match=text):
        settings_filter(plan, settings, others(confirmed=confirmed), {})


def others(bench=(), drill=(), confirmed="", **files):
    """What bench and drill will read."""
    of_drill = {name: files.pop(name) for name in list(files) if name.startswith("inference_drill")}
    return {
        "bench": dict(bench),
        "drill": dict(drill),
        "confirmed": confirmed,
        "files": {"bench": files, "drill": of_drill},
    }


def test_everything_that_would_end_the_run_later_is_named_together(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(curves, "find_spec", lambda name: None)
    given = others(
        drill={"host": "elsewhere"},
        confirmed="another",
        inference_bench_html=str(tmp_path / "page.html"),
        inference_bench_compare=str(tmp_path / "before.json"),
        inference_bench_json=str(tmp_path / "none" / "now.json"),
        inference_drill_json=str(tmp_path),
    )
    with pytest.raises(AnsibleFilterError) as refused:
        settings_filter(plan, {"drill": True, "folder": "/none"}, given, {"all": ["n1"]})
    for word in (
        "elsewhere is not in the inventory",
        "inference_drill_confirm",
        "pip install pygal",
        "before.json cannot be read",
        "none is no folder",
        "inference_drill_json",
        "inference_acceptance.folder",
        "7 errors",
    ):
        assert word in str(refused.value), word


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1, "loads": []}', '{"format": 2}'])
def test_a_file_that_is_no_report_of_this_version_is_not_compared_with(plan, tmp_path, text):
    path = tmp_path / "before.json"
    path.write_text(text, encoding="utf-8")
    assert file_findings({"inference_bench_compare": str(path)})
    path.write_text('{"format": 2, "loads": []}', encoding="utf-8")
    assert not file_findings(
        {"inference_bench_compare": str(path), "inference_bench_html": "", "inference_bench_json": "x.json"}
    )


def test_hosts_that_the_plan_does_not_use_are_those_of_the_deployments_group(plan, tmp_path):
    planned = [host["name"] for host in plan["hosts"]]
    groups = {
        "all": [*planned, "spare-10", "spare-2", "localhost", "stranger"],
        "rack": [*planned, "spare-10", "spare-2"],
    }
    settings = {"folder": str(tmp_path)}
    assert settings_filter(plan, settings, others(), groups, "rack")["unplanned"] == ["spare-2", "spare-10"]
    assert settings_filter(plan, settings, others(), groups)["unplanned"] == ["spare-2", "spare-10", "stranger"]
    # The host of a drill's load may be one of no deployment.
    drill = others(drill={"host": "stranger", "faults": [{"kind": "prefill"}]}, confirmed=plan["deployment"])
    settings["drill"] = True
    assert settings_filter(plan, settings, drill, groups, "rack")["drill"]


def test_wrong_settings_of_bench_are_refused_unless_it_is_not_asked(plan, tmp_path):
    wrong = others({"profile": "x"})
    with pytest.raises(AnsibleFilterError, match="profile"):
        settings_filter(plan, {}, wrong, {})
    given = settings_filter(plan, {"bench": False, "folder": str(tmp_path)}, wrong, {})
    assert given["files"]["archive"] == f"{tmp_path}/{plan['deployment']}-acceptance.tar.gz"


def test_a_deployment_in_a_cluster_is_refused(plan):
    pods = {**plan, "runtime_facts": {**plan["runtime_facts"], "in_cluster": True}}
    with pytest.raises(AnsibleFilterError, match="no hosts in the inventory"):
        settings_filter(pods, {}, others(), {})


PLANTED = (
    "below-its-name",
    "inference_secrets",
    "s3cret-value",
    "pass-word",
    "other",
    "smoke",
    "by-its-name",
    "after-its-option",
)


def test_the_inventory_has_what_a_check_needs_and_no_secret():
    shared = {
        "inference_model": {"path": "/m"},
        "inference_secrets": {"key": "s3cret-value"},
        "inference_check_ignore": ["CLOCK"],
        "inference_pip_index": "https://user:pass-word@index.example/s3cret-value",
        "inference_bench": {"profile": "smoke"},
        "ansible_become_password": "other",
        "inference_env": {"HF_TOKEN": "by-its-name", "A": "b"},
        "inference_extra": {"basic_auth": {"user": "u", "hashes": ["below-its-name"]}},
        "inference_args": {"words": ["--api-key", "after-its-option", "--port", "80"]},
    }
    hostvars = {
        "localhost": {},
        "n1": {**shared, "inference_devices": 4},
        "n2": {**shared, "inference_address": "10.0.0.2"},
    }
    hostvars["stranger"] = dict(shared)
    groups = {"all": ["n1", "n2", "stranger"], "prefill": ["n1"], "decode": ["n2"]}
    whole = declaration(["n1", "n2"], hostvars, groups, "")
    assert whole["hosts"] == {
        "n1": {"groups": ["all", "prefill"], "variables": {"inference_devices": 4}},
        "n2": {"groups": ["all", "decode"], "variables": {"inference_address": "10.0.0.2"}},
    }
    assert whole["variables"]["inference_check_ignore"] == ["CLOCK"] and whole["variables"]["inference_model"] == {
        "path": "/m"
    }
    text = json.dumps(whole)
    assert [word for word in PLANTED if word in text] == []
    assert whole["variables"]["inference_env"]["A"] == "b"


def test_why_a_drill_was_ended_is_known_from_any_host_of_the_load():
    path = pathlib.Path(__file__).resolve().parents[4] / "playbooks/shared/acceptance.yml"
    given = yaml.safe_load(path.read_text(encoding="utf-8"))[0]["vars"]["__inference_known"]
    expression = jinja2.Environment().from_string(given["drill_ended"])
    hostvars = {"client": {"__inference_drill_ended": "no route"}, "n1": {}}
    known = {"hostvars": hostvars, "__inference_hosts": ["n1"]}
    assert expression.render(**known, __inference_drill={"host": "client"}) == "no route"
    assert expression.render(**known, __inference_drill={"host": "n1"}) == expression.render(**known) == ""


def test_records_are_those_of_the_check():
    assert records({"host_check_gathered": {"record": "a"}, "host_check_pinged": {"skipped": True}}) == ["a"]
    assert records({"host_check_pinged": {"record": "b"}}) == ["b"] and records({}) == []


def test_records_are_no_facts(plan):
    host = plan["hosts"][0]["name"]
    results = {host: {"gather": {"npu": {"npus": []}, "record": "x"}, "ping": {"matrix": {}, "record": "x"}}}
    assert check_facts(plan, results)[host] == {"npu": {"npus": []}, "ping": {"matrix": {}}}
