# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The proof of an entry with the real HAProxy: it passes, and each planted fault fails the step that is about it."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import signal
import ssl
import tempfile
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.entry import served
from ansible_collections.ascend.inference.plugins.module_utils.entry.proof import proof
from ansible_collections.ascend.inference.plugins.module_utils.entry.twin import Twin
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.pair import ALIVE
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.twin import entry_checks, entry_twin
from ansible_collections.ascend.inference.tests.integration import _entry
from ansible_collections.ascend.inference.tests.integration._certificate import certify

HOSTS = {"h": "192.0.2.1"}
SETTINGS = {
    "address": "192.0.2.100",
    "plain_http": True,
    "deployments": {
        "qwen": {"routers": ["192.0.2.11:8000", "192.0.2.12:8000"], "api_key_file": "engines"},
        "old": {"routers": ["192.0.2.21:8001"]},
        "new": {"routers": ["192.0.2.22:8001"]},
    },
    "models": {
        "qwen3": {"deployment": "qwen"},
        "org/ds-v4": {"deployments": {"old": 95, "new": 5}, "fallback": "qwen3"},
    },
    "teams": {
        "search": {"keys_file": "s", "models": ["qwen3"], "requests_per_minute": 600, "concurrent": 4},
        "lab": {"keys_file": "l", "requests_per_minute": 20},
        "day": {"keys_file": "d", "tokens_per_day": 10**14},
        "month": {"keys_file": "m", "tokens_per_month": 10, "concurrent": 9, "requests_per_minute": 9},
    },
}
# Faults in what the program reads: the text that is there, the one in its place, and the step that has to fail.
FAULTS = {
    "a team may use all models": ("search/qwen3 yes", "search/qwen3 yes\nsearch/org/ds-v4 yes", "refusals"),
    "strangers come in": (
        "unless known\n    http-request return status 405",
        "if FALSE\n    http-request return status 405",
        "refusals",
    ),
    "other shares": ("weight 19", "weight 12", "route of org/ds-v4"),
    "another router": ("server qwen-1 127.0.0.1:61103", "server qwen-1 127.0.0.1:61100", "route of qwen3"),
    "no key of engines": ("qwen Bearer engines-of-qwen", "", "route of qwen3"),
    "usage counted twice": ("local more = { 1,", "local more = { 2,", "usage"),
    "no tokens of prompts": ('number("prompt_tokens"', 'number("tokens_of_prompt"', "usage"),
    "no other model": ("server other unix@", "#", "fallback of org/ds-v4"),
    "a larger limit": ("ge 20 }", "ge 22 }", "requests_per_minute of lab"),
    "a smaller limit": ("ge 20 }", "ge 18 }", "requests_per_minute of lab"),
    "one more at a time": ("gt 4 }", "gt 5 }", "concurrent of search"),
    "no limit of tokens": ("http-request lua.tokens", "#", "tokens of day"),
}

SHORT = ("a team may use all models", "other shares", "usage counted twice", "a larger limit")


@pytest.fixture(scope="module", autouse=True)
def program():
    _entry.install()


def test_an_entry_that_does_what_its_settings_say_passes():
    steps = proof(entry_twin(SETTINGS, HOSTS))
    assert [step for step in steps if step["status"] == "failed"] == []
    passed = {step["step"]: step["detail"] for step in steps if step["status"] == "passed"}
    assert len(passed) == 12 and passed["route of org/ds-v4"].count("95 to") == 1
    skipped = {step["step"]: step["detail"] for step in steps if step["status"] == "skipped"}
    assert skipped == {"concurrent of month": "requests_per_minute is not more"}


@pytest.mark.parametrize(
    "fault", [pytest.param(name, marks=() if name in SHORT else pytest.mark.long) for name in FAULTS]
)
def test_a_planted_fault_fails_its_step(fault):
    there, other, step = FAULTS[fault]
    given = entry_twin(SETTINGS, HOSTS)
    texts = [file["content"] for file in given["files"]]
    assert sum(there in text for text in texts) == 1
    for file in given["files"]:
        file["content"] = file["content"].replace(there, other)
    failed = [each["step"] for each in proof(given) if each["status"] == "failed"]
    assert step in failed, failed


def test_a_program_that_does_not_start_says_why():
    given = entry_twin(SETTINGS, HOSTS)
    for file in given["files"]:
        file["content"] = file["content"].replace("mode http", "mode htpp")
    with pytest.raises(OSError, match="htpp"):
        proof(given)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_proof_that_is_ended_leaves_no_process(number, monkeypatch):
    place = tempfile.mkdtemp(dir="/tmp")  # paths of sockets must be short
    monkeypatch.setattr(tempfile, "tempdir", place)
    child = os.fork()
    if not child:
        try:
            with Twin(entry_twin(SETTINGS, HOSTS)):
                pathlib.Path(place, "ready").touch()
                time.sleep(30)
        finally:
            os._exit(0)
    try:
        assert _within(15, pathlib.Path(place, "ready").exists)
        (program,) = pathlib.Path(f"/proc/{child}/task/{child}/children").read_text().split()
        os.kill(child, number)
        assert _within(5, lambda: not pathlib.Path(f"/proc/{program}").exists()), "the program goes on"
        os.waitpid(child, 0)
        assert number == signal.SIGKILL or not list(pathlib.Path(place).glob("en-*"))
    finally:
        shutil.rmtree(place)


def _within(seconds, true):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def test_a_hundred_models_and_teams_are_served():
    models = {f"org/model-{number}": {"deployment": "old" if number else "new"} for number in range(100)}
    teams = {f"team-{number}": {"keys_file": "k"} for number in range(100)}
    deployments = {name: SETTINGS["deployments"][name] for name in ("old", "new")}
    given = entry_twin({**SETTINGS, "deployments": deployments, "models": models, "teams": teams}, HOSTS)
    old, new = (next(port for port in given["models"][f"org/model-{number}"]["ways"]) for number in (1, 0))
    with Twin(given) as twin:
        pages = {path: lambda path=path: twin.ask("GET", path, port=given["status"])[0] for path in ("/health", ALIVE)}
        assert json.loads(twin.ask("GET", "/health", port=given["status"])[1])["routers"] == dict.fromkeys(models, 1)
        assert len(json.loads(twin.ask("GET", "/v1/models", given["key"])[1])["data"]) == 100
        assert pages[ALIVE]() == 200
        twin.routers[new].close()
        assert _within(10, lambda: pages["/health"]() == 503) and pages[ALIVE]() == 200
        twin.routers[old].close()
        assert _within(10, lambda: pages[ALIVE]() == 503)


def test_a_router_in_two_deployments_has_the_shares_of_both():
    deployments = {"old": {"routers": ["192.0.2.1:1"]}, "new": {"routers": ["192.0.2.1:1", "192.0.2.2:1"]}}
    models = {"qwen3": {"deployments": {"old": 50, "new": 50}}}
    teams = {"lab": {"keys_file": "l"}}
    steps = proof(entry_twin({**SETTINGS, "deployments": deployments, "models": models, "teams": teams}, HOSTS))
    assert {step["step"]: step["detail"] for step in steps if step["status"] == "failed"} == {}


def test_without_usage_nothing_is_counted_and_the_rest_proven():
    models = {"qwen3": {"deployment": "old", "fallback": "new"}, "ds": {"deployment": "qwen"}}
    teams = {"lab": {"keys_file": "l", "requests_per_minute": 5}}
    steps = proof(entry_twin({**SETTINGS, "usage": False, "models": models, "teams": teams}, HOSTS))
    assert [step["step"] for step in steps if step["status"] != "passed"] == ["usage"]


def test_each_router_serves_the_model_under_its_name():
    running = _entry.Deployment("qwen")
    running._answer, answer = None, running._answer
    running._answer = lambda writer, value, *more, **named: (
        answer(writer, value, *more, **named)
        if b'"model": "qwen3"' in running.seen[-1][2]
        else answer(writer, {"error": "no such model"}, b"404 Not Found")
    )
    here = f"127.0.0.1:{running.port}"
    settings = {**SETTINGS, "deployments": {name: {"routers": [here]} for name in ("qwen", "old", "new")}}
    settings["deployments"]["qwen"]["api_key_file"] = "engines"
    checks = entry_checks(settings, HOSTS, {"engines": "engines-own\n"}, True)
    steps = served.routers(checks["routers"], checks["engine_keys"])
    assert [(step["step"], step["status"]) for step in steps] == [
        (f"org/ds-v4 at {here}", "failed"),
        (f"qwen3 at {here}", "passed"),
    ]
    keys = {headers.get("authorization") for dummy, headers, body in running.seen if b"qwen3" in body}
    assert keys == {"Bearer engines-own"} and "404" in steps[0]["detail"]
    for status in (b"429 Too Many Requests", b"503 Service Unavailable"):
        running._answer = lambda writer, *dummy, status=status: answer(writer, {}, status)
        steps = served.routers(checks["routers"], checks["engine_keys"])
        assert {step["status"] for step in steps} == {"skipped"} and status[:3].decode() in steps[0]["detail"]
    running.close()
    assert served.routers([{"model": "m", "address": "127.0.0.1:1", "key": ""}], {})[0]["status"] == "skipped"


def test_the_address_shows_the_certificate_and_asks_for_a_key(tmp_path):
    text, key = certify(tmp_path / "cert")
    settings = {**SETTINGS, "plain_http": False, "certificate": "cert", "certificate_key": "key"}
    digest = entry_checks(settings, HOSTS, {"engines": "x", "cert": f"{text}\n{text}"}, False)["certificate"]
    assert digest == hashlib.sha256(ssl.PEM_cert_to_DER_cert(text)).hexdigest()
    with _entry.started() as make:
        running = make()
        assert served.door("127.0.0.1", running.port, "")[0]["status"] == "passed"
        assert served.door("127.0.0.1", running.port, digest)[0]["status"] == "failed"
        (running.folder / "entry.pem").write_text(text)
        (running.folder / "entry.pem.key").write_text(key)
        path = running.folder / "haproxy.cfg"
        bind = f"bind 127.0.0.1:{running.port}"
        path.write_text(path.read_text().replace(bind, f"{bind} ssl crt {running.folder}/entry.pem"))
        running.restart()
        assert served.door("127.0.0.1", running.port, digest)[0]["status"] == "passed"
        assert "another one" in served.door("127.0.0.1", running.port, "ab" * 32)[0]["detail"]
    assert served.door("127.0.0.1", running.port, digest)[0]["status"] == "failed"
