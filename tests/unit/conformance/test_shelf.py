# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An archive on the shelf is masked, of a real rack, and replays to what its report says; the one here is of simulated hosts."""

from __future__ import annotations

import io
import json
import tarfile

import ascend_cluster
import pytest
import replay
from ansible_collections.ascend.inference.docs import evidence_page
from ansible_collections.ascend.inference.plugins.module_utils.hccn.gather import BASIC, RetryingTool
from ansible_collections.ascend.inference.plugins.module_utils.hccn.ping import pairs, ping_all
from ansible_collections.ascend.inference.plugins.module_utils.host.gather import gather_host
from ansible_collections.ascend.inference.plugins.module_utils.support.acceptance import contents
from ansible_collections.ascend.inference.plugins.module_utils.tools.record import Recorder
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import Tool, run
from ansible_collections.ascend.inference.plugins.modules import check_info
from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance.report import acceptance_report
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.pairs import fabric_peers
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.conformance import shelf
from ansible_collections.ascend.inference.tests.conformance.run import main

VARIABLES = {
    "inference_hardware": "a2",
    "inference_runtime": "docker",
    "inference_interface": "eth0",
    "inference_model": {"path": "/models/made-up", "name": "made-up"},
    "inference_pools": {"prefill": {"tensor_parallel_size": 2}, "decode": {"tensor_parallel_size": 2}},
}
VERIFY = {
    "verified": True,
    "check_mode": False,
    "findings": [],
    "warnings": [],
    "steps": [],
    "changed": [],
    "reason": "",
    "requests": [{}] * 4,
    "ttft_ms": {"stream": 80.4},
    "transfer_ms": [2.0],
    "pairs": {"prefill-0": {"decode-0": {"status": "passed"}}},
}
COMMAND = "run: python docs/evidence_page.py --write"
DRIVER = "/usr/local/Ascend/driver/tools"


def asked(bin_folder, hccn_conf, plan, host):
    """(facts, runner) of a simulated host, whose tools are recorded as if they were in the driver's folder."""
    runner = Recorder(
        lambda argv, timeout, stdin=None: run([argv[0].replace(DRIVER, str(bin_folder)), *argv[1:]], timeout, stdin)
    )
    tool = {name: Tool(f"{DRIVER}/{name}", 30, runner) for name in ("npu-smi", "hccn_tool")}
    npu = check_info.gather(tool["npu-smi"], None, extra=("board", "ecc"), devices=[0, 1])
    queries = check_info.COUNTERS + BASIC + check_info.DETAILS
    hccn = check_info.report(tool["hccn_tool"], [0, 1], queries, 4, str(hccn_conf))
    check_info.read_growth(tool["hccn_tool"], hccn["devices"], 0, 4, 0)
    runner.keep_file(str(hccn_conf))
    return {"host": gather_host(), "npu": npu, "hccn": hccn}, runner


@pytest.fixture(scope="module")
def handover(tmp_path_factory):
    """(plan, inventory, facts, records) of an acceptance of two simulated A2 hosts, one with an NPU that is hot, and whose port damages packets."""
    hosts = ascend_cluster.cluster(tmp_path_factory.mktemp("shelf"), hosts=2, generation="a2", devices=2)
    with ascend_cluster.edit(hosts["node1"]["state"]) as state:
        state["devices"][1].update({"rx_errors": 3, "rx_errors_grow": 2, "temp": 97})
    inventory = {
        name: {"groups": ["all", group], "variables": {"inference_address": address, "inference_devices": 2}}
        for name, group, address in (("node0", "prefill", "10.9.8.7"), ("node1", "decode", "10.9.8.8"))
    }
    plan = launch_plan(VARIABLES, inventory)
    found = {name: asked(host["bin"], host["hccn_conf"], plan, name) for name, host in hosts.items()}
    facts = {name: answer for name, (answer, _runner) in found.items()}
    for name, peers in fabric_peers(plan, facts, "full").items():
        tool = RetryingTool(Tool(f"{DRIVER}/hccn_tool", 30, found[name][1]))
        answer = ping_all(tool, pairs([0, 1], peers), "roce", 3, 4, 0, None)
        facts[name]["ping"] = {"unreachable_pairs": answer.pop("unreachable"), **answer}
    return plan, inventory, facts, {name: [runner.packed()] for name, (_answer, runner) in found.items()}


def archive(folder, handover, mask=True, change=None, records=None):
    """An archive as the playbook writes it; ``change(report, plan)`` falsifies it."""
    plan, inventory, facts, recorded = handover
    plan = json.loads(json.dumps(plan))
    found = check_plan(
        plan, facts, (), {"ping": "full", "tcp": "none"}
    )  # errors of this machine are none of the rack's
    given = {
        "settings": {"bench": False, "drill": False, "unplanned": []},
        "begun": ["check", "deploy", "verify"],
        "date": "2026-11-23 02:00 UTC",
        "left_out": [],
        "unrecorded": [],
        "tcp": "listen",
        "thresholds": {},
        "status_ignored": False,
        "facts": facts,
        "findings": [item for item in found if item["severity"] != "error" or item["id"] in shelf.OF_TOOLS],
        "verify": VERIFY,
        "bench": None,
        "drill": None,
        "drill_ended": "",
    }
    report = acceptance_report(plan, given)
    if change:
        change(report, plan)
    documents = {"plan": plan, "report": report, "inventory": {"variables": VARIABLES, "hosts": inventory}}
    texts = {f"{name}.json": json.dumps(value) for name, value in documents.items()}
    files = contents({"records": records or recorded, "documents": texts, "mask": mask, "secrets": []})[0]
    path = folder / "rack.tar.gz"
    with tarfile.open(path, "w:gz") as stream:
        for name, text in files:
            entry = tarfile.TarInfo(f"d-acceptance/{name}")
            entry.size = len(text.encode())
            stream.addfile(entry, io.BytesIO(text.encode()))
    return path


def test_an_archive_of_an_acceptance_replays_to_its_row(tmp_path, handover):
    path = archive(tmp_path, handover)
    row, problems = shelf.judged(path)
    assert problems == []
    assert row == {
        "release": handover[0]["release"],
        "hardware": "A2",
        "connector": shelf.connector(handover[0]),
        "runtime": "docker",
        "date": "2026-11-23",
        "run": "check, deploy, verify",
        "devices": "2 hosts, 4 NPUs",
        "verdict": "passed with deviations",
        "file": "rack.tar.gz",
    }
    texts = "".join(replay.contents(path).values())
    assert "node0" not in texts and "10.9.8.7" not in texts


def silent(report, _plan):
    report["deviations"] = [item for item in report["deviations"] if item["id"] != "NPU-TEMPERATURE"]


def false_driver(report, _plan):
    for row in report["versions"].values():
        row["driver"] = "99.1"


def false_digest(report, _plan):
    report["digest"] = "0" * 64


def failed(report, _plan):
    report["verdict"] = "not passed"


def invented(report, _plan):
    item = {"id": "NPU-HEALTH", "path": "host-1 device 0", "severity": "error", "stage": "check"}
    report["deviations"].append(item)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (silent, "a finding of the replay is not in the report: warning NPU-TEMPERATURE host-2 device 1"),
        (invented, "a finding of the report is not in the replay: error NPU-HEALTH host-1 device 0"),
        (false_driver, "the report says '99.1'"),
        (false_digest, "digest is "),
        (failed, "the verdict of its report is: not passed"),
    ],
)
def test_an_archive_whose_report_says_otherwise_has_no_row(tmp_path, handover, change, problem):
    _row, problems = shelf.judged(archive(tmp_path, handover, change=change))
    assert any(problem in text for text in problems), problems


def test_an_archive_that_is_not_masked_is_refused(tmp_path, handover):
    _row, problems = shelf.judged(archive(tmp_path, handover, mask=False))
    assert problems == ["it is not masked. Run acceptance with inference_acceptance: {mask: true}"]


def test_outputs_of_simulated_tools_are_no_proof(tmp_path, handover, monkeypatch):
    monkeypatch.setattr(shelf, "PLACES", ("/usr/bin",))
    _row, problems = shelf.judged(archive(tmp_path, handover))
    assert [text for text in problems if "simulated tools are no proof" in text] == problems != []


def test_what_is_no_archive_is_said(tmp_path):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(b"made up")
    assert shelf.judged(path)[1][0].startswith("it cannot be read")
    with tarfile.open(path, "w:gz") as stream:
        stream.addfile(tarfile.TarInfo("top/readme"), io.BytesIO(b""))
    assert "it has no 'archive.json'" in shelf.judged(path)[1][0]


def test_the_page_and_the_tables_of_the_readmes_are_those_of_the_shelf():
    """On the shelf are only archives of real racks; an empty shelf says so."""
    rows, wrong = evidence_page.rows()
    assert wrong == []
    assert evidence_page.PAGE.read_text(encoding="utf-8") == evidence_page.page(rows), COMMAND
    for name in evidence_page.READMES:
        text = (shelf.ROOT / name).read_text(encoding="utf-8")
        assert evidence_page.BEGIN in text and evidence_page.readme(text, name, rows) == text, COMMAND
    assert ("Nothing so far" in evidence_page.page(rows)) == (rows == [])


def test_an_archive_gets_a_row_in_all_tables(tmp_path, handover):
    row, _problems = shelf.judged(archive(tmp_path, handover))
    assert "No row comes from a simulator" in evidence_page.page([row])
    assert "   * - Release\n" in evidence_page.page([row]) and "     - ``rack.tar.gz``\n" in evidence_page.page([row])
    for name, (empty, head) in evidence_page.READMES.items():
        text = (shelf.ROOT / name).read_text(encoding="utf-8")
        shown = evidence_page.readme(text, name, [row])
        assert (
            empty not in shown
            and f"{head}\n|---|---|---|---|---|---|---|\n| {row['release']} | A2, 2 hosts, 4 NPUs | " in shown
        )
        assert evidence_page.readme(shown, name, []) == evidence_page.readme(text, name, [])


def test_the_run_judges_an_archive(tmp_path, handover, capsys):
    path = archive(tmp_path, handover)
    assert main(["--archive", str(path)]) == 0
    assert capsys.readouterr().out.startswith("replayed    rack.tar.gz (release: ")
    assert main(["--archive", str(archive(tmp_path, handover, mask=False))]) == 1
    assert capsys.readouterr().out.startswith("not fit     rack.tar.gz (it is not masked.")
