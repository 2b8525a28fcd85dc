# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A delay that is planted in one part of single requests is found in that part: the module, an entry, a router and two engines over HTTP.

The engines count like vLLM (strict doubles). The program sends one request after the other and writes the result of ``vllm bench serve``.
"""

from __future__ import annotations

import json
import socket
import statistics
import subprocess
import sys
import threading

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.bench.ways import walked
from ansible_collections.ascend.inference.plugins.modules import service_bench
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.passage import passages
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.services import transfers
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.trace.report import BEHIND, report_of, trace_report
from ansible_collections.ascend.inference.plugins.plugin_utils.trace.requests import runs_of, ways
from ansible_collections.ascend.inference.plugins.plugin_utils.trace.text import longest, page_of, text_of, trace_rows
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_bench_passage import (
    PLAN,
    PLANTED,
    STAGES,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_bench_passage import (
    REST as UNCOUNTED,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.traced_service import PROGRAM, Serving

REQUESTS = 2


def traced(tmp_path, delays, foreign=0, **lists):
    """The report of REQUESTS single requests through the module, and the seconds that each part really took."""
    serving = Serving(delays, **lists)
    try:
        serving.request()  # counters exist from the first request on
        serving.spent.clear()
        arguments = {
            "deployment": str(tmp_path),
            "directory": str(tmp_path),
            "argv": [sys.executable, "-c", PROGRAM, str(serving.ports["entry"]), str(REQUESTS)],
            "engines": serving.urls,
            "ways": serving.ways(),
        }
        done = subprocess.run(
            [sys.executable, "-m", service_bench.__name__],
            input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        serving.close()
    result = json.loads(done.stdout)
    result["engines"]["d0"]["requests"] += foreign
    figures = result["figures"]
    load = {
        "title": "1",
        "round": "",
        "completed": figures["completed"],
        "median": figures,
        "engines": result["engines"],
    }
    moved = transfers(PLAN, result["engines"], {})
    report = {"loads": [load], "engines": result["engines"], "transfers": moved, "findings": []}
    spent = {stage: seconds / REQUESTS for stage, seconds in serving.spent.items()}
    spent.update({"entry": statistics.median(serving.waited["entry"])})
    spent.update({BEHIND: statistics.mean(serving.waited["router"][-REQUESTS:])})
    return trace_report(PLAN, [{}, result], {**report, "passages": passages(PLAN, [load], moved)}), spent


ALL = ["entry", BEHIND, *(stage for stage in STAGES if stage != UNCOUNTED)]


@pytest.mark.parametrize("part", ALL)
def test_a_planted_delay_is_found_in_its_part(tmp_path, part):
    # What no engine counts is what is left, with all that a busy machine adds to it.
    delay = 2 * PLANTED if part in ("entry", BEHIND) else PLANTED
    report, spent = traced(tmp_path, {"router" if part == BEHIND else part: delay})
    parts = {row["part"]: row["ms"] for row in report["trace"]["parts"]}
    assert list(parts) == ALL
    assert parts[part] == pytest.approx(1000 * spent[part], rel=0.1), parts
    assert longest(report).endswith(f"is {part}")
    assert sum(parts.values()) == pytest.approx(report["trace"]["whole"], abs=0.1)
    assert report["findings"] == []


def test_each_part_says_by_what_it_was_measured(tmp_path):
    report, _spent = traced(tmp_path, {})
    by = {row["part"]: row["by"] for row in report["trace"]["parts"]}
    assert by["entry"] == "lists of models, through the entry and from the router"
    assert by["prefill"] == "counter prefill_seconds of p0"
    assert by["KV transfer"] == "counters of the connector"
    assert by["queue of decode"] == "counter queue_seconds of d0, less the transfer"
    assert [row[0] for row in trace_rows(report)][-2:] == ["whole", "until the first token"]


def test_requests_of_others_are_named(tmp_path):
    (finding,) = traced(tmp_path, {}, foreign=3)[0]["findings"]
    assert finding["id"] == "TRACE-OTHERS" and "3 requests of others while 2 of the trace" in finding["problem"]


@pytest.mark.parametrize(
    ("lists", "said"),
    [({"entry_lists": False}, "the entry answers 403"), ({"router_lists": False}, "")],
)
def test_an_answer_of_the_entry_itself_is_no_time_of_the_way_behind_it(tmp_path, lists, said):
    front, behind, *_others = traced(tmp_path, {}, **lists)[0]["trace"]["parts"]
    assert said in front["by"] and (front["ms"] is None) == (behind["ms"] is None) == bool(said)


def test_a_way_that_does_not_answer_leaves_the_part_unknown():
    gone = {"ms": None, "answer": "", "problem": "ConnectionRefusedError: refused"}
    well = {"ms": 2.0, "answer": "200", "problem": ""}
    report = {"loads": [], "passages": [], "engines": {}, "transfers": {}, "findings": []}
    (first, _second) = trace_report(PLAN, [{"ways": {"entry": well, "router": gone}}], report)["trace"]["parts"]
    assert first == {
        "part": "entry",
        "ms": None,
        "by": "not known: the router gave no list of models (ConnectionRefusedError: refused)",
    }


RESULT = {
    "figures": {
        "completed": 3,
        "failed": 0,
        "empty": 0,
        "short": 0,
        "first_error": "",
        "duration": 3.0,
        "e2el_mean": 900.0,
        "ttft_mean": 200.0,
    },
    "others": {},
}


def whole_report(**counters):
    plan = plan_of("a3_2p1d")
    runs = runs_of(plan, {"profile": "throughput", "rates": [4], "input": 77, "slo": {"ttft": 5}}, {}, [3])
    names = [engine["name"] for kind in ("prefill", "decode") for engine in plan["verify"][kind]]
    engines = {name: {"requests": 3.0 if name == "decode-0-0" else 0.0, **counters} for name in names}
    return runs, report_of(plan, runs, [{**RESULT, "engines": engines} for _run in runs["runs"]])


def test_the_requests_are_single_whatever_a_benchmark_sends():
    runs, _report = whole_report()
    (_warm_up, run) = runs["runs"]
    assert run["argv"][run["argv"].index("--max-concurrency") + 1] == "1"
    assert run["argv"][run["argv"].index("--num-prompts") + 1] == "3"
    assert "--request-rate" not in run["argv"] and "--goodput" not in run["argv"]
    assert (runs["settings"]["input"], runs["settings"]["output"]) == (77, 128)


def test_text_and_page_have_every_part():
    _runs, report = whole_report(queue_seconds=0.01, prefill_seconds=0.02, decode_seconds=0.03)
    text, page = "\n".join(text_of(report)), page_of(report)
    assert text.startswith("# Trace of ") and "3 requests, one after the other, with 77 tokens in and 128 out" in text
    for part in ("queue of prefill", "KV transfer", "further tokens", BEHIND, "until the first token"):
        assert part in text and part in page
    assert "not counted by this release" in text and "prefill-0, prefill-1" in text


def test_a_benchmark_has_no_trace():
    plan = plan_of("a3_2p1d")
    runs = runs_of(
        plan, {"profile": "latency", "repeats": 1}, {"inference_bench_json": "", "inference_bench_html": "x.html"}, []
    )
    assert runs["trace"] is False and runs["files"] == {"json": "", "html": "x.html"} and "ways" not in runs["options"]
    engines = {engine["name"]: {"requests": 1.0} for kind in ("prefill", "decode") for engine in plan["verify"][kind]}
    report = report_of(plan, runs, [{**RESULT, "engines": engines} for _run in runs["runs"]])
    assert "trace" not in report and text_of(report)[0].startswith("# Benchmark")


@pytest.mark.parametrize("number", [0, 0.5, "none", "", -1, 1001, "٣", True])
def test_a_wrong_number_of_requests_is_refused(number):
    with pytest.raises(PlanError, match="inference_trace_requests"):
        runs_of(plan_of("a3_2p1d"), {}, {}, [number])


def test_only_what_stands_in_front_of_the_router_has_two_ways():
    plan = plan_of("a3_2p1d")
    assert ways(plan) == []
    plan["verify"]["entry"] = {
        "name": "frontend",
        "url": "https://192.0.2.1:8443",
        "api_key": "k",
        "ca_path": "/ca.pem",
    }
    entry, router = ways(plan)
    assert entry == {
        "name": "entry",
        "url": "https://192.0.2.1:8443",
        "key": "clients",
        "ca_path": "/ca.pem",
        "server_name": "",
    }
    assert router["url"] == "http://192.0.2.11:8000" and router["key"] == "clients"
    plan["verify"]["engine_api_key"] = "k"
    assert ways(plan)[1]["key"] == "engines"


def test_what_a_peer_sends_is_shown_without_control_characters():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _address = server.accept()
            connection.recv(1000)
            connection.sendall(b"\x1b[2Jno protocol\r\n\r\n")
            connection.close()

        threading.Thread(target=answer, daemon=True).start()
        way = {"name": "entry", "url": f"http://127.0.0.1:{server.getsockname()[1]}", "key": "clients", "ca_path": ""}
        found = walked([{**way, "server_name": ""}], {})["entry"]
    assert found["ms"] is None and "no protocol" in found["problem"] and "\x1b" not in found["problem"]
