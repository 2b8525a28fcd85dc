# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tooling installs has hashes: the locks have all that the requirements name, in versions that they allow."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys

import pytest
from packaging.requirements import Requirement

CI = pathlib.Path(__file__).resolve().parents[2] / ".ci"
NAMES = sorted(path.stem for path in (CI / "requirements").glob("*.txt"))


@pytest.fixture(scope="module")
def locked():
    spec = importlib.util.spec_from_file_location("locked", CI / "locked.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def env(locked, monkeypatch):
    monkeypatch.setitem(sys.modules, "locked", locked)
    spec = importlib.util.spec_from_file_location("ci_env", CI / "env.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_all_that_an_environment_needs_has_a_version_and_hashes(name, locked):
    for block in re.split(r"\n(?=\S)", locked.pinned(name).strip()):
        assert re.match(r"\S+==\S+( ; .+)? \\\n( {4}--hash=sha256:[0-9a-f]{64}( \\)?(\n|$))+$", block), block


@pytest.mark.parametrize("name", NAMES)
def test_the_lock_has_each_requirement_in_a_version_that_it_allows(name, locked):
    """If not: `make lock`."""
    versions = {}
    for package, version in re.findall(r"^(\S+?)==(\S+)", locked.pinned(name), re.MULTILINE):
        versions.setdefault(package, set()).add(version)
    for file in locked.included(name):
        for line in (CI / "requirements" / f"{file}.txt").read_text().splitlines():
            if line and not line.startswith(("#", "-r ")):
                wanted = Requirement(line)
                assert any(wanted.specifier.contains(found) for found in versions.get(wanted.name, ())), line


def test_an_environment_gets_nothing_that_only_others_need(locked):
    assert "sphinx==" in locked.pinned("docs") and "sphinx==" not in locked.pinned("units")


def test_only_the_newest_ansible_is_installed_without_hashes(env, locked, monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(env, "built", lambda folder, made_from, what, build: build())
    monkeypatch.setattr(env, "wanted_python", lambda version: ((3, 10), "python3.10"))
    monkeypatch.setattr(env, "_install", lambda python, folder, wanted: calls.append(wanted))
    for name in NAMES:
        env.venv(name, "3.10")
    env.core(locked.version_for("ansible", "ansible-core", (3, 10)), "3.10")
    assert (
        all(call[:2] == ["--require-hashes", "-r"] and len(call) == 3 for call in calls)
        and len(calls) == len(NAMES) + 1
    )
    env.core("2.99.0", "3.10")
    assert "ansible-core==2.99.0" in calls[-1] and "--require-hashes" not in calls[-1]


def test_locks_are_not_written_without_uv(env, monkeypatch, tmp_path, capsys):
    """Environments can be made without it; the index of a Python or a machine may not have it."""
    monkeypatch.setattr(env, "installers", lambda: tmp_path)
    with pytest.raises(SystemExit):
        env.lock()
    assert "make lock needs uv" in capsys.readouterr().err


def test_the_shell_of_a_contributor_gets_no_mixture_of_indexes(env, monkeypatch):
    """With it any index could offer a higher version of what another one has."""
    monkeypatch.setattr(env, "venv", lambda name: pathlib.Path("/v"))
    monkeypatch.setattr(env, "tree", lambda: "/t")
    monkeypatch.setattr(env, "collections", lambda: "/c")
    assert "INDEX" not in "\n".join(env.exports())


@pytest.mark.parametrize(
    ("condition", "python", "expected"),
    [
        ("python_version < '3.11'", (3, 10), True),
        ("python_version < '3.11'", (3, 11), False),
        ('python_version >= "3.11" and python_version < "3.12"', (3, 11), True),
        ('python_version >= "3.11" and python_version < "3.12"', (3, 12), False),
        ("python_full_version == '3.11.*'", (3, 11), True),
        ("", (3, 14), True),
    ],
)
def test_a_condition_of_pythons(locked, condition, python, expected):
    assert locked.holds(condition, python) is expected
