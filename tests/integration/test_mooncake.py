# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role mooncake for NPUs: the wheel and its C library, and the build from source with a real cmake and a small simulated project."""

from __future__ import annotations

import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

import pytest
import yaml
from ansible_collections.ascend.inference.tests.integration._playbook import play
from ansible_collections.ascend.inference.tests.simulator import wheels

# The parts of the real project that the role uses: its option, its program, a Python module in CANN's folder.
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(Standin LANGUAGES C)
option(USE_ASCEND_DIRECT "" OFF)
if(NOT USE_ASCEND_DIRECT)
  message(FATAL_ERROR "USE_ASCEND_DIRECT is off")
endif()
if(NOT DEFINED ENV{ASCEND_HOME_PATH})
  message(FATAL_ERROR "CANN's set_env.sh was not read")
endif()
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/dependencies.done)
  message(FATAL_ERROR "dependencies.sh was not run")
endif()
file(WRITE ${CMAKE_BINARY_DIR}/main.c "int main(void) { return 0; }")
add_executable(mooncake_master ${CMAKE_BINARY_DIR}/main.c)
install(TARGETS mooncake_master DESTINATION bin)
install(FILES engine.py store.py __init__.py DESTINATION $ENV{ASCEND_HOME_PATH}/python/site-packages/mooncake)
"""

ROLE = pathlib.Path(__file__).parents[2] / "roles/mooncake"
PYTHON = "/usr/bin/python3"  # the one that runs the tests may be in a directory of root
needs_cmake = pytest.mark.skipif(
    not all(map(shutil.which, ("git", "cmake", "cc", PYTHON))), reason="needs git, cmake, a compiler and Python"
)


@pytest.fixture
def variables(tmp_path):
    """Variables for an environment on this machine; missing system libraries are not tested here."""
    return {
        "mooncake_venv": str(tmp_path / "venv"),
        "mooncake_interpreter": str(tmp_path / "venv/bin/python"),
        "mooncake_package": "mooncake-transfer-engine-npu",
        "mooncake_version": "0.3.11.post1",
        "mooncake_libraries": {},
    }


@pytest.fixture
def offline(tmp_path, variables):
    """Variables for a folder with the simulated wheel of one version."""
    wheels.mooncake(tmp_path / "wheels", "0.3.11.post1")
    links = [str(tmp_path / "wheels")]
    return {**variables, "mooncake_find_links": links, "mooncake_offline": True, "mooncake_glibc": "2.17"}


@pytest.mark.long  # molecule/install installs the wheel, twice
def test_wheel_of_the_release(tmp_path, offline):
    done = play(tmp_path, "mooncake", **offline)
    assert done.code == 0, done.output
    shutil.rmtree(tmp_path / "wheels")
    done = play(tmp_path, "mooncake", **offline)
    assert (done.code, done.changed) == (0, 0), done.output


def test_a_wheel_that_cannot_be_installed_is_refused_with_a_fix(tmp_path, offline):
    done = play(tmp_path, "mooncake", **{**offline, "mooncake_glibc": "9.35"})
    assert done.code != 0
    assert "needs glibc 9.35 or later" in done.text and "mooncake_method to source" in done.text
    done = play(tmp_path, "mooncake", **{**offline, "mooncake_version": "0.3.12"})
    assert done.code != 0
    assert "has mooncake-transfer-engine-npu==0.3.12" in done.text and "mooncake_find_links" in done.text


@pytest.fixture
def source(variables):
    """Variables for a build from a simulated project, in a folder that the user who builds can read, and that folder."""
    folder = pathlib.Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    source, cann = folder / "git", folder / "latest"
    source.mkdir()
    (folder / "cann").mkdir()
    cann.symlink_to("cann")  # as CANN's ascend-toolkit/latest
    for name in ("engine.py", "store.py", "__init__.py"):
        (source / name).write_text("")
    (source / "CMakeLists.txt").write_text(PROJECT)
    (source / "dependencies.sh").write_text('[ "$1" = -y ] && touch dependencies.done\n')
    (folder / "set_env.sh").write_text(
        "none=$(grep -i none /nonexistent 2>/dev/null | cut -d= -f2)\n"
        f"export ASCEND_HOME_PATH={cann}\nexport PYTHONPATH={cann}/python/site-packages:${{PYTHONPATH:-}}\n"
    )
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    yield (
        folder,
        {
            **variables,
            "mooncake_venv": str(folder / "venv"),
            "mooncake_interpreter": str(folder / "venv/bin/python"),
            "mooncake_method": "source",
            "mooncake_version": "0.3.9",
            "mooncake_repository": str(source),
            "mooncake_prefix": str(folder / "prefix"),
            "mooncake_library_directory": str(folder / "prefix/lib"),
            "mooncake_program": str(folder / "prefix/bin/mooncake_master"),
            "mooncake_stamp": str(folder / "prefix/share/ascend-inference/mooncake"),
            "mooncake_sources": [str(folder / "set_env.sh")],
            "mooncake_system_packages": {},
            "mooncake_build_user": "nobody",
            "mooncake_dependencies_method": "script",
        },
    )
    shutil.rmtree(folder)


def committed(folder, project=""):
    """Add lines to the project, and tag it."""
    with (folder / "git/CMakeLists.txt").open("a") as stream:
        stream.write(project)
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    for item in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["tag", "v0.3.9"]):
        subprocess.run(["git", *who, "-C", str(folder / "git"), *item], check=True)


@needs_cmake
def test_from_source(tmp_path, source):
    folder, variables = source
    (folder / "cann/python/site-packages/mooncake").mkdir(parents=True)
    (folder / "cann/python/site-packages/mooncake").chmod(0o777)  # as upstream's own installation leaves it
    committed(
        folder,
        'execute_process(COMMAND sh -c "id -u > $ENV{HOME}/who; cp $ENV{HOME}/who ${CMAKE_BINARY_DIR}/who")\n'
        "install(FILES ${CMAKE_BINARY_DIR}/who DESTINATION include)\n",
    )
    done = play(tmp_path, "mooncake", **variables)
    assert done.code == 0, done.output
    assert (folder / "prefix/bin/mooncake_master").exists()
    module = folder / "cann/python/site-packages/mooncake/engine.py"
    assert module.exists() and (folder / "venv-source/Mooncake-v0.3.9/build").exists() != (os.geteuid() == 0)
    if os.geteuid() == 0:
        assert int((folder / "prefix/include/who").read_text()) == pwd.getpwnam("nobody").pw_uid
        assert {path.stat().st_uid for path in (module, module.parent, folder / "prefix/bin/mooncake_master")} == {0}
        assert not module.parent.stat().st_mode & 0o022
    assert not list((folder / "venv-source").glob(".build-*"))
    shutil.rmtree(folder / "git")
    done = play(tmp_path, "mooncake", **variables)
    assert (done.code, done.changed) == (0, 0), done.output
    # Without a successful test of the modules the build is not recorded as complete.
    (folder / "prefix/share/ascend-inference/mooncake").unlink()
    (folder / "venv-source/Mooncake-v0.3.9/engine.py").write_text("import nothing_of_this_name\n")
    done = play(tmp_path, "mooncake", **variables)
    assert done.code != 0
    assert not (folder / "prefix/share/ascend-inference/mooncake").exists()


YALANTINGLIBS = """
cmake_minimum_required(VERSION 3.16)
project(yalantinglibs LANGUAGES C)
if(BUILD_EXAMPLES OR BUILD_BENCHMARK OR BUILD_UNIT_TESTS)
  message(FATAL_ERROR "only headers are needed")
endif()
install(FILES ylt.h DESTINATION include/ylt)
install(FILES yalantinglibsConfig.cmake DESTINATION lib/cmake/yalantinglibs)
"""


@needs_cmake
def test_dependencies_from_packages_need_neither_the_script_nor_go(tmp_path, source):
    """The default, also on Debian: root runs no script of the sources, and Mooncake finds yalantinglibs by CMake's means."""
    folder, variables = source
    library = folder / "ylt"
    library.mkdir()
    (library / "ylt.h").write_text("")
    (library / "yalantinglibsConfig.cmake").write_text("set(YLT_FOUND_HERE 1)\n")
    (library / "CMakeLists.txt").write_text(YALANTINGLIBS)
    (folder / "git/dependencies.sh").write_text(f"id -u > {folder}/ran\nexit 1\n")
    (folder / "git/dependencies.done").write_text("")
    committed(
        folder,
        'find_package(yalantinglibs CONFIG REQUIRED)\nif(NOT YLT_FOUND_HERE)\n  message(FATAL_ERROR "another one")\nendif()\n',
    )
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    for item in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["tag", "0.5.6"]):
        subprocess.run(["git", *who, "-C", str(library), *item], check=True)
    variables["mooncake_yalantinglibs_repository"] = str(library)
    variables["mooncake_dependency_packages"] = {}
    done = play(tmp_path, "mooncake", **variables)
    assert done.code != 0 and not (folder / "prefix").exists()
    (folder / "ran").unlink()
    del variables["mooncake_dependencies_method"]
    done = play(tmp_path, "mooncake", **variables)
    assert done.code == 0 and not (folder / "ran").exists(), done.output
    assert (folder / "prefix/include/ylt/ylt.h").exists() and (folder / "prefix/bin/mooncake_master").exists()


@needs_cmake
def test_yalantinglibs_of_the_sources_comes_before_another_one(tmp_path, source):
    """Mooncake has it as a submodule since 0.3.9, in the version that it needs; no tests are compiled, which would be downloaded."""
    folder, variables = source
    (folder / "git/dependencies.done").write_text("")
    library = folder / "git/extern/yalantinglibs"
    library.mkdir(parents=True)
    (library / "ylt.h").write_text("")
    (library / "yalantinglibsConfig.cmake").write_text("set(YLT_FOUND_HERE 1)\n")
    (library / "CMakeLists.txt").write_text(YALANTINGLIBS)
    (library.parent / "yalantinglibs.lock").symlink_to(folder / "elsewhere")  # root opens no file beside it
    committed(
        folder,
        "find_package(yalantinglibs CONFIG REQUIRED)\n"
        "option(BUILD_UNIT_TESTS on ON)\n"
        'if(BUILD_UNIT_TESTS OR NOT YLT_FOUND_HERE)\n  message(FATAL_ERROR "another one")\nendif()\n',
    )
    del variables["mooncake_dependencies_method"]
    variables["mooncake_yalantinglibs_repository"] = str(folder / "missing")
    variables["mooncake_dependency_packages"] = {}
    done = play(tmp_path, "mooncake", **variables)
    assert done.code == 0 and not (folder / "elsewhere").exists(), done.output
    assert (folder / "prefix/include/ylt/ylt.h").exists() and (folder / "prefix/bin/mooncake_master").exists()


def test_the_packages_have_what_configuring_the_sources_of_0_3_11_needs():
    """Its CMakeLists.txt ends without zstd and xxhash, and its store includes msgpack.hpp and xxhash.h."""
    defaults = yaml.safe_load(ROLE.joinpath("defaults/main.yml").read_text(encoding="utf-8"))
    packages = defaults["mooncake_dependency_packages"]
    assert {"libxxhash-dev", "libzstd-dev", "libmsgpack-dev", "liburing-dev"} <= set(packages["Debian"])
    assert {"xxhash-devel", "libzstd-devel", "msgpack-devel", "liburing-devel"} <= set(packages["RedHat"])


ATTACKS = {
    "a file elsewhere": "install(FILES engine.py DESTINATION /etc/cron.d)",
    "a program of the distribution": "install(PROGRAMS engine.py DESTINATION bin RENAME ls)",
    "a library of the distribution": "install(FILES engine.py DESTINATION lib RENAME libc.so.6)",
    "another package of Python": "install(FILES engine.py DESTINATION $ENV{ASCEND_HOME_PATH}/python/site-packages/json)",
    "a unit": "install(FILES engine.py DESTINATION lib/systemd/system/multi-user.target.wants RENAME x.service)",
    "a library of Python": "install(FILES engine.py DESTINATION lib/python3.11/dist-packages RENAME _json.so)",
    "a link": 'install(CODE "execute_process(COMMAND ln -s /etc/shadow $ENV{HOME}/stage$ENV{ASCEND_HOME_PATH}/python/site-packages/mooncake/x)")',
    "a change of its own": 'install(CODE "file(WRITE PLANTED/x y)")',
}
# One for each thing that refuses: what stands in the copy, where a link leads, and who compiles. test_mooncake_build.py of the unit tests has
# the script refuse each of the other places.
QUICK = ("a file elsewhere", "a link", "a change of its own")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root builds as another user")
@needs_cmake
@pytest.mark.parametrize(
    "attack", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in ATTACKS]
)
def test_a_hostile_build_installs_nothing_of_root(tmp_path, source, attack):
    folder, variables = source
    (folder / "planted").mkdir()
    committed(folder, ATTACKS[attack].replace("PLANTED", str(folder / "planted")) + "\n")
    done = play(tmp_path, "mooncake", **variables)
    assert done.code != 0 and "Nothing was installed" in done.text, done.output
    assert not (folder / "prefix").exists() and not list((folder / "cann").iterdir())
    assert not list((folder / "planted").iterdir())
    assert not list((folder / "venv-source").glob(".build-*"))
