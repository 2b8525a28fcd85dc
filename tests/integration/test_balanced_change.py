# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two routers behind the balancer under load: one is killed, and both restart with other settings.

The playbook, the role, supervisord, vllm-router and HAProxy are real; engines are simulated, and nothing is checked or installed.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import tempfile
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.balancer.admin import Balancer
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers import vllm_router
from ansible_collections.ascend.inference.tests.integration import _balancer
from ansible_collections.ascend.inference.tests.integration.test_serving_change import (
    CACHE,
    PORT,
    Service,
    expected,
    nothing_lost,
)
from ansible_collections.ascend.inference.tests.simulator import load, pd_cluster, upstream_proxies

FIRST = PORT + 100  # behind those of its engines
ROUTERS = [f"http://127.0.0.1:{FIRST}", f"http://127.0.0.1:{FIRST + 20}"]
URL = f"http://127.0.0.1:{FIRST + 2}"
SETTINGS = {"port": FIRST, "metrics_port": FIRST + 1, "instances": 2, "balancer": "haproxy", "balancer_port": FIRST + 2}
SETTINGS["balancer_status_port"] = FIRST + 3
RECOVERY = 3.0  # seconds from the death of a router until all answers are good


@pytest.fixture
def service():
    _balancer.install()
    try:
        python = upstream_proxies.venv(CACHE, "vllm-router-venv", [vllm_router.FLAVOUR.package.requirement])
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"the package can't be fetched here: {error}")
    with tempfile.TemporaryDirectory(prefix="ha-") as folder:  # the path of supervisord's socket must be short
        made = Service(pathlib.Path(folder), python)
        made.variables["inference_router"] = SETTINGS
        yield made
        made.stop()


def servers(service):
    return Balancer(str(service.root / "deployments/inference/run/balancer.sock"), "routers").servers()


def workers(url):
    return sorted(row["url"] for row in json.loads(pd_cluster.call(url, "/workers")[1])["workers"])


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.2)
    assert condition()


@pytest.mark.long
def test_a_router_dies_and_routers_change_under_load(service):
    service.deploy(2, 2)
    begin = service.starts()
    assert {"router", "router-1", "balancer"} < set(begin)
    assert workers(ROUTERS[0]) == workers(ROUTERS[1]) and len(workers(ROUTERS[0])) == 4
    with load.Load(URL, "tiny", clients=4) as requests:
        time.sleep(2)
        died = time.time()
        os.kill(begin["router-1"], 9)
        until(lambda: not servers(service)["router-1"].up)
        until(lambda: servers(service)["router-1"].up, 180)
        time.sleep(3)
    late = [request for request in requests.requests if request.begun > died + RECOVERY]
    assert late and not [request.problem for request in late if request.problem]
    good = [request for request in requests.requests if not request.problem]
    assert all(request.text == expected(requests.prompt(request), 6) for request in good)
    assert len(good) > 20, "the other router served"
    assert len(workers(ROUTERS[1])) == 4

    before = service.starts()
    changed = {**SETTINGS, "args": {"max-payload-size": 100000000}}
    with load.Load(URL, "tiny", clients=2) as requests:
        output = service.deploy(2, 2, inference_router=changed)
    after = service.starts()
    assert sorted(name for name in before if before[name] != after[name]) == ["router", "router-1"]
    assert len(re.findall(r"TASK \[.*Send no new requests to router", output)) == 2
    assert nothing_lost(requests)["answered"] > 20
    assert {server.state for server in servers(service).values()} == {"ready"}
    assert workers(ROUTERS[0]) == workers(ROUTERS[1]) and len(workers(ROUTERS[0])) == 4
