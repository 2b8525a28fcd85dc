# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Behind each router flavour an engine changes alone, where its members can be changed while it runs; elsewhere nothing restarts without permission.

tests/integration/test_change_matrix.py makes the changes, behind the former.
"""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.halves import half_obstacles
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.pauses import LAST, NO_API, UNBALANCED
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.planned_steps import change
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.steps import restart_steps, steps
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


TWO = {"inference_router.instances": 2, "inference_router.balancer": "haproxy"}


def relisting(name, flavour, **more):
    return launch_plan(*family(name, {**CASES[name, flavour][0], "inference_router.flavour": flavour, **TWO, **more}))


@pytest.mark.parametrize(
    ("name", "flavour", "alone"),
    [
        ("p2p-0.18", "load_balance", True),
        ("pooled", "dp", True),
        ("pooled", "hybrid", True),
        ("layerwise", "layerwise", True),
        ("p2p", "epd", False),  # its URLs are separated by commas
        ("layerwise", "epd_layerwise", False),  # encoders are no members
    ],
)
def test_behind_two_routers_an_engine_changes_alone_where_their_lists_are_pairs(name, flavour, alone):
    pool = CASES[name, flavour][1]
    old = relisting(name, flavour)
    new = relisting(name, flavour, **{f"inference_pools.{pool}.args.max-num-seqs": 4})
    assert new.get("members", {}).get("api") == ("restart" if alone else None)
    decided = change(new, old)
    engines = sorted(service["name"] for service in new["services"] if service["kind"] == pool)
    if not alone:
        assert decided["roll"] == [] and sorted(decided["pauses"][NO_API]) == engines
        return
    assert sorted(name for step in decided["roll"] for name in step["services"]) == engines
    assert len(decided["roll"]) >= 2 and decided["pauses"] == {}
    assert NO_API in half_obstacles(new, old)


def test_such_a_change_needs_two_routers_the_balancer_and_engines_that_stay_where_they_are():
    plan = relisting("layerwise", "layerwise")
    restart = ["prefill-0"]
    assert restart_steps(restart, [], plan)["pauses"] == {} and len(restart_steps(restart, [], plan)["roll"]) == 1
    assert restart_steps(restart, ["router-1"], plan, True)["pauses"] == {LAST: restart}
    assert restart_steps(["prefill-0", "router"], ["router-1"], plan, True)["roll"] == []

    moved = relisting("layerwise", "layerwise", **{"inference_pools.prefill.ports": {"api": 7150}})
    assert set(change(moved, plan)["pauses"]) == {NO_API}, "a router that restarts would have the new addresses at once"
    before = {key: value for key, value in plan.items() if key != "members"}
    changed = relisting("layerwise", "layerwise", **{"inference_pools.prefill.args.max-num-seqs": 4})
    assert set(change(changed, before)["pauses"]) == {NO_API}, "the routers do not yet record their engines"
    pending = {"": {"down": ["balancer"], "outdated": restart}}
    assert (
        UNBALANCED in steps(pending, plan, plan, allow_pause=True)["pauses"] or not steps(pending, plan, plan)["roll"]
    )
