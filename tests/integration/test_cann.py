# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role cann with the simulated packages: an upgrade that breaks, its repair, parallel versions, checksums."""

from __future__ import annotations

import hashlib
import platform
import shutil

import pytest
from ansible_collections.ascend.inference.tests.integration._playbook import play
from ansible_collections.ascend.inference.tests.simulator.cann import packages

OLD, NEW = "8.5.0", "9.1.0"
ARCH = platform.machine()


def checksums(folder):
    """The checksums of all packages of a folder."""
    return {path.name: f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}" for path in folder.glob("*")}


def toolkit(version):
    """Name of the package that all others need."""
    return f"Ascend-cann-toolkit_{version}_linux-{ARCH}.run"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Run the role for a version, with packages from a folder on the controller."""
    monkeypatch.setenv("ASCEND_SIMULATOR_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("HOME", str(tmp_path))
    built = set()

    def run(version, fail="", **variables):
        monkeypatch.setenv("ASCEND_SIMULATOR_CANN_FAIL", fail)
        if version not in built:
            packages.build_all(tmp_path / "packages", version, "a3")
            built.add(version)
        given = {
            "cann_version": version,
            "cann_hardware": "a3",
            "cann_source": str(tmp_path / "packages"),
            "cann_checksums": checksums(tmp_path / "packages"),
            "cann_install_path": str(tmp_path / "Ascend"),
            "cann_download_directory": str(tmp_path / "cache"),
            "cann_free_mib": 1,
            "cann_for_all": False,
        }
        return play(tmp_path, "cann", **{**given, **variables})

    return run


# tests/unit/plugins/module_utils/test_cann.py has the judgement on each kind of failure.
@pytest.mark.parametrize(
    "mode",
    [
        pytest.param("toolkit:nothing", marks=pytest.mark.long),
        "kernels:half",
        pytest.param("nnal:quietly", marks=pytest.mark.long),
    ],
)
def test_a_broken_upgrade_is_noticed_and_repaired_beside_the_old_version(tmp_path, install, mode):
    packages.build_all(tmp_path / "packages", OLD, "a3")
    known = checksums(tmp_path / "packages")
    del known[toolkit(OLD)]
    done = install(OLD, cann_checksums=known, cann_unverified=True)
    assert done.code == 0, done.output
    done = install(NEW, fail=mode)
    assert done.code != 0, done.output  # exit status 0 of the installer does not prove the installation
    done = install(NEW)
    assert done.code == 0 and done.changed > 0, done.output
    ascend = tmp_path / "Ascend"
    assert (
        ascend / f"cann-{OLD}" / f"{ARCH}-linux/ascend_toolkit_install.info"
    ).exists()  # the old version is still installed
    assert (ascend / "ascend-toolkit/latest").resolve() == ascend / f"cann-{NEW}"
    for name in ("ascend-toolkit/set_env.sh", "nnal/atb/set_env.sh"):
        assert (ascend / name).exists()
    shutil.rmtree(tmp_path / "packages")  # a complete installation needs no packages
    shutil.rmtree(tmp_path / "cache")
    done = install(NEW)
    assert (done.code, done.changed) == (0, 0), done.output


def test_a_package_with_another_checksum_is_not_run(tmp_path, install):
    wrong = {**checksums(tmp_path / "packages"), toolkit(NEW): "sha256:" + 64 * "0"}
    done = install(NEW, cann_checksums=wrong)
    assert done.code != 0
    assert not (tmp_path / "Ascend").exists()


def test_packages_without_a_checksum_are_not_run(tmp_path, install):
    packages.build_all(tmp_path / "packages", NEW, "a3")
    known = checksums(tmp_path / "packages")
    del known[toolkit(NEW)]
    done = install(NEW, cann_checksums=known)
    assert done.code != 0 and f"no checksum for {toolkit(NEW)}." in done.text, done.output
    assert not (tmp_path / "cache").exists() and not (tmp_path / "Ascend").exists()
