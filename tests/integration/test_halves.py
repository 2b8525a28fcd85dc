# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook upgrade in the mode blue_green under load: another KV cache there and back, one that is bad, and a controller that is killed.

The playbook, the roles, supervisord, vllm-router and HAProxy are real; engines are simulated, and nothing is checked or installed. A simulated
engine ends at once when it is stopped, so each request that it still has fails.
"""

from __future__ import annotations

import json
import pathlib
import tempfile

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.balancer.admin import Balancer
from ansible_collections.ascend.inference.plugins.module_utils.files import journal
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers import vllm_router
from ansible_collections.ascend.inference.tests.integration import _balancer
from ansible_collections.ascend.inference.tests.integration.test_serving_change import (
    CACHE,
    PORT,
    Service,
    nothing_lost,
)
from ansible_collections.ascend.inference.tests.simulator import load, pd_cluster, upstream_proxies

FIRST = PORT + 64  # above the ports of the engines
URL = f"http://127.0.0.1:{FIRST + 2}"
SETTINGS = {"port": FIRST, "metrics_port": FIRST + 1, "instances": 2, "balancer": "haproxy", "balancer_port": FIRST + 2}
SETTINGS["balancer_status_port"] = FIRST + 3
WATCH = 3  # seconds of each share
NEW = {"inference_args": {"block-size": 64}, "inference_upgrade_watch": WATCH}
OLD = {"inference_upgrade_watch": WATCH}
COMPARED = {"inference_compare_with": "/dev/null", "inference_compare_folder": "/nonexistent"}


@pytest.fixture
def service():
    _balancer.install()
    try:
        python = upstream_proxies.venv(CACHE, "vllm-router-venv", [vllm_router.FLAVOUR.package.requirement])
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"the package can't be fetched here: {error}")
    with tempfile.TemporaryDirectory(prefix="set-") as folder:  # the path of supervisord's socket must be short
        made = Service(pathlib.Path(folder), python)
        made.variables["inference_router"] = SETTINGS
        yield made
        made.stop()


def weights(service):
    """{router: (state, weight)}."""
    socket = str(service.root / "deployments/inference/run/balancer.sock")
    return {name: (row.state, row.weight) for name, row in Balancer(socket, "routers").servers().items()}


def sizes(service):
    """{engine: whether its run.sh has the new block size}."""
    names = [f"{kind}-{number}" for kind in ("prefill", "decode") for number in (0, 1)]
    scripts = [service.root / "deployments/inference/services" / name / "run.sh" for name in names]
    return {path.parent.name: "--block-size" in path.read_text().split() for path in scripts}


def whole(service, new):
    """All engines run with these settings, and both routers serve with all of them."""
    assert sizes(service) == dict.fromkeys(("decode-0", "decode-1", "prefill-0", "prefill-1"), new)
    assert weights(service) == dict.fromkeys(("router", "router-1"), ("ready", 100))
    for port in (FIRST, FIRST + 20):
        rows = json.loads(pd_cluster.call(f"http://127.0.0.1:{port}", "/workers")[1])["workers"]
        assert len(rows) == 4


def test_another_kv_cache_without_a_lost_request(service):
    service.deploy(2, 2)
    begin = service.starts()
    with load.Load(URL, "tiny", clients=2) as requests:
        output = service.play("upgrade", **NEW)
    assert "Mode blue_green: no pause." in output, output[-3000:]
    changed = service.starts()
    assert [name for name in begin if changed[name] == begin[name]] == ["balancer", "router", "router-1"]
    whole(service, new=True)
    assert nothing_lost(requests)["answered"] > 50


@pytest.mark.long
def test_another_key_without_a_lost_request(service):
    """Each half has routers that send the key of its engines. The secrets are long: a short one would be masked in other words, too."""
    former, key = "former-secret-4711", "another-secret-0815"
    service.variables["inference_secrets"] = {"api_key": former}
    service.deploy(2, 2)
    secrets = sorted(service.root.glob("deployments/inference/**/secrets.sh"))
    assert len(secrets) == 6, "of four engines and two routers"
    begin = service.starts()
    with load.Load(URL, "tiny", clients=2) as requests:
        output = service.play("upgrade", **OLD, inference_secrets={"api_key": key})
    assert "Mode blue_green: no pause." in output, output[-3000:]
    changed = service.starts()
    assert [name for name in begin if changed[name] == begin[name]] == ["balancer"]
    whole(service, new=False)
    assert sorted(service.root.glob("deployments/inference/**/secrets.sh")) == secrets
    assert not any(former in path.read_text() for path in secrets)
    assert nothing_lost(requests)["answered"] > 50


@pytest.mark.long
@pytest.mark.parametrize(
    ("faults", "why"),
    [
        ("garbage_kv", "prefill-1 -> decode-1"),
        ("fails_completions", "EngineCore died"),
        ("slow", "router-1 do not serve as well as router: at 5 percent of the requests the first token comes after"),
    ],
)
def test_nobody_notices_engines_that_are_bad(service, faults, why):
    service.deploy(2, 2)
    begin = service.starts()
    service.plant(faults, when="--block-size 64")
    with load.Load(URL, "tiny", clients=2) as requests:
        output = service.play("upgrade", fails=True, **NEW)
    assert why in output and "was started again and is verified." in output, output[-5000:]
    back = service.starts()
    assert [name for name in begin if back[name] != begin[name]] == ["decode-1", "prefill-1"], "the others served"
    whole(service, new=False)
    nothing_lost(requests)


SWITCH = "Switch to the new release"
KILLS = [
    f"{SWITCH} | service | Wait for the last requests of decode-1, prefill-1, at most 300 s | 1",
    f"{SWITCH} | service | Start or restart decode-1, prefill-1 and wait until ready, at most 1800 s | 1",
    f"{SWITCH} | verify | Send verification requests | 1",
    f"{SWITCH} | service | Move the requests from router to router-1 in steps of 3 s | 1",
    f"{SWITCH} | service | Wait for the last requests of decode-0, prefill-0, at most 300 s | 1",
    f"{SWITCH} | service | Prove these engines with each of their peers | 1",
    f"{SWITCH} | service | Record the deployed plan and remove obsolete files | 1",
]


@pytest.mark.long
@pytest.mark.parametrize("way", ["on", "back"])
def test_a_run_goes_on_or_back_after_its_controller_was_killed(service, way):
    """In turn from each place: with ``on`` the next run finishes the change. With ``back`` a run with the settings before undoes it.

    The latter does not know the plan of the run that was killed, so a half that may have it already serves alone only for the former.
    """
    service.play("site")
    new = False
    with load.Load(URL, "tiny", clients=2) as requests:
        for place in KILLS if way == "on" else KILLS[:3]:
            before, after = (NEW, OLD) if new else (OLD, NEW)
            service.play("upgrade", fails=True, killed_at=place, **after)
            output = service.play("upgrade", **(after if way == "on" else before))
            new = new if way == "back" else not new
            assert "every service stops" not in output, (place, output[-3000:])
            whole(service, new)
    nothing_lost(requests)


@pytest.mark.long
def test_no_other_playbook_stops_the_half_that_serves_after_a_run_was_killed(service):
    """``site`` refuses what would restart engines at once; ``rollback`` goes back beside the half that serves, or refuses."""
    service.play("site")
    begin = service.starts()
    with load.Load(URL, "tiny", clients=2) as requests:
        service.play("upgrade", fails=True, killed_at=KILLS[2], **NEW)
        killed = service.starts()
        output = service.play("status", fails=True)
        assert "running, drained" in output and "sends no new requests to router-1" in output, output[-3000:]
        for settings, names in ((OLD, "decode-1, prefill-1"), (NEW, "decode-0, prefill-0")):
            output = service.play("site", fails=True, **settings)
            assert f"{names} do not run with the settings of this plan." in output and "Fix: run upgrade." in output, (
                output[-3000:]
            )
        for playbook, given in (
            ("restart", {"inference_services": ["decode-0"]}),
            ("restart", {}),
            ("compare", {"inference_allow_pause": True, **COMPARED}),
        ):
            output = service.play(playbook, fails=True, **OLD, **given)
            assert "begun to change the first half of the instances." in output, output[-3000:]
            assert "Nothing was changed." in output
        service.play("verify", **OLD)  # simulated engines do not mind
        assert journal.unfinished_half(str(service.root / "deployments/inference")) == "first"
        assert service.starts() == killed
        output = service.play("rollback")
        assert "Mode blue_green: no pause. router and the engines behind it run with this plan" in output, output[
            -3000:
        ]
        back = service.starts()
        assert [name for name in begin if back[name] != begin[name]] == ["decode-1", "prefill-1"], "the others served"
        whole(service, new=False)

        service.play("upgrade", fails=True, killed_at=KILLS[5], **NEW)
        output = service.play("rollback", fails=True)
        assert "neither half runs completely with the verified plan" in output, output[-3000:]
        service.play("upgrade", **NEW)
        whole(service, new=True)
    nothing_lost(requests)


@pytest.mark.long
def test_a_rollback_between_two_kv_caches_loses_no_request(service):
    """At rest, and again after it was killed: the next one goes back to the plan that was verified, beside the half that runs with it."""
    service.play("site")
    service.play("upgrade", inference_upgrade_mode="recreate", **NEW)
    begin = service.starts()
    with load.Load(URL, "tiny", clients=2) as requests:
        service.play(
            "rollback",
            fails=True,
            killed_at="Start the previous services | service | Move the requests from router to router-1 in steps of 3 s | 1",
            **OLD,
        )
        output = service.play("rollback", **OLD)
        assert "router and the engines behind it run with this plan" in output, output[-3000:]
        whole(service, new=True)
        output = service.play("rollback", **OLD)
        assert "Mode blue_green: no pause. First " in output, output[-3000:]
        whole(service, new=False)
    changed = service.starts()
    assert [name for name in begin if changed[name] == begin[name]] == ["balancer", "router", "router-1"]
    nothing_lost(requests)
