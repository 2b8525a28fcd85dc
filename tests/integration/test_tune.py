# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role tune on a made-up tree: a profile is applied once, and none sets everything back byte for byte."""

from __future__ import annotations

from ansible_collections.ascend.inference.tests.integration._playbook import play

START = {
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/kernel/numa_balancing": "1\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "ondemand\n",
}


def content(root):
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_the_profile_none_sets_back_what_safe_set(tmp_path):
    root = tmp_path / "host"
    for path, text in START.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "etc/systemd/system").mkdir(parents=True)

    run = play(tmp_path, "tune", facts=False, tune_root=str(root))
    assert run.code == 0 and run.changed == 1, run.output
    assert {path: content(root)[path] for path in START} == dict(
        zip(START, ("1\n", "0\n", "performance\n"), strict=True)
    )
    assert "last until the next boot" in run.text

    run = play(tmp_path, "tune", facts=False, tune_root=str(root), tune_profile="none")
    assert run.code == 0 and run.changed == 1 and content(root) == START, run.output
