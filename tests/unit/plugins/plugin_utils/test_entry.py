# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `inference_entry` refuses, all of it at once, and what becomes of keys, shares and limits."""

from __future__ import annotations

import copy
import hashlib
import pathlib

import jinja2.nativetypes
import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.made import (
    entry_files,
    entry_hosts,
    entry_service,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.pair import pair_of
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.plan import entry_plan, router_weights
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.reading import read_entry

ONE, TWO = {"h1": "192.0.2.1"}, {"h1": "192.0.2.1", "h2": "192.0.2.2"}
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


def refusals(settings, hosts=ONE):
    """{(path, rule)} of what is refused."""
    with pytest.raises(PlanError) as raised:
        read_entry(settings, hosts)
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
    "deployments.old.routers": ([], "ENTRY-SETTING"),
    "deployments.new.routers": (["a:1", "a:1"], "ENTRY-SETTING"),
    "deployments.unused": ({"routers": ["a:1"]}, "ENTRY-SETTING"),
    "deployments.un used": ({"routers": ["a:1"]}, "ENTRY-SETTING"),
    "models.qwen3.fallback": ("org ds-v4", "ENTRY-SETTING"),
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
    "arriving_mib": (63, "ENTRY-SETTING"),
    "address\n": ("x", "VARIABLE-UNKNOWN"),
}


@pytest.mark.parametrize("path", WRONG)
def test_each_mistake_is_refused_at_its_place(path):
    value, *place, rule = WRONG[path]
    assert (place[0] if place else path, rule) in refusals(changed(path, value))


def test_good_settings_are_read():
    assert read_entry(GOOD, ONE).port == 443
    assert read_entry({"state": "absent"}, ONE).state == "absent"


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
    found = refusals(settings, {**TWO, "h3": "192.0.2.3"})
    assert {"", "certificate", "models.qwen3.deployment", "teams.lab.tokens_per_day"} <= {path for path, dummy in found}
    assert ("", "ENTRY-LATER") in found and ("", "ENTRY-SETTING") in refusals(GOOD, {})


@pytest.mark.parametrize(
    ("models", "rule"),
    [
        ({"m": {"deployment": "old", "fallback": "m"}}, "ENTRY-SETTING"),
        (
            {"m": {"deployment": "old", "fallback": "n"}, "n": {"deployment": "old", "fallback": "qwen3"}},
            "ENTRY-SETTING",
        ),
        ({"m": {"deployment": "old", "fallback": "old"}}, "ENTRY-SETTING"),
        ({"m": {"deployment": "old", "fallback": "nobody"}}, "ENTRY-SETTING"),
    ],
)
def test_a_fallback_is_another_deployment_or_model_and_the_last_one(models, rule):
    settings = changed("models", {**GOOD["models"], **models})
    assert ("models.m.fallback", rule) in refusals(settings)


def test_another_model_takes_over_only_where_its_name_can_be_written():
    settings = changed("models.qwen3.fallback", "org/ds-v4")
    assert read_entry(settings, ONE)
    assert ("models.qwen3.fallback", "ENTRY-SETTING") in refusals({**settings, "usage": False})


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
    plan = entry_plan(read_entry(GOOD, ONE), pair_of(ONE, "h1"))
    assert [(route.model, [(way.name, way.weight) for way in route.ways]) for route in plan.routes] == [
        ("org/ds-v4", [("new-0", 1), ("old-0", 19)]),
        ("qwen3", [("qwen-0", 1), ("qwen-1", 1)]),
    ]
    assert [(grant.team, grant.models) for grant in plan.grants] == [
        ("lab", ("org/ds-v4", "qwen3")),
        ("search", ("qwen3",)),
    ]


def test_keys_are_written_as_digests_alone():
    assert set(entry_service(GOOD, ONE, "h1")["sources"]) == set(TEXTS)
    files = {pathlib.PurePath(file["path"]).name: file["content"] for file in entry_files(GOOD, ONE, TEXTS, "h1")}
    digest = hashlib.sha256(b"first-key-of-search").hexdigest()
    assert f"{digest} search\n" in files["keys.map"] and f"{'ab' * 32} lab\n" in files["keys.map"]
    upper = entry_files(GOOD, ONE, {**TEXTS, "lab": f"sha256:{'AB' * 32}\n"}, "h1")
    assert [file["content"] for file in upper if file["path"].endswith("/keys.map")] == [files["keys.map"]]
    assert not [name for name, text in files.items() if "key-of-search" in text]
    assert [name for name, text in files.items() if "engines-own" in text] == ["engine_keys.map"]
    assert files["entry.pem.key"] == "PRIVATE" and "PRIVATE" not in files["entry.pem"]
    assert "engines-own" not in str(entry_service(GOOD, ONE, "h1"))


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
        entry_files(GOOD, ONE, {**TEXTS, "lab": f"{line}\n"}, "h1")
    assert BAD_KEYS[line] in str(raised.value) and (not line or line not in str(raised.value))


@pytest.mark.parametrize("key", ["", "two keys", "line\nline", "ü"])
def test_a_key_of_engines_is_one_word(key):
    with pytest.raises(PlanError) as raised:
        entry_files(GOOD, ONE, {**TEXTS, "qwen.key": key}, "h1")
    assert "does not hold one key" in str(raised.value)


def test_role_and_playbook_do_not_know_the_program():
    files = [*(ROOT / "roles/entry").rglob("*"), ROOT / "playbooks/entry.yml", ROOT / "plugins/filter/entry.py"]
    named = [path for path in files if path.is_file() and "haproxy" in path.read_text(encoding="utf-8").lower()]
    assert named == []


def text_of(hosts, host, name="haproxy.cfg", settings=GOOD):
    return {pathlib.PurePath(each["path"]).name: each["content"] for each in entry_files(settings, hosts, TEXTS, host)}[
        name
    ]


def test_each_of_two_hosts_counts_into_its_own_table_and_adds_the_other_one():
    first, second = (text_of(TWO, host) for host in TWO)
    assert "localpeer one\n" in first and "localpeer two\n" in second
    assert "peer one 127.0.0.1:8014\n    peer two 192.0.2.2:8014\n" in first
    assert "peer two 127.0.0.1:8014\n    peer one 192.0.2.1:8014\n" in second
    assert "track-sc0 var(txn.team) table teams-one" in first and "table_gpc0_rate(teams-two)" in first
    assert "track-sc0 var(txn.team) table teams-two" in second and "table_gpc0_rate(teams-one)" in second
    assert "bind 192.0.2.1:8014\n" in first and "reject unless { src 192.0.2.2 }" in first
    for text in (first, second):
        assert "bind 192.0.2.100:443 transparent ssl" in text
        assert "{ sc0_gpc0_rate,add(txn.elsewhere) ge 600 }" in text
    alone = text_of(ONE, "h1")
    assert "transparent" not in alone and "elsewhere" not in alone and "teams-two" not in alone and "8014\n" in alone


def test_keepalived_keeps_the_address_of_two_hosts():
    kept = entry_service({**GOOD, "virtual_router_id": 99}, TWO, "h2")["kept"]
    section = kept["virtual_address"]
    (row,) = section["hosts"]
    assert (section["virtual"], section["port"], row["host"], row["address"]) == (
        "192.0.2.100/32",
        443,
        "h2",
        "192.0.2.2",
    )
    assert "unicast_src_ip 192.0.2.2" in row["configuration"] and "        192.0.2.1\n" in row["configuration"]
    assert "virtual_router_id 99" in row["configuration"] and "/virtual-address/_entry.sh" in row["configuration"]
    assert "/dev/tcp/127.0.0.1/8013" in row["script"] and "GET /alive " in row["script"]
    for settings, hosts in ((GOOD, ONE), ({"state": "absent"}, TWO)):
        assert entry_service(settings, hosts, "h1")["kept"] == {"deployment": kept["deployment"], "virtual_address": {}}


@pytest.mark.parametrize(
    ("address", "hosts", "place"),
    [
        ("192.0.2.2", TWO, "address"),
        ("gate.example.com", TWO, "address"),
        ("127.0.0.1", TWO, "address"),
        ("fd00::100", TWO, ""),
        ("192.0.2.100", {"h1": "gate1.example.com", "h2": "192.0.2.2"}, ""),
        ("192.0.2.100", {"h1": "192.0.2.1", "h2": "192.0.2.1"}, ""),
        ("192.0.2.100", {**TWO, "h3": "192.0.2.3"}, ""),
    ],
)
def test_two_hosts_that_cannot_share_an_address_are_refused(address, hosts, place):
    assert place in {path for path, dummy in refusals(changed("address", address), hosts)}
    assert read_entry(changed("address", address), ONE)


def test_addresses_of_hosts_are_those_of_the_inventory():
    hostvars = {
        "a": {"inference_address": "192.0.2.1", "ansible_host": "x"},
        "b": {"ansible_host": "192.0.2.2"},
        "c": {},
    }
    assert entry_hosts(hostvars, ["a", "b", "c"]) == {"a": "192.0.2.1", "b": "192.0.2.2", "c": "c"}


@pytest.mark.parametrize(
    ("unit", "written", "loaded", "stale"),
    [
        (False, False, "now", False),
        (False, False, "before", True),  # a run ended after it wrote
        (False, False, None, True),
        (False, True, "now", True),  # somebody edited a file and loaded it
        (True, False, "now", True),
    ],
)
def test_the_program_loads_what_it_may_not_have_loaded(unit, written, loaded, stale):
    text = yaml.safe_load((ROOT / "roles/entry/vars/main.yml").read_text("utf-8"))["__entry_stale"]
    environment = jinja2.nativetypes.NativeEnvironment()
    environment.tests["changed"] = lambda result: result["changed"]
    environment.filters["hash"] = lambda value, kind: hashlib.new(kind, value.encode()).hexdigest()
    stat = {"checksum": hashlib.sha256(loaded.encode()).hexdigest()} if loaded else {}
    found = environment.from_string(text).render(
        __entry_unit={"changed": unit},
        __entry_written={"changed": written},
        __entry_remembered={"stat": stat},
        __entry_digest="now",
    )
    assert found is stale


def test_the_sockets_of_the_program_are_known_before_it_is_installed():
    def listens(settings, hosts):
        return entry_service(settings, hosts, "h1")["listens"]

    alone = ["192.0.2.100:443", "127.0.0.1:8013", "127.0.0.1:8014"]
    assert sorted(listens(GOOD, ONE)) == sorted(alone)
    watched = {**GOOD, "monitoring": ["192.0.2.50"]}
    assert sorted(listens(watched, TWO)) == sorted([*alone, "192.0.2.1:8014", "192.0.2.1:8013"])
    assert listens({"state": "absent"}, ONE) == []
