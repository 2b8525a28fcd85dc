# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""User and password of package indexes, which stand in their URLs: they go to programs by their environment, into no file and no message."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

NAME = "extra-{}"  # the index of this number in a pyproject.toml


def without_credentials(url):
    """A URL without user and password.

    >>> without_credentials("https://me:secret@mirror.example/simple")
    'https://mirror.example/simple'
    """
    return re.sub(r"//[^/@\s]+@", "//", url)


def with_credentials(address, indexes):
    """The address of a file with user and password of the index on the same server, as pip sends them; uv leaves them out of a lock.

    >>> with_credentials("https://mirror.example/a-1.whl", ["https://me:secret@mirror.example/simple"])
    'https://me:secret@mirror.example/a-1.whl'
    """
    parts = urlsplit(address)
    for index in indexes:
        given = urlsplit(index)
        user, at, server = given.netloc.rpartition("@")
        if at and (given.scheme, server) == (parts.scheme, parts.netloc):
            return parts._replace(netloc=f"{user}@{server}").geturl()
    return address


def environment(urls):
    """What tells uv the user and password of each named index of a pyproject.toml, see ``resolution.project``."""
    found = {}
    for number, url in enumerate(sorted(set(urls))):
        parts = urlsplit(url)
        name = re.sub(r"\W", "_", NAME.format(number)).upper()
        if parts.username or parts.password:
            found[f"UV_INDEX_{name}_USERNAME"] = unquote(parts.username or "")
            found[f"UV_INDEX_{name}_PASSWORD"] = unquote(parts.password or "")
    return found
