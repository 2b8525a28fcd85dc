# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""status names rollback as the way back wherever an upgrade was left."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import journal
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import PLAN_VERSION
from ansible_collections.ascend.inference.plugins.modules import service_status
from ansible_collections.ascend.inference.tests.unit.plugins.modules.test_journal import RUN, Deployment

QUESTION = {
    "deployment": "sample",
    "runtime": "supervisor",
    "runtime_settings": {"socket": "/nonexistent/s"},
    "digest": "d",
    "exposure": [],
    "services": [],
}


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


def untried(host, release):
    """Of the plan on the host; the findings do not say it as well."""
    found = service_status.untried(str(host.base), {"digest": "d-" + release, "release": release.rstrip("ab")})
    assert not (found and findings(host))
    return found


def settings(host, name):
    """Deploy other settings of release 1.0."""
    about = {"digest": "d-" + name, "release": "1.0"}
    for phase in ("changing", "deployed"):
        journal.note(str(host.base), phase, about, RUN)
    (host.base / "plan.json").write_text(json.dumps(about))


def test_other_settings_that_were_not_verified_are_named(host):
    assert untried(host, "1.0") == {}
    settings(host, "1.0b")
    found = untried(host, "1.0b")
    assert (found["digest"], found["release"], found["since"][:2]) == ("d-1.0b", "1.0", "20")
    assert (found["verified"]["digest"], found["verified"]["since"][:2]) == ("d-1.0", "20")
    host.verify("1.0b")
    assert untried(host, "1.0b") == {}


def test_a_first_deployment_that_was_not_verified_is_named(tmp_path, run_module):
    host = Deployment(run_module, tmp_path / "root" / "deployments" / "sample")
    host.deploy("1.0")
    assert untried(host, "1.0")["verified"] == {}


def test_another_release_and_a_change_that_has_not_ended_are_findings(host):
    host.services("1.0b")
    assert findings(host) and untried(host, "1.0") == {}
    host.deploy("2.0")
    assert findings(host) and untried(host, "2.0") == {}
    (host.base / journal.JOURNAL).write_text("{")
    assert findings(host) and untried(host, "2.0") == {}
    (host.base / journal.JOURNAL).unlink()
    assert untried(host, "2.0") == {}, "nothing is known"


def test_the_module_returns_it(host, run_module):
    settings(host, "1.0b")
    plan = {"plan_version": PLAN_VERSION, "digest": "d-1.0b", "release": "1.0", "question": QUESTION}
    (host.base / "plan.json").write_text(json.dumps(plan))
    done = run_module("service_status", directory=str(host.base), host="n1")
    assert done["unverified"]["digest"] == "d-1.0b" and done["unverified"]["verified"]["digest"] == "d-1.0"
    host.verify("1.0b")
    assert run_module("service_status", directory=str(host.base), host="n1")["unverified"] == {}
