# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module cann_package with an installer that counts its runs: what is installed is installed once, also by two runs at the same time."""

from __future__ import annotations

import os

import pytest
from ansible_collections.ascend.inference.plugins.modules import cann_package

ARCH = os.uname().machine
INSTALLER = """
case " $* " in *" --check "*) exit 0 ;; esac
echo "$@" >> {runs}
mkdir -p {root}/cann-9.4.0/{arch}-linux
echo version=9.4.0 > {root}/cann-9.4.0/{arch}-linux/ascend_toolkit_install.info
"""


@pytest.fixture
def options(tmp_path):
    """The options of the module for one package."""
    path = tmp_path / f"Ascend-cann-toolkit_9.4.0_linux-{ARCH}.run"
    path.write_text(INSTALLER.format(root=tmp_path / "root", runs=tmp_path / "runs", arch=ARCH))
    return {"packages": [str(path)], "install_path": str(tmp_path / "root"), "free_mib": 0}


def runs(tmp_path):
    """How often the installer has installed."""
    return len((tmp_path / "runs").read_text().splitlines()) if (tmp_path / "runs").exists() else 0


def test_a_package_is_installed_once(options, tmp_path, run_module):
    assert run_module("cann_package", check=True, **options)["changed"] and runs(tmp_path) == 0
    assert run_module("cann_package", **options)["changed"] and runs(tmp_path) == 1
    assert not run_module("cann_package", **options)["changed"] and runs(tmp_path) == 1


def test_what_another_run_installed_meanwhile_is_left_alone(options, tmp_path):
    """Both find the package missing, and one waits for the lock of the other. Engines of the other may run with it by then."""
    params = dict(options, missing_ok=False, checksums={}, for_all=False, timeout=60)
    missing, problems = cann_package.wanted(params)
    assert (len(missing), problems) == (1, [])
    for _run in range(2):
        cann_package.install(params, missing)
    assert runs(tmp_path) == 1
    os.unlink(str(tmp_path / "root" / "cann-9.4.0" / f"{ARCH}-linux" / "ascend_toolkit_install.info"))
    cann_package.install(params, missing)
    assert runs(tmp_path) == 2, "what is not there any more is installed"


@pytest.mark.parametrize(("more", "refused"), [(0, False), (1, True)])
def test_space_is_needed_only_for_what_is_missing(options, tmp_path, monkeypatch, run_module, more, refused):
    free = 20000 * 2**20
    monkeypatch.setattr(cann_package.shutil, "disk_usage", lambda _place: type("Usage", (), {"free": free}))
    options = dict(options, free_mib=20000 + more)
    assert run_module("cann_package", **options)["failed"] == refused
    run_module("cann_package", **dict(options, free_mib=0))
    found = run_module("cann_package", **options)
    assert (found["failed"], found["changed"], runs(tmp_path)) == (False, False, 1)
