# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A virtual address in front of two balancers: what is planned on which host, and what changes of it cost."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.filter.address_hosts import address_hosts
from ansible_collections.ascend.inference.plugins.module_utils.files import journal, tree
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import status_plan
from ansible_collections.ascend.inference.plugins.modules import deployment_run
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.distribution import names
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle import halves, pauses, upgrade
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.before import moved_entry
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.steps import restart_steps, steps
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import part_of, parts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.record import record_of
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_diff import plan_diff
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_page import plan_page
from ansible_collections.ascend.inference.plugins.plugin_utils.views.status_table import status_report, status_table
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

ADDRESS = "10.1.0.100"


def plan(name="p2p", hosts=("node1", "node2"), deployed=None, **router):
    """Routers on these hosts."""
    changes = {f"{host}.groups": ["prefill" if host in ("node1", "node2") else "decode", "router"] for host in hosts}
    given = {"instances": 2, "balancer": "haproxy", "virtual_address": ADDRESS, **router}
    changes.update({f"inference_router.{key}": value for key, value in given.items() if value is not None})
    variables, inventory = family(name, changes)
    return launch_plan(variables, inventory, (), deployed and deployed["placement"])


def services(found, kind):
    return {service["name"]: service for service in found["services"] if service["kind"] == kind}


def test_each_of_two_hosts_has_a_balancer_of_its_own():
    found = plan(instances=3)
    assert {name: each["host"] for name, each in services(found, "balancer").items()} == {
        "balancer": "node1",
        "balancer-1": "node2",
    }
    for name, address in (("balancer", "10.1.0.1"), ("balancer-1", "10.1.0.2")):
        service = services(found, "balancer")[name]
        text = service["files"][0]["content"]
        bound = [line.strip() for line in text.splitlines() if line.startswith("    bind ")]
        assert bound == [f"bind {address}:8001", f"bind {ADDRESS}:8001 transparent", f"bind {address}:8012"]
        assert f"stats socket {found['directory']}/run/{name}.sock mode 600" in text
        assert text.count("    server ") == 3
        assert service["health"]["url"] == f"http://{address}:8012/health"
        assert service["start"]["needs"] == ["router", "router-1", "router-2"]


def test_all_addresses_of_a_host_include_the_virtual_one():
    text = services(plan(balancer_bind="0.0.0.0"), "balancer")["balancer"]["files"][0]["content"]
    assert "bind 0.0.0.0:8001\n" in text and "transparent" not in text


def test_the_first_balancer_is_planned_as_without_it_but_listens_on_more():
    alone, two = plan(virtual_address=None), plan()
    before, after = services(alone, "balancer")["balancer"], services(two, "balancer")["balancer"]
    assert "virtual_address" not in alone and "more" not in alone["balancer"]
    assert "address_program" not in alone["software"]["router"]
    assert {key for key in before if before[key] != after[key]} == {"files", "digest"}
    assert {key: value for key, value in two["balancer"].items() if key != "more"} == alone["balancer"]
    assert services(alone, "router") == services(two, "router")
    assert alone["revision"] == two["revision"], "no engine depends on it"


def test_clients_use_the_address():
    found = plan()
    assert found["verify"]["entry"]["url"] == f"http://{ADDRESS}:8001"
    assert found["verify"]["entry"]["kind"] == "haproxy" and found["verify"]["entry"]["host"] == "node1"
    page = "".join(line.strip() for line in plan_page(found).splitlines())
    assert f"<b>{ADDRESS}</b><span>keepalived</span><small>on one of node1, node2</small>" in page


def test_each_host_gets_what_concerns_it():
    found = plan()
    assert set(found["virtual_address"]) == {"address", "virtual", "port", "interface", "program", "router_id", "hosts"}
    assert [row["host"] for row in found["virtual_address"]["hosts"]] == ["node1", "node2"]
    by_host = dict(parts(found))
    for host, name in (("node1", "balancer"), ("node2", "balancer-1")):
        part = by_host[host]
        assert (
            part["balancer"]["service"] == name and part["balancer"]["host"] == host and "more" not in part["balancer"]
        )
        assert [row["host"] for row in part["virtual_address"]["hosts"]] == [host]
        assert part == part_of(found, host)
    assert not {"balancer", "virtual_address"} & set(by_host["node3"])
    asked = [
        (each["balancer"]["socket"].rpartition("/")[2], each["virtual_address"])
        for host in ("node1", "node2")
        for whole in (found, by_host[host])
        for each in status_plan(whole, host)["services"]
        if each["kind"] == "balancer"
    ]
    assert asked == [("balancer.sock", ADDRESS)] * 2 + [("balancer-1.sock", ADDRESS)] * 2
    keepers = {each.get("keeper") for host in by_host for each in status_plan(found, host)["services"]}
    assert keepers == {None, "ascend-inference-address-inference"}


def test_both_have_the_same_priority_and_lose_more_than_nothing_of_it():
    """So that the address stays while its host serves, and leaves when only the other one does."""
    for row, peer in zip(plan()["virtual_address"]["hosts"], ("10.1.0.2", "10.1.0.1"), strict=True):
        lines = [line.strip() for line in row["configuration"].splitlines()]
        for line in (
            "state BACKUP",
            "priority 100",
            "weight -50",
            "advert_int 1",
            "enable_script_security",
            "user nobody",
        ):
            assert line in lines
        assert not [line for line in lines if line.startswith(("nopreempt", "include", "notify", "smtp"))]
        assert f"unicast_src_ip {row['address']}" in lines
        assert lines[lines.index("unicast_peer {") + 1] == peer
        assert f"{ADDRESS}/32 dev @INTERFACE@" in lines
        assert 'script "/etc/ascend-inference/virtual-address/inference.sh"' in lines
        assert f"/dev/tcp/{row['address']}/8012" in row["script"]


def test_interface_number_and_length_are_those_of_the_variables():
    found = plan(virtual_address="10.1.0.100/16", virtual_interface="bond0", virtual_router_id=7)["virtual_address"]
    assert (found["address"], found["virtual"], found["interface"]) == (ADDRESS, f"{ADDRESS}/16", "bond0")
    text = found["hosts"][1]["configuration"]
    assert f"{ADDRESS}/16 dev bond0" in text and "interface bond0" in text and "virtual_router_id 7" in text


def test_the_package_is_that_of_hosts_with_the_address():
    found = plan()
    assert found["software"]["router"]["address_program"] == "/usr/sbin/keepalived"
    assert ["keepalived" in names(found, host, "Debian", {}) for host in ("node1", "node2", "node3")] == [
        True,
        True,
        False,
    ]
    assert "other" in names(found, "node1", "RedHat", {"virtual_address_package": "other"})


def test_containers_have_the_host_s_keepalived():
    image = f"docker.io/library/haproxy@sha256:{64 * 'a'}"
    found = plan("docker", balancer_image=image)
    assert found["software"]["router"]["address_program"]
    folders = [each["socket"] for each in (found["balancer"], *found["balancer"]["more"])]
    assert [path[len(found["directory"]) :] for path in folders] == [
        "/services/balancer/work/balancer.sock",
        "/services/balancer-1/work/balancer-1.sock",
    ]


def test_a_balancer_that_moves_behind_the_address_is_no_other_entry():
    before, after = plan(), plan(hosts=("node2",), instances=2, virtual_address=None)
    assert (
        moved_entry(after, plan(virtual_address=None), {"node1": {"other": ["inference-balancer.service"]}})[0]
        == "balancer"
    )
    moved = {
        **before,
        "services": [dict(each, host="node4") if each["name"] == "balancer" else each for each in before["services"]],
    }
    assert moved_entry(moved, before, {}) == ("", None)


@pytest.mark.parametrize("allowed", [False, True])
def test_clients_that_lose_the_address_are_announced(allowed):
    before, after = plan(), plan(virtual_address="10.1.0.101")
    pending = {"node1": {"down": [], "outdated": ["balancer"]}, "node2": {"down": [], "outdated": ["balancer-1"]}}
    found = steps(pending, after, before, allowed, early=True)
    reason = pauses.READDRESSED.format(before=f"http://{ADDRESS}:8001", after="http://10.1.0.101:8001")
    assert found["pauses"] == {reason: ["balancer", "balancer-1"]}
    texts = found["notes"] if allowed else found["refusals"]
    assert [reason in text and ("Pause" in text) == allowed for text in texts] == [True]  # once
    unchanged = steps({"node1": {"down": [], "outdated": []}}, after, before, allowed, early=True)
    assert f"virtual address {ADDRESS}" in "".join(unchanged["notes"] if allowed else unchanged["refusals"])
    same = steps(pending, before, before, allowed, early=True)
    assert "virtual address" not in " ".join([*same["notes"], *same["refusals"]])


@pytest.mark.parametrize("down", ["balancer", "balancer-1"])
def test_a_router_restarts_without_a_pause_behind_the_other_balancer(down):
    found = restart_steps(["router"], [down], plan())
    assert ([step["routers"] for step in found["roll"]], found["refusals"]) == ([["router"]], [])
    both = restart_steps(["router"], ["balancer", "balancer-1"], plan())
    assert not both["roll"]


def refused(monkeypatch, down, interrupted=()):
    """What an upgrade half by half says whose second balancer is ``down``."""
    found = plan(instances=2)
    monkeypatch.setattr(upgrade, "_by_halves", lambda *unused: ([], ["a round"]))
    monkeypatch.setattr(upgrade, "cost_of_rounds", lambda *unused: "")
    hosts = {host: {"down": down if host == "node2" else []} for host in ("node1", "node2")}
    seen = {"old": hosts, "new": hosts, "asked": {}}
    return upgrade.mode({"node1": found, "node2": found}, found, "blue_green", interrupted, seen)["refusals"]


def test_a_balancer_that_is_down_is_started_before_an_upgrade_half_by_half(monkeypatch):
    (told,) = refused(monkeypatch, ["balancer-1"])
    assert told.startswith("balancer-1: does not run") and "restart with inference_services: [balancer-1]" in told
    assert refused(monkeypatch, []) == []


def test_after_a_killed_upgrade_nobody_is_sent_to_a_playbook_that_refuses(monkeypatch, tmp_path):
    """restart refuses then, and names upgrade; so upgrade must not name restart."""
    base = tmp_path / "x"
    base.mkdir()
    with monkeypatch.context() as patch, pytest.raises(tree.TreeError, match="interrupted.*Fix: run upgrade"):
        patch.setattr(journal, "unfinished_half", lambda directory: "first")
        deployment_run.begin({"run": {"id": "r"}, "accept_half": False, "replace": ""}, str(base), True)
    (told,) = refused(monkeypatch, ["balancer-1"], ["the digest of its plan"])
    unit = services(plan(instances=2), "balancer")["balancer-1"]["unit"]
    assert f"on its host ({unit})" in told and "playbook restart" not in told


def test_the_difference_names_the_address():
    before, after = plan(virtual_address=None), plan()
    assert f"virtual address (none) -> {ADDRESS}" in plan_diff(after, before)
    assert "+ balancer-1 on node2" in plan_diff(after, before)
    assert plan_diff(plan(virtual_router_id=9), after) == [f"virtual address {ADDRESS}: hosts, router_id"]


def test_a_host_that_no_longer_has_it_is_compared_too():
    before, after = plan(), plan(hosts=("node1", "node3"))
    assert address_hosts(after, json.dumps({**part_of(before, "node1"), **record_of(before)})) == [
        "node1",
        "node2",
        "node3",
    ]
    assert address_hosts(plan(virtual_address=None)) == address_hosts(plan(virtual_address=None), "{") == []


def asked(state):
    return {"state": state, "weight": 100}


@pytest.mark.parametrize(
    ("holds", "names_"),
    [
        ((True, False), ["router-1"]),
        ((False, True), ["router"]),
        ((True, True), ["router-1", "router"]),
        ((False, False), ["router-1", "router"]),
    ],
)
def test_the_balancer_with_the_address_says_which_routers_get_requests(holds, names_):
    runs = {"old": {}, "new": {}}
    found = halves.seen(
        {
            "node1": {**runs, "servers": {"router": asked("drain"), "router-1": asked("ready")}, "holds": holds[0]},
            "node2": {**runs, "servers": {"router": asked("ready"), "router-1": asked("drain")}, "holds": holds[1]},
            "node3": runs,
        }
    )
    assert found["asked"] == names_


def row(name, has, state="running"):
    kv = {} if has is None else {"virtual_address": ADDRESS, "has_address": has}
    return {
        **{"service": name, "kind": "balancer", "state": state, "answers": True, "since": None, "restarts": 0},
        **{"version": "", "installed": "", "requests": {}, "kv": kv, "digests": {}, "findings": [], "log": []},
    }


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (True, False, ""),
        (True, True, "node1 and node2 have the virtual address"),
        (False, False, "No host has the virtual address"),
        (None, True, ""),
        (None, None, ""),
    ],
)
def test_status_says_if_none_or_both_have_it(first, second, words):
    report = status_report(
        "inference",
        {"node1": {"services": [row("balancer", first)]}, "node2": {"services": [row("balancer-1", second)]}},
    )
    assert report["healthy"] == (not words)
    assert [text for text in report["findings"] if words and words in text and "Fix: " in text] == report["findings"]
    shown = "\n".join(status_table(report))
    assert (f"has {ADDRESS}" in shown) == (True in (first, second)) and ("standby" in shown) == (
        False in (first, second)
    )


def test_a_host_that_is_lost_may_have_it():
    planned = plan()
    results = {"node1": {"unreachable": True, "msg": "gone"}, "node2": {"services": [row("balancer-1", False)]}}
    assert not [text for text in status_report("inference", results, planned)["findings"] if "virtual" in text]
