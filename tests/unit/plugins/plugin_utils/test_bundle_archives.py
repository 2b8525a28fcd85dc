# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Archives that CMake fetches while vLLM-Ascend compiles: found in the sources, made a part of them, and unavailable ones are named."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tarfile

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.archives import (
    FOLDER,
    Given,
    cmake_files,
    embed,
    same,
    unknown,
    wanted,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.checkouts import Checkout
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.contents import Contents
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.git import pack
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.make import Listing, Source
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import BundleError
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.placing import fetching_builds, require_sources
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.store import FetchError
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.build_archives import build_archives

SERVER = "https://files.example"
HASHED = hashlib.sha256(b"makeself").hexdigest()
# The forms of csrc/cmake/third_party of vLLM-Ascend 0.23.0.
FILES = {
    "CMakeLists.txt": f"# {SERVER}/comment/of-the-page.zip\nfind_package(Torch)\n",
    "csrc/CMakeLists.txt": 'include(cmake/third_party/json.cmake)\nif (ENABLE_TEST)\n    include("${PROJECT_SOURCE_DIR}/cmake/third_party/gtest.cmake")\n'
    "endif()\nInclude( cmake/third_party/protobuf_of_ascend.cmake )\ninclude(package)\n",
    "csrc/cmake/package.cmake": "include(${CMAKE_CURRENT_SOURCE_DIR}/cmake/third_party/makeself-fetch.cmake)\n",
    "csrc/cmake/third_party/makeself-fetch.cmake": f'set(MAKESELF_URL "{SERVER}/m/makeself-2.5.tar.gz")\nFetchContent_Declare(makeself\n'
    f"    URL ${{MAKESELF_URL}}\n    URL_HASH SHA256={HASHED.upper()}\n)\n",
    "csrc/cmake/third_party/json.cmake": f'set(REQ_URL "{SERVER}/json/include.zip")\n',
    "csrc/cmake/third_party/protobuf_of_ascend.cmake": f'    set(REQ_URL "file://${{X}}/protobuf-25.1.tar.gz")\r\n'
    f'    set(REQ_URL "{SERVER}/p/protobuf-25.1.tar.gz")\r\n',
    "csrc/cmake/third_party/gtest.cmake": f'set(REQ_URL "{SERVER}/gtest.tar.gz")\n',
    "csrc/cmake/third_party/secure_c.cmake": f"URL {SERVER}/never/included.tar.gz\n",
    "docs/page.md": f"{SERVER}/page.zip\n",
}
CONTENTS = {"makeself-2.5.tar.gz": b"makeself", "include.zip": b"json", "protobuf-25.1.tar.gz": b"protobuf"}


@pytest.fixture
def tree(tmp_path):
    """The sources, and beside them the folder ``given`` with the archives."""
    for name, text in FILES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    (tmp_path / "given").mkdir()
    for name, content in CONTENTS.items():
        (tmp_path / "given" / name).write_bytes(content)
    return tmp_path / "tree"


def sha256(name):
    return hashlib.sha256(CONTENTS[name]).hexdigest()


def test_only_what_the_build_reads_is_wanted(tree):
    assert wanted(cmake_files(str(tree))) == {
        f"{SERVER}/json/include.zip": "",
        f"{SERVER}/m/makeself-2.5.tar.gz": HASHED,
        f"{SERVER}/p/protobuf-25.1.tar.gz": "",
    }


def test_a_digest_that_may_be_of_another_archive_is_not_used(tree):
    place = tree / "csrc/cmake/third_party/makeself-fetch.cmake"
    place.write_text(place.read_text() + f"set(OTHER {SERVER}/other.tgz)\n")
    assert set(wanted({"x": place.read_text()}).values()) == {""}


def test_the_archives_become_a_part_of_the_sources(tree, tmp_path):
    sums = {"include.zip": "sha256:" + sha256("include.zip")}
    entries, changed = embed(str(tree), str(tmp_path / "temporary"), Given(str(tree.parent / "given"), sums))
    assert [
        (each["name"], each["origin"].partition("/")[0], each["sha256"], each["published"]) for each in entries
    ] == [
        ("include.zip", "https:", sha256("include.zip"), True),
        ("makeself-2.5.tar.gz", "https:", HASHED, True),
        ("protobuf-25.1.tar.gz", "https:", sha256("protobuf-25.1.tar.gz"), False),
    ]
    assert changed == [
        f"csrc/cmake/third_party/{name}.cmake" for name in ("json", "makeself-fetch", "protobuf_of_ascend")
    ]
    held = {path.name: path.read_bytes() for path in (tree / FOLDER).glob("*/*")}
    assert held == CONTENTS
    for path in changed:
        text = (tree / path).read_text()
        assert "/../../../.archives" in text and SERVER not in text and "file://${ASCEND_INFERENCE_ARCHIVES}/" in text
    assert f"URL_HASH SHA256={HASHED.upper()}" in (tree / changed[1]).read_text(), "CMake still compares it"
    assert b'tar.gz")\r\n' in (tree / changed[2]).read_bytes(), "the ends of lines stay"
    assert "gtest.tar.gz" in (tree / "csrc/cmake/third_party/gtest.cmake").read_text()
    archive = str(tmp_path / "packed.tar.gz")
    pack(str(tree), archive, 0)
    assert wanted(cmake_files(str(tree))) == {} and unknown(cmake_files(str(tree))) == []
    with tarfile.open(archive) as opened:
        assert f"tree/{FOLDER}" in opened.getnames()


# The forms of Mooncake (mooncake-common, extern/pybind11).
OF_MOONCAKE = {
    "CMakeLists.txt": "include(common/common.cmake)\nfind_package(Json)\n",
    "common/common.cmake": "if(BUILD_UNIT_TESTS)\n  include(${CMAKE_CURRENT_LIST_DIR}/FindGTest.cmake)\nendif()\n"
    "if(USE_UB)\n  include(${CMAKE_CURRENT_LIST_DIR}/FindUrma.cmake)\nendif()\n",
    "common/FindGTest.cmake": f"FetchContent_Declare(googletest URL {SERVER}/gtest.tar.gz)\n",
    "common/FindUrma.cmake": f"FetchContent_Declare(urma\n  GIT_REPOSITORY {SERVER}/umdk.git)\n",
    "common/FindJson.cmake": 'set(JSON_VERSION 3.11.3)\nset(PLACE "tags" CACHE STRING "")\nFetchContent_Declare(json\n'
    f"  URL {SERVER}/${{PLACE}}/v${{JSON_VERSION}}.tar.gz\n  URL_HASH\n    SHA256={HASHED})\n",
    "extern/pybind11/CMakeLists.txt": f'set(PLACE other-file)\nadd_subdirectory(tests)\nset(X "{SERVER}/v${{UNSET}}.zip")\n',
    "extern/pybind11/tests/CMakeLists.txt": f"set(EIGEN {SERVER}/eigen.git)\nset(BOOST {SERVER}/boost.tar.bz2)\n",
}


@pytest.fixture
def mooncake(tmp_path):
    for name, text in OF_MOONCAKE.items():
        (tmp_path / "mooncake" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mooncake" / name).write_text(text)
    return tmp_path / "mooncake"


def test_addresses_have_the_values_of_constant_variables(mooncake):
    place = mooncake / "extern/pybind11/CMakeLists.txt"
    assert wanted(cmake_files(str(mooncake))) == {}, "PLACE has two values"
    place.write_text(place.read_text().replace("set(PLACE other-file)", "# set(PLACE other-file)"))
    assert wanted(cmake_files(str(mooncake))) == {f"{SERVER}/tags/v3.11.3.tar.gz": HASHED}


@pytest.mark.parametrize(
    "more", ["set(V ${OTHER})", "set(V 1.0 2.0)", 'set(V "")', "set(V 2.0 CACHE STRING text)", "set(V $ENV{V})"]
)
def test_a_variable_with_another_value_is_not_constant(more):
    files = {"CMakeLists.txt": f"set(V 1.0)\nFetchContent_Declare(c URL {SERVER}/c-${{V}}.tar.gz)\n"}
    assert list(wanted(files)) == [f"{SERVER}/c-1.0.tar.gz"] and unknown(files) == []
    files["other.cmake"] = more + "\n"
    assert wanted(files) == {} and unknown(files) == [f"{SERVER}/c-${{V}}.tar.gz"]


def test_the_beginning_of_an_address_may_be_a_variable():
    text = 'FetchContent_Declare(d URL ${BASE}/d-1.tar.gz)\nfile(COPY x URL "${CMAKE_CURRENT_LIST_DIR}/own.zip")\n'
    assert wanted({"CMakeLists.txt": text}) == {} and unknown({"CMakeLists.txt": text}) == ["${BASE}/d-1.tar.gz"]
    text += f"set(BASE {SERVER})\n"
    assert (
        list(wanted({"CMakeLists.txt": text})) == [f"{SERVER}/d-1.tar.gz"] and unknown({"CMakeLists.txt": text}) == []
    )


def test_what_cannot_become_a_part_of_the_sources_is_known(mooncake):
    files = cmake_files(str(mooncake))
    variables = [f"{SERVER}/${{PLACE}}/v${{JSON_VERSION}}.tar.gz", f"{SERVER}/v${{UNSET}}.zip"]
    assert unknown(files) == [variables[0], f"{SERVER}/umdk.git", variables[1]], "tests are not built"


def test_an_archive_with_variables_in_its_address_becomes_a_part(mooncake, tmp_path):
    place = mooncake / "extern/pybind11/CMakeLists.txt"
    place.write_text("")
    (tmp_path / "given").mkdir()
    (tmp_path / "given/v3.11.3.tar.gz").write_bytes(b"makeself")
    entries, changed = embed(str(mooncake), str(tmp_path / "temporary"), Given(str(tmp_path / "given")))
    assert [each["origin"] for each in entries] == [f"{SERVER}/tags/v3.11.3.tar.gz"]
    assert changed == ["common/FindJson.cmake"]
    text = (mooncake / changed[0]).read_text()
    assert SERVER not in text and "URL file://${ASCEND_INFERENCE_ARCHIVES}/" in text and "/v3.11.3.tar.gz\n" in text


def test_hosts_are_warned_of_what_a_build_may_fetch():
    wish = Checkout("Mooncake", "https://git.example/x", "v1", fetches=True)
    entry = {"kind": "source", "name": wish.archive, "origin": wish.origin, "archives": []}
    assert fetching_builds({"items": [entry]}, [wish], "here") == []
    (text,) = fetching_builds({"items": [{**entry, "downloads": ["https://x/umdk.git"]}]}, [wish], "here")
    assert text.startswith("here: CMake of Mooncake-v1 may fetch https://x/umdk.git, which is not in the bundle.")
    assert fetching_builds({"items": [{**entry, "downloads": ["https://x/umdk.git"]}]}, [], "here") == []


def test_two_archives_of_one_name_stay_apart(tree, tmp_path):
    (tree / "CMakeLists.txt").write_text(f"set(A {SERVER}/a/include.zip)\n")
    entries, _changed = embed(str(tree), str(tmp_path / "temporary"), Given(str(tree.parent / "given")))
    assert [each["origin"] for each in entries if each["name"] == "include.zip"] == [
        f"{SERVER}/a/include.zip",
        f"{SERVER}/json/include.zip",
    ]
    assert len(list((tree / FOLDER).glob("*/include.zip"))) == 2


@pytest.mark.parametrize(
    ("name", "content", "sums", "reason"),
    [
        ("include.zip", None, {}, "given/include.zip cannot be read"),
        ("makeself-2.5.tar.gz", b"other", {}, f"expected {HASHED}"),
        ("include.zip", b"other", {"include.zip": "0" * 64}, "expected " + "0" * 64),
        ("include.zip", b"json", {"include.zip": "md5:1"}, "write sha256:"),
        ("makeself-2.5.tar.gz", b"makeself", {"makeself-2.5.tar.gz": "0" * 64}, "and the sources " + HASHED),
    ],
    ids=["missing", "another than the sources say", "another than the inventory says", "no digest", "digests differ"],
)
def test_what_cannot_be_had_is_named_with_all_others(tree, tmp_path, name, content, sums, reason):
    os.unlink(tree.parent / "given" / name)
    if content is not None:
        (tree.parent / "given" / name).write_bytes(content)
    (tree.parent / "given/protobuf-25.1.tar.gz").unlink()
    with pytest.raises(FetchError, match="Fix: download them by hand") as refused:
        embed(str(tree), str(tmp_path / "temporary"), Given(str(tree.parent / "given"), sums))
    assert reason in str(refused.value) and "protobuf-25.1.tar.gz cannot be read" in str(refused.value)
    assert "inference_bundle_archives" in str(refused.value) and "inference_bundle_archive_checksums" in str(
        refused.value
    )


def test_a_mirror_is_asked_by_the_names_and_the_sources_otherwise():
    assert Given("https://mirror.example/x/").place(f"{SERVER}/p/a.zip") == "https://mirror.example/x/a.zip"
    assert Given().place(f"{SERVER}/p/a.zip") == f"{SERVER}/p/a.zip"


def test_an_archive_that_is_asked_for_by_another_digest_is_fetched_again():
    entry = {"archives": [{"name": "a.zip", "sha256": "1" * 64}]}
    assert same(entry, Given()) and same(entry, Given("", {"a.zip": "1" * 64})) and not same({}, Given())
    assert not same(entry, Given("", {"a.zip": "2" * 64}))


def test_the_list_names_what_is_known_before_the_sources_are_there():
    assert build_archives("0.18.0") == {} and len(build_archives("0.23.0.post1")) == 4 == len(
        build_archives("0.20.2rc1")
    )
    assert build_archives("") == {}
    checkout = Checkout("vllm-ascend", "https://git.example/x", "v0.23.0", python=True, fetches=True, release="0.23.0")
    listing = Listing(Contents(), sources=[Source(checkout, "1" * 40, "", True)])
    rows = {row["name"]: row for row in listing.rows() if row["kind"] == "archive"}
    assert sorted(rows) == sorted(os.path.basename(address) for address in build_archives("0.23.0"))
    assert rows["makeself-release-2.5.0-patch1.tar.gz"]["sha256"] and not rows["include.zip"]["sha256"]


def test_a_bundle_whose_sources_lack_their_archives_is_refused():
    wish = Checkout("vllm-ascend", "https://git.example/x", "v1", python=True, fetches=True)
    entry = {"kind": "source", "name": wish.archive, "origin": wish.origin}
    with pytest.raises(BundleError, match=r"\[bundle_stale\]"):
        require_sources({"items": [entry]}, [wish], "here")
    require_sources({"items": [{**entry, "archives": []}]}, [wish], "here")
    require_sources({"items": [entry]}, [Checkout("vllm-ascend", "https://git.example/x", "v1")], "here")
    for release, refused in (("0.18.0", False), ("0.23.0", True)):  # a bundle of an older version of the collection
        wish = Checkout(
            "vllm-ascend", "https://git.example/x", f"v{release}", python=True, fetches=True, release=release
        )
        with pytest.raises(BundleError) if refused else contextlib.nullcontext():
            require_sources({"items": [{**entry, "name": wish.archive, "origin": wish.origin}]}, [wish], "here")


def test_a_folder_of_archives_may_be_in_the_home_of_the_user(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert Given("~/archives/").place("https://x/a.zip") == "/home/me/archives/a.zip"
    assert Given("https://m/~me").place("https://x/a.zip") == "https://m/~me/a.zip" and Given().place("x") == "x"
