# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which deployment an inventory that cannot be planned means: never another one."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.unplanned import unplanned
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.registry import runtime

GROUPS = {"all": ["a1", "a2", "b10", "b9", "localhost"], "a": ["a1", "a2"], "b": ["b9", "b10"]}
MODEL = {"inference_model": {"path": "/models/m"}, "inference_pools": "wrong"}


def hostvars(**of_b):
    a = {**MODEL, "inference_deployment": "chat", "inference_root": "/srv"}
    return {"a1": a, "a2": a, "b9": {**MODEL, **of_b}, "b10": {**MODEL, **of_b}, "localhost": {}}


def test_the_group_selects_the_deployment():
    found = unplanned({"inference_group": "b"}, hostvars(inference_deployment="code"), GROUPS)
    assert found == {
        "deployment": "code",
        "root": "/opt/ascend-inference",
        "directory": "/opt/ascend-inference/deployments/code",
        "runtime_facts": runtime("systemd").facts(),
        "hosts": ["b9", "b10"],
    }


@pytest.mark.parametrize(("name", "cluster"), [("kubernetes", True), ("docker", False), ("podman", None)])
def test_the_runtime_is_known_if_its_name_is(name, cluster):
    found = unplanned({"inference_runtime": name, "inference_pools": "wrong"}, {"h": {}}, {"all": ["h"]})
    assert found["runtime_facts"].get("in_cluster") is cluster


def test_the_whole_inventory_has_one_deployment_unless_a_group_is_named():
    same = {"inference_deployment": "chat", "inference_root": "/srv"}
    found = unplanned({}, hostvars(**same), GROUPS)
    assert (found["directory"], found["hosts"]) == ("/srv/deployments/chat", ["a1", "a2", "b9", "b10"])


@pytest.mark.parametrize(
    ("variables", "of_b"),
    [
        ({}, {"inference_deployment": "code", "inference_root": "/srv"}),
        ({}, {"inference_deployment": "chat", "inference_root": "/opt"}),
        ({"inference_group": "b"}, {"inference_deployment": "../chat"}),
        ({"inference_group": "b"}, {"inference_deployment": ["chat"]}),
        ({"inference_group": "b"}, {"inference_root": "relative"}),
        ({"inference_group": "c"}, {}),
    ],
)
def test_no_deployment_is_guessed(variables, of_b):
    assert unplanned(variables, hostvars(**of_b), GROUPS) == {}


class Undefined(dict):
    """Variables of which others than the deployment's name are undefined, such as that of a vault."""

    def __getitem__(self, name):
        assert name in ("inference_deployment", "inference_root", "inference_group"), name
        return super().__getitem__(name)


def test_an_undefined_variable_is_no_reason_to_know_nothing():
    hosts = {name: Undefined(values, inference_secrets=...) for name, values in hostvars().items()}
    found = unplanned(Undefined(inference_group="a", inference_secrets=...), hosts, GROUPS)
    assert (found["directory"], found["hosts"]) == ("/srv/deployments/chat", ["a1", "a2"])
