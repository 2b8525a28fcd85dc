# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a topology serves within its limits, from measured rates."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.capacity import capacity, capacity_text
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.report import bench_report
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.text import bench_text, digits
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of


def load(rate, good, answered=None, failed=0):
    answered = rate if answered is None else answered
    median = {"request_goodput": good, "request_throughput": answered}
    return {"rate": rate, "median": median, "completed": 100 - failed, "failed": failed}


@pytest.mark.parametrize(
    ("loads", "devices", "expected", "said"),
    [
        (
            [load(4.0, 3.8), load(1.0, 1.0), load(8.0, 5.0)],
            16,
            (4.0, 3.8, 0.2375, 8.0),
            "3.8 good requests a second, 0.237 per NPU, at 4/s. At 8/s",
        ),
        (
            [load(1.0, 1.0), load(2.0, 1.0), load(4.0, 4.0)],
            0,
            (1.0, 1.0, None, 2.0),
            "1 good requests a second, at 1/s. At 2/s",
        ),
        (
            [load(1.0, 0.8)],
            8,
            (0.0, 0.0, 0.0, 1.0),
            "At 1/s fewer than 90% of the requests keep the limits. Measure lower rates.",
        ),
        ([load(1.0, 1.0)], 8, (1.0, 1.0, 0.125, 0.0), "measure higher ones"),
        ([load(1.0, 0.85, 0.85, failed=15)], 8, (0.0, 0.0, 0.0, 1.0), "At 1/s"),
    ],
)
def test_the_highest_rate_below_the_first_broken_one(loads, devices, expected, said):
    found = capacity(loads, devices)
    assert tuple(found.values()) == expected
    assert said in capacity_text(found, digits)[0]


@pytest.mark.parametrize("loads", [[], [load(0.0, 3.0, 3.0)], [load(1.0, None)]])
def test_nothing_is_said_without_rates_or_limits(loads):
    assert capacity(loads, 8) is None and capacity_text(None, digits) == []


def test_the_report_of_a_sweep_says_it():
    plan = plan_of("a3_2p1d")
    bench = bench_runs(plan, {"profile": "latency", "rates": [2, 4], "repeats": 1, "slo": {"ttft": 500}})
    known = {"completed": 32, "failed": 0, "empty": 0, "short": 0, "first_error": "", "duration": 16.0}
    results = [
        {"figures": {**known, "request_throughput": rate, "request_goodput": good}, "engines": {}}
        for rate, good in ((2.0, 2.0), (2.0, 1.9), (4.0, 2.0))
    ]
    report = bench_report(plan, bench, results, None)
    assert report["capacity"] == {
        "rate": 2.0,
        "goodput": 1.9,
        "per_device": round(1.9 / bench["devices"], 4),
        "broken": 4.0,
    }
    assert "1.9 good requests a second" in "\n".join(bench_text(report))
