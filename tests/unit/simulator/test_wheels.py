# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in wheels resolve as the real ones do, and conflict where the real ones conflict."""

from __future__ import annotations

import subprocess
import sys

import pytest
from ansible_collections.ascend.inference.tests.simulator import wheels


@pytest.fixture(scope="module")
def venv(tmp_path_factory):
    """A virtual environment with pip."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder


def pip(venv, wheelhouse, *words):
    argv = [str(venv / "bin/python"), "-m", "pip", words[0], "--no-index", "--find-links", str(wheelhouse), *words[1:]]
    return subprocess.run(
        argv, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "PIP_CONFIG_FILE": "/dev/null"}, check=False
    )


NEWEST = list(wheels.RELEASES)[-1]


@pytest.mark.parametrize(
    "release",
    [pytest.param(name, marks=() if name == NEWEST else pytest.mark.long) for name in wheels.RELEASES],
)
def test_each_release_resolves(venv, tmp_path, release):
    made = wheels.stack(tmp_path, release)
    wanted = [f"vllm-ascend=={release}", "vllm"] + [name for name in made if name.startswith("mooncake")]
    done = pip(venv, tmp_path, "install", "--dry-run", *wanted)
    assert done.returncode == 0, done.stderr
    assert f"torch-npu-{wheels.RELEASES[release]['torch_npu']}" in done.stdout
    assert all(path.stat().st_size < 100_000 for path in made.values())


def test_published_vllm_contradicts_the_plugin(venv, tmp_path):
    wheels.stack(tmp_path, "0.13.0", published=True)
    done = pip(venv, tmp_path, "install", "--dry-run", "vllm-ascend==0.13.0", "vllm==0.13.0")
    assert done.returncode != 0
    # Which part pip looks at first differs.
    assert "conflict" in done.stderr or "No matching distribution found for torch" in done.stderr


def test_an_index_that_lacks_a_wheel(venv, tmp_path):
    wheels.stack(tmp_path, "0.18.0", without=("torch-npu",))
    done = pip(venv, tmp_path, "install", "--dry-run", "vllm-ascend==0.18.0")
    assert "No matching distribution found for torch-npu==2.9.0" in done.stderr


def test_installed_program_is_the_simulator(venv, tmp_path):
    wheels.stack(tmp_path, "0.23.0")
    done = pip(venv, tmp_path, "install", "vllm-ascend==0.23.0", "vllm", "mooncake-transfer-engine-npu")
    assert done.returncode == 0, done.stderr
    text = subprocess.run([str(venv / "bin/vllm"), "--simulator"], capture_output=True, text=True, check=True).stdout
    assert "simulator of vllm serve with vLLM-Ascend 0.23.0" in text
