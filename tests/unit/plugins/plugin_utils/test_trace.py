# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A delay that is planted in one part of single requests is found in that part: the module, an entry, a router and two engines over HTTP.

The engines count like vLLM (strict doubles). The program sends one request after the other and writes the result of ``vllm bench serve``.
"""

from __future__ import annotations

import http.client
import http.server
import json
import subprocess
import sys
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.modules import service_bench
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.passage import passages
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.services import transfers
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.trace.report import BEHIND, report_of, trace_report
from ansible_collections.ascend.inference.plugins.plugin_utils.trace.requests import runs_of, ways
from ansible_collections.ascend.inference.plugins.plugin_utils.trace.text import longest, page_of, text_of, trace_rows
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_bench_passage import (
    NORMAL,
    PLAN,
    PLANTED,
    STAGES,
    Engines,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_bench_passage import (
    REST as UNCOUNTED,
)

REQUESTS = 2
PROGRAM = """
import http.client, json, sys, time
folder, name = (sys.argv[sys.argv.index(option) + 1] for option in ("--result-dir", "--result-filename"))
connection, taken = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1])), []
for number in range(int(sys.argv[2])):
    begin = time.monotonic()
    connection.request("POST", "/v1/completions", "{}")
    assert connection.getresponse().read() == b"{}"
    taken.append(1000 * (time.monotonic() - begin))
mean = sum(taken) / len(taken)
known = {"completed": len(taken), "failed": 0, "output_lens": [2] * len(taken), "errors": [""] * len(taken)}
json.dump({**known, "mean_e2el_ms": mean, "mean_ttft_ms": mean / 2}, open(folder + "/" + name, "w"))
"""


class Serving(Engines):
    """The engines behind a router, and that behind an entry. Each has its delay for every request, also for a list of models."""

    def __init__(self, delays, router_lists=True, entry_lists=True):
        super().__init__(delays)
        # The client's time that no engine counts is that of entry and router here, and of nothing else.
        self.delays[UNCOUNTED] = 0
        self.between = {"entry": NORMAL, "router": NORMAL} | {
            name: delays[name] for name in delays if name not in STAGES
        }
        self.routers = [self.serve(self.router(router_lists))]
        self.routers.append(self.serve(self.entry(entry_lists)))
        self.ports = {"router": self.routers[0].server_port, "entry": self.routers[1].server_port}

    def serve(self, handler):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def wait(self, name):
        time.sleep(self.between[name])

    def router(self, lists):
        outer = self

        class Router(Proxy):
            def do_GET(self):
                outer.wait("router")
                self.answer(b'{"data": []}') if lists else self.answer(b"no such path", 404)

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                outer.wait("router")
                outer.request()
                self.answer(b"{}")

        return Router

    def entry(self, lists):
        outer = self

        class Entry(Proxy):
            def do_GET(self):
                self.pass_on("GET") if lists else self.answer(b"refused", 403)

            def do_POST(self):
                self.pass_on("POST", self.rfile.read(int(self.headers["Content-Length"])))

            def pass_on(self, method, body=None):
                outer.wait("entry")
                connection = http.client.HTTPConnection("127.0.0.1", outer.ports["router"])
                connection.request(method, self.path, body)
                response = connection.getresponse()
                self.answer(response.read(), response.status)
                connection.close()

        return Entry

    def close(self):
        for server in (*self.routers, self.server):
            server.shutdown()
            server.server_close()

    def ways(self):
        common = {"key": "clients", "ca_path": "", "server_name": ""}
        return [{"name": name, "url": f"http://127.0.0.1:{self.ports[name]}", **common} for name in ("entry", "router")]


class Proxy(http.server.BaseHTTPRequestHandler):
    """One connection for several requests, as clients use it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        pass


def traced(tmp_path, delays, foreign=0, **lists):
    """The report of REQUESTS single requests through the module."""
    serving = Serving(delays, **lists)
    try:
        serving.request()  # counters exist from the first request on
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
    return trace_report(PLAN, [{}, result], {**report, "passages": passages(PLAN, [load], moved)})


ALL = ["entry", BEHIND, *(stage for stage in STAGES if stage != UNCOUNTED)]


@pytest.mark.parametrize("part", ALL)
def test_a_planted_delay_is_found_in_its_part(tmp_path, part):
    report = traced(tmp_path, {"router" if part == BEHIND else part: PLANTED})
    parts = {row["part"]: row["ms"] for row in report["trace"]["parts"]}
    assert list(parts) == ALL
    assert parts[part] == pytest.approx(1000 * PLANTED, rel=0.1), parts
    assert longest(report).endswith(f"is {part}")
    assert sum(parts.values()) == pytest.approx(report["trace"]["whole"], abs=0.1)
    assert report["findings"] == []


def test_each_part_says_by_what_it_was_measured(tmp_path):
    report = traced(tmp_path, {})
    by = {row["part"]: row["by"] for row in report["trace"]["parts"]}
    assert by["entry"] == "lists of models, through the entry and from the router"
    assert by["prefill"] == "counter prefill_seconds of p0"
    assert by["KV transfer"] == "counters of the connector"
    assert by["queue of decode"] == "counter queue_seconds of d0, less the transfer"
    assert [row[0] for row in trace_rows(report)][-2:] == ["whole", "until the first token"]


def test_requests_of_others_are_named(tmp_path):
    (finding,) = traced(tmp_path, {}, foreign=3)["findings"]
    assert finding["id"] == "TRACE-OTHERS" and "3 requests of others while 2 of the trace" in finding["problem"]


@pytest.mark.parametrize(
    ("lists", "said"),
    [({"entry_lists": False}, "the entry answers 403"), ({"router_lists": False}, "")],
)
def test_an_answer_of_the_entry_itself_is_no_time_of_the_way_behind_it(tmp_path, lists, said):
    front, behind, *_others = traced(tmp_path, {}, **lists)["trace"]["parts"]
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
