# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Edges of the rules of hosts, each rule alone: the last value that is right, the first one that is wrong, and how severe that is."""

from __future__ import annotations

import functools
import pathlib

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import fabric
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import RULES, observed
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.system import RESTRICTIONS
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.base import judge
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_check_plan import (
    HOSTS,
    facts,
    growth,
    kernel,
    link,
    npu,
    plan,
)

BY_ID = {rule.id: rule for rule in RULES}
LINKS = {
    "a2": {"inference_hardware": "a2"},
    "hccs": {},
    "roce": {"inference_link": "roce"},
    "docker": {"inference_runtime": "docker"},
    "supervisor": {"inference_runtime": "supervisor"},
}


@functools.cache
def planned(on):
    return plan(**LINKS[on])


def judged(id_, on, *plants, thresholds=None):
    """Findings of one rule about healthy hosts in which something was planted."""
    data = facts(planned(on))
    for plant in plants:
        plant(data)
    case = observed(planned(on), data, {"thresholds": thresholds or {}})
    return judge(case, [BY_ID[id_]], ())


def rows(id_, on, *plants):
    return [(item.path, item.severity) for item in judged(id_, on, *plants)]


def everywhere(**values):
    """Plant into the ports of all devices."""
    return lambda data: [link(host, device, **values)(data) for host in HOSTS for device in range(4)]


DEVICE = "n2 device 1"
FABRIC = [
    # queries that fail: by what the plan uses
    ("HCCN-ANSWER", "hccs", {"errors": {"vnic": "x"}}, "error"),
    ("HCCN-ANSWER", "hccs", {"errors": {"tls": "x"}}, "warning"),
    ("HCCN-ANSWER", "hccs", {"errors": {"link": "x"}}, "remark"),
    ("HCCN-ANSWER", "hccs", {"errors": {"optical": "x"}}, "remark"),
    ("HCCN-ANSWER", "hccs", {"errors": {"fec": "x"}}, None),
    ("HCCN-ANSWER", "roce", {"errors": {"link": "x"}}, "error"),
    ("HCCN-ANSWER", "roce", {"errors": {"ip": "x"}}, "error"),
    ("HCCN-ANSWER", "roce", {"errors": {"tls": "x"}}, "error"),
    ("HCCN-ANSWER", "roce", {"errors": {"net_health": "x"}}, "warning"),
    ("HCCN-ANSWER", "roce", {"errors": {"gateway": "x"}}, "warning"),
    ("HCCN-ANSWER", "roce", {"errors": {"netdetect": "x"}}, "warning"),
    ("HCCN-ANSWER", "roce", {"errors": {"optical": "x"}}, "warning"),
    ("HCCN-ANSWER", "roce", {"errors": {"lldp": "x"}}, "remark"),
    ("HCCN-ANSWER", "roce", {"errors": {"vnic": "x"}}, "remark"),
    ("HCCN-ANSWER", "roce", {"errors": {"fec": "x"}}, None),
    ("HCCN-ANSWER", "roce", {"errors": {"link": "x"}, "hung": "30 s"}, None),
    ("HCCN-HUNG", "roce", {"hung": "30 s"}, "error"),
    ("LINK-DOWN", "roce", {"link": "UP"}, None),
    ("LINK-DOWN", "roce", {"link": None}, None),
    ("LINK-DOWN", "roce", {"link": "DOWN"}, "error"),
    ("LINK-DOWN", "hccs", {"link": "DOWN"}, "remark"),
    ("VNIC-DOWN", "hccs", {"vnic": {"link": "UP"}}, None),
    ("VNIC-DOWN", "hccs", {"vnic": {"link": None}}, None),
    ("VNIC-DOWN", "hccs", {"vnic": {"link": "DOWN"}}, "error"),
    ("VNIC-DOWN", "roce", {"vnic": {"link": "DOWN"}}, "remark"),
    ("NET-HEALTH", "roce", {"healthy": None}, None),
    ("NET-HEALTH", "roce", {"healthy": False}, "error"),
    ("NET-HEALTH", "roce", {"healthy": False, "link": None}, "error"),
    ("NET-HEALTH", "roce", {"healthy": False, "link": "UP"}, "error"),
    ("NET-HEALTH", "roce", {"healthy": False, "link": "down"}, None),
    ("NET-HEALTH", "hccs", {"healthy": False}, "remark"),
    ("NPU-ADDRESS", "hccs", {"vnic": None}, "error"),
    ("NPU-ADDRESS", "hccs", {"vnic": None, "errors": {"vnic": "x"}}, None),
    ("NPU-ADDRESS", "hccs", {"ip": None}, None),
    ("NPU-ADDRESS", "roce", {"ip": {"address": ""}}, "error"),
    ("NPU-ADDRESS", "roce", {"ip": None, "errors": {"ip": "x"}}, None),
    ("NPU-ADDRESS", "roce", {"vnic": None}, None),
    ("NPU-ADDRESS-TWICE", "roce", {"vnic": {"address": "10.8.1.10"}}, None),
    ("NPU-ADDRESS-TWICE", "roce", {"ip": {"address": "10.9.1.10"}}, "error"),
    ("NET-GATEWAY", "roce", {"gateway": None}, None),
    ("NET-GATEWAY", "a2", {"gateway": None}, "warning"),
    ("NET-GATEWAY", "a2", {"netdetect": ""}, "warning"),
    ("NET-GATEWAY", "a2", {"gateway": None, "errors": {"gateway": "x"}}, None),
    ("NET-GATEWAY", "a2", {"gateway": None, "hung": "30 s"}, None),
    ("NET-GATEWAY", "a2", {"gateway": "10.10.0.1"}, "warning"),
    ("NET-GATEWAY", "a2", {"gateway": "10.9.255.254"}, None),
    ("NET-GATEWAY", "a2", {"gateway": "nothing"}, None),
    ("NET-GATEWAY", "a2", {"ip": {}}, None),
    ("RAIL-DIFFERS", "hccs", {"mtu": 9000}, None),
    ("RAIL-DIFFERS", "roce", {"mtu": None}, None),
    ("RAIL-DIFFERS", "roce", {"ip": {"netmask": "255.0.0.0"}}, "warning"),
    ("LINK-FLAPS", "roce", {"link_stat": {"link_down_count": 3}}, None),
    ("LINK-FLAPS", "roce", {"link_stat": {"link_down_count": 4}}, "warning"),
    ("LINK-FLAPS", "roce", {"link_stat": {"link_down_count": 4}, "growth": growth()}, "remark"),
    ("LINK-FLAPS", "roce", {"link_stat": {}, "growth": growth(link_downs=1)}, "error"),
    ("LINK-FLAPS", "hccs", {"link_stat": {"link_down_count": 9}}, None),
    ("PACKET-ERRORS", "roce", {"stats": {"other": 9}}, None),
    ("PACKET-ERRORS", "roce", {"stats": {"crc_error_sum": 0, "mac_rx_bad_pkt_num": None}}, None),
    ("PACKET-ERRORS", "roce", {"stats": {"crc_error_sum": 1}}, "warning"),
    ("PACKET-ERRORS", "roce", {"stats": {"roce_tx_err_pkt_num": 1}}, "warning"),
    ("PACKET-ERRORS", "roce", {"stats": {"mac_rx_fcs_err_pkt_num": 1}}, "warning"),
    ("PACKET-ERRORS", "roce", {"stats": {"mac_rx_bad_pkt_num": 1}, "growth": growth()}, "remark"),
    ("PACKET-ERRORS", "roce", {"growth": growth(crc_error_sum=1)}, "warning"),
    ("PACKET-ERRORS", "hccs", {"stats": {"crc_error_sum": 1}}, None),
    ("OPTICAL", "roce", {"optical": {"present": False}, "link": "up"}, None),
    ("OPTICAL", "roce", {"optical": {"present": False}, "link": "DOWN"}, "warning"),
    ("OPTICAL", "roce", {"optical": {"present": True}}, "remark"),
    ("OPTICAL", "roce", {"optical": {"rx_power0_milliwatts": None}}, "remark"),
    ("OPTICAL", "roce", {"optical": {"rx_power0_milliwatts": None, "tx_power0_milliwatts": 1.0}}, "warning"),
    ("OPTICAL", "roce", {"optical": {"rx_power": 1.0}}, None),
    ("OPTICAL", "hccs", {"optical": {"present": False}, "link": "DOWN"}, None),
]


@pytest.mark.parametrize(("id_", "on", "values", "severity"), FABRIC)
def test_a_port_of_an_npu(id_, on, values, severity):
    assert rows(id_, on, link("n2", 1, **values)) == ([(DEVICE, severity)] if severity else [])


@pytest.mark.parametrize("edge", ["low", "high"])
@pytest.mark.parametrize("side", ["rx", "tx"])
@pytest.mark.parametrize("lane", ["", "3"])
def test_optical_power_is_compared_with_both_limits_of_its_side(edge, side, lane):
    limits = {f"{side}_power_low_thres_milliwatts": 0.5, f"{side}_power_high_thres_milliwatts": 2.0}
    limit, step = (0.5, -0.01) if edge == "low" else (2.0, 0.01)
    name = f"{side}_power{lane}_milliwatts"
    assert judged("OPTICAL", "roce", link("n2", 1, optical={**limits, name: limit})) == []
    (found,) = judged("OPTICAL", "roce", link("n2", 1, optical={**limits, name: limit + step}))
    assert found.problem.startswith(
        f"{side} power of lane {lane or '0'} is {limit + step} mW, the module's range is 0.5"
    )
    other = {"rx": "tx", "tx": "rx"}[side]
    assert judged("OPTICAL", "roce", link("n2", 1, optical={**limits, f"{other}_power0_milliwatts": 9.0})) == []
    only = {key: value for key, value in limits.items() if edge in key}
    assert len(judged("OPTICAL", "roce", link("n2", 1, optical={**only, name: limit + step}))) == 1


def test_queries_that_fail_are_one_finding_for_each_severity():
    errors = {"tls": "c", "link": "a", "ip": "b", "lldp": "d", "net_health": "e"}
    found = judged("HCCN-ANSWER", "roce", link("n2", 1, errors=errors))
    assert {item.severity: item.problem for item in found} == {
        "error": "hccn_tool fails for ip, link, tls: b",
        "warning": "hccn_tool fails for net_health: e",
        "remark": "hccn_tool fails for lldp: d",
    }
    everybody = judged("HCCN-ANSWER", "roce", everywhere(optical=None, errors={"optical": "no such option"}))
    assert {item.severity for item in everybody} == {"remark"} and len(everybody) == 12


def test_a_port_without_link_is_named_with_what_it_is_cabled_to():
    def problem(**lldp):
        return judged("LINK-DOWN", "roce", link("n2", 1, link="down", lldp=lldp))[0].problem

    assert problem(system_name="leaf-1", port="10GE1/0/7").endswith("is down; it is cabled to leaf-1 10GE1/0/7")
    assert problem(port="10GE1/0/7").endswith("it is cabled to 10GE1/0/7")
    assert problem().endswith("RoCE link is down")


def test_a_detection_address_is_named_where_it_is_known():
    bad = {"net_health": "socket_fail", "healthy": False}
    problems = [
        judged("NET-HEALTH", "roce", link("n2", 1, **bad, netdetect=address))[0].problem for address in ("10.9.0.9", "")
    ]
    assert problems[0] == "the device's network check reports socket_fail for the detection address 10.9.0.9"
    assert problems[1] == "the device's network check reports socket_fail"


def test_equal_addresses_of_all_devices_are_one_machine_with_two_names():
    def same(*devices):
        return lambda data: [link("n2", die, ip={"address": f"10.9.1.{die + 10}"})(data) for die in devices]

    (found,) = judged("NPU-ADDRESS-TWICE", "roce", same(0, 1, 2, 3))
    assert (found.path, found.value) == (
        "n2",
        "10.9.1.10",
    ) and "all 4 devices have the addresses of n1's" in found.problem
    found = judged("NPU-ADDRESS-TWICE", "roce", same(0, 1, 2))
    assert [(item.path, item.value) for item in found] == [
        (f"n2 device {die}", f"10.9.1.{die + 10}") for die in (0, 1, 2)
    ]
    assert found[1].problem == "n1 device 1 has the same address 10.9.1.11"
    inside = judged("NPU-ADDRESS-TWICE", "roce", *(link("n2", die, ip={"address": "10.9.2.10"}) for die in (1, 2, 3)))
    assert [item.path for item in inside] == [f"n2 device {die}" for die in (1, 2, 3)]


def test_an_address_that_is_not_the_file_s_is_shown_with_what_is_wanted():
    def stale(device, **entry):
        return lambda data: data["n1"]["hccn"].update(stale=[{"device_id": device, "live": "10.9.1.9", **entry}])

    (found,) = judged("HCCN-STALE", "roce", stale("2", file="10.9.1.12"))
    assert (found.path, found.value, found.severity) == ("n1 device 2", "10.9.1.9", "error")
    assert found.problem == "the active address is 10.9.1.9, /etc/hccn.conf has 10.9.1.12"
    (found,) = judged("HCCN-STALE", "hccs", stale(2, file="10.9.1.12", expected="10.9.1.13"))
    assert found.severity == "remark" and found.problem.endswith("has 10.9.1.13")
    assert judged("HCCN-STALE", "roce", stale(4, file="10.9.1.12")) == []


@pytest.mark.parametrize(
    ("off", "on", "wrong", "is_on"),
    [(6, 6, 6, True), (5, 7, 5, False), (7, 5, 5, True), (12, 0, 0, True), (2, 2, 2, True)],
)
def test_tls_is_compared_with_most_devices_and_of_equal_numbers_it_should_be_off(off, on, wrong, is_on):
    def plant(data):
        states = iter([False] * off + [True] * on + [None] * (12 - off - on))
        for host in HOSTS:
            for device in range(4):
                link(host, device, tls_enabled=next(states))(data)

    found = judged("TLS-DIFFERS", "roce", plant)
    assert len(found) == wrong and {item.value for item in found} <= {"on" if is_on else "off"}
    usual = "off" if is_on else "on"
    assert all(f"and {usual} on most of the {off + on} devices" in item.problem for item in found)
    assert {item.severity for item in found} <= {"error"}
    assert {item.severity for item in judged("TLS-DIFFERS", "hccs", plant)} <= {"remark"}


def test_tls_that_is_on_everywhere_weighs_as_much_as_its_plane():
    half_known = (everywhere(tls_enabled=None), link("n1", 0, tls_enabled=True))
    assert rows("TLS-ON", "roce", *half_known) == [("n1 device 0", "warning")]
    assert rows("TLS-ON", "hccs", *half_known) == [("n1 device 0", "remark")]
    assert rows("TLS-ON", "roce", *half_known, link("n1", 1, tls_enabled=False)) == []
    assert rows("TLS-ON", "roce", everywhere(tls_enabled=None)) == []


NOW = 1_790_000_000.0  # Mon Sep 21 14:13:20 2026 GMT
END = "Mon Sep 21 14:13:20 2026 GMT"


@pytest.mark.parametrize(
    ("certificate", "days", "found"),
    [
        ({"not_after": END}, 30, ("", "")),
        ({"not_after": END}, 29.9, ("expires in 29 days", "warning")),
        ({"not_after": END}, 0.5, ("expires in 0 days", "warning")),
        ({"not_after": END}, -0.5, ("expired 1 day ago", "")),
        ({"not_after": END}, -3, ("expired 3 days ago", "")),
        ({"not_after": END, "expiration": "expired"}, 31, ("", "")),
        ({"not_after": "soon", "expiration": "expired"}, 0, ("has expired, according to hccn_tool", "")),
        ({"expiration": "near_expiration"}, 0, ("expires soon, according to hccn_tool", "warning")),
        ({"expiration": "normal"}, 0, ("", "")),
        ({}, 0, ("has no date that can be read", "warning")),
    ],
)
def test_the_end_of_a_certificate(certificate, days, found):
    assert fabric._ending(certificate, NOW - days * 86400, 30) == found


def test_without_a_clock_hccn_tool_s_own_state_counts():
    assert fabric._ending({"not_after": END, "expiration": "near_expiration"}, 0.0, 30)[1] == "warning"
    assert fabric._seconds(END) == NOW and fabric._seconds("never") == fabric._seconds("") == 0.0


def test_a_certificate_is_judged_by_the_clock_of_its_host_and_only_with_tls():
    def plant(on):
        ends = [{"name": "ca", "not_after": END}, {"not_after": "Sat Jan  5 00:00:00 2036 GMT"}]
        return kernel("n2", clock={"epoch": NOW + 1}), link("n2", 1, tls_enabled=on, tls_certificates=ends)

    (found,) = judged("TLS-CERTIFICATE", "roce", *plant(True))
    assert (found.path, found.severity, found.problem, found.value) == (
        DEVICE,
        "error",
        "the ca expired 1 day ago",
        END,
    )
    assert [item.severity for item in judged("TLS-CERTIFICATE", "hccs", *plant(True))] == ["remark"]
    assert judged("TLS-CERTIFICATE", "roce", *plant(False)) == []
    unnamed = link("n2", 2, tls_enabled=True, tls_certificates=[{}])
    assert [item.problem for item in judged("TLS-CERTIFICATE", "roce", link("n2", 1, tls_enabled=False), unnamed)] == [
        "the certificate has no date that can be read"
    ]


def test_a_hung_device_hides_no_gateway_of_another_one():
    found = judged(
        "NET-GATEWAY", "a2", link("n2", 0, hung="30 s", gateway=None), link("n2", 1, gateway="", netdetect="")
    )
    assert [(item.path, item.value) for item in found] == [(DEVICE, "gateway, netdetect")]
    (found,) = judged("NET-GATEWAY", "a2", link("n2", 1, gateway="10.10.0.1"))
    assert found.problem == "the gateway 10.10.0.1 is not in the device's network 10.9.0.0/16"
    assert found.value == "10.10.0.1"


def test_hccn_conf_has_to_name_the_planned_devices():
    def named(*devices):
        return lambda data: data["n2"]["hccn"].update(hccn_conf={device: {} for device in devices})

    known = [lambda data: [data[name]["hccn"].pop("hccn_conf") for name in HOSTS]]
    assert rows("HCCN-CONF", "a2", *known) == []
    assert rows("HCCN-CONF", "a2", *known, named("0", "1", "2", "3", "7")) == []
    (found,) = judged("HCCN-CONF", "a2", *known, named("0", "3"))
    assert (found.path, found.severity, found.value) == ("n2", "error", "[1, 2]")
    assert rows("HCCN-CONF", "roce", *known, named()) == []  # A3


@pytest.mark.parametrize(
    ("mode", "owner", "readable"),
    [
        ("0004", "root", True),
        ("0400", "root", False),
        ("0040", "root", True),
        ("0400", None, True),
        ("0200", None, False),
    ],
)
def test_who_may_read_hccn_conf(mode, owner, readable):
    user = planned("hccs")["user"]
    access = {"mode": mode, "owner": user if owner is None else owner, "group": "HwHiAiUser"}
    found = rows("HCCN-CONF-ACCESS", "hccs", lambda data: data["n2"]["hccn"].update(hccn_conf_access=access))
    assert found == ([] if readable else [("n2", "warning")])


def test_a_group_that_is_not_known_is_taken_as_that_of_the_file():
    access = {"mode": "0640", "owner": "root", "group": "npus"}
    plants = (lambda data: data["n2"]["hccn"].update(hccn_conf_access=access), kernel("n2", access={}))
    assert rows("HCCN-CONF-ACCESS", "hccs", *plants) == []


# ---- hosts ----


def memory(**values):
    return kernel("n2", memory=values)


def nic(**values):
    return kernel("n2", interfaces={"eth0": {"up": True, "addresses": ["10.0.0.2"], "mtu": 9000, **values}})


def system(**values):
    return lambda data: data["n2"]["host"]["system"].update(values)


def disk(**values):
    return kernel("n2", disks=[{"path": "/opt", "free_mib": 900000, **values}])


def service_of(host, on="hccs"):
    return next(item for item in planned(on)["services"] if item["host"] == host and item["devices"])


HOST = [
    ("HOST-ADDRESS", "hccs", nic(up=False), "error"),
    ("HOST-ADDRESS", "hccs", nic(addresses=["10.0.0.9"]), "error"),
    ("HOST-ADDRESS", "hccs", kernel("n2", interfaces={}), None),
    ("HOST-MACHINE", "hccs", system(machine=""), None),
    ("HOST-MACHINE", "hccs", system(machine=None), None),
    ("HOST-MACHINE", "hccs", system(machine="x86_64"), None),
    ("HOST-MACHINE", "docker", system(machine="riscv64"), "error"),
    ("HOST-PYTHON", "hccs", system(python="3.9.21"), "error"),
    ("HOST-PYTHON", "hccs", system(python="3.10.0"), None),
    ("HOST-PYTHON", "hccs", system(python="3.12.99"), None),
    ("HOST-PYTHON", "hccs", system(python="3.13.0"), "error"),
    ("HOST-PYTHON", "hccs", system(python=""), None),
    ("HOST-PYTHON", "docker", system(python="3.6.8"), None),
    ("HOST-GLIBC", "hccs", system(libc="glibc 2.34"), "error"),
    ("HOST-GLIBC", "hccs", system(libc="glibc 2.35"), None),
    ("HOST-GLIBC", "hccs", system(libc="musl 1.2"), None),
    ("HOST-GLIBC", "hccs", system(libc=None), None),
    ("HOST-GLIBC", "docker", system(libc="glibc 2.17"), None),
    ("CLOCK", "hccs", kernel("n2", clock={"offset": 10.5, "synchronised": True}), None),
    ("CLOCK", "hccs", kernel("n2", clock={"offset": 10.6, "synchronised": True}), "warning"),
    ("CLOCK", "hccs", kernel("n2", clock={"offset": -9.6, "synchronised": True}), "warning"),
    ("CLOCK", "hccs", kernel("n2", clock={"offset": None, "synchronised": True}), None),
    ("CLOCK", "hccs", kernel("n2", clock={"synchronised": None}), None),
    ("CLOCK", "hccs", kernel("n2", clock={"synchronised": False}), "warning"),
    ("LIMIT-NOFILE", "supervisor", kernel("n2", limits={"nofile": 65535}), "error"),
    ("LIMIT-NOFILE", "supervisor", kernel("n2", limits={"nofile": 65536}), None),
    ("LIMIT-NOFILE", "supervisor", kernel("n2", limits={"nofile": None}), None),
    ("LIMIT-NOFILE", "hccs", kernel("n2", limits={"nofile": 1024}), None),
    ("LIMIT-MEMLOCK", "supervisor", kernel("n2", limits={"memlock_bytes": 65536}), "warning"),
    ("LIMIT-MEMLOCK", "supervisor", kernel("n2", limits={"memlock_bytes": 0}, user={"uid": 1}), "error"),
    ("LIMIT-MEMLOCK", "supervisor", kernel("n2", limits={"memlock_bytes": 0}, user={}), "error"),
    ("LIMIT-MEMLOCK", "supervisor", kernel("n2", limits={"memlock_bytes": None}), None),
    ("LIMIT-MEMLOCK", "hccs", kernel("n2", limits={"memlock_bytes": 0}), None),
    ("SYSCTL-MAPS", "supervisor", kernel("n2", sysctl={"vm.max_map_count": 262143}), "warning"),
    ("SYSCTL-MAPS", "supervisor", kernel("n2", sysctl={"vm.max_map_count": 262144}), None),
    ("SYSCTL-MAPS", "supervisor", kernel("n2", sysctl={}), None),
    ("SYSCTL-MAPS", "hccs", kernel("n2", sysctl={"vm.max_map_count": 65530}), None),  # the units' role sets it
    ("SHM-SIZE", "hccs", memory(shm_mib=1023), "warning"),
    ("SHM-SIZE", "hccs", memory(shm_mib=1024), None),
    ("SHM-SIZE", "hccs", memory(shm_mib=0), "warning"),
    ("SHM-SIZE", "hccs", memory(shm_mib=None), None),
    ("SHM-SIZE", "docker", memory(shm_mib=64), None),
    ("PROXY-VARIABLES", "hccs", system(proxy_variables=None), None),
    ("HOSTNAME-LOOPBACK", "hccs", system(hostname_addresses=["127.0.1.1", "10.0.0.2"]), None),
    ("HOSTNAME-LOOPBACK", "hccs", system(hostname_addresses=["127.0.1.1", "127.0.0.1"]), "warning"),
    ("HOSTNAME-LOOPBACK", "hccs", system(hostname_addresses=[]), None),
    ("HOSTNAME-ADDRESS", "hccs", system(hostname_addresses=["10.0.0.2", "10.0.0.3"]), None),
    ("HOSTNAME-ADDRESS", "hccs", system(hostname_addresses=["127.0.1.1"]), None),
    ("HOSTNAME-ADDRESS", "hccs", system(hostname_addresses=["198.51.100.1"]), "warning"),
    ("HOST-MEMORY-LOW", "hccs", memory(memory_available_mib=4 * 2048 - 1), "warning"),
    ("HOST-MEMORY-LOW", "hccs", memory(memory_available_mib=4 * 2048), None),
    ("HOST-MEMORY-LOW", "hccs", memory(memory_available_mib=None), None),
    ("HOST-MTU-DIFFERS", "hccs", nic(mtu=1500), "warning"),
    ("HOST-MTU-DIFFERS", "hccs", nic(mtu=None), None),
    ("HOST-MTU-DIFFERS", "hccs", nic(mtu=1500, addresses=["10.0.0.9"]), None),
    ("NPU-HEALTH", "hccs", lambda data: [die.update(health="Healthy") for die in data["n2"]["npu"]["npus"]], None),
    ("NPU-HEALTH", "hccs", lambda data: [die.update(health="ok") for die in data["n2"]["npu"]["npus"]], None),
]


@pytest.mark.parametrize(("id_", "on", "plant", "severity"), HOST)
def test_a_host(id_, on, plant, severity):
    assert rows(id_, on, plant) == ([("n2", severity)] if severity else [])


@pytest.mark.parametrize(
    ("id_", "values", "severity"),
    [
        ("DISK-FREE", {"free_mib": 10239}, "warning"),
        ("DISK-FREE", {"free_mib": 10240}, None),
        ("DISK-FREE", {"free_mib": 512}, "warning"),
        ("DISK-FREE", {"free_mib": 511}, "error"),
        ("DISK-INODES", {"free_inodes": 199_999}, "warning"),
        ("DISK-INODES", {"free_inodes": 1000}, "warning"),
        ("DISK-INODES", {"free_inodes": 999}, "error"),
        ("DISK-INODES", {"free_inodes": 200_000}, None),
        ("DISK-INODES", {"free_inodes": None}, None),
        ("DISK-MOUNT", {"read_only": True}, "error"),
        ("DISK-MOUNT", {"no_exec": True}, "error"),
        ("DISK-MOUNT", {}, None),
    ],
)
def test_a_disk(id_, values, severity):
    assert rows(id_, "hccs", disk(**values)) == ([("n2 /opt", severity)] if severity else [])
    in_images = severity if values.keys() != {"no_exec"} else None
    assert rows(id_, "docker", disk(**values)) == ([("n2 /opt", in_images)] if in_images else [])


@pytest.mark.parametrize(
    ("version", "severity", "ignored"),
    [
        (0, None, ""),
        (
            219,
            "error",
            "ProtectHostname, RestrictSUIDSGID, ProtectKernelLogs, ProtectClock, ProtectProc, PrivateIPC and Type=exec",
        ),
        (239, "error", "ProtectHostname"),
        (240, "warning", "ProtectHostname"),
        (243, "warning", "ignores ProtectKernelLogs, ProtectClock, ProtectProc, PrivateIPC"),
        (247, "warning", "ignores PrivateIPC"),
        (248, None, ""),
        (254, None, ""),
    ],
)
def test_restrictions_that_an_old_systemd_ignores(version, severity, ignored):
    def plant(data):
        data["n2"]["host"]["system"]["systemd_version"] = version

    found = judged("HOST-SYSTEMD", "hccs", plant)
    assert [(item.path, item.severity) for item in found] == ([("n2", severity)] if severity else [])
    assert all(ignored in item.problem for item in found)
    assert rows("HOST-SYSTEMD", "docker", plant) == rows("HOST-SYSTEMD", "supervisor", plant) == []


def test_the_restrictions_are_those_of_the_units():
    unit = (pathlib.Path(__file__).resolve().parents[4] / "roles/service/templates/systemd/unit.service.j2").read_text()
    assert all(f"\n{name}=" in unit for name in RESTRICTIONS) and "\nType=exec\n" in unit


def socket(port, address="0.0.0.0", **values):
    return kernel(
        "n2", listening=[{"port": port, "address": address, "pid": 7, "command": "nginx", "service": "", **values}]
    )


def test_a_port_is_taken_from_its_first_to_its_last_number_and_where_the_service_binds():
    service = service_of("n2")
    single = next(port for port in service["ports"] if port["count"] == 1)
    several = next(port for port in service["ports"] if port["count"] > 1)
    ends = (several["first"], several["first"] + several["count"] - 1)
    for number in (single["first"], *ends):
        for address in ("0.0.0.0", "::", service["address"]):
            assert rows("PORT-TAKEN", "hccs", socket(number, address)) == [(f"n2 port {number}", "error")]
    assert rows("PORT-TAKEN", "hccs", socket(single["first"], "127.0.0.1")) == []
    assert rows("PORT-TAKEN", "hccs", socket(ends[0], "127.0.0.1")) == [(f"n2 port {ends[0]}", "error")]
    used = {number for port in service["ports"] for number in range(port["first"], port["first"] + port["count"])}
    beside = {number for one in used for number in (one - 1, one + 1)} - used
    assert [number for number in sorted(beside) if rows("PORT-TAKEN", "hccs", socket(number))] == []


def test_a_process_that_nobody_can_see_is_named_as_such():
    api = next(port["first"] for port in service_of("n2")["ports"] if port["name"] == "api")
    (found,) = judged("PORT-TAKEN", "hccs", socket(api, pid=0, command=""))
    assert found.value == "a process visible only to root" and found.severity == "error"
    unseen = {"user": {"uid": 1000, "sees_processes": False}}
    (found,) = judged("PORT-TAKEN", "hccs", socket(api, pid=0, command=""), kernel("n2", **unseen))
    assert found.severity == "remark"
    (found,) = judged("PORT-TAKEN", "hccs", socket(api, pid=3), kernel("n2", **unseen))  # its process is known
    assert found.severity == "error"
    (found,) = judged("PORT-TAKEN", "hccs", socket(api + 1, pid=0), kernel("n2", **unseen)) or [None]
    assert found is None or found.severity == "error"


@pytest.mark.parametrize(
    ("interfaces", "problem"),
    [
        ({"eth1": {"up": True, "addresses": ["10.0.0.2"]}}, "there is no interface eth0; 10.0.0.2 is on eth1"),
        ({"eth1": {"up": True, "addresses": []}}, "there is no interface eth0; 10.0.0.2 is on none"),
        ({"eth0": {"up": True, "addresses": []}}, "no interface has the address 10.0.0.2"),
        (
            {"eth0": {"up": True, "addresses": []}, "b": {"addresses": ["10.0.0.2"]}, "a": {"addresses": ["10.0.0.2"]}},
            "the address 10.0.0.2 is on a, b, not on eth0",
        ),
        ({"eth0": {"up": False, "addresses": ["10.0.0.2"]}}, "the interface eth0 is down"),
    ],
)
def test_the_address_of_a_host_and_its_interface(interfaces, problem):
    assert [item.problem for item in judged("HOST-ADDRESS", "hccs", kernel("n2", interfaces=interfaces))] == [problem]


def test_clocks_are_compared_with_the_one_in_the_middle():
    def offsets(*values):
        return [kernel(name, clock={"offset": value}) for name, value in zip(HOSTS, values, strict=True)]

    assert rows("CLOCK", "hccs", *offsets(0, 30, 31)) == [("n1", "warning")]
    assert rows("CLOCK", "hccs", *offsets(0, 1, 31)) == [("n3", "warning")]
    assert rows("CLOCK", "hccs", *offsets(None, None, 30)) == []
    (found,) = judged("CLOCK", "hccs", *offsets(0, 30, 31))
    assert (found.value, found.problem.split(" from ")[0]) == ("30 s", "the clock differs by about 30 seconds")


def test_one_machine_has_one_id_and_the_same_addresses_except_loopback():
    def like_n2(**values):
        def plant(data):
            for part in ("system", "interfaces"):
                data["n3"]["host"][part] = values.get(part, data["n2"]["host"][part])
            data["n3"]["host"]["interfaces"] = {
                **data["n3"]["host"]["interfaces"],
                "lo": {"addresses": ["127.0.0.3"]},
            }

        return plant

    assert rows("HOST-TWICE", "hccs", like_n2()) == [("n3", "error")]
    assert rows("HOST-TWICE", "hccs", like_n2(interfaces={})) == []
    assert rows("HOST-TWICE", "hccs", like_n2(system={"machine_id": ""})) == []
    assert rows("HOST-TWICE", "hccs", system(machine_id=""), like_n2()) == []
    nothing = kernel("n1", interfaces={})  # an earlier host that cannot be compared does not end the comparison
    assert rows("HOST-TWICE", "hccs", nothing, like_n2()) == [("n3", "error")]


@pytest.mark.parametrize("name", ["", "localhost", "localhost.localdomain"])
def test_a_name_that_every_host_may_have_is_no_clone(name):
    names = [lambda data: [data[host]["host"]["system"].update(hostname=name) for host in HOSTS]]
    assert rows("HOST-CLONED", "hccs", *names) == []

    def twice(data):
        for host in ("n2", "n3"):
            data[host]["host"]["system"].update(hostname="node")

    (found,) = judged("HOST-CLONED", "hccs", *names, twice)
    assert (found.path, found.value, found.problem) == ("n3", "node", "the host name is that of n2: node")


def test_whose_address_the_name_of_a_host_has():
    (found,) = judged("HOSTNAME-ADDRESS", "hccs", system(hostname_addresses=["10.0.0.3", "10.0.0.1"]))
    assert found.problem == "the host's own name resolves to 10.0.0.3, 10.0.0.1, the address of n3, n1"
    (found,) = judged("HOSTNAME-ADDRESS", "hccs", system(hostname_addresses=["10.0.0.99"]))
    assert found.problem.endswith("which no interface of the host has") and found.value == "10.0.0.99"
    unknown = kernel("n2", interfaces=None)
    assert judged("HOSTNAME-ADDRESS", "hccs", unknown, system(hostname_addresses=["10.0.0.99"])) == []


def test_an_engine_that_runs_already_has_its_memory():
    api = next(port["first"] for port in service_of("n2")["ports"] if port["name"] == "api")
    assert rows("HOST-MEMORY-LOW", "hccs", memory(memory_available_mib=9), socket(api)) == []
    assert rows("HOST-MEMORY-LOW", "hccs", memory(memory_available_mib=9), socket(api + 1)) == [("n2", "warning")]


def test_the_store_s_segments_take_at_most_60_percent_and_huge_pages_for_all_of_them():
    store = {"inference_kv_transfer": "mooncake+store", "inference_store": {"segment_size": "4GB"}}
    wanted = plan(inference_link="roce", **store)  # 16384 MiB on each host

    def found(id_, **values):
        data = facts(wanted)
        data["n2"]["host"]["memory"] = values
        return [item.path for item in judge(observed(wanted, data, {}), [BY_ID[id_]], ()) if item.path == "n2"]

    assert found("HOST-MEMORY", memory_available_mib=27306) == ["n2"]  # 60 % are 16383.6
    assert found("HOST-MEMORY", memory_available_mib=27307) == []
    assert found("HOST-MEMORY", memory_available_mib=None) == []
    assert found("HUGEPAGES", hugepages_total=0, hugepage_size_kib=2048) == ["n2"]
    assert found("HUGEPAGES", hugepages_total=8191, hugepage_size_kib=2048) == ["n2"]
    assert found("HUGEPAGES", hugepages_total=8192, hugepage_size_kib=2048) == []
    assert found("HUGEPAGES") == []


def test_one_host_has_no_other_one_whose_clock_could_differ():
    case = observed(planned("hccs"), facts(planned("hccs")), {"left_out": ["n1", "n3"]})
    case.facts["n2"]["host"]["clock"] = {"synchronised": False}
    assert judge(case, [BY_ID["CLOCK"]], ()) == []


def test_a_missing_module_hides_no_module_of_another_device():
    gone = link("n2", 0, optical={"present": False}, link="up")
    dark = link("n2", 1, optical={"present": False}, link="down")
    assert rows("OPTICAL", "roce", link("n1", 0, optical=None), gone, dark) == [(DEVICE, "warning")]


@pytest.mark.parametrize("name", ["mtu", "speed", "fec"])
def test_each_setting_of_a_port_is_compared(name):
    (found,) = judged("RAIL-DIFFERS", "roce", link("n2", 1, **{name: "7"}))
    assert (found.path, found.value) == (DEVICE, "7") and "on most of the 12 devices" in found.problem


def test_every_counter_of_damaged_packets_counts():
    for name in fabric.COUNTERS:
        (found,) = judged("PACKET-ERRORS", "roce", link("n2", 1, stats={name: 2}))
        assert found.value == f"{name} 2" and found.problem == f"damaged packets since the chip started: {name} 2"
    assert len(fabric.COUNTERS) == 5
    (found,) = judged(
        "PACKET-ERRORS", "roce", link("n2", 1, stats={"crc_error_sum": 9}, growth=growth(crc_error_sum=1))
    )
    assert found.problem == "damaged packets in 3 seconds: crc_error_sum 1"


# ---- NPUs ----


def dies(host, **values):
    return lambda data: [die.update(values) for die in data[host]["npu"]["npus"]]


NPUS = [
    ("HBM-USED", {"hbm_used_mib": 6553}, None),
    ("HBM-USED", {"hbm_used_mib": 6554}, "error"),
    ("HBM-USED", {"hbm_used_mib": 9000, "processes": [{"memory_mib": 2447}]}, None),
    ("HBM-USED", {"hbm_used_mib": 9000, "processes": [{"memory_mib": 2446}]}, "error"),
    ("HBM-USED", {"hbm_used_mib": 9000, "processes": [{"memory_mib": None}]}, None),
    ("HBM-USED", {"hbm_used_mib": None}, None),
    ("HBM-USED", {"hbm_used_mib": 9000, "hbm_total_mib": 0}, None),
    ("NPU-TEMPERATURE", {"temperature_celsius": 85}, None),
    ("NPU-TEMPERATURE", {"temperature_celsius": 86}, "warning"),
    ("NPU-TEMPERATURE", {"temperature_celsius": None}, None),
    ("NPU-ECC", {"ecc": {"a_double_bit_error_count": 1}}, "error"),
    ("NPU-ECC", {"ecc": {"a_double_bit_error_count": 1}, "ecc_growth": growth()}, "warning"),
    ("NPU-ECC", {"ecc_growth": growth(a_double_bit_error_count=1)}, "error"),
    ("NPU-ECC", {"ecc": {"a_double_bit_isolated_pages_count": 64}}, None),
    ("NPU-ECC", {"ecc": {"a_double_bit_isolated_pages_count": 65}}, "warning"),
    ("NPU-ECC", {"ecc": {"a_double_bit_error_count": "NA"}}, None),
    ("NPU-ECC-UNKNOWN", {"ecc": {"new_err_count": 1}}, "remark"),
    ("NPU-ECC-UNKNOWN", {"ecc": {"new_err_count": 0}}, None),
    ("NPU-ECC-UNKNOWN", {"ecc": {"new_err_count": "NA"}}, None),
    ("NPU-ECC-UNKNOWN", {"ecc": {"new_fault": 1}}, "remark"),
    ("NPU-ECC-UNKNOWN", {"ecc": {"isolated_rows": 1}}, "remark"),
    ("NPU-ECC-UNKNOWN", {"ecc": {"triple_bits": 1}}, "remark"),
    ("NPU-ECC-UNKNOWN", {"ecc": {"chip_id": 1}}, None),
    ("NPU-ECC-UNKNOWN", {"ecc": {"hbm_single_bit_aggregate_total_err_cnt": 9}}, None),
    ("NPU-HEALTH", {"health": "ok"}, None),
    ("NPU-HEALTH", {"health": "Alarm"}, "error"),
    ("NPU-HEALTH", {"health": ""}, "error"),
    ("NPU-BUSY", {"processes": None}, None),
    ("NPU-BUSY", {"processes": [{"pid": 9}]}, "error"),
    ("NPU-MODEL-DIFFERS", {"hbm_total_mib": None}, None),
    ("NPU-MODEL-DIFFERS", {"name": "Ascend910B"}, "error"),
    ("SDID-ODD", {"sdid": (3 << 22) + 5, "server_index": 3}, None),
    ("SDID-ODD", {"sdid": (3 << 22) + 5, "server_index": 2}, "warning"),
    ("SDID-ODD", {"sdid": (3 << 22) + 5, "server_index": None}, None),
    ("SDID-ODD", {"sdid": 0, "server_index": 0}, None),
    ("SDID-TWICE", {"sdid": 1001, "super_pod_id": 9}, None),
    ("SDID-TWICE", {"sdid": None}, None),
    ("SDID-TWICE", {"sdid": 1001}, "error"),
    ("SUPER-POD", {"super_pod_id": None}, None),
    ("SUPER-POD", {"super_pod_id": 4}, "error"),
]


@pytest.mark.parametrize(("id_", "values", "severity"), NPUS)
def test_an_npu(id_, values, severity):
    assert rows(id_, "hccs", npu("n2", 1, **values)) == ([(DEVICE, severity)] if severity else [])


def test_of_two_devices_with_one_id_the_one_that_contradicts_its_server_is_wrong():
    both = (npu("n1", 1, sdid=7 << 22), npu("n2", 1, sdid=7 << 22))
    for wrong, right in (("n1", "n2"), ("n2", "n1")):
        odd = (npu(wrong, 1, server_index=3), npu(right, 1, server_index=7))
        (found,) = judged("SDID-TWICE", "hccs", *both, *odd)
        assert found.path == f"{wrong} device 1" and found.problem.startswith(f"{right} device 1 has the same")
        assert judged("SDID-ODD", "hccs", *both, *odd) == []
    assert rows("SDID-TWICE", "hccs", *both) == [("n2 device 1", "error")]
    neither = (npu("n1", 1, server_index=3), npu("n2", 1, server_index=3))
    assert rows("SDID-TWICE", "hccs", *both, *neither) == [("n2 device 1", "error")]


def test_a_whole_host_in_another_super_pod_is_one_finding_and_roce_does_not_mind():
    assert rows("SUPER-POD", "hccs", dies("n2", super_pod_id=4)) == [("n2", "error")]
    assert rows("SUPER-POD", "roce", dies("n2", super_pod_id=4)) == []
    some = [npu("n2", die, super_pod_id=4) for die in (0, 2)]
    assert rows("SUPER-POD", "hccs", *some) == [("n2 device 0", "error"), ("n2 device 2", "error")]


# ---- facts that are missing ----

GAPS = [
    (kernel("n2", clock={"epoch": 1.0}), "clock.synchronised"),
    (kernel("n2", clock={"synchronised": False}), ""),
    (memory(shm_mib=1), "memory.memory_available_mib"),
    (memory(memory_available_mib=1), "memory.shm_mib"),
    (kernel("n2", sysctl={"vm.max_map_count": ""}), "sysctl.vm.max_map_count"),
    (system(kernel=""), "system.kernel"),
    (system(machine=None), "system.machine"),
    (kernel("n2", limits=None), "limits"),
    (kernel("n2", listening=[], own_processes=[]), ""),
    (kernel("n2", own_processes=None), "own_processes"),
    (kernel("n2", system=None), "system"),
    (
        kernel("n2", interfaces=None, warnings=["interfaces are unknown: no ip", "other"]),
        "interfaces (interfaces are unknown: no ip)",
    ),
    (kernel("n2", access=None, clock=None), "clock, access"),
]


@pytest.mark.parametrize(("plant", "gaps"), GAPS)
def test_facts_of_a_host_that_rules_need(plant, gaps):
    found = judged("FACTS-MISSING", "hccs", plant)
    assert [item.problem for item in found] == ([f"missing facts of the host: {gaps}"] if gaps else [])


@pytest.mark.parametrize(
    ("on", "values", "rows_"),
    [
        ("roce", {"link": None, "tls_enabled": None}, [("link, tls_enabled", "error")]),
        ("roce", {"tls_enabled": None, "errors": {"tls": "x"}}, []),
        ("roce", {"tls_enabled": None, "errors": {"tls_enabled": "x"}}, []),
        ("roce", {"link": None, "hung": "30 s"}, []),
        ("roce", {"net_health": None}, [("net_health", "warning")]),
        ("roce", {"vnic": None}, []),
        ("roce", {"mtu": None, "optical": None}, [("optical, mtu", "warning")]),
        ("roce", {"mtu": None, "link": "down"}, []),
        ("roce", {"mtu": None, "link": "UP"}, [("mtu", "warning")]),
        ("hccs", {"vnic": None}, [("vnic", "error")]),
        ("hccs", {"tls_enabled": None}, [("tls_enabled", "warning")]),
        ("hccs", {"link": None, "net_health": None, "mtu": None}, []),
    ],
)
def test_facts_of_a_port_that_rules_need(on, values, rows_):
    found = judged("FACTS-MISSING", on, link("n2", 1, **values))
    assert [(item.problem, item.severity) for item in found] == [
        (f"hccn_tool does not report: {names}", severity) for names, severity in rows_
    ]


def test_details_that_hccn_tool_reports_of_no_port_are_not_missed():
    assert judged("FACTS-MISSING", "roce", everywhere(optical=None, stats=None, link_stat=None)) == []

    def without_key(data):  # this version has no such query
        data["n2"]["hccn"]["devices"][1].pop("optical")

    assert judged("FACTS-MISSING", "roce", without_key) == []


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({"hbm_used_mib": None, "temperature_celsius": None}, "HBM, temperature"),
        ({"hbm_used_mib": 0, "temperature_celsius": 0}, ""),
        ({"board": {}}, "firmware"),
        ({"board": {"firmware_version": ""}}, "firmware"),
        ({"ecc": {"hbm_double_bit_error_count": None}}, "memory errors"),
        ({"ecc": {"single_bit_error_count": 1}}, "memory errors"),
    ],
)
def test_measures_of_an_npu_that_rules_need(values, names):
    found = judged("FACTS-MISSING", "hccs", npu("n2", 1, **values))
    assert [(item.path, item.problem, item.severity) for item in found] == (
        [(DEVICE, f"npu-smi does not report: {names}", "warning")] if names else []
    )
    every = judged("FACTS-MISSING", "hccs", *(dies(host, **values) for host in HOSTS))
    assert {item.severity for item in every} == ({"remark"} if names else set())


@pytest.mark.parametrize(
    ("host", "kind", "warning", "severity"),
    [
        ("n2", "npu", "something", "warning"),
        ("n2", "hccn", "something", "warning"),
        ("n2", "host", "something", "warning"),
        ("n2", "npu", "unknown column 'Fan'", "remark"),
        ("n2", "npu", "an unknown column 'Fan'", "warning"),
        ("n2", "hccn", "hccn.conf cannot be read", "warning"),
        ("n2", "npu", "NPU 1 has no card row", None),
        ("n2", "npu", "SDID 3 is odd", None),
        ("n2", "npu", "ecc: NA", None),
        ("n2", "npu", "board: NA", None),
        ("n2", "npu", "unknown health value X", None),
        ("n2", "hccn", "All queries of all devices failed", None),
        ("n2", "host", "interfaces are unknown", None),
        ("n2", "host", "ip -json address failed", None),
    ],
)
def test_a_warning_of_a_tool(host, kind, warning, severity):
    tool = {"npu": "npu-smi", "hccn": "hccn_tool", "host": "host_info"}[kind]
    found = rows("TOOL-WARNING", "hccs", lambda data: data[host][kind].update(warnings=[warning]))
    assert found == ([(f"{host} {tool}", severity)] if severity else [])
    if "hccn.conf" in warning:  # A2 has a finding of its own
        assert rows("TOOL-WARNING", "a2", lambda data: data[host][kind].update(warnings=[warning])) == []


# ---- versions and the model ----


def driver(version):
    return lambda data: data["n2"]["npu"].update(driver_version=version)


def test_a_driver_is_compared_by_its_first_two_numbers_with_what_is_needed_and_recommended():
    wanted = planned("hccs")["release_facts"]
    least, better = (
        tuple(int(part) for part in wanted[key].split(".")[:2] if part.isdigit()) for key in ("driver_minimum", "hdk")
    )

    def severity(numbers):
        found = rows("DRIVER-OLD", "hccs", driver(f"{numbers[0]}.{numbers[1]}.0"))
        return found[0][1] if found else None

    assert severity(better) is None and severity((better[0], better[1] + 1)) is None
    assert severity((better[0] - 1, 99)) == ("warning" if (better[0] - 1, 99) >= least else "error")
    assert severity((least[0] - 1, 99)) == "error"
    assert rows("DRIVER-OLD", "hccs", driver("")) == []
    (found,) = judged("DRIVER-OLD", "hccs", driver("v25"))
    assert found.severity == "warning" and "cannot be compared" in found.problem


@pytest.mark.parametrize(
    ("id_", "on", "plant", "problem"),
    [
        ("DRIVER-DIFFERS", "hccs", driver("26.0"), "driver is 26.0, while 2 hosts have 25.5.1"),
        ("DRIVER-DIFFERS", "hccs", driver(""), None),  # then the installer's file counts
        (
            "FIRMWARE-DIFFERS",
            "hccs",
            npu("n2", 1, board={"firmware_version": "7.9"}),
            "firmware is 7.8.0, 7.9, while 2 hosts have 7.8.0",
        ),
        ("FIRMWARE-DIFFERS", "hccs", npu("n2", 1, board={}), None),
        ("SYSTEM-DIFFERS", "hccs", system(kernel="6.6"), "kernel is 6.6, while 2 hosts have 5.10.0"),
        ("SYSTEM-DIFFERS", "hccs", system(os="Ubuntu 22.04"), None),
        (
            "CANN-DIFFERS",
            "hccs",
            kernel("n2", software={"cann": "8.2"}, later={"cann_method": "none"}),
            "CANN is 8.2, while 2 hosts have 9.1.0",
        ),
        ("CANN-DIFFERS", "hccs", kernel("n2", software={"cann": "8.2"}, later={"cann_method": "run"}), None),
        ("CANN-DIFFERS", "docker", kernel("n2", software={"cann": "8.2"}, later={"cann_method": "none"}), None),
    ],
)
def test_versions_are_those_of_most_hosts(id_, on, plant, problem):
    found = judged(id_, on, plant)
    assert [(item.path, item.problem, item.severity) for item in found] == (
        [("n2", problem, "warning")] if problem else []
    )


def test_firmware_of_boards_is_never_compared_with_that_of_files():
    no_boards = [dies(host, board={}) for host in HOSTS]
    assert rows("FIRMWARE-DIFFERS", "hccs", *no_boards, kernel("n2", software={"firmware": "7.7"})) == [
        ("n2", "warning")
    ]
    assert rows("FIRMWARE-DIFFERS", "hccs", *no_boards[:2], kernel("n2", software={"firmware": "7.7"})) == []


AWQ = "/models/ds/config.json has quant_method awq; release 0.23.0 supports ascend, compressed-tensors, deepseek_v4_fp8, fp8"
LACKS = "/models/ds/config.json has the architecture"
NEWER = ", which release 0.23.0 does not have; releases from 0.30.0rc1 on have it"
UNKNOWN = ", which release 0.23.0 does not have, nor has another one that is known here"
MODELS = [
    ("MODEL-MISSING", {"exists": False, "config_error": "x"}, "n2", "the model's folder /models/ds does not exist"),
    ("MODEL-MISSING", {"config_error": "is no JSON"}, "n2", "/models/ds/config.json is no JSON"),
    ("MODEL-MISSING", {"path": "/models/other", "exists": False}, None, ""),
    ("MODEL-MISSING", {"path": "/models/ds/", "exists": False}, "n2", "the model's folder /models/ds/ does not exist"),
    ("MODEL-INCOMPLETE", {"missing": ["a", "b", "c"]}, "n2", "missing in /models/ds: a, b, c"),
    ("MODEL-INCOMPLETE", {"missing": ["a", "b", "c", "d"]}, "n2", "missing in /models/ds: a, b, c and 1 more"),
    ("MODEL-INCOMPLETE", {"missing": ["a"], "config_error": "x"}, None, ""),
    ("MODEL-INCOMPLETE", {"missing": ["a"], "exists": False}, None, ""),
    ("MODEL-DAMAGED", {"damaged": ["a", "b", "c"]}, "n2", "in /models/ds, a; b; c"),
    ("MODEL-DAMAGED", {"damaged": ["a", "b", "c", "d", "e"]}, "n2", "in /models/ds, a; b; c, and 2 more files"),
    ("MODEL-TOKENIZER", {"tokenizer": None}, None, ""),
    ("MODEL-TOKENIZER", {"tokenizer": False, "exists": False}, None, ""),
    ("MODEL-CHAT-TEMPLATE", {"chat_template": None}, None, ""),
    ("MODEL-CHAT-TEMPLATE", {"chat_template": False, "exists": False}, None, ""),
    ("MODEL-QUANTIZED", {"quantized": True, "exists": False}, None, ""),
    ("MODEL-QUANTIZED", {"quantized": True}, "n2 decode-0", "the model is quantized, but the engine has no --quantization"),
    ("MODEL-FORMAT", {"config": {"quantization_config": {"quant_method": "compressed-tensors"}}}, None, ""),
    ("MODEL-FORMAT", {"config": {"quantization_config": "awq"}}, None, ""),
    ("MODEL-FORMAT", {"config": {"quantization_config": {"quant_method": "awq"}}}, "n2", AWQ),
    ("MODEL-ARCHITECTURE", {"config": {"architectures": ["Qwen3MoeForCausalLM"]}}, None, ""),
    ("MODEL-ARCHITECTURE", {"config": {"architectures": "x"}}, None, ""),
    ("MODEL-ARCHITECTURE", {"config": {"architectures": ["Glm5DSparkForCausalLM"]}}, "n2", f"{LACKS} Glm5DSparkForCausalLM{NEWER}"),
    ("MODEL-ARCHITECTURE", {"config": {"architectures": ["OwnForCausalLM"]}}, "n2", f"{LACKS} OwnForCausalLM{UNKNOWN}"),
    ("MODEL-DTYPE", {"quantized": False, "config": {"torch_dtype": "float16"}}, None, ""),
    ("MODEL-DTYPE", {"quantized": True, "config": {"torch_dtype": "bfloat16"}}, None, ""),
    ("MODEL-DTYPE", {"quantized": True, "config": {"dtype": "float16"}}, "n2", "/models/ds/config.json has torch_dtype float16 for a quantized model"),
    (
        "MODEL-DIFFERS",
        {"fingerprint": "x" * 20, "files": 3, "size_mib": 9},
        "n2",
        "the model in /models/ds (3 files, 9 MiB) differs from the one on 2 other hosts (n1: 0 files, 0 MiB)",
    ),
    ("MODEL-DIFFERS", {"fingerprint": "x", "exists": False}, None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("id_", "values", "path", "problem"), MODELS)
def test_a_model_on_a_host(id_, values, path, problem):
    found = judged(id_, "hccs", lambda data: data["n2"]["host"]["models"][0].update(values))
    assert [(item.path, item.problem) for item in found] == ([(path, problem)] if path else [])
    assert all(len(item.value) <= 12 for item in found if id_ == "MODEL-DIFFERS")


CONFIG, WRITTEN = (
    "/models/ds/config.json has torch_dtype float16 for a quantized model",
    "--dtype is {} for a quantized model",
)


@pytest.mark.parametrize(
    ("config", "first", "second", "found"),
    [
        ("float16", "bfloat16", "bfloat16", []),
        ("float16", "", "bfloat16", [("n2", CONFIG)]),
        ("float16", "bfloat16", "auto", [("n2", CONFIG)]),
        ("float16", "float16", "half", [("n2 decode-0", WRITTEN.format("float16")), ("n2 decode-9", WRITTEN.format("half"))]),
        ("bfloat16", "auto", "float16", [("n2 decode-9", WRITTEN.format("float16"))]),
        ("bfloat16", "", "auto", []),
    ],
)  # fmt: skip
def test_each_engine_of_a_host_needs_a_type_that_quantized_kernels_support(config, first, second, found):
    """By its value; the type of one engine was taken for that of all, and any type for the right one."""
    options = (["--dtype", value] if value else [] for value in (first, second))
    judgement = of_two_engines("MODEL-DTYPE", {"quantized": True, "config": {"torch_dtype": config}}, *options)
    assert [(item.path, item.problem) for item in judgement] == found


def of_two_engines(id_, model, first, second):
    """Findings of the rule for a host with this model, and two engines with these further options."""
    wanted = plan()
    (engine,) = [service for service in wanted["services"] if service["host"] == "n2" and service["kind"] == "decode"]
    wanted["services"].append({**engine, "name": "decode-9", "argv": [*engine["argv"], *second]})
    engine["argv"] = [*engine["argv"], *first]
    data = facts(wanted)
    data["n2"]["host"]["models"][0].update(model)
    return judge(observed(wanted, data, {}), [BY_ID[id_]], ())


@pytest.mark.parametrize(
    ("id_", "values", "flag"),
    [
        ("MODEL-TOKENIZER", {"tokenizer": False}, "--tokenizer"),
        ("MODEL-CHAT-TEMPLATE", {"chat_template": False}, "--chat-template"),
    ],
)
def test_what_one_engine_of_a_host_has_elsewhere_another_one_still_needs(id_, values, flag):
    there = [flag, "/models/other"]
    assert [item.path for item in of_two_engines(id_, values, there, [])] == ["n2"]
    assert of_two_engines(id_, values, there, there) == []


@pytest.mark.parametrize(
    "id_, values",
    [
        ("MODEL-MISSING", {"exists": False}),
        ("MODEL-INCOMPLETE", {"missing": ["a"]}),
        ("MODEL-DAMAGED", {"damaged": ["a"]}),
        ("MODEL-TOKENIZER", {"tokenizer": False}),
        ("MODEL-CHAT-TEMPLATE", {"chat_template": False}),
    ],
)
def test_what_is_copied_after_the_check_is_not_missed(id_, values):
    wanted = plan()
    wanted["model"]["source"] = "copy"
    data = facts(wanted)
    data["n2"]["host"]["models"][0].update(values)
    assert judge(observed(wanted, data, {}), [BY_ID[id_]], ()) == []
