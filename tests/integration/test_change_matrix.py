# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each change behind each router whose engines can be changed while it runs, under load: no request fails, is empty or has another text.

As test_serving_change: the playbooks, the role, supervisord and the routers are real, engines are simulated. Each change has a load of its own, and
its figures are printed as a row of a table.
"""

from __future__ import annotations

import pathlib
import tempfile
import time

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers import registry, vllm_router
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers.base import no_members
from ansible_collections.ascend.inference.tests.integration.test_serving_change import (
    CACHE,
    URL,
    Service,
    nothing_lost,
)
from ansible_collections.ascend.inference.tests.simulator import load, upstream_proxies

FLAVOURS = ("vllm_router", "load_balance")
IDLE = 12  # seconds: the proxy forgets removed engines at a check, every 10 s, without a request under way
EIGHT, SIXTEEN, BAD = ({"inference_args": {"max-num-seqs": number}} for number in (8, 16, 32))
ENGINES = {"prefill-0", "prefill-1", "decode-0", "decode-1"}


@pytest.fixture
def service(request):
    """Of the flavour in ``request.param``."""
    try:
        if request.param == "vllm_router":
            python = upstream_proxies.venv(CACHE, "vllm-router-venv", [vllm_router.FLAVOUR.package.requirement])
        else:
            python = upstream_proxies.python(CACHE)
        with tempfile.TemporaryDirectory(prefix="each-") as folder:  # the path of supervisord's socket must be short
            made = Service(pathlib.Path(folder), python, flavour=request.param)
            yield made
            made.stop()
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"the package can't be fetched here: {error}")


def test_every_flavour_with_members_is_in_the_table():
    """The others restart, or are refused while they serve."""
    assert {name for name, flavour in registry.FLAVOURS.items() if flavour.members is not no_members} == set(FLAVOURS)


@pytest.mark.long
@pytest.mark.parametrize("service", FLAVOURS, indirect=True)
def test_no_change_loses_a_request(service):
    service.deploy(2, 2)
    changes = {
        "scale up": ({"decode-2"}, lambda: service.deploy(2, 3)),
        "argument": (ENGINES | {"decode-2"}, lambda: service.deploy(2, 3, **EIGHT)),
        "scale down": ({"decode-2"}, lambda: service.deploy(2, 2, **EIGHT)),
        "restart": ({"decode-1"}, lambda: service.play("restart", inference_services=["decode-1"], **EIGHT)),
        "upgrade": (ENGINES, lambda: service.play("upgrade", **SIXTEEN)),
        "bad upgrade": (ENGINES, lambda: service.play("upgrade", fails=True, **BAD)),
    }
    for name, (expected, change) in changes.items():
        time.sleep(IDLE)
        service.plant("garbage_kv", when="--max-num-seqs 32")
        before = service.starts()
        with load.Load(URL, "tiny", clients=2) as requests:
            change()
        after = service.starts()
        report = nothing_lost(requests)
        print(
            f"{name:12} {report['answered']:5} answered, longest gap {report['gap']} s, p99 {report['first_p99']:.1f} s"
        )
        assert report["answered"] > 10, name
        changed = {each for each in before.keys() | after.keys() if before.get(each) != after.get(each)}
        assert changed == expected, name
