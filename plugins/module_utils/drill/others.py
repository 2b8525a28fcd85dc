# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether somebody uses the service: requests that the engines have, or that they finish within some seconds."""

from __future__ import annotations

import time
from typing import Callable, Sequence

from ..tools.http_client import Target, ask
from ..verify.metrics import FINISHED, Samples, read_metrics

HAVE = ("vllm:num_requests_running", "vllm:num_requests_waiting")


def users(
    engines: Sequence[dict[str, str]], token: str, seconds: float, sleep: Callable[[float], None] = time.sleep
) -> list[str]:
    """A sentence for each engine ({name, url}) that works for somebody; an engine without counters is named too."""
    before = [_counters(engine, token) for engine in engines]
    sleep(seconds)
    found = []
    for engine, first in zip(engines, before):
        second = _counters(engine, token)
        if first is None or second is None or HAVE[0] not in second or (FINISHED in first) != (FINISHED in second):
            found.append("{} does not answer with its counters".format(engine["name"]))
            continue
        have = sum(second.get(name, 0.0) for name in HAVE)
        finished = second.get(FINISHED, 0.0) - first.get(FINISHED, 0.0)
        if have or finished:
            found.append("{} has {:.0f} requests and finished {:.0f}".format(engine["name"], have, max(0.0, finished)))
    return found


def _counters(engine: dict[str, str], token: str) -> Samples | None:
    reply = ask(Target(engine["url"], token), "/metrics", timeout=10.0)
    return read_metrics(reply.body) if reply.status == 200 and not reply.error else None
