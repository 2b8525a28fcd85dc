# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `inference_entry` refuses, all of it at once, and what becomes of keys, shares and limits."""

from __future__ import annotations

import copy
import hashlib
import pathlib

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.made import (
    entry_files,
    entry_service,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.plan import entry_plan, router_weights
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.reading import read_entry

ROOT = pathlib.Path(__file__).resolve().parents[4]
GOOD = {
    "address": "192.0.2.100",
    "certificate": "/tls/cert.pem",
    "certificate_key": "/tls/key.pem",
    "deployments": {
        "qwen": {"routers": ["192.0.2.11:8000", "192.0.2.12:8000"], "api_key_file": "qwen.key"},
        "old": {"routers": ["192.0.2.21:8001"]},
        "new": {"routers": ["192.0.2.22:8001"]},
    },
    "models": {"qwen3": {"deployment": "qwen"}, "org/ds-v4": {"deployments": {"old": 95, "new": 5}}},
    "teams": {
        "search": {"keys_file": "search", "models": ["qwen3"], "requests_per_minute": 600},
        "lab": {"keys_file": "lab"},
    },
}
TEXTS = {
    "search": "# of 2026\nfirst-key-of-search\n\nsecond-key-of-search\n",
    "lab": f"sha256:{'ab' * 32}\n",
    "qwen.key": "engines-own\n",
    "/tls/cert.pem": "CERTIFICATE",
    "/tls/key.pem": "PRIVATE",
}


def changed(path, value):
    """GOOD with another value at a dotted path."""
    settings = copy.deepcopy(GOOD)
    *parents, last = path.split(".")
    place = settings
    for parent in parents:
        place = place[parent]
    place[last] = value
    return settings


def refusals(settings, hosts=("h1",)):
    """{(path, rule)} of what is refused."""
    with pytest.raises(PlanError) as raised:
        read_entry(settings, list(hosts))
    assert all(finding.why and finding.fix for finding in raised.value.findings)
    return {(finding.path.removeprefix("inference_entry").lstrip("."), finding.id) for finding in raised.value.findings}


WRONG = {
    "address": ("", "ENTRY-SETTING"),
    "certificate": ("", "ENTRY-SETTING"),
    "certificate_key": ("", "ENTRY-SETTING"),
    "plain_http": (True, "ENTRY-SETTING"),
    "peer_port": (443, "ENTRY-SETTING"),
    "deployments.old.health": ("/ready", "models.org/ds-v4", "ENTRY-LATER"),
    "deployments.old.api_key_file": ("old.key", "models.org/ds-v4", "ENTRY-LATER"),
    "deployments.old.routers": ([], "ENTRY-LATER"),
    "deployments.new.routers": (["a:1", "a:1"], "ENTRY-SETTING"),
    "deployments.unused": ({"routers": ["a:1"]}, "ENTRY-SETTING"),
    "deployments.un used": ({"routers": ["a:1"]}, "ENTRY-SETTING"),
    "models.qwen3.fallback": ("org/ds-v4", "VARIABLE-TEXT"),
    "models.qwen3.deployment": ("qwem", "ENTRY-SETTING"),
    "models.qwen3": ({"deployment": "qwen", "deployments": {"old": 1}}, "ENTRY-SETTING"),
    "models.none": ({}, "ENTRY-SETTING"),
    "models.a b": ({"deployment": "qwen"}, "ENTRY-SETTING"),
    'models.a"b': ({"deployment": "qwen"}, "ENTRY-SETTING"),
    "models.a%[src]": ({"deployment": "qwen"}, "ENTRY-SETTING"),
    "teams.a b": ({"keys_file": "x"}, "ENTRY-SETTING"),
    "teams.search.models": (["gpt"], "ENTRY-SETTING"),
    "teams.lab.models": (["all", "qwen3"], "ENTRY-SETTING"),
    "teams.lab.tokens_per_day": (-1, "VARIABLE-RANGE"),
    "teams.lab.requests_per_minute": (-1, "VARIABLE-RANGE"),
    "teams.lab.tokens": (1, "VARIABLE-UNKNOWN"),
    "teams.lab.keys_file": (None, "ENTRY-SETTING"),
    "paths": ([], "ENTRY-SETTING"),
    "body_mib": (256, "VARIABLE-RANGE"),
    "address\n": ("x", "VARIABLE-UNKNOWN"),
}


@pytest.mark.parametrize("path", WRONG)
def test_each_mistake_is_refused_at_its_place(path):
    value, *place, rule = WRONG[path]
    assert (place[0] if place else path, rule) in refusals(changed(path, value))


def test_good_settings_are_read():
    assert read_entry(GOOD, ["h1"]).port == 443
    assert read_entry({"state": "absent"}, ["h1"]).state == "absent"


@pytest.mark.parametrize("key", ["models", "requests_per_minute", "concurrent", "tokens_per_day", "tokens_per_month"])
def test_a_right_or_a_limit_without_a_value_is_no_default(key):
    assert (f"teams.search.{key}", "ENTRY-SETTING") in refusals(changed(f"teams.search.{key}", None))


def test_a_wrong_address_of_a_router_is_one_mistake():
    found = refusals(changed("deployments.old.routers", ["192.0.2.21:0"]))
    assert found == {("deployments.old.routers[0]", "VARIABLE-TEXT")}


@pytest.mark.parametrize("raw", [None, "text", [], {"teams": "x"}, {"teams": {"lab": "x"}}])
def test_settings_of_another_kind_are_mistakes(raw):
    assert refusals(raw)


def test_all_mistakes_are_said_at_once():
    settings = changed("teams.lab.tokens_per_day", 5)
    settings["usage"] = False
    settings["models"]["qwen3"] = {"deployment": "nobody"}
    del settings["certificate"]
    found = refusals(settings, ["h1", "h2"])
    assert {"", "certificate", "models.qwen3.deployment", "teams.lab.tokens_per_day"} <= {path for path, dummy in found}
    assert ("", "ENTRY-LATER") in found and ("", "ENTRY-SETTING") in refusals(GOOD, [])


@pytest.mark.parametrize(
    ("models", "rule"),
    [
        ({"m": {"deployment": "old", "fallback": "qwen3"}}, "ENTRY-LATER"),
        ({"m": {"deployment": "old", "fallback": "old"}}, "ENTRY-SETTING"),
        ({"m": {"deployment": "old", "fallback": "nobody"}}, "ENTRY-SETTING"),
    ],
)
def test_a_fallback_is_another_deployment(models, rule):
    settings = changed("models", {**GOOD["models"], **models})
    assert ("models.m.fallback", rule) in refusals(settings)


@pytest.mark.parametrize("shares", [{"old": 0, "new": 0}, {"old": -1, "new": 5}, {"old": 257, "new": 1}])
def test_shares_without_meaning_are_refused(shares):
    settings = copy.deepcopy(GOOD)
    settings["models"]["org/ds-v4"]["deployments"] = shares
    assert any(path.startswith("models.org/ds-v4.deployments") for path, dummy in refusals(settings))


@pytest.mark.parametrize(
    "path",
    ["/v1/models", "/metrics", "/update_weights", "/instances/add", "/add_worker", "/v1/metaserver", "/flush_cache"]
    + ["/v1/audio/transcriptions", "/v1/x y", "/v1//completions"],
)
def test_paths_that_clients_must_not_reach_are_refused(path):
    places = {place for place, dummy in refusals(changed("paths", [path]))}
    assert places and places <= {"paths[0]", "paths"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"a": (1, 3)}, {"a": 1}),
        ({"a": (95, 1), "b": (5, 1)}, {"a": 19, "b": 1}),
        ({"a": (50, 2), "b": (50, 1)}, {"a": 1, "b": 2}),
        ({"a": (1, 1), "b": (0, 2)}, {"a": 1, "b": 0}),
        ({"a": (256, 1), "b": (1, 7)}, {"a": 256, "b": 1}),
    ],
)
def test_weights_keep_the_proportion_of_shares(given, expected):
    assert router_weights(given) == expected


def test_the_plan_names_routers_and_rights():
    plan = entry_plan(read_entry(GOOD, ["h1"]))
    assert [(route.model, [(way.name, way.weight) for way in route.ways]) for route in plan.routes] == [
        ("org/ds-v4", [("new-0", 1), ("old-0", 19)]),
        ("qwen3", [("qwen-0", 1), ("qwen-1", 1)]),
    ]
    assert [(grant.team, grant.models) for grant in plan.grants] == [
        ("lab", ("org/ds-v4", "qwen3")),
        ("search", ("qwen3",)),
    ]


def test_keys_are_written_as_digests_alone():
    assert set(entry_service(GOOD, ["h1"])["sources"]) == set(TEXTS)
    files = {pathlib.PurePath(file["path"]).name: file["content"] for file in entry_files(GOOD, ["h1"], TEXTS)}
    digest = hashlib.sha256(b"first-key-of-search").hexdigest()
    assert f"{digest} search\n" in files["keys.map"] and f"{'ab' * 32} lab\n" in files["keys.map"]
    upper = entry_files(GOOD, ["h1"], {**TEXTS, "lab": f"sha256:{'AB' * 32}\n"})
    assert [file["content"] for file in upper if file["path"].endswith("/keys.map")] == [files["keys.map"]]
    assert not [name for name, text in files.items() if "key-of-search" in text]
    assert [name for name, text in files.items() if "engines-own" in text] == ["engine_keys.map"]
    assert files["entry.pem.key"] == "PRIVATE" and "PRIVATE" not in files["entry.pem"]
    assert "engines-own" not in str(entry_service(GOOD, ["h1"]))


BAD_KEYS = {
    "": "has no key",
    "short": "fewer than 16 characters",
    "a key with blanks in it": "a character other than",
    'quoted"key"0123456789': "a character other than",
    "sha256:1234": "64 hexadecimal digits",
    "first-key-of-search": "is also a key of the team lab",
}


@pytest.mark.parametrize("line", BAD_KEYS)
def test_wrong_keys_are_refused_and_not_shown(line):
    with pytest.raises(PlanError) as raised:
        entry_files(GOOD, ["h1"], {**TEXTS, "lab": f"{line}\n"})
    assert BAD_KEYS[line] in str(raised.value) and (not line or line not in str(raised.value))


@pytest.mark.parametrize("key", ["", "two keys", "line\nline", "ü"])
def test_a_key_of_engines_is_one_word(key):
    with pytest.raises(PlanError) as raised:
        entry_files(GOOD, ["h1"], {**TEXTS, "qwen.key": key})
    assert "does not hold one key" in str(raised.value)


def test_role_and_playbook_do_not_know_the_program():
    files = [*(ROOT / "roles/entry").rglob("*"), ROOT / "playbooks/entry.yml", ROOT / "plugins/filter/entry.py"]
    named = [path for path in files if path.is_file() and "haproxy" in path.read_text(encoding="utf-8").lower()]
    assert named == []
