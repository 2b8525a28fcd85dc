# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""service_state compares what processes started with: their secrets, and files that are about to be written."""

from __future__ import annotations

import json

import pytest

from . import test_service_state
from .test_service_state import RUNS, TARGET

call, host = test_service_state.call, test_service_state.host  # fixtures

NAME = "demo-a.service"


@pytest.mark.parametrize(
    ("ran", "planned", "outdated", "keyed", "rekeyed"),
    [
        ("1 k1", {NAME: "k1"}, [], [NAME], []),
        ("1 k1", {NAME: "k2"}, [NAME], [], [NAME]),
        ("0 k1", {NAME: "k1"}, [NAME], [NAME], []),
        ("1", {NAME: "k2"}, [], [], []),  # started by a version that recorded none
        ("", {NAME: "k2"}, [NAME], [], []),
        ("1 k1", {}, [], [], []),
    ],
)
def test_what_a_process_started_with_decides(host, call, ran, planned, outdated, keyed, rekeyed):
    unit = host.unit(NAME, ran=ran)
    host.say({NAME: RUNS, TARGET: RUNS})
    found = call("present", unit, secrets=planned)
    assert (found["outdated"], found["keyed"], found["rekeyed"]) == (outdated, keyed, rekeyed)
    assert call("started", unit, secrets=planned)["restarted"] == outdated


def test_one_that_does_not_run_has_no_keys(host, call):
    unit = host.unit(NAME, ran="1 k1")
    found = call("present", unit, secrets={NAME: "k2"})
    assert (found["down"], found["keyed"], found["rekeyed"]) == ([NAME], [], [])


def test_digests_of_secrets_are_not_shown(host, call):
    unit = host.unit(NAME, ran="1 a1b2c3d4e5")
    host.say({NAME: RUNS, TARGET: RUNS})
    for state in ("present", "started"):
        shown = json.dumps(call(state, unit, secrets={NAME: "f6a7b8c9d0"}))
        assert "a1b2c3d4e5" not in shown and "f6a7b8c9d0" not in shown


@pytest.mark.parametrize(
    ("written", "outdated"),
    [("{units}/" + NAME, [NAME]), ("{units}/other.service", []), ("{newer}", [NAME]), ("{newer}.more", [])],
)
def test_a_file_that_is_about_to_be_written_is_newer_than_a_process(host, call, written, outdated):
    """So it is known before the first file is written what restarts."""
    unit = {**host.unit(NAME, ran="1"), "newer": ["/x/run.sh"]}
    host.say({NAME: RUNS, TARGET: RUNS})
    path = written.format(units=host.units, newer="/x/run.sh")
    found = call("present", unit, written=[path])
    assert found["outdated"] == outdated and (found["healthy"] == []) == bool(outdated)
