# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an entry tells of its settings, and what status and monitoring make of what its hosts tell."""

from __future__ import annotations

import json
import subprocess

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.deployed import entry_alone
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.made import entry_files
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.status import entry_report, entry_watched
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.told import entry_expected
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.files import monitoring_files
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_entry import (
    GOOD,
    ONE,
    TEXTS,
    TWO,
    changed,
    refusals,
)

EXPECTED = {"digest": "aa", "routers": {"ds": [2, 1], "qwen3": [1, 0]}}
WELL = {"answers": True, "problem": "", "digest": "aa", "routers": {"qwen3": [1, 0], "ds": [2, 1]}, "held": False}
HELD = {**WELL, "held": True}


def told(settings=GOOD, hosts=TWO, texts=TEXTS, host="h1"):
    return next(file["content"] for file in entry_files(settings, hosts, texts, host) if file["path"].endswith(".txt"))


def test_two_hosts_tell_the_same_and_no_secret():
    assert told() == told(host="h2") and told() != told(hosts=ONE)
    digest = entry_expected(GOOD, TWO, TEXTS)["digest"]
    assert f'settings_info{{digest="{digest}"}} 1\n' in told()
    assert told(texts={**TEXTS, "qwen.key": "another-key-of-engines\n"}) == told(), "its digest could be guessed"


@pytest.mark.parametrize(
    ("settings", "texts"),
    [
        (changed("teams.lab.concurrent", 3), TEXTS),
        (changed("deployments.old.routers", ["192.0.2.21:8002"]), TEXTS),
        (GOOD, {**TEXTS, "search": "first-key-of-search\n"}),
        (GOOD, {**TEXTS, "/tls/cert.pem": "ANOTHER"}),
    ],
)
def test_what_changes_is_told(settings, texts):
    assert told(settings, texts=texts) != told()
    assert entry_expected(settings, TWO, texts)["digest"] != entry_expected(GOOD, TWO, TEXTS)["digest"]


def test_without_files_only_routers_are_expected():
    fallback = changed("models.org/ds-v4", {"deployments": {"old": 95, "new": 0}, "fallback": "qwen"})
    del fallback["deployments"]["qwen"]["api_key_file"]
    fallback["deployments"]["new"] = {"routers": ["192.0.2.22:8001"]}
    assert entry_expected(fallback, TWO, {}) == {"digest": "", "routers": {"qwen3": [2, 0], "org/ds-v4": [1, 2]}}


def test_the_end_of_the_certificate_is_told(tmp_path):
    place = tmp_path / "c"
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=a"]
    subprocess.run([*argv, "-out", place, "-keyout", f"{place}.key"], check=True, capture_output=True)
    ends = subprocess.run(
        ["openssl", "x509", "-enddate", "-dateopt", "iso_8601", "-noout", "-in", place], capture_output=True, text=True
    ).stdout
    text = told(texts={**TEXTS, "/tls/cert.pem": place.read_text()})
    (found,) = [int(line.split()[1]) for line in text.splitlines() if "_timestamp_seconds " in line and "#" not in line]
    date = subprocess.run(["date", "-u", "-d", f"@{found}", "+notAfter=%F %TZ"], capture_output=True, text=True)
    assert date.stdout.strip() == ends.strip()
    assert "certificate" not in told(), "it cannot be read"


def test_all_is_well():
    found = entry_report({"h1": HELD, "h2": WELL}, EXPECTED)
    assert (
        found["healthy"]
        and found["findings"] == []
        and found["lines"][0] == "The entry: 2 of 2 hosts serve, no findings"
    )
    assert found["hosts"][0] == {
        "host": "h1",
        "state": "serves",
        "address": "here",
        "routers that answer": "ds 2/2, qwen3 1/1",
        "settings": "as here",
    }
    assert entry_report({"h1": {**WELL, "held": None}}, EXPECTED)["hosts"][0]["address"] == "-"


@pytest.mark.parametrize(
    ("second", "cells", "finding"),
    [
        ({"unreachable": True, "msg": "no route to host"}, ("unknown", "-", "-", "-"), "no route to host"),
        ({"failed": True, "msg": "sudo is refused"}, ("unknown", "-", "-", "-"), "sudo is refused"),
        ({}, ("unknown", "-", "-", "-"), "the connection was lost"),
        (
            {**WELL, "answers": False, "problem": "refused"},
            ("silent", "standby", "-", "-"),
            "does not answer (refused)",
        ),
        ({**WELL, "digest": "bb"}, ("serves", "standby", "ds 2/2, qwen3 1/1", "others"), "other settings"),
        (
            {**WELL, "routers": {"ds": [0, 1], "qwen3": [1, 0]}},
            ("serves", "standby", "ds 0/2 (fallback), qwen3 1/1", "as here"),
            "no router of ds answers, and its fallback answers",
        ),
        (
            {**WELL, "routers": {"ds": [1, 0], "qwen3": [0, 0]}},
            ("serves", "standby", "ds 1/2, qwen3 0/1", "as here"),
            "no router of qwen3 answers, and clients get status 503",
        ),
        ({**WELL, "held": True}, ("serves", "here", "ds 2/2, qwen3 1/1", "as here"), "h1 and h2 have the address"),
        # An answer that is no answer of the module costs its host only.
        ({**WELL, "routers": "x"}, ("unknown", "-", "-", "-"), "wrong form"),
        ({**WELL, "routers": {"ds": [[], 1]}}, ("unknown", "-", "-", "-"), "wrong form"),
    ],
)
def test_each_fault_of_a_host_is_in_its_row_and_a_finding(second, cells, finding):
    found = entry_report({"h1": HELD, "h2": second}, EXPECTED)
    assert tuple(list(found["hosts"][1].values())[1:]) == cells and found["hosts"][0]["state"] == "serves"
    assert len(found["findings"]) == 1 and finding in found["findings"][0] and not found["healthy"]
    assert found["findings"][0] in found["lines"]


def test_models_that_nobody_has_bury_no_other_host():
    many = {**WELL["routers"], **{f"a{number}": [0, 0] for number in range(20_000)}}
    lines = entry_report({"h1": {**HELD, "routers": many}, "h2": WELL}, EXPECTED)["lines"]
    assert len("\n".join(lines)) < 5000 and any("ds 2/2" in line and line.startswith("| h1") for line in lines), lines


def test_nobody_has_the_address():
    (finding,) = entry_report({"h1": WELL, "h2": WELL}, EXPECTED)["findings"]
    assert "no host has the address" in finding
    assert len(entry_report({"h1": WELL, "h2": {}}, EXPECTED)["findings"]) == 1, "the other one may have it"


def test_settings_that_cannot_be_read_are_not_compared():
    found = entry_report({"h1": HELD}, {"problem": "no vault\nsecrets"})
    assert (
        found["hosts"][0]["settings"] == "not compared" and found["hosts"][0]["routers that answer"] == "ds 2, qwen3 1"
    )
    assert len(found["findings"]) == 1 and "no vault secrets" in found["findings"][0]


@pytest.mark.parametrize("network", ["192.0.2.300", "192.0.2.0/33"])
def test_prometheus_has_an_address(network):
    assert ("monitoring[0]", "ENTRY-SETTING") in refusals(changed("monitoring", [network]))


@pytest.mark.parametrize(
    ("settings", "hosts", "targets"),
    [
        ({"monitoring": ["192.0.2.50"]}, TWO, ["192.0.2.1:8013", "192.0.2.2:8013"]),
        ({"monitoring": ["fd00::50"], "address": "fd00::1"}, ONE, ["[fd00::1]:8013"]),
    ],
)
def test_hosts_of_the_entry_are_targets_at_their_own_addresses(settings, hosts, targets):
    made = monitoring_files(entry_watched({**GOOD, **settings}, hosts), {})
    assert [target for group in json.loads(made["files"][0]["content"]) for target in group["targets"]] == targets
    assert made["state"] == "present" and made["notes"] == []


@pytest.mark.parametrize(("settings", "notes"), [({}, 1), ({"state": "absent", "monitoring": ["192.0.2.50"]}, 0)])
def test_files_of_an_entry_that_prometheus_cannot_ask_are_removed(settings, notes):
    made = monitoring_files(entry_watched({**GOOD, **settings}, TWO), {})
    assert made["state"] == "absent" and len(made["notes"]) == notes
    assert monitoring_files(entry_watched({**GOOD, **settings}, TWO), {"state": "absent"})["notes"] == []


@pytest.mark.parametrize(("name", "alone"), [("model", False), ("recipe", False), ("entry", True), ("address", True)])
def test_an_inventory_without_a_deployment_has_the_entry_alone(name, alone):
    hosts = {"e1": {}, "q1": {f"inference_{name}": "x"}}
    assert entry_alone(hosts, {"all": list(hosts)}) is alone


@pytest.mark.parametrize("hosts", [ONE, TWO])
def test_files_of_monitoring_have_one_name_whatever_the_settings(hosts):
    """So another address leaves no files of the former one, and state: absent without the other settings finds them."""
    named = monitoring_files(entry_watched({**GOOD, "monitoring": ["192.0.2.50"]}, hosts), {})
    for settings in ({**GOOD, "address": "192.0.2.101", "monitoring": ["192.0.2.50"]}, {"state": "absent"}):
        made = monitoring_files(entry_watched(settings, hosts), {})
        assert (made["directory"], made["paths"]) == (named["directory"], named["paths"])
    assert made["state"] == "absent" and ":" not in entry_watched({"state": "absent"}, {"h": "fd00::1"})["deployment"]
