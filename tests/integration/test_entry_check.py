# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What check says of two hosts before an entry is there: real HAProxy, real sockets, firewalls and neighbours in namespaces, one fault at a time."""

from __future__ import annotations

import contextlib
import copy
import http.server
import json
import os
import ssl
import subprocess
import sys
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.checked import (
    entry_checked,
    entry_engine_keys,
    entry_questions,
)
from ansible_collections.ascend.inference.tests.integration import _entry_hosts as hosts
from ansible_collections.ascend.inference.tests.integration._certificate import certify
from ansible_collections.ascend.inference.tests.integration._entry import ENGINES, install
from ansible_collections.ascend.inference.tests.integration._namespaces import run

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
ASK = """
import json, sys
from ansible_collections.ascend.inference.plugins.module_utils.entry.before import before
print(json.dumps(before(json.load(sys.stdin))))
"""
SLOW = """
from ansible_collections.ascend.inference.plugins.module_utils.entry import before as module
import time
ask = module.taken
module.taken = lambda *given: time.sleep(1) or ask(*given)
"""
LISTEN = "import socket, sys; s = socket.socket(); s.bind(('0.0.0.0', int(sys.argv[1]))); s.listen(); print('ready', flush=True); sys.stdin.read()"
THIRD = "10.96.0.77"


@pytest.fixture(scope="module")
def pair():
    """Two hosts on which nothing of the entry runs."""
    install()
    with hosts.started() as made:
        for host in made.hosts:
            host.end("haproxy")
        yield made


def asked(pair, limited=tuple(hosts.HOSTS), late=0.0, code=ASK, **changed):
    """What both hosts say at the same time, or the second one later, and the findings about it; those about systemd are the machine's."""
    settings = {**copy.deepcopy(pair.settings), **changed}
    questions = entry_questions(settings, hosts.HOSTS, limited)
    keys = entry_engine_keys(settings, hosts.HOSTS, pair.texts("first"))
    running = {}
    for host in pair.hosts:
        host.ip("neighbour", "flush", "dev", "v0")  # the kernel believes for half a minute what a former test has shown
        given = {**questions[host.name]["options"], "engine_keys": keys, "reference": time.time()}
        argv = host.within(sys.executable, "-c", code)
        running[host.name] = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running[host.name].stdin.write(json.dumps(given))
        running[host.name].stdin.close()
        time.sleep(late)
    facts = {name: json.loads(process.stdout.read()) for name, process in running.items()}
    assert [process.wait(30) for process in running.values()] == [0, 0]
    report = entry_checked(questions, facts, [])
    return facts, [each for each in report["findings"] if each["id"] != "ENTRY-SYSTEMD"]


def ids(findings):
    return sorted({each["id"] for each in findings})


@contextlib.contextmanager
def dropped(host, *rule):
    """A firewall of a host drops what matches."""
    run(*host.within("iptables", "-A", "INPUT", *rule, "-j", "DROP"))
    try:
        yield
    finally:
        run(*host.within("iptables", "-D", "INPUT", *rule, "-j", "DROP"))


@contextlib.contextmanager
def serving(status, tls="", key=""):
    """A router of another kind; its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            denied = key and self.headers.get("Authorization") != f"Bearer {key}" and self.path.startswith("/v1/")
            self.send_response(401 if denied else status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *given):
            pass

    server = http.server.ThreadingHTTPServer((hosts.CLIENT, 0), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"{hosts.CLIENT}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def only(findings, of):
    """The one finding with this id; all of them in the message of a failure."""
    found = [each for each in findings if each["id"] == of]
    assert len(found) == 1, findings
    return found[0]


def test_hosts_on_which_all_would_work_have_no_findings(pair):
    begin = time.monotonic()
    facts, findings = asked(pair)
    assert findings == [], findings
    assert time.monotonic() - begin < 8, "both ended when they had met"
    assert facts["gate1"]["program"]["version"].startswith("2.") and facts["gate1"]["program"]["features"] == [
        "Lua",
        "OpenSSL",
    ]
    assert facts["gate2"]["held"] is False and facts["gate2"]["owner"] == "" and facts["gate2"]["links"]
    assert [each["meeting"]["vrrp"] for each in facts.values()] == [True, True]


def test_a_host_that_comes_later_is_met(pair):
    assert asked(pair, late=3.0)[1] == []


def test_the_port_at_which_the_hosts_meet_is_not_taken_by_the_check_itself(pair):
    assert asked(pair, code=SLOW + ASK)[1] == []


def test_hosts_that_were_not_asked_together_say_nothing_of_each_other(pair):
    dummy, findings = asked(pair, late=12.0)
    assert {(each["id"], each["severity"]) for each in findings} == {("ENTRY-PAIR", "remark")}
    assert asked(pair, limited=["gate1"])[0]["gate1"]["meeting"] == {}


def test_a_firewall_that_drops_vrrp(pair):
    with dropped(pair.hosts[1], "-p", "112"):
        dummy, findings = asked(pair)
    found = only(findings, "ENTRY-PAIR")
    assert (found["id"], found["path"], found["severity"]) == ("ENTRY-PAIR", "gate2", "error")
    assert "protocol 112) of 10.96.0.1 does not arrive" in found["problem"]


def test_a_firewall_that_drops_the_counts(pair):
    with dropped(pair.hosts[0], "-p", "tcp", "--dport", str(hosts.PEER)):
        dummy, findings = asked(pair)
    found = only(findings, "ENTRY-PAIR")
    assert (found["id"], found["path"], found["severity"]) == ("ENTRY-PAIR", "gate2", "warning")
    assert "TCP port 8014 of 10.96.0.1 is not reached (" in found["problem"]


def test_a_port_of_another_program(pair):
    host = pair.hosts[0]
    argv = host.within(sys.executable, "-c", LISTEN, str(hosts.PORT))
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        dummy, findings = asked(pair)
        other.communicate()
    found = only(findings, "ENTRY-PORT")
    assert (found["id"], found["path"]) == ("ENTRY-PORT", "gate1") and "0.0.0.0:8443 (" in found["value"]


def test_the_address_of_another_machine_and_not_that_of_the_other_host(pair):
    run("ip", "address", "add", f"{hosts.VIRTUAL}/24", "dev", hosts.CABLE)
    try:
        facts, findings = asked(pair)
    finally:
        run("ip", "address", "delete", f"{hosts.VIRTUAL}/24", "dev", hosts.CABLE)
    assert ids(findings) == ["ENTRY-ADDRESS"] and len(findings) == 2
    assert f"link address {facts['gate1']['owner']})" in findings[0]["problem"]
    pair.hosts[0].ip("address", "add", f"{hosts.VIRTUAL}/32", "dev", "v0")
    try:
        facts, findings = asked(pair)
    finally:
        pair.hosts[0].ip("address", "delete", f"{hosts.VIRTUAL}/32", "dev", "v0")
    assert facts["gate2"]["owner"] in facts["gate1"]["links"]
    found = only(findings, "ENTRY-ADDRESS")
    assert found["path"] == "gate1" and "already has 10.96.0.100, not from this deployment" in found["problem"]


def test_a_single_host_needs_the_address_itself(pair):
    questions = entry_questions({**pair.settings, "address": THIRD}, {"gate1": "10.96.0.1"}, ["gate1"])
    given = {**questions["gate1"]["options"], "engine_keys": {}, "reference": None}
    argv = pair.hosts[0].within(sys.executable, "-c", ASK)
    told = subprocess.run(argv, input=json.dumps(given), capture_output=True, text=True, check=True)
    findings = entry_checked(questions, {"gate1": json.loads(told.stdout)}, [])["findings"]
    assert "no interface of this host has the address" in str(findings) and "ENTRY-PAIR" not in ids(findings)


@pytest.mark.parametrize("kind", ["refused", "silent", "unreachable", "tls", "key", "right key", "status"])
def test_why_a_router_does_not_answer(pair, tmp_path, kind):
    certify(tmp_path / "crt")
    whole = tmp_path / "whole"
    whole.write_text((tmp_path / "crt").read_text() + (tmp_path / "crt.key").read_text())
    with contextlib.ExitStack() as opened:
        address = {"refused": f"{hosts.CLIENT}:1", "unreachable": "192.0.2.1:80"}.get(kind)
        address = address or opened.enter_context(
            serving(
                503 if kind == "status" else 200, str(whole) if kind == "tls" else "", ENGINES if "key" in kind else ""
            )
        )
        if kind == "silent":
            for host in pair.hosts:
                opened.enter_context(dropped(host, "-p", "tcp", "--sport", address.rpartition(":")[2]))
        deployment = {"routers": [address], **({"api_key_file": "engines"} if kind == "right key" else {})}
        facts, findings = asked(pair, deployments={"qwen": deployment})
    if kind == "right key":
        assert findings == []
        return
    assert [way["kind"] for each in facts.values() for way in each["routers"]] == [kind] * 2
    assert ids(findings) == ["ENTRY-ROUTER"] and {each["path"] for each in findings} == {
        f"gate{n} router {address}" for n in (1, 2)
    }
    assert {each["severity"] for each in findings} == {"error" if kind in ("tls", "key") else "warning"}
    assert "qwen3" in findings[0]["problem"] and ENGINES not in str(findings)


def test_a_program_that_does_not_read_the_configuration(pair, monkeypatch):
    changed = entry_questions.__globals__["entry_twin"]

    def older(*given):
        twin = changed(*given)
        for file in twin["files"]:
            file["content"] = file["content"].replace("option idle-close-on-response", "option of-a-later-version")
        return twin

    monkeypatch.setitem(entry_questions.__globals__, "entry_twin", older)
    dummy, findings = asked(pair)
    assert ids(findings) == ["ENTRY-PROGRAM"] and "of-a-later-version" in findings[0]["problem"]


def test_nothing_is_left_behind(pair):
    before = set(os.listdir("/tmp"))
    asked(pair)
    assert {name for name in set(os.listdir("/tmp")) - before if name.startswith("en-")} == set()
