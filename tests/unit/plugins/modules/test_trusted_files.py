# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files in the deployment's folder that a service's user wrote are neither carried out nor believed by root.

The folder belongs to root, but an older version gave it to that user, who may have left files in it.
"""

from __future__ import annotations

import json
import os
import pathlib
import pwd

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import journal, manifest, tree, whole_removal
from ansible_collections.ascend.inference.plugins.module_utils.status import plan as status_plan

NOBODY = pwd.getpwnam("nobody")
PLAN = {"digest": "evil", "release": "1", "files": [{"path": "/etc/planted", "content": "x"}]}

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def base(tmp_path):
    folder = tmp_path / "deployments" / "sample"
    folder.mkdir(parents=True)
    return folder


def plant(path, content, uid=0, mode=0o600):
    path.write_text(json.dumps(content))
    os.chown(path, uid, -1)
    path.chmod(mode)


@pytest.mark.parametrize(("uid", "mode"), [(NOBODY.pw_uid, 0o600), (0, 0o666), (0, 0o620)])
@pytest.mark.parametrize("purpose", ["upgrade", "rollback"])
def test_a_planted_plan_is_nothing_to_go_back_to(base, purpose, uid, mode):
    names = ("verified.json", "before.json", "plan.json")
    for name in names:
        plant(base / name, PLAN)
    assert journal.previous(str(base), purpose) == PLAN
    for name in names:
        plant(base / name, PLAN, uid, mode)
    assert journal.previous(str(base), purpose) == {}


@pytest.mark.parametrize(("uid", "mode"), [(NOBODY.pw_uid, 0o600), (0, 0o666), (0, 0o620)])
def test_a_planted_plan_is_not_read(base, run_module, uid, mode):
    """Every playbook reads plan.json with this module: for plan --diff, the steps of a change, and the removal."""
    plant(base / "plan.json", PLAN)
    found = run_module("deployed_plan_info", directory=str(base))
    assert json.loads(found["content"]) == PLAN and not found["warnings"]
    plant(base / "plan.json", PLAN, uid, mode)
    found = run_module("deployed_plan_info", directory=str(base))
    assert (found["content"], found["failed"]) == ("", False)
    assert "is not a file that only root or the connected user can write" in found["warnings"][0]
    assert "is not a file that only root" in status_plan.deployed(str(base))[1]


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "link to the folder"])
def test_a_plan_that_is_no_file_is_not_read(base, run_module, tmp_path, kind):
    plant(tmp_path / "other.json", PLAN)
    place, directory = base / "plan.json", base
    if kind == "link":
        place.symlink_to(tmp_path / "other.json")
    elif kind == "pipe":
        os.mkfifo(str(place))  # a reader would wait for ever
    elif kind == "folder":
        place.mkdir()
    else:
        plant(place, PLAN)
        directory = base.with_name("linked")
        directory.symlink_to(base)
    found = run_module("deployed_plan_info", directory=str(directory))
    assert (found["content"], found["failed"], len(found["warnings"])) == ("", False, 1), found
    assert status_plan.deployed(str(directory))[0] is None


def test_a_missing_plan_is_no_warning(base, run_module):
    for directory in (base, base / "nowhere"):
        found = run_module("deployed_plan_info", directory=str(directory))
        assert (found["content"], found["failed"], found["warnings"]) == ("", False, []) and found["reason"]


def test_no_playbook_reads_the_plan_without_this_check():
    collection = pathlib.Path(__file__).resolve().parents[4]
    texts = [*collection.glob("playbooks/**/*.yml"), *collection.glob("roles/*/tasks/*.yml")]
    assert len(texts) > 50
    reads = [str(path) for path in texts if "/plan.json" in path.read_text() or "verified.json" in path.read_text()]
    assert reads == []


def test_a_planted_journal_is_not_believed(base):
    plant(base / "journal.json", {"phase": "verified"}, NOBODY.pw_uid)
    assert journal.read(str(base)) == {}


def test_a_planted_manifest_removes_nothing_and_is_replaced(base):
    precious = base / "precious"
    precious.write_text("of root")
    digests = [manifest.digest(b"of root")]
    content = {
        "files": {str(precious): {"digests": digests, "wanted": False}},
        "folders": {},
        "links": {},
        "backups": [],
    }
    place = base / manifest.file_name("services")
    plant(place, content, NOBODY.pw_uid)
    whole_removal.remove_deployment(str(base), False)
    assert precious.exists()
    text = json.dumps(manifest.empty(), indent=1, sort_keys=True) + "\n"
    place.write_text(text)
    os.chown(place, NOBODY.pw_uid, -1)
    place.chmod(0o600)
    folder = tree.open_folder(str(base), str(base))
    manifest.write(folder, "services", manifest.empty())
    os.close(folder)
    assert place.stat().st_uid == 0
