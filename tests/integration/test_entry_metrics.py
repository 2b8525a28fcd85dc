# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the entry tells Prometheus, and whom it tells: the real HAProxy, promtool, and the alerts on what was read."""

from __future__ import annotations

import http.client
import subprocess
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.entry.state import state
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.told import entry_expected
from ansible_collections.ascend.inference.tests.integration import _monitoring
from ansible_collections.ascend.inference.tests.integration._entry import HOSTS, TEXTS, started

PLAIN = {"model": "qwen3", "messages": []}
LAB = {"lab": {"keys_file": "lab"}}
OWN = "127.0.0.2"  # stands for the host's address


@pytest.fixture(scope="module", autouse=True)
def programs():
    _monitoring.install()


@pytest.fixture
def entry():
    with started() as make:
        yield make


def metrics(running, address="127.0.0.1", path="/metrics", source="127.0.0.1"):
    """Status and samples by their names with labels; None if the connection is refused or closed."""
    connection = http.client.HTTPConnection(address, running.status, timeout=5, source_address=(source, 0))
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    pairs = [line.rpartition(" ")[::2] for line in text.splitlines() if not line.startswith("#")]
    return answer.status, dict(pairs), text


def routers(running, model, way):
    return metrics(running)[1][f'ascend_inference_entry_routers{{model="{model}",way="{way}"}}']


def until(value, question):
    end = time.monotonic() + 15
    while question() != value:
        assert time.monotonic() < end, question()
        time.sleep(0.1)


def test_routers_are_told_by_model_and_way(entry):
    running = entry(
        teams=LAB,
        models={"qwen3": {"deployment": "qwen"}, "ds": {"deployments": {"old": 95, "new": 5}, "fallback": "qwen"}},
    )
    assert [routers(running, model, way) for model in ("qwen3", "ds") for way in ("first", "fallback")] == [
        "1",
        "0",
        "2",
        "1",
    ]
    for name in ("old", "new"):
        running.deployments[name].close()
    until("0", lambda: routers(running, "ds", "first"))
    assert routers(running, "ds", "fallback") == "1" and routers(running, "qwen3", "first") == "1"
    running.deployments["qwen"].close()
    until("0", lambda: routers(running, "ds", "fallback"))


@pytest.mark.parametrize("usage", [True, False])
def test_each_refused_request_is_told_with_its_reason(entry, usage):
    tokens = {"tokens_per_day": 1} if usage else {}
    running = entry(
        usage=usage,
        teams={
            "search": {"keys_file": "search", "requests_per_minute": 3},
            "lab": {"keys_file": "lab", **tokens},
            "both": {"keys_file": "both"},
        },
    )
    assert [running.ask(PLAIN, "search")[0] for dummy in range(5)] == [200, 200, 200, 429, 429]
    assert [running.ask(PLAIN, team)[0] for team in ("no-such-key-0123456789", "")] == [401, 401]
    if usage:
        assert [running.ask({**PLAIN, "count": [5, 5, 0]}, "lab")[0] for dummy in range(2)] == [200, 429]
    found = {key: value for key, value in metrics(running)[1].items() if "refused" in key}
    spent = {'ascend_inference_entry_refused_total{team="lab",reason="tokens"}': "1"} if usage else {}
    assert found == {
        'ascend_inference_entry_refused_total{team="search",reason="requests_per_minute"}': "2",
        'ascend_inference_entry_refused_total{reason="key"}': "2",
        **spent,
    }


def test_prometheus_can_read_what_is_told(entry):
    running = entry()
    running.ask(PLAIN, "")
    running.ask({**PLAIN, "count": [5, 5, 0]})
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=metrics(running)[2], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 3) and "error" not in done.stdout + done.stderr, done  # 3: advice about names


def test_the_addresses_of_monitoring_alone_read_the_metrics_at_the_hosts_address(entry):
    running = entry(address=OWN, monitoring=["127.0.0.3", "127.0.4.0/24"])
    assert [metrics(running, OWN, source=source)[0] for source in ("127.0.0.3", "127.0.4.9")] == [200, 200]
    assert [metrics(running, OWN, source=source) for source in ("127.0.0.4", OWN)] == [None, None]
    assert [metrics(running, OWN, path, "127.0.0.3")[0] for path in ("/health", "/alive", "/", "/v1/models")] == [
        404
    ] * 4
    assert metrics(running)[0] == 200 and running.health()[0] == 200


@pytest.mark.parametrize("changed", [{"address": OWN}, {"monitoring": ["127.0.0.3"]}])
def test_without_monitoring_or_an_address_of_its_own_the_host_alone_reads_them(entry, changed):
    running = entry(**changed)
    assert metrics(running, OWN, source="127.0.0.3") is None and metrics(running)[0] == 200


def test_what_was_written_is_told_and_compared_with_the_inventory(entry):
    running = entry(
        teams=LAB,
        models={"qwen3": {"deployment": "qwen"}, "ds": {"deployments": {"old": 1, "new": 0}, "fallback": "qwen"}},
    )
    found = state(running.status, "127.0.0.1")
    expected = entry_expected(running.settings, HOSTS, TEXTS)
    assert found == {"answers": True, "problem": "", "held": True, **expected}
    assert expected["routers"] == {"qwen3": [1, 0], "ds": [1, 1]} and expected["digest"]
    running.write(teams={"lab": {"keys_file": "search"}})
    assert state(running.status, "") == {**found, "held": None}, "what was loaded counts, not what was written"
    running.reload()
    until(entry_expected(running.settings, HOSTS, TEXTS)["digest"], lambda: state(running.status, "")["digest"])
    running.process.terminate()
    running.process.wait(20)
    silent = state(running.status, "no address")
    assert not silent["answers"] and silent["problem"] and silent["held"] is None
