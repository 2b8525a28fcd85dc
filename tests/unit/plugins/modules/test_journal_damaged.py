# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A damaged journal is no empty one: it may have said which half of the instances an interrupted upgrade had begun to change."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("ansible.errors", reason="a target plans nothing")

from ansible_collections.ascend.inference.plugins.module_utils.files import deployment_lock, journal
from ansible_collections.ascend.inference.plugins.modules import service_status
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle import rollback
from ansible_collections.ascend.inference.tests.unit.plugins.modules.test_journal import Deployment
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_halves import cpu
from ansible_collections.ascend.inference.tests.unit.test_halves_known import locks

CONTENTS = ["", "{", "[]", "{}", '{"phase": 1}', '{"phase": "chang"}', '{"phase": "changing", "half": ["first"]}']


@pytest.fixture
def host(tmp_path, run_module):
    made = Deployment(run_module, tmp_path / "root" / "deployments" / "sample")
    made.deploy("1.0")
    made.verify("1.0")
    return made


def damaged(host, content="{"):
    (host.base / journal.JOURNAL).write_text(content)


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("content", CONTENTS)
def test_a_run_that_could_mix_halves_is_refused(host, content, check):
    damaged(host, content)
    found = host.begin(check=check)
    assert found["failed"] and str(host.base / journal.JOURNAL) in found["msg"]
    assert "Fix: run deploy with the settings of the last run" in found["msg"]
    assert deployment_lock.holder_of(str(host.base)) == {}, "the lock is released"
    assert host.half == journal.UNKNOWN


@pytest.mark.parametrize("kind", ["link", "folder", "of another"])
def test_what_cannot_be_believed_is_refused_as_well(host, kind):
    path = host.base / journal.JOURNAL
    if kind == "of another":
        os.chmod(path, 0o666)
    else:
        path.unlink()
        path.symlink_to("/dev/null") if kind == "link" else path.mkdir()
    assert host.begin()["failed"]
    path.rmdir() if kind == "folder" else path.unlink()
    assert not host.begin()["failed"], "without a file nothing was noted"


def test_upgrade_and_rollback_are_told_and_go_on(host):
    damaged(host)
    for purpose in ("upgrade", "rollback"):
        found = host.begin(previous=purpose, accept_half=True)
        assert not found["failed"] and (found["half"], found["interrupted"]) == (journal.UNKNOWN, journal.UNKNOWN)
        assert found["previous"]["release"] == "1.0"
        assert any("journal.json is damaged" in text for text in found["warnings"])


def test_it_stays_unknown_until_a_plan_is_recorded(host):
    damaged(host)
    assert not host.verify("1.0"), "a verification does not say that no other half runs"
    assert host.half == journal.UNKNOWN
    host.services("2.0")
    found = host.begin()
    assert host.phase == "changing" and host.half == journal.UNKNOWN
    assert found["failed"] and "was damaged when a change began that has not ended" in found["msg"]
    host.services("3.0", half="first")
    assert host.half == "first", "this run knows it"
    host.plan("3.0")
    assert (host.phase, host.half) == ("deployed", "") and not host.begin()["failed"]
    assert host.verify("3.0")


def test_a_run_without_changes_writes_it_again(host):
    damaged(host)
    assert not host.plan("1.0")
    assert (host.phase, host.half) == ("deployed", "")


def test_status_names_the_file_and_the_way_out(host):
    damaged(host)
    (text,) = service_status.unfinished(str(host.base))
    assert str(host.base / journal.JOURNAL) in text and "run deploy" in text and "rollback" in text


@pytest.mark.parametrize("name", ["restart", "drill", "watchdog", "bench", "trace", "compare"])
def test_these_playbooks_take_the_lock_that_refuses(name):
    found, _early = locks(name)
    assert found and not any(found)


def test_rollback_looks_for_halves_only_where_they_could_be():
    could, could_not = cpu(), {"n1": {}, "n2": cpu(routers=1)}
    assert rollback.halved(["", "first"], {"n1": could})
    assert rollback.halved(["", "unknown"], {"n1": could})
    assert not rollback.halved(["", ""], {"n1": could})
    assert not rollback.halved(["unknown"], could_not)
