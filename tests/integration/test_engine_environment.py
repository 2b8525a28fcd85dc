# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles torch_npu and vllm_ascend: pip resolves simulated wheels with the names, versions and pins of the real ones.

Nothing is downloaded: all packages come from a folder of wheels, or from git repositories on this machine.
"""

from __future__ import annotations

import os
import shutil

import pytest
from ansible_collections.ascend.inference.tests.integration._playbook import play
from ansible_collections.ascend.inference.tests.simulator import sources, wheels

RELEASE = "0.13.0"
ROW = wheels.RELEASES[RELEASE]


@pytest.fixture
def variables(tmp_path):
    """Variables of both roles, for a folder of wheels."""
    cann = tmp_path / "set_env.sh"
    cann.write_text("[ $# -eq 0 ] || exit 9\nexport ASCEND_HOME_PATH=/opt/ascend\n", encoding="utf-8")
    pins = [f"torch=={ROW['torch']}", f"torch-npu=={ROW['torch_npu']}"]
    return {
        "torch_npu_venv": str(tmp_path / "venvs/one"),
        "torch_npu_torch_version": ROW["torch"],
        "torch_npu_version": ROW["torch_npu"],
        "torch_npu_requirements": ["numpy"],
        "torch_npu_find_links": [str(tmp_path / "wheels")],
        "torch_npu_offline": True,
        "vllm_ascend_venv": str(tmp_path / "venvs/one"),
        "vllm_ascend_interpreter": str(tmp_path / "venvs/one/bin/python"),
        "vllm_ascend_release": RELEASE,
        "vllm_ascend_vllm_version": ROW["vllm"],
        "vllm_ascend_pins": pins,
        "vllm_ascend_find_links": [str(tmp_path / "wheels")],
        "vllm_ascend_offline": True,
        "vllm_ascend_sources": [str(cann)],
        "vllm_ascend_link": str(tmp_path / "venvs/current"),
        "vllm_ascend_system_packages": [],
    }


@pytest.mark.long  # molecule/install does it on a systemd host, with the lock and the link
def test_wheels_locked_linked_and_not_needed_again(tmp_path, variables):
    wheels.stack(tmp_path / "wheels", RELEASE)
    variables["vllm_ascend_device_type"] = "A2"  # of the simulated wheel
    for role in ("torch_npu", "vllm_ascend"):
        done = play(tmp_path, role, **variables)
        assert done.code == 0, done.output
        assert done.changed >= 1
    lock = (tmp_path / "venvs/one/requirements.lock").read_text(encoding="utf-8")
    for line in (f"torch=={ROW['torch']}", f"torch-npu=={ROW['torch_npu']}", f"vllm-ascend=={RELEASE}"):
        assert line.lower() in lock.replace("_", "-").lower(), lock
    assert os.readlink(tmp_path / "venvs/current") == str(tmp_path / "venvs/one")
    shutil.rmtree(tmp_path / "wheels")  # no wheels and no index: a complete environment needs no network
    for role in ("torch_npu", "vllm_ascend"):
        done = play(tmp_path, role, **variables)
        assert (done.code, done.changed) == (0, 0), done.output


def test_a_missing_wheel_is_reported_with_the_variable(tmp_path, variables):
    wheels.stack(tmp_path / "wheels", RELEASE, without=("torch-npu",))
    done = play(tmp_path, "torch_npu", **variables)
    assert done.code != 0
    assert f"has torch-npu=={ROW['torch_npu']}" in done.text
    assert "torch_npu_find_links" in done.text


def test_a_package_for_another_chip_is_refused_after_its_installation(tmp_path, variables):
    wheels.stack(tmp_path / "wheels", RELEASE)
    done = play(tmp_path, "vllm_ascend", **variables, vllm_ascend_device_type="A3")
    assert done.code != 0
    assert "is built for A2" in done.text and "localhost needs A3" in done.text
    assert not (tmp_path / "venvs/current").exists()


def test_published_vllm_is_refused_with_a_fix(tmp_path, variables):
    wheels.stack(tmp_path / "wheels", RELEASE, published=True)
    done = play(tmp_path, "vllm_ascend", **variables)
    assert done.code != 0
    assert "VLLM_TARGET_DEVICE=empty" in done.text and "vllm_ascend_method" in done.text
    assert not (tmp_path / "venvs/current").exists()


@pytest.mark.long  # tests/unit/releases resolves the real pins
def test_conflicting_pins_of_torch_npu_are_reported(tmp_path, variables):
    """A conflict that users report: torch-npu needs another torch than the engine's layer."""
    wheels.stack(tmp_path / "wheels", RELEASE)
    wheels.wheel(tmp_path / "wheels", "torch", "2.5.1", (), wheels.module("torch", "2.5.1"))
    wheels.wheel(tmp_path / "wheels", "torch-npu", "2.5.1.post1", ["torch==2.5.1"], wheels.module("torch_npu", "2"))
    done = play(tmp_path, "torch_npu", **{**variables, "torch_npu_version": "2.5.1.post1"})
    assert done.code != 0
    assert "conflict with each other" in done.text
    assert not (tmp_path / "venvs/one/.ascend-inference/torch_npu.json").exists()


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_from_source_at_the_tags(tmp_path, variables):
    wheels.stack(tmp_path / "wheels", RELEASE, without=("vllm", "vllm-ascend"))
    variables.update(
        vllm_ascend_method="source",
        vllm_ascend_build_user="",  # the stand-in of an index has no uv; test_builds.py builds as another user
        vllm_ascend_vllm_repository=sources.repository(tmp_path / "git/vllm", "vllm", RELEASE, "v0.13.0"),
        vllm_ascend_repository=sources.repository(tmp_path / "git/va", "vllm-ascend", RELEASE, "v0.13.0"),
    )
    done = play(tmp_path, "vllm_ascend", **variables)
    assert done.code == 0, done.output
    assert (tmp_path / "venvs/one-source/vllm-v0.13.0/pyproject.toml").exists()
    shutil.rmtree(tmp_path / "git")
    done = play(tmp_path, "vllm_ascend", **variables)
    assert (done.code, done.changed) == (0, 0), done.output
