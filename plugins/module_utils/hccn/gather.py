# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries of hccn_tool for all devices of a host: concurrent, with retries while the tool is busy, serial if necessary.

Whether the tool locks per device, for the whole host or not at all differs between drivers. So devices are queried in parallel
until the tool reports busy because of our own calls; then serially. Errors are recorded by device and query.
"""

from __future__ import annotations

import random
import threading
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

from ..tools.errors import ToolError, answer, known_error
from . import measures
from . import settings as state

# parse(text, device); hides_busy: the tool reports a lock conflict as "Command execute failed!"
Query = namedtuple("Query", "option parse hides_busy")


def _query(option, parse, hides_busy=False):
    return Query(option, lambda text, _device: parse(text), hides_busy)


QUERIES = {
    "link": _query("-link", state.parse_link),
    "net_health": _query("-net_health", state.parse_net_health, hides_busy=True),
    "lldp": _query("-lldp", state.parse_lldp),
    "netdetect": _query("-netdetect", state.parse_netdetect),
    "gateway": _query("-gateway", state.parse_gateway),
    "ip": _query("-ip", state.parse_ip),
    "vnic": _query("-vnic", state.parse_vnic),
    "tls": Query("-tls", state.parse_tls, False),
    "optical": _query("-optical", measures.parse_optical),
    "link_stat": _query("-link_stat", measures.parse_link_stat),
    "stats": _query("-stat", measures.parse_stat),
    "mac": _query("-mac", state.parse_mac),
    "mtu": _query("-mtu", state.parse_mtu),
    "speed": _query("-speed", state.parse_speed),
    "fec": _query("-fec", state.parse_fec),
    "route": _query("-route", state.parse_route),
    "arp": _query("-arp", state.parse_arp),
}
BASIC = ("link", "net_health", "lldp", "netdetect", "gateway", "ip", "vnic", "tls")
ATTEMPTS = 10  # with the pauses below about 12 seconds, for an exporter that holds the lock
PAUSES = (
    0.05,
    2.0,
)  # first and longest pause in seconds; exponential backoff with jitter
HIDDEN_BUSY_ATTEMPTS = 3


class RetryingTool:
    """Calls the tool, retries while it is busy, and serializes calls after our own calls have collided."""

    def __init__(self, tool, sleep=time.sleep):
        self._tool, self._sleep = tool, sleep
        self._turn, self._count = threading.Lock(), threading.Lock()
        self._running, self.serial = 0, False

    def __call__(self, args, stdin=None, hides_busy=False):
        """The tool's Output; busy only after all attempts."""
        pause, attempt = PAUSES[0], 0
        while True:
            attempt += 1
            output, alone = self._once(args, stdin)
            found = known_error(output)
            busy = found is not None and found.kind == "busy"
            hidden = hides_busy and found is not None and found.kind == "failed"
            if not (busy or hidden) or attempt >= (ATTEMPTS if busy else HIDDEN_BUSY_ATTEMPTS):
                return output
            self.serial = self.serial or not alone
            self._sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, PAUSES[1])

    def _once(self, args, stdin):
        if self.serial:
            with self._turn:
                return self._tool(args, stdin), True
        with self._count:
            self._running += 1
            crowd = self._running > 1
        try:
            output = self._tool(args, stdin)
        finally:
            with self._count:
                crowd = crowd or self._running > 1
                self._running -= 1
        return output, not crowd


def read_devices(tool, devices, queries, workers):
    """Run all queries for all devices -> {device: dict(values={query: value}, errors={query: message}, warnings=[...], hung)}.

    At most ``workers`` devices are queried at the same time. After a timeout the device's other
    queries are skipped, and ``hung`` is the message (else None).
    """
    retrying_tool = tool if isinstance(tool, RetryingTool) else RetryingTool(tool)
    with ThreadPoolExecutor(max_workers=max(1, min(workers, len(devices) or 1))) as pool:
        answers = pool.map(lambda device: _read_device(retrying_tool, device, queries), devices)
        return dict(zip(devices, answers))


def _read_device(retrying_tool, device, queries):
    values, errors, warnings, hung = dict.fromkeys(queries), {}, [], None
    for name in queries:
        if hung:
            errors[name] = f"skipped: the previous query of device {device} exceeded the timeout"
            continue
        try:
            values[name], notes = _ask(retrying_tool, device, QUERIES[name])
            warnings += notes
        except ToolError as error:
            errors[name] = str(error)
            hung = str(error) if error.kind == "hung" else None
    return dict(values=values, errors=errors, warnings=warnings, hung=hung)


def _ask(retrying_tool, device, query):
    def call(args, stdin):
        return retrying_tool(args, stdin, query.hides_busy)

    return answer(call, ["-i", str(device), query.option, "-g"], lambda text: query.parse(text, device))
