# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers of hccn_tool's state queries. Pure: the output for one device in, values out, ParseError for anything else.

Wordings differ between the open source master (hicann/driver@ef377e9 network/hccn) and shipped drivers; both are read:
``netdetect addr:``/``netdetect address:``, ``Socket fail``/``Socket failed``, ``[devid N]``/``[device N]``. Pings, optical
modules and counters are in measures.py.
"""

from __future__ import annotations

import ipaddress
import re

from ..tools.text import ParseError, content, is_gap, snake_case

NET_HEALTH = [
    "success",
    "init",
    "fault",
    "socket_fail",
    "socket_failed",
    "receive_timeout",
    "unreachable",
    "time_exceeded",
    "thread_error",
    "detect_ip_set",
    "unknown",
]
MAX_LINKS = 2  # of one port; MAX_PORT_COUNT in tool_ops.h
HEALTHY = ("success", "init")  # init means that no detection address is set, not that the network is bad
_CERTIFICATE = re.compile(r"dev_id:(\d+), \[(.+?)\] info:\Z")
_CERTIFICATE_FIELD = re.compile(r"(subject|issuer|start_time|end_time|tls expiration status)\[(.*?)\](?:\(.*\))?\Z")
_CERTIFICATE_KEYS = {"start_time": "not_before", "end_time": "not_after", "tls expiration status": "expiration"}
_EXPIRATION = {"0": "normal", "1": "near_expiration", "2": "expired"}


def _lines(text):
    found = content(text)
    if not found:
        raise ParseError("no answer", text)
    return found


def only(text, pattern, what):
    """The match of output that must be exactly one line of ``pattern``."""
    lines = _lines(text)
    match = re.match(pattern + r"\Z", lines[0][1])
    if not match:
        raise ParseError(f"expected '{what}'", text, lines[0][0])
    if len(lines) > 1:
        raise ParseError(f"expected nothing after '{what}'", text, lines[1][0])
    return match


def address(token, text, line=None):
    """``token`` if it is an IP address, else a ParseError (0.0.0.0 means unset and becomes None)."""
    try:
        found = ipaddress.ip_address(token)
    except ValueError:
        raise ParseError(f"{token!r} is not an IP address", text, line) from None
    return None if found.is_unspecified else token


def netmask(token, text, line=None):
    """``token`` if it is a netmask (ones, then zeros), else a ParseError."""
    try:
        ipaddress.ip_network(f"0.0.0.0/{token}")
    except ValueError:
        raise ParseError(f"{token!r} is not a netmask", text, line) from None
    if not re.match(r"\d+(?:\.\d+){3}\Z", token) or ipaddress.ip_network(
        f"0.0.0.0/{token}"
    ).netmask != ipaddress.ip_address(token):
        raise ParseError(f"{token!r} is not a netmask", text, line)
    return token


def parse_link(text):
    """``-link -g`` -> 'up' or 'down'."""
    return only(text, r"link status:\s*(UP|DOWN)", "link status: UP or DOWN").group(1).lower()


def parse_net_health(text):
    """``-net_health -g`` -> the tool's value in snake_case, one of NET_HEALTH."""
    token = snake_case(only(text, r"net health status:\s*(\S.*)", "net health status: ...").group(1))
    if token not in NET_HEALTH:
        raise ParseError(f"unknown net health status {token!r}", text)
    return token


def parse_netdetect(text):
    """``-netdetect -g`` -> the detection address, or None if it is unset (0.0.0.0)."""
    return address(only(text, r"netdetect addr(?:ess)?:\s*(\S+)", "netdetect address: ...").group(1), text)


def parse_gateway(text):
    """``-gateway -g`` -> the default gateway's address."""
    return address(
        only(text, r"default gateway:\s*([^\s,]+),\s*Iface:\s*\S+", "default gateway:..., Iface:...").group(1), text
    )


def parse_ip(text):
    """``-ip -g`` -> list of dict(address, netmask); more than one pair only on a bonded port."""
    pairs = []
    for line_number, line in _lines(text):
        match = re.match(r"(ipaddr|netmask):\s*(\S+)\Z", line)
        expected = "ipaddr" if not pairs or len(pairs[-1]) == 2 else "netmask"
        if not match or match.group(1) != expected:
            raise ParseError(f"expected '{expected}:...'", text, line_number)
        if expected == "ipaddr":
            pairs.append(dict(address=address(match.group(2), text, line_number)))
        else:
            pairs[-1]["netmask"] = netmask(match.group(2), text, line_number)
    if len(pairs[-1]) != 2:
        raise ParseError("expected a netmask after the address", text)
    if len(pairs) > MAX_LINKS:
        raise ParseError(f"more than {MAX_LINKS} addresses: the text contains several outputs", text)
    # a port with two links prints its address twice (tool_ops_ext.c queries the port, not the link)
    return [pair for number, pair in enumerate(pairs) if pair not in pairs[:number]]


def parse_vnic(text):
    """``-vnic -g`` -> dict(link, address, netmask) of the virtual NIC (HCCS plane)."""
    vnic = {}
    for line_number, line in _lines(text):
        match = re.match(r"vnic (link status|ipaddr|netmask):\s*(\S+)\Z", line)
        if not match or match.group(1) in vnic:
            raise ParseError("expected vnic link status, ipaddr and netmask, once each", text, line_number)
        vnic[match.group(1)] = match.group(2)
    if len(vnic) != 3 or vnic["link status"] not in ("UP", "DOWN"):
        raise ParseError("expected vnic link status (UP or DOWN), ipaddr and netmask", text)
    return dict(
        link=vnic["link status"].lower(), address=address(vnic["ipaddr"], text), netmask=netmask(vnic["netmask"], text)
    )


def parse_lldp(text):
    """``-lldp -g`` -> dict(port, port_type, system_name) of the connected switch port; null for missing values.

    The switch's free text may contain empty and unindented lines. The first line after 'Port ID TLV' is the port
    (``Ifname:``, ``Local:``, ``MAC:`` or ``IPv4:``, as the switch is configured).
    """
    section, first = None, {}
    for line_number, line in _lines(text):
        if line == "Port ID TLV" and "Port ID" in first:
            raise ParseError("a second port: the text contains several outputs", text, line_number)
        if line.endswith(" TLV"):
            section = line[: -len(" TLV")]
        elif section is not None:
            first.setdefault(section, (line_number, line))
        elif re.match(r"Ifname:\s*\S", line) and not first:
            first["Port ID"] = (line_number, line)  # text filtered to the port's line
        else:
            raise ParseError("expected a TLV", text, line_number)
    if "Port ID" not in first:
        raise ParseError("expected a Port ID TLV", text)
    line_number, port = first["Port ID"]
    match = re.match(r"([A-Za-z][A-Za-z0-9 ]*):\s*(\S.*)\Z", port)
    if not match:
        raise ParseError("expected the port's name, such as 'Ifname: ...'", text, line_number)
    return dict(
        port=match.group(2), port_type=snake_case(match.group(1)), system_name=first.get("System Name", (0, None))[1]
    )


def parse_tls(text, device=None):
    """``-tls -g`` -> dict(enabled, alarm_days, certificates). With ``device`` only its part is returned, and must exist."""
    parts = {}
    current = None
    for line_number, line in [(line_number, line) for line_number, line in _lines(text) if not is_gap(line)]:
        head = re.match(r"dev_id:(\d+), tls switch\[([01])\](?:\(.*?\))?(.*)\Z", line)
        if head and int(head.group(1)) not in parts:
            current = int(head.group(1))
            days = re.search(r"tls alarm time threshold\[(\d+)\]days", head.group(3))
            parts[current] = dict(
                enabled=head.group(2) == "1", alarm_days=int(days.group(1)) if days else None, certificates=[]
            )
        elif head or current is None:
            raise ParseError("expected 'dev_id:N, tls switch[...]', each device once", text, line_number)
        else:
            _certificate_line(parts[current]["certificates"], line, current, text, line_number)
    wanted = current if device is None else device
    if wanted not in parts or (device is None and len(parts) > 1):
        raise ParseError(f"expected the output of {'one device' if device is None else f'device {device}'}", text)
    return parts[wanted]


def _certificate_line(certificates, line, device, text, line_number):
    head, field = _CERTIFICATE.match(line), _CERTIFICATE_FIELD.match(line)
    if head and int(head.group(1)) == device:
        certificates.append(dict(name=head.group(2)))
    elif field and certificates:
        key = _CERTIFICATE_KEYS.get(field.group(1), field.group(1))
        certificates[-1][key] = _EXPIRATION.get(field.group(2)) if key == "expiration" else field.group(2)
    else:
        raise ParseError(f"expected a line about a certificate of device {device}", text, line_number)


def parse_mac(text):
    """``-mac -g`` -> the MAC address in lower case."""
    return only(text, r"mac addr:\s*([0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5})", "mac addr: ...").group(1).lower()


def parse_mtu(text):
    """``-mtu -g`` -> bytes."""
    return int(only(text, r"mtu:\s*([1-9]\d*)", "mtu:...").group(1))


def parse_speed(text):
    """``-speed -g`` -> Mb/s, or None if the tool doesn't know it."""
    token = only(text, r"Speed:\s*([1-9]\d*\s*Mb/s|Unknown!?)", "Speed: ... Mb/s").group(1)
    return None if token.startswith("Unknown") else int(re.match(r"\d+", token).group(0))


def parse_fec(text):
    """``-fec -g`` -> the mode in lower case (``rs``, ``fc``), or ``none``."""
    token = only(text, r"fec mode:\s*(no|[A-Za-z][\w-]*) FEC mode", "fec mode: ... FEC mode").group(1).lower()
    return "none" if token == "no" else token


def parse_route(text):
    """``-route -g`` -> list of dict(destination, gateway, netmask, flags, interface); no gateway is None, 'default' is 0.0.0.0."""
    lines = _lines(text)
    if (
        lines[0][1] != "Routing table:"
        or len(lines) < 2
        or lines[1][1].split()[:3] != ["Destination", "Gateway", "Genmask"]
    ):
        raise ParseError("expected 'Routing table:' and its header", text, lines[0][0])
    routes = []
    for line_number, line in lines[2:]:
        columns = line.split()
        if len(columns) != 8:
            raise ParseError("expected the eight columns of a route", text, line_number)
        destination = "0.0.0.0" if columns[0] == "default" else columns[0]
        address(destination, text, line_number)
        routes.append(
            dict(
                destination=destination,
                gateway=None if columns[1] == "*" else address(columns[1], text, line_number),
                netmask=netmask(columns[2], text, line_number),
                flags=columns[3],
                interface=columns[7],
            )
        )
    return routes


def parse_arp(text):
    """``-arp -g`` -> the lines of the ARP table as printed (their format is not documented)."""
    lines = _lines(text)
    if not re.match(r"arp table:", lines[0][1], re.IGNORECASE):
        raise ParseError("expected 'arp table:'", text, lines[0][0])
    rest = lines[0][1].split(":", 1)[1].strip()
    return ([rest] if rest else []) + [line for _number, line in lines[1:]]


def expect_success(text):
    """Require the success message of a set command: exit status 0 is not sufficient."""
    if not any(line == "Cmd executed successfully!" for _number, line in _lines(text)):
        raise ParseError("expected 'Cmd executed successfully!'", text)
    return True
