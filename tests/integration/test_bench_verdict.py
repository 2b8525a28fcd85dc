# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Before and after a change: engines whose delays are known get slower, and only what is beyond the spread is a regression.

A small program sends the requests and writes its result in the form of ``vllm bench serve``. That vLLM's own program reports the delays is tested
with the local deployment.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.bench import driver
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.report import bench_report
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.text import bench_text
from ansible_collections.ascend.inference.tests.e2e._known_delays import known_delays
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of

# They measure times: on a machine that runs other parts beside it, the spread is the machine's.
pytestmark = pytest.mark.long
CLIENT = Path(__file__).with_name("bench_client.py")
# Long ones, beside which the pauses of a busy machine are small.
FIRST, FURTHER, TOKENS, REQUESTS = 0.800, 0.150, 4, 4


@pytest.fixture(scope="module")
def plan():
    return plan_of("a3_2p1d")


def measured(plan, folder, delays, old=None, **wrong):
    """The report of one measurement for each of the delays of the first token."""
    bench = bench_runs(plan, {"profile": "latency", "loads": [REQUESTS], "repeats": len(delays), "output": TOKENS})
    results = []
    for first in delays:
        with known_delays(first, FURTHER) as (url, answers):
            answers.update(wrong)
            command = driver.Command(
                [sys.executable, str(CLIENT), url, str(REQUESTS), str(TOKENS)], {}, [], str(folder)
            )
            found = driver.run_load(command, str(folder / "result.json"), TOKENS, 60)
        results.append({"figures": found, "engines": {"decode-0-0": {"requests": 8.0}}})
    return bench_report(plan, bench, [results[0], *results], old)


@pytest.fixture(scope="module")
def before(plan, tmp_path_factory):
    return measured(plan, tmp_path_factory.mktemp("before"), [FIRST, 1.3 * FIRST, 1.15 * FIRST])


def verdicts(report):
    return {row["figure"]: row["verdict"] for row in report["comparison"]}


def test_the_figures_are_the_delays(before):
    (load,) = before["loads"]
    assert load["least"]["ttft_p50"] == pytest.approx(1000 * FIRST, rel=0.1)
    assert load["median"]["ttft_p50"] == pytest.approx(1150 * FIRST, rel=0.1)
    assert load["median"]["tpot_p50"] == pytest.approx(1000 * FURTHER, rel=0.1)
    assert (load["completed"], load["failed"], load["empty"], load["short"]) == (3 * REQUESTS, 0, 0, 0)


def test_a_slow_down_beyond_the_spread_is_a_regression(plan, tmp_path, before):
    report = measured(plan, tmp_path, [2 * FIRST, 2.1 * FIRST, 2.2 * FIRST], before)
    found = verdicts(report)
    assert (found["ttft_p50"], found["tpot_p50"]) == ("worse", "same")
    (finding,) = [finding for finding in report["findings"] if finding["severity"] == "error"]
    assert finding["id"] == "BENCH-REGRESSION" and not report["passed"]
    assert "tpot" not in finding["problem"] and "FAILED" in bench_text(report)[0]


def test_a_slow_down_within_the_spread_is_none(plan, tmp_path, before):
    report = measured(plan, tmp_path, [1.2 * FIRST, 1.4 * FIRST, 1.3 * FIRST], before)
    assert report["loads"][0]["median"]["ttft_p50"] > 1.05 * before["loads"][0]["median"]["ttft_p50"]
    assert set(verdicts(report).values()) == {"same"} and report["passed"]


def test_empty_answers_are_no_speed(plan, tmp_path, before):
    """An engine that answers nothing is fast."""
    report = measured(plan, tmp_path, [0.5 * FIRST] * 3, before, empty_every=2)
    assert (report["loads"][0]["empty"], report["passed"]) == (3 * REQUESTS // 2, False)
    assert "BENCH-EMPTY" in {finding["id"] for finding in report["findings"]}
