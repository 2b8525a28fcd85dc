# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a model consists of: names, sizes and digests of its files, as a hub lists them and as a host keeps them. Runs on Python 3.7.

A listing comes from a server that somebody else runs, and a record from a host: both are foreign until ``problems`` finds nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re

from ..tools import foreign_json
from . import tree

RECORD = ".ascend-inference-model.json"  # in the model's folder, so that one rename brings both
OURS = ".ascend-inference"
BACKUP = ".config.json.before-repair"  # of the module model_config
CHUNK = 2**20
MOST_FILES, MOST_NAME = 10000, 512
SHA256, SHA1 = re.compile(r"[0-9a-f]{64}", re.ASCII), re.compile(r"[0-9a-f]{40}", re.ASCII)
ODD = re.compile(r"[\x00-\x1f\x7f\\:]")
NOT_NEEDED = (".gitattributes", ".gitignore", ".gitkeep")


def bad_name(name):
    # type: (t.Any) -> str
    """Why a listing must not name this file; empty for a name that lies within the model's folder."""
    if not isinstance(name, str) or not name or len(name) > MOST_NAME or ODD.search(name):
        return "is no name of a file"
    if any(part in ("", ".", "..") or len(part.encode("utf-8", "replace")) > 255 for part in name.split("/")):
        return "leads out of the model's folder, or has an empty part"
    if name.split("/")[0].startswith(OURS) or name.split("/")[0] in (".cache", ".git") or name == BACKUP:
        return "is a name of this collection or of the hub's client"
    return ""


def problems(files):
    # type: (t.Any) -> t.List[str]
    """What is wrong with ``[{name, size, sha256}]``: sizes are bytes, ``sha256`` may be empty where a hub has none."""
    if not isinstance(files, list) or not files or len(files) > MOST_FILES:
        return [f"it has no list of 1 to {MOST_FILES} files"]
    found, names = [], set()
    for each in files:
        name = each.get("name") if isinstance(each, dict) else None
        reason = bad_name(name)
        if not reason and name in names:
            reason = "is there twice"
        if not reason and not (
            isinstance(each.get("size"), int) and not isinstance(each["size"], bool) and each["size"] >= 0
        ):
            reason = "has no size"
        if not reason and each.get("sha256") and not SHA256.fullmatch(str(each["sha256"])):
            reason = "has a SHA-256 that is none"
        if not reason and each.get("git") and not SHA1.fullmatch(str(each["git"])):
            reason = "has an id that is none"
        if reason:
            found.append(f"{ascii(name)} {reason}")
        names.add(str(name))  # which may be a list, where a host answered it
    for name in names:
        for place, letter in enumerate(name):
            if letter == "/" and name[:place] in names:
                found.append(f"{ascii(name[:place])} is a file and a folder")
    if not found and "config.json" not in names:
        found.append("it has no config.json, so it is not a model that an engine can load")
    return found


def digest(files):
    # type: (t.List[t.Dict[str, t.Any]]) -> str
    """SHA-256 over names, sizes and digests: equal for equal models, whatever the order of the list."""
    rows = sorted((each["name"], each["size"], each["sha256"]) for each in files)
    return hashlib.sha256(json.dumps(rows).encode("utf-8")).hexdigest()


def sha256_of(path, told=None):
    # type: (str, t.Any) -> t.Tuple[str, str]
    """(SHA-256, id of git) of a file, read once; ``told`` is called with the number of bytes of each part."""
    total, size = hashlib.sha256(), os.path.getsize(path)
    # git names a blob by it; a hub has no other digest of small files. It is compared in addition to the size
    blob = hashlib.sha1(b"blob %d\0" % size)  # noqa: S324
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(CHUNK), b""):
            total.update(block)
            blob.update(block)
            if told:
                told(len(block))
    return total.hexdigest(), blob.hexdigest()


def read(folder):
    # type: (str) -> t.Dict[str, t.Any]
    """The record of a model's folder, ``{source, revision, digest, files}``; empty if there is none that only root can have written."""
    opened = tree.open_folder(folder, folder)
    if opened is None:
        return {}
    try:
        entry = tree.look(opened, RECORD)
    finally:
        os.close(opened)
    if not tree.trusted(entry):
        return {}
    try:
        found = foreign_json.loads(entry.content.decode("utf-8"))
        whole = not problems(found["files"]) and all(each["sha256"] for each in found["files"])
        return found if whole and found["digest"] == digest(found["files"]) else {}
    except (ValueError, TypeError, KeyError):
        return {}


def text(source, revision, files):
    # type: (str, str, t.List[t.Dict[str, t.Any]]) -> str
    """The record as text. ``source`` as in the inventory, ``revision`` as the hub names the commit."""
    rows = [{name: each[name] for name in ("name", "size", "sha256")} for each in files]
    rows.sort(key=lambda each: each["name"])
    whole = {"source": source, "revision": revision, "digest": digest(rows), "files": rows}
    return json.dumps(whole, indent=1, sort_keys=True) + "\n"


def differences(folder, files, every_byte=False):
    # type: (str, t.List[t.Dict[str, t.Any]], bool) -> t.List[str]
    """What differs from ``files`` in a model's folder, by name: missing, size, content (if ``every_byte``), extra.

    config.json may have been repaired; then the original beside it is what was fetched.
    """
    found, named = [], {each["name"] for each in files}
    for each in files:
        path = os.path.join(folder, each["name"])
        if each["name"] == "config.json" and os.path.isfile(os.path.join(folder, BACKUP)):
            path = os.path.join(folder, BACKUP)
        if os.path.islink(path) or not os.path.isfile(path):
            found.append(f"{each['name']} is missing")
        elif os.path.getsize(path) != each["size"]:
            found.append(f"{each['name']} has {os.path.getsize(path)} bytes, expected {each['size']}")
        elif every_byte and sha256_of(path)[0] != each["sha256"]:
            found.append(f"{each['name']} has another content")
    for name in sorted(names_in(folder) - named):
        if not os.path.basename(name).startswith("."):
            found.append(f"{name} is not a file of the model")
    return found


def names_in(folder):
    # type: (str) -> t.Set[str]
    """Names of all files and links below a folder, relative to it; links are not followed."""
    found = set()
    for above, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(above, name))]
        found.update(os.path.relpath(os.path.join(above, name), folder) for name in [*files, *links])
    return found
