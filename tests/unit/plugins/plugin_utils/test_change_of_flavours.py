# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Behind each router flavour an engine changes alone, where its members can be changed while it runs; elsewhere nothing restarts without permission.

tests/integration/test_change_matrix.py makes the changes, behind the former.
"""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.pauses import NO_API
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.planned_steps import change
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.steps import steps
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers.registry import FLAVOURS
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family, hosts

ENCODED = {
    "inventory": hosts(5, {"encode": (5,), "prefill": (1, 2), "decode": (3, 4)}),
    "inference_pools.encode": {"tensor_parallel_size": 4},
}
CASES = {  # family and flavour, without one the preferred: other variables, pool with two instances, whether its engines change alone
    ("p2p", "load_balance"): ({}, "prefill", True),
    ("p2p-0.18", "load_balance"): ({}, "prefill", False),  # a removed engine gets requests again
    ("p2p", "vllm_router"): ({"inference_pools.decode.args.additional-config": {}}, "prefill", True),
    ("pooled", "vllm_router"): ({}, "colocated", True),
    ("pooled", "dp"): ({}, "colocated", False),
    ("pooled", "hybrid"): ({}, "colocated", False),
    ("layerwise", "layerwise"): ({}, "prefill", False),
    ("p2p", "epd"): (ENCODED, "prefill", False),
    ("layerwise", "epd_layerwise"): (ENCODED, "prefill", False),
}


def test_every_flavour_is_there():
    assert {flavour for _family, flavour in CASES} == set(FLAVOURS) - {"none"}


@pytest.mark.parametrize(("name", "flavour"), CASES)
def test_an_engine_changes_alone_or_not_at_all(name, flavour):
    more, pool, alone = CASES[name, flavour]
    chosen = {**more, "inference_router.flavour": flavour}
    old = launch_plan(*family(name, chosen))
    new = launch_plan(*family(name, {**chosen, f"inference_pools.{pool}.args.max-num-seqs": 4}))
    assert old["software"]["router"]["flavour"] == flavour and bool(new.get("members")) == alone
    engines = [service["name"] for service in new["services"] if service["kind"] == pool]
    assert len({service["instance"] for service in new["services"] if service["kind"] == pool}) >= 2
    pending = {host["name"]: {"down": [], "other": [], "outdated": []} for host in new["hosts"]}
    for service in new["services"]:
        pending[service["host"]]["outdated"] += [service["name"]] if service["kind"] == pool else []
    refusals = steps(pending, new, old, early=True)["refusals"]
    decided = change(new, old)
    if alone:
        assert sorted(name for step in decided["roll"] for name in step["services"]) == sorted(engines)
        assert len(decided["roll"]) >= 2 and (refusals, decided["pauses"]) == ([], {})
    else:
        assert decided["roll"] == [] and sorted(decided["pauses"][NO_API]) == sorted(engines)
        assert len(refusals) == 1 and "Nothing was changed." in refusals[0] and NO_API in refusals[0]
