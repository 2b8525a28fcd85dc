# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engines come, change and go behind two routers that read their engines at their start only: each in turn restarts, and no request is lost.

The playbooks, the role, supervisord, HAProxy and vLLM-Ascend's proxy are real; engines are simulated, and nothing is checked or installed. The
proxy's own API of members, which older releases and other proxies lack, is taken out of the copy of the collection, and says what the proxy has.
"""

from __future__ import annotations

import json
import pathlib
import tempfile

import pytest
from ansible_collections.ascend.inference.tests.integration import _balancer
from ansible_collections.ascend.inference.tests.integration.test_balanced_change import (
    ROUTERS,
    SETTINGS,
    URL,
    servers,
)
from ansible_collections.ascend.inference.tests.integration.test_serving_change import (
    CACHE,
    PORT,
    Service,
    nothing_lost,
)
from ansible_collections.ascend.inference.tests.simulator import load, pd_cluster, upstream_proxies

EIGHT = {"inference_args": {"max-num-seqs": 8}}
BOTH = {"router", "router-1"}
ENGINES = {"prefill-0", "prefill-1", "decode-0", "decode-1"}
AT = "Restart | service | {} | 1"


@pytest.fixture
def service():
    _balancer.install()
    try:
        python = upstream_proxies.python(CACHE)
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"the package can't be fetched here: {error}")
    with tempfile.TemporaryDirectory(prefix="re-") as folder:  # the path of supervisord's socket must be short
        made = Service(pathlib.Path(folder), python, flavour="load_balance")
        made.variables["inference_router"] = {**SETTINGS, "flavour": "load_balance"}
        flavours = (
            made.folder / "ansible_collections/ascend/inference/plugins/plugin_utils/plan/routers/prefill_decode.py"
        )
        text = flavours.read_text(encoding="utf-8")
        assert text.count("    members=_members,\n") == 1
        flavours.write_text(text.replace("    members=_members,\n", ""), encoding="utf-8")
        yield made
        made.stop()


def listed(url):
    """The ports of a proxy's engines, relative to the first one."""
    body = {"type": "prefill", "instances": []}
    answer = json.loads(pd_cluster.call(url, "/instances/add", body)[1])
    found = answer["current_prefill_instances"] + answer["current_decode_instances"]
    return sorted(int(address.rpartition(":")[2]) - PORT for address in found)


def restarted(before, after):
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


@pytest.mark.long
def test_no_request_is_lost_when_routers_restart_for_other_engines(service):
    service.deploy(2, 2)
    two, three = [10, 26, 30, 46], [10, 26, 30, 46, 62]
    assert [listed(url) for url in ROUTERS] == [two, two]
    changes = {
        "scale up": ({"decode-2"}, three, lambda: service.deploy(2, 3)),
        "argument": (ENGINES | {"decode-2"}, three, lambda: service.deploy(2, 3, **EIGHT)),
        "scale down": ({"decode-2"}, two, lambda: service.deploy(2, 2, **EIGHT)),
        "restart": ({"decode-1"}, two, lambda: service.play("restart", inference_services=["decode-1"], **EIGHT)),
        "upgrade": (ENGINES, two, lambda: service.play("upgrade", inference_args={"max-num-seqs": 16})),
    }
    for name, (expected, ports, change) in changes.items():
        before = service.starts()
        with load.Load(URL, "tiny", clients=2) as requests:
            output = change()
        assert nothing_lost(requests)["answered"] > 10, name
        assert restarted(before, service.starts()) == expected | BOTH, name
        assert [listed(url) for url in ROUTERS] == [ports, ports], name
        assert {server.state for server in servers(service).values()} == {"ready"}, name
        assert "restart at once" not in output, output[-5000:]
    before = service.starts()
    service.deploy(2, 2, inference_args={"max-num-seqs": 16})
    assert service.starts() == before


@pytest.mark.long
@pytest.mark.parametrize(
    ("task", "left"),
    [
        ("Restart router, which reads its engines when it starts", 4),  # one of them is drained
        ("Restart decode-1 and wait until ready, at most 1800 s", 3),
    ],
)
def test_a_run_goes_on_after_its_controller_was_killed(service, task, left):
    service.deploy(2, 2)
    with load.Load(URL, "tiny", clients=2) as requests:
        service.play("restart", fails=True, killed_at=AT.format(task), inference_services=["decode-1"])
        assert [len(listed(url)) for url in ROUTERS] == [left, left]
        service.play("verify")
        assert [len(listed(url)) for url in ROUTERS] == [4, 4]
        service.play("restart", inference_services=["decode-1"])
    nothing_lost(requests)
    assert [len(listed(url)) for url in ROUTERS] == [4, 4]
    assert {server.state for server in servers(service).values()} == {"ready"}


@pytest.mark.long
def test_routers_whose_engines_are_not_known_restart_in_turn(service):
    """As after an update from a version of the collection whose routers recorded nothing."""
    service.deploy(2, 2)
    before = service.starts()
    for name in BOTH:
        (service.root / f"deployments/inference/run/{name}.listed").unlink()
    with load.Load(URL, "tiny", clients=2) as requests:
        output = service.play("restart", fails=True, inference_services=["decode-1"])
        assert "did not record them when it started" in output and service.starts() == before
        service.deploy(2, 2)
    nothing_lost(requests)
    assert restarted(before, service.starts()) == BOTH
    assert [len(listed(url)) for url in ROUTERS] == [4, 4]


@pytest.mark.long
def test_a_pause_is_announced_while_one_router_is_alone(service):
    service.deploy(2, 2)
    before = service.starts()
    output = service.deploy(
        2, 2, fails=True, inference_router={**service.variables["inference_router"], "instances": 1}, **EIGHT
    )
    assert "inference_allow_pause" in output and service.starts() == before
