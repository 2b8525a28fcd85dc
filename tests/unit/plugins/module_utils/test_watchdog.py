# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The watchdog: what it restarts, how often, and what counts as a proof."""

from __future__ import annotations

import json
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.probe import answer, watchdog
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply
from ansible_collections.ascend.inference.plugins.modules import engine_watchdog

NOW = 100000.0
PAGE = {"stuck": ["decode-0"], "age": 20.0, "interval": 60.0, "timeout": 30.0}
ENGINES = {"decode-0": ["decode-0", "decode-0-1"], "decode-1": ["decode-1"]}


def decided(page=None, actions=(), per_hour=2, restart=True):
    return watchdog.decide(dict(PAGE, **(page or {})), ENGINES, actions, per_hour, restart, NOW)


def test_the_pause_of_a_pool_with_one_instance_is_announced():
    two_ranks = {"decode-0-0": ["decode-0-0", "decode-0-1"], "decode-0-1": ["decode-0-0", "decode-0-1"]}
    for engines, alone in (
        (two_ranks, True),
        ({**two_ranks, "decode-1": ["decode-1"]}, False),
        ({**two_ranks, "prefill-0": ["prefill-0"]}, True),
    ):
        found = watchdog.decide(dict(PAGE, stuck=["decode-0-1"]), engines, [], 2, True, NOW)
        assert found.engine == "decode-0-1"
        assert ("only instance of its pool" in " ".join(found.findings)) == alone
        assert "only instance" not in " ".join(
            watchdog.decide(dict(PAGE, stuck=["decode-0-1"]), engines, [], 2, False, NOW).findings
        )


def test_the_whole_instance_restarts_and_only_if_it_is_wanted():
    assert decided()[1:] == ("decode-0", ("decode-0", "decode-0-1"), ("decode-0",))
    assert decided(restart=False)[1:] == ("", (), ("decode-0",))
    assert "decode-0 makes no progress" in decided(restart=False).findings
    assert decided({"stuck": []}) == ([], "", (), ())
    assert decided({"stuck": ["decode-1", "decode-9", "decode-0"]}).stuck == (
        "decode-1",
        "decode-0",
    )  # those of the plan


@pytest.mark.parametrize(
    "page", [{"age": None}, {"age": 421.0}, {"stuck": None}, {"stuck": "decode-0"}, {"paused": 86000.0}]
)
def test_what_is_unknown_is_named_and_restarts_nothing(page):
    found = decided(page)
    assert found.engine == ""
    assert "unknown" in found.findings[0]


def test_restarts_of_an_hour_are_limited():
    def action(minutes, engine="decode-0"):
        return {"at": NOW - 60 * minutes, "engine": engine}

    assert decided(actions=[action(10)]).engine == "decode-0"
    refused = decided(actions=[action(10), action(50, "decode-1")])
    assert refused.engine == ""
    assert "decode-0, decode-1 restarted within the last hour" in refused.findings[-1]
    assert decided(actions=[action(10), action(61)]).engine == "decode-0"
    assert decided(actions=[], per_hour=0).engine == ""


def test_of_two_engines_the_one_without_a_recent_restart_is_next():
    both = {"stuck": ["decode-0", "decode-1"]}
    assert decided(both).engine == "decode-0"
    assert decided(both, [{"at": NOW - 60, "engine": "decode-0"}]).engine == "decode-1"


@pytest.mark.parametrize(
    ("blamed", "engine"),
    [
        ({"decode-1": 2}, "decode-1"),
        ({"decode-1": 1}, ""),  # may be an accident
        ({"decode-1": True}, ""),
        ({"decode-1": "2"}, ""),
        ({"other": 9}, ""),
        (["decode-1"], ""),
        (None, ""),
    ],
)
def test_an_engine_that_fails_each_request_is_restarted_from_the_second_round_on(blamed, engine):
    found = decided({"stuck": [], "blamed": blamed})
    assert found.engine == engine
    assert bool(found.findings) is (engine != "" or blamed == {"other": 9})
    assert decided({"stuck": [], "blamed": blamed}, restart=False).engine == ""
    assert decided({"blamed": blamed}).engine == "decode-0", "one that makes no progress first"


def test_an_engine_that_is_not_planned_is_never_restarted():
    found = decided({"stuck": ["old-0"]})
    assert found.engine == ""
    assert "old-0 is stuck and is in no plan" in found.findings[-1]


def metrics(**paths):
    lines = []
    for name, (success, at) in paths.items():
        path = name.replace("_to_", "->").replace("_", "-")
        lines.append(f'inference_probe_success{{deployment="x",path="{path}"}} {success}')
        lines.append(f'inference_probe_path_timestamp_seconds{{deployment="x",path="{path}"}} {at}')
    return "\n".join(lines)


def test_a_proof_needs_new_requests_of_clients_and_over_the_engine():
    old, new = 1, 20
    text = metrics(clients=(1, new), prefill_0_to_decode_0=(1, new), prefill_0_to_decode_1=(0, new))
    assert watchdog.proven(text, ["decode-0"], 10) == ""
    assert "prefill-0->decode-1 fail" in watchdog.proven(text, ["decode-1"], 10)
    text = metrics(clients=(1, new), prefill_0_to_decode_0=(1, old))
    assert "no request over decode-0" in watchdog.proven(text, ["decode-0"], 10)
    text = metrics(clients=(1, old), prefill_0_to_decode_0=(1, new))
    assert "no request of clients" in watchdog.proven(text, ["decode-0"], 10)
    assert "clients fail" in watchdog.proven(metrics(clients=(0, new)), ["colocated-0"], 10)
    assert watchdog.proven(metrics(clients=(1, new)), ["colocated-0"], 10) == ""
    assert watchdog.proven("", ["decode-0"], 10)


def test_a_proof_is_one_of_any_rank_of_the_instance():
    """In an instance of 32 ranks each has an API and paths of its own, and the probe tries few of them in a quarter of an hour."""
    text = metrics(clients=(1, 20), prefill_0_to_decode_0_7=(1, 20), prefill_0_to_decode_0_0=(1, 5))
    assert watchdog.proven(text, ["decode-0-0", "decode-0-7"], 10) == ""
    assert "no request over decode-0-0, decode-0-1 was tried" in watchdog.proven(text, ["decode-0-0", "decode-0-1"], 10)
    text = metrics(clients=(1, 20), prefill_0_to_decode_0_7=(0, 20), prefill_0_to_decode_0_0=(1, 20))
    assert "prefill-0->decode-0-7 fail" in watchdog.proven(text, ["decode-0-0", "decode-0-7"], 10)


def test_a_clock_that_was_set_back_restarts_nothing_and_is_said():
    """Otherwise restarts of a clock that was years ahead would count as those of the last hour for years, without a way out."""
    later = {"at": NOW + 86400, "engine": "decode-1"}
    found = decided(actions=[later], per_hour=1)
    assert found.engine == "" and "the clock was set" in found.findings[-1] and "watchdog.json" in found.findings[-1]
    assert decided(actions=[later], per_hour=2).engine == "decode-0", "one more is allowed whenever the other one was"
    assert "within the last hour" in decided(actions=[{"at": NOW + 5, "engine": "x"}], per_hour=1).findings[-1]


@pytest.mark.parametrize("part", ["inference_probe_success{\n", 'path="', 'path="x",'])
def test_a_page_of_nothing_but_beginnings_ends(part):
    """Whatever answers at the probe's port may send the 8 MiB that are read; a search from each line to the end of the page took hours."""
    page = "inference_probe_success{" + part * (2**20 // len(part))
    start = time.process_time()
    assert watchdog.proven(page, ["decode-0"], 10)
    assert time.process_time() - start < 5


@pytest.fixture
def answers(monkeypatch):
    """What the probe's pages answer."""
    pages = {"/health": json.dumps(PAGE), "/metrics": ""}

    class Reply:
        def __init__(self, body):
            self.body = body

    monkeypatch.setattr(engine_watchdog, "ask", lambda target, path, timeout: Reply(pages[path]))
    monkeypatch.setattr(engine_watchdog, "PAUSE", 0.01)
    return pages


def params(tmp_path, **more):
    given = {"directory": str(tmp_path), "url": "http://x", "engines": ENGINES, "mode": "restart", "per_hour": 2}
    return dict(given, **{"counts": "", "proves": "", "since": 0.0, "timeout": 0, **more})


def noted(tmp_path):
    return [(action["engine"], action["result"]) for action in watchdog.actions_of(str(tmp_path))]


def test_each_restart_is_noted_before_it_begins_and_with_its_result(tmp_path, answers):
    found = engine_watchdog.chosen(params(tmp_path), False)
    assert found["services"] == ["decode-0", "decode-0-1"]
    assert noted(tmp_path) == [("decode-0", "began")]
    asked = dict(params(tmp_path), proves="decode-0", since=found["at"])
    failed = engine_watchdog.proof(asked, False)
    assert "no request of clients was tried" in failed["findings"][0]
    assert noted(tmp_path)[0][1].startswith("not proven: ")
    answers["/metrics"] = metrics(clients=(1, 1e12), prefill_0_to_decode_0=(1, 1e12))
    assert engine_watchdog.proof(asked, False)["findings"] == []
    assert noted(tmp_path) == [("decode-0", "proven")]
    engine_watchdog.chosen(params(tmp_path), False)
    assert noted(tmp_path) == [("decode-0", "proven"), ("decode-0", "began")]
    assert engine_watchdog.chosen(params(tmp_path), False)["engine"] == ""


def test_other_hosts_count_what_the_probe_s_host_chooses(tmp_path, answers):
    """Root of the probe's host can forget its own record, and not that of others."""
    asked = dict(params(tmp_path, counts="decode-0"))
    assert engine_watchdog.chosen(asked, True)["engine"] == "decode-0" and noted(tmp_path) == []
    for _time in range(2):
        assert engine_watchdog.chosen(asked, False)["engine"] == "decode-0"
    found = engine_watchdog.chosen(asked, False)
    assert found["engine"] == "" and "decode-0, decode-0 restarted within the last hour" in found["findings"][0]
    assert noted(tmp_path) == [("decode-0", "began")] * 2


def test_the_record_keeps_the_newest_actions(tmp_path, monkeypatch):
    """Those of the last hour limit further restarts, so they are never the ones that are dropped."""
    monkeypatch.setattr(watchdog, "KEPT", 3)
    for at in range(5):
        watchdog.note(str(tmp_path), {"at": at, "engine": "decode-0", "result": "began"})
    assert [action["at"] for action in watchdog.actions_of(str(tmp_path))] == [2, 3, 4]


def test_check_mode_and_reports_note_nothing(tmp_path, answers):
    assert engine_watchdog.chosen(params(tmp_path), True)["engine"] == "decode-0"
    assert engine_watchdog.chosen(dict(params(tmp_path), mode="report"), False)["engine"] == ""
    assert noted(tmp_path) == []
    answers["/health"] = "no page"
    assert "unknown" in engine_watchdog.chosen(params(tmp_path), False)["findings"][0]


@pytest.mark.parametrize("at", ["yesterday", None, [], "nan", float("nan"), 10**400])
def test_an_action_without_a_usable_time_counts_as_one_of_the_last_hour(at):
    assert decided(actions=[{"at": at, "engine": "decode-1"}], per_hour=1).engine == ""


@pytest.mark.parametrize("value", ["x", "1.2.3", "", "NaN"])
def test_what_is_no_number_on_the_page_proves_nothing(value):
    text = 'inference_probe_success{path="clients"} 1\n'
    assert watchdog.proven(f'{text}inference_probe_path_timestamp_seconds{{path="clients"}} {value}\n', ["decode-0"], 0)
    times = 'inference_probe_path_timestamp_seconds{path="clients"} 9\n'
    assert watchdog.proven(f'inference_probe_success{{path="clients"}} {value}\n{times}', ["decode-0"], 0)
    assert watchdog.proven(text + times, ["decode-0"], 0) == ""


@pytest.mark.parametrize(
    ("page", "known"),
    [
        ({"age": 420.0}, True),  # three rounds and eight answers
        ({"age": 420.1}, False),
        ({"age": 0}, True),
        ({"interval": None, "age": 240.0}, True),
        ({"interval": None, "age": 240.1}, False),
        ({"timeout": None, "age": 180.0}, True),
        ({"timeout": None, "age": 180.1}, False),
        ({"paused": 0.1}, False),
        ({"paused": 0}, True),
        ({"more": "x"}, False),
    ],
)
def test_how_old_a_result_may_be(page, known):
    assert bool(decided(page).engine) is known
    assert ("unknown" in " ".join(decided(page).findings)) is not known


@pytest.mark.parametrize(
    ("seconds", "counts", "set_back"),
    [(3599, True, False), (3600, False, False), (0, True, False), (-60, True, False), (-60.5, True, True)],
)
def test_which_action_is_one_of_the_last_hour(seconds, counts, set_back):
    found = decided(actions=[{"at": NOW - seconds, "engine": "decode-1"}], per_hour=1)
    assert (found.engine == "") is counts
    assert ("the clock was set" in " ".join(found.findings)) is set_back


def test_the_findings_name_each_stuck_engine_and_the_one_that_is_read():
    found = decided({"stuck": ["decode-1", "old-0", "decode-0"]})
    assert found.findings[:3] == [f"{name} makes no progress" for name in ("decode-1", "old-0", "decode-0")]
    assert found.findings[3:] == ["old-0 is stuck and is in no plan. Fix: run deploy"] and found.engine == "decode-0"
    refused = decided({"stuck": ["decode-1", "decode-0"]}, per_hour=0).findings[-1]
    assert "inference_watchdog_per_hour: 0" in refused and "read the logs of decode-1" in refused


@pytest.mark.parametrize(
    ("page", "numbers"),
    [
        ({}, {"age": None, "interval": 0, "timeout": 0, "paused": 0, "more": 0}),
        (
            {"age": 1.5, "interval": 60, "timeout": 3, "paused": 2, "more": 1},
            {"age": 1.5, "interval": 60, "timeout": 3, "paused": 2, "more": 1},
        ),
        ({"age": True}, None),
        ({"interval": "60"}, None),
        ({"timeout": []}, None),
        ({"paused": float("nan")}, None),
        ({"more": 1e16}, None),
    ],
)
def test_numbers_of_a_page(page, numbers):
    assert answer.numbers_of(page) == numbers


@pytest.mark.parametrize(
    ("paths", "good"),
    [
        ({"good": 1, "failed": 0, "unknown": 2}, True),
        ({"good": 1, "failed": 0, "unknown": 2, "x": "y"}, True),
        ({"good": 1, "failed": 0}, False),
        ({"good": 1, "failed": -1, "unknown": 2}, False),
        ({"good": 1.0, "failed": 0, "unknown": 2}, False),
        ({"good": True, "failed": 0, "unknown": 2}, False),
        ([], False),
        (None, False),
    ],
)
def test_counts_of_a_page(paths, good):
    expected = {"good": 1, "failed": 0, "unknown": 2} if good else None
    assert answer.counts_of({"paths": paths}) == expected


@pytest.mark.parametrize(
    ("body", "page"), [("{}", {}), ('{"age": 1}', {"age": 1}), ("[1]", {}), ("{", {}), ("[" * 100000, {})]
)
def test_a_page_that_is_something_else_is_empty(body, page):
    assert watchdog.page_of(body) == page


def test_a_request_at_the_very_moment_is_no_proof():
    assert (
        watchdog.proven(metrics(clients=(1, 10)), ["colocated-0"], 10) == "no request of clients was tried since then"
    )
    assert watchdog.proven(metrics(clients=(1, 10.1)), ["colocated-0"], 10) == ""
    text = metrics(clients=(0, 11), prefill_0_to_decode_0=(0, 11), prefill_0_to_decode_1=(0, 11))
    assert watchdog.proven(text, ["decode-0"], 10) == "requests over clients, prefill-0->decode-0 fail"
    names = [f"decode-0-{number}" for number in range(5)]
    text = metrics(clients=(1, 11), prefill_0_to_decode_0_1=(1, 9))
    assert watchdog.proven(text, names, 10) == f"no request over {', '.join(names[:4])} was tried since then"


def test_one_action_of_a_time_is_kept_and_a_missing_folder_is_said(tmp_path):
    for result in ("began", "proven"):
        watchdog.note(str(tmp_path), {"at": 1, "result": result})
    watchdog.note(str(tmp_path), {"at": 2, "result": "began"})
    assert [(action["at"], action["result"]) for action in watchdog.actions_of(str(tmp_path))] == [
        (1, "proven"),
        (2, "began"),
    ]
    assert watchdog.actions_of(str(tmp_path / "none")) == []
    with pytest.raises(OSError, match="No such file"):
        watchdog.note(str(tmp_path / "none"), {"at": 1})


@pytest.mark.parametrize(
    ("answers", "timeout", "left", "asked"),
    [([""], 0, "", 1), (["one", ""], 60, "", 2), (["one", "two", ""], 60, "", 3), (["one", "two"], 0, "one", 1)],
)
def test_a_proof_is_waited_for_until_the_end_of_its_time(monkeypatch, answers, timeout, left, asked):
    given, urls = iter(answers), []
    monkeypatch.setattr(engine_watchdog, "PAUSE", 0.001)
    monkeypatch.setattr(engine_watchdog, "proven", lambda *_arguments: next(given))
    monkeypatch.setattr(
        engine_watchdog, "ask", lambda target, path, **_more: urls.append(path) or Reply(200, "", 0.0, "")
    )
    params = {"timeout": timeout, "url": "http://x", "engines": {}, "proves": "decode-0"}
    assert engine_watchdog.waited(params) == left and urls == ["/metrics"] * asked
