# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""router_members against small routers: the list that is read back decides, never the answer. The real routers: tests/unit/simulator."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import unquote

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.router import members as reconciled
from ansible_collections.ascend.inference.plugins.module_utils.router import same_engine, use
from ansible_collections.ascend.inference.plugins.module_utils.router.base import Member, MembersProblem, address_of
from ansible_collections.ascend.inference.plugins.module_utils.router.instances import spellings, usual
from ansible_collections.ascend.inference.plugins.module_utils.router.members import answers
from ansible_collections.ascend.inference.plugins.module_utils.router.workers import Workers
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply

P1, D1, D2 = "http://127.0.0.9:7100", "http://127.0.0.9:7300", "http://127.0.0.9:7340"
ONE_EACH = [{"kind": "prefill", "url": P1}, {"kind": "decode", "url": D1}]
SECOND = [{"kind": "decode", "url": D2}]


class Router:
    """A router in a thread; ``deaf``: it answers well to every change and carries none out."""

    def __init__(self):
        self.workers = {P1: "prefill", D1: "decode"}
        self.listed, self.isolated = {"prefill": ["127.0.0.9:7100"], "decode": ["127.0.0.9:7300"]}, set()
        self.busy, self.deaf, self.calls = False, False, []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *unused):
                pass

            def answer(self):
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size)) if size else {}
                status, found = owner.answer(self.command, self.path, body)
                data = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = answer

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, method, path, body):
        self.calls.append((method, path, body))
        if path == "/workers" and method == "GET":
            rows = [{"url": url, "worker_type": kind} for url, kind in self.workers.items()]
            return 200, {"workers": rows}
        if path == "/workers":
            if not self.deaf:
                self.workers[body["url"]] = body["worker_type"]
            return 200, {"success": True}
        if path.startswith("/workers/"):
            if not self.deaf:
                self.workers.pop(unquote(path[9:]), None)
            return 200, {"success": True}
        if path not in ("/instances/add", "/instances/remove"):
            return 404, {"detail": "Not Found"}
        for address in body["instances"] if not self.deaf else ():
            mine = self.listed[body["type"]]
            if path.endswith("add") and address not in mine:  # one that is still listed is ignored
                mine.append(address)
            elif path.endswith("remove") and self.busy:
                self.isolated.add(address)
            elif path.endswith("remove") and address in mine:
                mine.remove(address)
        return 200, {f"current_{kind}_instances": list(self.listed[kind]) for kind in self.listed}

    def serving(self):
        return sorted(address for mine in self.listed.values() for address in mine if address not in self.isolated)


@pytest.fixture
def router():
    made = Router()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def members(run_module, router, tmp_path):
    """Run the module for a list of members."""

    def run(api, wanted, **options):
        given = {"record": str(tmp_path / "record"), "started": str(tmp_path / "started"), "timeout": 1, **options}
        return run_module("router_members", api=api, url=router.url, members=wanted, model="m", **given)

    return run


@pytest.mark.parametrize("api", ["workers", "instances"])
def test_engines_are_added_and_removed_once(members, api):
    found = members(api, SECOND)
    assert (found["changed"], found["added"], found["after"]["decode"]) == (True, [D2], [D1, D2])
    assert found["diff"]["after"] == found["diff"]["before"].replace(D1 + "\n", D1 + "\ndecode " + D2 + "\n")
    assert not members(api, SECOND)["changed"]
    found = members(api, SECOND, state="absent")
    assert (found["changed"], found["removed"], found["after"]["decode"]) == (True, [D2], [D1])
    assert not members(api, SECOND, state="absent")["changed"]


@pytest.mark.parametrize("api", ["workers", "instances"])
def test_a_slash_at_the_end_is_no_other_engine(members, router, api):
    assert not members(api, [{**one, "url": one["url"] + "/"} for one in ONE_EACH])["changed"]
    router.url += "/"
    assert not members(api, ONE_EACH)["changed"]


def test_a_worker_that_is_listed_with_a_slash_or_by_its_ranks_leaves(members, router):
    """vllm-router 0.1.17 compares URLs as text; with --intra-node-data-parallel-size it lists ranks, and takes the URL without them."""
    forms = [D2, D2 + "/", D2 + "@0", D2 + "@1", D2 + "/@0"]
    router.workers.update(dict.fromkeys(forms, "decode"))
    normal = router.answer

    def answer(method, path, body):
        url = unquote(path[9:]) if method == "DELETE" else ""
        assert "@" not in url, "the router knows no such worker"
        for rank in (url + "@0", url + "@1"):
            router.workers.pop(rank, None)
        return normal(method, path, body)

    router.answer = answer
    assert not members("workers", SECOND)["changed"], "it is there"
    assert members("workers", SECOND, state="absent")["removed"] == [D2]
    assert router.workers == {P1: "prefill", D1: "decode"}


def test_an_engine_that_changes_its_pool_leaves_the_other_one_first(members, router):
    """vllm-router 0.1.17 lists it in the new one only then, and sends it requests of both."""
    router.workers[D2] = "prefill"
    found = members("workers", SECOND)
    assert (found["changed"], found["added"], found["after"]["decode"]) == (True, [D2], [D1, D2])
    changes = [(method, unquote(path)) for method, path, _body in router.calls if method != "GET"]
    assert changes == [("DELETE", "/workers/" + D2), ("POST", "/workers")]


def test_an_engine_that_a_starting_router_gets_meanwhile_is_not_added_twice(members, router):
    """vllm-router 0.1.17 lists it once, and sends it twice as many requests as others."""
    normal = router.answer

    def answer(method, path, body):
        found = normal(method, path, body)
        router.workers[D2] = "decode"
        return found

    router.answer = answer
    assert members("workers", SECOND)["after"]["decode"] == [D1, D2]
    assert [call for call in router.calls if call[0] == "POST"] == []


@pytest.mark.parametrize("api", ["workers", "instances"])
def test_purge_leaves_exactly_the_wanted_members(members, api):
    assert members(api, SECOND)["others"] == [D1, P1]
    found = members(api, ONE_EACH, purge=True)
    assert (found["added"], found["removed"], found["others"]) == ([], [D2], [])
    assert not members(api, ONE_EACH, purge=True)["changed"]


@pytest.mark.parametrize("api", ["workers", "instances"])
def test_purge_replaces_the_only_member_of_a_pool(members, api):
    found = members(api, [ONE_EACH[0], *SECOND], purge=True)
    assert not found["failed"], found["msg"]
    assert (found["added"], found["removed"], found["after"]["decode"]) == ([D2], [D1], [D2])


def test_what_a_router_lists_changes_no_terminal(members, router):
    router.workers["http://x\x1b[2J\nprefill http://y"] = "prefill"
    done = members("workers", ONE_EACH, purge=True)
    assert "http://x\\x1b[2J\\nprefill http://y" in done["removed"] and router.workers == {P1: "prefill", D1: "decode"}
    assert not {"\x1b", "\n"} & set("".join([*done["removed"], *(item["url"] for item in done["left"])]))
    assert "\x1b" not in json.dumps(done, ensure_ascii=False) and done["diff"]["before"].count("\n") == 3


@pytest.mark.parametrize("api", ["workers", "instances"])
def test_check_mode_says_which_others_accept_no_connection(members, monkeypatch, api):
    """So that a change counts none as serving whose host it does not ask. One that hangs may go on."""
    asked = {D1: None, D2: "requests that are not known (timeout at /metrics)"}
    monkeypatch.setattr(reconciled, "metrics_of", lambda url: asked[url])
    members(api, SECOND)
    found = members(api, ONE_EACH[:1], check=True)
    assert (sorted(found["others"]), found["silent"]) == ([D1, D2], [D1])
    assert members(api, ONE_EACH[:1])["silent"] == []


@pytest.mark.parametrize("api", ["workers", "instances"])
def test_check_mode_changes_nothing(members, router, api):
    before = (dict(router.workers), json.dumps(router.listed))
    found = members(api, SECOND, check=True)
    assert found["changed"] and found["after"]["decode"] == [D1, D2]
    assert (router.workers, json.dumps(router.listed)) == before


@pytest.mark.parametrize("api", ["workers", "instances"])
@pytest.mark.parametrize("state, wanted", [("present", SECOND), ("absent", ONE_EACH[1:])])
def test_an_answer_of_200_proves_nothing(members, router, api, state, wanted):
    router.deaf = True
    if (api, state) == (
        "instances",
        "absent",
    ):  # an isolated engine stays listed, so a proxy that does nothing looks the same
        return
    found = members(api, wanted, state=state, allow_last=True)
    assert found["failed"] and "accepted the change and does not" in found["msg"]


@pytest.mark.parametrize("api", ["workers", "instances"])
def test_the_last_engine_of_a_pool_is_kept(members, router, api):
    found = members(api, ONE_EACH[1:], state="absent")
    assert found["failed"] and "decode would have no member" in found["msg"]
    assert members(api, ONE_EACH[1:], state="absent", allow_last=True)["removed"] == [D1]


def test_an_isolated_engine_returns_under_another_spelling(members, router, tmp_path):
    members("instances", SECOND)
    router.busy = True
    assert "127.0.0.9:7340" in router.listed["decode"]
    assert members("instances", SECOND, state="absent")["after"]["decode"] == [D1]
    assert "127.0.0.9:7340" in router.listed["decode"], "it stays listed while requests are under way"
    assert router.serving() == ["127.0.0.9:7100", "127.0.0.9:7300"]
    found = members("instances", SECOND)
    assert (found["added"], found["after"]["decode"]) == ([D2], [D1, D2])
    assert "127.0.9:7340" in router.serving()
    assert not members("instances", SECOND)["changed"], "the other spelling is the same engine"
    assert members("instances", SECOND, state="absent")["removed"] == [D2]
    assert router.serving() == ["127.0.0.9:7100", "127.0.0.9:7300"]


def test_removals_of_an_earlier_start_are_forgotten(members, router, tmp_path):
    router.busy = True
    members("instances", SECOND)
    members("instances", SECOND, state="absent")
    router.isolated.clear()  # a restart: the command line lists it again
    (tmp_path / "started").write_text("digest")
    stamp = (tmp_path / "record").stat().st_mtime + 5
    os.utime(str(tmp_path / "started"), (stamp, stamp))
    assert members("instances", SECOND, check=True)["changed"] is False


def test_no_spelling_left_is_a_failure_with_a_fix(members, router):
    members("instances", SECOND)
    router.busy = True
    for _round in range(3):
        members("instances", SECOND, state="absent")
        assert not members("instances", SECOND).get("failed")
    members("instances", SECOND, state="absent")
    found = members("instances", SECOND)
    assert found["failed"] and "still lists" in found["msg"] and "Fix: run again" in found["msg"]


def test_a_router_without_the_api_and_a_dead_one(members, router, run_module):
    router.answer = lambda method, path, body: (404, {"detail": "Not Found"})
    assert "refused to list its instances: HTTP 404" in members("instances", SECOND)["msg"]
    assert "refused to list its workers: HTTP 404" in members("workers", SECOND)["msg"]
    found = run_module("router_members", api="workers", url="http://127.0.0.1:9", members=SECOND)
    assert found["failed"] and "does not answer GET /workers" in found["msg"]


def test_spellings_are_the_same_address():
    for host in ("192.0.2.10", "10.255.0.1", "127.0.0.1"):
        assert len(spellings(host)) == 4
        assert {usual(spelling + ":80") for spelling in spellings(host)} == {host + ":80"}
    assert spellings("node-1") == ["node-1"] and usual("node-1:80") == "node-1:80"


def test_several_routers_get_the_same_engines(members, router, run_module):
    second = Router()
    second.workers = {P1: "prefill", D2: "decode"}
    more = [{"url": second.url}]
    found = members("workers", SECOND, more=more)
    assert (found["changed"], found["added"], found["others"]) == (True, [D2], [D1, P1])
    assert D2 in router.workers and not members("workers", SECOND, more=more)["changed"]
    found = members("workers", SECOND, more=more, state="absent")
    assert not found["failed"] or "decode would have no member" in found["msg"]
    second.workers[D1] = "decode"
    router.workers[D2] = "decode"
    found = members("workers", SECOND, more=more, state="absent")
    assert found["removed"] == [D2] and [left["url"] for left in found["left"]] == [D2]
    assert D2 not in router.workers and D2 not in second.workers
    second.deaf = True
    found = members("workers", SECOND, more=more)
    assert found["failed"] and second.url in found["msg"]


class Engines:
    """Counters of engines: a router's completion is counted at those that it uses."""

    def __init__(self, router, used):
        self.counts, self.used, owner = {}, used, self
        normal = router.answer

        def answer(method, path, body):
            if path == "/v1/completions":
                for kind in owner.used:
                    owner.counts[kind] = owner.counts.get(kind, 0) + 1
                return 200, {}
            return normal(method, path, body)

        router.answer = answer

    def read(self, url):
        return {"vllm:request_success_total": float(self.counts.get(url, 0))}


@pytest.mark.parametrize("used", [True, False])
def test_an_added_engine_must_get_requests(members, router, monkeypatch, used):
    engines = Engines(router, [P1, D2 if used else D1])
    monkeypatch.setattr(use, "metrics_of", engines.read)
    found = members("workers", SECOND, use_timeout=1)
    assert bool(found.get("failed")) != used
    assert (D2 in router.workers) == used, "an engine that gets no requests is removed again"
    if not used:
        assert D2 in found["msg"] and "Removed again" in found["msg"]


def test_an_added_engine_that_gets_no_requests_stays_if_its_pool_has_no_other(members, router, monkeypatch):
    """Without it all requests would fail, and not only those that do not reach it."""
    del router.workers[D1]
    engines = Engines(router, [P1])
    monkeypatch.setattr(use, "metrics_of", engines.read)
    found = members("workers", SECOND, use_timeout=1)
    assert found["failed"] and f"Kept, because its pool has no other engine: {D2}." in found["msg"]
    assert "Removed again" not in found["msg"]
    assert router.workers == {P1: "prefill", D2: "decode"}


def test_of_several_engines_that_get_no_requests_one_stays_if_their_pool_has_no_other(members, router, monkeypatch):
    del router.workers[D1]
    engines = Engines(router, [P1])
    monkeypatch.setattr(use, "metrics_of", engines.read)
    found = members("workers", [{"kind": "decode", "url": D1}, *SECOND], use_timeout=1)
    assert (
        f"Removed again: {D1}; the other engines serve. Kept, because its pool has no other engine: {D2}. Fix"
        in found["msg"]
    )
    assert router.workers == {P1: "prefill", D2: "decode"}


def test_requests_from_before_do_not_count_where_nobody_could_read_them(members, router, monkeypatch):
    engines = Engines(router, [P1, D1])
    engines.counts[D2] = 7  # of its proof
    asked = []

    def read(url):
        asked.append(url)
        return "requests that are not known" if asked.count(url) == 1 else engines.read(url)

    monkeypatch.setattr(use, "metrics_of", read)
    found = members("workers", SECOND, use_timeout=1)
    assert found["failed"] and D2 in found["msg"] and "Removed again" in found["msg"]
    assert D2 not in router.workers


@pytest.mark.parametrize("api", ["workers", "instances"])
def test_the_last_engine_that_answers_is_not_removed(members, router, monkeypatch, api):
    """Routers list engines that have died. Those that answer: first both, then only the one that would leave, then none."""
    alive = {D1, D2}
    monkeypatch.setattr(
        "ansible_collections.ascend.inference.plugins.module_utils.router.members.answers", lambda one: one.url in alive
    )
    members(api, SECOND)
    alive.discard(D1)
    found = members(api, SECOND, state="absent")
    assert found["failed"] and f"would have no engine that answers without {D2}: {D1} does not" in found["msg"], found
    assert members(api, [])["after"]["decode"] == [D1, D2], "nothing was removed"
    assert members(api, ONE_EACH, purge=True)["failed"]
    alive.clear()
    assert members(api, SECOND, state="absent")["removed"] == [D2], "it serves nobody"


def test_an_engine_that_is_just_starting_is_waited_for(members, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "ansible_collections.ascend.inference.plugins.module_utils.router.members.answers",
        lambda one: one.url == D2 or asked.append(one.url) or len(asked) > 1,
    )
    members("workers", SECOND)
    assert members("workers", SECOND, state="absent", timeout=20)["removed"] == [D2] and len(asked) == 2


def test_a_member_answers_with_its_health_page(router):
    normal = router.answer
    router.answer = lambda method, path, body: (200, {}) if path == "/health" else normal(method, path, body)
    assert answers(Member("decode", router.url))
    router.answer = lambda *unused: (503, {})
    assert not answers(Member("decode", router.url))
    assert not answers(Member("decode", D1)), "nobody listens"


@pytest.fixture
def away(tmp_path):
    """The file with the engines that a router must not get back, and what is in it."""
    path = tmp_path / "router.away"
    return path, lambda: json.loads(path.read_text()) if path.exists() else []


@pytest.mark.parametrize("api", ["workers", "instances"])
def test_an_engine_is_away_from_its_removal_until_it_is_added_again(members, away, api):
    path, listed = away
    members(api, SECOND, away=str(path))
    assert not path.exists()
    members(api, SECOND, state="absent", away=str(path), check=True)
    assert not path.exists()
    members(api, SECOND, state="absent", away=str(path))
    assert listed() == [D2] and path.stat().st_mode & 0o777 == 0o644
    members(api, ONE_EACH, away=str(path))
    assert listed() == [D2], "others return"
    members(api, SECOND, away=str(path), check=True)
    assert listed() == [D2]
    members(api, SECOND, away=str(path))
    assert not path.exists()
    members(api, ONE_EACH, purge=True, away=str(path))
    assert listed() == [D2]


def test_an_engine_is_away_before_the_router_is_asked_and_no_more_before_it_is_added(members, router, away):
    path, listed = away
    seen, answer = [], router.answer

    def watched(method, path, body):
        seen.append((method, listed()))
        return answer(method, path, body)

    router.answer = watched
    members("workers", SECOND)
    members("workers", SECOND, state="absent", away=str(path))
    members("workers", SECOND, away=str(path))
    assert ("DELETE", [D2]) in seen and ("DELETE", []) not in seen
    assert ("POST", []) in seen and ("POST", [D2]) not in seen


def test_a_router_that_has_just_started_does_not_get_an_engine_that_leaves(members, away):
    path, listed = away
    assert members("workers", SECOND, state="absent", away=str(path))["changed"] is False
    assert listed() == [D2]


def test_an_engine_that_a_starting_router_gets_back_meanwhile_is_removed(members, router, away):
    """The program that adds engines after the router's start adds it between the first look and the note."""
    path, listed = away
    normal = router.answer

    def answer(method, path, body):
        found = normal(method, path, body)
        if method == "GET":
            assert listed() or D2 not in router.workers
            if not listed():
                router.workers[D2] = "decode"
        return found

    router.answer = answer
    found = members("workers", SECOND, state="absent", away=str(path))
    assert router.workers == {P1: "prefill", D1: "decode"} and listed() == [D2]
    assert (found["changed"], found["removed"], found["after"]["decode"]) == (True, [D2], [D1])


def test_an_engine_that_a_killed_run_noted_counts_as_missing_though_it_is_listed(members, router, away):
    path, _listed = away
    path.write_text(json.dumps([D1]))
    found = members("workers", ONE_EACH, away=str(path), check=True)
    assert (found["added"], found["after"]["decode"]) == ([D1], [D1])
    found = members("workers", ONE_EACH, away=str(path))
    assert (found["changed"], found["added"]) == (True, [D1]) and not path.exists()
    assert [call for call in router.calls if call[0] == "POST"] == [], "it is listed, so nothing is added twice"
    assert not members("workers", ONE_EACH, away=str(path))["changed"]


@pytest.mark.parametrize("text", ["", "[", "{}", '"x"', "7", "[[1]]"])
def test_a_damaged_list_is_none(members, away, text):
    path, listed = away
    path.write_text(text)
    assert not members("workers", ONE_EACH, away=str(path)).get("failed")
    members("workers", SECOND)
    members("workers", SECOND, state="absent", away=str(path))
    assert D2 in listed()


def test_an_engine_that_is_not_used_is_away_again(members, router, away, monkeypatch):
    path, listed = away
    path.write_text(json.dumps([D2]))
    monkeypatch.setattr(use, "_finished", lambda found: 0.0)
    found = members("workers", SECOND, away=str(path), use_timeout=1)
    assert found["failed"] and listed() == [D2]


@pytest.mark.parametrize(
    ("status", "answer", "reason"),
    [
        (200, {"workers": []}, ""),
        (200, {"workers": {}}, "workers"),
        (200, {"workers": None, "message": "starting"}, "starting"),
        (200, {"workers": ["http://x"]}, "http://x"),
        (503, {"workers": [], "error": "no policy", "message": "other"}, "HTTP 503, no policy. Fix:"),
    ],
)
def test_only_a_list_of_workers_is_one(monkeypatch, status, answer, reason):
    monkeypatch.setattr(Workers, "request", lambda self, *unused: (status, answer))
    if not reason:
        assert Workers("http://r:1").read() == []
        return
    with pytest.raises(MembersProblem, match="the router at http://r:1 refused to list its workers") as told:
        Workers("http://r:1").read()
    assert reason in str(told.value)


def test_a_pool_that_the_router_does_not_know_is_named():
    with pytest.raises(MembersProblem, match="has no workers for the pool encode"):
        Workers("http://r:1").add(Member("encode", P1))


@pytest.mark.parametrize(("engines", "requests"), [(0, 2), (1, 2), (3, 6), (32, 64), (33, 64)])
def test_two_requests_for_each_engine_are_sent_at_once(monkeypatch, engines, requests):
    sent, finished = [], iter([0.0, 1.0])
    monkeypatch.setattr(use, "_send", lambda _router, number, timeout: sent.append((number, timeout)))
    left = use.unused(
        None, [Member("decode", D1)], engines, 9, lambda _url: {use.FINISHED: next(finished)}, lambda: 0.0
    )
    assert (left, sent) == ([], [(requests, 9.0)])


class Counters:
    """Engines in threads: a page of metrics with the start of the process. ``starts``: {URL: start, None if the page does not say it}."""

    def __init__(self, monkeypatch):
        self.starts = {}
        monkeypatch.setattr(same_engine, "ask", self.ask)

    def ask(self, target, path, **_options):
        start = self.starts.get(target.url)
        body = "" if start is None else f"process_start_time_seconds {start}\n"
        return Reply(200 if target.url in self.starts and path == "/metrics" else 0, body, 0.0, "")


def test_an_engine_leaves_under_each_name_that_the_router_has_for_it(members, router, monkeypatch):
    """Somebody added it by hand under a second name: it would get requests until it is stopped, and lose them."""
    here, second, third = "http://127.0.0.1:7340", "http://localhost:7340", "http://127.0.0.9:7340"
    counters = Counters(monkeypatch)
    counters.starts = {here: 1.5, third: 1.5}
    router.workers.update({here: "decode", second: "decode", third: "decode"})
    wanted = [{"kind": "decode", "url": here}]
    assert members("workers", wanted, state="absent", check=True)["removed"] == [here, third, second]
    found = members("workers", wanted, state="absent")
    assert found["removed"] == [here, third, second] and router.workers == {P1: "prefill", D1: "decode"}
    router.workers[second] = "decode"  # as after a run that was interrupted
    assert members("workers", wanted, state="absent")["removed"] == [second]
    router.workers[second] = "decode"
    assert members("workers", wanted)["added"] == [here], "what is added removes nothing"
    assert second in router.workers


def test_a_name_in_capitals_is_removed_as_the_proxy_has_it(members, router, monkeypatch):
    """It compares addresses as texts."""
    monkeypatch.setattr(same_engine, "addresses", lambda host: {host.lower().replace("node1", "127.0.0.9")})
    router.listed["decode"] += ["127.0.0.9:7340", "Node1:7340"]
    found = members("instances", SECOND, state="absent")
    assert not found["failed"] and found["removed"] == [D2, "http://Node1:7340"]
    assert router.listed["decode"] == ["127.0.0.9:7300"]


def test_an_engine_that_stays_under_its_own_url_is_not_waited_for(members, router, monkeypatch):
    """It goes on to get requests, and would not finish."""
    here, second = "http://127.0.0.1:7340", "http://localhost:7340"
    Counters(monkeypatch).starts = {here: 1.5}
    router.workers.update({here: "decode", second: "decode"})
    found = members("workers", [*ONE_EACH, {"kind": "decode", "url": here}], purge=True)
    assert (found["removed"], found["left"]) == ([second], [])
    router.workers[second] = "decode"
    found = members("workers", ONE_EACH, purge=True)
    assert [one["url"] for one in found["left"]] == found["removed"] == [here, second]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://Node1:7300", "Node1"),
        ("HTTP://NODE1.Example:7300/v1", "NODE1.Example"),
        ("http://[2001:DB8::1]:7300", "2001:DB8::1"),
        ("http://user@Node1:7300", "Node1"),
        ("http://7300:7300", "7300"),
    ],
)
def test_the_host_of_an_engine_is_as_it_is_written(url, host):
    assert address_of(url) == (host, 7300)


@pytest.mark.parametrize(
    "start, other",
    [
        (1.5, "http://127.0.0.1:7341"),  # another port
        (2.5, "http://127.0.0.9:7340"),  # another process of this machine
        (None, "http://127.0.0.9:7340"),  # one that does not say it
        (1.5, "http://192.0.2.7:7340"),  # another machine whose engine started in the same instant
        (1.5, "http://no.such.name.invalid:7340"),
        (1.5, "no-url"),
    ],
)
def test_an_engine_that_may_be_another_one_stays(members, router, monkeypatch, start, other):
    here = "http://127.0.0.1:7340"
    Counters(monkeypatch).starts = {here: 1.5, other: start}
    router.workers.update({here: "decode", other: "decode"})
    found = members("workers", [{"kind": "decode", "url": here}], state="absent")
    assert found["removed"] == [here] and other in router.workers


def test_two_engines_that_both_do_not_say_when_they_started_are_not_taken_for_one(members, router, monkeypatch):
    here, other = "http://127.0.0.1:7340", "http://127.0.0.9:7340"
    Counters(monkeypatch).starts = {here: None, other: None}
    router.workers.update({here: "decode", other: "decode"})
    assert members("workers", [{"kind": "decode", "url": here}], state="absent")["removed"] == [here]


RESTARTING = ["router", "router-1"]


@pytest.fixture
def restarting(run_module, tmp_path, monkeypatch):
    """Run the module for two routers that restart for other engines; their start scripts have recorded P1, D1 and D2."""
    monkeypatch.setattr(
        "ansible_collections.ascend.inference.plugins.module_utils.router.members.answers", lambda member: True
    )
    for name in RESTARTING:
        record(tmp_path, name, [D1, D2])
    first, second = (
        {"url": f"http://{name}", "record": str(tmp_path / f"{name}.listed"), "away": str(tmp_path / f"{name}.away")}
        for name in RESTARTING
    )

    def run(wanted, **options):
        return run_module(
            "router_members", api="restart", members=wanted, more=[second], **{**first, "timeout": 1, **options}
        )

    return run


def record(folder, name, decode):
    lists = ["--prefiller-hosts", "127.0.0.9", "--prefiller-ports", "7100"]
    lists += ["--decoder-hosts", *["127.0.0.9" for _url in decode]]
    lists += ["--decoder-ports", *[url.rpartition(":")[2] for url in decode]]
    text = "\n".join(['{"prefiller": "prefill", "decoder": "decode"}', *lists])
    (folder / f"{name}.listed").write_text(text + "\n")


def test_routers_that_restart_for_other_engines_are_named(restarting, tmp_path):
    paths = [tmp_path / f"{name}.away" for name in RESTARTING]
    every = [*ONE_EACH, *SECOND]
    assert not restarting(every)["changed"] and restarting(every)["restart"] == []
    found = restarting(SECOND, state="absent", check=True)
    assert found["restart"] == ["http://router", "http://router-1"] and not any(path.exists() for path in paths)
    found = restarting(SECOND, state="absent")
    assert (found["removed"], found["restart"]) == ([D2], ["http://router", "http://router-1"])
    assert [json.loads(path.read_text()) for path in paths] == [[D2], [D2]]
    record(tmp_path, "router", [D1])
    found = restarting(SECOND, state="absent", check=True)
    assert found["restart"] == ["http://router-1"], "the other one has done so"
    found = restarting(every, check=True)
    assert (found["added"], found["restart"]) == ([D2], ["http://router"])
    found = restarting(every)
    assert found["restart"] == ["http://router"] and not any(path.exists() for path in paths)
    record(tmp_path, "router", [D1, D2])
    assert restarting(every)["restart"] == []
    assert restarting(ONE_EACH, purge=True)["restart"] == ["http://router", "http://router-1"]


def test_such_a_router_keeps_the_last_engine_and_must_have_recorded_what_it_has(restarting, tmp_path):
    both = [{"kind": "decode", "url": url} for url in (D1, D2)]
    found = restarting(both, state="absent")
    assert found["failed"] and "decode would have no member" in found["msg"]
    (tmp_path / "router.listed").unlink()
    found = restarting(SECOND, state="absent")
    assert found["failed"] and "did not record them" in found["msg"]
    assert not list(tmp_path.glob("*.away"))
    found = restarting([*ONE_EACH, *SECOND])
    assert found["restart"] == ["http://router"], "it is not known that it has them"
