# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The passwd and group files of containers whose processes run as a user of the host.

HCCL looks up the process's user and ends with code 19 without an entry (vLLM-Ascend's page on containers without root, #9490). So each engine
gets the lines of its image and one more, mounted over the image's files. They are written when services are registered, before the containers.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile

from ..files.changes import Owners, Update
from .base import RuntimeProblem

SET = "accounts"  # of the files' manifest
PATHS = {"passwd": "/etc/passwd", "group": "/etc/group"}  # in the container
ABSENT = re.compile(r"(?i)could not (?:find the file|be found)|no such container:path|no such file")
SHELL = "/usr/sbin/nologin"


class Accounts:
    """Writes the files of services. ``docker`` runs a command of Docker and raises RuntimeProblem if it fails; ``mark`` labels containers."""

    def __init__(self, directory, docker, mark):
        self._directory, self._docker, self._mark = directory, docker, mark

    def write(self, services, user, present):
        """Write the files of these services; those of others are no longer wanted.

        ``user``: the entry of the host's user, as of ``pwd.getpwnam``; None if no service has such files. ``present`` says under which name the
        engine has an image; empty if it has not, and then nothing is written, because no container can be made of it.
        """
        files, images = [], {}
        for service in services:
            wanted = (service["container"] or {}).get("accounts")  # missing in plans of older versions
            image = present(service["container"]["image"]) if wanted else ""
            if not image:
                continue
            if image not in images:
                images[image] = self._read(image)
            ids = (user.pw_name, user.pw_uid, user.pw_gid)
            contents = {
                "passwd": passwd(images[image]["passwd"], *ids, home=wanted["home"]),
                "group": group(images[image]["group"], user.pw_name, user.pw_gid),
            }
            files += [
                {"path": wanted[name], "content": contents[name], "mode": "0644"}
                for name in sorted(contents)
                if name in wanted
            ]
        if not self._directory or not os.path.isdir(self._directory):
            return
        update = Update(self._directory, SET, Owners(), files=files).compare()
        if not files and not update.old["files"]:
            return
        if update.errors:
            raise RuntimeProblem("\n".join(update.errors))
        update.apply()

    def _read(self, image):
        """``{name: text}`` of an image's files, from a container that never runs."""
        words = ["--pull=never", "--network=none", f"--label={self._mark}", "--entrypoint=/bin/true", image]
        lines = self._docker("create", *words).split("\n")
        container = [line.strip() for line in lines if re.fullmatch(r"\s*\S+\s*", line)][-1]
        folder = tempfile.mkdtemp(prefix="ascend-inference-")
        try:
            return {name: self._copied(container, path, folder) for name, path in PATHS.items()}
        finally:
            shutil.rmtree(folder)
            self._docker("rm", "--force", container)

    def _copied(self, container, path, folder):
        target = os.path.join(folder, os.path.basename(path))
        try:
            self._docker("cp", "--follow-link", f"{container}:{path}", target)
        except RuntimeProblem as problem:
            if ABSENT.search(str(problem)):
                return ""
            raise
        with open(target, encoding="utf-8", errors="replace") as stream:
            return stream.read()


def passwd(text, name, uid, gid, home):
    """The lines of a passwd file, and one for a user if none has its id (passwd(5))."""
    return _with(text, name, uid, f"x:{uid}:{gid}:Runs the service:{home}:{SHELL}")


def group(text, name, gid):
    """The lines of a group file, and one for a group if none has its id (group(5))."""
    return _with(text, name, gid, f"x:{gid}:")


def _with(text, name, number, rest):
    whole = text if not text or text.endswith("\n") else text + "\n"
    fields = [line.split(":") for line in whole.splitlines()]
    if any(len(line) > 2 and line[2] == str(number) for line in fields):
        return whole
    own = f"{name}-{number}" if any(line[0] == name for line in fields) else name  # the first line of a name counts
    return f"{whole}{own}:{rest}\n"


def mounts(container):
    """Options of ``docker create`` for the files. Unlike a volume, this kind fails if a file is missing, and makes no folder of its name."""
    wanted = container.get("accounts") or {}
    return [
        f"--mount=type=bind,source={wanted[name]},target={path},readonly"
        for name, path in sorted(PATHS.items())
        if name in wanted
    ]
