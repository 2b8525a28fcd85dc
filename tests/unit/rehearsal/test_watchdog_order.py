# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the records say of the watchdog: a restart that the lock refuses is not noted, so it does not count as one of an hour."""

from __future__ import annotations

from ansible_collections.ascend.inference.tests.unit.rehearsal.records import recorded

LOOK = "n1: ok: Find engines without progress (changed_when=False, check_mode, delegate_facts, on n1)"
NOTE, LOCK, RESTART = "Choose and record the engine", "Lock the deployment on its first host", "and wait until ready"


def test_nothing_is_noted_before_the_lock_is_held():
    text = recorded("watch/watchdog_restarts")
    places = [text.index(part) for part in (LOOK, LOCK, NOTE, RESTART)]
    assert places == sorted(places) and text.count("ascend.inference.engine_watchdog") == 3


def test_a_refused_restart_is_not_noted():
    text = recorded("watch/watchdog_refused_by_another_run")
    assert LOOK in text and NOTE not in text and RESTART not in text


def test_what_is_known_under_the_lock_counts():
    text = recorded("watch/watchdog_too_late")
    assert "changed: ascend.inference.service : Release the lock" in text and RESTART not in text
    text = recorded("watch/watchdog_without_the_probe_meanwhile")
    assert "changed: ascend.inference.service : Release the lock" in text and RESTART not in text


def test_the_probe_s_host_restarts_what_belongs_to_one_engine():
    """It may answer what it wants: of its answer only the name of a planned engine counts, and each other host counts the restarts, too."""
    text = recorded("watch/watchdog_of_a_host_that_names_others")
    assert text.index("n2: ok: ascend.inference.service : Count the restart on the other hosts") < text.index(
        "Restart decode-0 "
    )
    assert "Restart router" not in text and "Restart prefill" not in text and "decode-1 and wait" not in text
    for name in ("watchdog_of_a_host_that_names_all", "watchdog_that_restarted_enough_elsewhere"):
        text = recorded(f"watch/{name}")
        assert "changed: ascend.inference.service : Release the lock" in text and RESTART not in text


def test_the_cause_is_read_where_the_engine_runs_before_anything_is_done():
    text = recorded("watch/watchdog_reports")
    why = "Read in the logs why engines are without progress"
    hosts = [line.split(":")[0] for line in text.splitlines() if why in line and " ok: " in line]
    assert len(hosts) == 1 and "Likely cause: a cause" in text and RESTART not in text
    text = recorded("watch/watchdog_restarts")
    assert text.index(why) < text.index(LOCK) < text.index(RESTART)  # a log that cannot be read stops nothing
