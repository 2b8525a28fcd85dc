# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove files of former plans that are no longer planned, and nothing else: only entries of manifests, if unmodified."""

from __future__ import annotations

import os

from . import changes, manifest, tree
from .mounts import mounts_in


def inside(base, path):
    """Whether a path is below the folder; only those are removed here, unlike units."""
    return path.startswith(base + "/")


def manifests(base, kept):
    """``{set: its manifest}``; entries of sets that are not in ``kept`` become unwanted."""
    folder = tree.open_folder(base, base)
    if folder is None:
        return {}
    try:
        found = {name: manifest.read(folder, name) for name in manifest.set_names(os.listdir(folder))}
    finally:
        os.close(folder)
    nothing = {name: manifest.following(listed, {}, {}) for name, listed in found.items() if name not in kept}
    return {**found, **nothing}


def unwanted(found, kind):
    """``{path: its record}`` of entries that no set wants."""
    wanted = {path for item in found.values() for path, record in item[kind].items() if record["wanted"]}
    every = [item for each in found.values() for item in each[kind].items()]
    return {path: record for path, record in every if path not in wanted}


def refuse_mounts(folder):
    """Raise TreeError if something is mounted in a folder that is to be removed with all that is in it."""
    points = mounts_in(folder)
    if points:
        raise tree.TreeError(
            f"{', '.join(points[:4])} is mounted below {folder}, which would be removed with all files on that mount: they may be others'. "
            f'Nothing was removed there. Fix: unmount it ("umount {points[0]}"), then run the playbook again.'
        )


def remove(base, kept, check):
    """Remove; returns ``[{path, saved}]``. A file that somebody changed is renamed, not removed, unless it is a secret."""
    found = manifests(base, kept)
    files = {path: listed for path, listed in unwanted(found, "files").items() if inside(base, path)}
    folders = {path: listed for path, listed in unwanted(found, "folders").items() if inside(base, path)}
    for path in sorted(path for path, listed in folders.items() if listed["service"]):
        refuse_mounts(path)
    steps = [step for step in (_file(base, path, files[path], check) for path in sorted(files)) if step]
    left = []
    for path in sorted(folders, reverse=True):  # children first
        if os.path.lexists(path):
            whole = folders[path]["service"]
            gone = whole or _holds_only(base, path, steps) if check else tree.remove_folder(base, path, whole)
            steps += [{"path": path, "saved": ""}] if gone else []
            left += [path] if folders[path]["service"] and not gone else []
    if not check:
        _forget(base, kept, found, left)
    return steps


def _holds_only(base, path, steps):
    """Whether a folder has nothing besides what these steps remove; a file that is only renamed stays in it."""
    folder, removed = tree.open_folder(base, path), {step["path"] for step in steps if not step["saved"]}
    if folder is None:
        return True
    try:
        return all(os.path.join(path, name) in removed for name in os.listdir(folder))
    finally:
        os.close(folder)


def _file(base, path, record, check):
    folder, name = tree.open_folder(base, os.path.dirname(path)), os.path.basename(path)
    if folder is None:
        return None
    try:
        entry = tree.look(folder, name)
        if entry is None or entry.kind == "folder":
            return None
        ours = entry.kind == "file" and manifest.digest(entry.content) in record["digests"]
        saved = "" if ours or record.get("private") else path + changes.backup_suffix()
        if not check and saved:
            os.rename(name, os.path.basename(saved), src_dir_fd=folder, dst_dir_fd=folder)
        elif not check:
            tree.discard(folder, name)
        return {"path": path, "saved": saved}
    finally:
        os.close(folder)


def _forget(base, kept, found, left):
    """Reduce manifests to wanted entries, and remove those of unused sets.

    ``left``: folders of the service's user into which one of its processes still writes. They stay known, and the next run removes them.
    """
    folder = tree.open_folder(base, base)
    if folder is None:
        return
    try:
        for name, listed in found.items():
            stays = {path for path in listed["folders"] if any(inside(path, one) or path == one for one in left)}
            if name not in kept and not stays:
                tree.discard(folder, manifest.file_name(name))
                continue
            rest = {
                kind: {path: record for path, record in listed[kind].items() if record["wanted"] or path in stays}
                for kind in ("files", "folders")
            }
            rest.update(links=listed["links"], backups=listed["backups"])
            if rest != listed:
                manifest.write(folder, name, rest)
    finally:
        os.close(folder)
