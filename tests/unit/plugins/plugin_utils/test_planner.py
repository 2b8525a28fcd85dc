# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planner's core: variables to services, all findings together, stable output."""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import Finding, PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.description.variables import read_description, read_hosts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import _judged, launch_plan, on_host

INVENTORY = {
    f"node{number}": {
        "groups": ["prefill" if number < 3 else "decode"],
        "variables": {"ansible_host": f"10.0.0.{number}", "inference_interface": "eth0"},
    }
    for number in (1, 2, 3, 4)
}


def inference_variables(**changes):
    return {
        "inference_release": "0.23.0",
        "inference_model": {"path": "/models/ds", "name": "ds"},
        "inference_pools": {
            "prefill": {"instances": 2, "data_parallel_size": 2, "tensor_parallel_size": 8},
            "decode": {"data_parallel_size": 32},
        },
        **changes,
    }


def described(inventory):
    description = read_description(inference_variables())[0]
    return description, read_hosts(inventory, description)[0]


def services(plan):
    return {service["name"]: service for service in plan["services"]}


def test_prefill_instances_have_a_host_each_and_decode_spans_two():
    found = services(launch_plan(inference_variables(), INVENTORY))
    assert [(found[name]["host"], len(found[name]["devices"])) for name in sorted(found) if name != "router"] == [
        ("node3", 16),
        ("node4", 16),
        ("node1", 16),
        ("node2", 16),
    ]
    assert "--headless" in found["decode-0-1"]["argv"]
    assert found["decode-0-1"]["health"] is None
    start = found["decode-0-1"]["argv"].index("--data-parallel-start-rank")
    assert found["decode-0-1"]["argv"][start + 1] == "16"


def test_the_router_lists_every_api():
    argv = services(launch_plan(inference_variables(), INVENTORY))["router"]["argv"]
    start = argv.index("--prefiller-hosts")
    assert argv[start : start + 3] == ["--prefiller-hosts", "10.0.0.1", "10.0.0.2"]


def test_order_of_hosts_and_keys_does_not_matter():
    backwards = {name: INVENTORY[name] for name in reversed(INVENTORY)}
    other = dict(reversed(inference_variables().items()))
    assert json.dumps(launch_plan(inference_variables(), INVENTORY)) == json.dumps(launch_plan(other, backwards))


def test_on_host_gives_only_that_hosts_services():
    plan = launch_plan(inference_variables(), INVENTORY)
    assert [item["name"] for item in on_host(plan, "node4")] == ["decode-0-1"]


@pytest.mark.parametrize(
    ("release", "transfer", "version"),
    [("0.23.0", "mooncake", "0.3.11.post1"), ("0.11.0rc2", "mooncake", "0.3.7"), ("0.11.0rc2", "llmdatadist", "")],
)
def test_a_version_of_mooncake_is_assumed_only_where_it_is_needed(release, transfer, version):
    pools = {"prefill": {"tensor_parallel_size": 16}, "decode": {"tensor_parallel_size": 16}}
    given = inference_variables(inference_release=release, inference_kv_transfer=transfer, inference_pools=pools)
    assert launch_plan(given, INVENTORY)["software"]["mooncake"]["version"] == version


def test_all_unreadable_variables_are_reported_together():
    broken = inference_variables(inference_releas="1", inference_pools={"prefil": {}, "decode": {"instances": "x"}})
    with pytest.raises(PlanError) as caught:
        launch_plan(broken, INVENTORY)
    assert sorted(finding.path for finding in caught.value.findings) == [
        "inference_pools.decode.instances",
        "inference_pools.prefil",
        "inference_releas",
    ]


def test_an_unknown_key_hides_no_error_of_a_rule():
    broken = inference_variables()
    broken["inference_pools"]["prefill"].update(inst=2, tensor_parallel_size=3)
    broken["inference_pools"]["decode"].update(tensor_parallel_size=2, args={"no-such-flag": 1})
    with pytest.raises(PlanError) as refused:
        launch_plan(broken, INVENTORY)
    assert {"VARIABLE-UNKNOWN", "TP-DIVIDES", "FLAG-UNKNOWN"} <= {finding.id for finding in refused.value.findings}


@pytest.mark.parametrize(
    "unreadable", [{"tensor_parallel_size": "three"}, {"tensor_paralel_size": 8}, {"data_parallel_size": 0}]
)
def test_no_error_is_reported_that_depends_on_an_unreadable_value(unreadable):
    broken = inference_variables()
    broken["inference_pools"]["prefill"].pop(next(iter(unreadable)), None)
    broken["inference_pools"]["prefill"].pop("tensor_parallel_size", None)
    broken["inference_pools"]["prefill"].update(unreadable)
    broken["inference_pools"]["decode"].update(args={"no-such-flag": 1})
    with pytest.raises(PlanError) as refused:
        launch_plan(broken, INVENTORY)
    paths = [finding.path for finding in refused.value.findings]
    assert paths == ["inference_pools.decode.args.no-such-flag", f"inference_pools.prefill.{next(iter(unreadable))}"]


@pytest.mark.parametrize(("devices", "place"), [("0-15", ""), ([0, "1-15"], "[1]")])
def test_an_unreadable_list_is_the_only_error_and_the_fix_shows_a_list(devices, place):
    broken = inference_variables()
    broken["inference_pools"]["decode"]["devices"] = devices
    with pytest.raises(PlanError) as refused:
        launch_plan(broken, INVENTORY)
    (finding,) = refused.value.findings
    assert finding.path == f"inference_pools.decode.devices{place}"
    assert ("[FIRST, SECOND]" in finding.fix) is (place == "")


def test_a_mapping_that_is_none_is_the_only_error():
    with pytest.raises(PlanError) as refused:
        launch_plan(inference_variables(inference_pools="prefill"), INVENTORY)
    assert [(finding.path, finding.id) for finding in refused.value.findings] == [("inference_pools", "VARIABLE-TYPE")]


def test_a_missing_required_variable_hides_no_error_of_a_rule():
    broken = inference_variables(inference_deployment="My Service")
    del broken["inference_model"]
    with pytest.raises(PlanError) as refused:
        launch_plan(broken, INVENTORY)
    assert {finding.path for finding in refused.value.findings} == {"inference_model", "inference_deployment"}


def test_conflicting_values_of_hosts_hide_no_error_of_a_rule():
    conflict = Finding(
        "inference_kv_transfer", "VARIABLE-CONFLICT", "conflicting values: 'none' on n1, 'mooncake' on n2"
    )
    broken = inference_variables(inference_kv_transfer="none", inference_user="root", inference_deployment="My Service")
    with pytest.raises(PlanError) as refused:
        launch_plan(broken, INVENTORY, [conflict])
    assert {finding.id for finding in refused.value.findings} == {"VARIABLE-CONFLICT", "DEPLOYMENT-NAME"}


@pytest.mark.parametrize("broken", [{"inference_kv_hold_timeout": "soon"}, {"inference_deployment": "My Service"}])
def test_a_refused_plan_names_its_warnings_once_and_behind_the_errors(broken):
    """Whether a value is no number or a rule refuses it: the warnings do not wait for the next run."""
    inventory = {**INVENTORY, "n9": {"groups": ["ungrouped"], "variables": {"ansible_host": "10.0.0.9"}}}
    with pytest.raises(PlanError) as refused:
        launch_plan(inference_variables(**broken), inventory)
    assert [finding.path for finding in refused.value.findings] == list(broken)
    assert {finding.severity for finding in refused.value.warnings} == {"warning"}
    assert "HOST-UNUSED" in {finding.id for finding in refused.value.warnings}
    head, behind = str(refused.value).split("Warnings about the same plan:")
    assert head.startswith("Planning failed: 1 error. No host was changed.\n\n1. inference_")
    assert behind.count("[HOST-UNUSED]") == 1 and "[HOST-UNUSED]" not in head
    assert re.search(r"^\d. WARNING inventory hosts: n9 is in no group", behind, re.M)


def test_an_accepted_finding_is_not_among_the_warnings_of_a_refused_plan():
    inventory = {**INVENTORY, "n9": {"groups": ["ungrouped"], "variables": {"ansible_host": "10.0.0.9"}}}
    words = inference_variables(inference_deployment="My Service", inference_rules_ignore=["HOST-UNUSED"])
    with pytest.raises(PlanError) as refused:
        launch_plan(words, inventory)
    assert "HOST-UNUSED" not in str(refused.value)


@pytest.mark.parametrize(
    ("groups", "rule"),
    [
        (["all", "prefill"], ""),  # a pool's group
        (["all", "prefill", "prefill_rack_1"], ""),  # a part of it
        (["all", "prefill", "prefill_decode"], ""),  # the parent of two
        (["all", "monitoring"], ""),  # other hosts of the site
        (["all", "encode"], ""),  # a kind of pool, of another deployment, and no misspelt decode
        (["all", "prefil"], "GROUP-SIMILAR"),
        (["all", "Prefill"], "GROUP-SIMILAR"),
        (["all", "prefill_hosts"], "GROUP-SIMILAR"),
        (["all", "decode", "prefil"], "GROUP-SIMILAR"),  # meant to be in both
        (["all", "routers"], "GROUP-SIMILAR"),
        (["all", "ungrouped"], "HOST-UNUSED"),
        ([], "HOST-UNUSED"),
    ],
)
def test_hosts_that_were_meant_to_be_used(groups, rule):
    inventory = {name: {**host, "groups": [*host["groups"], "all"]} for name, host in INVENTORY.items()}
    inventory["n9"] = {"groups": groups, "variables": {"ansible_host": "10.0.0.9"}}
    if not groups:
        inventory = {
            name: {**host, "groups": [group for group in host["groups"] if group != "all"]}
            for name, host in inventory.items()
        }
    context, services, found, _case = _judged(*described(inventory))
    assert context and services
    assert [item.id for item in found if item.id in ("GROUP-SIMILAR", "HOST-UNUSED")] == ([rule] if rule else [])


def test_the_controller_in_an_inventory_is_no_forgotten_host():
    inventory = {**INVENTORY, "localhost": {"groups": ["ungrouped"], "variables": {"ansible_connection": "local"}}}
    assert "HOST-UNUSED" not in {item.id for item in _judged(*described(inventory))[2]}


def test_a_pool_without_hosts_names_the_similar_group_once():
    inventory = {
        name: {**host, "groups": ["prefil" if group == "prefill" else group for group in host["groups"]]}
        for name, host in INVENTORY.items()
    }
    with pytest.raises(PlanError) as refused:
        launch_plan(inference_variables(), inventory)
    (found,) = [finding for finding in refused.value.findings if finding.id == "PLACE-GROUP"]
    assert found.fix.startswith("Rename the group 'prefil' if its hosts are meant")
    assert "GROUP-SIMILAR" not in str(refused.value)
    assert "INSTANCE-SPREAD" not in str(refused.value), "nothing is placed, so all hosts are idle"


def test_the_group_of_another_kind_of_pool_is_no_misspelt_one():
    """Its hosts are not meant: encode and decode differ in two letters."""
    inventory = {
        name: {**host, "groups": ["encode" if group == "decode" else group for group in host["groups"]]}
        for name, host in INVENTORY.items()
    }
    with pytest.raises(PlanError) as refused:
        launch_plan(inference_variables(), inventory)
    (found,) = [finding for finding in refused.value.findings if finding.id == "PLACE-GROUP"]
    assert found.fix.startswith("Add hosts to that group")


@pytest.mark.parametrize("too_much", [{"data_parallel_size": 64}, {"instances": 9, "data_parallel_size": 32}])
def test_words_are_judged_even_where_no_host_can_carry_the_pools(too_much):
    """A wrong argument is named together with the pools that do not fit, not one run later."""
    broken = inference_variables()
    broken["inference_pools"]["prefill"].update(args={"speculative-config": '{"method": "mtp",}'}, instances=7)
    broken["inference_pools"]["decode"].update(too_much, args={"no-such-flag": 1})
    with pytest.raises(PlanError) as refused:
        launch_plan(broken, INVENTORY)
    found = [(finding.id, finding.path) for finding in refused.value.findings]
    assert len(found) == len(set(found))
    assert {id_ for id_, path in found} >= {"JSON-SYNTAX", "FLAG-UNKNOWN"}
    assert any(id_.startswith("PLACE-") and path.startswith("inference_pools.decode") for id_, path in found)


def test_nobody_imagines_a_million_devices():
    huge = inference_variables()
    huge["inference_pools"]["decode"].update(data_parallel_size=1_000_000)
    with pytest.raises(PlanError) as refused:
        launch_plan(huge, INVENTORY)
    assert "PLACE-SPAN" in {finding.id for finding in refused.value.findings}


def test_ipv6_addresses_are_in_brackets_before_a_port():
    inventory = {
        name: {**INVENTORY[name], "variables": {**INVENTORY[name]["variables"], "ansible_host": f"fd00::{number}"}}
        for number, name in enumerate(INVENTORY, 1)
    }
    plan = launch_plan(inference_variables(inference_kv_transfer="mooncake+store"), inventory)
    found = services(plan)
    assert found["prefill-0"]["health"]["url"] == "http://[fd00::1]:7100/health"
    assert found["router"]["health"]["url"] == "http://[fd00::1]:8000/healthcheck"
    assert found["mooncake-master"]["health"]["url"].startswith("http://[fd00::1]:")
    config = next(file["content"] for file in found["decode-0-0"]["files"] if file["path"].endswith("mooncake.json"))
    assert json.loads(config)["master_server_address"].startswith("[fd00::1]:")
    assert plan["verify"]["entry"]["url"] == "http://[fd00::1]:8000"
    assert {finding["id"] for finding in plan["findings"]} == {"ADDRESS-IPV6"}


def test_the_network_of_the_npus_is_in_the_plan_of_the_host_that_describes_it():
    def planned(fabric):
        described = {**INVENTORY[name]["variables"], "inference_fabric": fabric}
        return launch_plan(inference_variables(), {**INVENTORY, name: {**INVENTORY[name], "variables": described}})

    name, texts = "node2", "10.20.0.10-10.20.0.25/24"
    hosts = {host["name"]: host for host in planned({"tls": False, "addresses": texts})["hosts"]}
    assert [host for host in hosts if "fabric" in hosts[host]] == [name]
    assert hosts[name]["fabric"]["addresses"] == [texts] and hosts[name]["fabric"]["tls"] is False
    with pytest.raises(PlanError) as error:
        planned({"tsl": False, "order": "rack"})
    assert {(item.path, item.id) for item in error.value.findings} == {
        (f"{name}.inference_fabric.tsl", "VARIABLE-UNKNOWN"),
        (f"{name}.inference_fabric.order", "VARIABLE-CHOICE"),
    }
