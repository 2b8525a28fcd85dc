# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A variable of the deployment that only some hosts of its pools have is refused, and the named places take it."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import planned
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.unplanned import unplanned

GROUPS = {
    "all": ["p1", "p2", "d1", "d2", "entry", "etcd", "mon"],
    "prefill": ["p1", "p2"],
    "decode": ["d1", "d2"],
    "router": ["entry"],
    "etcd": ["etcd"],
    "monitoring": ["mon"],
}
SHARED = {
    "inference_hardware": "a3",
    "inference_release": "0.18.0",
    "inference_interface": "eth0",
    "inference_model": {"path": "/models/moe", "name": "moe"},
    "inference_pools": {"prefill": {"tensor_parallel_size": 8}, "decode": {"tensor_parallel_size": 8}},
}
USUAL = {"inference_args": {"seed": 5}}


def outcome(own, controller=None, shared=None, groups=None):
    """What is found about variables on some hosts, as (path, problem, fix). ``own``: variables of single hosts."""
    numbers = {name: {"ansible_host": f"10.0.0.{number}"} for number, name in enumerate(GROUPS["all"], 1)}
    hostvars = {name: {**SHARED, **(shared or {}), **numbers[name], **own.get(name, {})} for name in GROUPS["all"]}
    try:
        planned({**SHARED, **(controller or {})}, hostvars, groups or GROUPS)
    except PlanError as error:
        return [(f.path, f.problem, f.fix) for f in error.findings if f.id == "VARIABLE-SOME-HOSTS"]
    return []


@pytest.mark.parametrize(
    ("hosts", "place"),
    [
        (["p1", "p2"], "move it to inference_pools.prefill.args."),
        (["d1"], "move it to inference_pools.decode.hosts.d1.args."),
        (["p1", "p2", "d2"], "move it to inference_pools.prefill.args, inference_pools.decode.hosts.d2.args."),
        (["mon"], "For all: write it"),  # nobody's engine has it, and all would get it
    ],
)
def test_a_variable_of_some_hosts_names_where_it_belongs(hosts, place):
    ((path, problem, fix),) = outcome(dict.fromkeys(hosts, USUAL))
    assert path == "inference_args"
    assert problem.startswith(f"is set on {', '.join(sorted(hosts))}, and not on ")
    assert place in fix
    assert "group_vars/all.yml" in fix


def test_the_named_places_are_taken():
    pools = {"prefill": {**SHARED["inference_pools"]["prefill"], "args": {"seed": 5}}}
    pools["decode"] = {"tensor_parallel_size": 8, "hosts": {"d1": {"args": {"seed": 6}}}}
    assert outcome({}, shared={"inference_pools": pools}, controller={"inference_pools": pools}) == []
    assert outcome({}, shared=USUAL) == []


@pytest.mark.parametrize("name", ["deployment", "root", "user", "start_timeout", "env", "image", "store", "firewall"])
def test_no_variable_of_the_deployment_is_taken_from_one_host(name):
    ((path, _problem, _fix),) = outcome({"d2": {f"inference_{name}": "x"}})
    assert path == f"inference_{name}"


def test_pools_in_the_variables_of_one_pool_are_refused():
    kept = {name: value for name, value in SHARED.items() if name != "inference_pools"}
    pools = {"inference_pools": SHARED["inference_pools"]}
    hostvars = {name: {**kept, **(pools if name in GROUPS["prefill"] else {})} for name in GROUPS["all"]}
    with pytest.raises(PlanError, match="VARIABLE-SOME-HOSTS"):
        planned(kept, hostvars, GROUPS)


def test_hosts_without_engines_need_no_variable():
    engines = [*GROUPS["prefill"], *GROUPS["decode"]]
    assert outcome(dict.fromkeys(engines, USUAL)) == []
    assert outcome({"entry": {"inference_router": {"port": 8001}}, "d1": {"inference_devices": 16}}) == []


def test_what_the_controller_has_too_counts_for_all():
    assert outcome({"d1": USUAL}, controller=USUAL) == []
    assert len(outcome({"d1": USUAL}, controller={"inference_args": {"seed": 6}})) == 1


def test_the_group_of_a_pool_is_the_one_that_it_names():
    pools = {"prefill": {"group": "decode"}}
    groups = {**GROUPS, "prefill": ["mon"]}
    found = outcome(dict.fromkeys(GROUPS["decode"], {**USUAL, "inference_pools": pools}), groups=groups)
    assert "inference_args" not in [path for path, *_rest in found]


def test_a_cluster_has_no_hosts_in_the_inventory():
    assert outcome({"d1": USUAL}, shared={"inference_runtime": "kubernetes"}) == []


@pytest.mark.parametrize(("hosts", "known"), [(["d1"], False), (["p1", "p2", "d1", "d2"], True)])
def test_a_name_of_one_host_is_no_deployment_to_remove(hosts, known):
    hostvars = {name: {"inference_deployment": "blue"} if name in hosts else {} for name in GROUPS["all"]}
    assert bool(unplanned({}, hostvars, GROUPS)) is known
