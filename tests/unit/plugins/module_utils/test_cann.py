# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CANN on disk and CANN packages: names, layouts, and an installer that cannot fool the module."""

from __future__ import annotations

import hashlib
import os
import pathlib

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import own_folder
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
    home = str(tmp_path / "ascend-toolkit/8.3.RC9")
    assert found["toolkit"]["8.3.RC9"] == {"path": home, "arch": "x"}
    assert found["kernels"]["9.4.0"] == {"path": str(tmp_path / "cann-9.4.0"), "arch": ""}
    assert found["nnal"]["9.4.0"] == {"path": str(tmp_path / "nnal/atb"), "arch": "aarch64"}


def test_links_and_files_without_a_version_are_no_installation(tmp_path):
    (tmp_path / "ascend-toolkit").mkdir()
    write(tmp_path / f"cann-9.4.0/{ARCH}-linux/ascend_toolkit_install.info", "arch=x\n")
    write(tmp_path / "cann-9.4.0/ascend_kernels_install.info", "version=8.1\n")
    write(tmp_path / "nnal/atb/9.4.0/version.info", "Ascend-cann-atb : 9.4.0\n")
    write(tmp_path / "nnal/atb/9.5.0/version.info", "Version : 9.5.0\n")
    (tmp_path / "nnal/atb/latest").symlink_to("9.4.0")
    (tmp_path / "cann-10").write_text("a file")
    found = software.installed(str(tmp_path), ARCH)
    assert found["toolkit"] == {} and list(found["kernels"]) == ["8.1"]
    assert found["nnal"] == {"9.4.0": {"path": str(tmp_path / "nnal/atb"), "arch": ARCH}}
    assert software.current(str(tmp_path), ARCH) == ""


@pytest.mark.parametrize(
    ("files", "sourced"),
    [
        ([], []),
        (["cann"], ["cann"]),
        (["ascend-toolkit", "cann", "nnal/atb"], ["ascend-toolkit", "nnal/atb"]),
        (["nnal/atb"], ["nnal/atb"]),
    ],
)
def test_one_toolkit_is_sourced_before_atb(tmp_path, files, sourced):
    for name in files:
        write(tmp_path / name / "set_env.sh", "")
    assert software.environment(str(tmp_path)) == [str(tmp_path / name / "set_env.sh") for name in sourced]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Version=1.0\npackage_version=25.2\n", "25.2"),
        ('Version="24.1"\n', "24.1"),
        ("Version : 24.1 \nVersion : 25\n", "24.1"),  # the first line counts
        ("package_version=\nVersion=7\n", "7"),
        ("nothing", ""),
    ],
)
def test_the_version_of_a_driver(tmp_path, text, version):
    write(tmp_path / "driver/version.info", text)
    assert software.driver(str(tmp_path)) == {"driver": version, "firmware": ""}


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


def sha256(path):
    return "sha256:" + hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def others_can_change(path):
    """As on a network share: any user may replace the file."""
    os.chmod(path, 0o666)


def test_a_package_that_was_swapped_after_it_was_compared_is_not_run(tmp_path):
    """The role compares the packages some minutes before root runs them."""
    root, item = tmp_path / "root", package(tmp_path)
    root.mkdir()
    checksum = sha256(item.path)
    others_can_change(item.path)
    pathlib.Path(item.path).write_text(f"touch {tmp_path}/evil")
    with pytest.raises(cann.InstallError, match="was changed after it was compared"), cann.unchangeable(
        str(root), item, checksum
    ) as own:
        cann.install(run, str(root), own, False, 30)
    assert not (tmp_path / "evil").exists() and not os.listdir(str(root))


@pytest.mark.parametrize("where", ["file", "folder"])
def test_what_others_can_change_is_run_from_a_copy_that_they_cannot(tmp_path, where):
    shelf, root = tmp_path / "shelf", tmp_path / "root"
    shelf.mkdir()
    left = pathlib.Path(own_folder.begin(str(root / cann.COPIES)))
    (left / "left by a killed run").mkdir()
    item = package(shelf)
    (left / "root").mkdir()
    path = pathlib.Path(item.path)
    path.write_text(path.read_text().replace(str(shelf / "root"), str(root)))
    checksum = sha256(item.path)
    others_can_change(item.path if where == "file" else str(shelf))
    if where == "folder":
        shelf.chmod(0o777)
    with cann.unchangeable(str(root), item, checksum) as own:
        assert (
            own.path != item.path and own.name == item.name and os.stat(os.path.dirname(own.path)).st_mode & 0o077 == 0
        )
        path.write_text(f"touch {tmp_path}/evil")
        cann.install(run, str(root), own, False, 30)
    assert not (tmp_path / "evil").exists() and os.listdir(str(root)) == ["cann-9.4.0"]


def test_a_folder_of_somebody_else_with_the_name_of_the_copies_stays(tmp_path):
    item = package(tmp_path)
    others_can_change(item.path)
    mine = tmp_path / "root" / cann.COPIES / "thesis.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(cann.InstallError, match="did not make it.*Fix:"), cann.unchangeable(
        str(tmp_path / "root"), item, sha256(item.path)
    ):
        raise AssertionError("the package was run")
    assert mine.read_text() == "mine"


def test_a_package_that_nobody_else_can_change_is_run_where_it_is(tmp_path):
    item = package(tmp_path)
    os.chmod(item.path, 0o644)
    for checksum in (sha256(item.path), ""):
        with cann.unchangeable(str(tmp_path / "root"), item, checksum) as own:
            assert own == item
    others_can_change(item.path)
    with cann.unchangeable(str(tmp_path / "root"), item, "") as own:  # cann_unverified
        assert own == item


@pytest.mark.parametrize(
    ("kind", "recorded", "interrupted", "left"),
    [
        ("toolkit", ["toolkit"], [], False),
        ("toolkit", ["toolkit"], ["p.run"], True),  # its record may be of an attempt that broke off
        ("toolkit", ["toolkit"], ["q.run"], False),
        ("toolkit", ["kernels", "nnal"], [], True),
        ("cann", ["toolkit", "kernels", "nnal"], [], False),
        ("cann", ["toolkit", "kernels"], [], True),
    ],
)
def test_a_package_is_missing_without_its_records_or_after_an_interruption(kind, recorded, interrupted, left):
    package = software.Package("p.run", "p.run", kind, "8.5.0", ARCH, "")
    known = {name: {"8.5.0": {}} if name in recorded else {"8.4.0": {}} for name in ("toolkit", "kernels", "nnal")}
    assert cann.missing([package], {"installed": known, "interrupted": interrupted}) == ([package] if left else [])
