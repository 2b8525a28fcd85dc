# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A window of metrics: what counters gained, means of states, and nothing of services that did not answer or were restarted."""

from __future__ import annotations

from ansible_collections.ascend.inference.plugins.module_utils.bench import window
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply

ENGINE = {"name": "decode-0", "kind": "engine", "url": "http://192.0.2.1:7300"}
STORE = {"name": "mooncake-master", "kind": "store", "url": "http://192.0.2.2:9003"}


def engine_text(requests, usage):
    return (
        f'vllm:request_success_total{{engine="0",finished_reason="stop"}} {requests}\n'
        f'vllm:request_decode_time_seconds_sum{{engine="0"}} {requests * 0.5}\n'
        f'vllm:num_requests_running{{engine="0"}} 3\nvllm:num_requests_running{{engine="1"}} 1\n'
        f'vllm:kv_cache_usage_perc{{engine="0"}} {usage}\nvllm:kv_cache_usage_perc{{engine="1"}} 0.2\n'
    )


def watched(monkeypatch, answers, services=(ENGINE,), seconds=10.0):
    """The result with one answer after the other, the last one again and again; and what was slept and asked."""
    clock, slept, asked = [100.0], [], []

    def sleep(time):
        slept.append(time)
        clock[0] += time

    def ask(target, path, timeout):
        asked.append(target)
        answer = answers[min(len([one for one in asked if one.url == target.url]), len(answers)) - 1]
        return answer if isinstance(answer, Reply) else Reply(200, answer, 0.0, "")

    monkeypatch.setattr(window, "ask", ask)
    monkeypatch.setattr(window.time, "monotonic", lambda: clock[0])
    return window.watch(services, "key", seconds, sleep), slept, asked


def test_counters_gain_and_states_are_means(monkeypatch):
    found, slept, asked = watched(monkeypatch, [engine_text(10, 0.4), engine_text(20, 0.6)])
    engine = found["decode-0"]
    assert (engine["requests"], engine["decode_seconds"], engine["seconds"]) == (10.0, 5.0, 10.0)
    assert engine["running"] == 4.0
    # A share of each rank: (0.4 + 0.2) / 2 once, then (0.6 + 0.2) / 2.
    assert engine["kv_usage"] == round((0.3 + 5 * 0.4) / 6, 4)
    assert (len(slept), sum(slept), len(asked)) == (window.READINGS - 1, 10.0, window.READINGS)


def test_a_metric_that_is_not_there_is_not_zero(monkeypatch):
    engine = watched(monkeypatch, [engine_text(10, 0.4)])[0]["decode-0"]
    assert "preemptions" not in engine
    assert "waiting" not in engine


def test_an_engine_that_does_not_always_answer_is_unknown(monkeypatch):
    lost = Reply(0, "", 0.0, "refused")
    assert watched(monkeypatch, [engine_text(10, 0.4), lost, engine_text(20, 0.4)])[0] == {"decode-0": None}
    found, _slept, asked = watched(monkeypatch, [Reply(401, "", 0.0, "")])
    assert found == {"decode-0": None} and len(asked) == 1, "it is not asked again"


def test_a_page_that_is_cut_off_is_unknown(monkeypatch):
    """Its last number may be the begin of another one."""
    cut = Reply(200, engine_text(20, 0.4)[:-1], 0.0, "cut")
    assert watched(monkeypatch, [engine_text(10, 0.4), cut])[0] == {"decode-0": None}


def test_an_infinite_state_is_unknown(monkeypatch):
    engine = watched(monkeypatch, [engine_text(10, "+Inf"), engine_text(20, "-Inf")])[0]["decode-0"]
    assert "kv_usage" not in engine and engine["requests"] == 10.0


def test_an_engine_that_was_restarted_is_unknown(monkeypatch):
    assert watched(monkeypatch, [engine_text(10, 0.4), engine_text(2, 0.4), engine_text(30, 0.4)])[0] == {
        "decode-0": None
    }


def test_the_key_is_for_engines_only(monkeypatch):
    text = "master_allocated_bytes 90\nmaster_total_capacity_bytes 100\nmaster_successful_evictions_total 3\n"
    found, _slept, asked = watched(monkeypatch, [text], [ENGINE, STORE])
    assert found["mooncake-master"] == {
        "evictions": 0.0,
        "allocated_bytes": 90.0,
        "capacity_bytes": 100.0,
        "seconds": 10.0,
    }
    assert {(target.url, target.token) for target in asked} == {(ENGINE["url"], "key"), (STORE["url"], "")}


ROUTER = {"name": "router", "kind": "router", "url": "http://192.0.2.3:29000"}


def both(monkeypatch, first, second):
    """What the counters of router and store gained between two pages of both."""
    pages = [first, second]
    monkeypatch.setattr(window, "ask", lambda target, path, timeout: pages[0][target.url])
    before = window.read_counters([ROUTER, STORE])
    pages.pop(0)
    return window.gained([ROUTER, STORE], before, window.read_counters([ROUTER, STORE]))


def page(router, store):
    return {ROUTER["url"]: Reply(200, router, 0.0, ""), STORE["url"]: Reply(200, store, 0.0, "")}


def test_counters_of_router_and_store_around_a_measurement(monkeypatch):
    store = "total_get_nums_ {}\nvalid_get_nums_ {}\n"
    routed = 'vllm_router_pd_requests_total{{route="/v1/completions"}} {}\n'
    errors = 'vllm_router_pd_errors_total{error_type="x"} 2\nvllm_router_pd_decode_errors_total{worker="y"} 1\n'
    found = both(
        monkeypatch, page(routed.format(3), store.format(5, 5)), page(routed.format(9) + errors, store.format(8, 6))
    )
    # The counter of errors appears with its first one.
    assert found == {
        "router": {"pd_requests": 6.0, "errors": 2.0, "decode_errors": 1.0},
        "mooncake-master": {"reads": 3.0, "found": 1.0},
    }


def test_a_store_that_restarted_and_a_router_that_is_lost_are_unknown(monkeypatch):
    store = "total_get_nums_ {}\n"
    second = {**page("", store.format(1)), ROUTER["url"]: Reply(0, "", 0.0, "refused")}
    assert both(monkeypatch, page("", store.format(5)), second) == {"router": None, "mooncake-master": None}
