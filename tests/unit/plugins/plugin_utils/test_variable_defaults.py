# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user may write down the default of any variable, and keys of any kind in any order."""

from __future__ import annotations

import dataclasses
import importlib
import pathlib

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description import variables
from ansible_collections.ascend.inference.plugins.plugin_utils.description.loader import in_order

FOLDER = pathlib.Path(variables.__file__).parent
MODULES = [importlib.import_module(f"{variables.__package__}.{path.stem}") for path in sorted(FOLDER.glob("[a-z]*.py"))]
NUMBERS = {
    f"{made.__name__}.{field.name}": field
    for module in MODULES
    for made in vars(module).values()
    if dataclasses.is_dataclass(made)
    for field in dataclasses.fields(made)
    if "least" in field.metadata and isinstance(field.default, int)
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_default_is_within_its_limits(name):
    field = NUMBERS[name]
    least, most = field.metadata["least"], field.metadata["most"]
    assert least is None or field.default >= least, f"{field.default} is the default, and is refused"
    assert most is None or field.default <= most, f"{field.default} is the default, and is refused"


def test_defaults_of_all_folders_are_known():
    assert {"Kubernetes.devices_per_node", "Pool.instances", "Description.start_timeout"} <= set(NUMBERS)


def test_keys_of_several_kinds_have_an_order():
    """YAML has numbers and null as keys, which Python does not compare with texts."""
    made = in_order({"b": [{2: 1, "1": 2, None: 3}], 1: 0, "a": 0})
    assert list(made) == [1, "a", "b"] and list(made["b"][0]) == ["1", 2, None]
