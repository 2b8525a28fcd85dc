# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe as a service of a deployment, and what status and logs make of it.

Playbooks, supervisord and vllm-router are real; engines are simulated.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import tarfile
import tempfile
import time

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring import alerts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers import vllm_router
from ansible_collections.ascend.inference.tests.integration import test_serving_change as serving
from ansible_collections.ascend.inference.tests.simulator import pd_cluster, upstream_proxies

# A deployment takes a minute; make test covers the probe, its plan and the archive with unit tests.
pytestmark = pytest.mark.long
PORT = serving.PORT + 60
PROBE = {"enabled": True, "port": PORT, "interval": 5, "timeout": 3, "stalled_after": 30}
SECRET = "planted-engine-secret"


@pytest.fixture
def service():
    try:
        python = upstream_proxies.venv(serving.CACHE, "vllm-router-venv", [vllm_router.FLAVOUR.package.requirement])
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"the package can't be fetched here: {error}")
    with tempfile.TemporaryDirectory(prefix="probe-") as folder:  # the path of supervisord's socket must be short
        made = serving.Service(pathlib.Path(folder), python)
        made.variables["inference_probe"] = PROBE
        yield made
        made.stop()


def page():
    return json.loads(pd_cluster.call(f"http://127.0.0.1:{PORT}", "/health")[1] or "{}")


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = page()
        if condition(found):
            return found
        time.sleep(0.5)
    raise AssertionError(page())


def test_a_deployed_probe_is_seen_by_status_and_leaves_with_its_variable(service):
    service.deploy(1, 2)
    found = until(lambda found: found.get("paths", {}).get("good") == 3)
    assert found["findings"] == []
    output = service.play("status", inference_pools=service.pools(1, 2))
    assert "3 of 3 paths good" in output
    begin = service.starts()
    output = service.deploy(1, 2)
    assert service.starts() == begin
    assert "changed=0" in output

    os.kill(begin["decode-1"], signal.SIGSTOP)
    try:
        until(lambda found: any("path prefill-0->decode-1" in text for text in found["findings"]))
        output = service.play("status", fails=True, inference_pools=service.pools(1, 2))
        assert "path prefill-0->decode-1" in output
    finally:
        os.kill(begin["decode-1"], signal.SIGCONT)
    until(lambda found: found["paths"]["good"] == 3)

    log = service.root / "deployments/inference/logs/decode-0.log"
    with log.open("a", encoding="utf-8") as stream:
        stream.write(f"INFO 11-22 10:00:00 key {SECRET}\nINFO 11-22 prompt: 'planted\nprompt'\nINFO 11-22 the end\n")
    archive = service.folder / "case.tar.gz"
    output = service.play(
        "logs",
        inference_pools=service.pools(1, 2),
        inference_logs_file=str(archive),
        inference_secrets={"unused": SECRET},
    )
    assert "logs of 1 host," in output
    assert "changed=1" in output  # the archive
    with tarfile.open(str(archive)) as read:
        texts = {name: read.extractfile(name).read().decode() for name in read.getnames()}
    assert "planted" not in "".join(texts.values())
    assert "INFO 11-22 the end" in texts["inference-logs/n1/decode-0.log"]
    assert {"inference-logs/n1/probe.log", "inference-logs/n1/router.log", "inference-logs/summary.json"} < set(texts)

    stopped = service.starts()["decode-1"]
    os.kill(stopped, signal.SIGSTOP)
    until(lambda found: found["stuck"] == ["decode-1"], 120)
    output = service.play("watchdog", fails=True, inference_pools=service.pools(1, 2))
    assert "decode-1 makes no progress" in output
    assert "n1 decode-1: no error is in its log" in output
    assert service.starts()["decode-1"] == stopped
    before = service.starts()
    output = service.play("watchdog", inference_pools=service.pools(1, 2), inference_watchdog="restart")
    assert "Prove these engines with each of their peers" in output
    assert [name for name, process in service.starts().items() if process != before[name]] == ["decode-1"]
    noted = json.loads((service.root / "deployments/inference/watchdog.json").read_text())["actions"]
    assert [(action["engine"], action["result"]) for action in noted] == [("decode-1", "proven")]
    until(lambda found: found["paths"]["good"] == 3)
    assert "No engine is without progress" in service.play("watchdog", inference_pools=service.pools(1, 2))

    service.deploy(1, 2, inference_probe={})
    assert "probe" not in service.starts()
    assert not (service.root / "deployments/inference/services/probe").exists()


BLACK_HOLE = f"--port {serving.PORT + 46}"  # decode-1


def test_a_black_hole_is_noticed_in_two_rounds_shown_counted_for_the_alert_and_taken_out(service):
    """decode-1 takes each request and breaks it off, and its health is 200. The first restart does not help, the second one does."""
    service.deploy(2, 2)
    until(lambda found: found.get("paths", {}).get("good") == 5)
    service.plant("fails_completions", BLACK_HOLE)
    os.kill(service.starts()["decode-1"], signal.SIGKILL)
    url = f"http://127.0.0.1:{serving.PORT + 46}"
    end = time.monotonic() + 60
    while time.monotonic() < end and not healthy(url):
        time.sleep(0.2)
    began = page()["rounds"]
    found = until(lambda found: found["blamed"].get("decode-1", 0) >= 2)
    assert found["rounds"] - began <= 3, "two rounds, and the one that was under way"
    assert healthy(url) and list(found["blamed"]) == ["decode-1"]
    (line,) = [
        line
        for line in pd_cluster.call(f"http://127.0.0.1:{PORT}", "/metrics")[1].splitlines()
        if line.startswith("inference_probe_engine_failed_rounds") and 'engine="decode-1"' in line
    ]
    assert float(line.split()[-1]) > alerts.ENGINE_FAILS.threshold, "the alert is raised at once"
    output = service.play("status", fails=True)
    assert "decode-1 fails each request" in output, output[-3000:]
    before = service.starts()
    assert "decode-1 fails each request" in service.play("watchdog", fails=True)
    assert service.starts() == before, "it may not restart anything"

    service.play("watchdog", fails=True, inference_watchdog="restart")
    assert ("decode", 46) not in serving.members() and ("decode", 30) in serving.members(), "it gets no requests"
    until(lambda found: found["clients"])
    service.plant("")
    service.play("restart", inference_services="decode-1", inference_allow_pause=True)
    until(lambda found: found["paths"]["good"] == 5 and not found["blamed"])
    assert ("decode", 46) in serving.members()


def healthy(url):
    try:
        return pd_cluster.call(url, "/health")[0] == 200
    except OSError:
        return False
