# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the watch of an engine's links knows: a file of the engine's working directory.

{at, met: {engine: start}, ended: [time], stale: [engine], unknown: [engine]}; times in seconds since 1970. It outlives the engine, and the
engine's user can write it: who reads it takes it for data of that user.
"""

from __future__ import annotations

import json
from typing import Any

from ..tools import foreign_file

NAME = "links.json"
MOST = 256 * 1024  # bytes
LATEST = 1e15  # seconds since 1970; a later time is none


def read(path: str) -> dict[str, Any]:
    """The record; without a file that can be read and understood, one that knows nothing, whose ``at`` is 0."""
    try:
        found = json.loads(foreign_file.read(path, MOST))
    except (OSError, ValueError, RecursionError):
        found = None
    found = found if isinstance(found, dict) else {}
    met = found.get("met")
    return {
        "at": found["at"] if _time(found.get("at")) else 0.0,
        "met": {str(name): met[name] for name in met if _time(met[name])} if isinstance(met, dict) else {},
        "ended": [value for value in _list(found, "ended") if _time(value)],
        "stale": [str(value) for value in _list(found, "stale")],
        "unknown": [str(value) for value in _list(found, "unknown")],
    }


def write(path: str, record: dict[str, Any]) -> None:
    """Replace the record in one step; OSError if that is not possible."""
    foreign_file.write(path, json.dumps(record, sort_keys=True) + "\n")


def _list(found: dict[str, Any], key: str) -> list[Any]:
    value = found.get(key)
    return value if isinstance(value, list) else []


def _time(value: Any) -> bool:
    # Neither NaN nor infinity is between both, nor an integer that no float can hold.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= LATEST
