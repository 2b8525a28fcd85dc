# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long an answer takes on two ways to the same router, so that their difference is the time of what stands in front of it.

A request for the list of models costs no engine time worth naming, passes each entry of the collection, and gets the same answer on both ways: a
list, or that this router has none. An answer that differs was made on the way, and says nothing about the way behind it.
"""

from __future__ import annotations

import hashlib
import http.client
import statistics
import time
from typing import Any, Mapping, Sequence

from ..tools.http_client import Target, connection_of, headers_of
from ..tools.text import visible

PATH = "/v1/models"
ASKED = 10  # times, over one connection as the requests of a benchmark
TIMEOUT = 10.0  # seconds of one answer
MOST = 2**20  # bytes of it


def walked(ways: Sequence[Mapping[str, str]], keys: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """``{name: {ms, answer, problem}}``: the median of ASKED answers, and what the answer was, so that two can be compared.

    ``ways``: ``{name, url, key, ca_path, server_name}``, where ``key`` names one of ``keys``. ``ms`` is None with a problem.
    """
    return {way["name"]: _walked(way, keys.get(way["key"], "")) for way in ways}


def _walked(way: Mapping[str, str], token: str) -> dict[str, Any]:
    target = Target(way["url"], token, way["ca_path"], server_name=way["server_name"])
    try:
        connection = connection_of(target, TIMEOUT)
        try:
            connection.connect()
            taken = [_once(connection, target) for _number in range(ASKED)]
        finally:
            connection.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        # Such an error may have a line that the peer sent.
        return {"ms": None, "answer": "", "problem": visible(f"{type(error).__name__}: {error}"[:300])}
    return {"ms": round(statistics.median(ms for ms, _answer in taken), 3), "answer": taken[-1][1], "problem": ""}


def _once(connection: http.client.HTTPConnection, target: Target) -> tuple[float, str]:
    """(milliseconds, status with a digest of what is not a list): a list has times and ids of its own in each answer."""
    begin = time.monotonic()
    connection.request("GET", PATH, headers=headers_of(target, False, ""))
    response = connection.getresponse()
    body = response.read(MOST)
    taken = 1000.0 * (time.monotonic() - begin)
    shown = "" if response.status == 200 else f" {hashlib.sha256(body).hexdigest()[:12]}"
    return taken, f"{response.status}{shown}"
