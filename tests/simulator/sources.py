# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated sources: git repositories of vLLM and vLLM-Ascend that build small simulated wheels.

``python sources.py DIRECTORY RELEASE VLLM_REF VLLM_ASCEND_REF`` makes ``DIRECTORY/vllm`` and ``DIRECTORY/vllm-ascend``. Like a real build, it
fails with another target than ``empty`` and without CANN's environment.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
# The backend is in the source tree, so that a build needs no other package.
BACKEND = """import os, sys
sys.path.insert(0, os.path.dirname(__file__))
import wheels


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(folder, config_settings=None, metadata_directory=None):
    if os.environ.get("VLLM_TARGET_DEVICE") != "empty":
        raise SystemExit("VLLM_TARGET_DEVICE is not empty: this would compile for CUDA")
    if not os.environ.get("ASCEND_HOME_PATH"):
        raise SystemExit("CANN's set_env.sh was not read")
    return wheels.stack(folder, {release!r}, only=({name!r},))[{name!r}].name
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def repository(folder, name, release, ref):
    """A git repository at ``folder`` whose branch ``ref`` builds the simulated wheel ``name`` of a release -> its path."""
    folder = pathlib.Path(folder)
    shutil.copytree(HERE / "vllm_ascend", folder / "vllm_ascend", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "wheels.py", folder)
    (folder / "backend.py").write_text(BACKEND.format(release=release, name=name), encoding="utf-8")
    (folder / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", f"init.defaultBranch={ref}"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(["git", *who, "-C", str(folder), *arguments], check=True)
    return str(folder)


if __name__ == "__main__":
    place, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    for repo, branch in zip(("vllm", "vllm-ascend"), sys.argv[3:], strict=True):
        repository(place / repo, repo, version, branch)
