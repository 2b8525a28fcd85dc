# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a store with several masters: hosts, services, options of both sides, and what a plan without it keeps."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.connections import planned_connections
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.placement_kept import read_record, record_hosts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.store_hosts import store_hosts
from ansible_collections.ascend.inference.plugins.plugin_utils.views.service_states import software_files
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import APART, family, hosts

NEW = {"inference_releases": {"own": {"base": "0.23.0", "mooncake": "0.3.13.post1"}}, "inference_release": "own"}


def planned(changes=None, deployed=None, name="ha"):
    words, inventory = family(name, changes or {})
    return launch_plan(words, inventory, (), deployed and deployed["placement"])


def of(plan, kind):
    return [service for service in plan["services"] if service["kind"] == kind]


def options(service):
    return dict(argument[2:].split("=", 1) for argument in service["argv"][1:])


def test_masters_and_members_are_on_different_hosts_and_start_before_those_that_need_them():
    plan = planned()
    assert [(item["name"], item["host"]) for item in of(plan, "mooncake_master")] == [
        ("mooncake-master-0", "node1"),
        ("mooncake-master-1", "node2"),
    ]
    assert [(item["name"], item["host"]) for item in of(plan, "etcd")] == [
        ("etcd-0", "node1"),
        ("etcd-1", "node2"),
        ("etcd-2", "node3"),
    ]
    stage = {
        kind: {item["start"]["stage"] for item in of(plan, kind)} for kind in ("etcd", "mooncake_master", "decode")
    }
    assert max(stage["etcd"]) < min(stage["mooncake_master"]) < min(stage["decode"])
    assert of(plan, "prefill")[0]["start"]["needs"] == ["mooncake-master-0", "mooncake-master-1"]
    assert plan["software"]["etcd"] == {"program": "/usr/bin/etcd"} and "etcd" in plan["groups"]


def test_masters_and_engines_look_for_the_leader_in_the_same_place():
    plan = planned({"inference_store.ha.cluster_id": "rack-7"})
    place = "10.1.0.1:9410;10.1.0.2:9410;10.1.0.3:9410"
    for number, master in enumerate(of(plan, "mooncake_master"), 1):
        found = options(master)
        assert (found["enable_ha"], found["ha_backend_type"], found["ha_backend_connstring"]) == ("true", "etcd", place)
        assert (found["rpc_address"], found["cluster_id"]) == (f"10.1.0.{number}", "rack-7")
    for engine in of(plan, "prefill") + of(plan, "decode"):
        (config,) = [json.loads(file["content"]) for file in engine["files"] if file["path"].endswith("mooncake.json")]
        assert config["master_server_address"] == f"etcd://{place}"
        assert engine["env"]["MC_STORE_CLUSTER_ID"] == "rack-7"


def test_without_a_name_the_store_has_the_deployment_s():
    plan = planned({"inference_deployment": "blue"})
    assert {options(item)["cluster_id"] for item in of(plan, "mooncake_master")} == {"blue"}
    assert {item["env"]["MC_STORE_CLUSTER_ID"] for item in of(plan, "decode")} == {"blue"}


def test_members_of_etcd_know_each_other_and_have_a_folder_of_their_own():
    plan = planned({"inference_store.ha.etcd_peer_port": 9500})
    members = of(plan, "etcd")
    everyone = "etcd-0=http://10.1.0.1:9500,etcd-1=http://10.1.0.2:9500,etcd-2=http://10.1.0.3:9500"
    assert {options(item)["initial-cluster"] for item in members} == {everyone}
    for item in members:
        found = options(item)
        assert found["data-dir"].startswith(item["scratch_directory"] + "/")
        assert found["listen-client-urls"] == found["advertise-client-urls"] == f"http://{item['address']}:9410"
        assert found["listen-peer-urls"] == found["initial-advertise-peer-urls"] == f"http://{item['address']}:9500"
        assert item["health"]["url"] == f"http://{item['address']}:9410/health"
        assert item["env"]["ETCD_UNSUPPORTED_ARCH"] == "arm64"
    found = [
        planned(more)
        for more in ({}, {"inference_store.ha.etcd_peer_port": 9500}, {"inference_store.ha.cluster_id": "x"})
    ]
    tokens = [{options(item)["initial-cluster-token"] for item in of(plan, "etcd")} for plan in found]
    assert len(set.union(*tokens)) == 3, "other members, or another store, are another cluster"


def test_an_etcd_of_the_site_is_used_as_it_is():
    plan = planned({"inference_store.ha.etcd_endpoints": ["e1:2379", "e2:2379", "[fd00::3]:2379"]})
    assert of(plan, "etcd") == [] and "etcd" not in plan["software"]
    assert "etcd" not in plan["groups"]
    assert options(of(plan, "mooncake_master")[0])["ha_backend_connstring"] == "e1:2379;e2:2379;[fd00::3]:2379"


def test_keys_survive_where_mooncake_can():
    with_log = {**NEW, "inference_store.ha.oplog": True, "inference_engine_install": "site"}
    assert {options(item)["enable_oplog"] for item in of(planned(with_log), "mooncake_master")} == {"true"}
    old = planned({"inference_store.ha.oplog": True})
    assert all("enable_oplog" not in options(item) for item in of(old, "mooncake_master"))
    (said,) = [finding for finding in old["findings"] if finding["id"] == "STORE-HA-OPLOG"]
    assert said["severity"] == "warning" and "0.3.11.post1" in said["problem"]
    unwanted = planned({**with_log, "inference_store.ha.oplog": False})
    assert all("enable_oplog" not in options(item) for item in of(unwanted, "mooncake_master"))


def test_on_cpu_the_metadata_do_not_end_with_a_master():
    changes = {
        "inventory": hosts(3, {"prefill": (1, 2), "decode": (3,)}),
        "inference_store": {"ha": {}},
        "inference_pools": {"prefill": {"instances": 2}, "decode": {}},
        "inference_rules_ignore": ["SUPERVISOR-SOCKET", "SOCKET-PATH"],
    }
    plan = planned(changes, name="cpu")
    assert all("enable_http_metadata_server" not in options(item) for item in of(plan, "mooncake_master"))
    (config,) = [json.loads(file["content"]) for file in of(plan, "decode")[0]["files"]]
    assert config["metadata_server"] == "P2PHANDSHAKE"
    assert options(of(plan, "mooncake_master")[0])["enable_oplog"] == "true"


def test_verify_and_the_record_have_all_masters():
    plan = planned()
    store = read_plan(plan["verify"]).store
    assert [(item.name, item.host, item.url) for item in store.masters] == [
        ("mooncake-master-0", "node1", "http://10.1.0.1:9003"),
        ("mooncake-master-1", "node2", "http://10.1.0.2:9003"),
    ]
    record = plan["placement"]
    assert (record["masters"], record["etcd"]) == (["node1", "node2"], ["node1", "node2", "node3"])
    assert read_record(json.loads(json.dumps(record))) == record
    assert {"mooncake_master", "etcd"} <= set(record_hosts(record)["node2"])
    for wrong in (5, ["n"] * 99, [7], [""]):
        assert read_record({**record, "etcd": wrong}) is None


def test_a_master_and_a_member_stay_where_they_are():
    groups = {**APART, "mooncake_master": (1, 2), "etcd": (1, 2, 3)}
    before = planned({"inventory": hosts(4, groups)})
    assert planned({"inventory": hosts(4, groups)}, before) == before
    inventory = hosts(4, {**APART, "mooncake_master": (2, 3, 4), "etcd": (2, 3, 4)})
    after = planned({"inventory": inventory}, before)
    assert after["placement"]["masters"] == ["node3", "node2"]
    assert after["placement"]["etcd"] == ["node4", "node2", "node3"]
    single = planned({"inventory": hosts(4, {**APART, "mooncake_master": (2,)})}, name="both")
    grown = planned({"inventory": hosts(4, {**APART, "mooncake_master": (1, 2)})}, single)
    assert grown["placement"]["masters"] == ["node2", "node1"], "the master that runs stays"


def test_who_connects_to_etcd():
    plan = planned()
    uses = {
        (target.purpose, source)
        for source, targets in planned_connections(plan)[0].items()
        for items in targets.values()
        for target in items
    }
    assert {("etcd-0 client", "node4"), ("etcd-0 peer", "node3"), ("mooncake-master-1 rpc", "node4")} <= uses
    assert ("etcd-0 peer", "node4") not in uses
    assert software_files(plan, of(plan, "etcd")[0]) == []
    firewall = {row["for"]: row["from"] for host in plan["hosts"] for row in host["firewall"]}
    assert (firewall["etcd-2 client"], firewall["etcd-2 peer"]) == ("cluster", "cluster")


def test_without_it_nothing_is_numbered():
    plan = planned(name="both")
    assert [item["name"] for item in of(plan, "mooncake_master")] == ["mooncake-master"]
    assert not {"masters", "etcd"} & set(plan["placement"]) and "etcd" not in plan["groups"]
    assert "masters" not in plan["verify"]["store"] and "etcd" not in plan["software"]


@pytest.mark.parametrize("value", ["a/b", "ä", "-x", "x y", "n" * 129])
def test_a_name_that_ends_a_master_is_refused(value):
    with pytest.raises(PlanError) as error:
        planned({"inference_store.ha.cluster_id": value})
    assert [(found.path, found.id) for found in error.value.findings] == [
        ("inference_store.ha.cluster_id", "VARIABLE-TEXT")
    ]


@pytest.mark.parametrize(
    "value", ["http://e1:2379", "e1", "e1:2379/x", "e1:2379;e2:2379", "e1:0", "e1:65536", "e1:99999"]
)
def test_an_endpoint_is_an_address_with_a_port(value):
    with pytest.raises(PlanError) as error:
        planned({"inference_store.ha.etcd_endpoints": [value]})
    assert "VARIABLE-TEXT" in {found.id for found in error.value.findings}


@pytest.mark.parametrize(
    ("wish", "deployed", "masters", "etcd"),
    [
        ({}, {}, "n1 n2 n3", "n1 n2 n3"),
        ({}, {"masters": ["n3", "n2", "n4"]}, "n3 n2 n4", "n3 n2 n4"),  # members beside the masters, wherever these are
        ({}, {"masters": ["n3", "gone", "n4"]}, "n3 n1 n4", "n3 n1 n4"),
        ({}, {"masters": ["n3", "n2", "n4"], "etcd": ["n1", "n2", "n3"]}, "n3 n2 n4", "n1 n2 n3"),
        ({"masters": 2}, {}, "n1 n2", "n1 n2 n3"),  # a further member on another host
        ({"etcd_members": 5}, {}, "n1 n2 n3", "n1 n2 n3 n4 e1"),
        ({"etcd_group": "quorum"}, {}, "n1 n2 n3", "q1 q2 q3"),
        ({"etcd_endpoints": ["x:1"]}, {}, "n1 n2 n3", ""),
        ({"group": ""}, {}, "e1 e2", "e1 e2"),
        ({"group": ""}, {"mooncake_master": "e2"}, "e2 e1", "e2 e1"),  # of a plan with one master
    ],
)
def test_hosts_of_masters_and_members(wish, deployed, masters, etcd):
    """A host that fails then takes a master and a member with it, and no two of either."""
    groups = {"n": ("masters",), "q": ("quorum",), "e": ("engines",)}
    known = {
        name: SimpleNamespace(name=name, groups=groups[name[0]])
        for name in ("n1", "n2", "n3", "n4", "q1", "q2", "q3", "e1", "e2")
    }
    ha = {"masters": 3, "etcd_members": 3, "etcd_group": "", "etcd_endpoints": (), **wish}
    description = SimpleNamespace(
        store=SimpleNamespace(ha=SimpleNamespace(**ha)),
        mooncake_master=SimpleNamespace(group=wish.get("group", "masters")),
    )
    engines = [known["e1"], known["e2"]]
    found = store_hosts(description, known, engines, engines, deployed)
    assert [" ".join(host.name for host in part) for part in found] == [masters, etcd]
