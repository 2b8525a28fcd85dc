# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings a model to its path: each file beside it, compared, then all of it by one rename. Goes on where a killed run ended. Runs on Python 3.7."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import time

from ..drill.processes import read as process
from ..files import listing, own_folder
from ..install.venv import write_atomically
from ..tools import foreign_json
from .web import PARTIAL, Refused

STATE = "state.json"
KEPT = ".unpacking"  # the folder beside the model's path, as that of an archive
OTHER_CONTENT = "has another content than listed"
SPARE = 2**28  # bytes that stay free
CLIENTS = ".cache"  # of huggingface_hub, which uses a new name for each transfer
PART = re.compile(
    rf"({re.escape(PARTIAL)}|\.incomplete|_\d+_\d+)$", re.ASCII
)  # those of modelscope_hub, and of its parallel transfers


def beside(path):
    # type: (str) -> str
    """The folder in which the model is completed."""
    return path.rstrip("/") + KEPT


def state(path):
    # type: (str) -> t.Dict[str, t.Any]
    """``{run, pid, started, error, files, files_done, bytes, kept}`` of the last run, ``bytes_there`` on the disk; empty without one."""
    folder = beside(path)
    if not own_folder.is_own(folder):
        return {}
    try:
        found = foreign_json.load(os.path.join(folder, STATE))
        there = size_of(os.path.join(folder, own_folder.CONTENT))
        return dict(found, bytes_there=there) if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def size_of(folder):
    # type: (str) -> int
    """Bytes of all files below a folder, also of those that a client is just writing."""
    total = 0
    for name in listing.names_in(folder):
        with contextlib.suppress(OSError):  # renamed meanwhile
            total += os.lstat(os.path.join(folder, name)).st_size
    return total


def started(pid):
    # type: (t.Any) -> str
    """When a process began, in ticks since the boot; empty if it has ended. The number of a process may be used again."""
    found = process(pid) if isinstance(pid, int) and not isinstance(pid, bool) else None
    return found.started if found else ""


def runs(found):
    # type: (t.Dict[str, t.Any]) -> bool
    """Whether the process of a state is still at work."""
    return bool(found.get("started")) and started(found.get("pid")) == found["started"]


def end(found, seconds=10.0):
    # type: (t.Dict[str, t.Any], float) -> None
    """End the process of a state, which a run left whose controller is gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + seconds
        while runs(found) and found["pid"] != os.getpid() and time.monotonic() < until:
            try:
                os.kill(found["pid"], number)
            except OSError:
                return
            time.sleep(0.1)


class Delivery:
    """One model on its way. ``files``: as ``listing.problems`` accepts them; ``run``: who asked for it."""

    def __init__(self, path, files, run=""):
        self.path, self.files, self.content = path.rstrip("/"), files, ""
        before = state(self.path)
        end(before)
        kept = before.get("kept")
        self.kept = kept if isinstance(kept, dict) else {}
        total = sum(each["size"] for each in files)
        self.now = {"run": run, "pid": os.getpid(), "started": started(os.getpid()), "error": ""}
        self.now.update(files=len(files), files_done=0, bytes=total)

    def bring(self, source, source_text, revision):
        """Fetch with ``source.fetch(file, folder)``, compare and rename. Raises ``Refused`` or OSError; what is whole stays for the next run."""
        if os.path.lexists(self.path):
            raise Refused(f"{self.path} exists, and it is not replaced. Fix: move it away, then run again")
        self.content = own_folder.begin(beside(self.path), 0o700)
        try:
            self.tell()
            self._clean()
            self._require_space()
            done = [self._one(each, source) for each in self.files]
            self._place(listing.text(source_text, revision, done))
        except Exception as error:
            self.now.update(error=str(error), started="")
            self.tell(quiet=True)
            raise

    def _require_space(self):
        found = os.statvfs(self.content)
        need, free = self.now["bytes"] - size_of(self.content) + SPARE, found.f_bavail * found.f_frsize
        if need > free:
            raise Refused(
                f"{os.path.dirname(self.path)} has {free // 2**20} MiB free, and the model needs {need // 2**20} MiB more. "
                "Fix: free space there, then run again"
            )

    def _clean(self, parts=True):
        """Remove what is no file of the listing, nor (with ``parts``) a part of one that a fetch goes on with; links are not followed."""
        named = {each["name"] for each in self.files}
        for name in listing.names_in(self.content):
            path, whole = os.path.join(self.content, name), PART.sub("", name) if parts else name
            if os.path.islink(path) or whole not in named:
                os.unlink(path)
        if os.path.isdir(os.path.join(self.content, CLIENTS)):
            shutil.rmtree(os.path.join(self.content, CLIENTS))

    def _one(self, file, source):
        path = os.path.join(self.content, file["name"])
        known = self.kept.get(file["name"])
        if os.path.isfile(path) and not (
            isinstance(known, dict) and known.get("stat") == _stat(path) and fits(file, known)
        ):
            known = self._compared(file, path)
        if not os.path.isfile(path):
            source.fetch(file, self.content)
            if os.path.islink(path) or not os.path.isfile(path):
                raise Refused(f"{file['name']} did not become a file")
            known = self._compared(file, path)
        if not known:
            raise Refused(
                f"{file['name']} {OTHER_CONTENT}, so nothing of the model is used. That file was removed. Fix: run again; if that "
                "does not help, the revision moved while it was fetched, or a server on the way has a damaged copy"
            )
        self.kept[file["name"]] = known
        self.now["files_done"] += 1
        self.tell()
        return {"name": file["name"], "size": file["size"], "sha256": known["sha256"]}

    @staticmethod
    def _compared(file, path):
        """What is known of a file that is what was listed; another one is removed."""
        if os.path.getsize(path) == file["size"]:
            sha256, git = listing.sha256_of(path)
            known = {"stat": _stat(path), "sha256": sha256, "git": git}
            if fits(file, known):
                return known
        os.unlink(path)
        return None

    def tell(self, quiet=False):
        """Write the state beside the model; it may not fit on a full disk."""
        try:
            write_atomically(os.path.join(beside(self.path), STATE), json.dumps(dict(self.now, kept=self.kept)), 0o600)
        except OSError:
            if not quiet:
                raise

    def _place(self, text):
        """The model at its path, with its record; all can read it, the owner can write."""
        self._clean(parts=False)
        write_atomically(os.path.join(self.content, listing.RECORD), text)
        for above, _folders, names in os.walk(self.content):
            os.chmod(above, 0o755)
            for name in names:
                os.chmod(os.path.join(above, name), 0o644)
        os.rename(self.content, self.path)
        own_folder.end(beside(self.path))


def fits(file, known):
    # type: (t.Dict[str, t.Any], t.Dict[str, t.Any]) -> bool
    """Whether a file's digests are those that were listed; a hub lists one of them, or none."""
    return all(known.get(name) == (file.get(name) or known.get(name)) for name in ("sha256", "git"))


def _stat(path):
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns, status.st_ino]
