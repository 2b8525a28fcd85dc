# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What root takes from the folder of a build, in which any code ran: wheels, and nothing that fills its memory or adds lines to a lock."""

from __future__ import annotations

import getpass
import hashlib
import os
import pwd
import subprocess

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install import unprivileged

WHEEL = "made-1.0+local-py3-none-any.whl"


@pytest.fixture
def worker(tmp_path):
    """A worker whose user is that of the test, and who has a folder with a cache."""
    made = object.__new__(unprivileged.Worker)
    made.user, made.copies = pwd.getpwnam(getpass.getuser()), {}
    made.parent, made.folder = str(tmp_path), str(tmp_path / ".build-1")
    os.makedirs(made.inside("cache", "a"))
    return made


def put(worker, name, content=b"wheel"):
    path = worker.inside("cache", "a", name)
    with open(path, "wb") as stream:
        stream.write(content)
    return path


def test_a_wheel_is_taken_with_its_hash(worker, tmp_path):
    put(worker, WHEEL)
    lines = worker.take(["made"], str(tmp_path / "wheels"))
    assert lines == f"made==1.0+local --hash=sha256:{hashlib.sha256(b'wheel').hexdigest()}\n"
    assert (tmp_path / "wheels" / WHEEL).read_bytes() == b"wheel"


@pytest.mark.parametrize("version", ["1.0\nother==2", "1.0 ; x", "1.0\\", "1.0\rother", "", "${HOME}"])
def test_no_name_of_a_file_adds_to_the_requirements(worker, tmp_path, version):
    put(worker, f"made-{version}-py3-none-any.whl")
    with pytest.raises(unprivileged.Refused, match="the build of made made no wheel"):
        worker.take(["made"], str(tmp_path / "wheels"))


@pytest.mark.parametrize("read", ["take", "read"])
def test_a_sparse_file_fills_no_memory(worker, tmp_path, monkeypatch, read):
    monkeypatch.setattr(unprivileged, "MOST", 2**20)
    path = put(worker, WHEEL)
    os.truncate(path, 2**43)
    with pytest.raises(unprivileged.Refused, match="has more than 1048576 bytes"):
        worker.take(["made"], str(tmp_path / "wheels")) if read == "take" else worker.read(path)


def test_a_link_to_a_file_of_root_is_refused(worker, tmp_path):
    (tmp_path / "secret").write_text("mine")
    os.symlink(str(tmp_path / "secret"), worker.inside("cache", "a", WHEEL))
    with pytest.raises(unprivileged.Refused, match="is not a file"):
        worker.take(["made"], str(tmp_path / "wheels"))


def test_the_folder_goes_also_if_folders_are_nested_deeper_than_python_can_go(worker, tmp_path, request):
    request.addfinalizer(lambda: subprocess.run(["rm", "-rf", str(tmp_path)], check=True))  # pytest could not
    folder = os.open(worker.inside("cache", "a"), os.O_RDONLY)
    for _number in range(3000):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    worker.__exit__()
    assert not os.path.exists(worker.folder)


@pytest.mark.parametrize("content", [b"", b"wheel!!!"])
def test_a_file_that_is_just_not_too_large_is_taken(worker, monkeypatch, content):
    monkeypatch.setattr(unprivileged, "MOST", 8)
    assert worker.read(put(worker, WHEEL, content)) == content
    with pytest.raises(unprivileged.Refused, match="has more than 8 bytes"):
        worker.read(put(worker, WHEEL, b"wheel!!!!"))


def test_a_build_has_nothing_of_root(worker):
    """Neither groups, nor a way back, nor a place where root keeps something."""
    argv = worker.command(["build", "--no-clear-groups"])
    own, build = argv[: argv.index("--")], argv[argv.index("--") + 1 :]
    numbers = [str(worker.user.pw_uid), str(worker.user.pw_gid)]
    assert build == ["build", "--no-clear-groups"] and {"--clear-groups", "--no-new-privs"} < set(own)
    assert [own[own.index(option) + 1] for option in ("--reuid", "--regid")] == numbers
    found = worker.environment({"HOME": "/root", "XDG_CACHE_HOME": "/root/.cache", "PATH": "/bin", "USER": "root"})
    places = ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "UV_CACHE_DIR", "PIP_CACHE_DIR")
    assert all(found[name].startswith(worker.folder) for name in places)
    assert (found["USER"], found["LOGNAME"], found["PATH"]) == (worker.user.pw_name, worker.user.pw_name, "/bin")


@pytest.mark.parametrize(
    ("user", "tool", "word"), [("root", "/bin/sh", "root is root"), ("nobody", "/no/setpriv", "/no/setpriv is missing")]
)
def test_no_build_runs_as_root_or_without_what_drops_its_rights(tmp_path, monkeypatch, user, tool, word):
    monkeypatch.setattr(unprivileged, "SETPRIV", tool)
    with pytest.raises(unprivileged.Refused, match=word):
        unprivileged.Worker(user, str(tmp_path / "venv"))
    assert os.listdir(str(tmp_path)) == []
