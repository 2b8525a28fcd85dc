# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of vLLM-Ascend's CI beside the measured ones: only the same model, NPUs, pools and requests are judged, beyond the spread."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.bench import upstream
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.report import bench_report
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.text import bench_text, upstream_rows
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.upstream import cases_of
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.upstream import upstream_rows as rows_of
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.upstream_data import CASES, HARDWARE, SDIST, Case
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import ORDER
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of

ONE = (("decode", 1), ("prefill", 1))
CASE = Case("Made-up-EP", "Made-up-W8A8", 64, ONE, 0, 3500, 1500, 32, 0, 983.2904, 0.97)
MADE_UP = (
    CASE,
    Case("Made-up-EP", "Made-up-W8A8", 64, ONE, 0, 64000, 1024, 4, 1, 53.0416, 0.97),
    Case("Made-up-MTP3", "Made-up-W8A8", 64, ONE, 0, 2048, 2048, 32, 0, 1460.4861, 0.97),
)
TOPOLOGY = {"devices": 64, "pools": {"prefill": 1, "decode": 1}}
SETTINGS = {"prefix": 0, "input": 3500, "output": 1500}


@pytest.fixture(autouse=True)
def cases(monkeypatch):
    """Upstream's own come and go with its releases."""
    monkeypatch.setattr(upstream, "CASES", MADE_UP)


def load(values, number=32):
    parts = {"least": min(values), "median": sorted(values)[len(values) // 2], "most": max(values)}
    return {"load": number, "measurements": len(values), **{part: {"output_throughput": parts[part]} for part in parts}}


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([990.0, 1000.0, 1010.0], "reached"),
        ([953.8, 960.0, 970.0], "reached"),  # 0.97 of 983.2904 is 953.79
        ([953.7, 960.0, 970.0], "within the spread"),
        ([900.0, 940.0, CASE.throughput * CASE.least], "within the spread"),
        ([900.0, 940.0, 953.7], "missed"),
        ([900.0, 940.0], "not judged"),
        ([1000.0], "not judged"),
    ],
)
def test_a_throughput_is_judged_beyond_its_spread(values, verdict):
    (row,) = rows_of([CASE], TOPOLOGY, SETTINGS, [load(values)])
    assert (row["verdict"], row["differs"], row["theirs"]) == (verdict, [], 983.2904)


@pytest.mark.parametrize(
    ("topology", "settings", "number", "differs"),
    [
        ({"devices": 32}, {}, 32, ["64 NPUs"]),
        ({"pools": {"prefill": 2, "decode": 1}}, {}, 32, ["1 decode and 1 prefill"]),
        ({}, {"input": 3501}, 32, ["input 3500, output 1500, load 32"]),
        ({}, {"output": 1499}, 32, ["input 3500, output 1500, load 32"]),
        ({}, {"prefix": 1}, 32, ["input 3500, output 1500, load 32"]),
        ({}, {}, 33, ["input 3500, output 1500, load 32"]),
    ],
)
def test_what_is_not_the_same_is_named_and_not_judged(topology, settings, number, differs):
    (row,) = rows_of([CASE], {**TOPOLOGY, **topology}, {**SETTINGS, **settings}, [load([1.0, 1.0, 1.0], number)])
    assert (row["verdict"], row["differs"]) == ("not the same", differs)


def test_a_limit_of_requests_per_second_is_named():
    case = next(case for case in CASES if case.name == "Kimi-K2.6-W4A8-64k-1k-TPOT50-PD")
    settings = {"prefix": case.prefix, "input": case.input, "output": case.output}
    (row,) = rows_of([case], {**TOPOLOGY, "devices": 32}, settings, [load([1.0, 1.0, 1.0], 15)])
    assert row["differs"] == ["at most 0.4 requests per second"]


def test_a_load_without_its_throughput_is_not_judged():
    lost = {"load": 32, "measurements": 3, "median": {}, "least": {}, "most": {}}
    (row,) = rows_of([CASE], TOPOLOGY, SETTINGS, [lost])
    assert (row["verdict"], row["now"]) == ("not known", None)


@pytest.fixture(name="plan", scope="module")
def fixture_plan():
    return plan_of("a3_2p1d")


def with_model(plan, path, hardware=HARDWARE):
    hosts = [{**host, "hardware": hardware} for host in plan["hosts"]]
    return {**plan, "model": {**plan["model"], "path": path}, "hosts": hosts}


@pytest.mark.parametrize("path", ["/models/Made-up-W8A8", "/models/made-up-w8a8/"])
def test_the_model_is_known_by_its_folder(plan, path):
    assert {case.name for case in cases_of(with_model(plan, path))} == {
        "Made-up-EP",
        "Made-up-MTP3",
    }


def test_another_model_or_hardware_has_no_cases(plan):
    assert cases_of(with_model(plan, "/models/Made-up")) == []
    assert cases_of(with_model(plan, "/models/Made-up-W8A8", "a2")) == []
    mixed = with_model(plan, "/models/Made-up-W8A8")
    mixed["hosts"][0] = {**mixed["hosts"][0], "hardware": "a2"}
    assert cases_of(mixed) == []
    store = [{**service, "devices": [], "host": "cpu"} for service in mixed["services"][:1]]
    idle = {**mixed["hosts"][0], "name": "cpu"}  # of another hardware, and without engines
    hosts = [idle, *with_model(plan, "x")["hosts"]]
    assert cases_of({**with_model(plan, "/models/Made-up-W8A8"), "hosts": hosts})
    services = [*store, *plan["services"]]
    assert cases_of({**with_model(plan, "/models/Made-up-W8A8"), "hosts": hosts, "services": services})


def test_a_miss_is_a_warning_of_the_report_and_in_its_table(plan):
    own = copy.deepcopy(with_model(plan, "/models/Made-up-W8A8"))
    bench = bench_runs(own, {"profile": "throughput", "loads": [32]})
    bench["devices"] = 64
    own["placement"]["instances"] = [{"kind": "prefill"}, {"kind": "decode"}]
    figures = {"completed": 9, "failed": 0, "empty": 0, "short": 0, "first_error": "", "output_throughput": 900.0}
    results = [{"figures": figures, "engines": {}} for dummy in bench["runs"]]
    report = bench_report(own, bench, results)
    (finding,) = [item for item in report["findings"] if item["id"] == "BENCH-UPSTREAM"]
    assert finding["path"] == "load 32" and finding["why"].startswith("The hardware can do more")
    assert "900 output tokens per second" in finding["problem"] and "953.8" in finding["problem"]
    assert (finding["severity"], report["passed"]) == ("warning", True)
    rows = upstream_rows(report)
    assert rows[1] == ["Made-up-EP", "32", "983.3", "953.8", "900.0", "missed", ""]
    assert len(rows) == 4 and "vLLM-Ascend's CI" in "\n".join(bench_text(report))


def test_the_cases_are_of_the_newest_release():
    """tests/releases/baselines.py compares them with the sources of that release only."""
    assert [name for name in ORDER if name != "main"][-1] == SDIST


def test_each_case_is_complete():
    """A shared part of nine tenths, or 99 of 100, of the whole length; numbers that a benchmark can be given; no load twice."""
    assert len({case[:9] for case in CASES}) == len(CASES)
    for case in CASES:
        total = case.prefix + case.input
        assert not case.prefix or case.prefix in (round(0.9 * total), round(0.99 * total)), case.name
        assert 0.9 <= case.least < 1 < case.throughput and case.devices % 16 == 0 and case.load > 0, case.name
