# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files of a deployment are not as they were written: somebody edited or removed them on the host. Changes nothing."""

from __future__ import annotations

import os

from . import manifest, removal, tree

MOST = 4  # paths that a text names
TEXT = (
    "{} on this host since {} written, so the next start of a service reads what no plan has. Fix: take over into the inventory what you need of it, then "
    "run ascend.inference.deploy, which keeps a copy of an edited file, writes the planned one and restarts what reads it"
)


def edited(base):
    """``[(path, whether it is there)]`` of the files below ``base`` whose content is none of those that this collection wrote.

    By the manifests of all sets (manifest.py), so a file that a run is writing now is none of them. A file that cannot be read is left out.
    """
    try:
        sets = removal.manifests(base, manifest.set_names(os.listdir(base)))
    except (tree.TreeError, OSError):
        return []
    files = [item for listed in sets.values() for item in listed["files"].items()]
    found = {path: record["digests"] for path, record in files if record["wanted"]}
    return [(path, state == "edited") for path, state in _states(base, found) if state]


def _states(base, found):
    for path in sorted(path for path in found if removal.inside(base, path)):
        try:
            yield path, _state(base, path, found[path])
        except (tree.TreeError, OSError):
            continue


def _state(base, path, digests):
    folder = tree.open_folder(base, os.path.dirname(path))
    try:
        entry = tree.look(folder, os.path.basename(path)) if folder is not None else None
    finally:
        if folder is not None:
            os.close(folder)
    if entry is None:
        return "missing"
    return "" if entry.kind == "file" and manifest.digest(entry.content) in digests else "edited"


def findings(base, removed=True, but=()):
    """A text for the files that were edited, and unless ``removed`` is false one for those that were removed. ``but``: paths that are left out."""
    states = [(path, there) for path, there in edited(base) if path not in but]
    for present, word in ((True, "edited"), (False, "removed")):
        paths = [path for path, there in states if there is present and (present or removed)]
        if paths:
            more = f" and {len(paths) - MOST} more" if len(paths) > MOST else ""
            verbs = ("was", "it was") if len(paths) == 1 else ("were", "they were")
            yield TEXT.format(f"{', '.join(paths[:MOST])}{more} {verbs[0]} {word}", verbs[1])
