# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conformance run: our own cases come out as they should, and a plan that was tampered with does not pass."""

from __future__ import annotations

import copy
import json
import pathlib

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.conformance.compare import compare
from ansible_collections.ascend.inference.tests.conformance.make_practice import practice
from ansible_collections.ascend.inference.tests.conformance.read_entry import read_entry
from ansible_collections.ascend.inference.tests.conformance.run import judge, main
from ansible_collections.ascend.inference.tests.conformance.translate import translate
from ansible_collections.ascend.inference.tests.unit.conformance.mutations import MISTAKES, SPELLINGS

CASES = pathlib.Path(__file__).resolve().parents[2] / "conformance" / "cases.yaml"
ENTRIES = {entry["id"]: entry for entry in yaml.safe_load(CASES.read_text())["entries"]}


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_our_own_cases(name):
    result = judge(ENTRIES[name])
    assert result.status == ENTRIES[name]["expect"], [
        difference.text() for difference in result.differences
    ] + result.notes


def test_nothing_derived_is_passed_on():
    """The words hold no port, rank or peer at the level *structure*, and no rank or peer at any."""
    for entry in ENTRIES.values():
        words, dummy = translate(read_entry(entry), pinned=False)
        text = json.dumps(words)
        for word in ('"ports"', "rank", "data-parallel-", '"port"', "kv_role", "prefiller", "visible_devices"):
            assert word not in text.lower(), (entry["id"], word)


def planned(name, pinned=True):
    documented = read_entry(ENTRIES[name])
    words, inventory = translate(documented, pinned)
    return documented, launch_plan(words, inventory)


def undeclared(documented, plan, pinned=True):
    return [item for item in compare(documented, plan, pinned) if not item.reason]


def flag(service, name, value):
    index = service["argv"].index(name)
    service["argv"][index + 1] = value


def kv_of(service, change):
    index = service["argv"].index("--kv-transfer-config") + 1
    config = json.loads(service["argv"][index])
    change(config)
    service["argv"][index] = json.dumps(config)


def service_of(plan, kind):
    return next(service for service in plan["services"] if service["kind"] == kind)


TAMPERING = {
    "host": lambda plan: service_of(plan, "decode").update(host="node00"),
    "devices": lambda plan: service_of(plan, "decode").update(devices=[9]),
    "size": lambda plan: flag(service_of(plan, "prefill"), "--tensor-parallel-size", "4"),
    "rank": lambda plan: flag(service_of(plan, "decode"), "--data-parallel-rank", "3"),
    "argument": lambda plan: flag(service_of(plan, "decode"), "--max-num-seqs", "37"),
    "one argument more": lambda plan: service_of(plan, "decode")["argv"].append("--enforce-eager"),
    "environment": lambda plan: service_of(plan, "decode")["env"].update(HCCL_BUFFSIZE="641"),
    "one variable more": lambda plan: service_of(plan, "decode")["env"].update(HCCL_ALGO="x"),
    "one variable less": lambda plan: service_of(plan, "decode")["env"].pop("HCCL_BUFFSIZE"),
    "role": lambda plan: kv_of(service_of(plan, "decode"), lambda kv: kv.update(kv_role="kv_producer")),
    "connector": lambda plan: kv_of(
        service_of(plan, "decode"), lambda kv: kv.update(kv_connector="MooncakeHybridConnector")
    ),
    "sizes told": lambda plan: kv_of(
        service_of(plan, "decode"), lambda kv: kv["kv_connector_extra_config"]["prefill"].update(tp_size=4)
    ),
    "kv port": lambda plan: kv_of(service_of(plan, "decode"), lambda kv: kv.update(kv_port="31401")),
    "api port": lambda plan: flag(service_of(plan, "decode"), "--port", "8199"),
    "dp address": lambda plan: flag(service_of(plan, "decode"), "--data-parallel-address", "10.20.0.1"),
    "a process less": lambda plan: plan["services"].remove(service_of(plan, "decode")),
    "proxy port": lambda plan: flag(service_of(plan, "router"), "--port", "1887"),
    "proxy list": lambda plan: flag(service_of(plan, "router"), "--prefiller-ports", "8101"),
    "no proxy": lambda plan: plan["services"].remove(service_of(plan, "router")),
}


@pytest.mark.parametrize("what", sorted(TAMPERING))
def test_a_tampered_plan_is_different(what):
    documented, plan = planned("external-2p1d")
    before = undeclared(documented, plan)
    TAMPERING[what](plan)
    assert set(undeclared(documented, plan)) - set(before), what


def test_ports_are_free_at_the_level_structure():
    documented, plan = planned("one-host-a2", pinned=False)
    assert not undeclared(documented, plan, pinned=False)
    assert undeclared(documented, plan, pinned=True)


def test_an_entry_that_cannot_be_read_fails_the_run_but_does_not_end_it(tmp_path, capsys):
    broken = copy.deepcopy(ENTRIES["one-host-a2"])
    broken["roles"][0]["role"] = "oracle"
    corpus = tmp_path / "corpus.yaml"
    corpus.write_text(yaml.safe_dump({"entries": [broken, ENTRIES["layerwise-1p1d"]]}))
    assert main([str(corpus)]) == 1
    printed = capsys.readouterr().out
    assert "different   one-host-a2" in printed
    assert "reproduced  layerwise-1p1d" in printed


def mutated(change):
    """Every case that comes out as documented, changed, where the change finds something to change."""
    for entry in ENTRIES.values():
        own = copy.deepcopy(json.loads(json.dumps(entry)))
        if entry["expect"] == "reproduced" and change(own):
            yield own


@pytest.mark.parametrize("what", sorted(SPELLINGS))
def test_another_spelling_is_still_reproduced(what):
    results = [judge(item) for item in mutated(SPELLINGS[what])]
    assert results
    assert [(result.id, result.notes, result.differences) for result in results if result.status != "reproduced"] == []


@pytest.mark.parametrize("what", sorted(MISTAKES))
def test_a_mistake_is_refused_or_repaired(what):
    """And it is no longer reproduced, even if nothing warns of it."""
    lint, change = MISTAKES[what]
    entries = list(mutated(change))
    assert entries
    found = [judge({**entry, "lint": [{"rule": lint, "severity": "error", "msg": "planted"}]}) for entry in entries]
    assert [
        (item.id, item.notes, item.differences) for item in found if item.status not in ("refused", "repaired")
    ] == []
    assert not [entry["id"] for entry in entries if judge(entry).status == "reproduced"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda entry: entry["roles"][0].pop("host"), "it has no 'host'"),
        (lambda entry: entry.pop("id"), "it has no 'id'"),
        (lambda entry: entry.update(npu_per_node="eight"), "eight"),
        (lambda entry: entry.update(roles="prefill"), "str"),
        (lambda entry: entry["roles"][0]["vllm_args"]["--kv-transfer-config"].pop("kv_connector"), "'kv_connector'"),
        (lambda entry: entry["roles"][0].update(argv=[]), "MODEL-PATH"),
    ],
)
def test_a_malformed_entry_is_named_with_its_problem(change, expected):
    entry = json.loads(json.dumps(ENTRIES["one-host-a2"]))
    change(entry)
    result = judge(entry)
    assert result.status == "different"
    assert expected in " ".join(result.notes)


@pytest.mark.parametrize("entry", [None, "text", 7])
def test_what_is_no_entry_is_different(entry):
    assert judge(entry).status == "different"


@pytest.mark.parametrize("text", ["", "[1, 2]", "entries: {a: 1}", "entries: [a, {", "schema: 1"])
def test_what_is_no_corpus_is_one_error(text, tmp_path, capsys):
    corpus = tmp_path / "corpus.yaml"
    corpus.write_text(text)
    with pytest.raises(SystemExit) as ended:
        main([str(corpus)])
    assert ended.value.code == 2
    assert "is no corpus" in capsys.readouterr().err


def test_a_release_that_nobody_knows_is_said(capsys):
    entry = {**ENTRIES["one-host-a2"], "source": {"kind": "doc", "ref": "v9.9.9"}}
    assert any("release 9.9.9 is not known" in note for note in judge(entry).notes)


def test_practice_is_what_deployments_of_a_family_have_in_common():
    case = json.loads(json.dumps(ENTRIES["external-2p1d"]).replace("moe-670b", "DeepSeek-V3.1-w8a8"))
    entries = [{**case, "source": {"repo": "a/b", "path": f"{number}.md", "ref": "v1"}} for number in range(3)]
    ((family, kinds),) = practice({"entries": entries}).items()
    assert set(kinds) == {"prefill", "decode"} and {number for number, _found in kinds.values()} == {3}, family
    assert {entry[2] for _number, found in kinds.values() for entry in found.values()} == {"a/b@v1:0.md"}
    assert practice({"entries": entries[:2]}) == {}
