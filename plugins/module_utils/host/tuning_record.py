# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of what tuning changed, and files that it writes or removes in one step.

The record has the form ``{"version": 1, "values": {KEY: {"old": text, "new": text}}, "files": {PATH: {"old": text or null, "new": text}},
"services": {UNIT: {"active": bool, "enabled": bool}}}``, with the text of each file as it was, so that the way back is byte for byte. A key
is a path, or names an interrupt (``interrupt ADDRESS send``), whose number may differ after a boot. A value has ``got`` if the kernel took less
than ``new``. ``root`` is the folder below which all paths are.
"""

from __future__ import annotations

import json
import os

from ..files import tree
from ..tools.errors import ToolError

VERSION = 1
PARTS = ("values", "files", "services")


def load(root, path):
    """The record; empty parts if there is none. Raises ToolError if it is damaged, or others can write it."""
    place = root + path
    if not os.path.exists(place):
        return {part: {} for part in PARTS}
    _require_trust(path, place)
    try:
        with open(place, encoding="utf-8", errors="surrogateescape") as stream:
            found = json.loads(stream.read())
        if found["version"] != VERSION:
            raise ValueError("unknown version")
        return {part: dict(_checked(part, found.get(part, {}))) for part in PARTS}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ToolError(
            f"{path} is damaged ({error}), so the old values are not known. "
            "Fix: remove it; the settings that are active now count as the old ones then"
        ) from error


def _require_trust(path, place):
    """Root writes what the record says to the paths that it names, so nobody else may write it or its folder."""
    descriptor = os.open(os.path.dirname(place), tree.FLAGS)
    try:
        folder, entry = os.fstat(descriptor), tree.look(descriptor, os.path.basename(place))
    finally:
        os.close(descriptor)
    if not tree.trusted(entry) or folder.st_uid not in (0, os.geteuid()) or folder.st_mode & 0o022:
        raise ToolError(
            f"{path} or its folder can be written by others than root, so its old values are not trusted. "
            "Nothing was changed. Fix: compare it with the host, then correct its owner and mode (root, 0600), or remove it"
        )


def _checked(part, entries):
    """The entries of a part of the record, with the types that it promises."""
    for name, item in entries.items():
        if part == "services":
            yield str(name), {"active": bool(item["active"]), "enabled": bool(item["enabled"])}
        else:
            old = item["old"]
            entry = {"old": old if old is None and part == "files" else str(old), "new": str(item["new"])}
            if "got" in item:
                entry["got"] = str(item["got"])
            yield str(name), entry


def store(root, path, record):
    """Write the record; without any entry it is removed, and its folder if this collection made it."""
    text = json.dumps(dict(record, version=VERSION), indent=1, sort_keys=True) + "\n" if any(record.values()) else ""
    place(root, path, text, 0o600, mark=True)
    if not text:
        drop_folder(root, path)


def place(root, path, text, mode=0o644, mark=False):
    """Write a file in one step, or remove it if there is no text; ``mark`` a folder that is made for it."""
    folder, name = os.path.split(root + path)
    if not text and not os.path.isdir(folder):
        return
    try:
        tree.make_shared(folder, 0o755, -1, -1, mark=mark or folder.endswith(".d"))
        descriptor = os.open(folder, tree.FLAGS)
        try:
            if text:
                tree.write(descriptor, name, text.encode("utf-8"), mode, -1, -1)
            else:
                tree.discard(descriptor, name)
        finally:
            os.close(descriptor)
    except OSError as error:
        verb = "written" if text else "removed"
        raise ToolError(
            f"{path} cannot be {verb}: {error.strerror}. Fix: run on the host as root, with a folder {os.path.dirname(path)} that can be written"
        ) from error


def drop_folder(root, path):
    """Remove the folder of a drop-in or record that is gone, if this collection made it and nothing else is in it."""
    folder = os.path.dirname(root + path)
    if os.path.isdir(folder) and os.listdir(folder) == [tree.MADE]:
        os.unlink(os.path.join(folder, tree.MADE))
        os.rmdir(folder)
