# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of benchmarks and of live metrics at the edges from which on they say something else: each function alone, as tables."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.advise import evidence, pools
from ansible_collections.ascend.inference.plugins.plugin_utils.advise import report as advice
from ansible_collections.ascend.inference.plugins.plugin_utils.advise.evidence import NEEDED, Evidence
from ansible_collections.ascend.inference.plugins.plugin_utils.advise.sizes import Sizes
from ansible_collections.ascend.inference.plugins.plugin_utils.bench import comparable, pool, report, services
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.settings import Bench, read_bench
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of


def rows(findings):
    return [(item.id, item.path, item.severity) for item in findings]


# ---- the report of a benchmark ----


def load(**values):
    parts = {part: {"ttft_p50": 100.0, "output_throughput": 100.0} for part in ("median", "least", "most")}
    counts = {"completed": 8, "failed": 0, "empty": 0, "short": 0, "uncounted": 0, "first_error": "", "measurements": 3}
    return {"load": 4, "round": "", "title": "4", "loaded_share": None, **counts, **parts, **values}


def ranged(low, middle, high, name="ttft_p50", number=3):
    return load(median={name: middle}, least={name: low}, most={name: high}, measurements=number)


@pytest.mark.parametrize(
    ("now", "before", "number", "verdict"),
    [
        ((105, 105, 105), (100, 100, 100), 3, "same"),  # 5 % is no difference
        ((106, 106, 106), (100, 100, 100), 3, "worse"),
        ((94, 94, 94), (100, 100, 100), 3, "better"),
        ((95, 95, 95), (100, 100, 100), 3, "same"),
        ((130, 135, 140), (100, 110, 120), 3, "same"),  # apart by half of the wider range
        ((141, 145, 150), (100, 110, 120), 3, "worse"),  # by more than all of it
        ((140, 145, 150), (100, 110, 120), 3, "same"),
        ((130, 135, 140), (100, 110, 120), 4, "same"),
        ((131, 135, 140), (100, 110, 120), 4, "worse"),
        ((120, 135, 140), (100, 110, 120), 5, "same"),  # the ranges touch
        ((121, 135, 140), (100, 110, 120), 5, "worse"),
        ((121, 135, 140), (100, 110, 120), 9, "worse"),
        ((300, 300, 300), (100, 100, 100), 2, "not judged"),
    ],
)
def test_how_far_ranges_have_to_be_apart(now, before, number, verdict):
    new, old = ranged(*now, number=number), ranged(*before, number=number + 1)
    assert report._verdict("ttft_p50", new, old) == verdict
    assert report._verdict("ttft_p50", {**new, "measurements": 9}, {**old, "measurements": number}) == verdict
    opposite = {"worse": "better", "better": "worse"}.get(verdict, verdict)
    for name in ("output_throughput", "request_throughput", "total_token_throughput", "request_goodput"):
        assert report._verdict(name, ranged(*now, name, number), ranged(*before, name, number)) == opposite


@pytest.mark.parametrize(
    ("values", "rules"),
    [
        ({}, []),
        ({"failed": 1}, ["BENCH-FAILED"]),
        ({"empty": 1}, ["BENCH-EMPTY"]),
        ({"short": 1}, ["BENCH-SHORT"]),
        ({"uncounted": 1}, ["BENCH-UNCOUNTED"]),
        ({"completed": 0}, ["BENCH-UNCOUNTED"]),
        ({"completed": 0, "failed": 3}, ["BENCH-FAILED"]),
    ],
)
def test_answers_that_are_wrong(values, rules):
    found = list(report._wrong_answers([load(**values)]))
    assert rows(found) == [(rule, "load 4", "error") for rule in rules]
    if values.get("failed"):
        asked = values.get("completed", 8) + values["failed"]
        assert found[0].problem == f"{values['failed']} of {asked} requests failed: no reason is known"


@pytest.mark.parametrize(
    ("gained", "loads", "rule"),
    [
        (None, [4], "BENCH-COUNTERS"),
        ({}, [4], "BENCH-COUNTERS"),
        ({"requests": 0.0}, [1, 2], "BENCH-IDLE"),
        ({"requests": 0.0}, [1], None),  # one request at a time may go to one engine only
        ({"requests": 0.0}, [], None),
        ({"requests": 1.0}, [4], None),
    ],
)
def test_the_share_of_an_engine(gained, loads, rule):
    found = list(report._shares({"e": gained}, [load(load=number) for number in loads]))
    assert rows(found) == ([(rule, "e", "warning")] if rule else [])


@pytest.mark.parametrize(
    ("low", "high", "number", "wide"), [(95, 105, 2, 0), (95, 105.1, 2, 1), (95, 105.1, 1, 0), (50, 200, 3, 1)]
)
def test_a_spread_of_more_than_a_tenth_is_wide(low, high, number, wide):
    for name in ("ttft_p50", "output_throughput"):
        found = rows(report._wide([ranged(low, 100, high, name, number)]))
        assert found == [("BENCH-SPREAD", "load 4", "warning")] * wide
    assert list(report._wide([ranged(low, 100, high, "ttft_p99", number), ranged(0, 0, 9)])) == []


@pytest.mark.parametrize(
    ("name", "share", "ttft", "rules"),
    [
        ("own memory", 0.5, 99, []),
        ("own memory", 0.499, 99, ["BENCH-POOL-MISS"]),
        ("other instance", 0.0, 99, ["BENCH-POOL-MISS"]),
        ("other instance", None, 99, ["BENCH-POOL-UNKNOWN"]),
        ("own memory", 0.9, 100, ["BENCH-POOL-SLOW"]),
        ("own memory", 0.9, None, []),
        ("own memory", 0.9, 0.0, []),
        ("cold", 0.0, 999, []),
        ("", None, 999, []),
    ],
)
def test_what_a_round_of_a_pool_gains(name, share, ttft, rules):
    severity = {"BENCH-POOL-MISS": "error"}
    cold = load(round="cold", title="4 cold")
    tried = load(round=name, title="4 x", loaded_share=share, median={"ttft_p50": ttft})
    assert rows(report._gains([cold, tried] if name != "cold" else [tried])) == [
        (rule, "load 4 x", severity.get(rule, "warning")) for rule in rules
    ]
    assert [rule for rule, _path, _severity in rows(report._gains([tried])) if rule.endswith("SLOW")] == []


@pytest.mark.parametrize(
    ("gained", "share"),
    [
        ([{"tokens_from_outside": 10.0, "prompt_tokens": 30.0}], 0.333),
        (
            [{"tokens_from_outside": 0.0, "prompt_tokens": 30.0}, {"tokens_from_outside": 30.0, "prompt_tokens": 30.0}],
            0.5,
        ),
        ([{"tokens_from_outside": 10.0, "prompt_tokens": 0.0}], None),
        ([{"prompt_tokens": 30.0}], None),
        ([{"tokens_from_outside": 10.0, "prompt_tokens": 30.0}, None], None),
    ],
)
def test_the_share_of_tokens_that_were_loaded(gained, share):
    chosen = [({"engine": "e"}, {"engines": {"e": item, "f": {"prompt_tokens": 1.0}}}) for item in gained]
    assert report._loaded_share(chosen) == share


def test_rates_are_per_npu_and_latencies_are_not():
    parts = {"ttft_p50": 8.0, "output_throughput": 80.0, "request_goodput": None}
    found = report._per_device(load(median=parts, least=parts, most=parts), 4)
    assert found["median"] == found["least"] == found["most"] == {**parts, "output_throughput": 20.0}
    assert found["title"] == "4"


def tuned(found, **more):
    return {"settings": [{"setting": name, "found": value} for name, value in {"a": found, **more}.items()]}


def test_hosts_that_were_tuned_otherwise():
    def problems(before, now):
        return [item.problem for item in report._tuned_otherwise({"tuning": before} if before else None, now)]

    assert problems({"n": tuned("1")}, {"n": tuned("1")}) == []
    assert problems({"n": tuned("1")}, {"n": tuned("2")}) == ["a is 2, before 1"]
    assert problems({"n": tuned("1")}, {"n": tuned("1", b="3")}) == []  # a setting that nobody looked at before
    assert problems({"m": tuned("1")}, {"n": tuned("2")}) == [] == problems(None, {"n": tuned("2")})
    (found,) = problems({"n": tuned(report.UNKNOWN)}, {"n": tuned(report.UNKNOWN)})
    assert found == "a is unknown in one of the reports"
    many = {name: "1" for name in "bcdef"}
    (found,) = problems({"n": tuned("1", **many)}, {"n": tuned("2", **dict.fromkeys(many, "2"))})
    assert found.count("before 1") == 4


# ---- what is compared ----


@pytest.mark.parametrize(
    ("old", "changed"),
    [
        ({}, []),
        ({"driver": "aisbench"}, ["driver"]),
        ({"driver": None}, ["driver"]),
        *(({name: "other"}, [name]) for name in ("profile", "input", "prefix", "prefixes", "output", "trace", "data")),
        ({"repeats": 9, "loads": [1]}, []),
        ({"trace": "x", "input": 3}, ["input", "trace"]),
    ],
)
def test_settings_with_which_other_requests_are_sent(old, changed):
    settings = {"driver": "vllm", "profile": "p", "input": 1, "prefix": 0, "prefixes": 0, "output": 2, "trace": ""}
    settings |= {"data": "", "rates": [], "chat": False, "at_once": 0}
    without = {name: value for name, value in settings.items() if name != "driver"}  # as older reports
    assert comparable.other_settings({"settings": {**without, **old}}, settings) == changed


def test_figures_of_other_limits_npus_and_versions():
    names = ["ttft_p50", "request_goodput"]
    assert comparable.figures({"slo": {"ttft": 1}}, {"ttft": 1}, names) == names
    assert (
        comparable.figures({"slo": {"ttft": 2}}, {"ttft": 1}, names)
        == comparable.figures({}, {"ttft": 1}, names)
        == names[:1]
    )
    old = {"devices": 8, "loads": [{"title": "4", "median": {"a": 1}}, {"title": "8", "median": {"a": 2}}]}
    assert comparable.earlier(old, [{"load": "8"}], {"devices": 8}) == {"8": {"a": 2}}
    assert comparable.earlier(old, [{"load": "8"}], {"devices": 16}) == {}
    assert comparable.other_versions({"versions": {"a": "1", "b": "2", "d": "4"}}, {"a": "1", "b": "3", "c": "1"}) == {
        "b": "2",
        "d": "4",
        "c": "none",
    }
    assert comparable.other_versions({}, {"a": "1"}) == {}
    assert list(comparable.about_models({}, "m")) == list(comparable.about_models({"model": "m"}, "m")) == []
    assert rows(comparable.about_models({"model": "n"}, "m")) == [("BENCH-MODEL", "inference_bench_compare", "warning")]


@pytest.mark.parametrize(
    ("before", "now", "limits", "named"),
    [
        (5.0, None, {"ttft": 2}, True),
        (None, 5.0, {"ttft": 2}, True),
        (0.0, None, {}, True),
        (None, None, {"ttft": 2}, False),
        (5.0, 5.0, {"ttft": 1, "tpot": 0}, False),
    ],
)
def test_limits_of_good_requests_matter_where_some_were_counted(before, now, limits, named):
    old = {"slo": limits, "loads": [load(median={"request_goodput": before})]}
    found = list(comparable.about_limits(old, {"ttft": 1, "tpot": 0}, [load(median={"request_goodput": now})]))
    assert rows(found) == [("BENCH-SLO", "inference_bench_compare", "warning")] * named
    if named:
        shown = "ttft 2" if limits else "not set"
        assert f"was {shown} before and is ttft 1" in found[0].problem


def test_what_was_known_before_and_is_missing():
    old = {"loads": [load(median={"a": 1.0, "b": None}), load(title="8", median={"a": 1.0})]}
    found = list(comparable.about_missing(old, [load(median={"b": 2.0})], ["a", "b"]))
    assert [(item.severity, item.problem) for item in found] == [
        ("error", "a at load 4: known before, and not in this report"),
        ("warning", "load 8 of the earlier report was not measured again"),
    ]
    assert list(comparable.about_missing(old, [load(title="16")], ["a"])) == []  # nothing in common: said elsewhere
    assert list(comparable.about_missing(old, [], ["a"])) == []
    both = [load(median={"a": 0.0}), load(title="8", median={"a": 0.0})]
    assert list(comparable.about_missing(old, both, ["a", "b"])) == []


# ---- counters of services ----


def test_counters_are_summed_and_unknown_for_good():
    results = [
        {"e-10": {"a": 1.0}, "e-2": {"a": 1.0004, "b": 2.0}},
        {"e-10": None, "e-2": {"a": 1.0004}},
        {"e-10": {"a": 5.0}},
    ]
    found = services.summed(results)
    assert found == {"e-2": {"a": 2.0, "b": 2.0}, "e-10": None} and list(found) == ["e-2", "e-10"]


def test_shares_are_of_a_pool_whose_engines_are_all_known():
    plan = {"verify": {"prefill": [{"name": "p"}], "decode": [{"name": "a"}, {"name": "b"}]}}
    counted = {"p": {"requests": 9.0}, "a": {"requests": 1.0}, "b": {"requests": 2.0}}
    assert services.shares(plan, counted) == {"p": 1.0, "a": 0.3333, "b": 0.6667}
    assert services.shares(plan, {**counted, "b": None}) == {"p": 1.0}
    assert services.shares(plan, {**counted, "b": {}}) == {"p": 1.0}
    assert services.shares(plan, {**counted, "a": {"requests": 0.0}, "b": {"requests": 0.0}}) == {"p": 1.0}
    assert services.shares(plan, {**counted, "a": {"requests": 0.0}})["a"] == 0.0


def test_transfers_are_those_of_counters_before_those_of_logs():
    plan = {"verify": {"prefill": [{"name": "p"}]}, "engine_facts": {"npus": True}}
    log = {"transfers": 4, "transfer_ms": 500.0}
    counters = {"transfers": 3.0, "transfer_seconds": 2.0, "transferred_bytes": 7.0, "failed_transfers": 0.0}
    engines = {"p": {"transfers": 0.0}, "d": counters, "l": {}, "u": None, "n": {}}
    found = services.transfers(plan, engines, {"d": log, "l": log, "u": log, "n": {"transfers": 0, "transfer_ms": 0.0}})
    assert found == {
        "p": {"number": 0.0, "seconds": 0.0, "logged": 0, "waited": 0},
        "d": {"number": 3.0, "seconds": 2.0, "bytes": 7.0, "failed": 0.0, "logged": 0, "waited": 1},
        "l": {"number": 4, "seconds": 0.5, "logged": 1, "waited": 1},
        "u": {"number": 4, "seconds": 0.5, "logged": 1, "waited": 1},
    }


def test_messages_of_logs_and_logs_that_were_not_read():
    def log(flags=(), readable=True, problem=""):
        return {"readable": readable, "problem": problem, "flags": dict(flags), "first": "line"}

    found = list(
        services.about_logs(
            {
                "e-10": log({"recomputed": 1}),
                "e-9": log({"recomputed": 1, "expired": 2}),
                "a": log(readable=False),
                "b": log({"late": 1}, False, "no file"),
                "c": log(),
            }
        )
    )
    assert rows(found) == [
        ("BENCH-LOG", "a", "warning"),
        ("BENCH-LOG", "b", "warning"),
        ("BENCH-LOG", "b", "error"),
        ("BENCH-LOG", "e-9", "error"),
        ("BENCH-LOG", "e-10", "warning"),
    ]
    assert found[0].problem.endswith("no reason is known") and found[1].problem.endswith("no file")
    assert "(2 expired, 1 recomputed): line" in found[3].problem


@pytest.mark.parametrize(
    ("kind", "gained", "rule"),
    [
        ("router", None, "BENCH-COUNTERS"),
        ("router", {"requests": 9.0, "errors": 0.0}, None),
        *(
            ("router", {name: 1.0}, "BENCH-ROUTER")
            for name in ("errors", "prefill_errors", "decode_errors", "request_errors", "retries", "exhausted")
        ),
        ("store", {"evictions": 9.0, "reads": 1.0}, None),
        ("store", {"refused": 1.0}, "BENCH-STORE"),
    ],
)
def test_what_routers_and_stores_counted(kind, gained, rule):
    found = rows(
        services.about_services({}, {"a": {"kind": "router", "gained": {}}, "s": {"kind": kind, "gained": gained}})
    )
    assert found == ([(rule, "s", "warning")] if rule else [])
    behind = {"s": {"kind": kind, "gained": None}, "t": {"kind": "store", "gained": {"refused": 2.0}}}
    assert [row[1] for row in rows(services.about_services({}, behind))] == ["s", "t"]


def test_transfers_that_failed_are_named():
    engines = {"a": None, "b": {"failed_transfers": 0.0}, "c": {}, "d": {"failed_transfers": 2.0}}
    found = list(services.about_services(engines, {}))
    assert rows(found) == [("BENCH-TRANSFERS", "d", "warning")] and found[0].problem.startswith("2 transfers")


@pytest.mark.parametrize(("check", "found"), [(None, None), ("", None), ([], [])])
def test_a_check_that_nobody_made_is_no_check_without_findings(check, found):
    assert services.known_findings({"check": check}) == {"check": found, "status": []}
    item = {"id": "a", "path": "b", "severity": "c", "problem": "d", "fix": "e"}
    known = services.known_findings({"check": [item], "status": ["x"]})
    assert known == {"check": [{name: item[name] for name in ("id", "path", "severity", "problem")}], "status": ["x"]}


# ---- profile pool ----


@pytest.mark.parametrize(
    ("profile", "store", "engines", "problems"),
    [
        ("pool", {"a": 1}, 2, 0),
        ("pool", None, 2, 1),
        ("pool", {"a": 1}, 1, 1),
        ("pool", None, 0, 2),
        ("latency", None, 0, 0),
    ],
)
def test_a_pool_needs_a_store_and_two_engines(profile, store, engines, problems):
    names = [{"name": str(number)} for number in range(engines)]
    for verify in ({"prefill": names}, {"colocated": names, "prefill": []}):
        found = rows(pool.pool_findings({"verify": {"store": store, **verify}}, Bench(profile=profile)))
        assert found == [("BENCH-SETTING", "inference_bench.profile", "error")] * problems


@pytest.mark.parametrize("evict", [0, 50])
def test_the_rounds_of_a_pool(evict):
    engines = [{"name": name, "url": f"http://{name}"} for name in "abc"]
    run = {
        "label": "l",
        "repeat": 2,
        "config": {},
        "argv": ["x", "--base-url", "r", "--seed", "5", "--num-prompts", "9", "--end"],
    }
    found = list(pool.pool_runs({"verify": {"prefill": engines}}, Bench(profile="pool", evict=evict), run))
    assert [(item["round"], item["engine"], item["repeat"], item["label"]) for item in found] == [
        ("cold", "a", 2, "l, cold"),
        ("evict", "a", 0, "l, evict"),
        ("own memory", "a", 2, "l, own memory"),
        ("other instance", "b", 2, "l, other instance"),
    ]
    assert found[3]["argv"] == ["x", "--base-url", "http://b", "--seed", "5", "--num-prompts", "9", "--end"]
    number = ["--num-prompts", "50"] if evict else []
    assert found[1]["argv"] == ["x", "--base-url", "http://a", "--seed", "500005", *number, "--end"]
    assert found[1]["evict"] == ("" if evict else "a")


# ---- advice ----


def state(role, waiting, busy):
    return pools._state(role, {"waiting": waiting, "busy": busy})


@pytest.mark.parametrize(
    ("role", "waiting", "busy", "found"),
    [
        ("prefill", None, 0.5, "unknown"),
        ("prefill", 0.5, None, "unknown"),
        ("colocated", None, 0.5, "unknown"),
        ("colocated", 0.49, None, "works"),
        ("colocated", 0.5, None, "waits"),
        ("prefill", 0.5, 0.7, "waits"),
        ("prefill", 0.5, 0.69, "held"),
        ("prefill", 0.49, 0.7, "works"),
        ("prefill", 0.49, 0.3, "works"),
        ("prefill", 0.49, 0.29, "idles"),
        ("decode", 9.0, 0.89, "works"),
        ("decode", 0.0, 0.9, "waits"),
        ("decode", 9.0, 0.29, "idles"),
        ("decode", 0.0, 0.3, "works"),
    ],
)
def test_the_state_of_a_pool(role, waiting, busy, found):
    assert state(role, waiting, busy) == found


@pytest.mark.parametrize(
    ("role", "found", "limits"),
    [
        ("prefill", {"state": "works", "busy": 0.69}, False),
        ("prefill", {"state": "works", "busy": 0.7}, True),
        ("decode", {"state": "works", "busy": 0.89}, False),
        ("decode", {"state": "works", "busy": 0.9}, True),
        ("decode", {"state": "waits", "busy": 0.0}, True),
    ],
)
def test_which_side_limits(role, found, limits):
    assert advice._limits(role, found) == limits


@pytest.mark.parametrize(
    ("limiting", "now", "possible", "text"),
    [
        ([], (1, 1), [], "no side limits"),
        (["prefill", "decode"], (1, 1), [], "both sides are nearly full"),
        (["prefill"], (2, 2), [(2, 2), (1, 3)], "prefill limits, and no sizes with more instances"),
        (["prefill"], (2, 2), [(3, 1)], "prefill limits, and no other sizes carry"),
        (["decode"], (2, 2), [(3, 1)], "decode limits, and no sizes with more instances"),
    ],
)
def test_why_nothing_is_changed(limiting, now, possible, text):
    assert advice._reason(limiting, Sizes(*now), [Sizes(*item) for item in possible]).startswith(text)


def doubts(role, total=None, running=9.0, **values):
    found = {"requests": 99.0, "busy": 0.5, "waiting": 0.0, "state": "works", "tpot_ms": 5.0, "limits": {}, **values}
    return [
        (item.id, item.severity) for item in pools._doubts(role, found, {"a": 1} if total is None else total, running)
    ]


@pytest.mark.parametrize(
    ("role", "values", "rule"),
    [
        ("decode", {}, None),
        ("decode", {"requests": 31.0}, "LOAD"),
        ("decode", {"requests": 32.0}, None),
        ("decode", {"requests": 0.0}, "LOAD"),
        ("decode", {"requests": None}, None),
        ("decode", {"busy": None}, "FILL"),
        ("decode", {"busy": None, "total": {}}, None),
        ("prefill", {"busy": None}, None),
        ("decode", {"running": 1.9, "limits": {"tpot": 0.9}}, "ALONE"),
        ("decode", {"running": 2.0, "limits": {"tpot": 0.9}}, None),
        ("decode", {"running": 1.9, "limits": {"tpot": 0.89}}, None),
        ("decode", {"running": None, "limits": {"tpot": 0.9}}, None),
        ("prefill", {"running": 1.0, "limits": {"tpot": 0.9}}, None),
        ("prefill", {"state": "held"}, "HELD"),
        ("decode", {"total": {"tokens_computed": 50.0, "prompt_tokens": 100.0}}, None),
        ("decode", {"total": {"tokens_computed": 51.0, "prompt_tokens": 100.0}}, "COMPUTES"),
        ("decode", {"total": {"tokens_computed": 51.0, "prompt_tokens": 0.0}}, None),
        ("decode", {"total": {"tokens_computed": None, "prompt_tokens": 9.0}}, None),
        ("prefill", {"total": {"tokens_computed": 99.0, "prompt_tokens": 100.0}}, None),
    ],
)
def test_why_figures_of_a_pool_say_too_little(role, values, rule):
    assert doubts(role, **values) == ([(f"ADVISE-{rule}", "error")] if rule else [])


def test_counters_of_a_pool_are_summed_only_if_all_were_read():
    def total(*gained):
        names = [str(number) for number in range(len(gained))]
        return pools._total(Evidence("x", services=dict(zip(names, gained, strict=True))), names)

    assert total({"a": 1.0, "b": 2.0}, {"a": 3.0}) == {"a": 4.0}
    assert total({"a": 1.0}, None) == total() == {}
    assert pools._over(6.0, 3.0, 2.0) == 1.0
    assert pools._over(None, 3.0, 2.0) is pools._over(6.0, None, 2.0) is pools._over(6.0, 0.0, 2.0) is None
    assert pools._over(0.0, 3.0, 2.0) == 0.0


PLAN = {
    "digest": "d" * 64,
    "release_facts": {"vllm": "0.23.0"},
    "verify": {},
    "services": [],
    "placement": {"instances": []},
}


def benchmark(**values):
    counted = {
        "failed": 0,
        "empty": 0,
        "short": 0,
        "completed": 9,
        "measurements": 1,
        "engines": {"e": {"a": 1.0}},
        "seconds": 60.0,
    }
    one = {"load": 8, "title": "8", **counted, **values}
    low = {"load": 1, "title": "1", **counted}
    return {"format": 2, "settings": {"profile": "throughput"}, "digest": PLAN["digest"], "loads": [one, low]}


@pytest.mark.parametrize(
    ("measured", "rules"),
    [
        (benchmark(), []),
        (benchmark(failed=1), ["WRONG-ANSWERS"]),
        (benchmark(empty=1), ["WRONG-ANSWERS"]),
        (benchmark(short=1), ["WRONG-ANSWERS"]),
        (benchmark(uncounted=1), ["WRONG-ANSWERS"]),
        (benchmark(completed=0), ["WRONG-ANSWERS"]),
        (benchmark(seconds=None), ["REPORT"]),
        (benchmark(engines={}), ["REPORT"]),
        ({**benchmark(), "digest": "e"}, ["OTHER-PLAN"]),
        ({**benchmark(), "settings": {"profile": "pool"}}, ["REPORT"]),
        ({**benchmark(), "format": 1}, ["REPORT"]),
        ({**benchmark(), "loads": []}, ["REPORT"]),
    ],
)
def test_what_a_report_of_a_benchmark_lacks(measured, rules):
    found = evidence.evidence_of(PLAN, measured, {})
    assert [(item.id, item.severity) for item in found.gaps] == [(f"ADVISE-{rule}", "error") for rule in rules]
    if not rules:
        assert (found.source, found.seconds) == ("load 8 of the benchmark, 1 measurement", 60.0)
        again = evidence.evidence_of(PLAN, {**benchmark(measurements=3), "slo": {"tpot": 40}}, {})
        assert again.source.endswith("3 measurements") and again.tpot_limit == 40 and found.tpot_limit == 0


@pytest.mark.parametrize(("seconds", "short"), [(9.9, True), (10.0, False), (0.0, False)])
def test_the_shortest_window(seconds, short):
    result = {"services": {"a": {"seconds": seconds}, "b": {"seconds": 99.0 if seconds else 0.0}, "c": None}}
    found = evidence.of_window({"slo": {"tpot": 30}}, result)
    assert (found.seconds, found.tpot_limit) == (seconds, 30)
    assert [item.id for item in found.gaps] == (["ADVISE-SHORT"] if short else [])


def test_engines_that_were_not_read_and_metrics_that_they_lack():
    names = [f"e{number}" for number in range(6)]
    everything = dict.fromkeys(NEEDED, 1.0)

    def found(plan=None, **gained):
        known = {**dict.fromkeys(names, everything), **gained}
        return [
            (item.id, item.severity, item.problem)
            for item in evidence.missing(plan or PLAN, Evidence("x", 1.0, known), "decode", names)
        ]

    assert found() == []
    (one,) = found(**dict.fromkeys(names[:4]))
    assert one[:2] == ("ADVISE-COUNTERS", "error") and "e0, e1, e2, e3:" in one[2]
    (many,) = found(**dict.fromkeys(names))
    assert "e0, e1, e2, e3 and 2 more:" in many[2]
    for counter, metric in NEEDED.items():
        lacking = {name: value for name, value in everything.items() if name != counter}
        severity = "warning" if counter == "preemptions" else "error"
        assert found(e1=lacking) == [("ADVISE-METRICS", severity, f"its engines do not export {metric}")]
    assert found(e1={})[0][1] == "error"
    assert evidence._usable({"a": 0.0, "b": -0.1, "c": "x", "d": True, "e": 2}) == {"a": 0.0, "e": 2}
    assert evidence._usable(None) is evidence._usable([]) is None


def general(prefill, decode, **changes):
    both = {"prefill": {"requests": prefill}, "decode": {"requests": decode}}
    known = Evidence(changes.pop("source", "bench"), changes.pop("seconds", 60.0), changes.pop("services", {}))
    return [(item.id[7:], item.severity) for item in advice._general({**PLAN, **changes}, known, both)]


def test_what_is_not_known_of_a_deployment():
    assert general(100.0, 80.0) == general(31.0, 100.0) == general(None, 100.0) == []
    assert general(100.0, 79.0) == general(32.0, 100.0) == [("SIDES", "error")]
    assert general(9.0, 9.0, seconds=0.0) == [("COUNTERS", "error")]
    assert general(9.0, 9.0, placement={"instances": [{"kind": "encode"}]}) == [("ENCODE", "warning")]
    router = {"services": [{"kind": "router", "name": "r"}]}
    plan = {**PLAN, **router}
    for source, counted, found in (
        ("9 s of live metrics", {}, True),
        ("bench", {}, False),
        ("live", {"r": {"a": 1.0}}, False),
        ("live", {"r": None}, True),
    ):
        known = Evidence(source, 60.0, counted)
        assert [item.id for item in advice._general(plan, known, {})] == (["ADVISE-ROUTER"] if found else [])


def remarks(services_, counted, **pool_):
    found = {"queue_ms": None, "tpot_ms": 5.0, "state": "works", "waiting": 0.0, **pool_}
    plan = {
        "verify": {"decode": [{"name": name} for name in "abc"]},
        "services": [{"name": name} for name in services_],
    }
    return list(advice._remarks(plan, Evidence("x", 1.0, counted), {"decode": found}))


def requests(*numbers):
    return {name: {"requests": number} for name, number in zip("abc", numbers, strict=True)}


def test_what_figures_show_beyond_the_sizes():
    assert remarks("", requests(12.0, 12.0, 4.0))[0].startswith("c finished less than half of the mean of decode")
    assert remarks("", requests(12.0, 12.0, 6.0)) == []
    assert remarks("", requests(9.0, 9.0, 1.0)) == []  # too few to say so
    assert remarks("", {"a": {"requests": 12.0}, "b": None, "c": {}}) == []
    assert remarks("", {}, queue_ms=7.0, waiting=0.5)[0].startswith("A request spends 7 ms in the queue of decode")
    for values in ({"waiting": 0.49}, {"waiting": None}, {"state": "waits"}, {"tpot_ms": None}, {"queue_ms": None}):
        assert remarks("", {}, **{"queue_ms": 7.0, "waiting": 0.5, **values}) == []
    store = {"s": {"evictions": 3.0, "capacity_bytes": 8.0, "allocated_bytes": 6.0}}
    assert remarks("s", store)[0].startswith("The store evicted 3 times and is 75% full")
    assert (
        remarks("s", {"s": {"evictions": 0.0, "capacity_bytes": 8.0}}) == remarks("s", {"s": {"evictions": 3.0}}) == []
    )
    for name in ("errors", "prefill_errors", "decode_errors", "exhausted"):
        assert remarks("r", {"r": {name: 2.0}}) == ["r counted 2 errors: read its log before changing sizes."]
    assert remarks("r", {"r": None}) == []


# ---- what is sent ----

PROFILES = [
    # loads, prompts, input, prefix, output, repeats
    ("smoke", (), 10, 10, 0, 100, 1),  # 4 a second
    ("latency", (1,), 32, 1024, 0, 128, 3),
    ("throughput", (1, 4, 16, 64), 0, 3500, 0, 1500, 3),
    ("long_prefix", (1, 8), 0, 512, 8192, 128, 3),
    ("pool", (25,), 100, 1024, 0, 10, 3),
    ("trace", (0,), 0, 0, 0, 0, 1),
]


@pytest.mark.parametrize("row", PROFILES, ids=[row[0] for row in PROFILES])
def test_what_a_profile_sends_and_that_settings_replace_it(row):
    names = ("profile", "loads", "prompts", "input", "prefix", "output", "repeats")
    trace = {"trace": "/t"} if row[0] == "trace" else {}
    found = read_bench({"profile": row[0], **trace})
    assert tuple(getattr(found, name) for name in names) == row
    assert found.rates == ((4.0,) if row[0] == "smoke" else ())
    other = {"loads": (2,), "prompts": 3, "input": 5, "prefix": 6, "output": 7, "repeats": 8}
    found = read_bench({"profile": row[0], **trace, **other, "loads": [2]})
    assert {name: getattr(found, name) for name in other} == other


def test_what_is_not_set_for_a_benchmark():
    found = dataclasses.asdict(read_bench({}))
    rest = {
        name: found[name] for name in ("profile", "driver", "program", "prefixes", "evict", "seed", "host", "cores")
    }
    assert rest == {
        "profile": "latency",
        "driver": "vllm",
        "program": "",
        "prefixes": 8,
        "evict": 0,
        "seed": 1,
        "host": "",
        "cores": "",
    }
    assert found["slo"] == {"ttft": 0, "tpot": 0, "e2el": 0} and (found["trace"], found["timeout"]) == ("", 3600)


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        ({"profile": "trace"}, ["trace"]),
        ({"trace": "/t"}, ["trace"]),
        ({"profile": "trace", "trace": "t"}, ["trace"]),
        ({"loads": [0]}, ["loads"]),
        ({"loads": [1]}, []),
        ({"repeats": 100}, []),
        ({"repeats": 101}, ["repeats"]),
        ({"repeats": -1}, ["repeats"]),
        ({"prefixes": 0}, ["prefixes"]),
        ({"prefixes": 1, "timeout": 1, "seed": 0}, []),
        ({"timeout": 0}, ["timeout"]),
        ({"seed": -1}, ["seed"]),
        ({"slo": {"ttft": -1}}, ["slo.ttft"]),
        ({"loads": list(range(1, 65))}, ["loads"]),
    ],
)
def test_settings_of_a_benchmark_that_measure_nothing(raw, names):
    found = []
    try:
        read_bench(raw)
    except PlanError as error:
        found = [finding.path for finding in error.findings]
        assert all(finding.why for finding in error.findings)
    assert found == [f"inference_bench.{name}" for name in names]


@pytest.fixture(scope="module")
def real():
    return plan_of("a3_2p1d")


def after(run, name, number):
    place = run["argv"].index(name)
    return run["argv"][place : place + number]


def test_requests_have_the_shape_of_the_settings(real):
    run = bench_runs(real, {"loads": [2], "input": 11, "output": 12, "seed": 3})["runs"][1]
    shape = ["--dataset-name", "random", "--random-input-len", "11", "--random-output-len", "12", "--seed", "2004"]
    assert after(run, "--dataset-name", 8) == shape
    run = bench_runs(real, {"loads": [2], "input": 11, "output": 12, "prefix": 13, "prefixes": 2})["runs"][1]
    assert after(run, "--dataset-name", 12) == [
        *("--dataset-name", "prefix_repetition", "--prefix-repetition-prefix-len", "13"),
        *("--prefix-repetition-suffix-len", "11", "--prefix-repetition-num-prefixes", "2"),
        *("--prefix-repetition-output-len", "12", "--seed", "2002"),
    ]
    run = bench_runs(real, {"profile": "trace", "trace": "/t", "slo": {"ttft": 5, "e2el": 6}})["runs"][1]
    assert after(run, "--dataset-name", 5) == ["--dataset-name", "timed_trace", "--dataset-path", "/t", "--self-timed"]
    assert after(run, "--timed-trace-chunk-hash-size", 4)[1::2] == ["512", "0.001"]
    assert "--ignore-eos" not in run["argv"] and run["argv"][-3:] == ["--goodput", "ttft:5", "e2el:6"]
    assert after(run, "--percentile-metrics", 2)[1] == "ttft,tpot,itl,e2el" and "--disable-tqdm" in run["argv"]
    assert after(run, "--backend", 6)[1::2] == ["openai", real["verify"]["entry"]["url"], "/v1/completions"]


@pytest.mark.parametrize(("over", "refused"), [(0, False), (1, True)])
def test_prompt_and_answer_fit_into_the_context(real, over, refused):
    argv = next(item["argv"] for item in real["services"] if item["kind"] == "decode")
    most = int(argv[argv.index("--max-model-len") + 1])
    raw = {"input": most - 30 + over, "prefix": 10, "output": 20}
    if not refused:
        assert bench_runs(real, raw)["options"]["prompt_tokens"] == most - 20
        return
    with pytest.raises(PlanError, match=rf"have {most + 1} tokens, and max-model-len of \S+ is {most}"):
        bench_runs(real, raw)


def test_the_record_of_a_benchmark_names_what_was_measured(real):
    bench = bench_runs(real, {"profile": "latency", "loads": [4], "repeats": 1, "slo": {"ttft": 9}})
    figures = {
        "completed": 64,
        "failed": 0,
        "empty": 0,
        "short": 0,
        "first_error": "",
        "ttft_p50": 50.0,
        "duration": 2.0,
    }
    result = {"figures": figures, "engines": {"decode-0-0": {"requests": 8.0}}}
    state = {"n": {"profile": "latency", "settings": []}}
    found = report.bench_report(real, bench, [result, result], None, state, {"status": ["s"]})
    of_plan = {"deployment": real["deployment"], "model": real["model"]["name"], "digest": real["digest"]}
    of_plan |= {"release": real["release"], "vllm": real["release_facts"]["vllm"], "versions": services.versions(real)}
    of_bench = {"devices": bench["devices"], "host": bench["host"], "settings": bench["settings"], "slo": bench["slo"]}
    rest = {
        "format": 2,
        "tuning": state,
        "known": {"check": None, "status": ["s"]},
        "other_versions": {},
        "before": None,
    }
    for name, value in {**of_plan, **of_bench, **rest, "comparison": [], "earlier": {}, "passed": True}.items():
        assert found[name] == value, name
    (one,) = found["loads"]
    assert (one["load"], one["title"], one["measurements"], one["seconds"]) == (4, "4", 1, 2.0)
    assert (one["completed"], one["uncounted"], one["first_error"]) == (64, 0, "")
    assert one["median"] == one["least"] == one["most"] == {"ttft_p50": 50.0, "duration": 2.0}
    assert found["topology"]["pools"] == {"decode": 1, "prefill": 2}
    assert set(found["versions"]) >= {"vLLM-Ascend", "vLLM", "CANN", "torch-npu", "Mooncake", "router"}
    cpu = {**real, "engine_facts": {**real["engine_facts"], "npus": False}}
    assert not set(services.versions(cpu)) & {"vLLM-Ascend", "CANN", "torch-npu"}
    unknown = {**figures, "duration": None, "ttft_p50": None}
    (one,) = report.bench_report(real, bench, [result, {**result, "figures": unknown}])["loads"]
    assert one["seconds"] is None and one["median"]["ttft_p50"] is one["least"]["ttft_p50"] is None
