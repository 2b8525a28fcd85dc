# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A full disk on a host: status names it before anybody changes something, and modules that meet it in the middle of a change say where it is."""

from __future__ import annotations

import errno
import json
import os

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools import disk, foreign_file
from ansible_collections.ascend.inference.plugins.modules import engine_watchdog, router_members, service_state
from ansible_collections.ascend.inference.tests.unit.plugins.modules.test_status_edited import PLAN_VERSION, QUESTION


@pytest.fixture
def full(monkeypatch):
    """The disk of all folders has no space left."""
    monkeypatch.setattr(os, "statvfs", lambda path: type("Found", (), {"f_bavail": 0, "f_frsize": 4096}))


def no_space(*unused, **more):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def status(run_module, base):
    return [text for text in run_module("service_status", directory=str(base), host="n1")["findings"] if "MiB" in text]


def test_status_names_a_full_disk(run_module, tmp_path, monkeypatch):
    base = tmp_path / "deployments/x"
    base.mkdir(parents=True)
    (base / "plan.json").write_text(
        json.dumps({"plan_version": PLAN_VERSION, "digest": "p", "release": "1.0", "question": QUESTION})
    )
    for blocks, named in ((4096 * disk.LITTLE // 16, False), (256 * disk.LITTLE - 1, True)):
        monkeypatch.setattr(os, "statvfs", lambda path, n=blocks: type("Found", (), {"f_bavail": n, "f_frsize": 4096}))
        found = status(run_module, base)
        assert bool(found) is named, found
    assert found[0].startswith(f"{base} is on a disk with 15 MiB free. Services cannot write what they log")
    assert found[0].endswith("Fix: free space there")


def test_what_meets_a_full_disk_says_where(run_module, full, tmp_path, monkeypatch):
    monkeypatch.setattr(router_members, "reconcile", no_space)
    given = {"api": "workers", "url": "http://127.0.0.1:1", "away": str(tmp_path / "away")}
    members = run_module("router_members", **given)
    monkeypatch.setattr(service_state, "registered", no_space)
    settings = {"target": "x.target", "directory": str(tmp_path)}
    state = run_module("service_state", state="present", runtime="systemd", settings=settings)
    monkeypatch.setattr(engine_watchdog, "chosen", no_space)
    watchdog = run_module("engine_watchdog", directory=str(tmp_path), url="http://127.0.0.1:1")
    monkeypatch.setattr(foreign_file, "write", no_space)
    pause = run_module("probe_pause", file=str(tmp_path / "pause"), url="http://127.0.0.1:1", seconds=5)
    for result in (members, state, watchdog, pause):
        assert result["failed"] and f"{tmp_path} is on a disk with 0 MiB free" in result["msg"], result
        assert result["msg"].count("Fix: ") == 1 and "Fix: free space there" in result["msg"]
