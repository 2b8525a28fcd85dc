# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules own_folder and source_archive: folders of a killed run go, folders of others with the same name stay as they are."""

from __future__ import annotations

import os
import tarfile
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import own_folder, tree
from ansible_collections.ascend.inference.plugins.modules import source_archive


@pytest.fixture
def archive(tmp_path):
    """An archive of one folder, whose file is writable for its group."""
    source = tmp_path / "vllm-1"
    source.mkdir()
    (source / "setup.py").write_text("new")
    with tarfile.open(str(tmp_path / "vllm.tar.gz"), "w:gz") as opened:
        opened.add(str(source), "vllm-1")
    return str(tmp_path / "vllm.tar.gz")


def foreign_folder(path):
    path.mkdir(parents=True)
    (path / "thesis.txt").write_text("mine")


def foreign_link(path):
    (path.parent / "elsewhere").mkdir(parents=True)
    (path.parent / "elsewhere" / tree.MADE).write_text("")
    (path.parent / "elsewhere/thesis.txt").write_text("mine")
    path.symlink_to(path.parent / "elsewhere")


def folder_of_another_user(path):
    """Of one who knows the mark; in a folder with the sticky bit everybody can make it."""
    (path / "content").mkdir(parents=True)
    (path / tree.MADE).write_text("")
    os.chown(str(path), 1234, -1)


FOREIGN = [
    pytest.param(folder_of_another_user, marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root gives away")),
    foreign_folder,
    lambda path: path.mkdir(parents=True),
    lambda path: (path.parent.mkdir(parents=True), path.write_text("mine")),
    foreign_link,
]


def listing(folder):
    return sorted(
        (str(path.relative_to(folder)), path.is_symlink(), path.is_file() and path.read_bytes())
        for path in folder.rglob("*")
    )


@pytest.mark.parametrize("make", FOREIGN)
def test_what_others_made_with_the_same_name_stays(tmp_path, run_module, archive, make):
    make(tmp_path / "models/qwen.unpacking")
    make(tmp_path / "sources/vllm.new")
    before = listing(tmp_path)
    for name, options in (
        ("own_folder", {"path": str(tmp_path / "models/qwen.unpacking")}),
        ("source_archive", {"archive": archive, "path": str(tmp_path / "sources/vllm")}),
    ):
        for check in (True, False):
            found = run_module(name, check=check, **options)
            assert found["failed"] and "this collection did not make it" in found["msg"] and "Fix:" in found["msg"]
    found = run_module("own_folder", path=str(tmp_path / "models/qwen.unpacking"), state="absent")
    assert not found["failed"] and not found["changed"]
    assert listing(tmp_path) == before


def test_a_folder_goes_on_after_a_killed_run_and_is_removed_as_a_whole(tmp_path, run_module):
    options = {"path": str(tmp_path / "models/qwen.unpacking")}
    assert run_module("own_folder", check=True, **options)["changed"] and not (tmp_path / "models").exists()
    content = run_module("own_folder", **options)["content"]
    assert os.stat(options["path"]).st_mode & 0o777 == 0o700, "nobody runs a program of the archive before it is judged"
    with open(os.path.join(content, "half"), "w") as stream:
        stream.write("x")
    found = run_module("own_folder", **options)
    assert not found["changed"] and found["content"] == content and os.listdir(content) == ["half"]
    assert run_module("own_folder", check=True, state="absent", **options)["changed"] and os.listdir(content)
    assert run_module("own_folder", state="absent", **options)["changed"] and os.listdir(str(tmp_path / "models")) == []
    assert not run_module("own_folder", state="absent", **options)["changed"]


def test_sources_are_unpacked_once_without_what_a_killed_run_left(tmp_path, run_module, archive):
    path = tmp_path / "sources/vllm"
    content = own_folder.begin(str(path) + ".new")
    with open(os.path.join(content, "of-another-archive"), "w") as stream:
        stream.write("x")
    assert run_module("source_archive", check=True, archive=archive, path=str(path))["changed"] and not path.exists()
    assert run_module("source_archive", archive=archive, path=str(path))["changed"]
    assert os.listdir(str(path)) == ["setup.py"] and os.listdir(str(path.parent)) == ["vllm"]
    (path / "setup.py").write_text("changed")
    assert not run_module("source_archive", archive=archive, path=str(path))["changed"]
    assert (path / "setup.py").read_text() == "changed"


def test_a_damaged_archive_leaves_nothing(tmp_path, run_module, archive):
    with open(archive, "r+b") as stream:
        stream.truncate(20)
    found = run_module("source_archive", archive=archive, path=str(tmp_path / "sources/vllm"))
    assert found["failed"] and "cannot be unpacked" in found["msg"] and os.listdir(str(tmp_path / "sources")) == []


@pytest.mark.parametrize("slashes", ["", "/", "//"])
def test_a_slash_behind_the_folder_is_none_in_it(tmp_path, run_module, archive, slashes):
    path = tmp_path / "sources/vllm"
    assert run_module("source_archive", archive=archive, path=str(path) + slashes)["changed"]
    assert os.listdir(str(path)) == ["setup.py"] and os.listdir(str(path.parent)) == ["vllm"]
    assert not run_module("source_archive", archive=archive, path=str(path) + slashes)["changed"]


@pytest.mark.parametrize("fails", [False, True])
def test_sources_are_for_all_and_the_caller_s_mask_comes_back(tmp_path, run_module, fails):
    """A service runs them as another user; the archive's owner and its rights to write are not those of this host."""
    place = str(tmp_path / "vllm.tar.gz")
    with tarfile.open(place, "w:gz") as opened:
        for name, kind, mode in (("vllm-1", tarfile.DIRTYPE, 0o777), ("vllm-1/run.sh", tarfile.REGTYPE, 0o777)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.uid, entry.gid = kind, mode, 4321, 4321
            opened.addfile(entry)
    if fails:
        open(place, "w").close()
    before = os.umask(0o077)
    try:
        found = run_module("source_archive", archive=place, path=str(tmp_path / "sources/vllm"))
        left = os.umask(0o077)
    finally:
        os.umask(before)
    assert found["failed"] is fails and left == 0o077
    if not fails:
        status = [os.stat(str(tmp_path / "sources" / name)) for name in ("vllm", "vllm/run.sh")]
        assert [one.st_mode & 0o777 for one in status] == [0o755, 0o755]
        assert {(one.st_uid, one.st_gid) for one in status} == {(os.geteuid(), os.getegid())}


@pytest.mark.parametrize(
    ("program", "word"),
    [
        ("sleep 60", "cannot be unpacked: tar did not end"),
        ("echo no space >&2; echo '\033'; exit 2", "cannot be unpacked: no space\n\\x1b. Fix: fetch it again"),
        ("kill -9 $$", "cannot be unpacked: tar did not end"),
        ("printf %2000d 0; exit 1", "unpacked: " + 799 * "0" + "1"),
    ],
    ids=["hangs", "fails", "is killed", "prints much"],
)
def test_a_tar_that_does_not_end_well_leaves_nothing(tmp_path, run_module, monkeypatch, archive, program, word):
    (tmp_path / "bin").mkdir()
    tar = tmp_path / "bin" / "tar"
    tar.write_text("#!/bin/sh\n" + program.replace("printf %2000d 0", "printf %02000d 1") + "\n")
    tar.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setattr(source_archive, "PATIENCE", 0.3 if "sleep" in program else 60)
    begin = time.monotonic()
    found = run_module("source_archive", archive=archive, path=str(tmp_path / "sources/vllm"))
    assert time.monotonic() - begin < 20
    assert found["failed"] and word in found["msg"] and f"{archive} cannot be unpacked" in found["msg"]
    assert os.listdir(str(tmp_path / "sources")) == []


def test_a_host_without_tar_is_told_so(tmp_path, run_module, monkeypatch, archive):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = run_module("source_archive", archive=archive, path=str(tmp_path / "sources/vllm"))
    assert found["failed"] and "tar cannot be started" in found["msg"] and os.listdir(str(tmp_path / "sources")) == []


def test_an_hour_is_enough_for_every_archive():
    assert source_archive.PATIENCE == 3600
