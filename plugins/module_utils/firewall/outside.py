# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which planned ports answer a machine that does not need them."""

from __future__ import annotations

import errno
import socket
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

from .policy import span

# host and address of the target; sources: those of the plan's list that need the port; what: the planned purposes
Target = namedtuple("Target", "host address port sources what")
CLOSED = (errno.ECONNREFUSED, errno.ECONNRESET, errno.EHOSTUNREACH, errno.ETIMEDOUT)
LARGEST = 256  # ports of one range; the ranges of random ports are larger, and few of their ports are in use
PARALLEL = 64


def targets(hosts):
    """The planned single ports of ``hosts`` (those of the plan), and the ranges that are too large to try, as texts."""
    found, left = [], []
    for host in hosts:
        by_port = {}
        for rule in host["firewall"]:
            first, last = span(rule["ports"])
            if last - first >= LARGEST:
                left.append(f"{host['name']} {rule['ports']} ({rule['for']})")
                continue
            for port in range(first, last + 1):
                by_port.setdefault(port, []).append(rule)
        for port, rules in sorted(by_port.items()):
            sources, what = sorted({rule["from"] for rule in rules}), ", ".join(rule["for"] for rule in rules)
            found.append(Target(host["name"], host["address"], port, sources, what))
    return found, left


def answers(target, timeout):
    """Whether the port accepts a connection within ``timeout`` seconds; the reason as text if this machine could not ask it."""
    try:
        socket.create_connection((target.address, target.port), timeout).close()
    except OSError as error:
        # What a closed port, a filter that rejects and one that drops look like; anything else is this machine's own problem.
        closed = isinstance(error, socket.timeout) or error.errno in CLOSED
        return False if closed else str(error) or type(error).__name__
    return True


def probe(given, timeout, connect=answers):
    """``(targets that answer, [(target, reason)] of those that could not be asked)``."""
    with ThreadPoolExecutor(PARALLEL) as pool:
        results = list(zip(given, pool.map(lambda item: connect(item, timeout), given)))
    return [item for item, result in results if result is True], [
        (item, why) for item, why in results if isinstance(why, str)
    ]


def exposed(opened):
    """Those that only the cluster or the monitoring needs."""
    return [target for target in opened if "client" not in target.sources]


def report(found, tried, left, timeout, untested=()):
    """The result as text."""
    lines = [f"{len(tried) - len(untested)} planned ports were tried from here, each for {timeout} s."]
    if untested:
        reasons = sorted({f"{target.host} ({target.address}): {why}" for target, why in untested})
        lines.append(
            f"{len(untested)} could not be tried, so it is unknown whether they answer: {'; '.join(reasons[:6])}"
        )
        lines.append(
            "Fix: correct inference_outside or the addresses and routes of that machine, and run verify again."
        )
    elif not found:
        lines.append("None answers that only the cluster or the monitoring needs.")
    for target in found:
        lines.append(
            f"  {target.host} ({target.address}) port {target.port} answers: {target.what}, needed by {', '.join(target.sources)} only"
        )
    if left:
        lines.append(f"Not tried, as their ports are chosen at random: {', '.join(left[:6])}")
    if found:
        lines.append(
            "Why: whoever reaches these ports can send requests without a key, change engines, or read KV caches."
        )
        lines.append("Fix: set inference_firewall.state to present and run deploy, or close the ports in the network.")
    return "\n".join(lines)
