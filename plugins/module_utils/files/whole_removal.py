# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove all that the calls of one deployment wrote below its folder, and the folder; keep and report what others put there.

Manifests say what was written. Without one nothing is removed: a folder that only has the right name is somebody's.
"""

from __future__ import annotations

import os
import stat

from . import journal, manifest, removal, tree


def remove_deployment(base, check, elsewhere=False, outputs=()):
    """Returns ``([{path, saved}], [path])``: what was removed (or renamed), and what stays because this collection did not make it.

    ``elsewhere``: also files outside of the folder that the manifests name. ``outputs``: paths that only programs of the manifests write.
    """
    found = removal.manifests(base, [])
    if not found:
        return [], ([base] if os.path.lexists(base) else [])
    removal.refuse_mounts(base)
    kept = sorted(_foreign(base, base, found))
    steps, others = _elsewhere(base, found, check) if elsewhere else ([], [])
    steps += _outputs(outputs, check)
    kept = sorted([*kept, *others])
    steps += _backups(base, found, check) + _links(found, check) + removal.remove(base, [], check)
    if check:
        return steps + ([] if set(kept) - set(others) else [{"path": base, "saved": ""}]), kept
    kept += [step["saved"] for step in steps if step["saved"]]
    if tree.remove_folder(base, base, False):
        steps.append({"path": base, "saved": ""})
    elif not set(kept) - set(others):  # it came while we were at work
        kept = [*kept, base]
    return steps, sorted(kept)


def _elsewhere(base, found, check):
    """``(steps, [path])``: files outside of the folder with the content that the manifests have, and those that somebody else wrote."""
    steps, kept = [], []
    every = [item for each in found.values() for item in each["files"].items()]
    for path, record in sorted(every, key=lambda item: item[0]):
        if removal.inside(base, path):
            continue
        try:
            folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            name = os.path.basename(path)
            entry = tree.look(folder, name)
            ours = entry is not None and entry.kind == "file" and manifest.digest(entry.content) in record["digests"]
            if entry is not None and not ours:
                kept.append(path)
            elif ours:
                steps.append({"path": path, "saved": ""})
                if not check:
                    os.unlink(name, dir_fd=folder)
        finally:
            os.close(folder)
    return steps, kept


def _outputs(paths, check):
    """Files of root and empty folders at these paths."""
    steps, gone = [], set()
    for path in paths:
        try:
            status = os.lstat(path)
            rest = set(os.listdir(path)) if stat.S_ISDIR(status.st_mode) else set()
        except OSError:
            continue
        empty = stat.S_ISDIR(status.st_mode) and not {os.path.join(path, name) for name in rest} - gone
        if status.st_uid != os.geteuid() or not (empty or stat.S_ISREG(status.st_mode)):
            continue
        gone.add(path)
        steps.append({"path": path, "saved": ""})
        if not check:
            (os.rmdir if empty else os.unlink)(path)
    return steps


def _foreign(base, folder, found):
    """Paths below ``folder`` that no manifest names; the topmost of each branch."""
    ours = {path for each in found.values() for path in [*each["files"], *each["backups"], *each["links"]]}
    ours |= {os.path.join(base, name) for name in [*map(manifest.file_name, found), *journal.NAMES]}
    folders = {path: record["service"] for each in found.values() for path, record in each["folders"].items()}
    descriptor = tree.open_folder(base, folder)
    if descriptor is None:
        return
    try:
        names = sorted(os.listdir(descriptor))
        kinds = {name: stat.S_ISDIR(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode) for name in names}
    finally:
        os.close(descriptor)
    for name, is_folder in kinds.items():
        path = os.path.join(folder, name)
        if not is_folder and (path in ours or name.endswith(tree.FRESH)):
            continue
        if not is_folder or path not in folders:
            yield path
        elif not folders[path]:  # a service's own folder goes with all that is in it
            yield from _foreign(base, path, found)


def _backups(base, found, check):
    """Files that we saved before we replaced them, and the journal."""
    done = []
    written = {path for each in found.values() for path in each["backups"]}
    for path in sorted(written | {os.path.join(base, name) for name in journal.NAMES}):
        folder = tree.open_folder(base, os.path.dirname(path)) if removal.inside(base, path) else None
        if folder is None:
            continue
        try:
            entry = tree.look(folder, os.path.basename(path))
            if entry is not None and entry.kind == "file":
                done.append({"path": path, "saved": ""})
                if not check:
                    tree.discard(folder, os.path.basename(path))
        finally:
            os.close(folder)
    return done


def _links(found, check):
    """Links, which may lie elsewhere, as long as they lead to where we turned them."""
    done = []
    for path, target in sorted({item for each in found.values() for item in each["links"].items()}):
        if os.path.islink(path) and os.readlink(path) == target:
            done.append({"path": path, "saved": ""})
            if not check:
                os.unlink(path)
    return done
