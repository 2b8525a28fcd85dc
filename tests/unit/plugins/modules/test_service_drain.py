# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""service_drain: what counts as idle at prefill and decode, and that the wait ends."""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import NamedTuple

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.router.drain import (
    Engine,
    drain,
    fix_of,
    left_in,
    metrics_of,
)

RUNNING, WAITING, USAGE = "vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"
FINISHED = "vllm:request_success_total"
IDLE = {RUNNING: 0.0, WAITING: 0.0}
PREFILL, DECODE = Engine("prefill-1", "prefill", "http://p1"), Engine("decode-1", "decode", "http://d1")


class Waited(NamedTuple):
    seconds: float
    busy: dict


def waited(engine, readings, others=(), timeout=100):
    """(seconds, busy) of a drain in which each reading of the engine is the next of a list, and the last one stays."""
    series = {engine.url: iter(readings), "http://p0": iter(others)}
    last = {}

    def read(url):
        last[url] = next(series[url], last.get(url, {}))
        return {**IDLE, **last[url]} if isinstance(last[url], dict) else last[url]

    now = [0.0]

    def sleep(seconds):
        now[0] += seconds

    upstream = ["http://p0"] if others else []
    return Waited(*drain([engine], upstream, timeout, 2, read, lambda: now[0], sleep)[:2])


@pytest.mark.parametrize("name", [RUNNING, WAITING])
@pytest.mark.parametrize("engine", [PREFILL, DECODE])
def test_requests_are_waited_for(engine, name):
    assert waited(engine, [{}]).seconds == 2
    assert waited(engine, [{name: 1.0}] * 6 + [{}]) == (5.0, {})


def test_a_machine_that_started_since_begins_anew():
    """Its clock is younger than that of the earlier call: an idle time in the future would never be long enough."""
    now = [5.0]

    def sleep(seconds):
        now[0] += seconds

    begun = {"began": 9000.0, "idle_since": 9001.0, "due": {}, "fetched": {}}
    found = drain([PREFILL], (), 60, 2, lambda url: IDLE, lambda: now[0], sleep, begun=begun)
    assert found[:2] == (2.0, {})


def test_an_engine_must_stay_idle():
    assert waited(DECODE, [{}, {}, {RUNNING: 1.0}, {}]).seconds == 3.5


def test_held_blocks_count_at_prefill_only():
    assert waited(PREFILL, [{USAGE: 0.01}] * 4 + [{USAGE: 0.0}]).seconds == 4
    assert waited(DECODE, [{USAGE: 0.01}]).seconds == 2


def test_decode_waits_for_prefill_that_may_have_chosen_it():
    busy = [{RUNNING: 2.0, FINISHED: 5.0}] * 4
    assert waited(DECODE, [{}], [*busy, {RUNNING: 2.0, FINISHED: 7.0}]).seconds == 3.5
    assert waited(DECODE, [{}], [*busy, {RUNNING: 2.0, FINISHED: 6.0}], timeout=9).seconds == 9
    assert waited(PREFILL, [{}], busy).seconds == 2


def test_the_wait_ends():
    assert waited(DECODE, [{RUNNING: 3.0, WAITING: 1.0}], timeout=7) == (
        7,
        {"decode-1": "3 requests running, 1 request waiting"},
    )
    assert waited(PREFILL, [{USAGE: 0.5}], timeout=7).busy == {"prefill-1": "50.00% of its KV cache held for decode"}


UNKNOWN = "requests that are not known (timeout at /metrics)"
HELD = {USAGE: 0.001}
TEXT = {"prefill-1": "0.10% of its KV cache held for decode"}


def fetched(decode, prefill=(HELD,), timeout=40, **more):
    """(seconds, busy) of a drain of a prefill engine that holds KV cache, while a decode engine is read so; each last reading stays."""
    series, last, now = {"http://p1": iter(prefill), "http://d1": iter(decode)}, {}, [0.0]

    def read(url):
        last[url] = next(series[url], last.get(url))
        return {**IDLE, **last[url]} if isinstance(last[url], dict) else last[url]

    def sleep(seconds):
        now[0] += seconds

    found = drain([PREFILL], (), timeout, 2, read, lambda: now[0], sleep, downstream=["http://d1"], **more)
    return found.seconds, found.busy


@pytest.mark.parametrize("reading", [None, {}, {RUNNING: 9.0}])
def test_nobody_fetches_what_is_held_for_a_decode_engine_that_is_gone(reading):
    """The one that is there has all that it runs."""
    assert fetched([reading]) == (4, {})


@pytest.mark.parametrize("reading", [{WAITING: 1.0}, UNKNOWN])
def test_what_a_decode_engine_may_fetch_is_waited_for(reading):
    assert fetched([reading]) == (40, TEXT)
    assert fetched([reading, reading, {}]) == (5, {})


def test_a_request_has_time_to_get_from_prefill_to_decode():
    running = [{**HELD, RUNNING: 1.0}] * 6
    assert fetched([{}], [*running, HELD]) == (7, {})
    assert fetched([{}, {}], [*running, {USAGE: 0.003}, {USAGE: 0.002}, HELD]) == (8, {})
    assert fetched([{WAITING: 1.0}], [*running, {}], 90) == (5, {}), "nothing is held"


def test_a_wait_goes_on_where_a_call_stopped():
    now = [5000.0]

    def sleep(seconds):
        now[0] += seconds

    readings = {"http://p1": HELD, "http://d1": {RUNNING: 1.0}, "http://p0": {RUNNING: 2.0, FINISHED: 5.0}}

    def waited_for(engines, begun):
        def read(url):
            return {**IDLE, **readings[url]}

        given = {"downstream": ["http://d1"], "within": 15, "begun": json.loads(json.dumps(begun))}
        return drain(engines, ["http://p0"], 40, 2, read, lambda: now[0], sleep, **given)

    first = waited_for([PREFILL, DECODE], {})
    assert (first.seconds, first.busy) == (15, {"decode-1": "1 request running"})
    now[0] += 1
    readings["http://d1"] = {}
    second = waited_for([PREFILL, DECODE], first.begun)
    assert (second.seconds, second.busy) == (31, {"decode-1": "requests at prefill that may be sent to it"})
    readings["http://p0"] = {RUNNING: 2.0, FINISHED: 7.0}
    assert waited_for([PREFILL, DECODE], second.begun)[:2] == (33, {}), (
        "those that were there at the beginning have finished"
    )
    readings["http://p0"] = {RUNNING: 2.0, FINISHED: 5.0}
    last = waited_for([PREFILL, DECODE], {**second.begun, "began": 4990.0})
    assert (last.seconds, last.begun, list(last.busy)) == (43, {}, ["decode-1"]), "the time counts from the first call"


def test_an_engine_that_is_gone_has_no_requests():
    assert waited(DECODE, [None]).seconds == 2


def test_an_engine_that_tells_nothing_may_have_requests():
    assert waited(DECODE, [UNKNOWN] * 6 + [{}]) == (5.0, {})
    assert waited(PREFILL, [UNKNOWN], timeout=7) == (7, {"prefill-1": UNKNOWN})


def test_what_prefill_has_promised_is_not_forgotten_while_it_tells_nothing():
    busy = {RUNNING: 2.0, FINISHED: 5.0}
    rows = [busy, UNKNOWN, UNKNOWN, busy, {RUNNING: 2.0, FINISHED: 7.0}]
    assert waited(DECODE, [{}], rows).seconds == 3.5
    assert waited(DECODE, [{}], [UNKNOWN, UNKNOWN, busy, busy, {RUNNING: 1.0, FINISHED: 7.0}]).seconds == 3.5
    assert waited(DECODE, [{}], [UNKNOWN], timeout=9) == (9, {"decode-1": "requests at prefill that may be sent to it"})


@pytest.mark.parametrize(("status", "known"), [(200, True), (500, False), (0, False)])
def test_only_an_engine_that_is_not_there_is_gone(status, known):
    """``status`` 0: it accepts the connection and ends it without an answer."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *unused):
            pass

        def do_GET(self):
            if status:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(b'vllm:num_requests_running{engine="0"} 1.0\n')

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    found = metrics_of(url)
    server.shutdown()
    server.server_close()
    assert (found[RUNNING] == 1.0) if known else ("requests that are not known" in found)
    assert metrics_of(url) is None, "nobody listens any more"


@pytest.mark.parametrize(
    ("number", "gone"),
    [
        (errno.ECONNREFUSED, True),
        (errno.EHOSTUNREACH, True),
        (errno.EADDRNOTAVAIL, False),
        (errno.EMFILE, False),
        (errno.ENFILE, False),
        (errno.ENOBUFS, False),
        (errno.ENOMEM, False),
    ],
)
def test_a_machine_that_cannot_connect_at_all_knows_nothing_of_an_engine(monkeypatch, number, gone):
    """Under load, a router's host may have no port left for another connection."""

    def refuse(*_given, **_named):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(socket, "create_connection", refuse)
    found = metrics_of("http://192.0.2.1:7300")
    assert found is None if gone else "requests that are not known" in found


@pytest.fixture
def engine():
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *unused):
            pass

        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'vllm:num_requests_running{engine="0"} 1.0\nvllm:num_requests_waiting{engine="0"} 0.0\n')

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield {"name": "decode-1", "kind": "decode", "url": f"http://127.0.0.1:{server.server_port}"}
    server.shutdown()
    server.server_close()


def test_the_module_warns_and_goes_on(run_module, engine):
    found = run_module("service_drain", engines=[engine], timeout=1)
    assert (found["failed"], found["changed"], found["busy"]) == (False, False, {"decode-1": "1 request running"})
    assert (
        "decode-1 has 1 request running after 1 s, and is stopped now: these requests may fail. Fix: if requests"
        in str(found["warnings"])
    )
    assert run_module("service_drain", engines=[engine], timeout=100, check=True)["seconds"] == 0
    first = run_module("service_drain", engines=[engine], timeout=2, within=1)
    assert (first["busy"], first["warnings"]) == ({"decode-1": "1 request running"}, [])
    last = run_module("service_drain", engines=[engine], timeout=2, within=9, begun=first["begun"])
    assert (last["begun"], last["seconds"] < 4) == ({}, True)
    assert "after 2 s, and is stopped now" in str(last["warnings"])


@pytest.mark.parametrize(
    ("engine", "found", "text"),
    [
        (PREFILL, None, ""),
        (PREFILL, "not known", "not known"),
        (PREFILL, {RUNNING: 2.0, WAITING: 1.0}, "2 requests running, 1 request waiting"),
        (PREFILL, {RUNNING: 0.0, WAITING: 0.0, USAGE: 1e-6}, ""),
        (PREFILL, {**IDLE, USAGE: 0.0123}, "1.23% of its KV cache held for decode"),
        (PREFILL, {**IDLE, "vllm:gpu_cache_usage_perc": 0.5}, "50.00% of its KV cache held for decode"),
        (DECODE, {**IDLE, USAGE: 0.5}, ""),
        (DECODE, {}, f"requests that are not known (no {RUNNING} and no {WAITING} at /metrics)"),
        (DECODE, {RUNNING: 0.0}, f"requests that are not known (no {WAITING} at /metrics)"),
        (PREFILL, {WAITING: 3.0}, f"requests that are not known (no {RUNNING} at /metrics)"),
    ],
)
def test_what_an_engine_has_left(engine, found, text):
    assert left_in(engine, found) == text


def test_at_the_end_of_the_time_only_decode_is_said_to_wait_for_prefill():
    busy = [{RUNNING: 2.0, FINISHED: 5.0}]
    found = waited(DECODE, [{RUNNING: 1.0}], busy, timeout=1)
    assert found == (1.0, {"decode-1": "1 request running"})
    assert waited(DECODE, [{}], busy, timeout=1) == (1.0, {"decode-1": "requests at prefill that may be sent to it"})


def test_requests_that_wait_at_prefill_are_promised_as_well():
    rest = {RUNNING: 1.0, FINISHED: 7.0}
    assert (
        waited(DECODE, [{}], [{RUNNING: 1.0, WAITING: 1.0, FINISHED: 5.0}, {RUNNING: 1.0, FINISHED: 6.0}, rest]).seconds
        == 2.5
    )
    assert waited(DECODE, [{}], [None]).seconds == 2


def gauges(rank, running, finished):
    return {
        f"{RUNNING}{{engine={rank}}}": running,
        f"{WAITING}{{engine={rank}}}": 0.0,
        f"{FINISHED}{{engine={rank}}}": finished,
    }


def test_each_rank_of_prefill_finishes_what_it_has():
    """One rank is busy with a long prompt while the other finishes many short ones."""
    rows = [
        {RUNNING: 2.0, FINISHED: 10.0 + number, **gauges(0, 1.0, 5.0), **gauges(1, 1.0, 5.0 + number)}
        for number in range(20)
    ]
    done = {RUNNING: 2.0, FINISHED: 31.0, **gauges(0, 1.0, 6.0), **gauges(1, 1.0, 25.0)}
    assert waited(DECODE, [{}], [*rows, done]).seconds == 11.5
    idle = {RUNNING: 1.0, FINISHED: 31.0, **gauges(0, 0.0, 5.0), **gauges(1, 1.0, 25.0)}
    assert waited(DECODE, [{}], [*rows, idle]).seconds == 11.5


def test_prefill_that_starts_anew_under_load_has_lost_what_it_promised():
    rows = [{RUNNING: 2.0, FINISHED: 5000.0}, {RUNNING: 2.0, FINISHED: 5000.0}, None, {RUNNING: 2.0, FINISHED: 3.0}]
    assert waited(DECODE, [{}], rows).seconds == 2.5
    assert waited(DECODE, [{}], [rows[0], rows[1], UNKNOWN, rows[3]]).seconds == 3


def test_prefill_without_counters_may_have_requests():
    clock = iter(range(99)).__next__
    found = drain([DECODE], ["http://p0"], 3, 2, lambda url: IDLE if url == DECODE.url else {}, clock, lambda _s: None)
    assert found.busy == {"decode-1": "requests at prefill that may be sent to it"}


@pytest.mark.parametrize(
    ("found", "fixes"),
    [
        (
            {**IDLE, RUNNING: 2.0},
            ("raise inference_drain_timeout. If they do not end because an engine hangs", "run restart for it"),
        ),
        (UNKNOWN, ("raise inference_drain_timeout. If they do not end because an engine hangs", "run restart for it")),
        ({}, ("remove disable-log-stats", "each drain waits for its whole time")),
    ],
    ids=["long or hanging", "no answer", "no counters"],
)
def test_each_cause_has_its_own_fix(found, fixes):
    text = fix_of(left_in(DECODE, found))
    assert text.startswith("these requests may fail. Fix: ") and all(fix in text for fix in fixes)


def test_what_nobody_fetches_is_not_waited_for_longer():
    text = fix_of(left_in(PREFILL, {**IDLE, USAGE: 0.0012}))
    assert text.startswith("it has no requests any more") and "Fix: none, if a decode engine ended" in text
    assert "inference_kv_hold_timeout" in text
    busy = fix_of(left_in(PREFILL, {**IDLE, RUNNING: 1.0, USAGE: 0.0012}))
    assert busy.startswith("these requests may fail") and "inference_kv_hold_timeout" not in busy
