# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the records say of a change while the service serves: out of the routers, drained, only then stopped; proven, only then added.

A record can be renewed with a mistake in it. This order stays.
"""

from __future__ import annotations

import re

import pytest
from ansible_collections.ascend.inference.tests.unit.rehearsal.test_rehearsal import recorded

STEPS = {
    "Set engines of the router to the state absent": "out",
    "Wait until the engines have finished": "drained",
    "Wait until the removed engines have finished": "drained",
    "Set the services to the state started": "changed",
    "Set the services to the state restarted": "changed",
    "Stop and remove services that are no longer planned": "changed",
    "Prove the engines with each of their peers": "proven",
    "Prove the half": "proven",
    "Set engines of the router to the state present": "in",
    "Set routers of the balancer to the state drain": "away",
    "Set routers of the balancer to the state ready": "back",
    "Move the requests to the half": "moved",
    "Record the deployed plan and remove obsolete files": "recorded",
    "Remove unplanned services and files": "removed",
}
DONE = re.compile(r"^\S+: (?:changed|ok): (?:[\w.]+ : )?(.+?)(?: \(.*\))?$", re.MULTILINE)
ENGINES = ["out", "drained", "changed", "proven", "in"]
ROUTERS = ["away", "changed", "in", "back"]
HALF = ["back", "away", "in", "drained", "changed"]  # of the routers of the other half: in is what they keep
CASES = {
    "deploy/changed_one_after_the_other": ["changed", "proven", "in", "back", *ENGINES, *ROUTERS],
    "deploy/another_instance_gives_its_ports": ["out", "drained", "changed"],
    "deploy/changed_with_removals": ["back", "in", "drained", "changed"],
    "restart/one_engine_and_one_router": [*ENGINES, *ROUTERS, "proven", "in", "back"],
    "upgrade/upgrade_by_halves": [*HALF, "in", "proven", "moved", *HALF, "back"],
}


def order(case):
    """The steps of a recorded case that were done, each once in a row."""
    found = [STEPS[name] for name in DONE.findall(recorded(case)) if name in STEPS]
    return [step for number, step in enumerate(found) if number == 0 or step != found[number - 1]]


@pytest.mark.parametrize("case", CASES)
def test_nothing_stops_before_its_drain_or_joins_before_its_proof(case):
    text = " ".join(order(case))
    assert " ".join(CASES[case]) in text, text
