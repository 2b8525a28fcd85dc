# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From inference_fabric to the settings of each device: addresses, gateways, order of hosts, and what prevents a change."""

from __future__ import annotations

import ipaddress
import random

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.fabric import RULES
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.fabric_files import settings_with_files
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.fabric_settings import (
    fabric_refusals,
    fabric_settings,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.views.fabric_text import fabric_failures, fabric_text

NOTHING = {
    "tls": None,
    "addresses": [],
    "addresses_file": "",
    "order": "host",
    "prefer": "keep",
    "gateway": [],
    "netdetect": "",
    "mtu": 0,
    "devices": [],
}


def link(device, address="", gateway=None, prefix="255.255.255.0"):
    ip = {"address": address, "netmask": prefix} if address else None
    return {"device_id": device, "errors": {}, "ip": ip, "gateway": gateway}


def host(name, **fabric):
    return {"name": name, "hardware": "a2", "fabric": {**NOTHING, **fabric}}


def facts(**addresses):
    """``facts(a=["10.0.0.1", ""])``: the address of each device; empty: it has none."""
    return {name: {"devices": [link(*pair) for pair in enumerate(items)]} for name, items in addresses.items()}


def given(found):
    return {
        (name, entry["device"]): entry["ip"]
        for name, entries in found["devices"].items()
        for entry in entries
        if "ip" in entry
    }


def ids(found):
    return [finding["id"] for finding in found["findings"]]


def test_only_what_is_described_is_set():
    found = fabric_settings([host("a", tls=False), {"name": "b"}], facts(a=["10.0.0.1", ""], b=["10.0.0.2"]), {})
    assert found["devices"] == {"a": [{"device": 0, "tls": False}, {"device": 1, "tls": False}]}
    assert (found["order"], found["moves"], found["findings"]) == (["a"], [], [])
    assert fabric_settings([host("a", tls=True, devices=[1])], facts(a=["", ""]), {})["devices"] == {
        "a": [{"device": 1, "tls": True}]
    }


def test_a_range_serves_the_devices_in_their_order_with_gateway_and_detection():
    hosts = [
        host(name, addresses=["10.20.0.10-10.20.0.13/24"], gateway=["first"], netdetect="gateway", mtu=4200)
        for name in "ab"
    ]
    found = fabric_settings(hosts, facts(a=["", ""], b=["", ""]), {})
    assert not found["findings"] and found["moves"] == ["a", "b"]
    assert found["devices"]["b"][1] == {
        "device": 1,
        "ip": "10.20.0.13",
        "netmask": "255.255.255.0",
        "gateway": "10.20.0.1",
        "netdetect": "10.20.0.1",
        "mtu": 4200,
    }
    rails = [
        host(name, addresses=["10.20.0.10-10.20.0.11/24", "10.20.1.10-10.20.1.11/24"], order="device", gateway=["last"])
        for name in "ab"
    ]
    found = fabric_settings(rails, facts(a=["", ""], b=["", ""]), {})
    assert given(found) == {
        ("a", 0): "10.20.0.10",
        ("b", 0): "10.20.0.11",
        ("a", 1): "10.20.1.10",
        ("b", 1): "10.20.1.11",
    }
    assert found["devices"]["b"][1]["gateway"] == "10.20.1.254"


def test_keep_moves_no_device_that_has_an_address_of_the_list():
    present = facts(a=["10.0.0.12", "10.9.9.9"], b=["10.0.0.10", ""])
    for prefer, wanted, moves in (
        ("keep", ["10.0.0.12", "10.0.0.11", "10.0.0.10", "10.0.0.13"], ["a", "b"]),
        ("plan", ["10.0.0.10", "10.0.0.11", "10.0.0.12", "10.0.0.13"], ["a", "b"]),
    ):
        hosts = [host(name, addresses=["10.0.0.10-10.0.0.13/24"], prefer=prefer, devices=[0, 1]) for name in "ab"]
        found = fabric_settings(hosts, present, {})
        assert list(given(found).values()) == wanted and found["moves"] == moves
    assert ids(found) == ["FABRIC-ORDER"], "with plan, both hosts take an address of the other"


def eight(first, count=8):
    return [f"10.20.0.{first + number}" for number in range(count)]


@pytest.mark.parametrize(
    ("prefer", "lie", "expected", "text"),
    [
        ("plan", eight(10, 3), "FABRIC-VALUE", "answers 3 devices, and an a2 host has 8"),
        ("plan", eight(10, 16), "FABRIC-VALUE", "answers 16 devices, and an a2 host has 8"),
        ("keep", eight(18), "FABRIC-TWICE", "10.20.0.18 is answered by evil device 0 and good device 0"),
        ("keep", [*eight(10, 7), "10.20.0.25"], "FABRIC-TWICE", "10.20.0.25 is answered by evil device 7 and good"),
    ],
)
def test_a_host_that_answers_wrong_gives_no_other_host_an_address(prefer, lie, expected, text):
    """Its devices and addresses are its own: those of another host would move. After what the fix says, places in the list decide."""
    hosts = [host(name, addresses=["10.20.0.10-10.20.0.41/24"], prefer=prefer) for name in ("evil", "good")]
    honest = fabric_settings(hosts, facts(evil=eight(10), good=eight(18)), {})
    assert (honest["moves"], honest["findings"]) == ([], [])
    found = fabric_settings(hosts, facts(evil=lie, good=eight(18)), {})
    assert expected in ids(found) and any(text in finding["problem"] for finding in found["findings"])
    assert all("evil" in finding["path"] + finding["problem"] for finding in found["findings"])
    for each in hosts:
        each["fabric"]["prefer"] = "plan"
    hosts[0]["fabric"]["devices"] = list(range(len(lie)))
    fixed = fabric_settings(hosts, facts(evil=lie, good=eight(10 + len(lie))), {})
    assert (len(given(fixed)), fixed["findings"], "good" in fixed["moves"]) == (8 + len(lie), [], False)


def test_a_host_that_is_not_described_takes_no_address_by_its_answer():
    hosts = [host("good", addresses=["10.20.0.10-10.20.0.41/24"]), {"name": "evil", "hardware": "a2"}]
    found = fabric_settings(hosts, facts(evil=eight(18), good=eight(18)), {})
    assert ids(found) == ["FABRIC-TWICE"] * 8 and "evil device 7" in found["findings"][7]["problem"]


def test_hosts_change_after_those_that_hold_their_addresses():
    hosts = [host("a", addresses=["10.0.0.11/24"]), host("b", addresses=["10.0.0.12/24"]), host("c", tls=False)]
    found = fabric_settings(hosts, facts(a=["10.0.0.10"], b=["10.0.0.11"], c=["10.0.0.50"]), {})
    assert not found["findings"] and found["order"].index("b") < found["order"].index("a")


@pytest.mark.parametrize(
    ("fabric", "expected", "text"),
    [
        ({"addresses": ["10.0.0.10/24"]}, "FABRIC-FEW", "1 addresses are free for 2 devices"),
        ({"addresses": ["10.0.0.10/24"], "prefer": "plan"}, "FABRIC-FEW", "1 addresses are free for 2 devices"),
        ({"addresses": ["10.0.0.10", "10.0.0.11/24"]}, "FABRIC-VALUE", "'10.0.0.10' is neither"),
        ({"addresses": ["10.0.0.10-10.0.1.20/24"]}, "FABRIC-VALUE", "within one network"),
        ({"addresses": ["fe80::1/64"]}, "FABRIC-VALUE", "neither an address"),
        (
            {"addresses": ["10.0.0.10/24", "10.0.0.10/24"], "prefer": "plan"},
            "FABRIC-TWICE",
            "10.0.0.10 is the address of",
        ),
        ({"addresses": ["10.0.0.1-10.0.0.2/24"], "gateway": ["first"]}, "FABRIC-GATEWAY", "10.0.0.1 is its gateway"),
        ({"gateway": ["10.7.7.1"]}, "FABRIC-GATEWAY", "no gateway of 10.7.7.1 is in the device's network"),
        ({"netdetect": "gateway"}, "FABRIC-GATEWAY", "netdetect is gateway, and it has none"),
        ({"addresses": ["192.168.1.10-192.168.1.11/24"]}, "FABRIC-DEVICE", "192.168.1.0/24"),
        ({"tls": False, "devices": [7]}, "FABRIC-VALUE", "the host has no device 7"),
        ({"addresses_file": "f"}, "FABRIC-FEW", "f has no address for the device"),
    ],
)
def test_what_cannot_work_is_a_finding(fabric, expected, text):
    found = fabric_settings([host("a", **fabric)], facts(a=["10.9.0.1", "10.9.0.2"]), {"f": ""})
    assert expected in ids(found), found["findings"]
    assert any(text in finding["problem"] and finding["fix"] for finding in found["findings"]), found["findings"]


def test_an_address_of_a_device_that_gets_none_is_not_given_away():
    hosts = [host("a", addresses=["10.0.0.10-10.0.0.11/24"]), {"name": "b"}]
    present = facts(a=["", ""], b=["10.0.0.10"])
    assert ids(fabric_settings(hosts, present, {})) == ["FABRIC-FEW"]
    hosts[0]["fabric"]["prefer"] = "plan"
    assert ids(fabric_settings(hosts, present, {})) == ["FABRIC-TWICE"]


def test_tls_must_be_described_alike_and_hosts_must_answer():
    found = fabric_settings([host("a", tls=True), host("b", tls=False)], facts(a=[""], b=[""]), {})
    assert ids(found) == ["FABRIC-TLS"]
    found = fabric_settings([host("a", tls=False)], {"a": {"msg": "hccn_tool is missing", "failed": True}}, {})
    assert ids(found) == ["FABRIC-FACTS"] and found["findings"][0]["problem"] == "hccn_tool is missing"


@pytest.mark.parametrize(
    "odd",
    [[{}], [None], 7, [{"device_id": "x"}], [{"device_id": 0, "ip": [1]}], [link(device) for device in range(1025)]],
)
def test_an_answer_in_a_wrong_form_is_a_finding_of_its_host(odd):
    hosts = [host(name, addresses=["10.20.0.10-10.20.0.41/24"]) for name in "ab"]
    found = fabric_settings(hosts, {**facts(a=[""]), "b": {"devices": odd}}, {})
    assert [(item["id"], item["path"]) for item in found["findings"]] == [("FABRIC-FACTS", "b")]
    assert given(found) == {("a", 0): "10.20.0.10"}


def test_a_file_names_devices_and_the_list_serves_the_others():
    text = "# host device address gateway\na 1 10.20.1.11/24 10.20.1.254\nb,0,10.20.1.12/24\n"
    hosts = [
        host("a", addresses_file="f", addresses=["10.20.0.10/24"], gateway=["first"]),
        host("b", addresses_file="f", gateway=["first"]),
    ]
    found = fabric_settings(hosts, facts(a=["", ""], b=[""]), {"f": text})
    assert not found["findings"]
    assert given(found) == {("a", 0): "10.20.0.10", ("a", 1): "10.20.1.11", ("b", 0): "10.20.1.12"}
    assert [entry["gateway"] for entry in found["devices"]["a"]] == ["10.20.0.1", "10.20.1.254"]
    found = fabric_settings(hosts, facts(a=["", ""], b=[""]), {"f": text + "b 0\n"})
    assert ids(found) == ["FABRIC-VALUE"] and "line 4" in found["findings"][0]["problem"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [("a 0 10.20.1.99/24", "lines 1 and 2 are of one device"), ("a 7 10.20.1.99/24", "the host does not have")],
)
def test_a_line_of_a_file_that_cannot_be_meant_is_found(line, problem):
    found = fabric_settings([host("a", addresses_file="f")], facts(a=[""]), {"f": f"a 0 10.20.1.10/24\n{line}\n"})
    assert ids(found) == ["FABRIC-VALUE"] and problem in found["findings"][0]["problem"]
    assert given(found) == {("a", 0): "10.20.1.10"}


@pytest.mark.parametrize("seed", range(60))
def test_no_address_is_given_twice_and_what_can_stay_stays(seed):
    """Random hosts, present addresses and lists: findings, or each device has its own address of its list."""
    chance = random.Random(seed)
    names = [f"h{number}" for number in range(chance.randint(1, 4))]
    pool = [f"10.0.0.{number}" for number in range(10, 22)]
    present = {
        name: [chance.choice([*pool, "", "10.9.0.1"]) for dummy in range(chance.randint(1, 3))] for name in names
    }
    order, prefer = chance.choice(["host", "device"]), chance.choice(["keep", "plan"])
    size = chance.randint(1, 12)
    texts = [f"10.0.0.10-10.0.0.{9 + size}/24"]
    hosts = [
        host(name, addresses=texts, order=order, prefer=prefer, devices=list(range(len(present[name]))))
        for name in names
    ]
    found = fabric_settings(hosts, facts(**present), {})
    addresses, devices = given(found), sum(map(len, present.values()))
    if size < devices:
        assert "FABRIC-FEW" in ids(found)
        return
    claims = [(address, name) for name in names for address in set(present[name]) & set(pool[:size])]
    if prefer == "keep" and len({address for address, dummy in claims}) < len(claims):
        assert "FABRIC-TWICE" in ids(found)
        return
    assert set(ids(found)) <= {"FABRIC-ORDER"} and len(addresses) == devices
    assert len(set(addresses.values())) == devices and set(addresses.values()) <= set(pool[:size])
    held = {present[name][device]: (name, device) for name, device in reversed(list(addresses))}
    if prefer == "keep":
        assert "FABRIC-ORDER" not in ids(found)
        for address, slot in held.items():
            if (
                address in pool[:size]
                and len([1 for items in present.values() for item in items if item == address]) == 1
            ):
                assert addresses[slot] == address
        again = fabric_settings(
            hosts,
            facts(**{name: [addresses[name, device] for device in range(len(present[name]))] for name in names}),
            {},
        )
        assert not again["moves"] and given(again) == addresses
    assert sorted(found["order"]) == names
    assert all(ipaddress.ip_address(address) for address in addresses.values())


IDLE = {"services": []}
PLAN = {"services": [{"name": "prefill-0", "host": "a", "devices": [0, 1], "kind": "prefill"}]}
NPUS = {"npus": [{"npu_id": number, "device_id": None, "processes": []} for number in range(4)]}


def refused(steps=(0, 1, 2), npu=None, status=None, forecast=None):
    forecast = forecast or {"steps": [{"device": device} for device in steps]}
    return fabric_refusals(PLAN, ["a"], {"a": forecast}, {"a": npu or NPUS}, {"a": IDLE if status is None else status})


def service(name="prefill-0", state="running", kind="prefill"):
    return {"services": [{"service": name, "kind": kind, "state": state}]}


def test_devices_in_use_are_refused_if_they_would_change():
    assert refused() == []
    found = refused(status=service())
    assert [(item["path"], item["id"]) for item in found] == [
        ("a device 0", "FABRIC-BUSY"),
        ("a device 1", "FABRIC-BUSY"),
    ]
    assert refused(steps=(2,), status=service()) == [] == refused(steps=(), status=service())
    assert len(refused(status=service("old-0"))) == 3, "its devices are not known"
    assert refused(status=service("router", kind="router")) == []
    for state, count in (
        ("inactive (dead)", 0),
        ("exited", 0),
        ("absent", 0),
        ("activating (auto-restart)", 2),
        ("unknown", 2),
    ):
        assert len(refused(status=service(state=state))) == count, state
    npus = {
        "npus": [
            {**item, "processes": [{"name": "python", "pid": 77}] * (item["npu_id"] == 2)} for item in NPUS["npus"]
        ]
    }
    assert "python (77)" in refused(npu=npus)[0]["problem"] and refused(npu=npus)[0]["path"] == "a device 2"


def test_the_name_of_a_process_changes_no_terminal():
    npus = {"npus": [{"npu_id": 0, "device_id": None, "processes": [{"name": "a\x1b[2J\nx", "pid": 7}]}]}
    assert "a\\x1b[2J\\nx (7)" in refused(npu=npus)[0]["problem"]
    assert "\x1b" not in refused(status={"msg": "\x1b[2J"})[0]["problem"]


def test_what_is_not_known_is_refused():
    assert refused(forecast={"msg": "permission denied"})[0]["id"] == "FABRIC-REFUSED"
    assert "npu-smi" in refused(npu={"msg": "timeout"})[0]["problem"]


# A module that failed (with failed_when: false it is not marked as failed), one that crashed, a lost host, a broken plan.json.
@pytest.mark.parametrize(
    "status, reason",
    [
        ({"failed": False, "msg": "unknown runtime", "services": [], "findings": []}, "unknown runtime"),
        ({"failed": False, "msg": "MODULE FAILURE"}, "MODULE FAILURE"),
        ({}, "no answer"),
        ({"services": [], "findings": ["plan.json is not JSON"], "unreadable": True}, "plan.json is not JSON"),
    ],
)
def test_services_that_are_not_known_may_run(status, reason):
    found = refused(status=status)
    assert [(item["path"], item["id"]) for item in found] == [("a", "FABRIC-BUSY")]
    assert reason in found[0]["problem"]
    assert refused(steps=(), status=status) == []


def test_the_report_shows_what_changed_and_counts_all_devices():
    before = {"0": {"tls": True, "tls_in_file": None}, "1": {"tls": False, "tls_in_file": "0"}}
    after = {"0": {"tls": False, "tls_in_file": "0"}, "1": {"tls": False, "tls_in_file": "0"}}
    lines = fabric_text({"a": {"before": before, "after": after}})
    assert [line.split() for line in lines[1:3]] == [
        ["a", "0", "tls", "on", "off"],
        ["a", "0", "tls", "in", "file", "-", "off"],
    ]
    assert lines[-1] == "tls is off on 2 devices"
    assert fabric_text({"a": {"before": after, "after": after}}, True) == [
        "No setting differs.",
        "tls would be off on 2 devices",
    ]


@pytest.mark.parametrize(
    ("rule", "variable"),
    [
        ("TLS-DIFFERS", "inference_fabric.tls: false"),
        ("TLS-ON", "inference_fabric.tls: false"),
        ("NPU-ADDRESS", "inference_fabric.addresses"),
        ("NPU-ADDRESS-TWICE", "inference_fabric.addresses"),
        ("HCCN-STALE", "inference_fabric.addresses"),
        ("NET-GATEWAY", "inference_fabric.gateway"),
        ("NET-GATEWAY", "inference_fabric.netdetect"),
    ],
)
def test_findings_of_the_check_name_the_variable(rule, variable):
    assert variable in next(item.fix for item in RULES if item.id == rule)


def test_a_file_of_addresses_is_read_beside_the_inventory(tmp_path):
    hosts = [host("a", addresses_file="addresses.txt")]
    assert "cannot be read" in settings_with_files(hosts, facts(a=[""]), str(tmp_path))["findings"][0]["problem"]
    (tmp_path / "addresses.txt").write_text("a 0 10.20.0.10/24\n")
    assert given(settings_with_files(hosts, facts(a=[""]), str(tmp_path))) == {("a", 0): "10.20.0.10"}


def test_a_failure_names_the_hosts_that_changed_and_those_that_did_not():
    done = {"states": {"0": "changed"}, "changed": True}
    assert fabric_failures({"a": done, "b": done}) == [] == fabric_failures({})
    lines = fabric_failures({"a": done, "b": {"msg": "half\nset", "states": {}}, "c": {"skipped": True}, "d": {}})
    assert lines[:3] == [r"b: half\nset", "All settings are set on a.", "Nothing was changed on c, d."]
    assert "run the playbook again" in lines[3] and "inference_fabric_rollback=true" in lines[3]
    lost = {"unreachable": True, "msg": "Failed to connect"}
    assert fabric_failures({"a": lost})[0] == "a: Failed to connect"
    assert "differ now" in fabric_failures({"a": lost, "b": {}})[-1], "it may have been lost in the change"
    refused = fabric_failures({"a": {"msg": "no tool"}, "b": {"skipped": True}})
    assert refused[1:] == [
        "Nothing was changed on b.",
        "No host was changed. Fix: correct the reason and run the playbook again",
    ]


def test_devices_that_were_not_read_are_a_finding_with_the_reason():
    for found, problem in (({}, "the devices were not read"), ({"msg": "no tool"}, "no tool")):
        (finding,) = fabric_settings([host("a", tls=False)], {"a": found}, {})["findings"]
        assert (finding["path"], finding["id"], finding["problem"]) == ("a", "FABRIC-FACTS", problem)
    assert fabric_settings([{"name": "b"}], {"b": {}}, {})["findings"] == []


def test_hosts_with_and_without_tls_are_told_apart():
    hosts = [host("a", tls=True), host("b", tls=False), host("c")]
    (finding,) = fabric_settings(hosts, facts(a=[""], b=[""], c=[""]), {})["findings"]
    assert finding["problem"] == "TLS is true for a and false for b"


def test_each_reason_against_a_change_says_why():
    """A finding without its reason tells an operator less than the refusal has to."""
    plan = {"services": [{"name": "p", "host": "a", "devices": [0], "kind": "prefill"}]}
    step, running = {"device": 0}, {"services": [{"service": "p", "kind": "prefill", "state": "running"}]}
    for npu, status in (({"npus": [{"device_id": 0}]}, running), ({}, running), ({"npus": []}, {})):
        (finding,) = fabric_refusals(plan, ["a"], {"a": {"steps": [step]}}, {"a": npu}, {"a": status})
        assert finding["id"] == "FABRIC-BUSY" and finding["why"], finding
    refused = fabric_settings([host("a", devices=[16], mtu=1500)], facts(a=[""] * 17), {})["findings"]
    assert refused and all(finding["why"] for finding in refused), refused
