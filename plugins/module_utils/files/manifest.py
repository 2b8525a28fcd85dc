# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests of the files that this collection wrote below a folder, by set: to remove nothing else, and to detect changes.

A set's manifest is ``.NAME.manifest.json`` in the folder, readable only by its owner: short secrets could be guessed from digests.
"""

from __future__ import annotations

import hashlib
import json

from ..tools import foreign_json
from . import tree

SUFFIX = ".manifest.json"


def digest(content):
    """SHA-256 of a file's bytes."""
    return hashlib.sha256(content).hexdigest()


def file_name(name):
    """The manifest's name in the folder."""
    return "." + name + SUFFIX


def set_names(names):
    """Names of the sets that have a manifest among a folder's entries."""
    return sorted(name[1 : -len(SUFFIX)] for name in names if name.startswith(".") and name.endswith(SUFFIX))


def empty():
    """The manifest of a set that wrote nothing yet."""
    return {"files": {}, "folders": {}, "links": {}, "backups": []}


def read(folder, name):
    """A set's manifest: ``{files: {path: {digests, wanted}}, folders: {path: {service, wanted}}, links: {path: target}, backups: [path]}``.

    ``digests`` are those that the file may have if only we wrote it: an interrupted run leaves the old one or the new one.
    ``links`` and ``backups`` are what goes with the whole deployment and not before. One that a service's user can have written is not
    believed: root removes what it names.
    """
    entry = tree.look(folder, file_name(name)) if folder is not None else None
    if not tree.trusted(entry):
        return empty()
    try:
        found = {**empty(), **foreign_json.loads(entry.content.decode("utf-8"))}
    except (ValueError, TypeError):
        return empty()
    return {key: found[key] for key in empty()} if _sound(found) else empty()


def _sound(found):
    """Whether a manifest has the form that ``read`` describes: a damaged disk may leave another one."""
    if not all(isinstance(found[key], type(form)) for key, form in empty().items()):
        return False
    files, folders = found["files"].values(), found["folders"].values()
    return (
        all(isinstance(item, dict) and isinstance(item.get("digests"), list) and "wanted" in item for item in files)
        and all(isinstance(item, dict) and "service" in item and "wanted" in item for item in folders)
        and all(isinstance(path, str) for path in [*found["links"].values(), *found["backups"]])
    )


def write(folder, name, manifest):
    """Write a set's manifest, if it differs."""
    content = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode("utf-8")
    entry = tree.look(folder, file_name(name))
    if not tree.trusted(entry) or entry.content != content or entry.mode != 0o600:
        tree.write(folder, file_name(name), content, 0o600, -1, -1)


def following(old, files, folders, links=None, backups=()):
    """The manifest once ``files`` ({path: bytes}) and ``folders`` ({path: whether the service's}) are written.

    ``links`` ({path: target}) and ``backups`` (paths) are added to those that it has.

    What ``old`` has besides is kept as no longer wanted, until it is removed.
    """
    result = {
        "files": {path: dict(entry, wanted=False) for path, entry in old["files"].items()},
        "folders": {path: dict(entry, wanted=False) for path, entry in old["folders"].items()},
        "links": {**old["links"], **(links or {})},
        "backups": sorted({*old["backups"], *backups}),
    }
    result["files"].update({path: {"digests": [digest(text)], "wanted": True} for path, text in files.items()})
    result["folders"].update({path: {"service": service, "wanted": True} for path, service in folders.items()})
    return result


def during(old, new):
    """The manifest while ``new`` is being written: a file may have its old or its new content."""
    files = {
        path: dict(entry, digests=sorted({*entry["digests"], *old["files"].get(path, {"digests": []})["digests"]}))
        for path, entry in new["files"].items()
    }
    return dict(new, files=files)
