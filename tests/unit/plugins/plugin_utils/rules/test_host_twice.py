# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host whose name was written in two ways: Ansible takes it for two hosts, of which one has no address."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_plan_page import planned


@pytest.mark.parametrize("name", ["P1", "p01"])
def test_a_name_written_in_another_way_is_refused(name):
    with pytest.raises(PlanError) as refused:
        planned(more={name: {"groups": ["router"], "variables": {}}})
    (finding,) = [item for item in refused.value.findings if item.id == "HOST-TWICE"]
    assert finding.path == f"inventory host {name}" and "nearly that of p1" in finding.problem


@pytest.mark.parametrize(("name", "own"), [("p10", {}), ("P1", {"ansible_host": "192.0.2.99"}), ("router1", {})])
def test_another_host_is_not(name, own):
    assert planned(more={name: {"groups": ["router"], "variables": own}})
