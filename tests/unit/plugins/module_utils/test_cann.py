# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CANN on disk and CANN packages: names, layouts, and an installer that cannot fool the module."""

from __future__ import annotations

import os

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host import ascend_software as software
from ansible_collections.ascend.inference.plugins.module_utils.install import cann
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import run

ARCH = os.uname().machine


@pytest.mark.parametrize(
    ("name", "kind", "version", "hardware"),
    [
        ("Ascend-cann-toolkit_8.3.RC2_linux-aarch64.run", "toolkit", "8.3.RC2", ""),
        ("Ascend-cann-kernels-910b_8.2.RC1_linux-x86_64.run", "kernels", "8.2.RC1", "a2"),
        ("Atlas-A3-cann-kernels_8.2.RC1_linux-aarch64.run", "kernels", "8.2.RC1", "a3"),
        ("Ascend-cann-910b-ops_8.5.0_linux-aarch64.run", "kernels", "8.5.0", "a2"),
        ("Ascend-cann-A3-ops_9.1.0_linux-aarch64.run", "kernels", "9.1.0", "a3"),
        ("Ascend-cann-nnal_9.0.0_linux-aarch64.run", "nnal", "9.0.0", ""),
        ("Ascend-cann_8.5.0_linux-aarch64.run", "cann", "8.5.0", ""),
    ],
)
def test_a_package_is_known_by_its_name(name, kind, version, hardware):
    found = software.package_of("/srv/" + name)
    assert (found.kind, found.version, found.hardware) == (kind, version, hardware)


@pytest.mark.parametrize("name", ["driver.run", "Ascend-cann-toolkit_9.0.0_linux-aarch64.run.part"])
def test_other_files_are_refused(name):
    with pytest.raises(ValueError, match="is not the name"):
        software.package_of(name)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_both_layouts_are_read_and_directories_prove_nothing(tmp_path):
    write(tmp_path / f"ascend-toolkit/8.3.RC9/{ARCH}-linux/ascend_toolkit_install.info", "version=8.3.RC9\narch=x\n")
    write(tmp_path / "ascend-toolkit/8.3.RC9/opp_kernel/version.info", "Version=8.3.0.9\nversion_dir=8.3.RC9\n")
    write(tmp_path / f"cann-9.4.0/{ARCH}-linux/ascend_toolkit_install.info", "version=9.4.0\n")
    write(tmp_path / f"cann-9.4.0/{ARCH}-linux/ascend_ops_install.info", "version=9.4.0\n")
    write(tmp_path / "nnal/atb/9.4.0/version.info", "   Ascend-cann-atb : 9.4.0\n   Platform : aarch64\n")
    (tmp_path / "cann-9.5.0").mkdir()
    (tmp_path / "cann").symlink_to("cann-9.4.0")
    found = software.installed(str(tmp_path), ARCH)
    assert {kind: sorted(found[kind]) for kind in found} == {
        "toolkit": ["8.3.RC9", "9.4.0"],
        "kernels": ["8.3.RC9", "9.4.0"],
        "nnal": ["9.4.0"],
    }
    assert software.current(str(tmp_path), ARCH) == "9.4.0"


INSTALLER = """
case " $* " in
  *" --check "*) exit 0 ;;
  *" --uninstall "*) rm -rf {root}/cann-9.4.0; exit 0 ;;
esac
case {fault} in
  silent) exit 0 ;;
  broken) mkdir -p {root}/cann-9.4.0; echo 'no space left' >&2; exit 1 ;;
esac
mkdir -p {root}/cann-9.4.0/{arch}-linux
echo version=9.4.0 > {root}/cann-9.4.0/{arch}-linux/ascend_toolkit_install.info
"""


def package(tmp_path, fault="none"):
    path = tmp_path / f"Ascend-cann-toolkit_9.4.0_linux-{ARCH}.run"
    path.write_text(INSTALLER.format(root=tmp_path / "root", arch=ARCH, fault=fault))
    return software.package_of(str(path))


def install(tmp_path, fault="none"):
    cann.install(run, str(tmp_path / "root"), package(tmp_path, fault), True, 60)


def test_an_installation_is_read_back(tmp_path):
    install(tmp_path)
    assert cann.is_installed(str(tmp_path / "root"), package(tmp_path))


@pytest.mark.parametrize(("fault", "word"), [("silent", "is not below"), ("broken", "no space left")])
def test_an_installer_that_did_nothing_or_broke_off_is_caught_and_repaired(tmp_path, fault, word):
    with pytest.raises(cann.InstallError, match=word):
        install(tmp_path, fault)
    assert not cann.is_installed(str(tmp_path / "root"), package(tmp_path))
    install(tmp_path)
    assert cann.is_installed(str(tmp_path / "root"), package(tmp_path))
