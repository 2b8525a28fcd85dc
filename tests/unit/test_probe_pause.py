# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pause of the probe begins when its file is written: copy does not write a file again that has the same text."""

from __future__ import annotations

from pathlib import Path

import yaml

TASKS = Path(__file__).resolve().parents[2] / "playbooks/shared/probe_pause.yml"


def test_the_file_that_a_killed_run_left_is_removed_before_a_new_pause():
    end, begin = yaml.safe_load(TASKS.read_text(encoding="utf-8"))
    removed, written = end["ansible.builtin.file"], begin["block"][0]["ansible.builtin.copy"]
    assert (removed["state"], removed["path"]) == ("absent", written["dest"])
    assert "when" not in end and end["loop"] == begin["block"][0]["loop"]
