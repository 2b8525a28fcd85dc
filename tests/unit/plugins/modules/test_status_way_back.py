# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""status names rollback as the way back wherever an upgrade was left."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import journal
from ansible_collections.ascend.inference.plugins.modules import service_status
from ansible_collections.ascend.inference.tests.unit.plugins.modules.test_journal import Deployment


@pytest.fixture
def host(tmp_path, run_module):
    made = Deployment(run_module, tmp_path / "root" / "deployments" / "sample")
    made.deploy("1.0")
    made.verify("1.0")
    return made


def findings(host):
    return service_status.unfinished(str(host.base))


@pytest.mark.parametrize("half", ["", "first", "second"])
def test_while_services_change(host, half):
    host.services("2.0", half=half)
    (text,) = findings(host)
    assert "a change to release 2.0" in text and "or rollback, which returns to release 1.0 (verified at 20" in text


def test_before_the_verification(host):
    host.deploy("2.0")
    (text,) = findings(host)
    assert "release 2.0 was deployed at 20" in text and "rollback returns to release 1.0 (verified at 20" in text
    host.verify("2.0")
    assert findings(host) == []


def test_also_if_the_journal_does_not_name_the_verified_plan(host):
    host.services("2.0")
    path = host.base / journal.JOURNAL
    known = json.loads(path.read_text())
    del known["verified"]
    path.write_text(json.dumps(known))
    assert findings(host)[0].endswith("or rollback, which returns to release 1.0")


def test_nothing_to_go_back_to_is_not_promised(tmp_path, run_module):
    host = Deployment(run_module, tmp_path / "root" / "deployments" / "sample")
    host.services("1.0")
    assert "rollback" not in findings(host)[0]
    host.plan("1.0")
    assert findings(host) == [], "a first deployment without a verification"


def test_a_deployment_of_the_verified_release_needs_no_way_back(host):
    host.services("1.0b")
    host.deploy("1.0")
    assert findings(host) == []
