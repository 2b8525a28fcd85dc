# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""router_members with the real proxy of vLLM-Ascend and the real vllm-router, in front of simulated engines, while requests are under way."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.router.base import Member, MembersProblem
from ansible_collections.ascend.inference.plugins.module_utils.router.members import ROUTERS, reconcile
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers import vllm_router
from ansible_collections.ascend.inference.tests.simulator import pd_cluster, upstream_proxies
from ansible_collections.ascend.inference.tests.unit.simulator.conftest import PATIENCE
from ansible_collections.ascend.inference.tests.unit.simulator.test_upstream_proxies import BALANCE, CACHE, RELEASES

pytestmark = pytest.mark.integration


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Slow(pd_cluster.Engine):
    """An engine that takes its time, so that requests are always under way."""

    def complete(self, *given, **named):
        time.sleep(0.05)
        return super().complete(*given, **named)


class Traffic:
    """Requests of a few clients without a pause, and their failures."""

    def __init__(self, url):
        self.url, self.failed, self.answered, self.ended = url, [], 0, threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(4)]

    def _run(self, number):
        count = 0
        while not self.ended.is_set():
            count += 1
            prompt = " ".join(f"w{number}-{count}-{word}" for word in range(20))
            body = {"model": "tiny", "prompt": prompt, "max_tokens": 4, "temperature": 0, "stream": count % 2 == 0}
            status, text = pd_cluster.call(self.url, "/v1/completions", body)
            self.answered += 1
            if status != 200 or not text:
                self.failed.append((status, text))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *unused):
        self.ended.set()
        for thread in self.threads:
            thread.join(PATIENCE)


@pytest.fixture
def engines(tmp_path, monkeypatch):
    monkeypatch.setattr(pd_cluster, "Engine", Slow)
    with pd_cluster.Cluster(tmp_path, prefill=2, decode=2) as cluster:
        yield cluster


@pytest.fixture
def started():
    """Start a router and wait until it answers -> its URL."""
    processes = []

    def start(argv, environment, port, path, log):
        with open(log, "w", encoding="utf-8") as output:
            processes.append(subprocess.Popen(argv, env=environment, stdout=output, stderr=subprocess.STDOUT))
        url, end = f"http://127.0.0.1:{port}", time.monotonic() + PATIENCE
        while pd_cluster.call(url, path)[0] != 200:
            assert processes[-1].poll() is None and time.monotonic() < end, log.read_text(encoding="utf-8")
            time.sleep(0.2)
        return url

    yield start
    for process in processes:
        process.kill()
        process.wait()


def addresses(engines):
    return [("127.0.0.1", int(engine.url.rpartition(":")[2])) for engine in engines]


def each_leaves_and_returns(router, engines, url):
    """Every engine leaves, gets nothing more, and returns, under requests without a pause."""
    with Traffic(url) as traffic:
        for engine in engines:
            member = Member(engine.role, engine.url)
            assert reconcile(router, [member], "absent").removed == [member]
            time.sleep(0.5)  # requests under way end
            before = sum(engine.finished)
            time.sleep(0.5)
            assert sum(engine.finished) == before, f"{engine.name} still gets requests"
            assert reconcile(router, [member]).added == [member]
            end = time.monotonic() + PATIENCE
            while sum(engine.finished) == before and time.monotonic() < end:
                time.sleep(0.1)
            assert sum(engine.finished) > before, f"{engine.name} gets no requests although it was added"
    assert traffic.failed == [] and traffic.answered > 20


def test_the_load_balance_proxy(engines, started, tmp_path):
    port = free_port()
    members = [addresses(engines.role(role)) for role in ("prefill", "decode")]
    more = ["--waiting-retry-interval", "1"]
    try:
        argv, environment = upstream_proxies.command(
            RELEASES["0.23.0"], CACHE, BALANCE, "127.0.0.1", port, *members, *more
        )
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"upstream's scripts can't be fetched here: {error}")
    url = started(argv, environment, port, "/healthcheck", tmp_path / "proxy.log")
    router = ROUTERS["instances"](url)
    router.record, router.started = str(tmp_path / "record"), str(tmp_path / "none")
    assert [member.kind for member in router.read()] == ["decode", "decode", "prefill", "prefill"]
    each_leaves_and_returns(router, engines.engines, url)


def test_vllm_router(engines, started, tmp_path):
    try:
        python = upstream_proxies.venv(CACHE, "vllm-router-venv", [vllm_router.FLAVOUR.package.requirement])
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"the package can't be fetched here: {error}")
    port = free_port()
    first = [f"--{engine.role}={engine.url}" for engine in engines.engines]
    common = [
        "--vllm-pd-disaggregation",
        "--kv-connector",
        "nixl",
        "--host",
        "127.0.0.1",
        "--prometheus-host",
        "127.0.0.1",
        *first,
    ]
    program = [str(python.with_name("vllm-router")), *common]
    environment = dict(os.environ)
    plain = [*program, "--port", str(port), "--prometheus-port", str(free_port())]
    url = started([*plain, "--enable-igw"], environment, port, "/health", tmp_path / "igw.log")
    router = ROUTERS["workers"](url, "tiny")
    assert router.read() == [], "engines of the command line are no members with --enable-igw"
    wanted = [Member(engine.role, engine.url) for engine in engines.engines]
    assert sorted(reconcile(router, wanted).added) == sorted(wanted)
    assert reconcile(router, wanted).added == []
    each_leaves_and_returns(router, engines.engines, url)

    port = free_port()
    plain = [*program, "--port", str(port), "--prometheus-port", str(free_port())]
    router = ROUTERS["workers"](started(plain, environment, port, "/health", tmp_path / "plain.log"), "tiny")
    assert router.read() == sorted(wanted)
    assert reconcile(router, wanted[-1:], "absent").removed == wanted[-1:]
    with pytest.raises(MembersProblem, match="refused to add .* Fix: restart the router with --enable-igw"):
        reconcile(router, wanted[-1:])
