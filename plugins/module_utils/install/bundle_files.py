# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a bundle on a host: which ones are missing, and their unpacking from the one archive that the controller sends."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import sys
import tarfile

from ..tools.runner import ToolMissing, environment, execute

CHUNK = 2**20
RELEASE = "/etc/os-release"
ANSWER = 60  # seconds


class FilesError(Exception):
    """The archive is not what was announced; the text names the file."""


def sha256_of(path):
    """The SHA-256 of a file; empty if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            for chunk in iter(lambda: stream.read(CHUNK), b""):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()


def missing(directory, files):
    """Names of those ``files`` ({name: {sha256, size}}) that are not in ``directory`` as they should be."""
    found = []
    for name, wanted in sorted(files.items()):
        path = os.path.join(directory, name)
        same_size = os.path.isfile(path) and os.path.getsize(path) == wanted["size"]
        if not same_size or sha256_of(path) != wanted["sha256"]:
            found.append(name)
    return found


def distribution(path=RELEASE):
    """'debian 12': ID and VERSION_ID of os-release(5); empty if it does not say both."""
    try:
        with open(path, encoding="utf-8") as stream:
            found = dict(re.findall(r"(?m)^(ID|VERSION_ID)=[\"']?([\w.-]+)[\"']?$", stream.read()))
    except (OSError, UnicodeDecodeError):
        return ""
    return "{ID} {VERSION_ID}".format(**found) if len(found) == 2 else ""


def lacking(packages):
    """Those ``packages`` of the distribution that are not installed; all of them if dpkg does not answer."""
    if not packages:
        return []
    argv = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n"]
    try:
        done = execute(argv + ["--"] + list(packages), ANSWER, environment())
    except ToolMissing:
        return sorted(packages)
    installed = {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" installed")}
    return sorted(set(packages) - installed)


def host():
    """The platform of this interpreter: {machine, python, glibc, distribution}; glibc is empty with another C library."""
    library, version = platform.libc_ver()
    return {
        "distribution": distribution(),
        "machine": os.uname().machine,
        "python": "{}.{}".format(*sys.version_info[:2]),
        "glibc": version if library == "glibc" else "",
    }


def free(directory):
    """Free bytes where ``directory`` is or will be."""
    while not os.path.isdir(directory) and os.path.dirname(directory) != directory:
        directory = os.path.dirname(directory)
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize


def unpack(archive, directory, files):
    """Unpack the archive's files into ``directory``, each under another name until its SHA-256 is proved. Raises ``FilesError``."""
    os.makedirs(directory, mode=0o755, exist_ok=True)
    with tarfile.open(archive) as opened:
        for member in opened:
            wanted = files.get(member.name)
            if not wanted or not member.isfile() or os.path.basename(member.name) != member.name:
                raise FilesError(f"the archive has {member.name!r}, which was not announced")
            path = os.path.join(directory, member.name)
            with opened.extractfile(member) as source, open(path + ".new", "wb") as target:
                shutil.copyfileobj(source, target, CHUNK)
            found = sha256_of(path + ".new")
            if found != wanted["sha256"]:
                os.unlink(path + ".new")
                raise FilesError(
                    "{} has SHA-256 {} after the copy, expected {}".format(member.name, found, wanted["sha256"])
                )
            os.chmod(path + ".new", 0o644)
            os.replace(path + ".new", path)
