# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files in the deployment's folder that a service's user wrote are neither carried out nor believed by root.

The folder belongs to root, but an older version gave it to that user, who may have left files in it.
"""

from __future__ import annotations

import json
import os
import pwd

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import journal, manifest, tree, whole_removal

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
