# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A delay that is planted in one stage of a request is found in that stage, by the counters that engines serve."""

from __future__ import annotations

import collections
import http.server
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.bench.driver import growth, read_all
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.passage import PARTS, REST, longest, passages
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.report import bench_report
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.services import transfers
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.text import bench_text
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of

PLAN = {
    "verify": {"prefill": [{"name": "p0"}], "decode": [{"name": "d0"}], "colocated": []},
    "engine_facts": {"npus": True},
}
POOL = {"verify": {"prefill": [], "decode": [], "colocated": [{"name": "c0"}, {"name": "c1"}]}}
NORMAL, PLANTED, REQUESTS = 0.004, 0.15, 2  # seconds of a stage; requests of a measurement
STAGES = [part for part, kind, _counter in PARTS if kind != "colocated"] + [REST]


class Engines:
    """A prefill and a decode engine that count like vLLM, with delays of each stage; their metrics are served over HTTP."""

    def __init__(self, delays):
        self.delays = {stage: NORMAL for stage in STAGES} | delays
        self.counters = collections.defaultdict(float)
        self.spent = collections.Counter()  # what a sleep really took
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.split("/")[1]
                lines = [f"{key[1]} {value}" for key, value in outer.counters.items() if key[0] == name]
                self.send_response(200)
                self.end_headers()
                self.wfile.write(("\n".join(lines) + "\n").encode())

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.urls = [
            {"name": name, "url": f"http://127.0.0.1:{self.server.server_port}/{name}"} for name in ("p0", "d0")
        ]

    def spend(self, stage, *counters):
        begin = time.monotonic()
        time.sleep(self.delays[stage])
        took = time.monotonic() - begin
        self.spent[stage] += took
        for counter in counters:
            self.counters[counter] += took

    def request(self):
        """One request through the stages, as its client sees it: seconds."""
        begin = time.monotonic()
        self.spend(REST)
        for name, stages in (("p0", ("queue of prefill", "prefill")), ("d0", ())):
            for stage, counter in zip(stages, ("queue", "prefill"), strict=False):
                self.spend(stage, (name, f"vllm:request_{counter}_time_seconds_sum"))
        queue = ("d0", "vllm:request_queue_time_seconds_sum")
        self.spend("KV transfer", queue, ("d0", "vllm:mooncake_xfer_time_seconds_sum"))
        self.counters[("d0", "vllm:mooncake_xfer_time_seconds_count")] += 1
        self.spend("queue of decode", queue)
        self.spend("first token of decode", ("d0", "vllm:request_prefill_time_seconds_sum"))
        self.spend("further tokens", ("d0", "vllm:request_decode_time_seconds_sum"))
        for name in ("p0", "d0"):
            self.counters[(name, "vllm:request_success_total")] += 1
        return time.monotonic() - begin


def measured(delays):
    engines = Engines(delays)
    engines.counters[("p0", "vllm:request_decode_time_seconds_sum")] = 0.0
    engines.request()  # counters exist from the first request on
    engines.spent.clear()
    before = read_all(engines.urls)
    seconds = [engines.request() for _number in range(REQUESTS)]
    after = read_all(engines.urls)
    engines.server.shutdown()
    engines.server.server_close()
    gained = {name: growth(before[name], after[name]) for name in before}
    mean = 1000 * sum(seconds) / len(seconds)
    load = {"title": "1", "round": "", "completed": REQUESTS, "median": {"e2el_mean": mean}, "engines": gained}
    decode = gained["d0"]
    moved = {"d0": {"number": decode["transfers"], "seconds": decode["transfer_seconds"], "logged": 0, "waited": 1}}
    return passages(PLAN, [load], moved), {stage: 1000 * spent / REQUESTS for stage, spent in engines.spent.items()}


@pytest.mark.parametrize("stage", STAGES)
def test_a_planted_delay_is_found_in_its_stage(stage):
    found, spent = measured({stage: PLANTED})
    parts = found[0]["parts"]
    assert list(parts) == STAGES and spent[stage] >= 1000 * PLANTED
    assert parts[stage] == pytest.approx(spent[stage], rel=0.1)
    assert max(parts, key=parts.get) == stage, parts
    assert sum(parts.values()) == pytest.approx(found[0]["whole"], abs=0.1)
    assert f"of its time in: {stage}." in longest(found)


def load(engines, **changes):
    return {"title": "1", "round": "", "completed": 10, "median": {"e2el_mean": 900.0}, "engines": engines, **changes}


P0 = {"queue_seconds": 1.0, "prefill_seconds": 2.0}
D0 = {"queue_seconds": 3.0, "prefill_seconds": 0.5, "decode_seconds": 2.0}


def test_a_transfer_that_is_not_counted_stays_in_the_queue():
    (found,) = passages(PLAN, [load({"p0": P0, "d0": D0})], {})
    assert found["parts"] == {
        "queue of prefill": 100.0,
        "prefill": 200.0,
        "KV transfer": None,
        "queue of decode": 300.0,
        "first token of decode": 50.0,
        "further tokens": 200.0,
        REST: 50.0,
    }
    assert longest([found]).endswith("1 part not counted by this release: KV transfer.")


def test_ranks_that_transfer_at_the_same_time_count_once():
    moved = {
        "d0": {"number": 40, "seconds": 4.0, "logged": 0, "waited": 1},
        "p0": {"number": 1, "seconds": 9.0, "waited": 0},
    }
    (found,) = passages(PLAN, [load({"p0": P0, "d0": D0})], moved)
    assert (found["parts"]["KV transfer"], found["parts"]["queue of decode"], found["parts"][REST]) == (
        100.0,
        200.0,
        50.0,
    )


@pytest.mark.parametrize(("npus", "transfer", "queue"), [(True, None, 300.0), (False, 40.0, 260.0)])
def test_what_prefill_sends_when_decode_asks_is_no_queue(npus, transfer, queue):
    """vLLM's own connector logs its transfers at prefill."""
    plan = {**PLAN, "engine_facts": {"npus": npus}}
    moved = transfers(plan, {"p0": P0, "d0": D0}, {"p0": {"transfers": 12, "transfer_ms": 480.0}})
    (found,) = passages(plan, [load({"p0": P0, "d0": D0})], moved)
    assert (found["parts"]["KV transfer"], found["parts"]["queue of decode"]) == (transfer, queue)
    assert found["parts"][REST] == 50.0


@pytest.mark.parametrize("engine", [None, {"queue_seconds": 3.0}])
def test_an_engine_that_does_not_tell_makes_no_rest(engine):
    (found,) = passages(PLAN, [load({"p0": P0, "d0": engine})], {})
    assert (
        found["parts"]["prefill"] == 200.0 and found["parts"]["further tokens"] is None and found["parts"][REST] is None
    )


def test_instances_of_a_pool_are_added():
    whole = {"queue_seconds": 0.5, "prefill_seconds": 1.0, "decode_seconds": 2.0}
    (found,) = passages(POOL, [load({"c0": whole, "c1": whole})], {})
    assert found["parts"] == {"queue": 100.0, "first token": 200.0, "tokens": 400.0, REST: 200.0}


@pytest.mark.parametrize("changes", [{"median": {}}, {"completed": 0}, {"round": "cold"}])
def test_what_has_no_whole_has_no_parts(changes):
    assert passages(PLAN, [load({"p0": P0, "d0": D0}, **changes)], {}) == [] and longest([]) == ""


def test_the_report_shows_the_parts():
    plan = plan_of("a3_2p1d")
    bench = bench_runs(plan, {"profile": "smoke"})
    names = [engine["name"] for kind in ("prefill", "decode") for engine in plan["verify"][kind]]
    engines = {name: {"requests": 10.0, "decode_seconds": 1.0, **P0} for name in names}
    figures = {
        "completed": 10,
        "failed": 0,
        "empty": 0,
        "short": 0,
        "first_error": "",
        "duration": 3.0,
        "e2el_mean": 9000.0,
    }
    results = [{"figures": figures, "engines": engines, "others": {}} for _run in bench["runs"]]
    report = bench_report(plan, bench, results, None)
    text = "\n".join(bench_text(report))
    assert [item["load"] for item in report["passages"]] == ["4/s"]
    assert "| ms of a request (mean) | queue of prefill |" in text and "A request of load 4/s spends " in text
