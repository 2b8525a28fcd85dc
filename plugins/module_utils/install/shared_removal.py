# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What deployments share below the root: environments, caches and the model. Removed by marks only; the rest is reported.

Marks: an environment has a folder of stamps, a cache a file that was made with it, the service user's home its entry in the user
database, a model the file that says how it was made.
"""

from __future__ import annotations

import os
import pwd

from ..files import listing, tree
from ..files.journal import PLAN
from ..files.mounts import mounts_in
from ..tools import foreign_json
from ..tools.file_lock import LOCK
from ..tools.text import one_line
from .venv import STAMPS

USER_COMMENT = "Runs the units of ascend.inference"  # of the user that the role service makes
MODEL_MARK = ".ascend-inference-"
SOURCES = "-source"  # ends the name of the folder with an environment's sources
LAYOUT = ("deployments", "venvs", "cache", "models")
FOREIGN = "was not made by this collection"


def names(folder):
    """Sorted names in a folder; none if there is no such folder."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def deployments(root):
    """Names of the deployments below the root."""
    folder = os.path.join(root, "deployments")
    return [name for name in names(folder) if not name.startswith(".") and os.path.isdir(os.path.join(folder, name))]


def decide(root, caches, model):
    """``([path to remove], [{path, reason} that stays])``; nothing is changed."""
    remove, kept = [], []
    others = deployments(root)
    if caches and others:
        reason = "is shared with " + ", ".join(others)
        kept += [
            _stays(os.path.join(root, name), reason) for name in ("venvs", "cache") if names(os.path.join(root, name))
        ]
    elif caches:
        for folder, ours in (("venvs", _environment), ("cache", _cache)):
            for name in names(os.path.join(root, folder)):
                path = os.path.join(root, folder, name)
                (remove.append(path) if ours(path) else kept.append(_stays(path, FOREIGN)))
    if model and names(model):
        reason = _model_stays(root, model, others)
        (kept.append(_stays(model, reason)) if reason else remove.append(model))
    kept += [
        _stays(os.path.join(root, name), FOREIGN)
        for name in names(root)
        if name not in LAYOUT and not name.endswith(tree.FRESH)
    ]
    mounted = {
        path: points
        for path, points in ((path, mounts_in(path)) for path in remove if not os.path.islink(path))
        if points
    }
    kept += [_stays(path, f"has files of a mount ({', '.join(points[:4])})") for path, points in mounted.items()]
    return [path for path in remove if path not in mounted], kept


def _model_stays(root, model, others):
    """Why a model is not removed; empty if it is ours alone."""
    link = _led(model)
    if link:
        return f"is behind a link of another user ({link})"
    if os.path.islink(model) or not any(name.startswith(MODEL_MARK) for name in names(model)):
        return FOREIGN
    using = [name for name in others if serves(os.path.join(root, "deployments", name), model)]
    if using:
        return "is served by " + ", ".join(using)
    record = listing.read(model)
    if not record and os.path.lexists(os.path.join(model, listing.RECORD)):
        return "has a record that is damaged, or that others can write, so nobody knows whose its files are"
    brought = {each["name"] for each in record["files"]} if record else set()
    more = sorted(one_line(name) for name in listing.names_in(model) - brought if not name.startswith("."))
    if record and more:
        return f"has files that this collection did not bring ({', '.join(more[:4])})"
    return ""


def serves(deployment, model):
    """Whether the plan of a deployment names the model; one that cannot be read may."""
    try:
        found = foreign_json.load(os.path.join(deployment, PLAN))
        named = [found["model"]["path"], *(word for service in found["services"] for word in service["argv"])]
        path = model.rstrip("/")
        # A draft model is named in a word of JSON (--speculative-config).
        return any(
            str(word).rstrip("/") == path or f'"{path}"' in str(word) or f'"{path}/"' in str(word) for word in named
        )
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError):
        return True


def _led(path):
    """The first link above a path that another user than root or the own one made, who may have chosen what is removed; empty if there is none."""
    above = os.path.dirname(path)
    if above == path:
        return ""
    if not os.path.islink(above):
        return _led(above)
    if os.lstat(above).st_uid not in (0, os.geteuid()):
        return above
    target = os.path.join(os.path.dirname(above), os.readlink(above))
    return _led(above) or _led(os.path.join(target, "x"))


def _stays(path, reason):
    return {"path": path, "reason": reason}


def _environment(path):
    """An environment of ours with the sources that it was built from, the lock beside them, or the link of a deployment to one."""
    if os.path.islink(path):
        beside = os.path.dirname(os.readlink(path)) == os.path.dirname(path)
        return os.path.basename(path).startswith("current-") and beside
    built = path[: -len(SOURCES)] if path.endswith(SOURCES) else path
    return os.path.basename(path) == LOCK or os.path.isdir(os.path.join(built, STAMPS))


def _cache(path):
    """A cache that we made, or the home of the user that we made."""
    if os.path.islink(path) or not os.path.isdir(path):
        return False
    if os.path.lexists(os.path.join(path, tree.MADE)):
        return True
    return any(user.pw_dir == path and user.pw_gecos == USER_COMMENT for user in pwd.getpwall())


def remove(root, paths):
    """Remove what ``decide`` named, then folders of the layout that are empty."""
    folders = [root, *(os.path.join(root, name) for name in LAYOUT)]
    begun = [os.path.join(folder, name) for folder in folders for name in names(folder) if name.endswith(tree.FRESH)]
    for path in [*paths, *begun]:
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
        else:
            tree.remove_all(path)
    return [path for path in [*(os.path.join(root, name) for name in LAYOUT), root] if _remove_empty(path)]


def _remove_empty(path):
    try:
        os.rmdir(path)
    except OSError:  # not there, not empty, or a mount point
        return False
    return True
