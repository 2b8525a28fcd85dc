# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller is killed in the middle of each change, under load: the next run finishes it, goes back or makes another one, and no request is lost.

As test_serving_change: the playbooks, the role, supervisord and vllm-router are real, engines are simulated.
"""

from __future__ import annotations

import contextlib
import json
import typing as t

import pytest
from ansible_collections.ascend.inference.tests.integration.test_serving_change import (
    PORT,
    URL,
    Service,
    members,
    nothing_lost,
    served,
)
from ansible_collections.ascend.inference.tests.simulator import load

pytestmark = pytest.mark.long
ARGUMENT = {"inference_args": {"max-num-seqs": 8}}
ONE = {"inference_services": ["decode-1"]}
# Titles of steps: of one engine of each pool, and of one alone
FIRST = "Wait for the last requests of decode-0, prefill-0, at most 300 s"
SECOND = "Wait for the last requests of decode-1, prefill-1, at most 300 s"
STARTED = "Restart decode-0, prefill-0 and wait until ready, at most 1800 s"
JOINING = "Ask the routers which engines they lack"
LEFT = "Wait for the last requests of engines that left, at most 300 s"
WAITED = "Wait for the last requests of decode-1, at most 300 s"
RESTARTED = "Restart decode-1 and wait until ready, at most 1800 s"
RECORD = "Record the deployed plan and remove obsolete files"


class Killed(t.NamedTuple):
    """A run that is killed, the next one, and the ports of decode (above PORT) that the router then has; prefill keeps 10 and 26.

    ``pools``, ``then_pools``: numbers of decode engines and their first port.
    """

    playbook: str
    at: str
    variables: dict[str, t.Any]
    then: str
    then_variables: dict[str, t.Any]
    pools: tuple[int, int] = (2, 30)
    then_pools: tuple[int, int] = (2, 30)
    decode: tuple[int, ...] = (30, 46)
    play: str = "Deploy"
    number: int = 1


CASES = {
    "a port changes, and then to a third value": Killed("deploy", WAITED, {}, "deploy", {}, (2, 60), (2, 64), (64, 80)),
    "all ports have changed, and then to a third value": Killed(
        "deploy", RECORD, {}, "deploy", {}, (2, 60), (2, 64), (64, 80)
    ),
    "a port changes, and back": Killed("deploy", RESTARTED, {}, "deploy", {}, (2, 60)),
    "scale up, and go on": Killed("deploy", JOINING, {}, "deploy", {}, (3, 30), (3, 30), (30, 46, 62)),
    "scale up, and back": Killed("deploy", RECORD, {}, "deploy", {}, (3, 30)),
    "scale down, and go on": Killed("deploy", LEFT, {}, "deploy", {}, (1, 30), (1, 30), (30,)),
    "scale down, and back": Killed("deploy", "Stop and remove inference-decode-1", {}, "deploy", {}, (1, 30)),
    "rolling, before the stop": Killed("deploy", FIRST, ARGUMENT, "deploy", ARGUMENT),
    "rolling, after the stop": Killed("deploy", JOINING, ARGUMENT, "deploy", ARGUMENT, number=2),
    "rolling, and back": Killed("deploy", SECOND, ARGUMENT, "deploy", {}),
    "restart, and again": Killed("restart", RESTARTED, ONE, "restart", ONE, play="Restart"),
    "restart, and a change": Killed("restart", WAITED, ONE, "deploy", ARGUMENT, play="Restart"),
    "upgrade, and go on": Killed("upgrade", STARTED, ARGUMENT, "upgrade", ARGUMENT, play="Switch to the new release"),
    "upgrade, and back": Killed("upgrade", JOINING, ARGUMENT, "rollback", {}, play="Switch to the new release"),
}


def given(pools: tuple[int, int]) -> dict[str, t.Any]:
    """The variable of the pools."""
    found = Service.pools(2, pools[0])
    found["decode"]["ports"]["api"] = PORT + pools[1]
    return {"inference_pools": found}


@pytest.fixture
def service():
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(served())


@pytest.mark.parametrize("name", CASES)
def test_the_next_run_ends_the_change_and_no_request_is_lost(service, name):
    case = CASES[name]
    service.play("site" if case.playbook == "upgrade" else "deploy")
    at = f"{case.play} | service | {case.at} | {case.number}"
    with load.Load(URL, "tiny", clients=2) as requests:
        service.play(case.playbook, fails=True, killed_at=at, **given(case.pools), **case.variables)
        lock = service.root / "deployments/.inference.lock"
        assert json.loads(lock.read_text())["step"].startswith("step "), "the next run says the one before the kill"
        service.play(case.then, **given(case.then_pools), **case.then_variables)
        after = members()
    report = nothing_lost(requests)
    assert report["answered"] > 20
    assert after == [*(("decode", port) for port in case.decode), ("prefill", 10), ("prefill", 26)]
    away = service.root / "deployments/inference/run/router.away"
    left = json.loads(away.read_text()) if away.exists() else []
    assert not [url for url in left if int(url.rpartition(":")[2]) - PORT in {port for _kind, port in after}]
    scripts = [path.read_text() for path in (service.root / "deployments/inference/services").glob("*code-*/run.sh")]
    assert {"--max-num-seqs" in script for script in scripts} == {"inference_args" in case.then_variables}
    assert len(service.starts()) == 3 + len(case.decode)
