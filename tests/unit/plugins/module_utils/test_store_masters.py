# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several masters of the store: the verification, the status and a drill follow the one that leads."""

from __future__ import annotations

import contextlib
import itertools
import json

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.drill import masters
from ansible_collections.ascend.inference.plugins.module_utils.status.services import findings_of, role_of
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply
from ansible_collections.ascend.inference.plugins.module_utils.verify.gate import check_mode_report, verify
from ansible_collections.ascend.inference.plugins.module_utils.verify.leader import serves
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.module_utils.verify.probe import Keys, Limits
from ansible_collections.ascend.inference.tests.simulator.pd_cluster import Cluster, Master

LIMITS = Limits(connect=0.0, request=20.0, settle=1.0)
LEADER, STANDBY = (
    json.dumps({"role": "leader", "service_ready": True}),
    json.dumps({"role": "standby", "service_ready": False}),
)


@contextlib.contextmanager
def cluster_of(folder, *faults):
    """A cluster with one master more for each list of faults; the plan names the last one first."""
    with Cluster(folder, colocated=2, pool=True, faults={"mooncake_master-0": faults[0]}) as cluster:
        others = [Master(f"mooncake_master-{number}", cluster, list(more)) for number, more in enumerate(faults[1:], 1)]
        section = cluster.plan()
        several = [*others[::-1], cluster.master]
        section["store"]["masters"] = [{"name": item.name, "host": "node1", "url": item.url} for item in several]
        section["store"].update(name=several[0].name, master_url=several[0].url)
        try:
            yield read_plan(section)
        finally:
            for other in others:
                other.stop()


def failed(report):
    found: dict[str, str] = {}
    for step in report["steps"]:
        if step["status"] == "failed":
            found[step["hop"]] = f"{found.get(step['hop'], '')} {step['message']}"
    return found


def test_the_leader_is_asked_wherever_it_is(tmp_path):
    with cluster_of(tmp_path, [], ["standby", "no_clients"]) as plan:
        assert plan.store.name == "mooncake_master-1", "the plan's first is the standby"
        report = verify(plan, Keys("", ""), LIMITS)
        assert failed(report) == {}
        (step,) = [step for step in report["steps"] if step["step"] == "master"]
        assert (step["hop"], "mooncake_master-1 can take over" in step["message"]) == ("mooncake_master-0", True)
        assert not [text for text in report["warnings"] if "clients" in text], "as many clients as there are engines"
        (urls,) = [step["message"] for step in check_mode_report(plan)["steps"] if step["step"] == "master"]
        assert all(master.url in urls for master in plan.store.masters)


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ((["standby"], ["standby"]), {"mooncake_master-0": "not serving", "mooncake_master-1": "not serving"}),
        (([], []), {"mooncake_master-0": "serve at once", "mooncake_master-1": "serve at once"}),
        (([], ["dead"]), {"mooncake_master-1": "does not answer"}),
        ((["no_clients"], ["standby"]), {"mooncake_master-0": "0 clients, expected 2"}),
    ],
    ids=["none leads", "two lead", "a standby is away", "the leader has no clients"],
)
def test_what_is_wrong_with_the_masters_is_named(tmp_path, faults, expected):
    with cluster_of(tmp_path, *faults) as plan:
        found = failed(verify(plan, Keys("", ""), LIMITS))
    found = {hop: text for hop, text in found.items() if hop in expected}
    assert set(found) == set(expected)
    assert all(words in found[hop] for hop, words in expected.items())


@pytest.mark.parametrize(
    ("body", "expected"), [("OK\n", True), (LEADER, True), (STANDBY, False), ("", False), ("[]", False)]
)
def test_what_serves(body, expected):
    assert serves(body) is expected


def test_a_standby_has_no_clients_and_that_is_no_finding():
    service = {
        "elected": True,
        "clients": 2,
        "kind": "mooncake_master",
        "transfers": False,
        "version": "",
        "url": "u",
        "base": "u",
        "timeout": 1,
    }
    state = {"state": "running", "detail": "", "since": None, "restarts": 0}
    nothing = {"running": None, "waiting": None}
    for body, role, texts in ((STANDBY, "standby", []), (LEADER, "leader", ["has 0 of 2 planned store clients"])):
        answer = {
            "answers": True,
            "body": body,
            "samples": {"master_active_clients": 0.0},
            "version": "",
            "problem": "",
        }
        assert role_of(service, answer) == {"role": role}
        row = {"requests": nothing, "kv": {"active_clients": 0, **role_of(service, answer)}}
        assert findings_of(service, state, answer, row, ("", "", ""), 0) == texts
    assert role_of({**service, "elected": False}, answer) == {} == role_of(service, {**answer, "answers": False})


def web(pages):
    """Answers by URL."""

    def get(target, path, payload, timeout):
        page = pages.get(target.url + path)
        return Reply(0, "", 0.0, "refused", "ConnectionRefusedError") if page is None else Reply(200, page, 0.0, "")

    return get


URLS = {"a": "http://a", "b": "http://b"}


def test_the_leader_and_its_counters():
    pages = {"http://a/health": STANDBY, "http://b/health": LEADER}
    pages["http://b/metrics"] = "master_active_clients 16\nmaster_key_count 200\n"
    assert masters.look(URLS, web(pages)) == masters.Seen("b", 16.0, 200.0)
    assert masters.look(URLS, web({"http://a/health": STANDBY})).leader == ""
    assert masters.look(URLS, web({"http://a/health": LEADER, "http://b/health": LEADER})).leader == ""


def followed(seen, timeout=60.0):
    """The figures if the masters are seen like this, one look a second; the last one stays."""
    times, looks = itertools.count(), itertools.chain(seen, itertools.repeat(seen[-1]))
    before = masters.Seen("a", 4, 200)
    return masters.follow(URLS, before, timeout, lambda urls: next(looks), lambda: next(times), lambda seconds: None)


def test_a_failover_is_measured_from_the_last_answer_of_the_old_leader():
    old, none = masters.Seen("a", 4, 210), masters.Seen("")
    found = followed([old, old, none, none, masters.Seen("b", 0, 210), masters.Seen("b", 4, 210)])
    assert (found["leader"], found["clients"], found["stored_keys"]) == ("b", 4, 210)
    assert 0 < found["leaderless"] < found["clients_after"]
    again = followed([old, none, masters.Seen("a", 4, 0)])
    assert (again["leader"], again["stored_keys"]) == ("a", 0) and again["leaderless"], (
        "the old one may be elected again"
    )


def test_a_failover_that_does_not_happen():
    assert followed([masters.Seen("a", 4, 200), masters.Seen("")])["leaderless"] is None
    found = followed([masters.Seen("a", 4, 200), masters.Seen("b", 1, 200)])
    assert (found["leaderless"] is None, found["clients_after"], found["clients"]) == (False, None, 1)
    assert followed([masters.Seen("a", 4, 200)])["leaderless"] is None, "the leader is still there"


def after_failover(states, before, timeout=10.0):
    """What `follow` says of one state a second; the last one stays."""
    now, left = [0.0], list(states)

    def see(_urls):
        return left.pop(0) if len(left) > 1 else left[0]

    def sleep(_seconds):
        now[0] += 1.0

    return masters.follow({}, before, timeout, see, lambda: now[0], sleep)


OLD, NEW, GONE = masters.Seen("a", 4.0, 9.0), masters.Seen("b", 4.0, 8.0), masters.Seen("")


@pytest.mark.parametrize(
    ("states", "before", "leaderless", "clients_after"),
    [
        ([OLD, OLD, GONE, GONE, NEW], OLD, 3.0, 3.0),
        ([OLD, GONE, NEW._replace(clients=3.0), NEW], OLD, 2.0, 3.0),
        ([GONE, NEW._replace(clients=None), NEW._replace(clients=5.0)], OLD, 1.0, 2.0),
        ([GONE, OLD], OLD, 1.0, 1.0),  # the same one leads again
        ([OLD], OLD, None, None),
        ([GONE], OLD, None, None),
        ([GONE, NEW], OLD._replace(clients=None), 1.0, None),
    ],
)
def test_a_failover_is_followed(states, before, leaderless, clients_after):
    found = after_failover(states, before)
    assert (found["leaderless"], found["clients_after"]) == (leaderless, clients_after)
    assert found["leader"] == states[-1].leader and found["stored_keys"] == states[-1].stored_keys


@pytest.mark.parametrize(
    ("pages", "leader", "clients"),
    [
        ({"a": (200, "", "OK"), "b": (200, "", STANDBY)}, "a", 3.0),
        ({"a": (200, "", "OK"), "b": (200, "", LEADER)}, "", None),
        ({"a": (200, "cut", "OK"), "b": (200, "", LEADER)}, "b", 3.0),
        ({"a": (500, "", "OK"), "b": (0, "refused", "")}, "", None),
    ],
)
def test_the_leader_is_the_only_one_that_serves(pages, leader, clients):
    def get(target, path, _payload, timeout):
        status, error, body = (
            pages[target.url] if path == "/health" else (200, "", "master_active_clients 3\nmaster_key_count 7\n")
        )
        assert timeout == 2.0
        return Reply(status, body, 0.0, error)

    found = masters.look({name: name for name in pages}, get)
    assert (found.leader, found.clients, found.stored_keys) == (leader, clients, 7.0 if leader else None)
    assert masters.named([{"name": "a", "url": "http://x/"}]) == {"a": "http://x"}
