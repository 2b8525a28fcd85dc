# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rule with a number refuses the first wrong value and not the last right one; ``edges.py`` has both for each such rule."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.all import RULES
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.ports import ascend_direct
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.edges import EDGES, WITHOUT
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.mistakes import ROUTER, D, P
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.test_mutations import judged

ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def found(edge, number):
    return {item["id"] for item in judged(edge.family, edge.changes(number))}


@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: f"{edge.rule}-{edge.path}-{edge.right}")
def test_the_last_right_value_passes_and_the_first_wrong_one_does_not(edge):
    assert abs(edge.right - edge.wrong) == 1
    assert found(edge, edge.right) == set()
    assert found(edge, edge.wrong) == {edge.rule}


def test_the_shortest_hold_of_each_kind():
    """Both rules are about one variable: shorter than a pull, which is an error, and shorter than a request may wait."""
    ids = [{item["id"] for item in judged("p2p", {"inference_kv_hold_timeout": number})} for number in (20, 21)]
    assert ids == [{"KV-HOLD-SHORT"}, {"HOLD-TIMEOUT"}]


def test_a_long_range_meets_each_port_in_it():
    """Also the second one, which does not meet the port before it."""
    ports = {f"{P}.ports.kv": 30000, f"{D}.ports.api": 30001, f"{ROUTER}.port": 30003}
    found = judged("one-host", ports)
    assert [item["path"] for item in found] == [f"{D}.ports.api", f"{ROUTER}.port"]


@pytest.mark.parametrize(
    ("stride", "devices", "last"), [(100, range(8, 16), 21600), (100, [3], 20400), (1000, [0, 1], 22000)]
)
def test_random_ports_are_counted_by_the_number_of_a_device(stride, devices, last):
    """AscendDirect adds its stride for each number, also for those of devices that the host does not lend."""
    case = types.SimpleNamespace(
        context=types.SimpleNamespace(release=types.SimpleNamespace(ascend_direct_stride=stride))
    )
    process = types.SimpleNamespace(host=types.SimpleNamespace(devices=tuple(devices)))
    assert ascend_direct(case, types.SimpleNamespace(env={}, process=process)) == (20000, last)


def compares_numbers(node):
    """Whether an expression compares by size: no versions (tuples, ``release``), no lengths, no counts with 0 or 1."""
    if not isinstance(node, ast.Compare) or not any(isinstance(operator, ORDER) for operator in node.ops):
        return False
    sides = [node.left, *node.comparators]
    text = ast.unparse(node)
    counts = any(isinstance(side, ast.Constant) and side.value in (0, 1) for side in sides) and len(sides) == 2
    return not counts and "len(" not in text and "release" not in text


def test_each_rule_with_a_number_has_both_values():
    numeric = {
        rule.id
        for rule in RULES
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(rule.check))))
        if compares_numbers(node)
    }
    assert len(numeric) > 25
    assert numeric - {edge.rule for edge in EDGES} - set(WITHOUT) == set(), "add them to edges.py"
    assert not {edge.rule for edge in EDGES} & set(WITHOUT)
