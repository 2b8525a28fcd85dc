# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that a host fetches from a server, with an end: the size, the rate and the checksum are bounded. Runs on Python 3.7."""

from __future__ import annotations

import hashlib
import http.client
import os

from ansible.module_utils.urls import open_url

from ..files.tree import FRESH
from ..tools.bounded_copy import CHUNK, Endless, TooSlow, bounded_copy
from ..tools.served import Served
from .index_credentials import without_credentials

ANSWER = 60  # seconds without a byte


class DownloadError(Exception):
    """A file could not be fetched; the text names the address, the reason and the fix."""


def is_there(path, checksum):
    # type: (str, str) -> bool
    """Whether a file is at ``path``, with this checksum (ALGORITHM:HEX) if it is not empty."""
    return os.path.isfile(path) and (not checksum or _digest(path, checksum) == checksum.partition(":")[2].lower())


def _digest(path, checksum):
    digest = hashlib.new(checksum.partition(":")[0])
    with open(path, "rb") as stream:
        for content in iter(lambda: stream.read(CHUNK), b""):
            digest.update(content)
    return digest.hexdigest()


def fetch(address, path, checksum, most):
    # type: (str, str, str, int) -> None
    """Fetch a file of at most ``most`` bytes; it gets its name when it is whole and compared. Raises ``DownloadError``, and leaves nothing then."""
    new, shown = path + FRESH, without_credentials(address)
    try:
        _discard(new)  # of a run that was killed
        with Served(lambda: open_url(address, timeout=ANSWER, decompress=False)) as answer, open(new, "xb") as target:
            _copy(answer, target, most)
        os.chmod(new, 0o644)
        if not is_there(new, checksum):
            raise DownloadError(
                f"{shown} has the checksum {_digest(new, checksum)}, expected {checksum.partition(':')[2]}. It was not kept, because another "
                "file than the one that was compared may do anything. Fix: correct the file on the server, or cann_checksums"
            )
        os.replace(new, path)
    except TooSlow as error:
        raise DownloadError(
            f"{shown}: {error}. That is too slow for a download that ends, so it was given up and nothing was kept. Fix: check the server, the "
            f"network and the proxy of this host, then run again; or copy the package to {path}"
        ) from error
    except Endless as error:
        raise DownloadError(
            f"{shown}: {error}. It was not kept, because a file without an end fills the disk. Fix: check that the address is that of the "
            "package, or increase cann_download_max_mib"
        ) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise DownloadError(
            f"{shown} cannot be fetched to {path}: {error}. Fix: check the address, the network, the proxy and the free disk space of this host"
        ) from error
    finally:
        _discard(new)


def _copy(answer, target, most):
    announced = answer.head.headers.get("Content-Length") or ""
    if announced.isdigit() and int(announced) > most:
        raise Endless(f"{announced} bytes are announced, more than the expected {most}")
    done = bounded_copy(answer, target, most)
    if announced.isdigit() and done != int(announced):
        raise OSError(f"the connection ended after {done} of {announced} bytes")


def _discard(path):
    if os.path.lexists(path):
        os.unlink(path)
