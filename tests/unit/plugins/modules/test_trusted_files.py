# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files in the deployment's folder that a service's user wrote are neither carried out nor believed by root.

The folder belongs to root, but an older version gave it to that user, who may have left files in it.
"""

from __future__ import annotations

import errno
import grp
import json
import os
import pathlib
import pwd
import struct

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import (
    journal,
    manifest,
    tree,
    trust,
    whole_removal,
)
from ansible_collections.ascend.inference.plugins.module_utils.status import plan as status_plan
from ansible_collections.ascend.inference.plugins.modules import service_files

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


GROUP = 4242  # of nobody's, made up: the kernel needs no entry of it
ACLS = {  # (tag, rights, id): owner, a named user or group, owning group, mask, others
    "user": [(1, 7, -1), (2, 7, NOBODY.pw_uid), (4, 5, -1), (16, 7, -1), (32, 5, -1)],
    "group": [(1, 7, -1), (4, 5, -1), (8, 7, GROUP), (16, 7, -1), (32, 5, -1)],
}


def allow(path, entries, kind=trust.ACL):
    """Give a folder an access control list, as setfacl does."""
    content = struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, rights, who % 2**32) for tag, rights, who in entries
    )
    try:
        os.setxattr(str(path), kind, content)
    except OSError:
        pytest.skip("this disk has no access control lists")


def found(path, gids=(GROUP,)):
    return trust.distrusted(str(path / "deployments" / "one"), NOBODY.pw_uid, gids)


def test_a_folder_that_a_group_of_the_services_user_can_write_is_no_place_for_the_tree(tmp_path):
    """Whoever can write to a folder can rename the deployments in it and put other scripts and units' files in their place."""
    os.chown(str(tmp_path), 0, GROUP)
    tmp_path.chmod(0o775)
    assert found(tmp_path) == [str(tmp_path)] and found(tmp_path, [1]) == []
    tmp_path.chmod(0o1775)  # sticky: only owners replace what is in there
    assert found(tmp_path) == []
    tmp_path.chmod(0o755)
    assert found(tmp_path) == []


@pytest.mark.parametrize("kind", ACLS)
def test_an_access_control_list_for_the_services_user_counts_as_well(tmp_path, kind):
    allow(tmp_path, ACLS[kind])
    assert found(tmp_path) == [str(tmp_path)] and trust.shared(str(tmp_path)) == [str(tmp_path)]
    others = [(tag, rights if tag not in (2, 8) else 5, who) for tag, rights, who in ACLS[kind]]
    allow(tmp_path, others)
    assert found(tmp_path) == [] and trust.shared(str(tmp_path)) == []


@pytest.mark.parametrize(
    ("kind", "untrusted"),
    [
        ("user", True),
        ("group", True),
        ("masked", False),
        ("reading", False),
        ("others", True),
        ("owning group", False),
        ("owning group of setgid", True),
    ],
)
def test_a_list_for_what_is_made_in_a_folder_counts_as_well(tmp_path, kind, untrusted):
    """No umask applies to what is made there: a virtual environment, whose packages root imports, would be writable."""
    entries = {
        **ACLS,
        "masked": [entry if entry[0] != 16 else (16, 5, -1) for entry in ACLS["user"]],
        "reading": [entry if entry[0] != 2 else (2, 5, NOBODY.pw_uid) for entry in ACLS["user"]],
        "others": [(1, 7, -1), (4, 5, -1), (32, 7, -1)],
        "owning group": [(1, 7, -1), (4, 7, -1), (32, 5, -1)],
        "owning group of setgid": [(1, 7, -1), (4, 7, -1), (32, 5, -1)],
    }[kind]
    allow(tmp_path, entries, trust.DEFAULT_ACL)
    os.chown(str(tmp_path), 0, GROUP)
    tmp_path.chmod(0o2755 if "setgid" in kind else 0o1755)
    assert found(tmp_path) == ([str(tmp_path)] if untrusted else [])
    if kind in ("user", "others"):  # what the judgement is about
        (tmp_path / "venvs").mkdir()
        assert (tmp_path / "venvs").stat().st_mode & 0o022


def linked(tmp_path, mode, owner):
    """A folder of root, and a link to it in a folder with an owner and a mode."""
    (tmp_path / "data/big/deployments").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/root").symlink_to("../data/./big")
    os.chown(str(tmp_path / "home/root"), owner, -1, follow_symlinks=False)
    os.chown(str(tmp_path / "home"), owner if not mode & 0o1000 else 0, -1)
    (tmp_path / "home").chmod(mode)
    return tmp_path / "home/root"


@pytest.mark.parametrize(
    ("mode", "owner", "untrusted"),
    [
        (0o755, NOBODY.pw_uid, "home"),
        (0o777, 0, "home"),
        (0o1777, NOBODY.pw_uid, "home/root"),
        (0o1777, 0, ""),
        (0o755, 0, ""),
    ],
)
def test_a_link_on_the_way_counts_by_who_can_replace_it(tmp_path, mode, owner, untrusted):
    """What the link leads to now says nothing about where it leads when root writes, or runs a package."""
    root, expected = linked(tmp_path, mode, owner), [str(tmp_path / untrusted)] if untrusted else []
    assert found(root) == expected
    assert trust.shared(str(root / "package.run")) == expected
    (tmp_path / "home/loop").symlink_to("loop")
    assert str(tmp_path / "data") not in found(tmp_path / "home/loop")


def test_root_writes_no_file_where_a_group_of_the_services_user_can_replace_it(tmp_path, run_module, monkeypatch):
    monkeypatch.setattr(service_files, "groups_of", lambda uid: [GROUP])
    base = tmp_path / "shared" / "deployments" / "one"
    base.parent.parent.mkdir()
    os.chown(str(base.parent.parent), 0, GROUP)
    base.parent.parent.chmod(0o775)
    asked = {"directory": str(base), "name": "plan", "service_owner": "nobody", "owner": "root"}
    refused = run_module("service_files", **asked, folders=[{"path": str(base), "mode": "0750"}])
    assert refused["failed"] and "one of its groups" in refused["msg"] and not base.parent.exists()


def test_the_group_of_the_devices_is_one_of_the_services_user(tmp_path, run_module, monkeypatch):
    """Its user is no member of it in the database: units and containers of engines name it."""
    group = next(entry for entry in grp.getgrall() if entry.gr_gid not in (0, NOBODY.pw_gid))
    monkeypatch.setattr(service_files, "driver_group", lambda: group.gr_name)
    os.chown(str(tmp_path), 0, group.gr_gid)
    base = tmp_path / "deployments" / "one"
    asked = {"directory": str(base), "name": "plan", "service_owner": "nobody", "owner": "root"}
    for mode, refused in ((0o775, True), (0o755, False)):
        tmp_path.chmod(mode)
        done = run_module("service_files", **asked, folders=[{"path": str(base), "mode": "0750"}])
        assert done["failed"] == refused and base.exists() != refused, done
    monkeypatch.setattr(service_files, "driver_group", str)
    assert group.gr_gid not in service_files.groups_of(NOBODY.pw_uid) and service_files.groups_of(4242424) == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (errno.EACCES, "so become is needed although nothing is changed. Fix: run with --become"),
        (errno.EIO, "error. Fix: correct that"),
    ],
)
def test_who_may_not_read_the_plan_is_told_why(base, run_module, monkeypatch, error, said):
    def refused(*_given, **_more):
        raise OSError(error, os.strerror(error))

    plant(base / "plan.json", PLAN)
    monkeypatch.setattr(status_plan.tree, "look", refused)
    found = run_module("deployed_plan_info", directory=str(base))
    assert found["failed"] and said in found["msg"], found
