# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Free space is what a user may use: a file system keeps a part for root, which services and quotas do not get."""

from __future__ import annotations

import os

from ansible_collections.ascend.inference.plugins.module_utils.host import facts, gather
from ansible_collections.ascend.inference.plugins.module_utils.install import bundle_files
from ansible_collections.ascend.inference.plugins.module_utils.tools import disk

MIB = 2**20
# Each number is another one, and the sizes of block and fragment differ as well.
TABLE = {
    "f_bsize": 8 * MIB,
    "f_frsize": 2 * MIB,
    "f_blocks": 1000,
    "f_bfree": 300,
    "f_bavail": 250,
    "f_files": 90,
    "f_ffree": 40,
    "f_favail": 30,
    "f_flag": 0,
}


def made_up(monkeypatch, **more):
    asked = []
    table = type("Table", (), dict(TABLE, **more))
    monkeypatch.setattr(os, "statvfs", lambda path: asked.append(str(path)) or table)
    return asked


def test_what_is_reserved_for_root_does_not_count(monkeypatch, tmp_path):
    asked = made_up(monkeypatch)
    below = str(tmp_path / "not" / "there")
    assert bundle_files.free(below) == 500 * MIB
    assert facts.disk(below)["free_mib"] == 500 and facts.disk(below)["free_inodes"] == 30
    assert "500 MiB free" in disk.explained(OSError(28, "No space left on device"), below)
    assert set(asked) == {str(tmp_path)}, "the disk of the next folder that exists"
    assert gather.shared_memory(below) == 2000, "its whole size, whatever is used"


def test_a_program_that_does_not_say_that_the_disk_is_full_is_not_the_whole_cause(monkeypatch, tmp_path):
    """``python -m venv`` says that ensurepip returned 1, and nothing else."""
    error = "python -m venv ended with 1: Command ensurepip returned non-zero exit status 1."
    made_up(monkeypatch)
    assert disk.explained(OSError(error), str(tmp_path)) == error
    made_up(monkeypatch, f_bavail=1)
    text = disk.explained(OSError(error), str(tmp_path))
    assert text.startswith(error) and "MiB free, which may be the cause" in text and "Fix: free space there" in text


def test_a_file_system_that_makes_inodes_as_needed_has_no_number_of_them(monkeypatch, tmp_path):
    made_up(monkeypatch, f_files=0, f_favail=0)
    assert facts.disk(str(tmp_path))["free_inodes"] is None
    made_up(monkeypatch, f_favail=0)
    assert facts.disk(str(tmp_path))["free_inodes"] == 0, "none is left"
