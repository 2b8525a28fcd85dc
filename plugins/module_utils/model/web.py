# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a model from a web server, or from a host that has them: HTTP with ranges, within bounds. Runs on Python 3.7."""

from __future__ import annotations

import http.client
import os
import re
import time
from urllib.error import HTTPError
from urllib.parse import quote

from ansible.module_utils.urls import open_url

from ..files.listing import BACKUP
from ..tools.bounded_copy import Endless, TooSlow, bounded_copy
from ..tools.served import Served

ANSWER = 60  # seconds without a byte
PARTIAL = ".ascend-inference-part"  # ends the name of a file that is not whole
SUMS = "SHA256SUMS"
MOST_SUMS = 8 * 2**20
TRIES = 6  # 1, 2, 4, 8 and 16 s between them: the server of another host is just being started
SUM = re.compile(r"([0-9a-f]{64}) [ *](?:\./)?(.+)", re.ASCII)


class Refused(Exception):
    """A source cannot be used; the text names it, the reason and the fix."""


class Limited:
    """A target that takes ``rate`` bytes a second at most; 0: without a limit."""

    def __init__(self, target, rate, clock=time.monotonic, sleep=time.sleep):
        self.target, self.rate, self.clock, self.sleep = target, rate, clock, sleep
        self.begun, self.done = clock(), 0

    def write(self, content):
        """Write, and wait until that many bytes may have come."""
        self.target.write(content)
        self.done += len(content)
        early = self.done / self.rate - (self.clock() - self.begun) if self.rate else 0
        if early > 0:
            self.sleep(early)


class Web:
    """A folder of a web server with a file SHA256SUMS, as ``sha256sum`` writes it."""

    proxied, redirects = True, "urllib2"

    def __init__(self, address, token="", authority="", rate=0, sleep=time.sleep):
        self.address, self.authority, self.rate, self.sleep = address.rstrip("/") + "/", authority, rate, sleep
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def opened(self, name, first=0, method="GET"):
        """The answer for a file from a byte on."""
        headers = dict(self.headers, **({"Range": f"bytes={first}-"} if first else {}))
        return open_url(
            self.address + quote(name),
            method=method,
            headers=headers,
            timeout=ANSWER,
            decompress=False,
            use_proxy=self.proxied,
            follow_redirects=self.redirects,
            ca_path=self.authority or None,
            unredirected_headers=["Authorization"],
        )

    def files(self):
        """The listing that SHA256SUMS has, with the sizes that the server announces."""
        with Served(lambda: self.opened(SUMS)) as answer:
            text = _Text()
            bounded_copy(answer, text, MOST_SUMS)
        found = []
        for line in text.content.decode("utf-8").splitlines():
            match = SUM.fullmatch(line)
            if not match:
                raise Refused(f"{self.address}{SUMS} has a line that is none of sha256sum: {ascii(line[:200])}")
            if match.group(2) == SUMS:
                continue
            found.append(self._listed(match.group(2), match.group(1)))
        return "", found

    def _listed(self, name, sha256):
        head = Served(lambda: self.opened(name, method="HEAD")).head
        return {"name": name, "size": int(head.headers.get("Content-Length") or -1), "sha256": sha256, "git": ""}

    def fetch(self, file, folder):
        """One file into the folder; what a killed run has of it is continued. Raises OSError after some tries."""
        path = os.path.join(folder, file["name"])
        partial = path + PARTIAL
        os.makedirs(os.path.dirname(path), exist_ok=True)
        for left in range(TRIES - 1, -1, -1):
            try:
                self._fetch(file, partial)
                break
            except HTTPError as error:
                if error.code != 429 and error.code < 500 or not left:
                    raise OSError(f"{file['name']}: the server answers {error.code} {error.reason}") from error
            except (OSError, http.client.HTTPException) as error:
                if not left or _full(error):
                    raise OSError(f"{file['name']}: {error}") from error
            except (Endless, TooSlow) as error:
                raise OSError(f"{file['name']}: {error}") from error
            self.sleep(2 ** (TRIES - 1 - left))
        os.replace(partial, path)

    def _fetch(self, file, partial):
        there = os.path.getsize(partial) if os.path.exists(partial) else 0
        if there > file["size"]:
            os.unlink(partial)
            there = 0
        if there == file["size"]:
            open(partial, "ab").close()  # an empty file is whole, too
            return
        with Served(lambda: self.opened(file["name"], there)) as answer:
            answered = getattr(answer.head, "status", 200)
            begins = f"bytes {there}-"
            goes_on = answered == 206 and str(answer.head.headers.get("Content-Range", "")).startswith(begins)
            with open(partial, "ab" if goes_on else "wb") as target:
                left = file["size"] - (there if goes_on else 0)
                done = bounded_copy(answer, Limited(target, self.rate), left)
        if done != left:
            raise OSError(f"the connection ended {left - done} bytes before the end")


def _full(error):
    return isinstance(error, OSError) and error.errno in (27, 28, 122)  # EFBIG, ENOSPC, EDQUOT


class _Text:
    """A target in memory."""

    def __init__(self):
        self.content = b""

    def write(self, content):
        """Add what came."""
        self.content += content


class Peer(Web):
    """A host that has the model; its config.json may have been repaired, and the original is beside it then."""

    # In the cluster's network; and another host does not choose what root of this one asks, such as a service of its loopback
    proxied, redirects = False, "none"

    def fetch(self, file, folder):
        """One file into the folder, as ``Web.fetch``."""
        if file["name"] == "config.json":
            try:
                super().fetch(dict(file, name=BACKUP), folder)
                os.replace(os.path.join(folder, BACKUP), os.path.join(folder, file["name"]))
                return
            except OSError:  # there is none
                pass
        super().fetch(file, folder)
