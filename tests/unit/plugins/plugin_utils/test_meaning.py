# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A name that is not known is answered by its meaning: generations of hardware, and likeness that respects numbers."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import nearest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.groups import similar
from ansible_collections.ascend.inference.plugins.plugin_utils.description.meaning import close, generation_of, key_in
from ansible_collections.ascend.inference.plugins.plugin_utils.description.variables import (
    HARDWARE,
    read_description,
    read_hosts,
)

NAMES = {
    "a2": ("910B", "910b", "910B1", "910B4-1", "910B2C", "Ascend 910B3", "Atlas 800I A2", "Atlas 800T A2", "800I-A2")
    + ("Atlas 900 A2 PoD", "Atlas 200T A2 Box16", "atlas_a2", "800i_a2"),
    "a3": ("910C", "Ascend910C", "910_93", "Ascend910_9392", "ascend910_9362", "Atlas 800I A3", "Atlas 800T A3", "A3")
    + ("Atlas 900 A3 SuperPoD", "CloudMatrix 384", "CloudMatrix384"),
    "950": ("950PR", "Ascend950DT", "Atlas 950 SuperPoD", "A5", "910_95"),
    "310p": ("310P3", "Atlas 300I Duo", "Ascend 310P", "300I Pro", "Atlas 300V Pro"),
    "910a": ("910A", "910ProA", "Ascend 910 ProB", "Atlas 800 9000", "Atlas 800-9010"),
    "": ("910", "Ascend", "310", "310B", "200I A2", "Atlas 200I DK A2", "H100", "SuperPoD", "cpu", ""),
}


@pytest.mark.parametrize(("generation", "name"), [(key, name) for key, names in NAMES.items() for name in names])
def test_the_names_that_people_use_for_hardware_mean_a_generation(generation, name):
    assert generation_of(name) == generation


@pytest.mark.parametrize(("generation", "name"), [(key, names[0]) for key, names in NAMES.items() if key])
def test_a_host_and_a_description_with_such_a_name_are_told_the_generation(generation, name):
    description, found = read_description({"inference_model": {"path": "/m"}, "inference_hardware": name})
    _hosts, more = read_hosts({"h": {"variables": {"inference_hardware": name}}}, description)
    for finding in (next(item for item in found if item.path == "inference_hardware"), *more):
        assert finding.id == "VARIABLE-CHOICE" and finding.fix.startswith(f"Did you mean '{generation}'? ")


def test_a_name_of_several_generations_gets_no_suggestion():
    description, _found = read_description({"inference_model": {"path": "/m"}})
    (found,) = read_hosts({"h": {"variables": {"inference_hardware": "910"}}}, description)[1]
    assert found.fix == "Choose one of them."


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("910b", HARDWARE, []),
        ("a5", ("a2", "a3"), []),
        ("MooncakeConnectorV2", ("MooncakeConnectorV1",), []),
        ("MooncakeConectorV1", ("MooncakeConnectorV1", "MooncakeConnectorV2"), ["MooncakeConnectorV1"]),
        ("qwen3-235b-w8a8", ("qwen3-235b-w8a8-a3", "qwen3-30b-w8a8-a3"), ["qwen3-235b-w8a8-a3"]),
        ("moncake", ("mooncake", "mooncake_v2"), ["mooncake"]),
        ("0.18.1", ("0.18.0", "0.18.11"), []),
        ("interfaces", ("interface", "interface"), ["interface"]),
    ],
)
def test_likeness_does_not_reach_across_numbers(name, known, found):
    assert close(name, known) == found


def test_a_group_of_another_number_is_not_meant():
    assert similar("site2", ["site1", "site22"]) == [] and similar("sitee1", ["site1"]) == ["site1"]


def test_an_alias_precedes_what_is_spelt_alike_and_has_to_be_known():
    assert nearest("decode", ("decoder", "other"), {"decode": "other"}) == "Did you mean 'other'? "
    assert nearest("decode", ("decoder",), {"decode": "other"}) == "Did you mean 'decoder'? "
    assert nearest("x", ("", "other"), {"x": ""}) == ""


def test_a_misspelt_variable_that_is_one_of_hosts_and_of_deployments_is_named_once():
    _description, found = read_description({"inference_interfac": "eth0"})
    (fix,) = [item.fix for item in found if item.path == "inference_interfac"]
    assert fix.startswith("Did you mean inference_interface?")


def test_a_key_of_a_place_is_the_one_that_its_record_has():
    assert [
        key_in("host", fields) for fields in (["bind", "group"], ["group"], ["host"], ["hosts", "group"], ["x"])
    ] == [
        "bind",
        "group",
        "host",
        "hosts",
        "host",
    ]
    for record, key in (("router", "bind"), ("mooncake_master", "group")):
        _read, found = read_description({f"inference_{record}": {"host": "n1"}})
        (fix,) = [finding.fix for finding in found if finding.path == f"inference_{record}.host"]
        assert fix.startswith(f"Did you mean '{key}'? ")


def test_a_variable_with_dots_says_where_its_keys_are_written():
    _read, found = read_description({"inference_pools.decode.tensor_parallel_size": "4"})
    (own,) = [finding for finding in found if finding.id == "VARIABLE-UNKNOWN"]
    assert own.path == "inference_pools.decode.tensor_parallel_size"
    assert own.problem == "a variable has no dots in its name"
    assert '{"inference_pools": {...}}' in own.fix
