# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""hccn_tool's answers and hccn.conf. The texts have the shape of published ones, with values of their own."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.hccn import conf, measures
from ansible_collections.ascend.inference.plugins.module_utils.hccn import settings as tool
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
