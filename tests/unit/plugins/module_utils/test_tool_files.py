# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that others may have written or hold: what is read of them, locks, manifests, folders of our own, mounts, trust in folders."""

from __future__ import annotations

import json
import os
import resource
import stat
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import (
    begun,
    manifest,
    mounts,
    own_folder,
    tree,
    trust,
)
from ansible_collections.ascend.inference.plugins.module_utils.tools import (
    credentials,
    file_lock,
    finding,
    foreign_file,
    foreign_json,
)


def test_a_file_is_read_up_to_its_bound_and_replaced_in_one_step(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x\xffyz")
    assert foreign_file.read(str(path), 3) == "x\ufffdy"
    for mode in (0o600, 0o644):
        foreign_file.write(str(path), "new", mode)
        assert path.read_text() == "new" and stat.S_IMODE(path.stat().st_mode) == mode
    foreign_file.write(str(path), "again")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and [item.name for item in tmp_path.iterdir()] == ["a"]
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        foreign_file.write(str(tmp_path / "folder"), "x")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a", "folder"]


@pytest.mark.parametrize(
    ("kind", "follow", "good"),
    [
        ("link", False, False),
        ("link", True, True),
        ("pipe", False, False),
        ("pipe", True, False),
        ("second name", False, True),
    ],
)
def test_what_is_opened(tmp_path, kind, follow, good):
    (tmp_path / "file").write_text("x")
    path = tmp_path / "it"
    if kind == "pipe":
        os.mkfifo(str(path))
    elif kind == "link":
        path.symlink_to("file")
    else:
        os.link(str(tmp_path / "file"), str(path))
    if good:
        with foreign_file.opened(str(path), follow) as stream:
            assert stream.read() == b"x"
    else:
        with pytest.raises(OSError):
            foreign_file.opened(str(path), follow)


def test_a_second_name_of_another_users_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    os.link(str(tmp_path / "file"), str(tmp_path / "second"))
    for owner, good in ((os.geteuid(), True), (os.geteuid() + 1, False)):
        descriptor = os.open(str(tmp_path / "second"), os.O_RDONLY)
        folder = types.SimpleNamespace(st_uid=owner)
        if good:
            foreign_file._regular(descriptor, "second", lambda folder=folder: folder).close()
        else:
            with pytest.raises(OSError, match="a second name of another user's file"):
                foreign_file._regular(descriptor, "second", lambda folder=folder: folder)
            with pytest.raises(OSError):
                os.fstat(descriptor)


def test_no_folder_on_the_way_may_be_a_link(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "f").write_text("x")
    (tmp_path / "l").symlink_to("a")
    with foreign_file.opened_below(str(tmp_path), str(tmp_path / "a/b/f")) as stream:
        assert stream.read() == b"x"
    with pytest.raises(OSError):
        foreign_file.opened_below(str(tmp_path), str(tmp_path / "l/b/f"))
    with foreign_file.opened_below(str(tmp_path / "l"), str(tmp_path / "l/b/f")) as stream:
        assert stream.read() == b"x"


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0, 0),
        (-1.5, -1.5),
        (10**15, 10**15),
        (-(10**15), -(10**15)),
        (10**15 + 1, None),
        (True, None),
        ("1", None),
        (None, None),
        (float("inf"), None),
    ],
)
def test_what_can_be_calculated_with(value, number):
    assert foreign_json.number(value) == number
    assert foreign_json.number(float("nan")) is None


def test_a_lock_is_waited_for_and_names_its_holder(tmp_path, monkeypatch):
    path, slept = str(tmp_path / "lock"), []
    times = [0.0]

    def sleep(seconds):
        slept.append(seconds)
        times[0] += seconds

    monkeypatch.setattr(file_lock, "time", types.SimpleNamespace(sleep=sleep, monotonic=lambda: times[0]))
    with file_lock.FileLock(path, 0) as lock:
        assert lock.text() == ""
        lock.write("a long text")
        lock.write("short")
        assert lock.text() == "short"
        lock.sign()
        with pytest.raises(
            file_lock.Busy, match=f"held by process {os.getpid()} on .* since more than 1 s"
        ), file_lock.FileLock(path, 1, 0.5):
            raise AssertionError("two hold it")
        assert slept == [0.5, 0.5]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600 and lock.descriptor == -1
    with file_lock.FileLock(path, 0):
        os.truncate(path, 0)
        with pytest.raises(file_lock.Busy, match="held by another process since"), file_lock.FileLock(path, 0):
            raise AssertionError("two hold it")


def test_a_record_that_does_not_fit_leaves_the_former_one(tmp_path):
    """As on a full disk: a lock without a record is nobody's, and another run would take it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with file_lock.FileLock(str(tmp_path / "lock"), 0) as lock:
        lock.write("of this run")
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        try:
            with pytest.raises(OSError, match="too large"):
                lock.write("x" * 8192)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert lock.text() == "of this run"


def test_a_lock_whose_file_was_removed_meanwhile_is_none(tmp_path):
    path = tmp_path / "lock"
    with file_lock.FileLock(str(path), 0):
        path.unlink()
        with file_lock.FileLock(str(path), 0) as second:  # a new file, so the first one protects nothing
            assert second.descriptor >= 0
    os.mkfifo(str(tmp_path / "pipe"))
    with pytest.raises(OSError, match="not a regular file"), file_lock.FileLock(str(tmp_path / "pipe"), 0):
        raise AssertionError("a pipe is no lock")


OLD = {
    "files": {"a": {"digests": ["1"], "wanted": True}, "b": {"digests": ["2"], "wanted": True}},
    "folders": {"f": {"service": True, "wanted": True}},
    "links": {"l": "old", "m": "kept"},
    "backups": ["y"],
}


def test_a_manifest_keeps_what_is_no_longer_wanted_until_it_is_removed():
    new = manifest.following(OLD, {"b": b"text"}, {"g": False}, {"l": "new"}, ["z", "x", "y"])
    digest = manifest.digest(b"text")
    assert new == {
        "files": {"a": {"digests": ["1"], "wanted": False}, "b": {"digests": [digest], "wanted": True}},
        "folders": {"f": {"service": True, "wanted": False}, "g": {"service": False, "wanted": True}},
        "links": {"l": "new", "m": "kept"},
        "backups": ["x", "y", "z"],
    }
    during = manifest.during(OLD, manifest.following(OLD, {"b": b"text", "c": b""}, {}))
    assert during["files"]["b"]["digests"] == sorted(["2", digest]) and during["files"]["a"]["digests"] == ["1"]
    assert during["files"]["c"]["digests"] == [manifest.digest(b"")]
    assert manifest.following(OLD, {}, {})["backups"] == ["y"] and OLD["files"]["a"]["wanted"]


@pytest.mark.parametrize(
    ("changes", "sound"),
    [
        ({}, True),
        ({"more": 1}, True),
        ({"files": []}, False),
        ({"files": {"a": {"digests": "1", "wanted": True}}}, False),
        ({"files": {"a": {"digests": ["1"]}}}, False),
        ({"files": {"a": []}}, False),
        ({"folders": {"f": {"service": True}}}, False),
        ({"folders": {"f": {"wanted": True}}}, False),
        ({"links": {"l": 1}}, False),
        ({"backups": [1]}, False),
        ({"backups": {}}, False),
    ],
)
def test_a_manifest_of_another_form_is_empty(tmp_path, changes, sound):
    folder = os.open(str(tmp_path), os.O_RDONLY)
    try:
        (tmp_path / ".s.manifest.json").write_text(json.dumps({**OLD, **changes}))
        (tmp_path / ".s.manifest.json").chmod(0o600)
        assert manifest.read(folder, "s") == (OLD if sound else manifest.empty())
        assert manifest.read(folder, "other") == manifest.empty() == manifest.read(None, "s")
    finally:
        os.close(folder)


def test_names_of_sets():
    assert manifest.set_names(["a", ".b.manifest.json", "c.manifest.json", ".a.manifest.json", ".d.json"]) == ["a", "b"]
    assert manifest.file_name("a") == ".a.manifest.json"


def test_hosts_of_runs_are_added_sorted_and_forgotten(tmp_path):
    base = str(tmp_path)
    begun.note(base, ["b", "a"])
    begun.note(base, ["c", "a"])
    assert begun.read(base) == ["a", "b", "c"]
    assert (tmp_path / "begun.json").read_text() == '{"hosts": ["a", "b", "c"], "placement": {}}\n'
    begun.forget(base)
    begun.forget(base)
    assert begun.read(base) == [] and not (tmp_path / "begun.json").exists()
    begun.note(base + "/none", ["a"])
    assert begun.read(base + "/none") == [] and not (tmp_path / "none").exists()


def test_only_a_folder_with_our_mark_is_removed(tmp_path):
    path = tmp_path / "t"
    content = own_folder.begin(str(path), 0o750)
    assert stat.S_IMODE(os.stat(content).st_mode) == 0o750 and own_folder.begin(str(path)) == content
    assert own_folder.is_own(str(path))
    (path / "link").symlink_to(tmp_path)
    (tmp_path / "l").symlink_to("t")
    assert not own_folder.is_own(str(tmp_path / "l")) and not own_folder.end(str(tmp_path / "l"))
    with pytest.raises(own_folder.Foreign, match=tree.MADE):
        own_folder.begin(str(tmp_path / "l"))
    assert own_folder.end(str(path)) and not path.exists() and not own_folder.end(str(path))
    path.mkdir()
    assert not own_folder.end(str(path)) and path.exists()


def test_mounts_in_a_folder_and_not_beside_it(tmp_path, monkeypatch):
    table = tmp_path / "mountinfo"
    line = "36 35 98:0 / {} rw,noatime - ext3 /dev/root rw\n"
    names = (f"{tmp_path}/c/x", f"{tmp_path}/c", f"{tmp_path}/cc", rf"{tmp_path}/c/a\040b")
    table.write_text("".join(line.format(name) for name in names) + "short line\n")
    monkeypatch.setattr(mounts, "TABLE", str(table))
    (tmp_path / "c").mkdir()
    (tmp_path / "l").symlink_to("c")
    assert mounts.mounts_in(str(tmp_path / "l")) == [f"{tmp_path}/c", f"{tmp_path}/c/a b", f"{tmp_path}/c/x"]
    monkeypatch.setattr(mounts, "TABLE", str(tmp_path / "none"))
    assert mounts.mounts_in("/") == []


@pytest.mark.parametrize(
    ("owner", "mode", "group", "gids", "untrusted"),
    [
        (0, 0o755, 0, (), False),
        (7, 0o755, 0, (), True),
        (0, 0o757, 0, (), True),
        (0, 0o1777, 0, (), False),
        (7, 0o1777, 0, (), True),
        (0, 0o775, 5, (5,), True),
        (0, 0o775, 5, (6,), False),
        (0, 0o755, 5, (5,), False),
        (0, 0o1775, 5, (5,), False),
    ],
)
def test_who_can_replace_what_is_in_a_folder(monkeypatch, owner, mode, group, gids, untrusted):
    status = types.SimpleNamespace(st_uid=owner, st_mode=stat.S_IFDIR | mode, st_gid=group)
    monkeypatch.setattr(trust, "_upwards", lambda path: [(os.path.dirname(path), status)])
    monkeypatch.setattr(trust, "_named", lambda folder: set())
    assert trust.distrusted("/srv/x", 7, gids) == (["/srv"] if untrusted else [])


@pytest.mark.parametrize(
    ("owner", "mode", "group", "shared"),
    [
        (0, 0o755, 0, []),
        (7, 0o755, 0, ["/srv", "/srv/x"]),
        (0, 0o775, 0, []),
        (0, 0o775, 5, ["/srv", "/srv/x"]),
        (0, 0o777, 0, ["/srv", "/srv/x"]),
        (0, 0o1777, 0, ["/srv/x"]),
    ],
)
def test_folders_that_others_share(monkeypatch, owner, mode, group, shared):
    status = types.SimpleNamespace(st_uid=owner, st_mode=stat.S_IFDIR | mode, st_gid=group)
    monkeypatch.setattr(trust, "_upwards", lambda path: [("/srv", status), ("/srv/x", status)])
    monkeypatch.setattr(trust, "_named", lambda folder: set())
    assert trust.shared("/srv/x") == shared


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("https://a:b@c/d https://e%40@f", {"b", "e%40", "e@"}),
        ({"x": ["http://a:p%3Aw@c", ("http://q@r",)]}, {"p%3Aw", "p:w", "q"}),
        ("https://c/d@e", set()),
        ("https://:@c", set()),
        (5, set()),
    ],
)
def test_passwords_in_urls(value, found):
    assert credentials.passwords(value) == found


def test_a_finding_is_one_line_with_what_there_is():
    whole = finding.Finding("a.b", "ID-1", "is odd.", "mend it", "warning", "5", "it breaks", "docs")
    assert whole.text() == "a.b = 5: is odd. [ID-1] it breaks Fix: mend it"
    assert finding.Finding("a.b", "ID-1", "is odd").text() == "a.b: is odd. [ID-1]"
    assert finding.Finding.from_dict(whole.as_dict()) == whole and whole.as_dict()["source"] == "docs"
    made = finding.Finding.at("a\x1bb", 0, "x", "y")
    assert (made.path, made.value, made.severity, made.fix, made.id) == ("a\\x1bb", "0", "", "y", "")
    assert [finding.shown(value) for value in (None, "", 0, "x" * 161)] == ["", "", "0", "x" * 160]
