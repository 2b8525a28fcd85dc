# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rehearsal on a host: which commands have to be tried, and what their release said. Runs on Python 3.7.

What was accepted is kept in the deployment's folder, which belongs to root: digests of command, software, model and facts. They are not tried
again. Nothing is kept where the folder does not exist yet.
"""

from __future__ import annotations

import hashlib
import json
import os
import time

from ..files import journal
from ..tools.text import visible
from . import launch, programs
from .commands import distinct, shape

SMALL = (".json", ".py", ".jinja")  # files of a model that its configuration is made of
MOST_FILES = 4096
MOST_TEXT = 400  # characters of what a program printed last


def rehearse(wish, keep):
    """``{available, reason, refused, unknown, tried, known, seconds}``: see the module engine_rehearsal."""
    begin = time.monotonic()
    groups = distinct(wish["engines"])
    found = {"available": True, "reason": "", "refused": [], "unknown": [], "tried": 0, "known": 0, "seconds": 0}
    try:
        marks = [_mark(wish, group[0]) for group in groups]
    except launch.Unavailable as error:
        return dict(found, available=False, reason=str(error))
    known = _known(wish["directory"])
    new = [place for place, mark in enumerate(marks) if mark not in known]
    answers = {}
    if new:
        try:
            answers = _asked(wish, [groups[place] for place in new])
        except launch.Unavailable as error:
            return dict(found, available=False, reason=str(error))
        answers = {new[place]: answer for place, answer in answers.items()}
    for place, answer in sorted(answers.items()):
        if answer["kind"]:
            row = {"engines": [engine["name"] for engine in groups[place]]}
            row.update(kind=visible(answer["kind"]), text=visible(answer["text"]))
            found["refused" if answer["refused"] else "unknown"].append(row)
    good = [mark for place, mark in enumerate(marks) if place not in new or not answers[place]["kind"]]
    if keep:
        _note(wish["directory"], good)
    return dict(found, tried=len(new), known=len(marks) - len(new), seconds=int(time.monotonic() - begin + 0.5))


def _asked(wish, groups):
    """The answer to each group. Engines of other images, or with other settings of Python, are asked one after the other."""
    batches, found = {}, {}
    for place, group in enumerate(groups):
        container = group[0].get("container") or {}
        batches.setdefault((container.get("image", ""), group[0]["env"].get("PYTHONPATH", "")), []).append(place)
    deadline = time.monotonic() + wish["timeout"]
    for places in batches.values():
        left = max(1, deadline - time.monotonic())
        answers, done = launch.started(wish, [groups[place][0] for place in places], left)
        last = " ".join(done.stderr.split())[-MOST_TEXT:]
        ended = f"no answer in {wish['timeout']} s" if done.timed_out else f"it ended with status {done.rc}: {last}"
        missing = {"kind": "rehearsal", "text": ended, "refused": False}
        found.update({place: answers.get(number, missing) for number, place in enumerate(places)})
    return found


def _mark(wish, engine):
    """The digest of all that decides the answer."""
    container = engine.get("container") or {}
    software = launch.image_id(container["image"]) if container else [_stamp(path) for path in wish["newer"]]
    if not container and not os.path.exists(wish["python"]):
        raise launch.Unavailable(f"{wish['python']} is not installed")
    parts = [shape(engine["argv"], engine["env"]), software, _model(engine["argv"][0]), wish["stand_ins"], wish["user"]]
    parts += [wish["python"], programs.texts(True)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "replace")).hexdigest()


def _stamp(path):
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return [path, 0, 0]
    return [path, status.st_size, status.st_mtime_ns]


def _model(folder):
    """Names, sizes and times of the model's small files."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(SMALL))
    except OSError:
        return []
    return [_stamp(os.path.join(folder, name)) for name in names[:MOST_FILES]]


def _known(directory):
    with journal.Folder(directory) as folder:
        found = folder.read(journal.REHEARSED).get("accepted")
    return {mark for mark in found if isinstance(mark, str)} if isinstance(found, list) else set()


def _note(directory, marks):
    with journal.Folder(directory) as folder:
        new = {"accepted": sorted(marks)}
        if folder.descriptor is not None and folder.read(journal.REHEARSED) != new:
            folder.write(journal.REHEARSED, new)
