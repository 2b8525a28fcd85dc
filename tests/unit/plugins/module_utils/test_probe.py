# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe on simulated clusters: each fault is noticed, and a sound cluster has no finding."""

from __future__ import annotations

import json
import os
import re
import threading
import time
import urllib.error
import urllib.request

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.probe import (
    blame,
    pages,
    pause,
    program,
    rounds,
    silence,
)
from ansible_collections.ascend.inference.plugins.module_utils.probe.pause import paused_until
from ansible_collections.ascend.inference.plugins.module_utils.probe.progress import (
    Progress,
    State,
    judged,
)
from ansible_collections.ascend.inference.plugins.module_utils.probe.results import (
    Outcome,
    Path,
    Results,
)
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.module_utils.verify.probe import Keys
from ansible_collections.ascend.inference.tests.simulator.pd_cluster import Cluster

PAIR = {"prefill": 1, "decode": 1}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(rounds, "CONNECT", 0.0)
    monkeypatch.setattr(rounds, "SETTLE", 0.6)


def probed(cluster, number=1, **changes):
    settings = rounds.Settings("demo", timeout=changes.pop("timeout", 3.0), stalled=300.0)
    keys = Keys(cluster.api_key, cluster.front_key or cluster.entry_key)
    found = rounds.Rounds(read_plan(cluster.plan(**changes)), keys, settings)
    for dummy in range(number):
        found.round()
    return found


def values(found):
    """{metric{path or engine}: value} of the page."""
    read = re.findall(
        r'^(inference_probe_\w+)\{deployment="demo"(?:,\w+="([^"]*)")?\} (\S+)$', pages.metrics_of(found), re.M
    )
    return {f"{name[len('inference_probe_') :]} {label}".strip(): float(value) for name, label, value in read}


def test_a_sound_cluster_has_no_finding_and_metrics_of_each_path(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=2) as cluster:
        found = probed(cluster, 2)
    page, seen = pages.page_of(found), values(found)
    assert page["findings"] == []
    assert page["paths"] == {"good": 3, "failed": 0, "unknown": 0}
    assert page["rounds"] == 2
    for path in ("clients", "prefill-0->decode-0", "prefill-0->decode-1"):
        assert seen[f"success {path}"] == 1
        assert 0 < seen[f"ttft_seconds {path}"] < 3
        assert seen[f"cached_tokens {path}"] >= 16
    assert seen["last_run_timestamp_seconds"] == pytest.approx(found.finished)
    assert seen["engine_stalled_seconds decode-1"] == 0


def test_what_was_not_probed_is_unknown_and_not_good(tmp_path):
    with Cluster(tmp_path, prefill=2, decode=2) as cluster:
        never, once = probed(cluster, 0), probed(cluster, 1)
    assert pages.page_of(never)["paths"] == {"good": 0, "failed": 0, "unknown": 5}
    assert not [name for name in values(never) if name.startswith("success")]
    assert values(never)["last_run_timestamp_seconds"] == 0
    assert pages.page_of(once)["paths"] == {"good": 2, "failed": 0, "unknown": 3}


# fault: (cluster, faults, the paths that fail, a text of the first finding)
PLANTED = {
    "the router answers an empty 200": (PAIR, {"router-0": ["empty_200"]}, {"clients"}, "empty"),
    "the router hides errors": (
        PAIR,
        {"router-0": ["swallows_errors"], "decode-0": ["fails_completions"]},
        {"clients", "prefill-0->decode-0"},
        "empty",
    ),
    "an engine hangs and its health is 200": (
        PAIR,
        {"decode-0": ["hang"]},
        {"clients", "prefill-0->decode-0"},
        "prefill-0 -> decode-0",
    ),
    "decode computes prompts itself": (
        PAIR,
        {"decode-0": ["recompute"]},
        {"clients", "prefill-0->decode-0"},
        "VERIFY-RECOMPUTED",
    ),
    "the router drops the parameters": (PAIR, {"router-0": ["drops_params"]}, {"clients"}, "VERIFY-RECOMPUTED"),
    "wrong KV": (PAIR, {"decode-0": ["garbage_kv"]}, {"clients", "prefill-0->decode-0"}, "directly returns"),
    "the router cuts streams": (PAIR, {"router-0": ["cut_stream"]}, {"clients"}, "clients: "),
    "no router": (PAIR, {"router-0": ["dead"]}, {"clients"}, "VERIFY-ENTRY-DOWN"),
    "one pair of several": (
        {"prefill": 1, "decode": 2},
        {"decode-1": ["garbage_kv"], "router-0": ["one_decode"]},
        {"prefill-0->decode-1"},
        "path prefill-0->decode-1: ",
    ),
    "a colocated engine": ({"colocated": 1}, {"router-0": ["rewrites"]}, {"clients"}, "directly returns"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_each_fault_is_noticed_on_its_paths_only(tmp_path, name):
    size, faults, failing, text = PLANTED[name]
    with Cluster(tmp_path, faults=faults, **size) as cluster:
        found = probed(cluster, 2 if size.get("decode", 0) > 1 else 1, timeout=1.0)
    assert {path.name for path in found.results.paths() if path.success is False} == failing
    assert text in next(item for item in pages.findings_of(found) if "fails each request" not in item)
    assert {path for path in failing if values(found)[f"success {path}"] == 0} == failing
    assert all(len(item) > 40 and "Fix: " in item for item in pages.findings_of(found))


@pytest.mark.parametrize("engine", ["decode-1", "prefill-1"])
@pytest.mark.parametrize("fault", ["fails_completions", "hang"])
def test_an_engine_that_fails_everything_is_named_within_two_rounds(tmp_path, engine, fault):
    """It is healthy and idle all the time; the rounds begin with pairs without it."""
    with Cluster(tmp_path, prefill=3, decode=3, faults={engine: [fault]}) as cluster:
        found = probed(cluster, 2, timeout=1.0)
        page = pages.page_of(found)
        assert list(page["blamed"]) == [engine] and page["blamed"][engine] in (1, 2)
        assert page["findings"][0].startswith(f"{engine} fails each request that is tried over it, ")
        next(each for each in cluster.engines if each.name == engine).faults.clear()
        for dummy in range(9):  # each pair of ranks has its turn
            found.round()
    assert pages.page_of(found)["blamed"] == {} and pages.page_of(found)["findings"] == []


def test_rounds_in_a_row_are_counted_and_the_clients_are_named(tmp_path):
    with Cluster(tmp_path, prefill=2, decode=2, faults={"decode-1": ["fails_completions"]}) as cluster:
        found = probed(cluster, 0, timeout=1.0)
        assert pages.page_of(found)["clients"] is None
        seen = []
        for dummy in range(4):
            found.round()
            seen.append(found.blamed.get("decode-1", 0))
    assert seen in ([1, 2, 3, 4], [0, 1, 2, 3])
    assert pages.page_of(found)["clients"] in (True, False)


def test_no_engine_is_blamed_by_results_of_earlier_rounds(tmp_path):
    """The only prefill engine hangs: there is no time for all pairs in a round, and decode engines worked with it a minute ago."""
    with Cluster(tmp_path, prefill=1, decode=4) as cluster:
        found = probed(cluster, 4, timeout=1.0)
        found.settings = found.settings._replace(interval=0.0)
        next(each for each in cluster.engines if each.name == "prefill-0").faults.add("fails_completions")
        seen = []
        for dummy in range(4):
            found.round()
            seen.append(dict(found.blamed))
    assert seen == [{}] * 4


def test_a_round_in_which_an_engine_is_not_tried_is_not_counted(tmp_path):
    names = ("decode-2", "decode-3")
    with Cluster(tmp_path, prefill=1, decode=4, faults={name: ["fails_completions"] for name in names}) as cluster:
        found = probed(cluster, 4, timeout=1.0)
        for engine in cluster.engines:
            engine.faults.clear()
        before = dict(found.blamed)
        found.round()
    assert set(before) == set(names) and all(number <= before[name] for name, number in found.blamed.items())


def test_an_engine_that_computes_other_requests_is_not_blamed(tmp_path):
    """Its answers to the probe are late because it has much to do, which a restart would make worse."""
    with Cluster(tmp_path, prefill=1, decode=2, faults={"decode-1": ["fails_completions"]}) as cluster:
        found = probed(cluster, 2, timeout=1.0)
        before, looks = found.blamed["decode-1"], found._look
        found._look = lambda: (looks(), found.progress.states.update({"decode-1": State("ok", 0.0, 9.0)}))
        found.round()
        assert found.blamed == {"decode-1": before}
        found.blamed = {}
        found.round()
        assert found.blamed == {}
        found._look = looks
        found.round()
        assert found.blamed == {"decode-1": 1}


def path_of(name, success):
    return Path(name, success, () if success else ("broken",), None if success is None else Outcome(1.0, ""))


@pytest.mark.parametrize(
    ("states", "away", "names"),
    [
        ({"a->c": False, "a->d": True}, [], ["c"]),
        ({"a->c": False, "b->d": True}, [], []),  # a or c
        ({"a->c": False, "b->c": True, "a->d": False}, [], ["a"]),
        ({"a->c": False, "b->c": False, "a->d": True, "b->d": True}, [], ["c"]),
        ({"a->c": False, "b->c": False, "a->d": True, "b->d": True}, ["c"], []),
        ({"a->c": False, "b->c": True, "a->d": False, "b->d": False}, [], ["a", "d"]),  # b works with c
        ({"a->c": False, "a->d": False}, [], []),
        ({"a->c": False, "a->d": None}, [], []),
        ({"clients": False, "a->c": True}, [], []),
    ],
)
def test_which_engine_failing_paths_are_due_to(states, away, names):
    assert blame.blamed([path_of(name, state) for name, state in states.items()], away) == names


def test_which_pairs_are_tried_to_find_the_engine():
    pairs = [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("b", "e")]
    assert blame.covering(pairs, ()) == [0, 3, 4]
    assert blame.covering(pairs, ("a", "c")) == [3, 4] and blame.covering(pairs, "abcde") == []
    assert blame.crossing({("a", "c"): False, ("b", "d"): True}, pairs) == [1, 2]
    assert blame.crossing({("a", "c"): False}, pairs) == [] == blame.crossing({("a", "c"): True}, pairs)


def test_a_round_that_searches_ends(tmp_path, monkeypatch):
    """Pairs that hang take their time, and the next round is due."""
    with Cluster(tmp_path, prefill=4, decode=4, faults={"decode-0": ["fails_completions"]}) as cluster:
        found = rounds.Rounds(read_plan(cluster.plan()), Keys(cluster.api_key, ""), rounds.Settings("demo", 0.0, 1.0))
        tried = []
        monkeypatch.setattr(found, "_pair", lambda prefill, decode: bool(tried.append((prefill, decode))))
        found.round()
        assert len(tried) == 1
        found.settings = found.settings._replace(interval=60.0)
        monkeypatch.setattr(rounds, "MOST", 2)
        found.round()
    assert len(tried) == 1 + 1 + 2


@pytest.mark.parametrize("size", [PAIR, {"colocated": 2}, {"prefill": 1, "decode": 1, "bootstrap": True}])
def test_sound_twins(tmp_path, size):
    with Cluster(tmp_path, **size) as cluster:
        assert pages.findings_of(probed(cluster)) == []


def test_a_pair_of_ranks_stays_failed_until_it_works_itself(tmp_path):
    faults = {"decode-0": ["rank1:garbage_kv"]}
    with Cluster(tmp_path, prefill=1, decode=1, data_parallel=2, bootstrap=True, faults=faults) as cluster:
        found = probed(cluster, 4)  # all four pairs of ranks
        assert values(found)["success prefill-0->decode-0"] == 0
        assert len(found.results.paths()[1].problems) == 2
        cluster.engines[1].faults.clear()
        for dummy in range(2):  # in each round the next pair and one that fails
            found.round()
    assert values(found)["success prefill-0->decode-0"] == 1


def test_keys_are_used_and_never_shown(tmp_path):
    keys = {"api_key": "engines-secret-key", "front_key": "clients-secret-key"}
    with Cluster(tmp_path, **PAIR, **keys) as cluster:
        assert pages.findings_of(probed(cluster)) == []
        cluster.api_key = "another"
        found = probed(cluster)
        found.keys = Keys("wrong-engine-key", "wrong-client-key")
        found.round()
    texts = pages.findings_of(found)
    assert len(texts) == 2 and all("HTTP 401" in text and "[VERIFY-UNAUTHORIZED]" in text for text in texts)
    assert not [secret for secret in ("secret-key", "wrong-") if secret in pages.metrics_of(found) + " ".join(texts)]


@pytest.mark.parametrize(
    ("rotated", "wrong"),
    [("api_key", {"clients", "path prefill-0->decode-0"}), ("front_key", {"clients"})],
)
def test_a_key_that_was_rotated_is_named_and_no_engine_is_blamed(tmp_path, rotated, wrong):
    with Cluster(tmp_path, **PAIR, api_key="engines-first-key", front_key="clients-first-key") as cluster:
        found = probed(cluster)
        assert pages.findings_of(found) == []
        setattr(cluster, rotated, "second-key")
        found.round()
        texts = pages.findings_of(found)
        assert {text.partition(": ")[0] for text in texts} == wrong
        assert all("[VERIFY-UNAUTHORIZED]" in text and "second-key" not in text for text in texts), texts
        assert found.stuck() == {}
        found.keys = Keys(cluster.api_key, cluster.front_key)
        found.round()
    assert pages.findings_of(found) == []


COUNTERS = "vllm:num_requests_running {}\nvllm:prompt_tokens_total {}\nvllm:generation_tokens_total 5\n"


def read(running, tokens):
    return Reply(200, COUNTERS.format(running, tokens), 0.0, "")


def test_requests_without_tokens_are_a_stall_from_the_last_token_on():
    progress = Progress()
    assert progress.look("e", read(1, 7), 100.0) == ("ok", 0.0, 1.0)
    assert progress.look("e", read(1, 7), 160.0) == ("stalled", 60.0, 1.0)
    assert progress.look("e", read(2, 7), 220.0) == ("stalled", 120.0, 2.0)
    assert progress.look("e", read(2, 8), 280.0) == ("ok", 0.0, 2.0)
    assert progress.look("e", read(0, 8), 340.0) == ("ok", 0.0, 0.0)
    assert progress.look("e", read(1, 8), 9000.0) == ("ok", 0.0, 1.0)  # the pause before had no requests


GONE = Reply(0, "", 0.0, "refused")


@pytest.mark.parametrize(
    "away", [GONE, Reply(0, "", 0.0, "timeout"), read(0, 1)], ids=["gone", "silent", "restarted at once"]
)
def test_an_engine_that_works_again_is_tried_at_once_among_many_pairs(tmp_path, monkeypatch, away):
    """The watchdog waits for a request over it; with 64 pairs and one a minute its turn would come within an hour."""
    with Cluster(tmp_path, prefill=2, decode=32) as cluster:
        found = rounds.Rounds(read_plan(cluster.plan()), Keys(), rounds.Settings("demo"))
    tried = []
    monkeypatch.setattr(found, "_clients", lambda: True)
    monkeypatch.setattr(found, "_pair", lambda prefill, decode: tried.append({prefill.name, decode.name}) is None)
    replies = {}
    monkeypatch.setattr(rounds, "ask", lambda target, path, timeout: replies.get(target.url, read(0, 100)))
    url = found.plan.engine("decode-20").url

    def rounds_of(number):
        del tried[:]
        for _round in range(number):
            found.round()
        return sum("decode-20" in pair for pair in tried)

    assert rounds_of(3) == 0 and len(tried) == 3
    replies[url] = away
    first = rounds_of(1)
    replies[url] = read(0, 1)
    assert first + rounds_of(10) >= 8
    rounds_of(20)
    assert rounds_of(8) <= 1, "it has its turn like the others again"


def test_a_silent_engine_is_no_starting_one():
    progress, hung, closed = Progress(), Reply(0, "", 10.0, "timeout"), Reply(0, "", 0.0, "refused")
    progress.look("e", hung, 100.0)
    assert progress.look("e", hung, 400.0) == ("silent", 300.0, 0.0)
    assert progress.look("e", closed, 460.0) == ("down", 0.0, 0.0)
    assert progress.look("e", hung, 520.0).seconds == 0
    assert progress.look("e", Reply(404, "", 0.0, ""), 580.0).state == "unknown"


def test_a_stuck_engine_is_a_finding_with_its_fix(tmp_path):
    with Cluster(tmp_path, **PAIR) as cluster:
        found = probed(cluster)
    found.progress.look("decode-0", read(3, 7), 1000.0)
    found.progress.look("decode-0", read(3, 7), 1240.0)
    assert pages.findings_of(found) == []  # less than 300 s
    found.progress.look("decode-0", read(3, 7), 1300.0)
    (text,) = pages.findings_of(found)
    assert "decode-0 has 3 requests and has computed no token for 5 min" in text
    assert "inference_services: [decode-0]" in text
    assert pages.page_of(found)["stuck"] == ["decode-0"]
    assert values(found)["engine_stalled_seconds decode-0"] == 300


def test_the_page_fits_into_what_status_reads(tmp_path):
    with Cluster(tmp_path, **PAIR) as cluster:
        found = probed(cluster, 0)
    for number in range(40):
        found.results.add(f"p->d{number}", "x", rounds.Outcome(1.0, "钥匙" * 400))
    page = pages.page_of(found)
    assert len(pages.page_text(page, 2.0, 1.0)) < 4000
    assert page["more"] == 32


def service(cluster, folder):
    settings = {"deployment": "demo", "verify": cluster.plan(), "address": "127.0.0.1", "port": 0, "timeout": 3}
    environment = {"PROBE_ENGINE_KEY": cluster.api_key, "PROBE_CLIENT_KEY": cluster.front_key + " second"}
    return program.Service(settings, dict(environment, PROBE_TEXTFILES=str(folder)))


def test_the_service_serves_its_pages_and_replaces_the_file(tmp_path):
    with Cluster(tmp_path, **PAIR, front_key="first") as cluster:
        found = service(cluster, tmp_path)
        assert found.rounds.keys.entry == "first"
        server = program.Pages(("127.0.0.1", 0), found)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"

        def get(path):
            return urllib.request.urlopen(url + path, timeout=5).read().decode()

        assert json.loads(get("/health"))["age"] is None
        found.rounds.round()
        found.publish()
        assert json.loads(get("/health"))["paths"] == {"good": 2, "failed": 0, "unknown": 0}
        assert 'inference_probe_success{deployment="demo",path="clients"} 1' in get("/metrics")
        with pytest.raises(urllib.error.HTTPError):
            get("/other")
        server.shutdown()
        server.server_close()
    path = tmp_path / "inference_probe_demo.prom"
    assert path.read_text() == found.metrics
    assert path.stat().st_mode & 0o777 == 0o644
    assert [name for name in os.listdir(str(tmp_path)) if "inference_probe" in name] == [path.name]


def test_a_pause_is_kept_shown_and_ended(tmp_path, monkeypatch):
    place = tmp_path / "pause"
    with Cluster(tmp_path, **PAIR) as cluster:
        found = service(cluster, "")
        found.settings = str(tmp_path / "probe.json")
        assert not found.paused()
        place.write_text("60\n")
        assert found.paused()
        page = json.loads(found.page("/health"))
        assert 50 < page["paused"] <= 60
        ended = threading.Event()
        monkeypatch.setattr(program, "LOOK", 0.05)
        thread = threading.Thread(target=program.run, args=(found, ended))
        thread.start()
        time.sleep(0.3)
        assert found.rounds.count == 0
        place.unlink()
        limit = time.monotonic() + 10
        while not found.rounds.count and time.monotonic() < limit:
            time.sleep(0.05)
        ended.set()
        thread.join()
    assert found.rounds.count == 1
    assert json.loads(found.page("/health"))["paused"] == 0
    assert values(found.rounds)["paused_until_timestamp_seconds"] == 0


def test_silence_before_and_after_a_pause_is_none_in_it(tmp_path):
    with Cluster(tmp_path, **PAIR) as cluster:
        found = service(cluster, "")
    found.settings, hung = str(tmp_path / "probe.json"), Reply(0, "", 10.0, "timeout")
    found.rounds.progress.look("decode-0", hung, 100.0)
    (tmp_path / "pause").write_text("60\n")
    assert found.paused()
    (tmp_path / "pause").unlink()
    assert not found.paused()
    assert found.rounds.progress.look("decode-0", hung, 4000.0).seconds == 0
    assert found.rounds.stuck() == {}


@pytest.mark.parametrize("text", ["", "soon", "nan", "-5", "inf", "1e9"])
def test_what_is_no_duration_is_no_pause(tmp_path, text):
    (tmp_path / "pause").write_text(text)
    assert paused_until(str(tmp_path / "probe.json")) == 0


def test_a_pause_ends_by_itself(tmp_path):
    (tmp_path / "pause").write_text("60")
    os.utime(str(tmp_path / "pause"), (1000, 1000))
    assert paused_until(str(tmp_path / "probe.json")) == 1060


def test_a_pause_from_the_future_is_none(tmp_path):
    """The clock was set back since: the pause would last for as long as that."""
    (tmp_path / "pause").write_text("60")
    later = time.time() + 7200
    os.utime(str(tmp_path / "pause"), (later, later))
    assert paused_until(str(tmp_path / "probe.json")) == 0


@pytest.mark.parametrize("step", [36000.0, -36000.0])
def test_a_clock_that_is_set_makes_no_engine_stuck_and_hides_none(tmp_path, monkeypatch, step):
    times = {"clock": 1e9, "ticks": 500.0}
    with Cluster(tmp_path, **PAIR) as cluster:
        found = service(cluster, "")
    own = found.rounds
    own.clock, own.ticks = (lambda: times["clock"]), (lambda: times["ticks"])
    for name in ("_clients", "_chosen"):
        monkeypatch.setattr(own, name, lambda: [])
    monkeypatch.setattr(rounds, "ask", lambda *dummy, **more: read(3, 7))
    own.round()
    found.publish()
    times.update(clock=times["clock"] + step + 60, ticks=560.0)
    assert json.loads(found.page("/health"))["age"] == 60
    own.round()
    assert not own.stuck(), "the engines have made no progress for a minute"
    times.update(clock=times["clock"] + 300, ticks=860.0)
    own.round()
    assert sorted(own.stuck()) == ["decode-0", "prefill-0"]


def test_a_folder_that_cannot_be_written_is_a_finding(tmp_path):
    with Cluster(tmp_path, **PAIR) as cluster:
        found = service(cluster, tmp_path / "missing")
    assert "textfile_directory" in found.found["findings"][0]


@pytest.mark.parametrize(
    ("seconds", "ahead", "counts"),
    [
        ("86400", 0, True),
        ("86400.5", 0, False),
        ("0", 0, False),
        ("0.5", 0, True),
        ("60", 0.9, True),
        ("60", 1.5, False),
    ],
)
def test_edges_of_a_pause(tmp_path, monkeypatch, seconds, ahead, counts):
    (tmp_path / "pause").write_text(seconds)
    os.utime(str(tmp_path / "pause"), (1000 + ahead, 1000 + ahead))
    monkeypatch.setattr(pause.time, "time", lambda: 1000.0)
    found = paused_until(str(tmp_path / "probe.json"))
    assert found == (pytest.approx(1000 + ahead + float(seconds)) if counts else 0.0)


@pytest.mark.parametrize(
    ("finished", "since", "until", "age", "paused"),
    [(None, 5.0, 0, None, 0.0), (1.0, 5.04, 0, 5.0, 0.0), (1.0, -3.0, 100.26, 0.0, 0.3), (0.0, 2.0, 99.0, 2.0, 0.0)],
)
def test_the_age_and_the_pause_on_the_page(finished, since, until, age, paused):
    text = pages.page_text({"finished": finished, "paused_until": until, "x": "钥"}, 100.0, since)
    assert json.loads(text) == {"finished": finished, "paused_until": until, "x": "钥", "age": age, "paused": paused}
    assert "钥" in text


class Known:
    """Rounds of which only the outcome is asked."""

    def __init__(self, stuck=()):
        self.settings = rounds.Settings('a"b\\c\nd', 60.0, 30.0)
        self.results, self.progress = Results(), Progress()
        self.finished, self.paused_until, self.count = 123.5, 7.0, 3
        self.stuck, self.blamed = lambda: dict(stuck), {}


def test_metrics_have_each_value_with_escaped_labels():
    known = Known()
    known.results.expect("x", "x")
    known.results.add("clients", "clients", Outcome(5.0, "", None, 0.0))
    known.results.add("p->d", "r0", Outcome(6.0, "broken", 0.25))
    known.progress.states = {"d": State("unknown", 5.0), "c": State("silent", 9.0), "b": State("ok")}
    known.blamed = {"b": 2}
    lines = pages.metrics_of(known).splitlines()
    label = 'deployment="a\\"b\\\\c\\nd"'
    assert [line for line in lines if not line.startswith("#")] == [
        f'inference_probe_success{{{label},path="clients"}} 1',
        f'inference_probe_success{{{label},path="p->d"}} 0',
        f'inference_probe_ttft_seconds{{{label},path="p->d"}} 0.25',
        f'inference_probe_cached_tokens{{{label},path="clients"}} 0',
        f'inference_probe_path_timestamp_seconds{{{label},path="clients"}} 5',
        f'inference_probe_path_timestamp_seconds{{{label},path="p->d"}} 6',
        f"inference_probe_last_run_timestamp_seconds{{{label}}} 123.5",
        f"inference_probe_paused_until_timestamp_seconds{{{label}}} 7",
        f"inference_probe_interval_seconds{{{label}}} 60",
        f'inference_probe_engine_stalled_seconds{{{label},engine="b"}} 0',
        f'inference_probe_engine_stalled_seconds{{{label},engine="c"}} 9',
        f'inference_probe_engine_failed_rounds{{{label},engine="b"}} 2',
        f'inference_probe_engine_failed_rounds{{{label},engine="c"}} 0',
        f'inference_probe_engine_failed_rounds{{{label},engine="d"}} 0',
    ]
    assert lines[1] == "# TYPE inference_probe_success gauge" and pages.metrics_of(known).endswith("\n")


def test_findings_come_in_order_and_are_cut():
    stuck = [("c", State("silent", 90.0)), ("d", State("stalled", 600.0, 2.0))]
    known = Known(stuck)
    known.results.add("p->d", "r0", Outcome(6.0, "x" * 500))
    known.results.add("clients", "clients", Outcome(5.0, "y\nz"))
    page = pages.page_of(known, "the folder")
    assert page["findings"][:2] == ["the folder", "clients: y\\nz"] and page["findings"][2] == "path p->d: " + "x" * 369
    assert page["findings"][3].startswith("c has not answered for 2 min: it hangs")
    assert page["findings"][4].startswith("d has 2 requests and has computed no token for 10 min")
    assert (page["more"], page["stuck"], page["rounds"], page["timeout"], page["interval"]) == (
        0,
        ["c", "d"],
        3,
        30.0,
        60.0,
    )
    for number in range(4):
        known.results.add("clients", f"{number}", Outcome(5.0, "z"))
    page = pages.page_of(known, "the folder")
    assert (len(page["findings"]), page["more"], page["finished"], page["paused_until"]) == (8, 1, 123.5, 7.0)


def test_a_path_has_the_newest_result_of_its_pairs():
    results = Results()
    for path in ("b", "a", "clients"):
        results.expect(path, "r")
    results.add("a", "r", Outcome(9.0, ""))
    results.add("a", "s", Outcome(5.0, "broken"))
    results.expect("a", "s")  # does not forget
    found = results.paths()
    assert [(path.name, path.success) for path in found] == [("clients", None), ("a", False), ("b", None)]
    assert found[1].problems == ("broken",) and found[1].last.at == 9.0 and found[0].last is None
    assert [results.failing(*names) for names in (("a", "s"), ("a", "r"), ("b", "r"), ("c", "x"))] == [
        True,
        False,
        False,
        False,
    ]


RUN, WAIT, PROMPT, NEW = (
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:prompt_tokens_total",
    "vllm:generation_tokens_total",
)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (Reply(0, "", 0.0, "refused"), ("down", 0.0, 0.0)),
        (Reply(0, "", 0.0, "unreachable"), ("down", 0.0, 0.0)),
        (Reply(200, "", 0.0, "timeout"), ("silent", 0.0, 0.0)),
        (Reply(200, f"{RUN} 1\n{NEW} 1\n", 0.0, "cut"), ("unknown", 0.0, 0.0)),
        (Reply(500, f"{RUN} 1\n{NEW} 1\n", 0.0, ""), ("unknown", 0.0, 0.0)),
        (Reply(200, f"{RUN} 1\n", 0.0, ""), ("unknown", 0.0, 0.0)),
        (Reply(200, f"{WAIT} 1\n{NEW} 1\n", 0.0, ""), ("unknown", 0.0, 0.0)),
        (Reply(200, f"{RUN} 0\n{NEW} 4\n", 0.0, ""), ("ok", 0.0, 4.0)),
        (Reply(200, f"{RUN} 0\n{WAIT} 2\n{NEW} 4\n{PROMPT} 3\n", 0.0, ""), ("stalled", 2.0, 7.0)),
        (Reply(200, f"{RUN} 1\n{WAIT} 2\n{PROMPT} 3\n", 0.0, ""), ("stalled", 3.0, 3.0)),
    ],
)
def test_what_an_answer_says_about_an_engine(answer, found):
    assert judged(answer) == found


def test_an_engine_is_preferred_for_ten_rounds():
    progress = Progress()
    progress.look("e", Reply(0, "", 0.0, "refused"), 0.0)
    assert progress.working_again() == set()
    rounds_in_which = 0
    for number in range(1, 20):
        progress.look("e", read(0, 7), float(number))
        rounds_in_which += progress.working_again() == {"e"}
    assert rounds_in_which == 9  # and the one in which it was away


@pytest.mark.parametrize(
    ("replies", "running", "asked"),
    [
        ([Reply(0, "", 0.0, "refused")], False, 1),
        ([Reply(0, "", 0.0, "timeout"), Reply(200, '{"paused": 0.5}', 0.0, "")], True, 2),
        ([Reply(200, '{"paused": 0}', 0.0, "")] * 3, None, 3),
        ([Reply(200, '{"paused": 9}', 0.0, "cut")] * 3, None, 3),
    ],
)
def test_a_probe_is_waited_for_until_the_timeout(monkeypatch, replies, running, asked):
    times, left = [0.0], list(replies)
    monkeypatch.setattr(silence, "ask", lambda target, path, timeout: left.pop(0))

    def sleep(seconds):
        times[0] += seconds

    def wait():
        return silence.wait_until_paused("http://x", 4, lambda: times[0], sleep)

    if running is None:
        with pytest.raises(silence.NotPaused, match="did not say within 4 s"):
            wait()
        assert times[0] == 4.0
    else:
        assert wait() is running
    assert len(replies) - len(left) == asked


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Reply(200, "a\nb", 0.0, ""), "200 a\\nb"),
        (Reply(0, "x", 0.0, "cut", "reset"), "reset"),
        (Reply(0, "x", 0.0, "cut"), "cut"),
        (Reply(200, "x" * 500, 0.0, ""), "200 " + "x" * 196),
    ],
)
def test_what_a_probe_answered_is_shown(answer, words):
    assert silence.shown(answer) == words
