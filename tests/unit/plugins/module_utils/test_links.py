# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The watch of links: which engine has to follow a restart, how often, and that restarts come to an end."""

from __future__ import annotations

import json
import random
import signal

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.links import program, record
from ansible_collections.ascend.inference.plugins.module_utils.links.decisions import Links, recent
from ansible_collections.ascend.inference.plugins.module_utils.links.program import Watch
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply
from ansible_collections.ascend.inference.plugins.module_utils.tools.process_start import start_of


@pytest.mark.parametrize(
    ("page", "start"),
    [
        ("# HELP x y\nprocess_start_time_seconds 1.79524317463e+09\nup 1\n", 1795243174.63),
        ('process_start_time_seconds{a="b c"} 5\n', 5.0),
        ("process_start_time_seconds 5\nprocess_start_time_seconds 6\n", None),
        ("process_start_time_seconds NaN\n", None),
        ("process_start_time_seconds 0\n", None),
        ("process_start_time_seconds x\n", None),
        ("my_process_start_time_seconds 5\n", None),
        ("", None),
    ],
)
def test_the_start_of_a_process_on_its_page(page, start):
    assert start_of(page) == start


def seen(links, *pairs):
    for name, start in pairs:
        links.see(name, start)
        links.see(name, start)
    return links.stale


def test_who_has_met_the_process_before_has_to_follow():
    links = Links({})
    assert seen(links, ("p", 1.0), ("q", 5.0)) == set()
    assert seen(links, ("p", 2.0)) == {"p"}
    assert links.met == {"p": 1.0, "q": 5.0}


def test_an_engine_that_knows_the_process_before_this_one_follows_by_itself():
    links = Links({"d": 1.0})
    assert seen(links, ("d", 1.0), ("d", 2.0)) == set()
    assert seen(links, ("d", 3.0)) == {"d"}, "this one has met the second process"


def test_one_odd_answer_ends_nothing():
    links = Links({})
    seen(links, ("p", 1.0))
    links.see("p", 2.0)
    assert links.doubtful and not links.stale
    assert seen(links, ("p", 1.0)) == set() and not links.doubtful


class Side:
    """An engine and its watch: a process that ends is there again after some rounds, with what the record has."""

    def __init__(self, name, world):
        self.name, self.world, self.known, self.starts = name, world, {}, 0
        self.start()

    def start(self):
        self.starts += 1
        self.began = self.world.now
        self.ready_at = self.world.now + self.world.dice.randrange(1, 6)
        self.links = Links(self.known)
        self.linked = {}  # engine -> the process that this one has linked with

    @property
    def up(self):
        return self.world.now >= self.ready_at


class World:
    """Prefill and decode engines as the connector has them: either side keeps the process that it has linked with."""

    def __init__(self, seed, prefills, decodes):
        self.dice, self.now = random.Random(seed), 0
        self.prefills = [Side(f"p{number}", self) for number in range(prefills)]
        self.decodes = [Side(f"d{number}", self) for number in range(decodes)]
        self.run(10)

    @property
    def sides(self):
        return self.prefills + self.decodes

    def run(self, rounds, requests=True):
        for _round in range(rounds):
            self.now += 1
            for side in self.sides:
                others = self.decodes if side in self.prefills else self.prefills
                if side.up:
                    for other in others:
                        if other.up:
                            side.links.see(other.name, float(other.began + 1))
                    side.known = side.links.met
                    if side.links.stale:
                        side.start()
            if requests:
                self.link()

    def link(self):
        for prefill in self.prefills:
            for decode in self.decodes:
                if prefill.up and decode.up:
                    pair = (prefill.linked.get(decode.name), decode.linked.get(prefill.name))
                    if pair == (None, None):
                        prefill.linked[decode.name], decode.linked[prefill.name] = decode.began, prefill.began

    def works(self):
        return all(
            prefill.linked.get(decode.name) == decode.began and decode.linked.get(prefill.name) == prefill.began
            for prefill in self.prefills
            for decode in self.decodes
        )


@pytest.mark.parametrize("seed", range(40))
def test_all_pairs_can_link_again_and_restarts_come_to_an_end(seed):
    world = World(seed, 1 + seed % 2, 1 + seed % 3)
    assert world.works()
    before = {side.name: side.starts for side in world.sides}
    for victim in world.dice.sample(world.sides, world.dice.randrange(1, 3)):
        victim.start()
        world.run(world.dice.randrange(0, 4))
    world.run(60)
    assert world.works()
    ends = {side.name: side.starts - before[side.name] for side in world.sides}
    assert max(ends.values()) <= 4, ends
    now = {side.name: side.starts for side in world.sides}
    world.run(60)
    assert now == {side.name: side.starts for side in world.sides}


class Engines:
    """Pages of engines by URL; a status without a page is the health check of the own engine."""

    def __init__(self):
        self.starts, self.own = {"http://p": 1.0}, 200

    def __call__(self, target, path, timeout):
        if path == "/health":
            return Reply(self.own, "", 0.0, "" if self.own else "refused")
        start = self.starts.get(target.url)
        page = "up 1\n" if start is None else f"process_start_time_seconds {start}\n"
        return Reply(200, page, 0.0, "") if target.url in self.starts else Reply(0, "", 0.0, "refused")


@pytest.fixture
def settings(tmp_path):
    values = {
        "service": "decode-0",
        "connector": "LLMDataDistCMgrConnector",
        "own": "http://d",
        "peers": {"prefill-0": "http://p"},
        "record": str(tmp_path / "links.json"),
        "timeout": 1,
        "per_hour": 2,
    }
    path = tmp_path / "link_watch.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def followed(settings, engines, start, now):
    """Whether a new process of the engine ends after the other one was started again at ``start``."""
    watch = Watch(str(settings), engines, lambda: now)
    assert watch.round() is False
    engines.starts["http://p"] = start
    return [watch.round() for dummy in range(2)][1]


def test_a_restart_is_counted_before_it_is_made_and_limited_by_the_hour(settings, capsys):
    engines, path = Engines(), str(settings.parent / "links.json")
    assert followed(settings, engines, 2.0, 1000.0)
    assert record.read(path)["ended"] == [1000.0]
    assert followed(settings, engines, 3.0, 1001.0)
    assert not followed(settings, engines, 4.0, 1002.0)
    assert record.read(path)["stale"] == ["prefill-0"]
    assert followed(settings, engines, 5.0, 4601.0), "the first one is more than an hour ago"
    said = capsys.readouterr().out
    assert "decode-0, watch of links: prefill-0 was started again" in said and "(2 of at most 2 times" in said
    assert said.count("is not ended now, because it was ended 2 times within the last hour") == 1
    assert said.count("-e inference_allow_pause=true") == 1, "a restart of linked engines is refused without it"


def test_what_cannot_be_counted_is_not_done(settings, capsys, monkeypatch):
    engines = Engines()

    def full(*unused):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(record, "write", full)
    assert not followed(settings, engines, 2.0, 1000.0)
    assert "cannot be written (No space left on device)" in capsys.readouterr().out


def test_an_engine_that_does_not_serve_yet_has_met_nobody(settings):
    engines = Engines()
    engines.own = 0
    assert not followed(settings, engines, 2.0, 1000.0)
    assert record.read(str(settings.parent / "links.json"))["met"] == {}


def test_others_that_are_away_or_say_no_start(settings):
    engines, path = Engines(), str(settings.parent / "links.json")
    watch = Watch(str(settings), engines, lambda: 1000.0)
    assert not watch.round()
    del engines.starts["http://p"]
    assert not watch.round() and record.read(path)["unknown"] == []
    engines.starts["http://p"] = None
    assert not watch.round() and record.read(path)["unknown"] == ["prefill-0"]


def test_a_pool_that_grows_is_seen_and_a_damaged_file_changes_nothing(settings):
    engines, values = Engines(), json.loads(settings.read_text(encoding="utf-8"))
    engines.starts["http://q"] = 7.0
    watch = Watch(str(settings), engines, lambda: 1000.0)
    settings.write_text(json.dumps({**values, "peers": {**values["peers"], "prefill-1": "http://q"}}), encoding="utf-8")
    watch.round()
    settings.write_text("{", encoding="utf-8")
    watch.round()
    assert watch.links.met == {"prefill-0": 1.0, "prefill-1": 7.0}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "[]",
            "{",
            "[" * 100000,
            '{"met": 1, "ended": {}, "at": "x"}',
            '{"met": {"p": NaN}, "ended": [true, -1]}',
        ),
        *(f'{{"at": {huge}, "met": {{"p": {huge}}}, "ended": [{huge}]}}' for huge in (10**400, "1e999", "Infinity")),
    ],
    ids=lambda text: text[:30],
)
def test_a_damaged_record_knows_nothing(tmp_path, text):
    path = tmp_path / "links.json"
    path.write_text(text, encoding="utf-8")
    assert record.read(str(path)) == {"at": 0.0, "met": {}, "ended": [], "stale": [], "unknown": []}


def test_a_link_in_place_of_the_record_is_not_followed(tmp_path):
    (tmp_path / "other").write_text('{"ended": [5]}', encoding="utf-8")
    (tmp_path / "links.json").symlink_to(tmp_path / "other")
    assert record.read(str(tmp_path / "links.json"))["ended"] == []


def test_a_clock_that_was_set_back_forgets_no_restart():
    assert recent([100.0, 3000.0, 9000.0], 3800.0) == [3000.0, 9000.0]


@pytest.mark.parametrize(("age", "counts"), [(3599.9, True), (3600.0, False), (-5.0, True)])
def test_an_end_counts_for_an_hour(age, counts):
    assert recent([1000.0], 1000.0 + age) == ([1000.0] if counts else [])


def test_what_differs_has_to_be_the_same_twice():
    links = Links({})
    seen(links, ("p", 1.0))
    links.see("p", 2.0)
    links.see("p", 3.0)  # another one again: neither was seen twice
    assert not links.stale and links.doubtful
    links.see("p", 3.0)
    assert links.stale == {"p"} and not links.doubtful and links.met == {"p": 1.0}


@pytest.mark.parametrize(
    ("page", "unknown"),
    [
        (Reply(500, "process_start_time_seconds 1.0", 0.0, ""), ["prefill-0"]),
        (Reply(200, "process_start_time_seconds 1.0", 0.0, "cut"), ["prefill-0"]),
        (Reply(0, "", 0.0, "refused"), []),
    ],
)
def test_only_a_page_that_came_whole_says_anything(settings, page, unknown):
    def get(target, path, timeout):
        return Reply(200, "", 0.0, "") if path == "/health" else page

    watch = Watch(str(settings), get, lambda: 1.0)
    assert not watch.round() and (watch.unknown, watch.links.met) == (unknown, {})


def test_the_record_keeps_what_is_needed(tmp_path):
    known = {"at": 5, "met": {"p": 1.5}, "ended": [1, 2.5], "stale": ["p"], "unknown": ["q"]}
    record.write(str(tmp_path / "links.json"), known)
    assert record.read(str(tmp_path / "links.json")) == known
    (tmp_path / "links.json").write_text(
        '{"at": 1e15, "met": {"p": 0, "q": 1.1e15}, "ended": [0, "1", -1, 1e15], "stale": [5]}'
    )
    assert record.read(str(tmp_path / "links.json")) == {
        "at": 1e15,
        "met": {"p": 0},
        "ended": [0, 1e15],
        "stale": ["5"],
        "unknown": [],
    }


@pytest.mark.parametrize(
    ("lives", "signals"),
    [(0.0, [signal.SIGTERM]), (9.9, [signal.SIGTERM]), (11.0, [signal.SIGTERM, signal.SIGKILL])],
)
def test_an_engine_that_does_not_end_in_its_time_is_killed(monkeypatch, lives, signals):
    """One that has ended is sent nothing more: its id may belong to another process."""
    now, sent = [0.0], []

    def sleep(seconds):
        assert now[0] < 30, "the time has no end"
        now[0] += seconds

    monkeypatch.setattr(program.os, "kill", lambda pid, number: sent.append((pid, number)))
    monkeypatch.setattr(program.os, "getppid", lambda: 77 if now[0] < lives else 1)
    monkeypatch.setattr(program.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(program.time, "sleep", sleep)
    program.end(77, 10.0)
    assert sent == [(77, number) for number in signals]
