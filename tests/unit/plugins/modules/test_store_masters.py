# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module store_masters against masters and members on a real socket, which change from one answer to the next."""

from __future__ import annotations

import http.server
import json
import threading
import time

import pytest

LEADS = json.dumps({"role": "leader", "service_ready": True})
WAITS = json.dumps({"role": "standby", "service_ready": False})
HEALTHY = '{"health":"true"}'
NAMES = ("m-0", "m-1", "m-2")


class Store:
    """``pages``: the answers to a path, one after the other; the last one stays. None is status 503."""

    def __init__(self):
        self.pages, self.asked = {}, []
        store = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                store.asked.append(self.path)
                bodies = store.pages.get(self.path, [None])
                body = bodies.pop(0) if len(bodies) > 1 else bodies[0]
                self.send_response(503 if body is None else 200)
                self.send_header("Content-Length", str(len(body or "")))
                self.end_headers()
                self.wfile.write((body or "").encode())

            def log_message(self, *args):
                """Print nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def masters(self):
        return [{"name": name, "url": f"http://127.0.0.1:{self.server.server_port}/{name}/"} for name in NAMES]

    def master(self, name, *healths, clients=16, keys=200):
        self.pages[f"/{name}/health"] = list(healths)
        counters = f"master_active_clients {clients}\nmaster_key_count {keys}\n"
        self.pages[f"/{name}/metrics"] = [counters]

    def member(self, name, *leads):
        """A member of etcd that leads (1) or follows (0), or does not serve (None)."""
        self.pages[f"/{name}/health"] = [HEALTHY if lead is not None else None for lead in leads]
        self.pages[f"/{name}/metrics"] = [f"etcd_server_is_leader {lead or 0}\n" for lead in leads]


@pytest.fixture
def store():
    made = Store()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def run(store, run_module):
    return lambda **options: run_module("store_masters", masters=store.masters(), **options)


def test_the_leader_is_waited_for(store, run):
    for name in NAMES:
        store.master(name, WAITS)
    store.master("m-1", WAITS, WAITS, LEADS)
    found = run(timeout=20)
    expected = {"leader": "m-1", "clients": 16, "stored_keys": 200, "serving": [], "changed": False, "failed": False}
    assert {key: found[key] for key in expected} == expected
    assert "before" not in found and "leaderless" not in found
    assert store.asked.count("/m-1/health") == 3, "and no longer"


@pytest.mark.parametrize(
    ("kind", "does"), [("mooncake_master", "m-0, m-1, m-2 serves."), ("etcd", "m-0, m-1, m-2 leads a majority.")]
)
def test_nobody_leads_until_the_time_is_up(store, run, kind, does):
    for name in NAMES:
        store.master(name, WAITS)
    begin = time.monotonic()
    found = run(kind=kind, timeout=0.5)
    assert found["failed"] and f"Not exactly one of {does}" in found["msg"] and "Fix: run" in found["msg"]
    assert 0.5 <= time.monotonic() - begin < 5 and 2 <= store.asked.count("/m-0/health") <= 5


def test_two_that_serve_are_no_leader(store, run):
    for name in NAMES:
        store.master(name, LEADS)
    assert run(timeout=0)["failed"] and store.asked.count("/m-0/health") == 1, "without a timeout it looks once"


def test_a_failover_of_the_store_is_measured(store, run):
    store.master("m-0", LEADS, LEADS, None, keys=210)
    store.master("m-1", WAITS, WAITS, WAITS, LEADS, clients=17, keys=9)
    found = run(state="followed", timeout=20)
    assert found["before"] == {"leader": "m-0", "clients": 16, "stored_keys": 210, "serving": []}
    assert (found["leader"], found["clients"], found["stored_keys"]) == ("m-1", 17, 9)
    assert 0 < found["leaderless"] <= found["clients_after"] and found["changed"] is False


def test_a_failover_that_does_not_come_ends_with_the_time(store, run):
    store.master("m-0", LEADS)
    begin = time.monotonic()
    found = run(state="followed", timeout=0.5)
    assert (found["leader"], found["leaderless"], found["clients_after"]) == ("m-0", None, None)
    assert 0.5 <= time.monotonic() - begin < 5


@pytest.mark.parametrize("kind", ["mooncake_master", "etcd"])
def test_check_mode_finds_the_leader_and_waits_for_no_failover(store, run, kind):
    for name in NAMES:
        store.member(name, 0) if kind == "etcd" else store.master(name, WAITS)
    store.member("m-2", 1) if kind == "etcd" else store.master("m-2", LEADS)
    found = run(check=True, kind=kind, state="followed", timeout=20)
    counted = (None, None, list(NAMES)) if kind == "etcd" else (16, 200, [])
    before = dict(zip(("clients", "stored_keys", "serving"), counted), leader="m-2")
    assert found["before"] == before and {key: found[key] for key in before} == before
    assert (found["leaderless"], found["clients_after"], found["failed"]) == (None, None, False)
    assert store.asked.count("/m-2/health") == 1


def test_an_election_of_etcd_is_measured(store, run):
    store.member("m-0", 1, 1, None)
    store.member("m-1", 0, 0, 0, 1)
    store.member("m-2", 0)
    found = run(kind="etcd", state="followed", spare=True, timeout=20)
    assert found["before"] == {"leader": "m-0", "clients": None, "stored_keys": None, "serving": list(NAMES)}
    assert (found["leader"], found["clients_after"]) == ("m-1", None) and found["leaderless"] > 0


@pytest.mark.parametrize(
    ("kind", "spare", "refused"), [("etcd", True, True), ("etcd", False, False), ("mooncake_master", True, False)]
)
def test_a_majority_without_the_leader_is_required_on_request_and_of_etcd(store, run, kind, spare, refused):
    store.member("m-0", 1)
    store.member("m-1", 0)
    if kind == "mooncake_master":
        store.master("m-0", LEADS)
        store.master("m-1", WAITS)
    found = run(kind=kind, spare=spare, timeout=0)
    assert found["failed"] is refused
    assert "2 of 3 members of etcd serve, m-0 leads" in found["msg"] if refused else found["leader"] == "m-0"
