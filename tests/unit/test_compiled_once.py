# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Environments of the tests keep compiled code: the same source is compiled once, and another one anew."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import zipfile

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / ".ci/compiled_once.py"
START = """
import sys
sys.prefix = sys.argv[1]
exec(compile(open(sys.argv[2]).read(), sys.argv[2], "exec"))
sys.path.insert(0, sys.argv[3])
import told
print(told.SAID, told.tell.__code__.co_filename)
"""


def said(folder: pathlib.Path, archive: str, source: str) -> list[str]:
    """What a new process imports from an archive: its text, and the path that a traceback would name."""
    path = folder / archive
    with zipfile.ZipFile(path, "w") as target:
        target.writestr("told.py", f"SAID = {source!r}\n\n\ndef tell():\n    return SAID\n")
    argv = [sys.executable, "-S", "-c", START, folder, PROGRAM, path]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "compiled").mkdir()
    return tmp_path


def test_a_source_is_compiled_once_whatever_archive_has_it(folder):
    for archive in ("first.zip", "second.zip"):
        assert said(folder, archive, "one") == ["one", str(folder / archive / "told.py")]
        assert len(list(folder.glob("compiled/*"))) == 1


def test_another_source_is_not_taken_for_the_first(folder):
    assert said(folder, "first.zip", "one")[0] == "one"
    assert said(folder, "first.zip", "two")[0] == "two"


@pytest.mark.parametrize("kept", [b"", b"no code", b"\xe3"])
def test_what_is_no_compiled_code_is_compiled_anew(folder, kept):
    assert said(folder, "first.zip", "one")[0] == "one"
    (path,) = folder.glob("compiled/*")
    path.write_bytes(kept)
    assert said(folder, "first.zip", "one")[0] == "one" and path.stat().st_size > 100


def test_without_its_folder_nothing_is_kept(folder):
    (folder / "compiled").rmdir()
    assert said(folder, "first.zip", "one")[0] == "one" and not (folder / "compiled").exists()


def test_what_ansible_s_loader_of_collections_imports_is_compiled_once(folder):
    before = "import sys; sys.prefix = sys.argv[1]; exec(compile(open(sys.argv[2]).read(), sys.argv[2], 'exec'))"
    after = "from ansible.utils.collection_loader import _collection_finder as found; print(found.compile.__name__)"
    argv = [sys.executable, "-c", f"{before}; {after}", folder, PROGRAM]
    assert subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split() == ["once"]
