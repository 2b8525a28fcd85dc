# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role mooncake for NPUs: the wheel and its C library, and the build from source with a real cmake and a small simulated project."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
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


@pytest.fixture
def variables(tmp_path):
    """Variables for an environment on this machine; missing system libraries are not tested here."""
    return {
        "mooncake_venv": str(tmp_path / "venv"),
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


@pytest.mark.skipif(not all(map(shutil.which, ("git", "cmake", "cc"))), reason="needs git, cmake and a compiler")
def test_from_source(tmp_path, variables):
    source, cann = tmp_path / "git", tmp_path / "cann"
    source.mkdir()
    for name in ("engine.py", "store.py", "__init__.py"):
        (source / name).write_text("")
    (source / "CMakeLists.txt").write_text(PROJECT)
    (source / "dependencies.sh").write_text('[ "$1" = -y ] && touch dependencies.done\n')
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    for item in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["tag", "v0.3.9"]):
        subprocess.run(["git", *who, "-C", str(source), *item], check=True)
    (tmp_path / "set_env.sh").write_text(
        f"export ASCEND_HOME_PATH={cann}\nexport PYTHONPATH={cann}/python/site-packages:${{PYTHONPATH:-}}\n"
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    variables.update(
        mooncake_method="source",
        mooncake_version="0.3.9",
        mooncake_repository=str(source),
        mooncake_prefix=str(tmp_path / "prefix"),
        mooncake_sources=[str(tmp_path / "set_env.sh")],
        mooncake_system_packages={},
    )
    done = play(tmp_path, "mooncake", **variables)
    assert done.code == 0, done.output
    assert (tmp_path / "prefix/bin/mooncake_master").exists()
    assert (cann / "python/site-packages/mooncake/engine.py").exists()
    shutil.rmtree(source)
    done = play(tmp_path, "mooncake", **variables)
    assert (done.code, done.changed) == (0, 0), done.output
    # Without a successful test of the modules the build is not recorded as complete.
    (tmp_path / "prefix/share/ascend-inference/mooncake").unlink()
    (tmp_path / "venv-source/Mooncake-v0.3.9/engine.py").write_text("import nothing_of_this_name\n")
    done = play(tmp_path, "mooncake", **variables)
    assert done.code != 0
    assert not (tmp_path / "prefix/share/ascend-inference/mooncake").exists()
