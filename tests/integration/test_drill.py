# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbook drill: services are killed and paused under load, and the report says what clients saw.

The playbook, supervisord and vllm-router are real; engines are simulated.
"""

from __future__ import annotations

import json
import pathlib
import tempfile

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers import vllm_router
from ansible_collections.ascend.inference.tests.integration import test_serving_change as serving
from ansible_collections.ascend.inference.tests.simulator import load, upstream_proxies

# Each drill takes a minute; make test covers the figures and the refusals with unit tests.
pytestmark = pytest.mark.long
QUICK = {
    "rate": 6,
    "words": 24,
    "tokens": 6,
    "before": 6,
    "after": 4,
    "window": 3,
    "request_timeout": 30,
    "compare": 60,
}


class Service(serving.Service):
    """The deployment of a serving change, with the playbook drill."""

    def drill(self, faults, fails=False, settings=None, **variables):
        path = self.folder / "drill.json"
        path.unlink(missing_ok=True)
        output = self.play(
            "drill",
            fails,
            inference_drill={**QUICK, "faults": faults, **(settings or {})},
            inference_drill_json=str(path),
            **{"inference_drill_confirm": "inference", **variables},
        )
        print(output)
        return json.loads(path.read_text()) if path.exists() else output


@pytest.fixture(scope="module")
def service():
    try:
        python = upstream_proxies.venv(serving.CACHE, "vllm-router-venv", [vllm_router.FLAVOUR.package.requirement])
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"the package can't be fetched here: {error}")
    with tempfile.TemporaryDirectory(prefix="drill-") as folder:  # the path of supervisord's socket must be short
        made = Service(pathlib.Path(folder), python)
        try:
            made.deploy(2, 2)
            yield made
        finally:
            made.stop()


def counts(fault):
    after = fault["figures"]["fault"]
    return after["empty"], after["wrong"]


def test_a_service_with_spares_survives(service):
    begin = service.starts()
    report = service.drill([{"kind": "decode"}])
    kill = report["faults"][0]
    assert report["passed"] and kill["findings"] == []
    assert counts(kill) == (0, 0) and kill["figures"]["fault"]["compared"] > 20
    assert 0 < kill["recovered"]["decode-1"] < 60
    assert any(str(serving.PORT + 46) in line for line in kill["logged"]["router"]["lines"]), (
        "the router says who is away"
    )
    now = service.starts()
    assert [name for name in begin if now[name] != begin[name]] == ["decode-1"]


def test_the_load_of_a_killed_drill_ends_with_the_next_run(service):
    """The next drill takes the lock over, and would be refused because others use the service."""
    place = "Inject the faults under load |  | Inject the fault, and wait until the services have recovered | 1"
    service.drill([{"kind": "decode"}], fails=True, killed_at=place)
    assert service.drill([{"kind": "decode"}])["passed"]


def test_it_is_refused_without_a_spare_and_without_confirmation(service):
    begin = service.starts()
    output = service.drill([{"kind": "router"}], fails=True, inference_drill_confirm="")
    assert "no other router serves while router is away" in output and "the drill is not confirmed" in output
    assert service.starts() == begin


def test_each_kind_of_fault_is_seen(service):
    """Without spares, so that the figures show what a client sees."""
    faults = [
        {"kind": "prefill", "name": "prefill-0"},
        {"kind": "decode", "part": "rank"},
        {"kind": "decode", "action": "jitter", "times": 3},
        {"kind": "router"},
        {"kind": "host", "name": "n1"},
    ]
    limits = {"gap": 60, "failing": 60}
    report = service.drill(faults, settings={"without_spare": True, "limits": limits})
    prefill, rank, jitter, router, host = report["faults"]
    assert report["passed"] and all(counts(fault) == (0, 0) for fault in report["faults"])
    assert [fault["figures"]["fault"]["failed"] > 0 for fault in (prefill, rank, router, host)] == [True] * 4
    assert rank["processes"]["decode-1"][0]["title"] == "VLLM::Worker_TP0"
    assert jitter["lasted"] >= 5 and jitter["recovered"]["decode-1"] < 5
    assert router["figures"]["fault"]["gap"] > 1 and len(host["recovered"]) == 5


def test_a_black_hole_is_seen_and_leaves_nothing_behind(service):
    """decode-1 breaks off all requests while its health is 200; the router has no breaker and goes on to send them there."""
    begin = service.starts()
    fault = {"kind": "decode", "action": "abort", "seconds": 25}
    report = service.drill([fault], fails=True, settings={"request_timeout": 20})
    hole = report["faults"][0]
    assert {finding["id"] for finding in hole["findings"]} == {"DRILL-FAILING"}, hole["findings"]
    assert hole["aborted"]["decode-1"] >= hole["figures"]["fault"]["failed"] > 20
    assert (
        counts(hole) == (0, 0) and 20 < hole["figures"]["fault"]["failing"] < 30 and hole["recovered"]["decode-1"] < 5
    )
    assert service.starts() == begin and not list(service.root.rglob("drill.json"))


def test_others_who_use_the_service_are_left_alone(service):
    begin = service.starts()
    with load.Load(serving.URL, "tiny", clients=1):
        report = service.drill([{"kind": "decode"}], fails=True)
    assert "Others use the service" in report["faults"][0]["findings"][0]["problem"]
    assert service.starts() == begin


def test_a_router_that_checks_no_health_does_not_survive(service):
    """The protection is taken away: requests go on to a decode that is paused. vllm-router 0.1.17 ejects one 17 s after its pause begins."""
    router = {**service.variables["inference_router"], "args": {"health-check-interval-secs": 3600}}
    variables = {"inference_router": router, "inference_allow_pause": True}
    service.deploy(2, 2, **variables)
    fault = {"kind": "decode", "action": "pause", "seconds": 50}
    limits = {"failing": 25, "gap": 25}
    settings = {"limits": limits, "request_timeout": 12}
    report = service.drill([fault], fails=True, settings=settings, **variables)
    assert {finding["id"] for finding in report["faults"][0]["findings"]} >= {"DRILL-FAILING"}
    service.deploy(2, 2, inference_allow_pause=True)
    assert service.drill([fault], settings=settings)["passed"]
