# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module cann_package with an installer that counts its runs: what is installed is installed once, also by two runs at the same time."""

from __future__ import annotations

import fcntl
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


def test_what_was_done_is_returned(options, tmp_path, run_module):
    name, root = os.path.basename(options["packages"][0]), tmp_path / "root"
    (root / f"cann-9.3.0/{ARCH}-linux").mkdir(parents=True)
    (root / f"cann-9.3.0/{ARCH}-linux/ascend_toolkit_install.info").write_text("version=9.3.0\n")
    (root / "cann").symlink_to("cann-9.3.0")
    (root / "cann-9.3.0/set_env.sh").write_text("")
    diff = {"before": "toolkit 9.3.0\n", "after": "toolkit 9.3.0\ntoolkit 9.4.0\n"}
    for check, versions in ((True, ["9.3.0"]), (False, ["9.3.0", "9.4.0"])):
        found = run_module("cann_package", check=check, **options)
        assert (found["changed"], found["actions"], found["diff"]) == (True, ["install " + name], diff)
        assert sorted(found["installed"]["toolkit"]) == versions and found["current"] == "9.3.0"
        assert found["environment"] == [str(root / "cann/set_env.sh")] and set(found["driver"]) == {
            "driver",
            "firmware",
        }
    again = run_module("cann_package", **options)
    assert (again["changed"], again["actions"]) == (False, [])
    assert again["diff"] == {"before": diff["after"], "after": diff["after"]}


@pytest.mark.parametrize("for_all", [None, True, False])
def test_the_installer_is_told_where_and_for_whom(options, tmp_path, run_module, for_all):
    run_module("cann_package", **dict(options, **({} if for_all is None else {"for_all": for_all})))
    (line,) = (tmp_path / "runs").read_text().splitlines()
    assert f"--install-path={tmp_path}/root" in line.split() and "--quiet" in line.split()
    assert ("--install-for-all" in line.split()) is (for_all is not False)


def test_problems_of_all_packages_come_together_and_nothing_is_installed(options, tmp_path, run_module):
    other = {"aarch64": "x86_64", "x86_64": "aarch64"}[ARCH]
    foreign, absent = f"Ascend-cann-nnal_9.4.0_linux-{other}.run", f"Ascend-cann-nnal_9.4.0_linux-{ARCH}.run"
    (tmp_path / foreign).write_text("")
    names = [*options["packages"], str(tmp_path / "a\x1b.run"), str(tmp_path / foreign), str(tmp_path / absent)]
    found = run_module("cann_package", **dict(options, packages=names, free_mib=10**9))
    assert found["failed"] and runs(tmp_path) == 0 and not (tmp_path / "root").exists()
    begin, *problems = found["msg"].partition("Nothing was installed. ")[2].split("; ")
    assert begin.startswith(f"{tmp_path}/a\\x1b.run is not the name of a CANN")
    assert problems[0] == f"{foreign} is for {other}, but this host is {ARCH}"
    assert problems[1] == f"{tmp_path}/{absent} does not exist" and len(problems) == 3
    assert problems[2].startswith(f"{tmp_path} has ") and "MiB free, but 1000000000 are needed" in problems[2]


@pytest.mark.parametrize("missing_ok", [True, False])
def test_a_package_that_will_be_fetched_later_may_be_absent(options, tmp_path, run_module, missing_ok):
    os.unlink(options["packages"][0])
    found = run_module("cann_package", check=True, missing_ok=missing_ok, **options)
    assert found["failed"] is not missing_ok and (not missing_ok or len(found["actions"]) == 1)


def test_an_installer_that_hangs_is_ended_and_named(options, tmp_path, run_module):
    with open(options["packages"][0], "a") as stream:
        stream.write("sleep 60\n")
    found = run_module("cann_package", timeout=0.5, **options)
    assert found["failed"] and "the installer timed out after 0.5 s" in found["msg"]
    assert run_module("cann_package", check=True, **options)["changed"], "what was interrupted is not installed"


def test_one_run_at_a_time_installs_below_a_folder(options, tmp_path, run_module):
    (tmp_path / "root").mkdir()
    with open(str(tmp_path / "root" / cann_package.LOCK), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("process 7 on n1\n")
        lock.flush()
        found = run_module("cann_package", timeout=0.3, **options)
        assert found["failed"] and "is held by process 7 on n1" in found["msg"] and runs(tmp_path) == 0
        assert run_module("cann_package", check=True, timeout=0.3, **options)["changed"], "check mode waits for nobody"
    assert run_module("cann_package", **options)["changed"]
    assert (tmp_path / "root" / cann_package.LOCK).read_text().startswith(f"process {os.getpid()} on ")


def test_a_package_that_others_changed_after_it_was_compared_is_not_run(options, tmp_path, run_module):
    path = options["packages"][0]
    os.chmod(path, 0o666)
    name = os.path.basename(path)
    found = run_module("cann_package", checksums={name: "sha256:" + 64 * "0", "other.run": "sha256:1"}, **options)
    assert found["failed"] and "was changed after it was compared" in found["msg"] and runs(tmp_path) == 0


def test_a_package_that_is_installed_needs_no_file(options, tmp_path, run_module):
    run_module("cann_package", **options)
    os.unlink(options["packages"][0])
    found = run_module("cann_package", **options)
    assert not found["failed"] and not found["changed"]
