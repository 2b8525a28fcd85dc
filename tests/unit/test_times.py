# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make times` writes measured times, and only those."""

from __future__ import annotations

import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("times_of_parts", ROOT / ".ci" / "times.py")
times = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(times)
TABLE = """\
| command | does | processor time |
|---|---|---|
| `make lint` | ruff | 15 s |
| `make molecule` | scenarios, see [README](README.md) | 1 min |
| `make bench` | measurements | 10 min |
| `make test` | all of these | 40 min |
"""


def test_measured_parts_replace_what_the_table_says():
    found = times.shown(TABLE, {"lint": (20, 31.4), "molecule-default": (90, 70), "molecule-docker_pd": (80, 80)})
    cells = [row.split(" | ")[-1].strip(" |") for row in found.splitlines()[2:]]
    assert cells == ["31 s", "2 min, 2 parts", "10 min", "3 min, 3 parts"]


def test_a_part_that_did_not_pass_keeps_its_earlier_time(tmp_path, monkeypatch):
    monkeypatch.setattr(times, "MEASURED", tmp_path / "times.json")
    assert times.measured() == {}
    times.keep({"lint": (20, 31), "units": (600, 900)})
    times.keep({"lint": (10, 11)})
    assert times.measured() == {"lint": [10, 11], "units": [600, 900]}


def test_the_table_has_a_row_for_each_command_that_is_a_part():
    rows = [row[2] for row in times.ROW.finditer((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))]
    assert {"lint", "units", "sanity", "molecule", "integration", "test"} <= set(rows)
