# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""build.sh of the role mooncake, run by bash: root runs nothing of the sources, and installs only what is no surprise.

What needs root, or depends on the machine, is replaced by programs that are first in PATH. All files are below the folder of the test.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "roles" / "mooncake" / "files" / "build.sh"
PROGRAMS = {
    "id": 'case "$*" in -u) echo "$ME" ;; -g*) echo 1235 ;; *) [ -e "$HERE/user" ] || exit 1; cat "$HERE/user" ;; esac',
    "useradd": 'echo "useradd $*" >> "$HERE/calls"; echo 1234 > "$HERE/user"',
    "chown": 'echo "chown $*" >> "$HERE/calls"',
    "setpriv": 'echo "setpriv $*" >> "$HERE/calls"; while [ "$1" != -- ]; do shift; done; shift; export AS_USER=1; exec "$@"',
    "tar": f'echo "tar $*" >> "$HERE/calls"; exec {shutil.which("tar")} "$@"',
    "ldconfig": 'echo "1 libs found"; echo "  libssl.so.3 (libc6) => /usr/lib/libssl.so.3"; '
    'echo "  libown.so (libc6) => $PREFIX/lib/libown.so"',
}


class Build:
    """The script with its variables; ``compile`` writes below DESTDIR, as cmake does."""

    def __init__(self, folder):
        self.folder, self.calls = folder, folder / "calls"
        self.prefix, self.site = folder / "prefix", folder / "site"
        self.variables = {"BUILD_USER": "builder", "ME": "0", "READ": f"export PYTHONPATH={self.site}"}
        self.programs = folder / "programs"
        for name in ("checkout", "programs", "site"):
            (folder / name).mkdir()
        (folder / "checkout" / "CMakeLists.txt").write_text("sources\n")
        (folder / "user").write_text("1234\n")
        for name, text in PROGRAMS.items():
            self.program(name, text)

    def program(self, name, text):
        (self.programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.programs / name).chmod(0o755)

    def run(self, commands, **variables):
        """The end of the script."""
        environment = {
            **os.environ,
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "HERE": str(self.folder),
            "CHECKOUT": str(self.folder / "checkout"),
            "PREFIX": str(self.prefix),
            "PYTHON": sys.executable,
            "COMPILE": commands,
            **self.variables,
            **variables,
        }
        program = ["bash", "-c", SCRIPT.read_text(encoding="utf-8")]
        return subprocess.run(
            program, env=environment, cwd="/", capture_output=True, text=True, check=False, timeout=60, umask=0o077
        )

    def install(self, *files, more="true"):
        """The end of a build that makes these files, each with its path as content, and runs more commands in DESTDIR."""
        lines = [f'install -D -m 4777 <(echo {file}) "$DESTDIR/{file}"' for file in files]
        return self.run("\n".join([*lines, 'cd "$DESTDIR"', more]))

    def installed(self):
        """The files below the prefix and the packages of Python."""
        found = [path for top in (self.prefix, self.site) for path in top.rglob("*")]
        return sorted(str(path.relative_to(self.folder)) for path in found if not path.is_dir())

    def left(self):
        return [path.name for path in self.folder.iterdir() if path.name.startswith(".")]


@pytest.fixture
def build(tmp_path):
    return Build(tmp_path)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# --- without root, or without a user for builds


@pytest.mark.parametrize("given", [{"ME": "1000"}, {"BUILD_USER": ""}])
def test_without_root_or_a_user_the_sources_are_compiled_where_they_are(build, given):
    done = build.run("pwd; touch made; echo path=$PYTHONPATH", **given)
    assert done.returncode == 0 and not build.calls.exists()
    assert done.stdout.split() == [f"{build.folder}/checkout", f"path={build.site}"]
    assert mode(build.folder / "checkout" / "made") == 0o644, "services run as another user"


def test_only_one_build_runs_in_a_folder(build):
    lock = f"flock --nonblock {build.folder}/checkout.lock true || echo locked"
    assert build.run(lock, ME="1000").stdout == "locked\n"
    build.program("flock", 'echo "$*" >> "$HERE/calls"; exit 1')
    done = build.run("echo compiled", ME="1000")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"another process builds in {build.folder}/checkout\n"
    assert build.calls.read_text() == "--timeout 3600 9\n"


@pytest.mark.parametrize("given", [{"ME": "1000"}, {"ME": "0"}])
@pytest.mark.parametrize("failing", ["false", "false | true"])
def test_a_command_that_fails_ends_the_build(build, given, failing):
    done = build.run(f"echo begun\n{failing}\necho ended", **given)
    assert (done.returncode, done.stdout) == (1, "begun\n")
    assert ("the build by builder failed" in done.stderr) == (given["ME"] == "0")
    assert build.left() == []


@pytest.mark.parametrize("given", [{"ME": "1000"}, {"ME": "0"}])
def test_a_line_of_canns_files_may_fail(build, given):
    done = build.run("echo $CANN", READ="export CANN=found\nfalse\nfalse | true", **given)
    assert (done.returncode, done.stdout) == (0, "found\n"), done.stderr


# --- as root


def test_a_user_without_privileges_compiles_a_copy(build):
    commands = ["echo $AS_USER $PWD", "env", "cat CMakeLists.txt", "touch made", "stat --format modes:%a . .. ../.."]
    done = build.run("\n".join([*commands, '[ -e /proc/$$/fd/9 ] || echo "no lock"']))
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    user, place = first.split()
    own = place[: -len("/source")]
    assert user == "1" and own.startswith(f"{build.folder}/.build-") and "sources" in lines
    expected = {
        "HOME": own,
        "TMPDIR": own,
        "XDG_CACHE_HOME": f"{own}/cache",
        "USER": "builder",
        "LOGNAME": "builder",
        "DESTDIR": f"{own}/stage",
    }
    assert {f"{name}={value}" for name, value in expected.items()} <= set(lines)
    assert lines[-2] == "modes:755", "this user has to reach its folder"
    assert lines[-1] == "no lock", "a process that a build leaves behind would keep the lock"
    assert not (build.folder / "checkout" / "made").exists() and build.left() == []


def test_the_copy_has_the_modes_times_and_links_of_the_sources(build):
    """A build has programs of its own, and makes again what is older than what it is made of."""
    sources = build.folder / "checkout"
    os.utime(sources / "CMakeLists.txt", (1000, 1000))
    (sources / "configure").write_text("")
    (sources / "configure").chmod(0o755)
    (sources / "link").symlink_to("CMakeLists.txt")
    done = build.run("stat --format %Y CMakeLists.txt; stat --format %a configure; readlink link")
    assert done.stdout.split() == ["1000", "755", "CMakeLists.txt"]


def test_privileges_are_given_up_before_anything_of_the_sources_runs(build):
    build.run("true")
    calls = build.calls.read_text().splitlines()
    started = [call for call in calls if call.startswith("setpriv ")]
    limits = "setpriv --reuid 1234 --regid 1235 --clear-groups --no-new-privs -- env "
    assert len(started) == 3 and all(call.startswith(limits) for call in started)
    own = [call.replace(str(build.folder), "") for call in calls if call.startswith("chown ")]
    assert [call.split("/")[0] + call.rsplit("/.build-")[1][6:] for call in own] == [
        "chown 1234:1235 /own",
        "chown 1234:1235 /own/stage",
    ]


def test_the_user_is_created_once(build):
    (build.folder / "user").unlink()
    for _time in range(2):
        assert build.run("true").returncode == 0
    created = [call for call in build.calls.read_text().splitlines() if call.startswith("useradd")]
    assert created == ["useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin builder"]


def test_root_is_no_user_for_builds(build):
    (build.folder / "user").write_text("0\n")
    done = build.run("echo compiled")
    assert (done.returncode, done.stdout) == (1, "") and "Nothing was installed: builder is root" in done.stderr


def test_nothing_is_compiled_without_setpriv(build):
    (build.programs / "setpriv").unlink()
    for name in ("bash", "flock", "python3"):
        (build.programs / name).symlink_to(shutil.which(name))
    if shutil.which("setpriv", path="/usr/sbin:/sbin"):
        pytest.skip("this machine has it where the script always looks")
    done = build.run("echo compiled", PATH=str(build.programs))
    assert (done.returncode, done.stdout) == (1, "") and "setpriv is missing" in done.stderr


def test_programs_of_the_system_are_found_without_its_folders_in_path(build):
    """A login user's PATH often lacks them, also where sudo makes this user root."""
    (build.programs / "ldconfig").unlink()
    path = [folder for folder in os.environ["PATH"].split(":") if not folder.rstrip("/").endswith("sbin")]
    done = build.run("true", PATH=":".join([str(build.programs), *path]))
    assert done.returncode == 0, done.stderr


def test_nothing_is_installed_if_the_libraries_of_the_host_are_not_known(build):
    build.program("ldconfig", "exit 1")
    done = build.install(f"{build.prefix}/bin/x")
    assert done.returncode == 1 and build.installed() == []


# --- what is installed

EXPECTED = [
    "prefix/bin/mooncake_master",
    "prefix/include/mooncake/store.h",
    "prefix/lib/cmake/x.cmake",
    "prefix/lib/libown.so",
    "prefix/lib/libx.a",
    "prefix/lib/pkgconfig/x.pc",
    "prefix/lib64/libssl.so.4",
    "prefix/sbin/tool",
    "site/mooncake/engine.py",
]
SURPRISES = [
    "prefix/bin/ls",  # of the distribution, and before it in PATH
    "prefix/sbin/bash",
    "prefix/lib/libssl.so.3",
    "prefix/lib/systemd/system/x.service",
    "prefix/lib/python3/dist-packages/other.so",
    "prefix/share/x",
    "prefix/x.so",
    "site/other.py",
    "site/mooncake_other/x.py",
    "elsewhere/x",
]


def test_programs_libraries_headers_and_the_module_are_installed(build):
    top = str(build.folder)
    done = build.install(*(f"{top}/{file}" for file in EXPECTED))
    assert done.returncode == 0, done.stderr
    assert build.installed() == EXPECTED and build.left() == []
    for file in EXPECTED:
        assert mode(build.folder / file) == 0o755, "others must not write it, nor become its owner"
        assert (build.folder / file).read_text() == f"{top}/{file}\n"
    taken = [call for call in build.calls.read_text().splitlines() if call.endswith("-xf -")]
    assert len(taken) == 2 and all("--no-same-owner --no-same-permissions" in call for call in taken)


@pytest.mark.parametrize("file", SURPRISES)
def test_nothing_is_installed_with_a_surprise(build, file):
    done = build.install(f"{build.folder}/prefix/bin/mooncake_master", f"{build.folder}/{file}")
    assert done.returncode == 1 and done.stderr.rstrip().endswith(f"libraries: {build.folder}/{file}")
    assert build.installed() == [] and build.left() == []


def test_a_relative_folder_of_python_is_no_place_for_a_module(build):
    """Python looks in the folder where it starts, which is none that the build may write."""
    done = build.install("/mooncake/x.py")
    assert done.returncode == 1 and done.stderr.rstrip().endswith("libraries: /mooncake/x.py")


def test_programs_get_no_rights_of_others_from_a_tar_that_keeps_modes(build):
    build.program("tar", f'exec {shutil.which("tar")} $(echo "$*" | sed s/--no-same-permissions/--same-permissions/)')
    done = build.install(f"{build.prefix}/bin/mooncake_master")
    assert done.returncode == 0, done.stderr
    assert mode(build.prefix / "bin" / "mooncake_master") == 0o755


def test_five_surprises_are_named(build):
    done = build.install(*(f"{build.folder}/prefix/share/{number}" for number in range(7)))
    assert done.stderr.count("/prefix/share/") == 5


@pytest.mark.parametrize(
    ("command", "refused"),
    [
        ("ln -s /etc/passwd ./x.so", True),
        ("ln -s ../../x ./x.so", True),
        ("mkfifo x.so", True),
        ("ln -s libx.so.1 x.so", False),
    ],
)
def test_links_that_leave_their_folder_and_devices_are_refused(build, command, refused):
    done = build.install(more=f"mkdir -p .{build.prefix}/lib; cd .{build.prefix}/lib; {command}")
    assert (done.returncode == 1) == refused, done.stderr
    assert (f"links that leave their folder: {str(build.prefix)[1:]}/lib/x.so" in done.stderr) == refused
    assert build.installed() == ([] if refused else ["prefix/lib/x.so"])


def test_folders_that_exist_stay_as_they_are(build):
    (build.folder / "toolkit").mkdir()
    build.prefix.mkdir()
    (build.prefix / "lib").symlink_to(build.folder / "toolkit")
    (build.prefix / "bin").mkdir(mode=0o700)
    done = build.install(f"{build.prefix}/lib/libx.so", f"{build.prefix}/bin/x")
    assert done.returncode == 0, done.stderr
    assert (build.prefix / "lib").is_symlink() and (build.folder / "toolkit" / "libx.so").is_file()
    assert mode(build.prefix / "bin") == 0o700


def test_an_earlier_module_is_no_longer_writable_by_all(build):
    (build.site / "mooncake").mkdir()
    (build.site / "mooncake").chmod(0o777)
    assert build.run("true").returncode == 0
    assert mode(build.site / "mooncake") == 0o755


@pytest.mark.parametrize("python", ["/nonexistent/python", sys.executable])
def test_packages_are_those_of_the_given_python_or_of_the_hosts(build, python):
    """A host that runs only the master has no virtual environment."""
    (build.programs / "python3").write_text(f'#!/bin/sh\necho called >> "$HERE/host"\nexec {sys.executable} "$@"\n')
    (build.programs / "python3").chmod(0o755)
    done = build.run(f'install -D <(echo x) "$DESTDIR{build.site}/mooncake/x.py"', PYTHON=python)
    assert done.returncode == 0, done.stderr
    assert build.installed() == ["site/mooncake/x.py"]
    assert (build.folder / "host").exists() == (python != sys.executable)
