# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated cluster without sockets, threads and waiting: a whole verification in some milliseconds, the same in each run.

Each reply and each log can be changed before the verification sees it. A clock moves on by itself, numbers stand for random names, and
requests that are sent concurrently are sent one after the other.
"""

from __future__ import annotations

import functools
import itertools
import json
import threading
from urllib.parse import urlsplit

from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply
from ansible_collections.ascend.inference.plugins.module_utils.verify import (
    access,
    entry,
    gate,
    logs,
    pairs,
    probe,
    prompts,
    ready,
)
from ansible_collections.ascend.inference.plugins.module_utils.verify.gate import verify
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.module_utils.verify.probe import Keys, Limits
from ansible_collections.ascend.inference.plugins.module_utils.verify.verdict import verdict
from ansible_collections.ascend.inference.tests.simulator import pd_cluster

DIGEST = functools.lru_cache(maxsize=100000)(pd_cluster.digest)  # the same prompts in each run
LIMITS = Limits(connect=2.0, request=20.0, settle=1.0)


class Clock:
    """Seconds that pass by waiting, and a little with each look."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        self.now += 0.001
        return self.now

    def time(self):
        return 1700000000 + self.monotonic()

    def sleep(self, seconds):
        self.now += seconds

    def strftime(self, form):
        return form.split(" ")[0] + " 01-01 00:00:00 [simulator] "


class Network:
    """Servers by address. ``changed(path, reply, number)`` may replace the reply to the number-th request of this path to this server."""

    def __init__(self, monkeypatch, changed=None):
        self.servers, self.counts, self.changed, self.clock = {}, {}, changed or (lambda *given: given[2]), Clock()
        self.asked = []  # of each request: server, path, timeout in seconds, rank, method
        numbers, owner = itertools.count(1), self

        def start(server, name, faults=()):
            server.name, server.faults, server.stopping = name, set(faults), threading.Event()
            port = 20000 + len(owner.servers)
            server.server = type("Bound", (), {"server_port": port})
            server.url = f"http://127.0.0.1:{port}"
            owner.servers[port] = server

        class Name:
            def __init__(self):
                self.hex = f"{next(numbers):032x}"

        unique = type("Unique", (), {"uuid4": staticmethod(Name)})
        monkeypatch.setattr(pd_cluster.Server, "__init__", start)
        monkeypatch.setattr(pd_cluster.Server, "stop", lambda server: None)
        monkeypatch.setattr(pd_cluster.Server, "hang", lambda server: (0, ""))
        monkeypatch.setattr(pd_cluster, "call", self.call)
        monkeypatch.setattr(pd_cluster, "digest", DIGEST)
        for module in (pd_cluster, prompts):
            monkeypatch.setattr(module, "uuid", unique)
        for module in (pd_cluster, probe, logs, gate):
            monkeypatch.setattr(module, "time", self.clock)
        for module in (access, entry, pairs, probe, ready):
            monkeypatch.setattr(module, "ask", self.ask)
        monkeypatch.setattr(
            probe.Probe, "at_once", lambda self, work, items, workers=0: [work(item) for item in list(items)]
        )

    def answer(self, url, path, body, headers):
        server = self.servers[urlsplit(url).port]
        if "dead" in server.faults:
            return None
        found = server.get_as(path, headers) if body is None else server.post(path, body, headers)
        return found if found[0] else (0, "", "")

    def call(self, url, path, body=None, headers=None):
        found = self.answer(url, path, body, headers or {})
        return found[:2] if found else (0, "refused")

    def ask(self, target, path, payload=None, timeout=30.0, request_id="", rank=None, method=""):
        headers = {"Authorization": "Bearer " + target.token} if target.token else {}
        headers.update({"X-Request-Id": request_id} if request_id else {})
        headers.update({} if rank is None else {"X-data-parallel-rank": str(rank)})
        self.asked.append([self.servers[urlsplit(target.url).port].name, path, timeout, rank, method])
        found = self.answer(target.url, path, None if payload is None else json.loads(json.dumps(payload)), headers)
        if found is None:
            return Reply(0, "", 0.0, "refused", "ConnectionRefusedError: refused")
        reply = self.reply(found, payload)
        server = self.servers[urlsplit(target.url).port]
        key = (server.name, path)
        self.counts[key] = self.counts.get(key, 0) + 1
        return self.changed(server.name, path, reply, self.counts[key])

    @staticmethod
    def reply(found, payload):
        if not found[0]:
            return Reply(0, "", 20.0, "timeout", "no complete answer within 20 s")
        streamed = (payload or {}).get("stream")
        lines = [line[5:].strip() for line in found[1].split("\n") if line.startswith("data:")] if streamed else []
        return Reply(found[0], found[1], 0.25, "", "", tuple((0.05 * n, line) for n, line in enumerate(lines, 1)))


def replay(monkeypatch, directory, shape, changed=None, logged=None, planned=None):
    """The report of a verification, without its times, and its network. ``logged(part)`` changes what was read of the logs; ``planned``: keys of the plan."""
    with monkeypatch.context() as patch:
        network = Network(patch, changed)
        with pd_cluster.Cluster(directory, **shape) as cluster:
            plan = read_plan(cluster.plan(**(planned or {})))
            services = logs.services_of(plan, "node1")
            marks = logs.mark(services)
            keys = Keys(cluster.api_key, cluster.front_key or cluster.entry_key)
            report = verify(plan, keys, LIMITS)
            part = logs.read(services, marks, plan.release.lines, run=None)
            report = verdict(plan, report, [logged(part) if logged else part])
        for step in report["steps"]:
            step["seconds"] = 0
        return json.loads(json.dumps(report, sort_keys=True).replace(str(directory), "/logs")), network
