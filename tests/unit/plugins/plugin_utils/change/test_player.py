# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The player of a change: steps in order on all hosts, and none after one that failed, was lost or has no answer."""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.locking import lock, released
from ansible_collections.ascend.inference.plugins.plugin_utils.change.player import (
    OBSERVED,
    Player,
    elsewhere,
    observation,
    refusal,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.change.script import Script, Step, lines
from ansible_collections.ascend.inference.plugins.plugin_utils.change.store import Store

SERVICES = [{"name": "decode-0"}, {"name": "decode-1"}]
ROUTER = "http://192.0.2.1:8000"


class Stage:
    """Three hosts that play a script; ``answers``: {(host, module): result}, and ``calls`` keeps what was called."""

    def __init__(self, folder, steps, check=False):
        self.store, self.steps = Store(str(folder)), steps
        self.player, self.answers, self.calls = Player(self.store, check), {}, []
        for host in ("n1", "n2", "n3"):
            self.store.keep_host(host, {"context": {"services": SERVICES, "runtime": "systemd"}, "found": {}})
        self.store.keep_script(Script(steps, [], []))

    def play(self, number, host, lost=False):
        def execute(module, arguments, dry):
            self.calls.append((number, host, module, arguments, dry))
            if lost:
                raise ConnectionError
            return self.answers.get((host, module), {"changed": True})

        return self.player.play(number, host, execute, lambda: "key")

    def begin_without_n2(self, lost):
        """Play the first step, which fails on n2; ``lost``: which is lost in it."""
        self.answers["n2", "service_drain"] = {"failed": True, "msg": "no"}
        self.play(0, "n1")
        if lost:
            with pytest.raises(ConnectionError):
                self.play(0, "n2", lost=True)
        else:
            assert self.play(0, "n2")["failed"]

    def all(self):
        return [[self.play(number, host) for host in ("n1", "n2", "n3")] for number in range(len(self.steps))]

    def called(self):
        return [call[:2] for call in self.calls]


def drain(*hosts, **more):
    return Step(f"Drain on {', '.join(hosts)}", "drain", {host: {"timeout": 3} for host in hosts}, **more)


def test_each_host_plays_its_steps_and_skips_the_others(tmp_path):
    stage = Stage(tmp_path, [drain("n1"), drain("n2", "n3"), drain("n1")])
    results = stage.all()
    assert stage.called() == [(0, "n1"), (1, "n2"), (1, "n3"), (2, "n1")]
    assert results[0] == [{"changed": True}, *[{"changed": False, "skipped": True}] * 2]
    assert stage.player.failure() == ""


def test_a_step_that_may_fail_holds_nobody_up(tmp_path):
    stage = Stage(tmp_path, [drain("n1", "n2", may_fail=True), drain("n2")])
    stage.answers["n2", "service_drain"] = {"failed": True, "changed": False, "msg": "no"}
    results = stage.all()
    assert results[0][1] == {"failed": False, "changed": False, "msg": "no"}
    assert (1, "n2") in stage.called() and stage.player.failure().startswith("Step 2 of 2 failed on n2")


@pytest.mark.parametrize("lost", [False, True])
def test_nothing_follows_a_step_that_failed_on_one_host(tmp_path, lost):
    """A host that is lost leaves no record."""
    stage = Stage(tmp_path, [drain("n1", "n2"), drain("n3"), drain("n1")])
    stage.begin_without_n2(lost)
    assert [stage.play(number, host) for number in (1, 2) for host in ("n1", "n3")] == [
        {"changed": False, "skipped": True}
    ] * 4
    text = stage.player.failure()
    said = "" if lost else "n2: no. "
    begin = f"Step 1 of 3 failed on n2, for the reason above: Drain on n1, n2. {said}Nothing after it was done"
    assert text.startswith(begin), text
    assert "the next step is: Drain on n3." in text and "run the playbook again" in text


@pytest.mark.parametrize("lost", [False, True])
def test_the_last_step_is_played_after_a_failure_and_where_nothing_was_observed(tmp_path, lost):
    at = {host: {"directory": "/d", "state": "begin"} for host in ("n1", "n2", "n3")}
    drain = Step("Drain", "drain", {host: {"timeout": 1} for host in at})
    script = released(Script([drain, drain], [], []), lock({"directory": "/d"}, at, 1, 1).locks, "")
    stage = Stage(tmp_path, script.steps)
    stage.begin_without_n2(lost)
    assert stage.play(1, "n1")["skipped"]
    assert not any(stage.play(2, host).get("skipped") for host in ("n1", "n3"))
    assert stage.called()[-2:] == [(2, "n1"), (2, "n3")] and not stage.player.reaching(2)
    (text,) = stage.player.failure().splitlines()
    assert text.startswith("Step 1 of 3 failed on n2") and "the next step is: Drain" in text
    unobserved = Player(Store(str(tmp_path / "other")), False)
    unobserved.store.keep_script(released(Script([], [], []), dict.fromkeys(at, "/d"), "no answer"))
    assert unobserved.store.count() == 1 and unobserved.store.refused() == "no answer"
    assert unobserved.play(0, "n1", lambda *_call: {"changed": True}, str)["changed"]


def test_a_deployment_is_locked_on_its_first_host_first(tmp_path):
    """Of two runs at once, the one that gets it goes on."""
    script = lock({"directory": "/d"}, ["n1", "n2", "n3"], 1, 1, break_lock="x")
    assert [[*step.at] for step in script.steps] == [["n1"], ["n2", "n3"]]
    stage = Stage(tmp_path, script.steps)
    stage.answers["n1", "deployment_run"] = {"failed": True, "msg": "another run has it"}
    assert stage.play(0, "n1")["failed"] and stage.play(1, "n2")["skipped"]
    assert "n1: another run has it." in stage.player.failure()


def test_each_script_asks_for_hosts_that_were_observed_since_the_last_one(tmp_path):
    """A host that failed in between stays in the play until its rescue has ended."""
    store = Store(str(tmp_path))
    store.keep_host("n1", {"context": {}, "found": {"down": ["a"]}})
    store.keep_host("n2", {"context": {}, "found": {"down": []}})
    assert store.observed(["n1", "n2", "n3"]) == {"n1": {"down": ["a"]}, "n2": {"down": []}}
    store.keep_script(Script([], [], []))
    assert store.observed(["n1", "n2"]) == {}
    store.keep_host("n1", {"context": {}, "found": {"down": ["b"]}})
    assert store.observed(["n1", "n2"]) == {"n1": {"down": ["b"]}}


def test_a_failure_repeats_the_reason_without_its_advice(tmp_path):
    stage = Stage(tmp_path, [drain("n1", "n2")])
    stage.answers["n2", "service_drain"] = {"failed": True, "msg": f"decode-0:\n  ended. {'x' * 600} Fix: look. Again"}
    stage.all()
    text = stage.player.failure()
    assert "Drain on n1, n2. n2: decode-0: ended. xxx" in text and "look" not in text and "x" * 401 not in text


def test_the_failure_of_a_half_says_what_serves(tmp_path):
    stage = Stage(tmp_path, [drain("n1"), drain("n2")])
    stage.store.keep_script(Script(stage.steps, [], [], serving="The other half serves."))
    stage.answers["n1", "service_drain"] = {"failed": True, "msg": "no"}
    stage.play(0, "n1")
    text = stage.player.failure()
    assert text.endswith("The other half serves. Fix: correct the reason and run the playbook again.")


@pytest.mark.parametrize("lost", [False, True])
def test_a_host_that_fails_alone_has_no_further_step_and_the_others_go_on(tmp_path, lost):
    stage = Stage(tmp_path, [drain("n1", "n2", alone=True), drain("n2", alone=True), drain("n1", "n3", alone=True)])
    stage.begin_without_n2(lost)
    stage.play(1, "n2")
    stage.play(2, "n1")
    stage.play(2, "n3")
    assert stage.called() == [(0, "n1"), (0, "n2"), (2, "n1"), (2, "n3")]
    text = stage.player.failure()
    assert text.startswith("Step 1 of 3 failed on n2") and "The other hosts went on" in text
    assert "Nothing after it" not in text


@pytest.mark.parametrize("lost", [False, True])
def test_nothing_starts_if_a_host_says_that_what_it_needs_to_stop_runs_on(tmp_path, lost):
    """A host that is lost says nothing, and the others need not wait for it."""
    alone = {"alone": True}
    stage = Stage(
        tmp_path, [drain("n1", "n2", needed=["n2"], **alone), drain("n2", **alone), drain("n1", "n3", **alone)]
    )
    stage.begin_without_n2(lost)
    for number, host in ((1, "n2"), (2, "n1"), (2, "n3")):
        stage.play(number, host)
    assert stage.called() == [(0, "n1"), (0, "n2"), *([(2, "n1"), (2, "n3")] if lost else [])]
    text = stage.player.failure()
    assert ("The other hosts went on" in text) is lost and ("Nothing after it was done" in text) is not lost, text
    assert [stage.player.failure(host) == text for host in ("n1", "n2", "n3")] == [not lost, True, not lost]


def test_each_host_that_fails_alone_is_named_with_its_reason(tmp_path):
    alone = {"alone": True}
    stage = Stage(tmp_path, [drain("n1", "n2", **alone), drain("n1", "n3", **alone), drain("n1", "n3", **alone)])
    stage.answers["n2", "service_drain"] = {"failed": True, "msg": "disk is full"}
    stage.play(0, "n1")
    stage.play(0, "n2")
    stage.answers["n3", "service_drain"] = {"failed": True, "msg": "no NPU"}
    for number in (1, 2):
        stage.play(number, "n1")
        stage.play(number, "n3")
    first, second = stage.player.failure().split("\n")
    assert first.startswith("Step 1 of 3 failed on n2") and "n2: disk is full." in first
    assert second.startswith("Step 2 of 3 failed on n3") and "n3: no NPU." in second
    assert [stage.player.failure(host) for host in ("n1", "n2", "n3")] == ["", *[f"{first}\n{second}"] * 2]


def test_a_host_that_is_alone_had_no_others(tmp_path):
    stage = Stage(tmp_path, [drain("n1", alone=True), drain("n1", alone=True)])
    assert "The other hosts" not in stage.player.failure()


@pytest.mark.parametrize("steps", [20, 200])
def test_a_step_reads_as_many_files_however_many_are_before_it(tmp_path, monkeypatch, steps):
    """Each host asks for each step, and a change of many engines has hundreds of them."""
    stage = Stage(tmp_path, [drain("n1", "n2", "n3") for _number in range(steps)])
    stage.all()
    read, reading = [], stage.store._read
    monkeypatch.setattr(stage.store, "_read", lambda *place: (read.append(place), reading(*place))[1])
    stage.play(steps - 1, "n1")
    assert 0 < len(read) < 15
    read.clear()
    assert len(stage.player.script(steps - 1)) == steps
    assert len(read) == 1, "the lock notes all steps at each of them"


def test_the_failure_of_the_last_step_names_no_next_one(tmp_path):
    stage = Stage(tmp_path, [drain("n1")])
    assert "Step 1 of 1 failed on n1" in stage.player.failure() and "next" not in stage.player.failure()


def test_a_host_that_returns_plays_nothing(tmp_path):
    """It was lost in the first step, and answers again in the second one."""
    stage = Stage(tmp_path, [drain("n1", "n2"), drain("n1", "n2")])
    stage.play(0, "n1")
    assert stage.play(1, "n2") == {"changed": False, "skipped": True} == stage.play(1, "n1")


def test_a_step_without_anything_to_do_does_not_hide_a_failure_before(tmp_path):
    needless = drain("n3", fill="lacking", asked=0)
    stage = Stage(tmp_path, [drain("n1"), needless, needless, drain("n2")])
    stage.answers["n1", "service_drain"] = {"failed": True}
    assert [row[1]["changed"] for row in stage.all()] == [False] * 4 and stage.called() == [(0, "n1")]


def test_answers_choose_the_hosts_of_a_later_step(tmp_path):
    asked = Step("Ask", "ask", {"n1": {"state": "present"}, "n2": {"state": "present"}})
    stage = Stage(tmp_path, [asked, drain("n1", "n2", fill="lacking", asked=0), drain("n3")])
    stage.answers["n2", "router_members"] = {"changed": True, "added": ["http://e"]}
    assert not any(result["changed"] for result in stage.all()[0]), "a question changes nothing"
    assert stage.called() == [(0, "n1"), (0, "n2"), (1, "n2"), (2, "n3")]
    assert [dry for *_more, dry in stage.calls] == [True, True, False, False]


def test_engines_that_a_router_lacks_are_proven_with_their_peers(tmp_path):
    engines = [{"name": name, "url": f"http://{name}"} for name in ("decode-0", "prefill-0")]
    asked = Step("Ask", "ask", {"n1": {}})
    prove = Step("Prove", "prove", {"n1": {"verify": {}}}, fill="proving", asked=0, given=engines)
    stage = Stage(tmp_path, [asked, prove])
    after = {"decode": ["http://decode-0"], "prefill": ["http://prefill-0"]}
    stage.answers["n1", "router_members"] = {"added": ["http://decode-0"], "after": after}
    stage.all()
    wanted = {"verify": {}, "joining": ["decode-0"], "peers": ["decode-0", "prefill-0"], "engine_api_key": "key"}
    assert stage.calls[1] == (1, "n1", "service_verify", wanted, False)


@pytest.mark.parametrize(("urls", "hosts"), [([], []), ([ROUTER], ["n2"]), (["http://other"], [])])
def test_a_router_restarts_only_if_its_own_answer_says_so(tmp_path, urls, hosts):
    change = Step("Take out", "members", {"n1": {}})
    stage = Stage(tmp_path, [change, drain("n2", fill="restarting", asked=0, given={"url": ROUTER, "host": "n1"})])
    stage.answers["n1", "router_members"] = {"restart": urls}
    stage.all()
    assert [host for number, host in stage.called() if number] == hosts


def test_routers_with_other_engines_than_asked_for_are_a_failure(tmp_path):
    stage = Stage(tmp_path, [Step("Read", "read", {"n1": {}}), drain("n1")])
    stage.answers["n1", "router_members"] = {"restart": [ROUTER]}
    assert f"The router at {ROUTER} started with other engines" in stage.play(0, "n1")["msg"]
    assert "Step 1 of 2 failed on n1" in stage.player.failure()


def test_check_mode_plays_only_what_does_not_wait_for_others(tmp_path):
    restart = Step("Restart", "state", {"n1": {"state": "restarted", "names": ["decode-1"]}}, check=True)
    stage = Stage(tmp_path, [drain("n1"), restart, drain("n2")], check=True)
    stage.all()
    wanted = {"runtime": "systemd", "services": SERVICES[1:], "state": "restarted", "wait": True}
    assert stage.calls == [(1, "n1", "service_state", wanted, False)] and stage.player.failure() == ""


def test_steps_of_an_earlier_change_are_forgotten(tmp_path):
    Stage(tmp_path, [drain("n1"), drain("n1")]).all()
    stage = Stage(tmp_path, [drain("n1")])
    assert "Step 1 of 1 failed" in stage.player.failure(), "its answer was of the earlier change"


def test_files_of_a_change_are_the_users_own(tmp_path):
    """They have digests of secrets."""
    Stage(tmp_path, [drain("n1")])
    modes = {path.stat().st_mode & 0o077 for path in tmp_path.rglob("*")}
    assert modes == {0}


ANSWER = {**dict.fromkeys(OBSERVED, []), "down": ["decode-0"], "healthy": []}


def test_what_a_host_says_of_its_services_is_known():
    assert observation(ANSWER, "n1") == {**dict.fromkeys(OBSERVED, []), "down": ["decode-0"]}


@pytest.mark.parametrize("key", OBSERVED)
@pytest.mark.parametrize("value", [None, 5, "decode-0", {"decode-0": 1}, [["decode-0"]]])
def test_silence_is_no_state_of_services(key, value):
    with pytest.raises(ValueError, match=f"n1: .*{key} is .*Nothing was changed"):
        observation({**ANSWER, key: value}, "n1")
    with pytest.raises(ValueError, match="down is None"):
        observation({}, "n1")


def test_nothing_follows_an_answer_that_says_unreachable(tmp_path):
    stage = Stage(tmp_path, [drain("n1"), drain("n2")])
    stage.answers["n1", "service_drain"] = {"unreachable": True, "changed": True}
    stage.all()
    assert stage.called() == [(0, "n1")] and "Step 1 of 2 failed on n1" in stage.player.failure()


def test_a_refusal_in_check_mode_says_that_it_is_none_yet():
    script = Script([], [], ["Nothing was changed.", "Again."])
    assert refusal(script, False) == "Nothing was changed.\nAgain."
    assert refusal(script, True) == "Without --check this would be refused: Nothing was changed.\nAgain."
    assert refusal(Script([], [], []), True) == ""


def test_a_play_needs_all_hosts_of_the_script():
    script = Script([drain("n1"), drain("n2", "n10")], [], [])
    assert elsewhere(script, ["n1", "n2", "n10"]) == ""
    assert elsewhere(script, ["n1"]).startswith("n2, n10 take part in this change, and are not in this play")


def test_a_person_reads_notes_steps_and_hosts():
    hosts = [f"n{number}" for number in range(1, 9)]
    steps = [drain(*hosts[:1]), drain(*hosts, fill="lacking", asked=0)]
    assert lines(Script(steps, ["Pause: router."], [])) == [
        "Pause: router.",
        "1. Drain on n1 (n1)",
        f"2. Drain on {', '.join(hosts)} (n1, n2, n3, n4, n5, n6 and 2 more, if needed)",
    ]


def test_the_step_that_begins_is_named_once_the_one_before_is_done(tmp_path):
    stage = Stage(tmp_path, [drain("n1"), drain("n2"), drain("n3", fill="lacking", asked=0)])
    player = stage.player
    assert [player.reaching(number) for number in range(3)] == ["step 1 of 3: Drain on n1", "", ""]
    stage.play(0, "n1")
    assert player.reaching(1) == "step 2 of 3: Drain on n2"
    assert player.script(1) == [
        {"step": "Drain on n1 (n1)", "state": "done"},
        {"step": "Drain on n2 (n2)", "state": "begun"},
        {"step": "Drain on n3 (n3, if needed)", "state": "open"},
    ]
    stage.play(1, "n2")
    assert player.reaching(2) == "", "it has nothing to do"
    assert Player(stage.store, True).reaching(1) == ""


def waiting(seconds, **busy):
    return {"changed": False, "seconds": seconds, "busy": busy, "begun": {"began": seconds}}


def play_and_say(stage, said, host="n1"):
    answers = iter(stage.answers[host, "service_drain"])
    calls = []

    def execute(_module, arguments, _dry):
        calls.append({name: arguments.get(name) for name in ("within", "begun")})
        return next(answers)

    return stage.player.play(0, host, execute, lambda: "key", said.append), calls


def test_a_drain_says_what_it_waits_for_and_goes_on_where_it_was(tmp_path):
    stage, said = Stage(tmp_path, [drain("n1", "n2")]), []
    last = {"changed": False, "seconds": 33.0, "busy": {}, "begun": {}}
    rounds = [waiting(15.0, **{"decode-0": "2 requests running"}), waiting(30.0), last]
    stage.answers = {(host, "service_drain"): rounds for host in ("n1", "n2")}
    stage.store.keep_script(Script([Step("Wait", "drain", {host: {"timeout": 40} for host in ("n1", "n2")})], [], []))
    found, calls = play_and_say(stage, said)
    assert found == last
    assert calls == [{"within": 15, "begun": begun} for begun in (None, {"began": 15.0}, {"began": 30.0})]
    assert said == [
        "Waiting, 15.0 of at most 40 s: decode-0 has 2 requests running",
        "Waiting, 30.0 of at most 40 s: until they stay without requests",
    ]
    play_and_say(stage, said, "n2")
    assert len(said) == 2, "the other routers' hosts wait for the same"
    assert stage.player.failure() == ""


def test_a_host_that_answers_for_ever_does_not_keep_a_drain(tmp_path):
    stage, said = Stage(tmp_path, [Step("Wait", "drain", {"n1": {"timeout": 40}})]), []
    stage.answers["n1", "service_drain"] = itertools.repeat(waiting(1.0))
    assert len(play_and_say(stage, said)[1]) == 4
    stage = Stage(tmp_path / "failed", [Step("Wait", "drain", {"n1": {"timeout": 40}})])
    stage.answers["n1", "service_drain"] = iter([{**waiting(15.0), "failed": True}])
    assert play_and_say(stage, said)[0]["failed"]
