# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host remembers of a deployment's changes, so that the next run can go on or go back after the controller died.

In the deployment's folder, which belongs to root: ``journal.json`` with ``{phase, since, plan, run, verified, half, revisions}``, ``verified.json``, the last
plan that was verified, and ``before.json``, the verified plan before that one. Phases:

* ``changing``: files of the services are being replaced; until ``deployed`` some services may run the old plan and some the new one,
* ``deployed``: the services run ``plan.json`` and answer,
* ``verified``: a verification of that plan succeeded.

``half`` is the half of the instances that an upgrade began to change last. It stays until ``deployed``, also if a later change was interrupted:
until then engines may run that cannot exchange KV cache. A journal that is damaged may have had one: the half is UNKNOWN then, and stays so until a
plan is recorded as deployed.

``revisions`` are those of all plans that a change began to apply since a plan was ``deployed``: engines of any of them may run, and of the recorded one.

A verification notes nothing in the phase ``changing``, or if the journal is damaged: the entry would hide that a change has not ended, and which
half it began with.
"""

from __future__ import annotations

import json
import os
import time

from ..tools import foreign_json
from . import tree

JOURNAL, VERIFIED, BEFORE, PLAN = "journal.json", "verified.json", "before.json", "plan.json"
WATCHDOG = "watchdog.json"  # restarts by the watchdog, see module_utils/probe/watchdog.py
MEASURED = "bench.lock"  # which measurement runs, see module_utils/bench/running.py; a killed one leaves it
IMAGES = "container_images.json"  # which image each name meant, see module_utils/runtime/image_record.py
BEGUN = "begun.json"  # hosts on which a run began, see begun.py
LEFT = "drill.json"  # a fault that has not ended, see module_utils/drill/left.py
REHEARSED = "rehearsed.json"  # which engines' settings their release accepted, see module_utils/rehearsal/rehearse.py
NAMES = (JOURNAL, VERIFIED, BEFORE, WATCHDOG, MEASURED, IMAGES, BEGUN, LEFT, REHEARSED)
CHANGING, DEPLOYED = "changing", "deployed"
PHASES = (CHANGING, DEPLOYED, "verified")
UNKNOWN = "unknown"  # in place of a half, or of the digest or the revision of a plan


class Folder:
    """The deployment's open folder; nothing is read or written through a link."""

    def __init__(self, base):
        self.descriptor = tree.open_folder(base, base)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.descriptor is not None:
            os.close(self.descriptor)

    def read(self, name):
        """The content of a JSON file as a dict; ``{}`` if it is missing or broken, or if a service's user can have written it."""
        entry = tree.look(self.descriptor, name) if self.descriptor is not None else None
        try:
            found = foreign_json.loads(entry.content.decode("utf-8")) if tree.trusted(entry) else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def journal(self):
        """The journal; a part of another form, as a damaged disk leaves it, is missing."""
        found = self.read(JOURNAL)
        forms = {
            "phase": str,
            "since": str,
            "half": str,
            "plan": dict,
            "run": dict,
            "verified": dict,
            "revisions": list,
        }
        return {key: found[key] for key, form in forms.items() if isinstance(found.get(key), form)}

    def damage(self):
        """What is wrong with the journal, as the end of a sentence; "" if it can be read or there is none."""
        entry = tree.look(self.descriptor, JOURNAL) if self.descriptor is not None else None
        if entry is None:
            return ""
        if entry.kind != "file":
            return "is no file"
        if not tree.trusted(entry):
            return "can have been written by another user"
        raw, half = self.read(JOURNAL), self.read(JOURNAL).get("half", "")
        if raw.get("phase") not in PHASES or not isinstance(half, str):
            return "is damaged"
        return ""

    def write(self, name, value):
        """Replace a file in one step."""
        content = (json.dumps(value, indent=1, sort_keys=True) + "\n").encode("utf-8")
        tree.write(self.descriptor, name, content, 0o600, -1, -1)


def read(base):
    """The journal; ``{}`` if there is none."""
    with Folder(base) as folder:
        return folder.journal()


def note(base, phase, plan, run):
    """Note that a phase began. ``plan``: ``{digest, release, revision, half}`` of the new plan, ``half`` as in the journal; ``run``: a record of the run."""
    with Folder(base) as folder:
        if folder.descriptor is not None:
            known = {key: run.get(key, "") for key in ("id", "owner", "controller")}
            about = {key: value for key, value in plan.items() if key not in ("half", "revision")}
            entry = {"phase": phase, "since": _now(), "plan": about, "run": known}
            if phase == CHANGING:
                entry["revisions"] = sorted({plan.get("revision") or UNKNOWN, *_begun(folder)})
            before = folder.journal()
            earlier = UNKNOWN if folder.damage() else before.get("half")
            half = (plan.get("half") or earlier or "") if phase == CHANGING else ""
            if half:
                entry["half"] = half
            folder.write(JOURNAL, dict(entry, verified=before.get("verified") or {}))


def damage(base):
    """What is wrong with the journal, as the end of a sentence; "" if it can be read or there is none."""
    with Folder(base) as folder:
        return folder.damage()


def unfinished_half(base):
    """The half that an upgrade was changing when it was interrupted; "" if none was, UNKNOWN if the journal is damaged."""
    with Folder(base) as folder:
        if folder.damage():
            return UNKNOWN
        known = folder.journal()
        return str(known.get("half") or "") if known.get("phase") == CHANGING else ""


def _begun(folder):
    """The revisions of the changes that have not ended."""
    if folder.damage():
        return [UNKNOWN]
    known = folder.journal()
    if known.get("phase") != CHANGING:
        return []
    return [name if isinstance(name, str) else UNKNOWN for name in known.get("revisions") or [UNKNOWN]]


def revisions(base):
    """The revisions that engines may have after a change was interrupted, the recorded one among them; empty if none was. UNKNOWN stands for any."""
    with Folder(base) as folder:
        found = set(_begun(folder))
        recorded = folder.read(PLAN).get("revision") if found else ""
        return sorted(found | ({recorded} if recorded and isinstance(recorded, str) else set()))


def verified(base, digest, run):
    """Note that the deployed plan is verified; says whether it is the one with this digest, and no change of it was interrupted."""
    with Folder(base) as folder:
        plan, journal = folder.read(PLAN), folder.journal()
        if not digest or plan.get("digest") != digest or journal.get("phase") == CHANGING or folder.damage():
            return False
        last = folder.read(VERIFIED)
        if last.get("digest") != digest:
            if last:
                folder.write(BEFORE, last)
            folder.write(VERIFIED, plan)
        about = {"digest": digest, "release": plan.get("release", "")}
        if journal.get("phase") != "verified" or (journal.get("verified") or {}).get("digest") != digest:
            known = {key: run.get(key, "") for key in ("id", "owner", "controller")}
            now = _now()
            folder.write(
                JOURNAL,
                {"phase": "verified", "since": now, "plan": about, "run": known, "verified": dict(about, since=now)},
            )
        return True


def previous(base, purpose):
    """The plan to go back to, or ``{}``.

    ``upgrade``: the last verified plan; where none was ever verified the deployed one, unless a change of it was interrupted.
    ``rollback``: the last verified plan, or the one before it if that is what is deployed and nothing was changed since.
    ``verified``: the last verified plan.
    """
    with Folder(base) as folder:
        phase, last, deployed = folder.journal().get("phase", ""), folder.read(VERIFIED), folder.read(PLAN)
        if purpose == "rollback":
            at_rest = phase == "verified" and deployed.get("digest") == last.get("digest")
            return folder.read(BEFORE) if at_rest else last
        if purpose == "verified":
            return last
        return last or ({} if phase == CHANGING else deployed)


def last(base):
    """The last verified plan, if nothing was changed since; else ``{}``."""
    with Folder(base) as folder:
        return folder.read(VERIFIED) if folder.journal().get("phase") == "verified" else {}


def unverified(base):
    """The plan that is deployed, if another one was verified last and no change was interrupted; else ``{}``."""
    with Folder(base) as folder:
        last, deployed = folder.read(VERIFIED), folder.read(PLAN)
        rests = folder.journal().get("phase") == DEPLOYED and not folder.damage()
        return deployed if rests and last and deployed.get("digest") != last.get("digest") else {}


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
