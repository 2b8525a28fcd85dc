# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A full disk below the root: nothing half-written stays, and when there is space again the next run goes on. The disk is a small tmpfs."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import deployment_lock, tree
from ansible_collections.ascend.inference.plugins.module_utils.install import venv
from ansible_collections.ascend.inference.plugins.module_utils.tools.disk import explained
from ansible_collections.ascend.inference.plugins.modules import service_files
from ansible_collections.ascend.inference.tests.simulator import wheels

RUN = {"id": "r1", "owner": "anna", "controller": "here", "since": "2026-11-22T02:00:00Z"}
WISH = {"requirements": ["sample==1"], "exclude": [], "imports": ["sample"]}


class Disk:
    """A file system of ``kib`` KiB."""

    def __init__(self, path, kib):
        self.path = path
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(path)], check=True)

    def resize(self, kib):
        subprocess.run(["mount", "-o", f"remount,size={kib}k", str(self.path)], check=True)

    def fill(self):
        """Leave no space."""
        with open(self.path / "filler", "wb", buffering=0) as stream:
            for size in (4096, 1):
                try:
                    while True:
                        stream.write(bytes(size))
                except OSError:
                    continue


@pytest.fixture
def disk():
    """A function that mounts a disk of some KiB."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a tmpfs")
    folder, mounted = pathlib.Path(tempfile.mkdtemp()), []

    def mount(kib):
        try:
            mounted.append(Disk(folder, kib))
        except subprocess.CalledProcessError:
            pytest.skip("mounting is not permitted here")
        return mounted[0]

    yield mount
    if mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
    folder.rmdir()


def parameters(base, text):
    """Parameters of service_files for three files, the second of which is large."""
    given = {name: option.get("default") for name, option in service_files.ARGUMENTS.items()}
    files = [
        {"path": f"{base}/{name}", "content": text * size, "mode": "0640"}
        for name, size in (("a", 1), ("b", 90), ("c", 1))
    ]
    given.update(directory=str(base), name="services", folders=[{"path": str(base), "mode": "0750"}], files=files)
    given.update(phase="changing", plan={"digest": "d", "release": "1"}, run=RUN)
    return given


def test_files_are_old_or_new_and_the_next_call_completes_them(disk):
    small = disk(256)
    base = small.path / "deployments/sample"
    service_files.work(parameters(base, "old\n" * 100), False)
    with pytest.raises(OSError, match="No space left"):
        service_files.work(parameters(base, "new\n" * 1000), False)
    assert not [path for path in base.iterdir() if path.name.endswith(tree.FRESH)], "it holds space that others need"
    contents = {name: (base / name).read_text()[:3] for name in "abc"}
    assert contents == {"a": "new", "b": "old", "c": "old"}
    small.resize(4096)
    done = service_files.work(parameters(base, "new\n" * 1000), False)
    assert done["changed"] and [step["backup"] for step in done["files"]] == ["", ""]
    assert {name: (base / name).read_text()[:3] for name in "abc"} == dict.fromkeys("abc", "new")
    assert not [path for path in base.iterdir() if path.name.endswith((tree.FRESH, "~"))]
    assert not service_files.work(parameters(base, "new\n" * 1000), False)["changed"]


def test_a_lock_without_a_record_is_nobody_s(disk):
    small = disk(64)
    base = str(small.path / "deployments/sample")
    (small.path / "deployments").mkdir()
    small.fill()
    with pytest.raises(OSError, match="No space left"):
        deployment_lock.take(base, RUN)
    (small.path / "filler").unlink()
    other = dict(RUN, id="r2")
    assert deployment_lock.take(base, other) == other
    small.fill()
    deployment_lock.release(base, "r2")
    assert deployment_lock.holder_of(base) == {}


def test_a_file_of_the_controller_is_the_old_or_the_new_one(disk):
    small = disk(64)
    path = small.path / "lock.txt"
    venv.write_atomically(str(path), "old")
    small.fill()
    with pytest.raises(OSError, match="No space left"):
        venv.write_atomically(str(path), "new" * 9000)
    assert path.read_text() == "old" and {each.name for each in small.path.iterdir()} == {"lock.txt", "filler"}


@pytest.mark.long  # two environments; test_python_venv of the unit tests shows the same for other interruptions
def test_an_environment_that_did_not_fit_is_built_again(disk, tmp_path):
    wheels.wheel(tmp_path, "sample", "1", files=wheels.module("sample", "1"))
    small = disk(3000)
    path = small.path / "venvs/sample"
    build = venv.Builder(str(path), sys.executable, "", {"find-links": [str(tmp_path)]}, no_index=True)
    with pytest.raises((venv.VenvError, OSError), match="No space left|ensurepip"):
        build.build("base", WISH)
    assert venv.read_stamp(str(path), "base") is None and venv.is_incomplete(str(path))
    small.resize(200000)
    build.build("base", WISH)
    assert venv.read_stamp(str(path), "base") == WISH


def test_the_message_names_the_disk_and_the_fix(disk):
    small = disk(64)
    small.fill()
    with pytest.raises(OSError, match="No space left") as raised:
        (small.path / "file").write_text("text")
    text = explained(raised.value, str(small.path / "deployments/sample"))
    assert f"{small.path} is on a disk with 0 MiB free" in text and "Fix: free space there" in text
    assert "0 MiB free, which may be the cause" in explained(OSError("another"), str(small.path))
    assert explained(OSError("another"), "/") == "another"
