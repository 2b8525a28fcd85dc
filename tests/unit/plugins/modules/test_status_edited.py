# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""status names files that somebody edited or removed on a host after they were written."""

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import (
    edited,
    journal,
    manifest,
)
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import PLAN_VERSION

QUESTION = {
    "deployment": "x",
    "runtime": "supervisor",
    "runtime_settings": {"socket": "/nonexistent/s"},
    "digest": "p",
    "exposure": [],
    "services": [],
}


@pytest.fixture
def base(tmp_path, run_module):
    folder = tmp_path / "root" / "deployments" / "x"
    folder.parent.mkdir(parents=True)
    plan = json.dumps({"plan_version": PLAN_VERSION, "digest": "p", "release": "1.0", "question": QUESTION})
    files = [{"path": str(folder / name), "content": name} for name in ("run.sh", "conf", "secrets.sh")]
    files.append({"path": str(folder / "plan.json"), "content": plan})
    run_module(
        "service_files",
        directory=str(folder),
        name="services",
        folders=[{"path": str(folder)}],
        files=files,
    )
    return folder


def findings(run_module, base):
    result = run_module("service_status", directory=str(base), host="n1")
    return [text for text in result["findings"] if "on this host since" in text]


def test_files_as_they_were_written_are_no_finding(run_module, base):
    (base / "notes.txt").write_text("somebody's own")
    assert findings(run_module, base) == []


def test_edited_and_removed_files_are_named(run_module, base):
    (base / "run.sh").write_text("#!/bin/sh\nexit 1\n")
    os.unlink(base / "secrets.sh")
    changed, gone = findings(run_module, base)
    assert changed.startswith(f"{base}/run.sh was edited on this host since it was written")
    assert gone.startswith(f"{base}/secrets.sh was removed on this host since it was written")
    assert "conf" not in changed + gone and "Fix: " in changed and "exit 1" not in changed


def test_many_are_counted(run_module, base):
    for name in ("run.sh", "conf", "secrets.sh"):
        (base / name).write_text("other")
    listed = manifest.read(os.open(base, os.O_RDONLY), "services")
    assert len(listed["files"]) == 4
    found = edited.edited(str(base))
    assert [os.path.basename(path) for path, _there in found] == ["conf", "run.sh", "secrets.sh"]


def test_a_file_that_a_run_is_writing_is_none(run_module, base):
    """Between the note and the write the manifest has both contents."""
    folder = os.open(base, os.O_RDONLY)
    listed = manifest.read(folder, "services")
    old = listed["files"][str(base / "conf")]["digests"]
    listed["files"][str(base / "conf")]["digests"] = [*old, manifest.digest(b"new")]
    manifest.write(folder, "services", listed)
    os.close(folder)
    (base / "conf").write_text("new")
    assert edited.edited(str(base)) == []


def test_a_file_that_is_no_longer_planned_is_none(run_module, base):
    run_module("service_files", directory=str(base), name="services", folders=[{"path": str(base)}], files=[])
    os.unlink(base / "conf")
    assert edited.edited(str(base)) == []


def test_files_that_an_interrupted_run_has_not_written_were_not_removed(run_module, base):
    """It lists new files before it writes them."""
    (base / "run.sh").write_text("other")
    os.unlink(base / "conf")
    journal.note(str(base), journal.CHANGING, {"digest": "p", "release": "1.0"}, {"id": "r"})
    (found,) = findings(run_module, base)
    assert "run.sh was edited" in found and "conf" not in found


def test_a_plan_that_cannot_be_read_is_named_once(run_module, base):
    (base / "plan.json").write_text("{")
    result = run_module("service_status", directory=str(base), host="n1", planned=QUESTION)
    assert len([text for text in result["findings"] if "plan.json" in text]) == 1
