# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cells and lines of the plan, of a difference and of a status, each function alone, as tables."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.action import python_packages_info as action
from ansible_collections.ascend.inference.plugins.plugin_utils.views import plan_diff, plan_table, status_table

# ---- the plan ----


def service(name="decode-0-0", devices=(0,), ports=(("api", 7100, 1),), health="http://a/health"):
    return {
        "name": name,
        "host": "h",
        "devices": list(devices),
        "ports": [dict(zip(("name", "first", "count"), port, strict=True)) for port in ports],
        "health": {"url": health} if health else None,
    }


@pytest.mark.parametrize(
    ("services", "row"),
    [
        ([service()], ("decode-0-0", "h", "0", "api 7100", "http://a/health")),
        ([service(devices=(), ports=(), health="")], ("decode-0-0", "h", "-", "-", "-")),
        (
            [service(), service("decode-0-1", (1,), (("api", 7101, 1), ("kv", 20000, 4)), "")],
            ("decode-0-0 .. 1", "h", "0-1", "api 7100-7101, kv 20000-20003", "http://a/health"),
        ),
        (
            [service("a-0", (3, 1)), service("a-1", (), ()), service("a-2", (2,), (("api", 7103, 1),))],
            ("a-0 .. 2", "h", "1-3", "api 7100 7103", "http://a/health"),
        ),
    ],
)
def test_the_row_of_an_instance(services, row):
    assert plan_table._row(services) == row


@pytest.mark.parametrize(
    ("argv", "lines"),
    [
        ([], []),
        (["vllm"], ["vllm"]),
        (["vllm", "serve", "/m"], ["vllm serve /m"]),
        (["vllm", "--a", "1", "--b", "--c", "x y"], ["vllm \\", "--a 1 \\", "--b \\", "--c 'x y'"]),
        (["--a"], ["--a"]),
    ],
)
def test_a_command_has_an_option_in_each_line(argv, lines):
    assert plan_table._broken(argv) == lines


@pytest.mark.parametrize(
    ("entry", "engines", "shown"),
    [
        ({}, 1, False),
        ({"url": "", "kind": "router"}, 1, False),
        ({"url": "u", "kind": "direct"}, 1, True),
        ({"url": "u", "kind": "direct"}, 2, False),
        ({"url": "u", "kind": "router"}, 2, True),
    ],
)
def test_where_clients_send_requests(entry, engines, shown):
    plan = {"verify": {"entry": entry, "colocated": [{}] * engines}}
    assert plan_table._entry(plan) == (["Clients send requests to u"] if shown else [])


def test_recipes_numbers_and_findings():
    assert plan_table._recipe({}) == plan_table._recipe({"recipe": None}) == []
    recipe = {"name": "r", "source": "s", "replaced": []}
    assert plan_table._recipe({"recipe": recipe}) == ["Recipe r (s); replaced by the inventory: nothing"]
    assert plan_table._recipe({"recipe": {**recipe, "replaced": ["a", "b"]}})[0].endswith("inventory: a, b")
    counted = [plan_table.count([0] * number, "host") for number in range(3)]
    assert counted == ["0 hosts", "1 host", "2 hosts"] and plan_table.count([], "entr", "ies") == "0 entries"
    one = {"path": "p", "id": "X", "problem": "q", "fix": "f", "severity": "accepted", "value": "", "why": "w"}
    other = {**one, "severity": "warning", "problem": "z"}
    assert plan_table._findings({"findings": []}) == []
    lines = plan_table._findings({"findings": [one, other]})
    assert lines[:3] == ["", "2 findings:", "1. WARNING p: z. [X]"]
    assert plan_table._findings({"findings": [one, {**one, "path": "r"}]})[1] == "1 finding at 2 places:"


# ---- a difference ----


def deployed(**changes):
    base = {
        "name": "s",
        "host": "h",
        "address": "1",
        "digest": "d",
        "argv": ["vllm", "--a", "1"],
        "env": {},
        "files": [],
    }
    base.update(container=None, peers=[], secret_env={}, source=[], devices=[0], unit="u", user="x", instance=0, rank=0)
    return {**{name: [] for name in plan_diff.WORDS}, **{name: {} for name in plan_diff.MAPPINGS}, **base, **changes}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"argv": ["vllm", "--a", "2"]}, "argv --a 1 -> 2"),
        ({"argv": ["vllm", "--b", "--a", "1"]}, "argv + --b"),
        ({"argv": ["vllm"]}, "argv - --a 1"),
        ({"argv": ["vllm", "--a"]}, "argv - --a 1; argv + --a"),
        ({"env": {"X": "1"}}, "env X (not set) -> 1"),
        ({"host": "g"}, "host h -> g"),
        ({"files": [{"path": "b"}, {"path": "a"}]}, "file a; file b"),
        ({"peers": ["n1", "n2"]}, "hosts of the instance  -> n1 n2"),
        ({"container": {"name": "c"}}, "container"),
        ({}, "limits"),
    ],
)
def test_what_changed_of_a_service(changes, text):
    new = deployed(**{"digest": "e", **changes})
    assert plan_diff._changes("s", deployed(), new) == [f"~ s on {new['host']} restarts: {text}"]
    assert plan_diff._changes("s", deployed(), deployed()) == []
    moved = plan_diff._changes("s", deployed(), deployed(host="g"))  # the same digest elsewhere
    assert moved == ["~ s on g restarts: host h -> g"]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [("a" * 20, "b" * 20, True), ("a", "a", False), (None, "b", False), ("a", None, False)],
)
def test_revisions_that_are_never_paired(before, after, shown):
    found = plan_diff._revisions({"revision": after}, {"revision": before})
    assert found == (
        f"revision {'a' * 12} -> {'b' * 12}: engines before and after cannot exchange KV cache" if shown else ""
    )


# ---- a status ----


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({}, "-"),
        ({"done": 0}, "0 done"),
        ({"done": None, "running": 1}, "1 running"),
        ({"done": 8.0, "running": 0, "waiting": 2.0}, "8 done, 2 waiting"),
    ],
)
def test_requests_of_a_service(counts, text):
    assert status_table._requests(counts) == text


@pytest.mark.parametrize(
    ("kind", "kv", "text"),
    [
        ("decode", {}, "-"),
        ("mooncake_master", {"role": "standby", "active_clients": 1}, "standby"),
        ("etcd", {"quota": 2**21, "bytes": 2**20}, "1 of 2 MiB"),
        ("etcd", {"quota": 0, "bytes": 2**20}, "-"),
        ("probe", {"paths": 3, "good": 2, "unknown": 0}, "2 of 3 paths good"),
        ("probe", {"paths": 3, "good": 1, "unknown": 1}, "1 of 3 paths good, 1 unknown"),
        ("mooncake_master", {"active_clients": 16, "key_count": None}, "16 clients, 0 keys"),
        ("mooncake_master", {"role": "leader", "active_clients": 0, "key_count": 5}, "leader, 0 clients, 5 keys"),
        ("mooncake_master", {"active_clients": None}, "-"),
        ("prefill", {"prompt_tokens": 5, "external_kv_transfer": 5}, "-"),
        ("decode", {"prompt_tokens": 5}, "not counted"),
        ("decode", {"prompt_tokens": 5, "external_kv_transfer": 0}, "0 of 5 tokens"),
    ],
)
def test_the_kv_cache_of_a_service(kind, kv, text):
    assert status_table._kv({"kind": kind, "kv": kv}) == text


def state(**changes):
    base = {"service": "s", "host": "h", "state": "running", "answers": True, "since": "2026-11-25T10:00:00Z"}
    return {**base, "version": "", "requests": {}, "kv": {}, "kind": "x", "findings": [], **changes}


@pytest.mark.parametrize(
    ("changes", "cells"),
    [
        ({}, ("running", "2026-11-25 10:00:00", "-", "-")),
        ({"answers": False}, ("running, silent", "2026-11-25 10:00:00", "-", "-")),
        ({"answers": None}, ("running", "2026-11-25 10:00:00", "-", "-")),
        ({"state": "stopped", "answers": False, "since": None}, ("stopped", "-", "-", "-")),
        ({"drained": True, "version": "1"}, ("running, drained", "2026-11-25 10:00:00", "1", "-")),
        ({"findings": ["a", "b"]}, ("running", "2026-11-25 10:00:00", "-", "2")),
    ],
)
def test_the_row_of_a_service(changes, cells):
    row = status_table._row(state(**changes))
    assert (row[2], row[3], row[4], row[7]) == cells and row[:2] == ("s", "h") and len(row) == len(status_table.HEADER)


@pytest.mark.parametrize(
    ("roles", "text"),
    [
        ([], ""),
        (["leader"], ""),
        (["leader", "standby"], ""),
        (["leader", "leader"], "m0 and m1 serve at once"),
        (["standby", "standby"], "No master of the store serves: m0, m1 are standbys"),
    ],
)
def test_one_master_leads(roles, text):
    rows = [{"service": f"m{number}", "kv": {"role": role}} for number, role in enumerate(roles)]
    found = status_table._leaders([*rows, {"service": "e", "kv": None}])
    assert len(found) == bool(text) and all(line.startswith(text) for line in found)


@pytest.mark.parametrize(
    ("digests", "differ"), [(["a", "a"], False), (["a", "b"], True), (["a", ""], False), ([], False), (["", ""], False)]
)
def test_hosts_of_one_plan(digests, differ):
    assert (
        len(status_table._differing({str(number): {"plan_digest": text} for number, text in enumerate(digests)}))
        == differ
    )


@pytest.mark.parametrize(
    ("result", "begin"),
    [
        ({"services": []}, ""),
        ({"unreachable": True, "msg": "x"}, "unreachable: "),
        ({"failed": True, "msg": "x", "services": []}, "status not available: x"),
        ({}, "status not available: no result"),
    ],
)
def test_why_the_status_of_a_host_is_not_known(result, begin):
    found = status_table._problem(result)
    assert found.startswith(begin) and bool(found) == bool(begin)


# ---- packages of a bundle ----


def test_hosts_that_install_from_a_bundle_need_a_lock_of_each_environment(monkeypatch):
    nothing = {"changed": False, "resolved": [], "problems": []}
    later = action.in_bundle("/b", None, [{"path": "/e"}])
    assert later == {**nothing, "skipped_reason": "the bundle is compared with the hosts by the playbook prepare"}
    monkeypatch.setattr(action, "stale", lambda bundle, host, options: {"/e": "", "/f": "no lock"}[options["path"]])
    good, bad = ({"path": path, "requirements": ["a==1"], "layer": "x"} for path in ("/e", "/f"))
    assert action.in_bundle("/b", {"platform": "p"}, [good]) == {**nothing, "skipped_reason": ""}
    found = action.in_bundle("/b", {"platform": "p"}, [bad, good, bad])
    assert found["failed"] and found["problems"] == ["no lock", "no lock"]
    assert found["msg"].split("\n\n")[1:] == ["no lock", "no lock"] and "nothing was copied" in found["msg"]
    wrong = action.in_bundle("/b", {"platform": "p"}, [{**good, "nonsense": 1}])
    assert wrong["failed"] and ["nonsense" in problem for problem in wrong["problems"]] == [True]


def test_a_layer_that_is_there_is_not_asked_for(monkeypatch):
    seen = []

    def result(options, stamp):
        seen.append((options["layer"], stamp))
        return {"changed": stamp is None}

    monkeypatch.setattr(action, "result", result)
    given = {"path": "/e/", "requirements": ["a==1"], "layer": "x"}
    assert action.complete(given, {"/e": {"x": {"a": 1}}}) and not action.complete(given, {"/e": {"y": {}}})
    assert not action.complete(given, {}) and not action.complete({"path": "/e", "nonsense": 1}, {"/e": {"x": {}}})
    assert seen == [("x", {"a": 1}), ("x", None), ("x", None)]
