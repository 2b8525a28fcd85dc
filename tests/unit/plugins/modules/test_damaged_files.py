# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock, journal, plan or manifest of root that a disk damaged is none: no module ends with an error of Python, and nothing is removed by it."""

from __future__ import annotations

import os
import threading

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import deployment_lock

DAMAGED = {
    "deep": "[" * 100_000,
    "cut": '{"phase": "ver',
    "digits": '{"phase": "changing", "verified": ' + "9" * 5000 + "}",
    "list": "[1]",
    "null": "null",
    "text": '"x"',
    "zeros": "\0" * 100,
    "no text": "\xff\xfe",
    "other forms": '{"phase": "changing", "plan": [1], "verified": "x", "run": 7, "digest": ["a"], "id": 5, "files": {"/a": 1}, "folders": {}}',
    "phase": '{"phase": {"a": 1}, "files": {}, "folders": {"/a": null}}',
    "links": '{"phase": "verified", "verified": 3, "plan": null, "files": {}, "folders": {}, "links": {"/a": 1}, "backups": [[]]}',
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize(
    "name", ["journal.json", "verified.json", "before.json", "plan.json", ".services.manifest.json", ".lock"]
)
def test_no_module_ends_with_an_error_of_python(run_module, tmp_path, name, text):
    base = tmp_path / "root" / "deployments" / "sample"
    file = base.parent / ".sample.lock" if name == ".lock" else base / name
    base.mkdir(parents=True)
    (base / "precious").touch()
    calls = [
        (
            "deployment_run",
            # Without accept_half a damaged journal is refused, see test_journal_damaged.py.
            {
                "state": state,
                "previous": previous,
                "verified": digest,
                "run": {"id": "r1"},
                "check": check,
                "accept_half": True,
            },
        )
        for state, previous, digest, check in [
            ("begin", "upgrade", "", True),
            ("begin", "rollback", "", False),
            ("end", "", "d1", False),
        ]
    ]
    plan = [{"path": str(base / "plan.json"), "content": "{}\n"}]
    calls += [
        (
            "service_files",
            {"name": "services", "files": plan, "sets": ["services"], "phase": "changing", "plan": {}, "run": {}},
        )
    ]
    calls += [("service_files", {"name": "services", "state": "absent", "check": True})]
    for module, given in calls:
        file.write_bytes(text.encode("latin-1"))
        os.chmod(file, 0o600)
        check = {"check": True} if given.pop("check", False) else {}
        done = run_module(module, directory=str(base), **given, **check)
        assert not done["failed"], (module, done.get("msg"))
    assert (base / "precious").exists()


@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_something_else_in_place_of_a_lock_is_an_error_and_holds_up_no_run(tmp_path, kind):
    base, result = str(tmp_path / "deployments" / "sample"), []
    path = deployment_lock.path_of(base)
    os.mkdir(tmp_path / "deployments")
    if kind == "link":
        (tmp_path / "victim").write_text('{"id": "r1"}')
        os.symlink(tmp_path / "victim", path)
    else:
        (os.mkfifo if kind == "pipe" else os.mkdir)(path)

    def attempt():
        result.append(deployment_lock.holder_of(base))
        try:
            result.append(deployment_lock.take(base, {"id": "r2"}))
        except OSError as error:
            result.append(error)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(10)
    assert len(result) == 2 and result[0] == {} and isinstance(result[1], OSError)
    assert kind != "link" or (tmp_path / "victim").read_text() == '{"id": "r1"}'
