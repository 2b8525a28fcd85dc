# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With the oldest ansible-core, rehearsed roles run the same tasks with the same outcomes as the texts say, which are made with a newer one.

Arguments are not compared: before 2.19 a template makes a text of a number, and modules read both.
"""

from __future__ import annotations

import json
import re

import pytest
from ansible.release import __version__ as core
from ansible_collections.ascend.inference.tests.unit.rehearsal.records import recorded
from ansible_collections.ascend.inference.tests.unit.rehearsal.rehearsal import cases, run
from ansible_collections.ascend.inference.tests.unit.rehearsal.test_rehearsal import text_of

pytestmark = pytest.mark.skipif(
    not core.startswith("2.17."), reason="the oldest ansible-core is tested with Python 3.10"
)
TASK = re.compile(r"^(?:[\w,-]+: )?(?:ok|changed|failed): [^(\n]*", re.M)
# Engines and routers one after the other.
MORE = ("restart/one_engine_and_one_router",)


def path(text: str) -> list[str]:
    """Hosts, outcomes and names of the tasks in the text of a case."""
    return [line.strip() for line in TASK.findall(text)]


def test_roles_take_the_same_path(tmp_path):
    wanted = {name: case for name, case in cases().items() if name.startswith("role") or name in MORE}
    found = {name: path(text_of(name, calls, tmp_path)) for name, calls in run(wanted, tmp_path).items()}
    differing = {name: tasks for name, tasks in found.items() if tasks != path(recorded(name))}
    assert len(found) > 100 and differing == {}, json.dumps(differing, indent=1)[:6000]
