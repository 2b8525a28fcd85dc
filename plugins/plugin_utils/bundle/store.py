# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a bundle by their content: blobs/SHA256/NAME. What is interrupted goes on where it stopped; what is there is not fetched."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import time
import typing as t
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlparse

from ansible.module_utils.urls import open_url

from ...module_utils.install.index_credentials import without_credentials
from ...module_utils.tools.bounded_copy import Endless, bounded_copy
from ...module_utils.tools.served import Served
from ...module_utils.tools.text import one_line

ATTEMPTS = 5
TIMEOUT = 60  # seconds without an answer
CHUNK = 2**20
MOST = 32 * 2**30  # bytes of a file whose size nobody has said; CANN's largest package has a few GiB


class FetchError(Exception):
    """A file could not be fetched; the text names the address, the reason and the fix."""


def blob(sha256: str, name: str) -> str:
    """The path of a file within a bundle."""
    return f"blobs/{sha256}/{name}"


def sha256_of(path: str) -> str:
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def folder_in(folder: str, *names: str) -> str:
    """Make a folder of a bundle, with those between; its path. Raises ``FetchError`` for a link: files behind it are none of the bundle's."""
    os.makedirs(folder, exist_ok=True)
    for name in names:
        folder = os.path.join(folder, name)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder)
        if os.path.islink(folder) or not os.path.isdir(folder):
            raise FetchError(
                f"{folder} is no folder, or a link to one: files elsewhere would be replaced. Fix: find out who wrote to {os.path.dirname(folder)}, "
                "and remove it"
            )
    return folder


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def require_own(path: str) -> None:
    """Remove what is in the place of a file that was begun, and is not a file of this user: a link, a pipe, a file that another user can change."""
    with contextlib.suppress(FileNotFoundError):
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_uid != os.geteuid():
            os.unlink(path)


def length(path: str) -> int:
    """The size of a file in bytes; 0 if it does not exist."""
    return os.path.getsize(path) if os.path.exists(path) else 0


class Store:
    """The files of a bundle in ``folder``; counts what is fetched. ``base`` is the folder of an older bundle, whose files are left out."""

    def __init__(self, folder: str, base: str = "") -> None:
        self.folder, self.base = folder, base
        self.fetched: list[str] = []
        self.fetched_bytes = 0

    def has(self, name: str, sha256: str, size: int | None) -> bool:
        """Whether a file is there, or is left to the older bundle."""
        path = self.place(name, sha256)
        return bool(sha256) and os.path.isfile(path) and size in (None, os.path.getsize(path))

    def place(self, name: str, sha256: str) -> str:
        """The path of a file: in this bundle, or in the older one if only that has it."""
        own, older = (os.path.join(folder, blob(sha256, name)) for folder in (self.folder, self.base))
        return older if self.base and not os.path.isfile(own) and os.path.isfile(older) else own

    def get(self, name: str, address: str, sha256: str = "", size: int | None = None) -> tuple[str, int]:
        """Fetch a file unless it is there; its SHA-256 and size in bytes. Raises ``FetchError``."""
        if self.has(name, sha256, size):
            return sha256, os.path.getsize(self.place(name, sha256))
        name_of_part = hashlib.sha256(f"{address} {sha256}".encode()).hexdigest()
        part = os.path.join(folder_in(self.folder, "incomplete"), name_of_part)
        require_own(part)
        before = length(part)
        most = MOST if size is None else size
        self._download(address, part, most)
        found = sha256_of(part)
        if sha256 and found != sha256 and before:  # the beginning may be of another file
            os.unlink(part)
            self._download(address, part, most)
            found = sha256_of(part)
        if sha256 and found != sha256:
            os.unlink(part)
            raise FetchError(
                f"{without_credentials(address)} has SHA-256 {found}, expected {sha256}. It was not kept. Fix: check the index or mirror; "
                "if the publisher replaced the file, correct the checksum"
            )
        self.fetched.append(name)
        self.fetched_bytes += length(part) - before
        return self._keep(part, name, found)

    def add(self, name: str, path: str) -> tuple[str, int]:
        """Copy a file of this machine into the bundle; its SHA-256 and size in bytes."""
        return self.get(name, path, sha256_of(path))

    def _keep(self, part: str, name: str, sha256: str) -> tuple[str, int]:
        size, path = os.path.getsize(part), os.path.join(self.folder, blob(sha256, name))
        folder_in(self.folder, *os.path.dirname(blob(sha256, name)).split("/"))
        os.replace(part, path)
        os.chmod(path, 0o644)
        return sha256, size

    def _download(self, address: str, part: str, most: int) -> None:
        scheme = urlparse(address).scheme
        if scheme in ("", "file"):
            path = unquote(urlparse(address).path) if scheme else address
            try:
                with open(path, "rb") as source, open(part, "wb", opener=_no_link) as stream:
                    shutil.copyfileobj(source, stream)
            except OSError as error:
                raise FetchError(f"{path} cannot be read: {error.strerror}") from error
            return
        for attempt in range(ATTEMPTS):
            try:
                self._continue(address, part, most)
                return
            except Endless as error:
                if length(part):
                    os.unlink(part)
                raise FetchError(
                    f"{without_credentials(address)}: {error}. It was not kept, because a file without an end fills the disk. Fix: check the index "
                    "or mirror, and the address"
                ) from error
            except HTTPError as error:
                if error.code == 416 and length(part):  # nothing is left of the file; its hash is compared
                    return
                reason: t.Any = error
                if error.code < 500 and error.code not in (408, 429):
                    break
            except (
                URLError,
                OSError,
                EOFError,
                ValueError,
                HTTPException,
            ) as error:  # ValueError: numbers that a server made up
                reason = error
            time.sleep(min(2**attempt, 10) if attempt + 1 < ATTEMPTS else 0)
        raise FetchError(
            f"{without_credentials(address)} cannot be fetched: {one_line(str(reason))}. Fix: check address, network and proxy of this machine, then run "
            "the playbook again; it goes on with the rest"
        )

    def _continue(self, address: str, part: str, most: int) -> None:
        """Append the rest of a file, or write all of it if the server cannot send a part."""
        start = length(part)
        headers = {"Range": f"bytes={start}-"} if start else {}
        headers["Accept-Encoding"] = "identity"
        with Served(lambda: open_url(address, headers=headers, timeout=TIMEOUT, decompress=False)) as answer:
            partial = answer.head.getcode() == 206
            expected = answer.head.headers.get("Content-Length")
            with open(part, "ab" if partial else "wb", opener=_no_link) as stream:
                bounded_copy(answer, stream, most - (start if partial else 0))
        if expected and length(part) != int(expected) + (start if partial else 0):
            raise EOFError("the connection ended early")
