# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Upstream's own proxy scripts drive the simulated engines, release by release."""

from __future__ import annotations

import json
import pathlib
import subprocess
import time

import pytest
from ansible_collections.ascend.inference.tests.simulator import upstream_proxies
from ansible_collections.ascend.inference.tests.unit.simulator.conftest import PATIENCE, ask, text_of
from ansible_collections.ascend.inference.tests.unit.simulator.test_llmdatadist import Setup

CACHE = pathlib.Path(__file__).resolve().parents[3] / ".cache" / "upstream"
BALANCE = "load_balance_proxy_server_example.py"
LAYERWISE = "load_balance_proxy_layerwise_server_example.py"
RELEASES = {"0.11.0": "0.11.0", "0.13.0": "0.13.0", "0.18.0": "0.18.0", "0.23.0": "0.23.0.post1"}
LONG = [pytest.param(release, marks=pytest.mark.long) for release in ("0.13.0", "0.18.0")]  # between oldest and newest

pytestmark = pytest.mark.integration


class Proxy:
    """One running upstream proxy."""

    def __init__(self, cluster, release, script, prefill, decode, env=None):
        self.address, self.port = "127.0.0.2", cluster.port()
        servers = [[(engine.address, engine.port) for engine in engines] for engines in (prefill, decode)]
        try:
            argv, environment = upstream_proxies.command(
                RELEASES[release], CACHE, script, self.address, self.port, *servers
            )
        except upstream_proxies.Unreachable as error:
            pytest.skip(f"upstream's scripts can't be fetched here: {error}")
        self.log = cluster.folder / "proxy.log"
        with open(self.log, "w", encoding="utf-8") as output:
            self.process = subprocess.Popen(
                argv, env={**environment, **(env or {})}, stdout=output, stderr=subprocess.STDOUT
            )
        cluster.engines.append(self)
        self._wait()

    def _wait(self):
        end = time.monotonic() + PATIENCE
        while True:
            assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
            try:
                if self.ask("/healthcheck")[0] == 200:
                    return
            except OSError:
                pass
            assert time.monotonic() < end
            time.sleep(0.1)

    def ask(self, path, body=None, headers=None):
        return ask(self.address, self.port, path, body, headers, timeout=PATIENCE)

    def stop(self):
        self.process.kill()
        self.process.wait()


def check(proxy, single, prompt):
    """The proxy's answers are those of a single engine, whole, streamed and as a chat."""
    body = {"prompt": prompt, "max_tokens": 10, "temperature": 0}
    right = text_of(single.complete(prompt, 10))
    status, text = proxy.ask("/v1/completions", body)
    assert (status, text_of(json.loads(text))) == (200, right)
    status, text = proxy.ask("/v1/completions", {**body, "stream": True})
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    assert "".join(text_of(event) for event in events) == right
    chat = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 5}
    through_proxy = json.loads(proxy.ask("/v1/chat/completions", chat)[1])["choices"][0]["message"]["content"]
    assert through_proxy == json.loads(single.ask("/v1/chat/completions", chat)[1])["choices"][0]["message"]["content"]


@pytest.fixture
def hosts(cluster):
    return lambda release: [cluster.host(number, release=release) for number in (1, 2, 3)]


@pytest.mark.parametrize("release", ["0.11.0", *LONG, "0.23.0"])
def test_load_balance_proxy(cluster, hosts, prompt, release):
    first, second, third = hosts(release)
    prefill, decode = cluster.pair(first, second, tensor=(2, 1))
    single = cluster.start(third, 0).ready()
    proxy = Proxy(cluster, release, BALANCE, [prefill], [decode])
    check(proxy, single, prompt)
    assert decode.text.count(" took ") >= 6
    if release >= "0.16":
        assert decode.counter("prompt_tokens_by_source_total", source="local_compute") == 0
        assert prefill.counter("request_success_total", finished_reason="length") == 3


@pytest.mark.parametrize("release", [*LONG, "0.23.0"])
def test_layerwise_proxy(cluster, hosts, prompt, release):
    first, second, third = hosts(release)
    prefill, decode = cluster.pair(first, second, connector="MooncakeLayerwiseConnector", tensor=(2, 2))
    single = cluster.start(third, 0).ready()
    check(Proxy(cluster, release, LAYERWISE, [prefill], [decode]), single, prompt)


def test_key_of_the_engines(cluster, hosts, prompt):
    first, second, _third = hosts("0.23.0")
    prefill, decode = cluster.pair(first, second, env={"VLLM_API_KEY": "s3cret"})
    proxy = Proxy(cluster, "0.23.0", BALANCE, [prefill], [decode], env={"OPENAI_API_KEY": "s3cret"})
    assert proxy.ask("/v1/completions", {"prompt": prompt, "max_tokens": 4})[0] == 200
    without = Proxy(cluster, "0.23.0", BALANCE, [prefill], [decode])
    assert without.ask("/v1/completions", {"prompt": prompt, "max_tokens": 4})[0] == 500


def test_load_balance_proxy_goes_on_after_recompute(cluster, hosts, prompt):
    first, second, third = hosts("0.23.0")
    prefill, decode = cluster.pair(
        first,
        second,
        flags=["--additional-config", '{"recompute_scheduler_enable": true}'],
        kv_consumer_env={"ASCEND_SIMULATOR_PREEMPT_AFTER": "4"},
    )
    single = cluster.start(third, 0).ready()
    proxy = Proxy(cluster, "0.23.0", BALANCE, [prefill], [decode])
    # Without an end of text, which would come by chance, now and then before decode is preempted.
    answer = proxy.ask("/v1/completions", {"prompt": prompt, "max_tokens": 10, "ignore_eos": True})[1]
    whole = text_of(single.complete(prompt, 20, ignore_eos=True))
    assert whole.startswith(text_of(json.loads(answer)))
    assert (
        len(text_of(json.loads(answer)).split()) > 4
    )  # decode was preempted after 4; how many follow is the proxy's count


def test_wrong_kind_of_proxy_is_never_right(cluster, hosts, prompt):
    first, second, third = hosts("0.23.0")
    layered = cluster.pair(first, second, connector="MooncakeLayerwiseConnector")
    proxy = Proxy(cluster, "0.23.0", BALANCE, layered[:1], layered[1:])
    status, text = proxy.ask("/v1/completions", {"prompt": prompt, "max_tokens": 4})
    assert status == 500
    assert "KeyError" in layered[0].died()
    pulling = cluster.pair(first, third)
    proxy = Proxy(cluster, "0.23.0", LAYERWISE, pulling[:1], pulling[1:])
    status, text = proxy.ask("/v1/completions", {"prompt": prompt, "max_tokens": 4})
    assert (status, text) == (200, "")  # what users see: an empty 200
    pulling[1].died()


def test_dead_decode_is_an_empty_200(cluster, hosts, prompt):
    first, second, _third = hosts("0.23.0")
    prefill, decode = cluster.pair(first, second)
    proxy = Proxy(cluster, "0.23.0", BALANCE, [prefill], [decode])
    decode.stop()
    assert proxy.ask("/v1/completions", {"prompt": prompt, "max_tokens": 4}) == (200, "")
    assert prefill.counter("kv_cache_usage_perc") > 0  # held until the timeout


@pytest.mark.long  # molecule's llmdatadist_1p2d has this proxy and this connector on hosts
def test_load_balance_proxy_with_llmdatadist(cluster, prompt):
    setup = Setup(cluster)
    prefill, decode = setup.pair()
    single = cluster.start(cluster.host(3, release="0.11.0"), 0).ready()
    check(Proxy(cluster, "0.11.0", BALANCE, [prefill], [decode]), single, prompt)
    assert "Linking success" in decode.text
