# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds of Python packages by a user without privileges. A source distribution runs any code when it is built.

The user works in a folder of its own, with its own home directory, cache and temporary files. Root takes the wheels from it, as files that
are no links, and installs copies of them; nothing in the folder is run or followed by root.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pwd
import re
import shutil
import stat
import tempfile

from ..files import tree
from ..tools.runner import execute

MOST = 2**31  # bytes of a file that a build makes; the largest real wheels have less than half of it
WHEEL = re.compile(
    r"[\w.]+-[\w.!+]+(?:-[\w.]+){3,4}\.whl", re.ASCII
)  # parts of the name become lines of a file of requirements
MOST_SECONDS = 60  # to make a user
SETPRIV = "setpriv"  # of util-linux
NO_WHEEL = re.compile(r"[Bb]ecause ([\w.-]+(?:[=<>!~]+[\w.+!*-]+)?) has no (?:usable )?wheels")
DISTRIBUTION = re.compile(r"([\w.-]+?)(?:\[[^\]]*\])?\s*(?:==|@)")


class Refused(Exception):
    """The user cannot be used, or left something else than wheels; the text says why, and the fix."""


def normal(name):
    """A distribution's name in the form of indexes."""
    return re.sub(r"[-_.]+", "-", name).lower()


def blocks(lock):
    """The packages of a lock: [(normalised name, its lines)]; comments and options are left out.

    >>> blocks("# x\\na==1 \\\\\\n    --hash=sha256:00\\nB @ file:///src\\n")
    [('a', 'a==1 \\\\\\n    --hash=sha256:00\\n'), ('b', 'B @ file:///src\\n')]
    """
    found = []
    for line in lock.splitlines(True):
        match = DISTRIBUTION.match(line)
        if match:
            found.append((normal(match.group(1)), line))
        elif found and line.startswith((" ", "\t")) and not line.strip().startswith("#"):
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


def built_names(wish):
    """Normalised names of the distributions that a layer builds on the host: ``no_binary``, and folders of sources."""
    folders = [requirement.partition("@")[0] for requirement in wish["requirements"] if " @ file:" in requirement]
    return {normal(name.strip()) for name in [*wish.get("no_binary", []), *folders]}


def without_wheel(output):
    """The distribution that uv would have to build, from its output with ``--no-build``; an empty string for other errors.

    >>> without_wheel("Because made==1 has no usable wheels and you require made==1, we can conclude ...")
    'made==1'
    """
    match = NO_WHEEL.search(" ".join(output.split()))
    return match.group(1) if match else ""


def source_folders(wish):
    """Folders of sources among the requirements."""
    found = [
        requirement.partition(" @ file://")[2].split()[0]
        for requirement in wish["requirements"]
        if " @ file:///" in requirement
    ]
    return [folder for folder in found if os.path.isdir(folder)]


def _account(name):
    """The user's record; a system user without a home directory and a shell is made if there is none."""
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(name)
    argv = [
        "useradd",
        "--system",
        "--no-create-home",
        "--home-dir",
        "/nonexistent",
        "--shell",
        "/usr/sbin/nologin",
        name,
    ]
    done = execute(argv, MOST_SECONDS, dict(os.environ), merged=True)
    try:
        return pwd.getpwnam(name)
    except KeyError as error:
        raise Refused(
            f"the user {name}, who builds packages, cannot be made: {done.stdout.strip()} Fix: create it."
        ) from error


class Worker:
    """The user ``name`` and its folder, made beside the environment ``path``; a context that removes the folder."""

    def __init__(self, name, path):
        self.user = _account(name)
        if self.user.pw_uid == 0:
            raise Refused(f"{name} is root, and a build may run any code. Fix: name a user without privileges.")
        if not shutil.which(SETPRIV):
            raise Refused(f"{SETPRIV} is missing, which starts builds without privileges. Fix: install util-linux.")
        self.parent, self.folder, self.copies = os.path.dirname(path.rstrip("/")), "", {}

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix=".build-", dir=self.parent)
        os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        return self

    def __exit__(self, *unused):
        tree.remove_all(self.folder, quiet=True)

    def inside(self, *names):
        """A path in the folder."""
        return os.path.join(self.folder, *names)

    def copying(self, folder):
        """The command that copies a folder of sources: a build writes into it, and the original belongs to root."""
        self.copies[folder] = self.inside(os.path.basename(folder))
        return self.command(["cp", "-R", "--preserve=mode,timestamps,links", folder, self.copies[folder]])

    def moved(self, text):
        """A text with the folders of sources replaced by their copies."""
        for folder, copy in self.copies.items():
            text = text.replace(f"file://{folder}", f"file://{copy}")
        return text

    def moved_back(self, text):
        """The opposite of ``moved``."""
        for folder, copy in self.copies.items():
            text = text.replace(f"file://{copy}", f"file://{folder}")
        return text

    def command(self, argv):
        """The command without root's user, groups and capabilities, and without a way to get them."""
        user, group = (str(number) for number in (self.user.pw_uid, self.user.pw_gid))
        return [SETPRIV, "--reuid", user, "--regid", group, "--clear-groups", "--no-new-privs", "--", *argv]

    def environment(self, env):
        """``env`` with the folder in place of root's home directory, caches and temporary files."""
        own = {name: self.folder for name in ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
        own.update(USER=self.user.pw_name, LOGNAME=self.user.pw_name)
        own.update(
            XDG_CACHE_HOME=self.inside("cache"), UV_CACHE_DIR=self.inside("cache"), PIP_CACHE_DIR=self.inside("cache")
        )
        return {**env, **own}

    def write(self, name, text):
        """A new file in the folder, readable by the user; returns its path."""
        path = self.inside(name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            os.fchown(stream.fileno(), self.user.pw_uid, self.user.pw_gid)
        return path

    def read(self, path):
        """The bytes of a file that the user made. A link could name a file that only root can read."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise Refused(f"{path} of the build is not a file: {error.strerror}") from error
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != self.user.pw_uid:
                raise Refused(f"{path} of the build is not a file of the user {self.user.pw_name}")
            content = stream.read(MOST + 1)
        if len(content) > MOST:  # a sparse file has any size
            raise Refused(f"{path} of the build has more than {MOST} bytes")
        return content

    def wheels(self, names):
        """{normalised name: path} of the wheels that were built of these distributions; raises ``Refused`` if one is missing."""
        found = {}
        for folder, _folders, files in os.walk(self.inside("cache")):
            for file in files:
                name = normal(file.split("-")[0])
                if WHEEL.fullmatch(file) and name in names:
                    found[name] = os.path.join(folder, file)
        missing = sorted(set(names) - set(found))
        if missing:
            raise Refused("the build of {} made no wheel".format(", ".join(missing)))
        return found

    def take(self, names, folder):
        """Copy the wheels into ``folder``, which belongs to root; returns requirements with the hashes of the copies."""
        os.makedirs(folder, mode=0o755, exist_ok=True)
        lines = []
        for name, path in sorted(self.wheels(names).items()):
            content, file = self.read(path), os.path.basename(path)
            with open(os.path.join(folder, file), "wb") as stream:
                stream.write(content)
            version = file.split("-")[1]
            lines.append(f"{name}=={version} --hash=sha256:{hashlib.sha256(content).hexdigest()}\n")
        return "".join(lines)
