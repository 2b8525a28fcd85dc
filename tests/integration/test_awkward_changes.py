# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes under load that come together, or meet what nobody planned: a router that hangs, another deployment.

As test_serving_change: the playbooks, the role, supervisord and vllm-router are real, engines are simulated.
"""

from __future__ import annotations

import contextlib
import os
import signal

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.runtime.supervisord import Supervisord
from ansible_collections.ascend.inference.tests.integration._playbook import free_range
from ansible_collections.ascend.inference.tests.integration.test_serving_change import (
    PORT,
    URL,
    answered,
    members,
    nothing_lost,
    served,
    wait_for,
)
from ansible_collections.ascend.inference.tests.simulator import load

pytestmark = pytest.mark.long
EIGHT, SIXTEEN = ({"inference_args": {"max-num-seqs": number}} for number in (8, 16))
ALL = [("decode", 30), ("decode", 46), ("prefill", 10), ("prefill", 26)]


@pytest.fixture
def service():
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(served())


def test_one_pool_grows_and_the_other_shrinks_while_both_change(service):
    """decode-1 leaves, but serves until decode-0 has changed."""
    service.deploy(2, 2)
    with load.Load(URL, "tiny", clients=2) as requests:
        service.deploy(3, 1, **EIGHT)
        grown = members()
        service.deploy(1, 3, **SIXTEEN)
        after = members()
    assert nothing_lost(requests)["answered"] > 50
    assert grown == [("decode", 30), ("prefill", 10), ("prefill", 26), ("prefill", 42)]
    assert after == [("decode", 30), ("decode", 46), ("decode", 62), ("prefill", 10)]


@pytest.mark.parametrize("number", [1, 2], ids=["before the drain", "within it"])
def test_a_router_that_hangs_while_a_member_leaves_stops_no_engine(service, number):
    """It would go on to send requests to an engine that it still has."""
    service.deploy(2, 2)
    if number == 2:
        service.deploy(2, 1, fails=True, killed_at="Wait for the last requests of engines that left, at most 300 s")
        assert len(members()) == 3
    begin = service.starts()
    os.kill(begin["router"], signal.SIGSTOP)
    try:
        output = service.deploy(2, 1, fails=True)
    finally:
        os.kill(begin["router"], signal.SIGCONT)
    assert "router" in output and ("did not answer within" in output or "does not answer" in output), output[-3000:]
    assert service.starts() == begin, "no engine was stopped, and the router was not either"
    assert wait_for(lambda: len(answered()) >= 3)
    with load.Load(URL, "tiny", clients=2) as requests:
        service.deploy(2, 1)
        after = members()
    nothing_lost(requests)
    assert after == [("decode", 30), ("prefill", 10), ("prefill", 26)] and set(service.starts()) == set(begin) - {
        "decode-1"
    }


@contextlib.contextmanager
def neighbour(service):
    """Another deployment on the same host, of engines that are colocated; yields its URL and its services with their process ids."""
    first = free_range(40)
    variables = {
        "inference_deployment": "other",
        "inference_router": {"port": first, "metrics_port": first + 1},
        "inference_pools": {"colocated": {"instances": 2, "ports": {"api": first + 2}}},
    }
    groups = (service.folder / "hosts.yml").read_text(encoding="utf-8")
    hosts = groups.replace("prefill:", "colocated:").replace("decode:", "unused:")
    (service.folder / "others.yml").write_text(hosts, encoding="utf-8")
    run = service.root / "deployments/other/run"

    def starts():
        return {name: row["pid"] for name, row in Supervisord(str(run / "supervisor.sock")).processes().items()}

    swap(service, "others.yml")
    try:
        service.play("deploy", **variables)
    finally:
        swap(service, "others.yml")
    try:
        yield f"http://127.0.0.1:{first}", starts
    finally:
        os.kill(int((run / "supervisord.pid").read_text()), signal.SIGTERM)


def swap(service, name):
    """Exchange the inventory with another file."""
    here, there = service.folder / "hosts.yml", service.folder / name
    text = here.read_text(encoding="utf-8")
    here.write_text(there.read_text(encoding="utf-8"), encoding="utf-8")
    there.write_text(text, encoding="utf-8")


def test_a_change_of_one_deployment_leaves_its_neighbour_alone(service):
    service.deploy(2, 2)
    with neighbour(service) as (url, starts):
        begin = starts()
        with load.Load(URL, "tiny", clients=2) as requests, load.Load(url, "tiny", clients=1) as others:
            service.deploy(2, 3, **EIGHT)
            service.play("upgrade", inference_pools=service.pools(2, 3), **SIXTEEN)
            service.play("restart", inference_pools=service.pools(2, 3), inference_services=["decode-1"], **SIXTEEN)
        assert starts() == begin
    for each in (requests, others):
        assert nothing_lost(each)["answered"] > 20


def script_of(service, name):
    return (service.root / f"deployments/inference/services/{name}/run.sh").read_text(encoding="utf-8")


def test_an_upgrade_whose_second_instance_fails_its_proof_ends_with_the_old_one(service):
    """The first instance has changed and serves by then."""
    service.play("site")
    begin = service.starts()
    service.plant(
        "garbage_kv", when=f"--port {PORT + 46} --served-model-name tiny --tensor-parallel-size 1 --max-num-seqs 16"
    )
    with load.Load(URL, "tiny", clients=2) as requests:
        output = service.play("upgrade", fails=True, **SIXTEEN)
        after = members()
    nothing_lost(requests)
    assert "decode-1, prefill-1 must not join" in output and "was started again and is verified." in output, output[
        -5000:
    ]
    assert after == ALL and service.starts().keys() == begin.keys()
    scripts = [script_of(service, name) for name in begin if "code" in name or "prefill" in name]
    assert not any("--max-num-seqs" in script for script in scripts)


def test_an_upgrade_does_not_stop_what_was_deployed_and_never_verified(service):
    """Neither to what runs already, nor to the plan that was verified before; with ``verify`` the former needs no restart."""
    block = {"inference_args": {"block-size": 64}}
    service.play("site")
    service.play("deploy", inference_allow_pause=True, **block)
    begin = service.starts()
    with load.Load(URL, "tiny", clients=2) as requests:
        for settings in (block, {}):
            output = service.play("upgrade", fails=True, **settings)
            assert "was never verified" in output and "Fix: run verify" in output, output[-3000:]
        service.play("verify", **block)
        output = service.play("upgrade", **block)
        assert "Mode rolling: no pause. Nothing changes:" in output, output[-3000:]
    nothing_lost(requests)
    assert service.starts() == begin and members() == ALL
