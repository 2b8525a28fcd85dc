# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check mode ends where the run ends: a green check is a gate for many."""

from __future__ import annotations

import pytest
from ansible.release import __version__ as core
from ansible_collections.ascend.inference.tests.unit.rehearsal.rehearsal import cases, run

pytestmark = pytest.mark.skipif(not core.startswith("2.19."), reason="rehearsals run with ansible-core 2.19")
REFUSED = {  # and whether the text tells of what the run would do
    "deploy/ports_are_given_to_others_without_permission": True,
    "deploy/first_where_one_host_is_locked": False,
    "restart/last_engine_without_permission": True,
    "upgrade/upgrade_without_a_plan_to_go_back_to": False,
    "upgrade/upgrade_of_a_plan_of_another_version": False,
    "upgrade/rollback_after_an_interruption_without_permission": False,
    "refusals/restart_of_a_service_that_is_not_there": False,
}


@pytest.fixture(name="found", scope="module")
def fixture_found(tmp_path_factory):
    every = cases()
    pairs = {
        f"{name}{end}": {**every[name], "check": check}
        for name in REFUSED
        for end, check in (("", False), ("-check", True))
    }
    return run(pairs, tmp_path_factory.mktemp("check"))


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_run_refuses_check_mode_refuses(name, found):
    real, checked = ([call for call in found[name + end] if call["status"] == "failed"] for end in ("", "-check"))
    assert real and [(call["host"], call["task"]) for call in checked] == [
        (call["host"], call["task"]) for call in real
    ]
    prefix = "Without --check this would be refused: " if REFUSED[name] else ""
    assert checked[0]["message"].startswith(prefix)
    assert "files are written" not in checked[0]["message"]
