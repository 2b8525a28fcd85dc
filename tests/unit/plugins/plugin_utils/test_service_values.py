# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that reach units and command lines: each format, its edges, and what is said of others."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.description.service_values import FORMATS, unusable
from ansible_collections.ascend.inference.tests.unit.test_lock_released import PLAYBOOKS

ROLE = PLAYBOOKS.parent / "roles/service"
DEFAULTS = yaml.safe_load((ROLE / "defaults/main.yml").read_text(encoding="utf-8"))
GOOD = {name: DEFAULTS[name] for name in FORMATS}


def test_the_role_gives_each_value_and_its_defaults_are_usable():
    given = yaml.safe_load((ROLE / "vars/main.yml").read_text(encoding="utf-8"))["__service_values"]
    assert {*given} == {*FORMATS}
    assert unusable(GOOD) == ""


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("service_timeout", [30, "30", 0.5, "0.5"], ["", "-1", "1e3", "1.", " 1", "1\n", "٣", True, None]),
        ("service_docker_log_size", ["50m", "50MB", 7, "-1", "1Gb"], ["", "-2", "50 m", "50t", "50m\n", "m"]),
        ("service_user", ["a", "_a.b-c", "0", "a" * 64], ["", "-a", ".a", "a b", "a\nUser=root", "a" * 65, "ä", "a;b"]),
        ("service_driver_group", ["", None, "HwHiAiUser"], ["a b", "-a", "a\n"]),
    ],
)
def test_other_text_is_refused(name, good, bad):
    for value in good:
        assert unusable({**GOOD, name: value}) == "", value
    for value in bad:
        text = unusable({**GOOD, name: value})
        assert text.startswith(f"{name} has a value that could add lines to a unit"), value
        assert text.endswith(f" in {name}."), value


def test_all_wrong_values_are_named_with_what_to_set():
    wrong = {"service_user": "a b", "service_docker_log_size": "x", "service_timeout": "x", "service_join_timeout": ""}
    assert unusable({**GOOD, **wrong}) == (
        "service_docker_log_size, service_join_timeout, service_timeout, service_user have a value that could add lines to a unit or options to a "
        "command. Fix: set a number in service_timeout, service_join_timeout; set a size such as 50m in service_docker_log_size; "
        "use letters, digits and . _ - in service_user."
    )


@pytest.mark.parametrize(
    ("least", "most", "refused"), [(5, 5, False), (5, 4, True), ("10", "9.5", True), (9, "10", False)]
)
def test_the_longest_delay_is_not_shorter_than_the_first_one(least, most, refused):
    delays = {"service_systemd_restart_delay": least, "service_systemd_restart_delay_max": most}
    text = unusable({**GOOD, **delays})
    assert bool(text) == refused
    assert not refused or f"service_systemd_restart_delay_max to {least} or more" in text
