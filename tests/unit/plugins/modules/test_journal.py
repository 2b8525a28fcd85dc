# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal on a host: at each moment at which the controller may die, the host knows what was verified last."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import deployment_lock, journal, tree

RUN = {"id": "r1", "owner": "anna", "controller": "bastion"}


class Deployment:
    """The calls of one host's role service and of the verification, with plans that are their release only."""

    def __init__(self, run_module, base):
        self.run_module, self.base = run_module, base

    def _write(self, name, release, phase, content, half="", revision="r", **more):
        path = {"services": "services/run.sh", "plan": "plan.json"}[name]
        done = self.run_module(
            "service_files",
            directory=str(self.base),
            name=name,
            folders=[{"path": str(self.base)}, {"path": str(self.base / "services")}] if name == "services" else [],
            files=[{"path": str(self.base / path), "content": content}],
            phase=phase,
            plan={"digest": "d-" + release, "release": release, "half": half, "revision": revision},
            run=RUN,
            **more,
        )
        assert not done["failed"], done["msg"]
        return done["changed"]

    def services(self, release, **more):
        return self._write("services", release, "changing", f"run {release}\n", **more)

    def plan(self, release, revision="r", **more):
        content = json.dumps({"digest": "d-" + release, "release": release, "revision": revision})
        return self._write("plan", release, "deployed", content, sets=["services", "plan"], revision=revision, **more)

    def verify(self, release):
        return self.run_module(
            "deployment_run", directory=str(self.base), state="end", verified="d-" + release, run=RUN
        )["verified"]

    def deploy(self, release):
        self.services(release)
        self.plan(release)

    def back(self, purpose):
        found = self.begin(previous=purpose)
        return found["previous"].get("release", "")

    def begin(self, run=None, **more):
        return self.run_module("deployment_run", directory=str(self.base), state="begin", run=run or RUN, **more)

    @property
    def half(self):
        """The unfinished half, as the lock and the decision on a pause read it."""
        directory = str(self.base)
        run = self.begin(previous="rollback", accept_half=True)
        found = self.run_module("deployed_plan_info", directory=directory, content=False)
        assert found["half"] == run["half"] and found["content"] == ""
        return run["half"]

    @property
    def revisions(self):
        """Those that engines may have, as the lock and the decision on a pause read it."""
        run = self.begin(previous="rollback", accept_half=True)
        found = self.run_module("deployed_plan_info", directory=str(self.base), content=False)
        assert found["revisions"] == run["revisions"] or not (self.base / "plan.json").exists()
        return run["revisions"]

    @property
    def phase(self):
        return journal.read(str(self.base)).get("phase", "")


@pytest.fixture
def host(tmp_path, run_module):
    return Deployment(run_module, tmp_path / "root" / "deployments" / "sample")


def test_phases_of_a_deployment(host):
    assert (host.phase, host.back("upgrade"), host.back("rollback")) == ("", "", "")
    host.services("1.0")
    assert (host.phase, host.back("upgrade"), host.back("rollback")) == ("changing", "", "")
    host.plan("1.0")
    assert (host.phase, host.back("upgrade"), host.back("rollback")) == ("deployed", "1.0", "")
    assert host.verify("1.0")
    assert (host.phase, host.back("upgrade"), host.back("rollback")) == ("verified", "1.0", "")


@pytest.mark.parametrize(
    ("steps", "phase"),
    [((), "verified"), (("services",), "changing"), (("services", "plan"), "deployed")],
)
def test_wherever_the_controller_dies_the_verified_plan_is_what_is_gone_back_to(host, steps, phase):
    host.deploy("1.0")
    host.verify("1.0")
    for step in steps:
        getattr(host, step)("2.0")
    assert (host.phase, host.back("upgrade")) == (phase, "1.0")
    assert host.back("rollback") == ("1.0" if steps else "")
    assert journal.read(str(host.base))["verified"]["release"] == "1.0"


def test_rollback_from_a_verified_plan_is_to_the_one_before(host):
    for release in ("1.0", "2.0"):
        host.deploy(release)
        host.verify(release)
    assert (host.back("upgrade"), host.back("rollback")) == ("2.0", "1.0")
    host.deploy("1.0")
    host.verify("1.0")
    assert (host.back("upgrade"), host.back("rollback")) == ("1.0", "2.0")


def test_a_run_that_changes_nothing_leaves_the_journal_alone(host):
    host.deploy("1.0")
    host.verify("1.0")
    before = {path.name: path.stat().st_mtime_ns for path in host.base.iterdir() if path.is_file()}
    assert not host.services("1.0") and not host.plan("1.0") and host.verify("1.0")
    assert {path.name: path.stat().st_mtime_ns for path in host.base.iterdir() if path.is_file()} == before
    host.services("2.0", check=True)
    assert host.phase == "verified"


def test_a_change_that_was_interrupted_is_noted_as_ended_by_the_next_run(host):
    host.deploy("1.0")
    host.services("2.0")
    host.services("1.0")
    assert host.phase == "changing" and not host.plan("1.0"), "plan.json itself is the old one"
    assert host.phase == "deployed"


def test_an_upgrade_by_halves_that_did_not_end_is_known_until_a_change_has_ended(host):
    host.deploy("1.0")
    host.verify("1.0")
    assert host.half == ""
    host.services("2.0", half="first")
    assert host.half == "first"
    host.services("3.0")
    assert host.half == "first", "a change that was interrupted, too"
    host.services("2.0", half="second")
    assert host.half == "second"
    host.plan("2.0")
    assert host.half == "" and "half" not in journal.read(str(host.base))


def test_the_revisions_that_engines_may_have_are_known_until_a_change_has_ended(host):
    host.services("1.0", revision="a")
    assert host.revisions == ["a"], "no plan is recorded"
    host.plan("1.0", revision="a")
    assert host.revisions == []
    host.services("2.0", revision="b")
    assert host.revisions == ["a", "b"], "the recorded plan's too"
    host.services("3.0", revision="c")
    host.services("1.0", revision="a")
    assert host.revisions == ["a", "b", "c"], "nobody knows how far each change came"
    host.plan("1.0", revision="a")
    assert host.revisions == [] and "revisions" not in journal.read(str(host.base))
    host.services("4.0", revision="a")
    assert host.revisions == ["a"]


@pytest.mark.parametrize("given", [None, ["a", 7], "a", []])
def test_a_journal_without_usable_revisions_says_that_any_may_run(host, given):
    host.services("1.0", revision="a")
    path = host.base / "journal.json"
    content = json.loads(path.read_text())
    content["revisions"] = given
    path.write_text(json.dumps(content))
    assert journal.UNKNOWN in host.revisions
    host.services("2.0", revision="a")
    assert journal.UNKNOWN in host.revisions, "nor does the next change know it"


@pytest.mark.parametrize("half", ["", "first"])
def test_a_verification_does_not_hide_a_change_that_was_interrupted(host, half):
    """Files of another plan are written, and the engines may still run with the deployed one."""
    for release in ("1.0", "2.0"):
        host.deploy(release)
        host.verify(release)
    host.services("3.0", half=half)
    assert not host.verify("2.0")
    assert (host.phase, host.half) == ("changing", half)
    found = host.begin(previous="rollback", accept_half=True)
    assert found["previous"]["release"] == "2.0", "a rollback would have gone to the plan before it"


@pytest.mark.parametrize("check", [False, True])
def test_who_does_not_know_halves_does_not_begin(host, check):
    host.deploy("1.0")
    host.verify("1.0")
    host.services("2.0")
    assert not host.begin(check=check)["failed"], "a change instance by instance"
    host.services("3.0", half="second")
    found = host.begin(check=check)
    assert found["failed"] and "change the second half" in found["msg"] and "Fix: run upgrade" in found["msg"]
    assert deployment_lock.holder_of(str(host.base)) == {}
    assert not host.begin(check=check, accept_half=True)["failed"]
    host.verify("1.0")  # ends the run
    host.begin(run={**RUN, "id": "r2"}, accept_half=True)
    found = host.begin(check=check)
    assert not found["failed"] and found["holder"]["id"] == "r2", "the action plugin says who changes it now"
    found = host.begin(check=check, replace="r2")
    assert found["failed"] and "change the second half" in found["msg"], "it has ended"


def test_another_plan_than_the_deployed_one_is_not_noted_as_verified(host):
    host.deploy("1.0")
    assert not host.verify("2.0") and host.phase == "deployed"


def test_nothing_is_noted_as_verified_where_no_plan_is(tmp_path):
    """A plan without a digest has the same one as none."""
    run = {"id": "r", "owner": "o", "controller": "c"}
    assert not journal.verified(str(tmp_path), "", run) and list(tmp_path.iterdir()) == []
    with journal.Folder(str(tmp_path)) as folder:
        folder.write(journal.PLAN, {"digest": "", "release": "1.0"})
    assert not journal.verified(str(tmp_path), "", run) and journal.read(str(tmp_path)) == {}


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_a_broken_journal_does_not_hide_the_plan_to_go_back_to(host, content):
    host.deploy("1.0")
    host.verify("1.0")
    (host.base / journal.JOURNAL).write_text(content)
    assert host.begin(previous="upgrade", accept_half=True)["previous"]["release"] == "1.0"


def test_the_journal_is_read_and_written_through_no_link(host, tmp_path):
    host.deploy("1.0")
    (tmp_path / "victim").write_text(json.dumps({"phase": "verified"}))
    (host.base / journal.JOURNAL).unlink()
    (host.base / journal.JOURNAL).symlink_to(tmp_path / "victim")
    assert host.phase == ""
    host.services("2.0")
    assert host.phase == "changing" and "changing" not in (tmp_path / "victim").read_text()
    moved = tmp_path / "moved"
    host.base.rename(moved)
    host.base.symlink_to(moved)
    with pytest.raises(tree.TreeError, match="symbolic link"):
        journal.read(str(host.base))


def test_removal_takes_the_journal_along(host):
    host.deploy("1.0")
    host.verify("1.0")
    host.deploy("2.0")
    host.verify("2.0")
    done = host.run_module("service_files", directory=str(host.base), name="plan", state="absent")
    assert done["kept"] == [] and not host.base.exists()


@pytest.mark.parametrize(("half", "again"), [("", "site again"), ("first", "upgrade with the same settings")])
def test_status_shows_a_change_that_has_not_ended(host, half, again):
    host.deploy("1.0")
    host.verify("1.0")
    host.services("2.0", half=half)
    asked = {"directory": str(host.base), "host": "h1"}
    planned = {
        "runtime": "docker",
        "runtime_settings": {"deployment": "x"},
        "deployment": "x",
        "directory": "",
        "digest": "",
        "services": [],
    }
    findings = host.run_module("service_status", planned=planned, **asked)["findings"]
    (text,) = [finding for finding in findings if "has not ended" in finding]
    assert (
        "a change to release 2.0 began at 20" in text
        and f"by anna on bastion) and has not ended. Fix: if it does not run any more, run {again}, or rollback" in text
        and "returns to release 1.0" in text
    )


def test_the_last_verified_plan_is_read_whatever_was_changed_since(host):
    for release in ("1.0", "2.0"):
        host.deploy(release)
        host.verify(release)
    assert (host.back("rollback"), host.back("verified")) == ("1.0", "2.0")
    host.services("3.0")
    assert (host.back("rollback"), host.back("verified")) == ("2.0", "2.0")


def test_a_verification_that_is_not_recorded_says_so(host):
    host.deploy("1.0")
    end = {"directory": str(host.base), "state": "end", "run": RUN}
    assert host.run_module("deployment_run", verified="d-1.0", **end)["warnings"] == []
    (other,) = host.run_module("deployment_run", verified="d-2.0", **end)["warnings"]
    assert "rollback will not know it" in other and "another plan than the verified one" in other
    host.services("2.0", half="first")
    (unfinished,) = host.run_module("deployment_run", verified="d-1.0", **end)["warnings"]
    assert "a change has not ended" in unfinished and "Fix: run status" in unfinished
    assert host.run_module("deployment_run", **end)["warnings"] == []


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize(
    ("text", "why"), [('{"plan_version": 1}', "written by another version of this collection"), ("{", "is not JSON")]
)
def test_status_does_not_take_a_plan_that_it_cannot_read_for_none(host, text, why, planned):
    host.deploy("1.0")
    (host.base / "plan.json").write_text(text)
    settings = {"runtime": "docker", "runtime_settings": {"deployment": "x"}, "deployment": "x", "directory": ""}
    given = {"planned": {**settings, "digest": "", "services": []}} if planned else {}
    found = host.run_module("service_status", directory=str(host.base), host="h1", **given)
    (finding,) = [finding for finding in found["findings"] if "plan.json" in finding]
    assert finding.startswith("the plan that is deployed on this host cannot be read: ") and why in finding
    assert "Fix: run ascend.inference.deploy" in finding and found["unreadable"]


def test_only_the_call_that_ends_the_run_releases_the_lock(host):
    lock = host.base.parent / ".sample.lock"
    host.back("upgrade")
    host.deploy("1.0")
    assert lock.exists()
    host.plan("1.0", unlock=True, check=True)
    assert lock.exists()
    host.plan("1.0", unlock=True)
    assert not lock.exists()
