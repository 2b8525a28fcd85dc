# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of all services, from what each host said."""

from __future__ import annotations

import re

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.lost import LOST, answered
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.advisories import Advisory
from ansible_collections.ascend.inference.plugins.plugin_utils.views import status_table as views
from ansible_collections.ascend.inference.plugins.plugin_utils.views.status_table import status_report, status_table


def row(name="decode-0", **more):
    row = {"service": name, "kind": "decode", "state": "running", "answers": True, "since": 1767225600.0, "restarts": 0}
    row.update(
        version="0.23.0", digests={}, findings=[], log=[], requests={"done": 8.0, "running": 1.0, "waiting": 0.0}
    )
    row.update(kv={"prompt_tokens": 2751.0, "external_kv_transfer": 2102.0, "local_compute": 649.0})
    return {**row, **more}


def result(*rows, **more):
    return {"services": list(rows), "findings": [], "plan_digest": "p", **more}


PLAN = {"runtime_facts": {"in_cluster": False}, "services": [{"name": "prefill-0", "kind": "prefill", "host": "n2"}]}


def test_one_line_for_each_service():
    report = status_report("x", {"n1": result(row())})
    assert report["healthy"]
    lines = status_table(report)
    assert lines[0] == "x: 1 of 1 services run, no findings"
    assert lines[1].split("  ")[0] == "SERVICE"
    for text in ("2026-01-01 00:00:00", "0.23.0", "8 done, 1 running", "2102 of 2751 tokens"):
        assert text in lines[2]
    assert len(lines) == 3


LAST = {"digest": 64 * "a", "release": "0.23.0", "since": "2026-01-01T00:00:00Z"}
UNTRIED = {"digest": 64 * "b", "release": "0.23.0", "since": "2026-01-02T00:00:00Z", "verified": LAST}


def test_a_plan_that_was_not_verified_is_a_notice_and_no_finding():
    report = status_report("x", {"n1": result(row(), unverified=UNTRIED), "n2": result(unverified=UNTRIED)})
    assert report["healthy"] and report["findings"] == []
    assert status_table(report)[3:] == [
        "",
        "notice: the plan that is deployed (release 0.23.0, digest bbbbbbbbbbbb, deployed at 2026-01-02T00:00:00Z) was not verified; the last one that was has "
        "release 0.23.0, digest aaaaaaaaaaaa, at 2026-01-01T00:00:00Z. Fix: run ascend.inference.verify with the settings that are deployed; if it fails, "
        "ascend.inference.rollback returns to the verified plan",
    ]


def test_the_notice_of_a_cluster_names_its_way_back():
    last = {**LAST, "since": ""}
    (text,) = status_report("x", {"cluster": result(row(), unverified={**UNTRIED, "since": "", "verified": last})})[
        "notices"
    ]
    assert text == (
        "the plan that is deployed (release 0.23.0, digest bbbbbbbbbbbb) was not verified; the last one that was has release 0.23.0, digest aaaaaaaaaaaa. "
        "Fix: run ascend.inference.verify with the settings that are deployed; if it fails, ascend.inference.kubernetes_rollback returns to the verified plan"
    )


def test_a_notice_names_the_hosts_if_it_is_not_of_all():
    never = {**UNTRIED, "verified": {}}
    results = {"n1": result(row(), unverified={}), "n2": result(unverified=never), "n3": {"unreachable": True}}
    (text,) = status_report("x", results)["notices"]
    assert text.startswith("the plan that is deployed on n2 (release 0.23.0,")
    assert text.endswith(" was not verified. Fix: run ascend.inference.verify with the settings that are deployed")


def test_the_cluster_has_a_line_of_its_own():
    facts = {"kthena_version": "v1.0.0", "volcano_version": "", "nodes": {"n1": "16", "n2": "16"}, "hidden": []}
    report = status_report("x", {"cluster": result(row(), **facts, devices_held={"n1": 4})})
    assert report["hosts"]["cluster"]["devices_held"] == {"n1": 4}
    assert status_table(report)[3:] == [
        "",
        "Cluster: Kthena v1.0.0, 32 devices on 2 nodes, 4 of them held by pods of others",
    ]
    facts.update(nodes={}, kthena_version="", volcano_version="v1.14.0", hidden=["crds", "nodes"])
    lines = status_table(status_report("x", {"cluster": result(row(), **facts, devices_held=None)}))
    assert lines[4] == "Cluster: PodGroup CRD of Volcano v1.14.0; no permission to read: crds, nodes"


def test_a_drained_router_is_shown_so_on_whichever_host():
    balancer = row("balancer", kind="balancer", kv={"routers": {"router-1": {"state": "drain", "weight": 0}}})
    report = status_report("x", {"n1": result(balancer), "n2": result(row("router", kv={}), row("router-1", kv={}))})
    assert [service["service"] for service in report["services"] if service.get("drained")] == ["router-1"]
    lines = status_table(report)
    assert ["running, drained" in line for line in lines[2:5]] == [False, False, True]


def test_a_restarted_service_works_and_is_a_finding():
    restarted = row(findings=["restarted once after an unexpected exit; see its log"])
    report = status_report("x", {"n1": result(restarted)})
    assert report["working"] and not report["healthy"]
    assert not status_report("x", {"n1": result(row(findings=["has 1 waiting requests, but no running ones"]))})[
        "working"
    ]
    assert not status_report("x", {"n1": result(row(state="exited"))})["working"]


def probe(**kv):
    return row(
        "probe", kind="probe", kv={"paths": 5, "good": 2, "failed": 3, "unknown": 0, **kv}, findings=["clients: x"]
    )


def test_what_the_probe_knows_heads_the_table_and_is_in_the_row_of_the_engine():
    found = result(row("decode-0"), row("decode-1"), probe(clients=False, blamed=["decode-1"]))
    report = status_report("x", {"n1": found})
    lines = status_table(report)
    assert lines[0] == "x: clients get no answers, although 3 of 3 services run"
    assert {service["service"]: len(service["findings"]) for service in report["services"]} == {
        "decode-0": 0,
        "decode-1": 1,
        "probe": 1,
    }
    assert any(line.startswith("decode-1 on n1: fails each request that the probe sends over it") for line in lines)


@pytest.mark.parametrize("known", [{}, {"clients": True}])
def test_answers_that_clients_get_or_that_nobody_knows_of_are_no_headline(known):
    assert status_table(status_report("x", {"n1": result(probe(**known))}))[0] == "x: 1 of 1 services run"


KNOWN = (
    Advisory("CVE-1", "0.10", "0.14", "8.8", "always", "code runs"),
    Advisory("CVE-2", "0.10", "0.14", "", "images", "an image"),
    Advisory("CVE-3", "0.1", "0.2", "", "always", "old"),
)
OLDER = {
    "services": [],
    "findings": [{"id": "ADVISORY", "problem": "of today's inventory", "fix": "Set it."}],
    "exposure": ["images"],
}


@pytest.mark.parametrize(
    ("version", "installed", "exposure", "planned", "ids"),
    [
        ("0.13.0", "0.13.0", ["always"], OLDER, ["CVE-1"]),  # of the deployed plan, whatever the inventory plans today
        ("0.13.0", "0.13.0", ["always"], None, ["CVE-1"]),  # and if it cannot be planned
        ("0.13.0", "0.13.0", ["always", "images"], OLDER, ["CVE-1", "CVE-2"]),
        ("0.13.0", "0.13.0", [], OLDER, []),
        ("0.14.0", "0.14.0", ["always"], OLDER, []),
        ("", "0.13.0", ["always"], OLDER, ["CVE-1"]),  # it does not run
        ("0.13.0", "0.14.0", ["always"], OLDER, ["CVE-1"]),  # it was not restarted after the installation
        ("0.14.0", "0.13.0", ["always"], OLDER, ["CVE-1"]),  # its next start
        ("0.13.0", "0.12.0", ["always"], OLDER, ["CVE-1", "CVE-1"]),
        ("0.13.0", "0.13.0", None, OLDER, ["CVE-2"]),  # a plan of an older version
        ("0.13.0", "0.13.0", None, None, ["CVE-1"]),
        ("a branch", "", ["always"], None, []),
        ("0.0.0", "", ["always"], None, []),  # a version that is not known is not old
        ("0.1.dev1+gab", "0.0.0", ["always"], None, []),
        ("dev", "0.13.0", ["always"], None, ["CVE-1"]),
    ],
)
def test_advisories_are_those_of_what_is_deployed(monkeypatch, version, installed, exposure, planned, ids):
    monkeypatch.setattr(views, "ADVISORIES", KNOWN)
    report = status_report("x", {"n1": result(row(version=version, installed=installed), exposure=exposure)}, planned)
    assert report["healthy"], "nothing that is deployed changes by an advisory"
    assert [re.search(r"has (CVE-\d)", text)[1] for text in report["advisories"]] == ids


@pytest.mark.parametrize(
    ("version", "installed", "unknown"),
    [
        ("0.0.0", "", True),
        ("dev", "0.1.dev1", True),
        ("", "0.0.0", True),
        ("dev", "0.13.0", False),
        ("", "", False),
        ("0.13.0", "0.0.0", False),
    ],
)
def test_a_version_that_says_nothing_is_unknown(version, installed, unknown):
    report = status_report(
        "x", {"n1": result(row(version=version, installed=installed), row("router", kind="router", version="dev"))}
    )
    said = [text for text in report["notices"] if "the version of vLLM of decode-0 is unknown" in text]
    assert (len(said) == 1 and len(report["notices"]) == 1) == unknown
    assert report["healthy"]


def test_an_advisory_is_named_once_with_the_engines_that_have_it(monkeypatch):
    monkeypatch.setattr(views, "ADVISORIES", KNOWN)
    rows = [row(name, version="0.13.0") for name in ("decode-1", "decode-0")] + [
        row("router", kind="router", version="0.13.0")
    ]
    report = status_report("x", {"n1": result(*rows, exposure=["always"])})
    assert status_table(report)[-1] == (
        "security advisory: vLLM 0.13.0 of decode-0, decode-1 has CVE-1 (CVSS 8.8), fixed in vLLM 0.14: code runs; every deployment is exposed. "
        "Fix: run upgrade with a release that has the fixed version; plan names the nearest"
    )


def test_a_run_that_changes_the_deployment_is_named_with_its_hosts():
    held = {"id": "r1", "owner": "anna", "controller": "bastion", "since": "2026-11-28T02:00:00Z"}
    rows = {
        "n1": result(row(), locked=held),
        "n2": result(row("decode-1"), locked=held),
        "n3": result(row("x"), locked={}),
    }
    report = status_report("x", rows)
    (text,) = report["notices"]
    assert text.startswith("anna on bastion changes this deployment since 2026-11-28T02:00:00Z (run r1), on n1, n2:")
    assert report["healthy"], "a run is no fault"
    rows["n1"]["locked"] = {**held, "step": "step 3 of 9: Restart decode-0"}
    (text,) = status_report("x", rows)["notices"]
    assert "(run r1, in step 3 of 9: Restart decode-0), on n1, n2:" in text
    rows["n1"]["locked"]["script"] = [{"step": "Give back decode-0", "state": "open"}]
    (text,) = status_report("x", rows)["notices"]
    assert "(run r1, in step 3 of 9: Restart decode-0; after it: Give back decode-0), on n1, n2:" in text


def test_findings_and_logs_follow_the_table():
    silent = row(answers=False, findings=["does not answer"], log=["boom"])
    report = status_report("x", {"n1": result(silent, findings=["no room"])})
    lines = status_table(report)
    assert not report["healthy"] and lines[0] == "x: 0 of 1 services run"
    assert "running, silent" in lines[2]
    assert lines[3:] == [
        "",
        "n1: no room",
        "decode-0 on n1: does not answer",
        "",
        "Last lines of decode-0's log:",
        "boom",
    ]


def test_a_host_that_cannot_be_asked_keeps_its_rows():
    hosts = {"n1": result(row()), "n2": {"unreachable": True, "msg": "no route"}}
    report = status_report("x", hosts, PLAN)
    assert report["findings"] == ["n2: unreachable: no route"] and not report["healthy"]
    assert [(service["service"], service["state"]) for service in report["services"]] == [
        ("decode-0", "running"),
        ("prefill-0", "unknown"),
    ]
    assert "prefill-0  n2" in status_table(report)[3]
    broken = status_report("x", {"n2": {"failed": True, "msg": "no python"}}, PLAN)
    assert broken["findings"] == ["n2: status not available: no python"]


def test_hosts_of_different_plans():
    report = status_report("x", {"n1": result(row()), "n2": result(row("decode-1"), plan_digest="q")})
    assert "different plans" in report["findings"][0]


def test_transfers_by_kind():
    master = row("mooncake-master", kind="mooncake_master", kv={"active_clients": 2.0, "key_count": 9.0})
    old = row("decode-1", kv={"prompt_tokens": 5.0, "external_kv_transfer": None})
    prefill = row("prefill-0", kind="prefill", kv={"prompt_tokens": 123456.0, "external_kv_transfer": 0.0})
    lines = status_table(status_report("x", {"n1": result(master, old, prefill)}))
    assert "2 clients, 9 keys" in lines[2] and "not counted" in lines[3] and "123456" not in lines[4]


def test_services_of_a_cluster_that_does_not_answer_are_unknown():
    services = [{"name": "decode-0", "kind": "decode", "host": "pod:decode-0"}]
    planned = {"runtime_facts": {"in_cluster": True}, "services": services}
    report = status_report("x", {"cluster": {"failed": True, "msg": "https://x does not answer"}}, planned)
    assert [(item["service"], item["state"]) for item in report["services"]] == [("decode-0", "unknown")]
    assert "https://x does not answer" in report["findings"][0]
    assert not report["healthy"]


def test_nothing_deployed_is_not_well():
    assert not status_report("x", {})["healthy"]


def master(name, role, clients):
    return row(service=name, kind="mooncake_master", kv={"active_clients": clients, "key_count": 7.0, "role": role})


def test_how_full_the_database_of_etcd_is():
    etcd = row(service="etcd-0", kind="etcd", kv={"bytes": 5 * 2**20, "quota": 8 * 2**30})
    assert "5 of 8192 MiB" in status_table(status_report("x", {"n1": result(etcd)}))[2]


def test_one_of_several_masters_leads():
    report = status_report("x", {"n1": result(master("m-0", "standby", 0.0), master("m-1", "leader", 4.0))})
    assert report["healthy"]
    lines = status_table(report)
    assert "standby" in lines[2] and "leader, 4 clients, 7 keys" in lines[3]
    none = status_report("x", {"n1": result(master("m-0", "standby", 0.0), master("m-1", "standby", 0.0))})
    assert not none["working"] and "No master of the store serves: m-0, m-1" in none["findings"][0]
    two = status_report("x", {"n1": result(master("m-0", "leader", 0.0), master("m-1", "leader", 0.0))})
    assert "m-0 and m-1 serve at once" in two["findings"][0]


def test_an_engine_that_is_not_asked_has_the_advisories_of_what_is_planned(monkeypatch):
    monkeypatch.setattr(views, "ADVISORIES", KNOWN)
    planned = {**PLAN, "software": {"engine": {"version": "0.13.0"}}, "exposure": ["always"]}
    report = status_report("x", {"n2": {"unreachable": True, "msg": "no route"}}, planned)
    assert [re.search(r"has (CVE-\d)", text)[1] for text in report["advisories"]] == ["CVE-1"]


def test_processes_that_started_with_different_keys_are_named():
    rows = [row(secrets="k2"), row("decode-1", secrets="k1"), row("prefill-0", kind="prefill", secrets="k1")]
    rows += [
        row("router", kind="router", secrets="k1"),
        row("prefill-1", kind="prefill"),
        row("frontend", kind="frontend", secrets="k3"),
    ]
    report = status_report("x", {"n1": result(*rows)})
    (text,) = report["findings"]
    assert text.startswith("decode-0; decode-1, prefill-0, router: started with different keys")
    assert "inference_allow_pause=true" in text and not report["healthy"]
    assert "k1" not in str(report), "a report is passed on"
    assert status_report("x", {"n1": result(*rows[1:])})["healthy"]


def test_services_that_run_with_former_keys_are_named_once():
    rows = [row(secrets="k1"), row("prefill-0", kind="prefill", secrets="k1"), row("frontend", kind="frontend")]
    wanted = {"decode-0": "k2-and-more", "prefill-0": "k2-and-more", "frontend": "k3"}
    report = status_report("x", {"n1": result(*rows)}, None, wanted)
    (text,) = report["findings"]
    assert (
        text.startswith("decode-0, prefill-0: started with other values of inference_secrets") and not report["healthy"]
    )
    same = dict.fromkeys(wanted, "k1-and-more")
    assert status_report("x", {"n1": result(*rows)}, None, same)["healthy"]
    apart = [rows[0], row("prefill-0", kind="prefill", secrets="k2")]
    (text,) = status_report("x", {"n1": result(*apart)}, None, same)["findings"]
    assert "started with different keys" in text, "which says it all"


def test_a_host_that_does_not_answer_has_a_row_without_a_plan_too():
    """Which services it has is not known, so they do not count."""
    report = status_report("x", {"n1": result(row()), "n2": {"unreachable": True, "msg": "timed out"}})
    lines = status_table(report)
    assert lines[0] == "x: 1 of 1 services run" and not report["healthy"]
    assert lines[3].split()[:4] == ["(not", "known)", "n2", "unknown"]
    planned = status_report("x", {"n2": {"unreachable": True, "msg": "timed out"}}, {**PLAN, "services": []})
    assert planned["services"] == [], "it has none"


def test_a_host_that_was_not_asked_again_says_what_it_said_before():
    results = {"n1": result(row()), "n2": {}, "n3": {}}
    places = {"n1": {"unreachable": True, "msg": "x"}, "n2": {"unreachable": True, "msg": "off"}, "n3": {"stdout": ""}}
    assert answered(results, places) == {**results, "n2": places["n2"], "n3": LOST}
    assert answered(results, {"n2": "text"})["n2"] == LOST
