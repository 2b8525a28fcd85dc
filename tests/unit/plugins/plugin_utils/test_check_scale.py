# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller computes in a check grows with the number of hosts, and so do the findings of one fault."""

from __future__ import annotations

import collections
import functools

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.report_page import check_report
from ansible_collections.ascend.inference.tests.bench import check_plan as bench

SIZES = (72, 144)  # from 64 hosts on, each connects to as many others
MOST = 1.15  # allowed ratio of calls for each host, if there are twice as many hosts
PAGE = 3 * 2**20  # bytes


@functools.cache
def rack(hosts, fault):
    plan = bench.plan_of(hosts)
    return plan, bench.checked_facts(plan, bench.FAULTS[fault])


SHORT = "one host in ten is cut off"  # has findings between hosts and of single ones; the long tests have each fault


@pytest.mark.parametrize(
    "fault", [pytest.param(name, marks=() if name == SHORT else pytest.mark.long) for name in bench.FAULTS]
)
def test_twice_the_hosts_take_twice_the_calls(fault):
    ratios = {}
    for step in ("fabric_peers", "port_probes", "check_plan"):
        small, large = (bench.calls(step, *rack(hosts, fault)) / hosts for hosts in SIZES)
        ratios[step] = round(large / small, 2)
    assert max(ratios.values()) < MOST, ratios


def found(hosts, fault):
    return collections.Counter(item["id"] for item in check_plan(*rack(hosts, fault)))


@pytest.mark.parametrize("hosts", SIZES)
def test_a_split_is_one_finding_whatever_its_size(hosts):
    assert found(hosts, "healthy") == {}
    assert found(hosts, "two islands") == {"PEER-UNREACHABLE": 1, "PORT-BLOCKED": 1}
    assert found(hosts, "one host in ten is cut off")["PORT-BLOCKED"] == -(-hosts // 10)


def test_the_page_of_200_hosts_stays_small():
    plan, facts = rack(200, "one pair in seven is lost")
    page = check_report(plan, facts, check_plan(plan, facts))
    assert len(page.encode()) <= PAGE
