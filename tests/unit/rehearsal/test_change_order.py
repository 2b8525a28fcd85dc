# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the records say of a change while the service serves: out of the routers, drained, only then stopped; proven, only then added.

A record can be renewed with a mistake in it. This order stays.
"""

from __future__ import annotations

import re

import pytest
from ansible.release import __version__ as core
from ansible_collections.ascend.inference.tests.unit.rehearsal.records import recorded
from ansible_collections.ascend.inference.tests.unit.rehearsal.rehearsal import cases, run

STEPS = {  # the beginnings of names of tasks and of titles of steps
    "Take engines out of the routers that are not": "in",
    "Take ": "out",
    "Wait for the last requests of": "drained",
    "Restart ": "changed",
    "Start ": "changed",
    "Stop and remove inference-": "changed",
    "Remove those of": "changed",
    "Prove these engines": "proven",
    "Prove the half": "proven",
    "Give ": "in",
    "Wait until router-1 has its engines": "in",
    "Send no new requests": "away",
    "Send requests to": "back",
    "Move the requests from": "moved",
}
NEVER = (
    "Start the services",
    "Start stopped services",
    "Restart the services",
    "Start the new",
    "Start and restart the services of the half",
    "Take the",
)  # includes
DONE = re.compile(r"^\S+: (?:changed|ok): (?:[\w.]+ : )?(.+?)(?: \(.*\))?$", re.MULTILINE)
ENGINES = ["out", "drained", "changed", "proven", "in"]
ROUTERS = ["away", "changed", "in", "back"]
HALF = ["back", "away", "out", "drained", "changed"]  # of the routers of the other half
CASES = {
    "deploy/changed_one_after_the_other": ["changed", "proven", "in", "back", *ENGINES, *ROUTERS],
    "deploy/another_instance_gives_its_ports": ["out", "drained", "changed"],
    "deploy/changed_with_removals": ["back", "in", "drained", "changed"],
    "upgrade/upgrade_by_halves": [*HALF, "in", "proven", "moved", *HALF, "back"],
}


def order(case):
    """The steps of a recorded case that were done, each once in a row."""
    names = [name for name in DONE.findall(recorded(case)) if not name.startswith(NEVER)]
    begins = [next((each for each in STEPS if name.startswith(each)), "") for name in names]
    found = [STEPS[each] for each in begins if each]
    return [step for number, step in enumerate(found) if number == 0 or step != found[number - 1]]


@pytest.mark.parametrize("case", CASES)
def test_nothing_stops_before_its_drain_or_joins_before_its_proof(case):
    text = " ".join(order(case))
    assert " ".join(CASES[case]) in text, text


@pytest.mark.parametrize(
    "case",
    ["a_unit_differs", "a_unit_differs_that_shows_under_the_lock", "other_keys", "other_keys_that_show_under_the_lock"],
)
def test_what_is_refused_is_refused_before_a_file_is_written(case):
    text = recorded(f"deploy/{case}")
    assert "must restart, and no other insta" in text
    written = [line for line in text.splitlines() if ": ascend.inference.service : Write the files of" in line]
    assert not written and "Register the planned services" not in text


LEAVING = {
    "deploy/hosts_leave": True,
    "deploy/hosts_leave_and_one_is_lost": False,
    "upgrade/upgrade_all_at_once_where_hosts_leave": False,  # n2 cannot be cleaned
    "upgrade/rollback_all_at_once_where_hosts_leave": True,
}


@pytest.mark.skipif(not core.startswith("2.19."), reason="rehearsals run with ansible-core 2.19")
def test_a_plan_without_a_host_is_recorded_after_that_is_clean(tmp_path):
    """The recorded plan no longer names it: if it were lost before, no later run would ask it."""
    found = run({name: cases()[name] for name in LEAVING}, tmp_path)
    for name, calls in found.items():
        rows = [(call["host"], call["task"].split(" : ")[-1]) for call in calls if call["status"] in ("ok", "changed")]
        last = max(number for number, (host, _task) in enumerate(rows) if host in ("n2", "n3"))
        records = [number for number, row in enumerate(rows) if row[1].startswith("Record the deployed plan and")]
        verified = [
            number for number, row in enumerate(rows) if row[1] == "Record the verified plan and release the lock"
        ]
        assert bool(records) == LEAVING[name] and all(number > last for number in records + verified), (name, rows)


LOST = (
    "deploy/a_host_is_lost_before_another_one_leaves",
    "upgrade/rollback_that_loses_a_host_before_another_one_leaves",
)


@pytest.mark.skipif(not core.startswith("2.19."), reason="rehearsals run with ansible-core 2.19")
def test_nothing_stops_on_a_host_that_leaves_if_the_others_have_not_changed(tmp_path):
    """n2 is lost, so the router on n1 may still have the engines of n3. Ansible itself goes on with the play of n3."""
    found = run({name: cases()[name] for name in LOST}, tmp_path)
    for name, calls in found.items():
        tasks = [call["task"].split(" : ")[-1] for call in calls if call["host"] == "n3"]
        assert not tasks or "Continue only if all planned hosts have changed" in tasks, (name, tasks)
        assert not any("absent" in task or "Remove" in task for task in tasks), (name, tasks)


@pytest.mark.skipif(not core.startswith("2.19."), reason="rehearsals run with ansible-core 2.19")
def test_what_runs_is_compared_with_the_rank_table_before_and_after_files_are_written(tmp_path):
    """It is part of the services' digests. Without it engines that run as planned would be refused as changed ones, which restart together."""
    calls = run({"rank_table": cases()["deploy/rank_table"]}, tmp_path)["rank_table"]
    made = [(call["host"], *row) for call in calls for row in call.get("calls", ())]
    present = [row for row in made if row[1].endswith("service_state") and row[2]["state"] == "present"]
    digests = {
        host: [[each["digest"] for each in given["services"]] for name, dummy, given in present if name == host]
        for host in ("n1", "n2")
    }
    assert all(len(found) == 3 and found[0] == found[1] == found[2] for found in digests.values()), digests


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("another_run_has_the_lock", "Step 2 of 2 failed on n2"),
        ("a_host_that_is_lost_at_its_lock", "Step 2 of 2 failed on n2"),
        ("a_host_that_does_not_say_what_runs", "n2 take part in this change"),
        ("a_host_that_says_what_is_no_answer", "n2: the comparison of what runs"),
        ("one_host_fails", "Step 3 of 26 failed on n2"),
        ("last_engine_without_permission", "decode-0 must restart"),
    ],
)
def test_whatever_fails_under_the_lock_releases_it_on_all_hosts_before_the_run_fails(name, reason):
    """No task of the playbook does: the last step of the script does, and what ends the run comes after it."""
    text = recorded(f"restart/{name}")
    release, ends = text.index(": Release the lock"), text.index("failed: ascend.inference.service : Require that all")
    assert release < ends and reason in text[ends:]
    if name != "one_host_fails":
        assert "Restart decode-0 and wait" not in text[release:]
