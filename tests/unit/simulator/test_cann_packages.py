# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated CANN packages: options, prompts, exit statuses, files, and the ways they fail."""

from __future__ import annotations

import os
import pathlib
import platform
import subprocess

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host import ascend_software
from ansible_collections.ascend.inference.tests.simulator.cann import driver, packages

OLD, NEW = "8.2.RC1", "9.0.0"
ARCH = platform.machine()


class Node:
    """A place to install to."""

    def __init__(self, folder):
        self.folder = folder
        self.path = folder / "Ascend"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "ASCEND_SIMULATOR_ROOT": str(folder / "root"),
        }

    def run(self, package, *words, answer="", **environment):
        argv = [str(package), *words]
        if not words or words[0] not in ("--check", "--help", "--version"):
            argv.append(f"--install-path={self.path}")
        env = {**self.environment, **environment}
        return subprocess.run(argv, env=env, input=answer, capture_output=True, text=True, check=False)

    def install(self, package, **environment):
        done = self.run(package, "--install", "--quiet", **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def sourced(self, *files):
        """The environment after sourcing."""
        lines = "; ".join(f"source {self.path / file}" for file in files)
        argv = ["bash", "-c", f"set -e; {lines}; env"]
        text = subprocess.run(argv, env=self.environment, capture_output=True, text=True, check=True).stdout
        return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    def home(self, version):
        return self.path / (f"cann-{version}" if version == NEW else f"ascend-toolkit/{version}")


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


@pytest.fixture
def build(tmp_path):
    return lambda kind, version=NEW, **more: packages.build(tmp_path / "packages", kind, version, **more)


@pytest.mark.parametrize("version", [OLD, NEW])
def test_whole_installation(node, build, version):
    driver.install(root=node.folder / "root")
    node.install(build("toolkit", version))
    node.install(build("kernels", version))
    environment = node.sourced("ascend-toolkit/set_env.sh")
    node.install(build("nnal", version), ASCEND_HOME_PATH=environment["ASCEND_HOME_PATH"])
    info = (node.home(version) / f"{ARCH}-linux/ascend_toolkit_install.info").read_text(encoding="utf-8")
    assert f"version={version}\n" in info and f"arch={ARCH}\n" in info and "path=" in info
    assert (node.path / "ascend-toolkit/latest").resolve() == node.home(version)
    environment = node.sourced("ascend-toolkit/set_env.sh", "nnal/atb/set_env.sh")
    for library in ("libascend_hal.so", "libhccl.so", "libatb.so"):
        found = [part for part in environment["LD_LIBRARY_PATH"].split(":") if (pathlib.Path(part) / library).exists()]
        assert found, library
    assert (
        (node.path / "nnal/atb/latest/version.info")
        .read_text(encoding="utf-8")
        .startswith(f"Ascend-cann-atb : {version}")
    )
    registry = node.folder / "root/etc/Ascend" if os.geteuid() == 0 else node.folder / "Ascend"
    assert "Toolkit_InstallPath=" in (registry / "ascend_cann_install.info").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", [OLD, NEW])
def test_the_collection_reads_them_back(node, build, version):
    for kind in ("toolkit", "kernels"):
        package = build(kind, version)
        assert ascend_software.package_of(str(package)).kind == kind
        node.install(package)
    node.install(build("nnal", version), ASCEND_HOME_PATH="set")
    found = ascend_software.installed(str(node.path), ARCH)
    assert {kind: list(versions) for kind, versions in found.items()} == dict.fromkeys(found, [version])
    assert ascend_software.current(str(node.path), ARCH) == version
    assert len(ascend_software.environment(str(node.path))) == 2


def test_versions_side_by_side_and_uninstall(node, build):
    for version in (OLD, NEW):
        node.install(build("toolkit", version))
    assert node.home(OLD).is_dir() and (node.path / "ascend-toolkit/latest").resolve() == node.home(NEW)
    assert node.run(build("toolkit", NEW), "--uninstall").returncode == 0
    assert not node.home(NEW).exists() and not (node.path / "cann").is_symlink()
    assert node.home(OLD).is_dir()


def test_full_installs_the_toolkit_and_nothing_of_the_others(node, build):
    node.install(build("toolkit"))
    done = node.run(build("kernels"), "--full", "--quiet")
    assert (done.returncode, "Usage" in done.stdout) == (0, True)
    assert not list(node.path.glob("**/ascend_ops_install.info"))
    assert node.run(build("toolkit"), "--full", "--quiet").returncode == 0


@pytest.mark.parametrize("answer, code", [("", 1), ("n\n", 1), ("y\n", 0)])
def test_licence_question(node, build, answer, code):
    done = node.run(build("toolkit"), "--install", answer=answer)
    assert (done.returncode, "EULA" in done.stdout) == (code, True)
    assert bool(list(node.path.glob("**/ascend_toolkit_install.info"))) == (code == 0)


@pytest.mark.parametrize(
    "mode, code, info", [("nothing", 0, False), ("half", 1, False), ("quietly", 0, False), ("hollow", 0, True)]
)
def test_failures(node, build, mode, code, info):
    done = node.run(build("toolkit"), "--install", "--quiet", ASCEND_SIMULATOR_CANN_FAIL=f"toolkit:{mode}")
    assert done.returncode == code
    assert bool(list(node.path.glob("**/ascend_toolkit_install.info"))) == info
    assert bool(list(node.path.glob("**/libhccl.so"))) == (mode in ("half", "quietly"))
    node.install(build("toolkit"), ASCEND_SIMULATOR_CANN_FAIL="kernels:half")
    assert list(node.path.glob("**/libhccl.so"))


def test_refusals(node, build):
    done = node.run(build("toolkit"), "--install", "--quiet", ASCEND_SIMULATOR_CANN_MIB="999999999")
    assert (done.returncode, "not enough" in done.stdout) == (1, True)
    assert node.run(build("kernels"), "--install", "--quiet").returncode == 1
    assert node.run(build("nnal"), "--install", "--quiet").returncode == 1
    assert node.run(build("toolkit"), "--upgrade", "--quiet").returncode == 1
    assert node.run(build("toolkit"), "--instal").returncode == 1
    assert node.run(build("toolkit")).returncode == 1
    other = "aarch64" if ARCH == "x86_64" else "x86_64"
    done = node.run(build("toolkit", arch=other), "--install", "--quiet")
    assert (done.returncode, "No packages to install !" in done.stdout) == (1, True)


def test_damaged_archive(node, build):
    package = build("toolkit")
    assert "All good" in node.run(package, "--check").stdout
    data = package.read_bytes()
    package.write_bytes(data[:-20] + b"x" * 20)
    assert node.run(package, "--check").returncode == 1
    assert node.run(package, "--install", "--quiet").returncode == 1


def test_permissions(node, build):
    package = build("toolkit")
    node.install(package)
    assert not (node.home(NEW) / "lib64").stat().st_mode & 0o007
    if os.geteuid() == 0:
        node.run(package, "--install", "--quiet", "--install-for-all")
        assert (node.home(NEW) / "lib64").stat().st_mode & 0o005 == 0o005


def test_names_follow_the_vendor(tmp_path):
    made = packages.build_all(tmp_path, OLD, "a3", "aarch64") + packages.build_all(tmp_path, NEW, "a2", "aarch64")
    assert [path.name for path in made] == [
        "Ascend-cann-toolkit_8.2.RC1_linux-aarch64.run",
        "Atlas-A3-cann-kernels_8.2.RC1_linux-aarch64.run",
        "Ascend-cann-nnal_8.2.RC1_linux-aarch64.run",
        "Ascend-cann-toolkit_9.0.0_linux-aarch64.run",
        "Ascend-cann-910b-ops_9.0.0_linux-aarch64.run",
        "Ascend-cann-nnal_9.0.0_linux-aarch64.run",
    ]


def test_driver_tree(tmp_path):
    driver.install("25.5.1", tmp_path)
    driver.install("25.5.1", tmp_path)
    assert "package_version=25.5.1" in (tmp_path / "usr/local/Ascend/driver/version.info").read_text(encoding="utf-8")
    assert (tmp_path / "usr/local/bin/npu-smi").stat().st_mode & 0o777 == 0o555
    assert (tmp_path / "etc/hccn.conf").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "usr/bin/hccn_tool").is_symlink()
