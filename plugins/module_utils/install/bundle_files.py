# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a bundle on a host: which ones are missing, their unpacking from an archive of the controller, and their fetching from a server."""

from __future__ import annotations

import hashlib
import http.client
import io
import os
import platform
import re
import shutil
import stat
import sys
import tarfile
import urllib.parse
import urllib.request

from ..files.tree import FRESH
from ..tools.bounded_copy import Endless, bounded_copy
from ..tools.runner import ToolMissing, environment, execute
from ..tools.served import Served

CHUNK = 2**20
RELEASE = "/etc/os-release"
ANSWER = 60  # seconds
# Sources that do not answer are left out, each after seconds: a host without a route has to be told so soon.
OFFERED = [
    "dnf",
    "--quiet",
    "--setopt=timeout=5",
    "--setopt=retries=1",
    "--setopt=skip_if_unavailable=1",
    "repoquery",
    "--whatprovides",
]
PROGRAMS = {"nftables": "nft", "firewalld": "firewall-cmd"}  # of packages that are not named like theirs
MANIFEST = "manifest.json"
NOT_SERVED = (
    "{} could not be fetched: {}. [bundle_server] Fix: let a server in the rack serve the folder of the bundle there, for example 'python3 "
    "/media/bundle/serve.py /media/bundle --port 8000', without redirects, or unset inference_bundle_url"
)
MOST_MANIFEST = 64 * 2**20  # bytes; one of 10,000 files has about 5 MB


class FilesError(Exception):
    """An archive or a server does not have what was announced; the text names the file."""


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
        same_size = _own(path) and os.path.getsize(path) == wanted["size"]
        if not same_size or sha256_of(path) != wanted["sha256"]:
            found.append(name)
    return found


def _own(path):
    """Whether it is a file that nobody else can swap, if root asks: its owner may be another one than that of the folder, and a link leads elsewhere."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if os.geteuid() != 0:
        return os.path.isfile(path)
    return stat.S_ISREG(status.st_mode) and status.st_uid == 0 and not status.st_mode & 0o022


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


def lacking_of_dnf(packages, programs, offered=True):
    """Those ``packages`` that are not installed; if ``offered``, without those that a package source of the host, such as a mirror, offers.

    Roles install no package whose program is there from elsewhere; ``programs`` names it by package, where it is called otherwise.
    """
    programs = dict(PROGRAMS, **programs)
    found = [
        name for name in sorted(packages) if not shutil.which(programs.get(name, name), path=environment()["PATH"])
    ]
    found = [name for name in found if not _answered(["rpm", "--query", "--whatprovides", name])]
    return [name for name in found if not (offered and _answered(OFFERED + [name]))]


def _answered(argv):
    """Whether a program succeeds and prints a package, as NAME-VERSION-RELEASE.MACHINE: plugins of dnf print sentences, also with --quiet."""
    try:
        done = execute(argv, ANSWER, environment())
    except ToolMissing:
        return False
    return done.rc == 0 and any(re.fullmatch(r"\S+-\S+-\S+\.\w+", line.strip()) for line in done.stdout.splitlines())


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
            with opened.extractfile(member) as source:
                _place(directory, member.name, source, wanted, "the copy")


def _place(directory, name, source, wanted, what):
    """Write a file from a stream; it gets its name when its SHA-256 is proved. Raises ``FilesError``."""
    path = os.path.join(directory, name)
    new = path + FRESH  # not ".new", which a file of somebody else may be called
    try:
        if os.path.lexists(new):  # of a run that was killed
            os.unlink(new)
        with open(new, "xb") as target:
            bounded_copy(source, target, wanted["size"])
        found = sha256_of(new)
        if found != wanted["sha256"]:
            raise FilesError("{} has SHA-256 {} after {}, expected {}".format(name, found, what, wanted["sha256"]))
        os.chmod(new, 0o644)
        os.replace(new, path)
    except Endless as error:
        raise FilesError(
            f"{name}: {error} by {what}. [bundle_server] Fix: copy the bundle again, to the server as well"
        ) from error
    finally:
        if os.path.lexists(new):
            os.unlink(new)


def require_served(url, manifest_sha256):
    """Raise ``FilesError`` unless the server at ``url`` has the bundle with this manifest."""
    with _opened(url, MANIFEST) as answer:
        content = io.BytesIO()
        try:
            bounded_copy(answer, content, MOST_MANIFEST)
        except Endless as error:
            raise FilesError(NOT_SERVED.format(answer.address, error)) from error
    found = hashlib.sha256(content.getvalue()).hexdigest()
    if found != manifest_sha256:
        raise FilesError(
            f"{url} has another bundle than the controller: its {MANIFEST} has SHA-256 {found}, expected {manifest_sha256}. [bundle_server] "
            "Fix: copy the bundle to the server again, or unset inference_bundle_url"
        )


def fetch(url, directory, files):
    """Fetch ``files`` ({name: {path, sha256, size}}) from the server that has the folder of the bundle at ``url``. Raises ``FilesError``."""
    os.makedirs(directory, mode=0o755, exist_ok=True)
    for name, wanted in sorted(files.items()):
        if os.path.basename(name) != name:
            raise FilesError(f"the list has {name!r}, which is no name of a file")
        with _opened(url, wanted["path"]) as answer:
            _place(directory, name, answer, wanted, "the download from " + url)


class _Answer(Served):
    """What a server sends, as much as is there. Raises ``FilesError``, and ``Endless`` for a body that does not end."""

    def __init__(self, address):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
        self.address = address
        try:
            super().__init__(lambda: opener.open(address, timeout=ANSWER))
        except Endless as error:
            raise FilesError(NOT_SERVED.format(address, error)) from error

    def _next(self, seconds, what):
        try:
            return super()._next(seconds, what)
        except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError for a chunk of a size below 0
            raise FilesError(NOT_SERVED.format(self.address, error)) from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Another address is not the server of the rack: it may be outside, or an internal service that a host should not ask."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        return None  # so that the answer is an error


def _opened(url, path):
    """The answer of the server for a file of the bundle, without proxies and redirects: nothing leaves the rack. Raises ``FilesError``."""
    address = url.rstrip("/") + "/" + urllib.parse.quote(path)
    if not url.startswith(("http://", "https://")) or "@" in url:
        raise FilesError("inference_bundle_url is no address of HTTP, or has a user. Fix: write http://SERVER:PORT")
    return _Answer(address)
