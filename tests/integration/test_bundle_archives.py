# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Archives that a build fetches, with the real CMake and without a route: unpacked as upstream's files of CMake ask for it."""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import tarfile
import zipfile

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.archives import Given, embed

OFFLINE = ["unshare", "--net"]
SERVER = "https://files.invalid"
pytestmark = [
    pytest.mark.skipif(not shutil.which("cmake"), reason="cmake is not installed"),
    pytest.mark.skipif(
        subprocess.run([*OFFLINE, "true"], check=False, capture_output=True).returncode != 0,
        reason="this user cannot make a network namespace",
    ),
]
# The three forms of csrc/cmake/third_party of vLLM-Ascend: FetchContent with a digest, an archive that the file itself unpacks from
# DOWNLOAD_DIR, and one that a function fetches for a file of another folder.
FILES = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.16)
project(x NONE)
include(cmake/deep/makeself.cmake)
include(cmake/json.cmake)
include(cmake/protobuf.cmake)
add_subdirectory(part)
""",
    "cmake/deep/makeself.cmake": f"""
include(FetchContent)
FetchContent_Declare(makeself URL {SERVER}/makeself-2.tar.gz URL_HASH SHA256=@MAKESELF@ SOURCE_DIR ${{PROJECT_SOURCE_DIR}}/out/makeself)
FetchContent_MakeAvailable(makeself)
""",
    "cmake/json.cmake": f"""
include(ExternalProject)
set(TO ${{PROJECT_SOURCE_DIR}}/out/pkg)
ExternalProject_Add(json URL "{SERVER}/include.zip" TLS_VERIFY OFF DOWNLOAD_DIR ${{TO}} DOWNLOAD_NO_EXTRACT TRUE
    SOURCE_DIR ${{PROJECT_SOURCE_DIR}}/out/json CONFIGURE_COMMAND "" BUILD_COMMAND "" UPDATE_COMMAND ""
    INSTALL_COMMAND ${{CMAKE_COMMAND}} -E chdir ${{PROJECT_SOURCE_DIR}}/out/json ${{CMAKE_COMMAND}} -E tar xf "${{TO}}/include.zip" --format=zip)
""",
    "cmake/protobuf.cmake": f"""
include(ExternalProject)
function(add_protobuf)
    ExternalProject_Add(protobuf URL ${{UNSET}} {SERVER}/protobuf-25.1.tar.gz DOWNLOAD_DIR ${{CMAKE_SOURCE_DIR}}/out/pkg
        SOURCE_DIR ${{CMAKE_SOURCE_DIR}}/out/protobuf CONFIGURE_COMMAND "" BUILD_COMMAND "" INSTALL_COMMAND "")
endfunction()
""",
    "part/CMakeLists.txt": "add_protobuf()\n",
}


def tar_gz(name):
    with io.BytesIO() as stream:
        with tarfile.open(fileobj=stream, mode="w:gz") as archive:
            member = tarfile.TarInfo(f"{name}/{name}.h")
            archive.addfile(member, io.BytesIO())
        return stream.getvalue()


def test_a_build_finds_its_archives_without_a_route(tmp_path):
    given, tree = tmp_path / "given", tmp_path / "tree"
    given.mkdir()
    with zipfile.ZipFile(given / "include.zip", "w") as archive:
        archive.writestr("include/json.hpp", "")
    for name in ("makeself-2", "protobuf-25.1"):
        (given / f"{name}.tar.gz").write_bytes(tar_gz(name))
    digest = hashlib.sha256((given / "makeself-2.tar.gz").read_bytes()).hexdigest()
    for name, text in FILES.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text.replace("@MAKESELF@", digest))
    entries, _changed = embed(str(tree), str(tmp_path / "temporary"), Given(str(given)))
    assert len(entries) == 3
    shutil.rmtree(given)
    moved = tree.rename(tmp_path / "unpacked on a host")
    for argv in (["-S", str(moved), "-B", str(moved / "build")], ["--build", str(moved / "build")]):
        done = subprocess.run([*OFFLINE, "cmake", *argv], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    found = {path.name for path in (moved / "out").rglob("*") if path.is_file()}
    assert found == {"makeself-2.h", "json.hpp", "protobuf-25.1.h"}
