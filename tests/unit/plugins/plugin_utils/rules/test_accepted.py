# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""inference_rules_ignore accepts a rule everywhere, or at one place, and keeps the reason."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.all import RULES
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family, hosts

P, D = "inference_pools.prefill", "inference_pools.decode"
BOTH = {f"{P}.args.gpu-memory-utilization": 1.5, f"{D}.args.gpu-memory-utilization": 2}


def outcome(entries):
    """Severity of each finding by its path: of the plan, or of what refuses it."""
    try:
        found = launch_plan(*family("p2p", {**BOTH, "inference_rules_ignore": entries}))["findings"]
    except PlanError as error:
        found = [finding.as_dict() for finding in error.findings]
    return {item["path"].split(".")[1]: item["severity"] for item in found}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("GPU-MEMORY", {"prefill": "accepted", "decode": "accepted"}),
        ("GPU-MEMORY:decode", {"prefill": "error"}),
        ("GPU-MEMORY:prefill", {"decode": "error"}),
        (f"GPU-MEMORY:{D}.args", {"prefill": "error"}),
        ("GPU-MEMORY:gpu-memory-utilization", {"prefill": "accepted", "decode": "accepted"}),
        ("GPU-MEMORY:code", {"prefill": "error", "decode": "error"}),
        ({"rule": "GPU-MEMORY", "place": "decode"}, {"prefill": "error"}),
    ],
    ids=str,
)
def test_an_entry_accepts_at_its_place_only(entry, expected):
    assert outcome([entry]) == expected


@pytest.mark.parametrize(
    "text", ["GPU-MEMORY:decode", "GPU-MEMORY:decode,GPU-MEMORY:prefill", "GPU-MEMORY, FLAG-UNKNOWN"]
)
def test_a_text_has_entries_between_commas(text):
    assert outcome(text) == outcome([entry.strip() for entry in text.split(",")])
    assert "error" not in outcome("GPU-MEMORY:decode, GPU-MEMORY:prefill").values()


def test_the_plan_keeps_the_reason():
    entry = {"rule": "GPU-MEMORY", "reason": "tried on this host"}
    found = launch_plan(*family("p2p", {**BOTH, "inference_rules_ignore": [entry]}))["findings"]
    assert {item["fix"] for item in found} == {"Accepted: tried on this host"}


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("DEPLOYMENT-NAME", {"inference_deployment": "../../../../etc/x"}),
        ("ENV-NAME", {"inference_env": {"A=b; id; C": "x"}}),
        ("ENV-NAME", {"inference_pools.decode.env": {"A=b; id; C": "x"}}),
        ("FRONTEND-CERTIFICATE", {"inference_router.certificate": "/c; include /etc/passwd"}),
        ("FRONTEND-PATHS", {"inference_router.frontend_paths": ["/x { } location /instances/add"]}),
        ("ROOT-PATH", {"inference_root": "/opt/x y %h; id"}),
    ],
    ids=str,
)
def test_nobody_accepts_what_could_add_commands_or_settings(rule, changes):
    """Not even with all rules, that about the entries included."""
    with pytest.raises(PlanError, match=rule):
        launch_plan(*family("p2p", {**changes, "inference_rules_ignore": [rule.id for rule in RULES]}))


@pytest.mark.parametrize("word", ["mooncake_v2", "mooncake_pull", "mooncake_d2rh"])
def test_newer_connectors_are_planned_where_the_release_has_them(word):
    plan = launch_plan(*family("newest", {"inference_kv_transfer": word}))
    assert [item for item in plan["findings"] if item["severity"] != "accepted"] == []
    decode = next(service for service in plan["services"] if service["name"] == "decode-0-1")
    ports = {port["name"]: (port["first"], port["count"]) for port in decode["ports"]}
    first = ports["kv"][0] - 16
    expected = {"kv_scheduler": (first + 32 + 16, 16)} if word != "mooncake_d2rh" else {}
    assert {name: ports[name] for name in ports if name == "kv_scheduler"} == expected
    with pytest.raises(PlanError, match="CONNECTOR-RELEASE"):
        launch_plan(*family("p2p", {"inference_kv_transfer": word}))


def test_ports_of_older_releases_stay():
    assert [name for name in RELEASES if RELEASES[name].scheduler_ports][0] == "0.28.0rc1"


def test_decode_of_d2rh_has_ports_of_its_own_on_every_host():
    """Two instances of one host: 38100 and 38200, the connector's defaults, would be bound twice."""
    small = {"data_parallel_size": 2, "tensor_parallel_size": 4}
    pools = {"prefill": {"tensor_parallel_size": 8}, "decode": {**small, "instances": 2}}
    changes = {"inference_kv_transfer": "mooncake_d2rh", "inference_pools": pools}
    plan = launch_plan(*family("newest", {**changes, "inventory": hosts(2, {"prefill": (1,), "decode": (2,)})}))
    found = {service["name"]: service for service in plan["services"]}
    seen = []
    for name in ("decode-0", "decode-1"):
        ports = {port["name"]: (port["first"], port["count"]) for port in found[name]["ports"]}
        kv = ports["kv"][0]
        assert (ports["d2rh"], ports["d2rh_ready"]) == ((kv + 8, 8), (kv + 16, 5))
        argv = found[name]["argv"]
        extra = json.loads(argv[argv.index("--kv-transfer-config") + 1])["kv_connector_extra_config"]
        assert (extra["d2rh_zmq_port"], extra["d2rh_scheduler_ready_port"]) == (kv + 8, kv + 16)
        seen += [set(range(first, first + count)) for first, count in ports.values()]
    assert len(set().union(*seen)) == sum(map(len, seen))
    assert not [port for port in found["prefill-0"]["ports"] if port["name"].startswith("d2rh")]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        # Each rank on one host: a scheduler for each rank, at the number of the rank's first worker.
        (
            {"data_parallel_size": 4, "tensor_parallel_size": 8},
            {"decode-0-0": ((32, 16), (64, 9)), "decode-0-1": ((48, 16), (80, 9))},
        ),
        # One rank over two hosts: the workers of both, and one scheduler on the first.
        (
            {"data_parallel_size": 1, "tensor_parallel_size": 32},
            {"decode-0-0": ((32, 16), (64, 1)), "decode-0-1": ((48, 16), None)},
        ),
    ],
    ids=["ranks", "one_rank"],
)
def test_ports_of_d2rh_over_several_hosts(sizes, expected):
    pools = {"prefill": {"tensor_parallel_size": sizes["tensor_parallel_size"]}, "decode": sizes}
    inventory = hosts(4, {"prefill": (1, 2), "decode": (3, 4)})
    changes = {"inference_kv_transfer": "mooncake_d2rh", "inference_pools": pools, "inventory": inventory}
    found = {service["name"]: service for service in launch_plan(*family("newest", changes))["services"]}
    base = next(port["first"] for port in found["decode-0-0"]["ports"] if port["name"] == "kv")
    for name, pair in expected.items():
        ports = {port["name"]: (port["first"] - base, port["count"]) for port in found[name]["ports"]}
        assert (ports["d2rh"], ports.get("d2rh_ready")) == pair
