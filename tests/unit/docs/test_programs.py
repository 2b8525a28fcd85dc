# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of docs/ explain their options, and write nothing for a word that they do not know."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).resolve().parents[3] / "docs").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("option, status", [("--help", 0), ("--wirte", 2)])
def test_an_option_is_explained_or_refused(program, option, status, tmp_path):
    done = subprocess.run(
        [sys.executable, str(program), option], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == status and "usage:" in done.stdout + done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []
