# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routers of the entry from the plans of its deployments: planned in the same inventory, or written on the controller."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.deployed import (
    SECRET,
    planned_deployments,
    secret_keys,
    with_planned,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.made import entry_files, entry_service
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.reading import read_entry
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.usage import usage_days
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import planned

HOSTS = {"gate1": "192.0.2.100"}
SETTINGS = {
    "address": "192.0.2.100",
    "plain_http": True,
    "models": {"qwen3": {"deployment": "qwen"}, "ds": {"deployments": {"old": 95, "new": 5}}},
    "teams": {"lab": {"keys_file": "lab"}},
}
COMMON = {
    "inference_engine": "vllm_cpu",
    "inference_runtime": "supervisor",
    "inference_model": {"path": "/models/tiny", "name": "tiny"},
    "inference_pools": {"prefill": {}, "decode": {}},
}
BALANCED = {"instances": 2, "port": 8100, "metrics_port": 8103, "balancer": "haproxy", "balancer_port": 8101}


def inventory(**changed):
    """Hosts of three deployments and the one of the entry, with the changes of each deployment."""
    hostvars, groups = {"localhost": {}, "gate1": {"inference_entry": SETTINGS}}, {"entry": ["gate1"]}
    for number, name in enumerate(("qwen", "old", "new"), 1):
        host = f"{name}-host"
        variables = {**COMMON, "inference_deployment": name, "inference_address": f"192.0.2.{number}"}
        hostvars[host] = {**variables, **changed.get(name, {})}
        for group in ("prefill", "decode", "router", name):
            groups.setdefault(group, []).append(host)
    return hostvars, {"all": list(hostvars), **groups}


def found(settings=SETTINGS, **changed):
    return planned_deployments(settings, *inventory(**changed), "/inventory")


def test_routers_of_deployments_of_the_same_inventory_are_those_of_their_plans():
    assert found() == {
        name: {"routers": [f"192.0.2.{number}:8000"]} for number, name in enumerate(("qwen", "old", "new"), 1)
    }
    entry = read_entry(with_planned(SETTINGS, found()), HOSTS)
    assert entry.deployments["old"].routers == ("192.0.2.2:8000",)


@pytest.fixture
def stored(tmp_path):
    """A function that reads a changed plan of qwen from a file: what is found of it."""
    hostvars, dummy = inventory(
        qwen={"inference_secrets": {"api_key": "engines-own-key"}, "inference_router": BALANCED}
    )
    groups = {group: ["qwen-host"] for group in ("all", "prefill", "decode", "router")}
    plan = planned({}, {"qwen-host": hostvars["qwen-host"]}, groups)

    def read(**given):
        changed = given.pop("changed", {})
        (tmp_path / "plan.json").write_text(json.dumps({**plan, **changed}))
        settings = {**SETTINGS, "deployments": {"qwen": {"plan": "plan.json", **given}}}
        return planned_deployments(settings, *inventory(), str(tmp_path))["qwen"]

    read.plan = plan
    return read


def refusal(function, *given, **named):
    with pytest.raises(PlanError) as raised:
        function(*given, **named)
    return str(raised.value)


def test_clients_of_a_balancer_use_the_balancer_and_its_virtual_address(stored):
    assert found(qwen={"inference_router": BALANCED})["qwen"]["routers"] == ["192.0.2.1:8101"]
    assert stored() == {"routers": ["192.0.2.1:8101"]}
    assert stored(changed={"virtual_address": {"address": "fd00::5"}})["routers"] == ["[fd00::5]:8101"]


def test_a_plan_without_routers_gives_the_url_of_clients(stored):
    entry = {"kind": "external", "url": "http://gateway.example.com"}
    changed = {"services": [], "verify": {"entry": entry}}
    assert stored(changed=changed)["routers"] == ["gateway.example.com:80"]
    entry["url"] = "https://gateway.example.com"
    assert "without TLS" in refusal(stored, changed=changed)


def test_the_key_is_that_of_the_deployment_unless_a_router_adds_it(stored):
    secrets = {"inference_secrets": {"api_key": "engines-own-key"}}
    hostvars, groups = inventory(qwen=secrets)
    assert "api_key_file" not in planned_deployments(SETTINGS, hostvars, groups, "")["qwen"]
    asked = {"qwen": {"routers": ["192.0.2.1:8000"], "api_key_file": SECRET + "qwen"}}
    assert secret_keys(asked, hostvars) == {SECRET + "qwen": "engines-own-key"}
    services = [{**service, "secret_env": {}} for service in stored.plan["services"]]
    assert "its engines ask for a key" in refusal(stored, changed={"services": services})
    assert stored(changed={"services": services}, api_key_file="k")["api_key_file"] == "k"
    settings = {**SETTINGS, "models": {"qwen3": {"deployment": "qwen"}}}
    whole = with_planned(settings, asked)
    assert entry_service(whole, HOSTS, "gate1")["sources"] == ["lab"]
    texts = {"lab": "lab-key-0123456789\n", **secret_keys(asked, hostvars)}
    files = {file["path"]: file["content"] for file in entry_files(whole, HOSTS, texts, "gate1")}
    assert [path for path, text in files.items() if "engines-own-key" in text] == [
        "/etc/ascend-inference-entry/engine_keys.map"
    ]


def test_a_plan_that_cannot_be_used_is_refused(stored):
    assert "its version is 1" in refusal(stored, changed={"plan_version": 1})
    assert "No such file" in refusal(stored, plan="absent.json")
    removed = {**SETTINGS, "state": "absent", "deployments": {"qwen": {"plan": "absent.json"}}}
    assert found(removed) == {}, "an entry is removed without plans"
    for broken in ({"services": None}, {"verify": {}}, {"services": [{"kind": "router"}]}, {"hosts": []}):
        assert "plan.json cannot be read" in refusal(stored, changed=broken), broken
    closed = {"firewall": {"state": "present"}, "verify": {**stored.plan["verify"], "entry": {"kind": "frontend"}}}
    assert "it has a frontend and a firewall" in refusal(stored, changed=closed)
    assert "inference_pools" in refusal(found, old={"inference_pools": {}})


def test_listed_routers_are_taken_as_they_are_and_unknown_deployments_refused():
    settings = {**SETTINGS, "deployments": {"old": {"routers": ["192.0.2.77:1"]}, "new": None}}
    assert sorted(found(settings)) == ["new", "qwen"]
    assert with_planned(settings, found(settings))["deployments"]["old"] == {"routers": ["192.0.2.77:1"]}
    other = {**SETTINGS, "models": {"qwen3": {"deployment": "qwem"}}}
    assert found(other) == {}
    assert "no host of this inventory has it as inference_deployment" in refusal(read_entry, other, HOSTS)
    assert "it has no routers" in refusal(read_entry, {**other, "deployments": {"qwem": {}}}, HOSTS)


@pytest.mark.parametrize(
    "settings", [None, "x", [], {"models": "x"}, {"models": {"m": None, "n": {"deployment": [1]}}}]
)
def test_settings_of_another_form_are_left_to_their_reader(settings):
    assert found(settings) == {}


def test_usage_asks_for_no_routers():
    days = {"first": "", "last": "", "today": "2026-11-30"}
    assert usage_days(SETTINGS, HOSTS, **days)["first"] == "2026-11-01"
