# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Archives that CMake would fetch while hosts compile sources: they are fetched with the sources, and become a part of them.

The archives are in the folder FOLDER of the sources. Files of CMake that name an address get ``file://`` and the path there, so that CMake
unpacks, patches and compares them as if it had fetched them.
"""

from __future__ import annotations

import hashlib
import os
import re
import typing as t
from dataclasses import dataclass

from ...module_utils.tools.text import visible
from ..releases.build_archives import OF_TESTS
from .store import FetchError, Store

FOLDER = ".archives"
VARIABLE = "ASCEND_INFERENCE_ARCHIVES"
MOST_CMAKE = 2**20  # bytes of a file of CMake
# Its beginning may be a variable, but for those of folders.
ADDRESS = re.compile(
    r"(?:https?://|(?:(?<=\bURL\s)|(?<=\bURL\s\"))(?=\$\{(?!CMAKE_|PROJECT_)))(?:[\w./:~+-]|\$\{\w+\})+\.(?:tar\.\w+|tgz|zip)(?![\w./~+-])",
    re.ASCII,
)
REPOSITORY = re.compile(r"https?://[\w./:~+-]+\.git\b", re.ASCII)
INCLUDE = re.compile(r"\binclude\s*\(\s*\"?([^\s\")]+)", re.IGNORECASE)
PACKAGE = re.compile(r"\bfind_package\s*\(\s*(\w+)", re.IGNORECASE)
SET = re.compile(r"\bset\s*\(\s*(\w+)\s+([^)]*)\)", re.IGNORECASE)
CONSTANT = re.compile(r"\"?([\w./:~+-]+)\"?(?:\s+(?:CACHE\s.*|PARENT_SCOPE))?\s*", re.DOTALL)
NAMED = re.compile(r"\$\{(\w+)\}")
TESTS = ("test", "tests")  # folders of tests, which no role builds
HASH = re.compile(r"\bURL_HASH\s+SHA256=([0-9a-fA-F]{64})\b")
DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
CHECKSUMS = "inference_bundle_archive_checksums"


@dataclass(frozen=True)
class Given:
    """What the inventory says of archives. ``source``: a folder of this machine, or the address of a mirror, with the files by their names;
    ``checksums``: {name: sha256:...}, see CHECKSUMS."""

    source: str = ""
    checksums: t.Mapping[str, str] | None = None

    def sha256(self, name: str) -> str:
        """The digest that somebody compared; empty without one. Raises ``FetchError`` for a text of another form."""
        given = str((self.checksums or {}).get(name, ""))
        found = DIGEST.fullmatch(given)
        if given and not found:
            raise FetchError(
                f"{CHECKSUMS} has {visible(given)} for {name}. Fix: write sha256: and the output of sha256sum"
            )
        return found.group(1) if found else ""

    def place(self, address: str) -> str:
        """Where an archive is fetched from."""
        source = self.source if "://" in self.source else os.path.expanduser(self.source)
        return f"{source.rstrip('/')}/{os.path.basename(address)}" if source else address


def cmake_files(tree: str) -> dict[str, str]:
    """{path: text} of the files of CMake below ``tree`` that a build reads."""
    found = {}
    for folder, folders, files in os.walk(tree):
        folders[:] = [name for name in folders if name not in (".git", *TESTS)]
        for path in (os.path.join(folder, name) for name in files if is_cmake(name)):
            if not os.path.islink(path) and os.path.getsize(path) < MOST_CMAKE:
                with open(path, encoding="utf-8", errors="surrogateescape", newline="") as stream:
                    found[path] = stream.read()
    return used(found)


def is_cmake(path: str) -> bool:
    """Whether CMake reads a file of this name."""
    return path.endswith(".cmake") or os.path.basename(path) == "CMakeLists.txt"


def used(texts: t.Mapping[str, str]) -> dict[str, str]:
    """Each CMakeLists.txt of {path: text}, and what ``include`` or ``find_package`` of any file names, but not what is of tests."""
    included = {os.path.basename(name) for text in texts.values() for name in INCLUDE.findall(text)}
    modules = {f"{name}.cmake" for name in included}  # include(NAME) searches CMAKE_MODULE_PATH
    finders = {f"Find{name}.cmake" for text in texts.values() for name in PACKAGE.findall(text)}
    kept = {*included, *modules, *finders, "CMakeLists.txt"} - {*OF_TESTS}
    return {path: text for path, text in texts.items() if os.path.basename(path) in kept}


def without_comments(text: str) -> str:
    """A file of CMake without lines that are comments."""
    return "".join(line for line in text.splitlines(True) if not line.lstrip().startswith("#"))


def settings(files: t.Mapping[str, str]) -> dict[str, str]:
    """{variable: value} of each variable that files of CMake give one constant value, and no other one."""
    found: dict[str, set[str]] = {}
    for text in files.values():
        for name, value in SET.findall(without_comments(text)):
            constant = CONSTANT.fullmatch(value)
            found.setdefault(name, set()).add(constant[1] if constant else "")
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1 and values != {""}}


def complete(address: str, values: t.Mapping[str, str]) -> str:
    """An address with the values of its variables; empty if one has no constant value."""
    if not {*NAMED.findall(address)} <= {*values}:
        return ""
    found = NAMED.sub(lambda match: values[match[1]], address)
    return found if found.startswith(("http://", "https://")) else ""


def unknown(files: t.Mapping[str, str]) -> list[str]:
    """What files of CMake may fetch and cannot become a part of the sources: repositories, and archives whose address is not constant."""
    values = settings(files)
    plain = "\n".join(map(without_comments, files.values()))
    return sorted(
        {*REPOSITORY.findall(plain), *(each for each in ADDRESS.findall(plain) if not complete(each, values))}
    )


def wanted(files: t.Mapping[str, str]) -> dict[str, str]:
    """{address: SHA-256 that CMake compares, or an empty text} of the archives that files of CMake name."""
    found: dict[str, str] = {}
    values = settings(files)
    for text in files.values():
        plain = without_comments(text)
        addresses = {complete(address, values) for address in ADDRESS.findall(plain)} - {""}
        hashes = {digest.lower() for digest in HASH.findall(plain)}
        for address in sorted(addresses):
            only = len(addresses) == len(hashes) == 1  # otherwise nobody knows whose it is, and CMake compares
            found[address] = next(iter(hashes)) if only else found.get(address, "")
    return dict(sorted(found.items()))


def embed(tree: str, folder: str, given: Given) -> tuple[list[dict[str, t.Any]], list[str]]:
    """Fetch the archives into the sources below ``tree``, and let its files of CMake name them there.

    Returns what the manifest says of them (name, origin, sha256, size, published) and the paths of the changed files, relative to ``tree``.
    ``folder``: for temporary files. Raises ``FetchError`` that names all unavailable ones.
    """
    files = cmake_files(tree)
    addresses = wanted(files)
    store, entries, places, problems = Store(folder), [], {}, []
    for address, hashed in addresses.items():
        name = os.path.basename(address)
        place = hashlib.sha256(address.encode()).hexdigest()[:8]  # two archives may have one name
        try:
            known = given.sha256(name)
            if known and hashed and known != hashed:
                raise FetchError(f"{CHECKSUMS} has {known} for {name}, and the sources {hashed}. Fix: correct it")
            sha256, size = store.get(name, given.place(address), known or hashed)
        except FetchError as error:
            problems.append(str(error))
            continue
        path = os.path.join(tree, FOLDER, place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.replace(store.place(name, sha256), path)
        entry = {"name": name, "origin": address, "sha256": sha256, "size": size, "published": bool(known or hashed)}
        entries.append(entry)
        places[address] = f"{place}/{name}"
    if problems:
        raise FetchError(
            f"its build needs archives that are unavailable: {'; '.join(problems)}. Fix: download them by hand ({' '.join(addresses)}), put them into "
            f"a folder, and set inference_bundle_archives to it and {CHECKSUMS} to their digests"
        )
    values = settings(files)
    written = {address: complete(address, values) for text in files.values() for address in ADDRESS.findall(text)}
    named = {address: places[found] for address, found in written.items() if found in places}
    changed = [path for path, text in files.items() if _redirect(path, text, tree, named)]
    return entries, sorted(os.path.relpath(path, tree) for path in changed)


def _redirect(path: str, text: str, tree: str, places: t.Mapping[str, str]) -> bool:
    """Let a file of CMake take the archives from FOLDER; whether it names one. Functions of the file may run where it was not included."""

    def own(address: str) -> str:
        return f"${{{VARIABLE}}}/{places[address]}"

    new = ADDRESS.sub(lambda match: f"file://{own(match[0])}" if match[0] in places else match[0], text)
    if new == text:
        return False
    if (
        "DOWNLOAD_NO_EXTRACT" in text
    ):  # CMake copies no local archive into DOWNLOAD_DIR, where the file's own command unpacks it
        for address in {*ADDRESS.findall(text)} & {*places}:
            downloaded = r"\$\{\w+\}/" + re.escape(os.path.basename(address))
            new = re.sub(downloaded, own(address), new)
    up = os.path.relpath(os.path.join(tree, FOLDER), os.path.dirname(path))
    first = f'get_filename_component({VARIABLE} "${{CMAKE_CURRENT_LIST_DIR}}/{up}" ABSOLUTE)\n'
    first += f'set({VARIABLE} "${{{VARIABLE}}}" CACHE INTERNAL "")\n'
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
        stream.write(first + new)
    return True


def same(entry: t.Mapping[str, t.Any], given: Given) -> bool:
    """Whether the archives of an earlier manifest's item are what the inventory says now."""
    archives = entry.get("archives")
    return isinstance(archives, list) and all(given.sha256(each["name"]) in ("", each["sha256"]) for each in archives)
