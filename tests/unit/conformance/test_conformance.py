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
from ansible_collections.ascend.inference.plugins.plugin_utils._planner import launch_plan
from ansible_collections.ascend.inference.tests.conformance.compare import compare
from ansible_collections.ascend.inference.tests.conformance.read_entry import read_entry
from ansible_collections.ascend.inference.tests.conformance.run import judge, main
from ansible_collections.ascend.inference.tests.conformance.translate import translate

CASES = pathlib.Path(__file__).resolve().parents[2] / "conformance" / "cases.yaml"
ENTRIES = {one["id"]: one for one in yaml.safe_load(CASES.read_text())["entries"]}


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_our_own_cases(name):
    result = judge(ENTRIES[name])
    assert result.status == ENTRIES[name]["expect"], [one.text() for one in result.differences] + result.notes


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
    return [one for one in compare(documented, plan, pinned) if not one.reason]


def flag(service, name, value):
    index = service["argv"].index(name)
    service["argv"][index + 1] = value


def kv_of(service, change):
    index = service["argv"].index("--kv-transfer-config") + 1
    config = json.loads(service["argv"][index])
    change(config)
    service["argv"][index] = json.dumps(config)


def service_of(plan, kind):
    return next(one for one in plan["services"] if one["kind"] == kind)


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
