# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers of hccn_tool's measurements: pings, optical module, link history, packet counters. Pure."""

from __future__ import annotations

import re

from ..tools.tables import records
from ..tools.text import ParseError, content, is_gap, is_null, number, snake_case

_SUMMARY = re.compile(r"(\d+) packets transmitted, (\d+) received, (\d+(?:\.\d+)?)% packets? loss\Z")
_REPLY = re.compile(r"recv seq[=:](\d+),\s*time[=:](\d+\.\d+)ms\Z")  # "%f": a time without a decimal point is damaged
_HCCS_REPLY = re.compile(r"recv seq (\d+), time = (\d+\.\d+)us, L1 plane check result = 0x([0-9a-fA-F]+)\Z")
_HCCS_PACKET = re.compile(r"This pkt (ping success!|ping not start to send!|send fail!|check recv msg fail!)\Z")
_TIMES = re.compile(r"(max|min|average|TP95) time\s*[=:]?\s*(\d+(?:\.\d+)?)\s*(us|ms)\Z")
_UNITS = {
    "C": "celsius",
    "mV": "millivolts",
    "mW": "milliwatts",
    "mA": "milliamperes",
    "nm": "nanometres",
    "dB": "decibels",
}
_WITH_POINT = ("mV", "mW", "mA", "dB")
_PREFIX = re.compile(r"\[(?:devid|device) (\d+)\]\s*")


def parse_ping(text):
    """``-ping -g`` -> dict(device_id, target, transmitted, received, loss_percent, times_ms, plane_errors).

    It also fits a 950's ``-ub_ping`` and a lost ping, which the tool reports on stdout before it fails. ``plane_errors`` is always [].
    """
    ping = _head(text)
    for line_number, line in _body(text):
        reply = _REPLY.match(line)
        if reply:
            ping["times_ms"].append(float(reply.group(2)))
        elif not _summary(ping, line, text, line_number) and re.match(r"recv seq.*\d", line):
            raise ParseError("expected 'recv seq=N,time=...ms'", text, line_number)
    return _checked(ping, text)


def parse_hccs_ping(text):
    """``-hccs_ping -g`` -> as :func:`parse_ping`; ``plane_errors`` holds the L1 check results that aren't 0 (hex strings).

    The tool exits with 0 even if packets fail: check loss and plane_errors. Format from the source only
    (hicann/driver@ef377e9 tool_cmd.c), no real output is published.
    """
    ping = _head(text)
    for line_number, line in _body(text):
        reply = _HCCS_REPLY.match(line)
        if reply:
            ping["times_ms"].append(float(reply.group(2)) / 1000)
            if int(reply.group(3), 16):
                ping["plane_errors"].append("0x" + reply.group(3))
        elif not _HCCS_PACKET.match(line) and not _summary(ping, line, text, line_number):
            raise ParseError("expected a line of hccs_ping", text, line_number)
    return _checked(ping, text, every_packet_has_a_line=True)


def _head(text):
    lines = content(text)
    match = re.match(r"device (\d+) (?:PING|dev\s+EID)\s*(.*)", lines[0][1]) if lines else None
    if not match:
        raise ParseError("expected 'device N PING ...'", text)
    return dict(
        device_id=int(match.group(1)), target=match.group(2).strip(), transmitted=None, times_ms=[], plane_errors=[]
    )


def _body(text):
    return content(text)[1:]


def _summary(ping, line, text, line_number):
    """Parse a line of the summary into ``ping``; returns whether it was one."""
    match = _SUMMARY.match(line)
    if match and ping["transmitted"] is not None:
        raise ParseError("a second summary: this is more than one ping", text, line_number)
    if match:
        ping.update(transmitted=int(match.group(1)), received=int(match.group(2)), loss_percent=float(match.group(3)))
    return bool(match or _TIMES.match(line) or line == "Cmd executed successfully!")


def _checked(ping, text, every_packet_has_a_line=False):
    sent, received = ping["transmitted"], ping.get("received")
    if not sent:
        raise ParseError("expected 'N packets transmitted, M received, ...'", text)
    if received > sent or abs(100.0 * (sent - received) / sent - ping["loss_percent"]) > 0.51:
        raise ParseError("the ping's counts contradict each other", text)
    if len(ping["times_ms"]) > sent or (len(ping["times_ms"]) < received and not every_packet_has_a_line):
        raise ParseError("the ping's replies and its summary contradict each other", text)
    return ping


def parse_optical(text):
    """``-optical -g`` -> dict: ``present`` and every value, numbers with their unit in the key (``tx_power0_milliwatts``)."""
    if [line for _number, line in content(text)][:1] != ["optical info:"]:
        raise ParseError("expected 'optical info:'", text)
    optical = {}
    for line_number, line in [(line_number, line) for line_number, line in _body(text) if not is_gap(line)]:
        match = re.match(r"([^:]+?)\s*:\s*(.*?)\Z", line)
        if not match or snake_case(match.group(1)) in optical:
            raise ParseError("expected 'key : value', each key once", text, line_number)
        key, token = snake_case(match.group(1)), match.group(2)
        measure = re.match(r"(\S+)\s+([A-Za-z]+)\Z", token)
        if measure and measure.group(2) in _UNITS:
            if measure.group(2) in _WITH_POINT and "." not in measure.group(1):
                raise ParseError("expected a number with a decimal point", text, line_number)
            optical[key + "_" + _UNITS[measure.group(2)]] = number(measure.group(1), text, line_number)
        elif re.match(r"[-+]?\.?\d", token) and token.split()[-1] in _UNITS:
            raise ParseError(f"{token!r} is not a number with its unit", text, line_number)
        else:
            optical[key] = None if is_null(token) else token
    if optical.get("present") not in ("present", "not present"):
        raise ParseError("expected 'present : present' or 'present : not present'", text)
    optical["present"] = optical["present"] == "present"
    return optical


def parse_link_stat(text):
    """``-link_stat -g`` -> dict(current_time, link_up_count, link_down_count, records=[dict(time, link)]), newest record first."""
    stat = dict(current_time=None, link_up_count=None, link_down_count=None, records=[])
    table = [line for _number, line in content(text) if line[0] in "|+"]
    for line_number, line in content(text):
        line = _PREFIX.sub("", line)
        head = re.match(r"(current time|link up count|link down count|link change records)\s*:\s*(.*)\Z", line)
        event = re.match(r"(\w{3} \w{3}\s+\d+ [\d:]{8} \d{4})\s+LINK (UP|DOWN)\Z", line)
        if head and stat.get(snake_case(head.group(1))) is not None:
            raise ParseError(f"a second '{head.group(1)}': the text contains several outputs", text, line_number)
        if event:
            stat["records"].append(dict(time=event.group(1), link=event.group(2).lower()))
        elif head and head.group(1) == "current time":
            stat["current_time"] = head.group(2)
        elif head and head.group(1) != "link change records":
            stat[snake_case(head.group(1))] = number(head.group(2), text, line_number)
        elif line and not head and line[0] not in "|+" and not is_gap(line):
            raise ParseError("expected a line of the link's history", text, line_number)
    for row in records("\n".join(table)) if table else []:
        stat["records"].append(
            dict(time=row.get("Time_Stamp"), link=row.get("Link_Status", "").lower().replace("link_", ""))
        )
    if stat["link_up_count"] is None:
        raise ParseError("expected 'link up count'", text)
    return stat


def parse_stat(text):
    """``-stat -g`` -> dict of counters. A line of "..." is skipped."""
    if [line for _number, line in content(text)][:1] != ["packet statistics:"]:
        raise ParseError("expected 'packet statistics:'", text)
    counters = {}
    for line_number, line in _body(text):
        match = re.match(r"([A-Za-z]\w*):\s*(0|[1-9]\d*)\Z", line)
        if match and match.group(1) not in counters:
            counters[match.group(1)] = int(match.group(2))
        elif not is_gap(line):
            raise ParseError("expected 'counter:number', each counter once", text, line_number)
    if not counters:
        raise ParseError("expected counters", text)
    return counters
