# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rank table of LLMDataDist, whole, and all that is said about facts without which there is none."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.rank_table import rank_table


def plan(hardware="a2", *more):
    engines = [("decode", "d", [1, 0]), ("prefill", "p", [3]), ("router", "r", [])]
    services = [
        {"kind": kind, "host": host, "address": f"10.0.0.{host}", "devices": devices} for kind, host, devices in engines
    ]
    hosts = [{"name": name, "hardware": hardware} for name in "dpr"]
    return {"hosts": hosts, "services": [*services, *more]}


def address(net, host, device):
    return f"{net}.0.{ord(host)}.{device}"


def facts():
    """Facts of the hosts of both engines."""
    return {
        host: {
            "hccn": {
                "devices": [
                    {"device_id": device, "ip": {"address": address(9, host, device)}, "vnic": {"address": address(8, host, device)}}
                    for device in range(4)
                ]
            },
            "npu": {"npus": [{"device_id": device, "sdid": 10 + device, "super_pod_id": 0} for device in range(4)]},
        }
        for host in "dp"
    }  # fmt: skip


def entry(host, device, cluster, net=9, **more):
    own = {"server_id": f"10.0.0.{host}", "device_id": device, "device_ip": address(net, host, device)}
    return {**own, **more, "cluster_id": cluster}


def test_the_table_has_the_devices_in_the_order_of_their_engines():
    assert rank_table(plan(), facts()) == {
        "version": "1.2",
        "server_count": "2",
        "prefill_device_list": [entry("p", "3", "1")],
        "decode_device_list": [entry("d", "1", "2"), entry("d", "0", "3")],
        "status": "completed",
    }
    pod = {"super_pod_id": "0"}
    assert rank_table(plan("a3"), facts())["decode_device_list"] == [
        entry("d", "1", "2", 8, super_device_id="11", **pod),
        entry("d", "0", "3", 8, super_device_id="10", **pod),
    ]


def refused(wanted, found):
    with pytest.raises(PlanError) as caught:
        rank_table(wanted, found)
    assert {item.id for item in caught.value.findings} == {"RANK-TABLE"}
    return [(item.path, item.problem, item.fix) for item in caught.value.findings]


def test_both_pools_are_needed():
    text = "a rank table needs prefill and decode engines with devices"
    for kind in ("prefill", "decode"):
        wanted = plan()
        wanted["services"] = [service for service in wanted["services"] if service["kind"] != kind]
        assert refused(wanted, facts()) == [("plan", text, "")]


@pytest.mark.parametrize("found", [{}, {"d": {}}, {"d": None}])
def test_a_host_that_was_not_asked_is_named_once(found):
    text = "the addresses of its NPUs were not gathered"
    fix = "The rank table needs all hosts: run without --limit."
    assert refused(plan(), {"p": facts()["p"], **found}) == [("d", text, fix)]


@pytest.mark.parametrize(
    ("hardware", "failed", "tools"),
    [
        ("a2", ["hccn"], ["hccn_tool"]),
        ("a3", ["hccn"], ["hccn_tool"]),
        ("a3", ["npu"], ["npu-smi"]),
        ("a3", ["hccn", "npu"], ["hccn_tool", "npu-smi"]),
    ],
)
def test_each_tool_that_failed_is_named_instead_of_its_devices(hardware, failed, tools):
    found = facts()
    found["d"].update({kind: {"error": "no driver"} for kind in failed})
    expected = [("d", f"{tool} failed: no driver", f"Fix {tool} on the host, then run again.") for tool in tools]
    assert refused(plan(hardware), found) == expected


def test_of_a2_a_failed_npu_smi_does_not_matter():
    found = facts()
    found["d"]["npu"] = {"error": "no driver"}
    assert rank_table(plan(), found) == rank_table(plan(), facts())


@pytest.mark.parametrize("hccn", [None, {}, {"devices": None}])
@pytest.mark.parametrize(
    ("hardware", "query", "way"),
    [
        ("a2", "ip", "set inference_fabric.addresses and run the playbook fabric"),
        ("a3", "vnic", "bring up the virtual NIC with the driver"),
    ],
)
def test_a_device_without_an_address_is_told_how_it_gets_one(hccn, hardware, query, way):
    found = facts()
    found["p"]["hccn"] = hccn
    fix = f"hccn_tool -i 3 -{query} -g shows no address: {way}, then run again."
    assert refused(plan(hardware), found) == [("p device 3", "device_ip is unknown", fix)]
    if hccn is None:
        found["p"]["hccn"] = {"devices": [{"device_id": 3, "errors": {query: "busy"}}]}
        fix = f"hccn_tool -i 3 -{query} -g shows no address (busy): {way}, then run again."
        assert refused(plan(hardware), found) == [("p device 3", "device_ip is unknown", fix)]


@pytest.mark.parametrize("device", [0, 1, 2])
@pytest.mark.parametrize("hardware", ["a2", "a3"])
def test_a_host_takes_no_device_address_of_another_one(hardware, device):
    """Its answer would lead the transfers of all engines there. Device 2 of d serves no engine, but it is not p's."""
    found, a3 = facts(), hardware == "a3"
    claimed = address(8 if a3 else 9, "d", device)
    found["p"]["hccn"]["devices"][3]["vnic" if a3 else "ip"] = {"address": claimed}
    (path, problem, fix), *more = refused(plan(hardware), found)
    assert [path, *(each[0] for each in more)] == [f"d device {device}"] * (device != 2) + ["p device 3"]
    assert all(claimed in each and "-vnic -g" * a3 in way for _path, each, way in [(path, problem, fix), *more])
    assert f"device_ip {claimed} is also that of d device {device}" in [problem, *(each[1] for each in more)]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [("10.0.0.4", "the address of d"), ("127.0.0.1", "unknown"), ("224.0.0.1", "unknown"), ("0.0.0.0", "unknown")],
)
def test_an_address_that_no_device_has_is_in_no_table(wrong, said):
    found, wanted = facts(), plan()
    wanted["services"][0]["address"] = "10.0.0.4"
    found["p"]["hccn"]["devices"][3]["ip"] = {"address": wrong}
    ((path, problem, _fix),) = refused(wanted, found)
    assert path == "p device 3" and said in problem


def test_a_super_device_is_in_the_table_once():
    found = facts()
    found["p"]["npu"]["npus"][3]["sdid"] = 11
    problem = "super_device_id 11 of super pod 0 is also that of {} device {}"
    assert [each[:2] for each in refused(plan("a3"), found)] == [
        ("d device 1", problem.format("p", 3)),
        ("p device 3", problem.format("d", 1)),
    ]


@pytest.mark.parametrize("part", ["hccn", "npu"])
@pytest.mark.parametrize(
    "odd", [[{}], [None], 7, {"a": 1}, [{"device_id": "x"}], [{"device_id": 3, "ip": [1], "vnic": [1]}]]
)
def test_an_answer_in_a_wrong_form_is_of_its_host(part, odd):
    found = facts()
    found["p"][part] = {"devices" if part == "hccn" else "npus": odd}
    assert {path.partition(" device")[0] for path, _problem, _fix in refused(plan("a3"), found)} == {"p"}


@pytest.mark.parametrize("wrong", ["p.9.3", "10.0.0.1 10.0.0.2", 7, {"a": 1}])
def test_what_is_no_address_is_in_no_table(wrong):
    """A host answers it, and engines of all hosts would read it."""
    found = facts()
    found["p"]["hccn"]["devices"][3]["ip"] = {"address": wrong}
    assert [path for path, _problem, _fix in refused(plan(), found)] == ["p device 3"]


@pytest.mark.parametrize("npu", [None, {}, {"npus": [{"device_id": 3}]}])
def test_a_device_outside_of_a_super_pod_is_told_what_shows_it(npu):
    found = facts()
    found["p"]["npu"] = npu
    way = "npu-smi info -t spod-info must show it; gather npu_info superpod, and check the configuration of the super pod."
    names = ("super_device_id", "super_pod_id")
    assert refused(plan("a3"), found) == [("p device 3", f"{name} is unknown", way) for name in names]
