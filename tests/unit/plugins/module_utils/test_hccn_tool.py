# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""hccn_tool's answers and hccn.conf. The texts have the shape of published ones, with values of their own."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.hccn import (
    conf,
    gather,
    growth,
    measures,
    ping,
    report,
)
from ansible_collections.ascend.inference.plugins.module_utils.hccn import settings as tool
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import Output
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import ParseError

LLDP = (
    "Chassis ID TLV\n\tMAC: 02:00:5e:10:00:01\nPort ID TLV\n\tIfname: 200GE2/0/7:2\nTime to Live TLV\n\t120\nSystem Name TLV\n\tspine-3\n"
    "System Description TLV\n\tSome Platform\nVersion 9 (X100 V1)\n\nSome Vendor\n\nEnd of LLDPDU TLV\n"
)
TLS = (
    "dev_id:4, tls switch[1](0:disable, 1:enable), tls preconfigured[0](0:non-preset, 1:preset), tls alarm time threshold[30]days\n"
    "dev_id:4, [pub cert] info:\n\t subject[/C=XX/CN=a.example]\n\t issuer[/C=XX/CN=Example CA]\n"
    "\t start_time[Mon Jan  5 00:00:00 2026 GMT]\n\t end_time[Tue Jan  5 00:00:00 2027 GMT]\n"
    "\t tls expiration status[1](0:normal, 1:near expiration, 2:has expired)\n"
)
OPTICAL = (
    "optical info:\npresent              : present\ntemperature          : 51 C\nvendor name          : Example\n"
    "Vcc                  : 3301.20 mV\nTx Power0            : 1.2500 mW\nHost SNR Lane0       : not supported\n"
)
ROUTES = (
    "Routing table:\nDestination     Gateway         Genmask         Flags Metric Ref    Use Iface\n"
    "default         10.9.0.1        0.0.0.0         UG    0      0        0 eth5\n"
    "10.9.0.0        *               255.255.240.0   U     0      0        0 eth5\n"
)
LINKS = (
    "[devid 2]current time        : Tue Mar  3 10:11:12 2026\n[devid 2]link up count       : 3\n[devid 2]link down count     : 2\n"
    "[devid 2]link change records :\n[devid 2]    Mon Mar  2 01:02:03 2026    LINK DOWN\n[devid 2]    Mon Mar  2 01:02:09 2026    LINK UP\n"
)
PING = "device 5 PING 10.9.0.77\nrecv seq=0,time=0.911000ms\nrecv seq=2,time=0.041000ms\n3 packets transmitted, 2 received, 33.33% packet loss\n"
HCCS = (
    "device 1 PING 192.168.2.40\n\nThis pkt ping success!\nrecv seq 0, time = 18.250us, L1 plane check result = 0x0\n\n"
    "This pkt ping success!\nrecv seq 1, time = 21.500us, L1 plane check result = 0x3\n\n"
    "2 packets transmitted, 2 received, 0.00% packets loss\nmax time 21.500us\nmin time 18.250us\naverage time 19.875us\nTP95 time 21.500us\n"
)

ANSWERS = {
    "link": (tool.parse_link, "link status: DOWN\n", "down"),
    "net_health, master": (tool.parse_net_health, "net health status: Socket fail\n", "socket_fail"),
    "net_health, shipped": (tool.parse_net_health, "net health status: Detect ip set\r\n", "detect_ip_set"),
    "netdetect, 25.x": (tool.parse_netdetect, "netdetect address: 10.9.0.1\n", "10.9.0.1"),
    "netdetect, master, unset": (tool.parse_netdetect, "netdetect addr: 0.0.0.0\n", None),
    "gateway": (tool.parse_gateway, "default gateway:10.9.0.1, Iface:eth5\n", "10.9.0.1"),
    "ip": (
        tool.parse_ip,
        "ipaddr:10.9.3.4\nnetmask:255.255.240.0\n",
        [{"address": "10.9.3.4", "netmask": "255.255.240.0"}],
    ),
    "ip of a bond": (
        tool.parse_ip,
        "ipaddr:10.9.3.4\nnetmask:255.255.240.0\nipaddr:10.9.3.5\nnetmask:255.255.240.0\n",
        [{"address": "10.9.3.4", "netmask": "255.255.240.0"}, {"address": "10.9.3.5", "netmask": "255.255.240.0"}],
    ),
    "ip of a port with two links": (
        tool.parse_ip,
        "ipaddr:10.9.3.4\nnetmask:255.255.240.0\nipaddr:10.9.3.4\nnetmask:255.255.240.0\n",
        [{"address": "10.9.3.4", "netmask": "255.255.240.0"}],
    ),
    "vnic, tabs": (
        tool.parse_vnic,
        "\tvnic link status:\tDOWN\n\tvnic ipaddr:\t192.168.2.190\n\tvnic netmask:\t255.255.255.0\n",
        {"link": "down", "address": "192.168.2.190", "netmask": "255.255.255.0"},
    ),
    "lldp with empty lines": (
        tool.parse_lldp,
        LLDP,
        {"port": "200GE2/0/7:2", "port_type": "ifname", "system_name": "spine-3"},
    ),
    "lldp of another switch": (
        tool.parse_lldp,
        "Port ID TLV\n        Local: 17\nEnd of LLDPDU TLV\n",
        {"port": "17", "port_type": "local", "system_name": None},
    ),
    "lldp of a switch that gives an address": (
        tool.parse_lldp,
        "Chassis ID TLV\n\tMAC: 02:00:5e:00:00:09\nPort ID TLV\n\tIPv4: 10.9.200.7\nEnd of LLDPDU TLV\n",
        {"port": "10.9.200.7", "port_type": "ipv4", "system_name": None},
    ),
    "tls, 24.x": (
        tool.parse_tls,
        TLS,
        {
            "enabled": True,
            "alarm_days": 30,
            "certificates": [
                {
                    "name": "pub cert",
                    "subject": "/C=XX/CN=a.example",
                    "issuer": "/C=XX/CN=Example CA",
                    "not_before": "Mon Jan  5 00:00:00 2026 GMT",
                    "not_after": "Tue Jan  5 00:00:00 2027 GMT",
                    "expiration": "near_expiration",
                }
            ],
        },
    ),
    "tls, old": (
        tool.parse_tls,
        "dev_id:0, tls switch[0](0:disable, 1:enable), tls alarm time threshold[60]days\n",
        {"enabled": False, "alarm_days": 60, "certificates": []},
    ),
    "mac": (tool.parse_mac, "mac addr: 02:00:5E:aa:00:01\n", "02:00:5e:aa:00:01"),
    "mtu": (tool.parse_mtu, "mtu:4200\n", 4200),
    "speed": (tool.parse_speed, "Speed: 200000 Mb/s\n", 200000),
    "fec": (tool.parse_fec, "fec mode: rs FEC mode\n", "rs"),
    "fec, none": (tool.parse_fec, "fec mode: no FEC mode\n", "none"),
    "speed, link down": (tool.parse_speed, "Speed: Unknown!\n", None),
    "route": (
        tool.parse_route,
        ROUTES,
        [
            {"destination": "0.0.0.0", "gateway": "10.9.0.1", "netmask": "0.0.0.0", "flags": "UG", "interface": "eth5"},
            {"destination": "10.9.0.0", "gateway": None, "netmask": "255.255.240.0", "flags": "U", "interface": "eth5"},
        ],
    ),
    "arp": (
        tool.parse_arp,
        "arp table:\n? (10.9.0.1) at 02:00:5e:00:00:01 on eth5\n",
        ["? (10.9.0.1) at 02:00:5e:00:00:01 on eth5"],
    ),
    "set": (tool.expect_success, "Are you sure?(y/n)\nCmd executed successfully!\n", True),
    "optical": (
        measures.parse_optical,
        OPTICAL,
        {
            "present": True,
            "temperature_celsius": 51,
            "vendor_name": "Example",
            "vcc_millivolts": 3301.2,
            "tx_power0_milliwatts": 1.25,
            "host_snr_lane0": None,
        },
    ),
    "link_stat, newer": (
        measures.parse_link_stat,
        LINKS,
        {
            "current_time": "Tue Mar  3 10:11:12 2026",
            "link_up_count": 3,
            "link_down_count": 2,
            "records": [
                {"time": "Mon Mar  2 01:02:03 2026", "link": "down"},
                {"time": "Mon Mar  2 01:02:09 2026", "link": "up"},
            ],
        },
    ),
    "link_stat, older": (
        measures.parse_link_stat,
        "[device 7]current time        : Tue Mar  3 10:11:12 2026\n[device 7]link up count       : 0\n[device 7]link change records :\n",
        {"current_time": "Tue Mar  3 10:11:12 2026", "link_up_count": 0, "link_down_count": None, "records": []},
    ),
    "stat": (
        measures.parse_stat,
        "packet statistics:\nmac_rx_bad:0\n...\nnic_tx_all:5512\n",
        {"mac_rx_bad": 0, "nic_tx_all": 5512},
    ),
    "ping with a loss": (
        measures.parse_ping,
        PING,
        {
            "device_id": 5,
            "target": "10.9.0.77",
            "transmitted": 3,
            "received": 2,
            "loss_percent": 33.33,
            "times_ms": [0.911, 0.041],
            "plane_errors": [],
        },
    ),
    "hccs_ping with a plane error": (
        measures.parse_hccs_ping,
        HCCS,
        {
            "device_id": 1,
            "target": "192.168.2.40",
            "transmitted": 2,
            "received": 2,
            "loss_percent": 0.0,
            "times_ms": [0.01825, 0.0215],
            "plane_errors": ["0x3"],
        },
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answer(name):
    parse, text, expected = ANSWERS[name]
    assert parse(text) == expected


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize(
    "text", ["", "\n", "Command execute failed!\n", "hccn_tool is busy, please try again.\n", "| a | b |\n"]
)
def test_what_is_not_an_answer_is_an_error(name, text):
    with pytest.raises(ParseError):
        ANSWERS[name][0](text)


BAD = {
    "two links": (tool.parse_link, "link status: UP\nlink status: UP\n"),
    "odd link": (tool.parse_link, "link status: UPDOWN\n"),
    "odd health": (tool.parse_net_health, "net health status: Succes\n"),
    "address of four numbers": (tool.parse_netdetect, "netdetect address: 10.9.0.256\n"),
    "ip without netmask": (tool.parse_ip, "ipaddr:10.9.3.4\n"),
    "holes in the netmask": (tool.parse_ip, "ipaddr:10.9.3.4\nnetmask:255.0.255.0\n"),
    "host mask": (tool.parse_ip, "ipaddr:10.9.3.4\nnetmask:0.0.0.255\n"),
    "vnic twice": (tool.parse_vnic, "vnic link status: UP\nvnic ipaddr: 1.2.3.4\nvnic ipaddr: 1.2.3.5\n"),
    "lldp without port": (tool.parse_lldp, "Chassis ID TLV\n\tMAC: 02:00:5e:10:00:01\nEnd of LLDPDU TLV\n"),
    "two ports": (tool.parse_lldp, "\tIfname: 200GE2/0/7:1\n\tIfname: 200GE2/0/7:2\n"),
    "two devices' tls": (tool.parse_tls, TLS + TLS.replace("dev_id:4", "dev_id:5")),
    "tls switch neither on nor off": (tool.parse_tls, TLS.replace("switch[1]", "switch[7]")),
    "stray certificate": (tool.parse_tls, TLS.replace("dev_id:4, [pub", "dev_id:3, [pub")),
    "mtu 0": (tool.parse_mtu, "mtu:0\n"),
    "route with a column too few": (tool.parse_route, ROUTES.replace("UG    0", "UG")),
    "optical without present": (measures.parse_optical, OPTICAL.replace("present  ", "absent   ", 1)),
    "lost decimal point": (measures.parse_optical, OPTICAL.replace("3301.20", "330120")),
    "counter twice": (measures.parse_stat, "packet statistics:\na_b:1\na_b:2\n"),
    "counts that contradict each other": (measures.parse_ping, PING.replace("33.33%", "0.00%")),
    "more received than sent": (measures.parse_ping, PING.replace("2 received", "4 received")),
    "fewer replies than counted": (measures.parse_ping, PING.replace("recv seq=2,time=0.041000ms\n", "")),
    "reply without decimal point": (measures.parse_ping, PING.replace("0.911000", "0911000")),
    "no summary": (measures.parse_hccs_ping, HCCS.partition("2 packets")[0]),
    "two pings": (measures.parse_hccs_ping, HCCS + HCCS),
}


@pytest.mark.parametrize("name", BAD)
def test_damage_is_an_error(name):
    parse, text = BAD[name]
    with pytest.raises(ParseError):
        parse(text)


def test_tls_of_the_device_asked_for():
    both = TLS + TLS.replace("dev_id:4", "dev_id:5").replace("switch[1]", "switch[0]")
    assert tool.parse_tls(both, 5)["enabled"] is False and tool.parse_tls(both, 4)["enabled"] is True
    with pytest.raises(ParseError, match="device 6"):
        tool.parse_tls(both, 6)


def test_hccn_conf():
    text = (
        "# a comment\naddress_0=10.9.3.4\nnetmask_0=255.255.240.0\naddress_12=10.9.3.5\ntls_enable_0=1\nIPv6gateway_0=fe80::1\n"
        "route_address_172.16.0.0_netmask_255.255.0.0_0=gateway_10.9.0.9\narp_0=-i eth0 -s 10.9.0.1 02:00:5e:00:00:01\n"
        "address_0=10.9.3.9\nnonsense\n"
    )
    devices, complaints = conf.parse_hccn_conf(text)
    assert devices == {
        0: {
            "address": "10.9.3.4",
            "netmask": "255.255.240.0",
            "tls_enable": "1",
            "IPv6gateway": "fe80::1",
            "routes": [{"address": "172.16.0.0", "netmask": "255.255.0.0", "gateway": "10.9.0.9"}],
            "arp": ["-i eth0 -s 10.9.0.1 02:00:5e:00:00:01"],
        },
        12: {"address": "10.9.3.5"},
    }
    assert len(complaints) == 2 and "set twice" in complaints[0] and "nonsense" in complaints[1]


def test_stale_addresses():
    filed = {0: {"address": "10.9.3.4"}, 1: {"address": "10.9.3.5"}}
    live = {0: "10.9.3.4", 1: "10.9.3.6", 2: None}
    assert [entry["device_id"] for entry in conf.stale_addresses(live, filed)] == [1]
    assert [entry["device_id"] for entry in conf.stale_addresses(live, None, {0: "10.9.3.7"})] == [0]
    assert conf.stale_addresses(live, None) == []


def raw(**more):
    return {"transmitted": 4, "received": 4, "times": [0.1, 0.3], "plane_errors": [], "message": None, **more}


@pytest.mark.parametrize(
    ("found", "max_loss", "max_time", "reason"),
    [
        (raw(), 0, None, None),
        (raw(), 0, 0.2, None),
        (raw(), 0, 0.19, "the average time is 0.2 ms (allowed: 0.19 ms)"),
        (raw(received=3), 25, None, None),
        (raw(received=3), 24.9, None, "25 % of 4 packets lost (allowed: 24.9 %)"),
        (raw(received=0), 100, 1.0, "the average time is None ms (allowed: 1 ms)"),
        (raw(times=[]), 0, None, None),
        (raw(plane_errors=["0x3", "0x1", "0x3"]), 0, 0.1, "the L1 plane check reports 0x1, 0x3"),
        (raw(transmitted=0, received=0, message="no answer"), 0, 1.0, "no answer"),
    ],
)
def test_a_ping_is_judged_by_loss_then_planes_then_time(found, max_loss, max_time, reason):
    judged = ping._judge(found, max_loss, max_time)
    assert (judged["reason"], judged["reachable"]) == (reason, reason is None)
    times = found["times"] if found["received"] else []
    assert (judged["min_ms"], judged["max_ms"]) == ((0.1, 0.3) if times else (None, None))
    assert judged["average_ms"] == (0.2 if times else None)
    assert judged["loss_percent"] == (100 - 25.0 * found["received"] if found["transmitted"] else None)
    assert (judged["transmitted"], judged["received"]) == (found["transmitted"], found["received"])
    assert judged["plane_errors"] == found["plane_errors"]


def test_a_ping_is_repeated_until_there_are_enough_packets():
    asked = []

    def tool(args):
        asked.append(args)
        return Output(["hccn_tool"], 0, PING if args[2] == "-ping" else HCCS, "", False)

    peer = {"address": "10.9.0.77"}
    for count, calls in ((1, 1), (3, 1), (4, 2), (6, 2), (7, 3)):
        del asked[:]
        found = ping._ping(tool, 5, peer, "roce", count)
        assert asked == [["-i", "5", "-ping", "-g", "address", "10.9.0.77"]] * calls
        assert (found["transmitted"], found["received"], len(found["times"])) == (3 * calls, 2 * calls, 2 * calls)
    del asked[:]
    found = ping._ping(tool, 1, {"address": "192.168.2.40"}, "hccs", 9)
    assert asked == [["-i", "1", "-hccs_ping", "-g", "address", "192.168.2.40", "cnt", "9"]]
    assert (found["plane_errors"], found["message"], found["timed_out"]) == (["0x3"], None, False)
    for device, other in ((4, peer), (5, {"address": "10.9.0.7"})):
        assert "the output is not for device" in ping._ping(tool, device, other, "roce", 9)["message"]


def test_a_device_is_given_up_after_two_timeouts_in_a_row():
    """A third ping costs a whole timeout more; one that is answered between says that the chip is there."""

    def tool(args):
        silent = args[5] in ("10.0.0.1", "10.0.0.3", "10.0.0.4")
        text = "" if silent else PING.replace("device 5", "device " + args[1]).replace("10.9.0.77", args[5])
        return Output(["hccn_tool"], 0, text, "", silent)

    peers = [{"address": f"10.0.0.{number}"} for number in (1, 2, 3, 4, 5)]
    todo = ping.pairs([7, 5], [*peers, {"sdid": 9, "devices": []}, {"address": "10.0.0.6", "devices": [2]}])
    found = ping.ping_all(tool, todo, "roce", 1, 2, 50, None)
    assert list(found["matrix"]) == ["2", "5", "7"] and list(found["matrix"]["2"]) == ["10.0.0.6"]
    assert list(found["matrix"]["5"]) == [peer["address"] for peer in peers[:4]]
    assert found["given_up"] == [{"device_id": device, "pinged": 4, "planned": 5} for device in (5, 7)]
    assert [(item["device_id"], item["address"]) for item in found["unreachable"]] == [
        (device, f"10.0.0.{number}") for device in (5, 7) for number in (1, 3, 4)
    ]
    assert "exceeded the timeout" in found["unreachable"][0]["reason"] and found["unreachable"][0]["sdid"] is None
    assert ping.ping_all(tool, [], "roce", 1, 0, 0, None) == {"matrix": {}, "unreachable": [], "given_up": []}


@pytest.mark.parametrize(
    ("kind", "peers", "wrong"),
    [
        ("roce", [{"address": "10.0.0.1"}, {"address": "fe80::1"}], []),
        ("hccs", [{"sdid": 0}, {"sdid": 1}], []),
        ("roce", [{"sdid": 0}], ["peers[0]: specify address"]),
        ("hccs", [{"address": ""}], ["peers[0]: specify address or sdid"]),
        ("hccs", [{"sdid": 1}, {"address": "x"}], ["peers[1].address: 'x' is not an IP address"]),
        ("hccs", [{"sdid": 2}, {"sdid": 1}, {"sdid": 2}], ["peers: 2 is listed twice"]),
    ],
)
def test_what_is_wrong_with_peers(kind, peers, wrong):
    assert ping.peer_errors(peers, kind) == wrong


def answering(*outputs):
    """A tool that answers with these outputs in turn, and the pauses between."""
    left, pauses = list(outputs), []
    return gather.RetryingTool(lambda args, stdin: left.pop(0), pauses.append), left, pauses


BUSY = Output(["hccn_tool"], 1, "hccn_tool is busy, please try again.\n", "", False)
FAILED = Output(["hccn_tool"], 1, "Command execute failed!\n", "", False)
UP = Output(["hccn_tool"], 0, "link status: UP\n", "", False)


@pytest.mark.parametrize(
    ("outputs", "hides", "last", "calls"),
    [
        ([BUSY] * 9 + [UP], False, UP, 10),
        ([BUSY] * 11, False, BUSY, 10),
        ([FAILED, UP], False, FAILED, 1),
        ([FAILED, FAILED, UP], True, UP, 3),
        ([FAILED] * 4, True, FAILED, 3),
    ],
)
def test_a_busy_tool_is_asked_again(outputs, hides, last, calls):
    tool, left, pauses = answering(*outputs)
    assert tool([], None, hides) == last and len(outputs) - len(left) == calls == len(pauses) + 1
    assert not tool.serial  # nobody else called, so it is another program
    for number, pause in enumerate(pauses):
        longest = min(2.0, 0.05 * 2**number)
        assert 0.5 * longest <= pause <= 1.5 * longest


def test_after_a_timeout_the_other_queries_of_the_device_are_skipped():
    hung = Output(["hccn_tool"], 124, "", "", True)
    answers = {"-link": UP, "-ip": hung, "-mtu": UP}
    found = gather.read_devices(lambda args, stdin: answers[args[2]], [3], ["link", "ip", "mtu"], 0)[3]
    assert found["values"] == {"link": "up", "ip": None, "mtu": None}
    assert found["hung"] == found["errors"]["ip"] and "exceeded the timeout" in found["hung"]
    assert found["errors"]["mtu"] == "skipped: the previous query of device 3 exceeded the timeout"
    answers["-ip"] = UP  # an answer, but to another question
    found = gather.read_devices(lambda args, stdin: answers[args[2]], [3], ["ip", "link"], 1)[3]
    assert (found["hung"], list(found["errors"]), found["values"]["link"]) == (None, ["ip"], "up")


@pytest.mark.parametrize(
    ("link", "found"),
    [
        ({}, {}),
        ({"stats": None, "link_stat": None}, {}),
        ({"link_stat": {"link_down_count": None}}, {}),
        ({"link_stat": {"link_down_count": 2}, "stats": {"mac_rx_bad": 0, "nic_tx_all": 9}}, {"link_downs": 2}),
        ({"stats": {name: 1 for name in ["a_err", "crc_x", "fcs", "bad", "drop", "discard", "retry", "out_of_order", "ok"]}},
         {name: 1 for name in ["a_err", "crc_x", "fcs", "bad", "drop", "discard", "retry", "out_of_order"]}),
    ],
)  # fmt: skip
def test_counters_that_are_errors(link, found):
    assert growth.error_counters(link) == found


def test_only_error_counters_that_grew_are_named(monkeypatch):
    def record(device, **counters):
        return {"device_id": device, "stats": counters}

    links = [
        record(4, err_a=1, err_b=5),
        record(1, err_a=2, ok=7),
        record(2, err_a=0),
        dict(record(3, err_a=1), hung="x"),
        record(0, err_a=1),
    ]
    second = {
        1: {"values": {"stats": {"err_a": 2}}, "errors": {}, "hung": None},
        4: {"values": {"stats": {"err_a": 4, "err_b": 4, "err_c": 9}}, "errors": {}, "hung": None},
        0: {"values": {"stats": None}, "errors": {"stats": "silent"}, "hung": "silent"},
    }
    asked, slept = [], []

    def read(tool, devices, queries, workers):
        asked.append((devices, queries, workers))
        return second

    monkeypatch.setattr(growth, "read_devices", read)
    monkeypatch.setattr(growth.time, "monotonic", lambda: 103.04)
    growth.read_growth(None, links, 5, 8, 100, slept.append)
    assert asked == [([0, 1, 4], ("stats", "link_stat"), 8)] and [round(pause, 2) for pause in slept] == [1.96]
    assert links[0]["growth"] == {"seconds": 3.0, "counters": {"err_a": 3, "err_c": 9}}
    assert links[1]["growth"] == {"seconds": 3.0, "counters": {}}
    assert "growth" not in links[2] and "growth" not in links[3] and "growth" not in links[4]
    assert (links[4]["errors"], links[4]["hung"], "hung" in links[1]) == ({"stats": "silent"}, "silent", False)
    growth.read_growth(None, links[2:4], 5, 8, 100, slept.append)  # nothing to read again
    growth.read_growth(None, links[1:2], 1, 8, 100, slept.append)  # late already
    assert len(asked) == 2 and slept[1:] == [0.0]


@pytest.mark.parametrize(
    ("live", "filed", "expected", "stale"),
    [
        ({0: None}, {}, None, []),
        ({0: None}, {0: {"address": "a"}}, None, [(0, None, "a", None)]),
        ({0: "a"}, {}, None, [(0, "a", None, None)]),
        ({0: "a"}, {0: {"address": "a"}}, {0: "a", 1: "b"}, []),
        ({1: "b", 0: "a"}, {0: {}, 1: {}}, {1: "c"}, [(0, "a", None, None), (1, "b", None, "c")]),
        ({0: "a"}, None, {0: "b"}, [(0, "a", None, "b")]),
    ],
)
def test_which_addresses_are_stale(live, filed, expected, stale):
    found = conf.stale_addresses(live, filed, expected)
    assert [(item["device_id"], item["live"], item["file"], item["expected"]) for item in found] == stale


@pytest.mark.parametrize(
    ("line", "devices", "problems"),
    [
        ("# address_0=1", {}, 0),
        (" # address_0=1", {}, 1),
        ("address_0=1 \naddress_0=1", {0: {"address": "1"}}, 0),
        ("address_99=", {99: {"address": ""}}, 0),
        ("address_100=1", {}, 1),
        ("address_01=1", {}, 1),
        (
            "route_address_1.0.0.0_netmask_255.0.0.0_3=10.0.0.1",
            {3: {"routes": [{"address": "1.0.0.0", "netmask": "255.0.0.0", "gateway": "10.0.0.1"}]}},
            0,
        ),
        (
            "ip_rule_0=a\nip_rule_0=b\nip_route_0=c\nIPv6neigh_0=d",
            {0: {"ip_rule": ["a", "b"], "ip_route": ["c"], "IPv6neigh": ["d"]}},
            0,
        ),
    ],
)
def test_a_line_of_hccn_conf(line, devices, problems):
    found = conf.parse_hccn_conf(line)
    assert (found[0], len(found[1])) == (devices, problems)


def test_who_may_read_the_file(tmp_path):
    path = tmp_path / "hccn.conf"
    assert conf.read_access(str(path)) == {}
    assert conf.read_hccn_conf(str(path)) == ({}, [f"{path} cannot be read: No such file or directory"])
    path.write_text("")
    path.chmod(0o4640)
    assert conf.read_access(str(path))["mode"] == "4640"


def test_a_report_keeps_the_first_of_several_addresses(monkeypatch):
    two = [{"address": "10.0.0.2"}, {"address": "10.0.0.3"}]
    values = {
        7: {"ip": two, "net_health": "fault"},
        2: {"ip": [{"address": None}], "net_health": None},
        3: {"ip": None, "net_health": "init"},
    }
    errors = {7: {}, 2: {}, 3: {"ip": "no"}}

    def read(tool, devices, queries, workers):
        return {
            one: {"values": values[one], "errors": errors[one], "warnings": ["w"], "hung": "h" if one == 2 else None}
            for one in devices
        }

    monkeypatch.setattr(report, "read_devices", read)
    monkeypatch.setattr(report, "read_hccn_conf", lambda path: ({10: {"address": "a"}, 9: {}}, []))
    found = report.report(None, [7, 2, 3], ["ip", "net_health"], 1, "", {"2": "10.0.0.9"})
    assert [item["ip"] for item in found["devices"]] == [{"address": "10.0.0.2", "all": two}, None, None]
    assert [item["healthy"] for item in found["devices"]] == [False, None, "init" in tool.HEALTHY]
    assert [item.get("hung") for item in found["devices"]] == [None, "h", None]
    assert found["warnings"] == ["device 7 has 2 addresses (a bonded port?): the first one is used", "w"]
    assert list(found["hccn_conf"]) == ["9", "10"] and found["serial"] is False
    assert [(item["device_id"], item["expected"]) for item in found["stale"]] == [(2, "10.0.0.9"), (7, None)]
    errors.update({one: {"ip": "no", "net_health": f"bad {one}"} for one in (7, 2, 3)})
    found = report.report(None, [7, 2, 3], ["ip", "net_health"], 1, "")
    assert found["warnings"][0] == "All queries of all devices failed. The first error: no" and found["stale"] == []
    with pytest.raises(ValueError, match="these are not: x: 10.0.0.1, 1: 10.0.0$"):
        report.expected_addresses({"x": "10.0.0.1", "1": "10.0.0", 2: "10.0.0.1"})


@pytest.mark.parametrize(
    ("sent", "received", "loss", "good"),
    [
        (3, 3, 0, True),
        (3, 0, 100, True),
        (200, 199, 0, True),
        (200, 199, 1.02, False),
        (200, 198, 0.48, False),
        (3, 4, 0, False),
        (0, 0, 0, False),
    ],
)
def test_a_summary_that_contradicts_itself(sent, received, loss, good):
    replies = "".join(f"recv seq={number},time=0.1ms\n" for number in range(received))
    text = (
        f"device 5 PING 10.9.0.77\n{replies}{sent} packets transmitted, {received} received, {loss:.2f}% packet loss\n"
    )
    if good:
        assert measures.parse_ping(text)["received"] == received
    else:
        with pytest.raises(ParseError):
            measures.parse_ping(text)
