# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each drill passes where a spare service protects clients, and fails with the same limits where there is none.

The playbooks, supervisord, vllm-router and HAProxy are real; engines are simulated, and start as late as engines that load their weights.
"""

from __future__ import annotations

import pathlib
import tempfile

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers import vllm_router
from ansible_collections.ascend.inference.tests.integration import _balancer, test_drill
from ansible_collections.ascend.inference.tests.integration import test_serving_change as serving
from ansible_collections.ascend.inference.tests.simulator import upstream_proxies

pytestmark = pytest.mark.long
FIRST = serving.PORT + 64  # above the ports of the engines
BALANCED = {"instances": 2, "balancer": "haproxy", "balancer_port": FIRST + 2, "balancer_status_port": FIRST + 3}
PORTS = {"port": FIRST, "metrics_port": FIRST + 1}
# vllm-router 0.1.17 stops to send requests to a paused decode after 17 s. Engines start later than that.
LIMITS = {"failing": 25, "gap": 25}
FAULTS = [
    {"kind": "prefill"},
    {"kind": "decode"},
    {"kind": "decode", "part": "rank"},
    {"kind": "decode", "action": "pause", "seconds": 50},
    {"kind": "decode", "action": "jitter", "seconds": 30, "times": 1},
    {"kind": "router", "action": "pause", "seconds": 40},
]


@pytest.fixture
def service():
    _balancer.install()
    try:
        python = upstream_proxies.venv(serving.CACHE, "vllm-router-venv", [vllm_router.FLAVOUR.package.requirement])
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"the package can't be fetched here: {error}")
    with tempfile.TemporaryDirectory(prefix="spare-") as folder:  # the path of supervisord's socket must be short
        made = test_drill.Service(pathlib.Path(folder), python)
        try:
            yield made
        finally:
            made.stop()


@pytest.mark.parametrize("spare", [True, False])
def test_a_drill_passes_with_a_spare_service_and_fails_without(service, spare):
    instances = 2 if spare else 1
    service.variables["inference_router"] = {**PORTS, **(BALANCED if spare else {})}
    service.deploy(instances, instances)
    service.plant("late")
    settings = {"limits": LIMITS, "request_timeout": 12, "without_spare": not spare}
    pools = service.pools(instances, instances)
    faults = (
        FAULTS if spare else [*FAULTS, {"kind": "host", "name": "n1"}]
    )  # with a spare host: molecule/shared/changes
    report = service.drill(faults, fails=not spare, settings=settings, inference_pools=pools)
    found = [sorted(finding["id"] for finding in fault["findings"]) for fault in report["faults"]]
    if spare:
        assert found == [[]] * len(faults)
    else:
        assert all({"DRILL-FAILING", "DRILL-GAP"} & set(findings) for findings in found), found
