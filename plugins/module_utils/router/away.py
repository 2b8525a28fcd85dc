# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of engines that a router must not get back when it starts anew: a JSON file with their URLs, beside its other run files.

A router that dies while an engine finishes its requests would have the engine again after its start, from its command line or from the program
that adds engines, and send it requests until it stops. An engine is in the list from before its removal until just before it is added again,
so a run that was killed leaves it there, and the next one proves it and adds it. Entries of engines that are no longer planned have no effect.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Iterable

from ..tools import foreign_file, foreign_json


def read(path: str) -> set[str]:
    """URLs of the list; none without a file, or if it is no list."""
    try:
        found = foreign_json.loads(foreign_file.read(path)) if path else []
    except (OSError, ValueError):
        return set()
    return {str(url) for url in found} if isinstance(found, list) else set()


def note(path: str, urls: Iterable[str]) -> None:
    """Add URLs to the list; the router's user can read it. OSError if the folder is missing or full."""
    before = read(path)
    _write(path, before, before | set(urls))


def clear(path: str, urls: Iterable[str]) -> None:
    """Take URLs from the list; an empty one has no file."""
    before = read(path)
    _write(path, before, before - set(urls))


def _write(path: str, before: set[str], urls: set[str]) -> None:
    if not path or urls == before:
        return
    if urls:
        foreign_file.write(path, json.dumps(sorted(urls)), 0o644)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
