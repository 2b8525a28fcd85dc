# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks of Python environments: the versions of all packages with the hashes of their files, as ``uv pip compile`` writes them.

A lock begins with a line that names the requirements that it belongs to, so that one of other requirements is never used.
"""

from __future__ import annotations

import hashlib
import json
import re

HEAD = "# ascend.inference lock "
# The files of uv that are installed: the wheels of uv 0.13.9 on PyPI for glibc on x86_64 and aarch64
UV = """uv==0.13.9 \\
    --hash=sha256:5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe \\
    --hash=sha256:d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19
"""
REQUIREMENT = re.compile(r"([\w.-]+?)(?:\[[^\]]*\])?\s*==\s*([^\s;\\]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
HASH_OPTION = re.compile(r"\s*--hash=\S+")
MISMATCH = ("DO NOT MATCH THE HASHES", "Hash mismatch")


def digest(wish):
    """The digest of a layer's requirements, of which its lock is."""
    return hashlib.sha256(json.dumps(wish, sort_keys=True).encode()).hexdigest()[:16]


def belongs(text, wish):
    """Whether a lock is one of these requirements."""
    return bool(text) and text.splitlines()[0] == HEAD + digest(wish)


def signed(text, wish):
    """The lock with its first line."""
    return HEAD + digest(wish) + "\n" + text


def fully_hashed(text):
    """Whether every package of a lock has a hash. Folders of sources and checkouts have none."""
    packages, hashed, last = 0, 0, 0
    for line in text.splitlines():
        if line.strip().startswith("--hash="):
            hashed += last
            last = 0
        elif line.strip() and not line.startswith((" ", "#", "-")):
            packages, last = packages + 1, 1
            if "--hash=" in line:
                hashed, last = hashed + 1, 0
    return packages == hashed


def narrowed(text, names, sdists):
    """The lock with only the known hash for each package that is built, and texts for those whose files are others.

    ``names``: normalised names of the packages that are built; ``sdists``: SHA-256 of their source distributions by 'name==version'.
    An index may have several files of a version, and uv would build any of them that has a hash in the lock.
    """
    lines, problems = [], []
    for block in re.split(r"(?m)^(?=[^\s#-])", text):
        found = REQUIREMENT.match(block)
        name = re.sub(r"[-_.]+", "-", found.group(1)).lower() if found else ""
        known = sdists.get(f"{name}=={found.group(2)}") if name in names else None
        offered = HASH.findall(block)
        if known and offered and known not in offered:
            problems.append(f"{name} {found.group(2)} has SHA-256 {' or '.join(offered)}, and the release has {known}")
        if known:
            comments = [line for line in block.splitlines()[1:] if line.lstrip()[:1] == "#" or line[:1] == "-"]
            first = HASH_OPTION.sub("", block.splitlines()[0]).rstrip(" \\")
            block = "\n".join([f"{first} \\", f"    --hash=sha256:{known}", *comments, ""])
        lines.append(block)
    return "".join(lines), problems


def preferences(freeze):
    """The lines of ``pip freeze`` that name a version, as preferred versions for ``uv pip compile``."""
    return "".join(
        line + "\n" for line in freeze.splitlines() if "==" in line and " @ " not in line and line[0] not in "#-"
    )


def tampered(output):
    """Whether a file did not have its hash."""
    return any(text in output for text in MISMATCH)
