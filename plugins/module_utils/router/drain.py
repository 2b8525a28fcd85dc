# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait until engines that get no new requests have nothing left to do.

vLLM's health page answers 200 after SIGTERM while new requests get 500 (0.32.0, seen in a run), so only counters tell:

* ``num_requests_running`` and ``num_requests_waiting`` are 0;
* at prefill ``kv_cache_usage_perc`` is 0: blocks of finished requests are held until decode has fetched them, or no decode engine is there
  that still might;
* at decode the prefill engines have finished what they had when the wait began: routers choose decode before prefill has answered.

An engine that refuses connections has nothing left. One that accepts them and does not answer, or without these counters, may have: it is asked
again.
"""

from __future__ import annotations

import errno
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, NamedTuple, Sequence

from ..tools.how_many import how_many
from ..tools.http_client import Target, ask
from ..verify.metrics import RUNNING, WAITING, read_metrics
from .others import HELD, Fetched, Found, Promised, only_held

USAGE = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")  # the latter up to vLLM 0.10
OWN = tuple(  # errors of this machine, which has no port, file or memory left: they tell nothing about an engine
    os.strerror(number) for number in (errno.EADDRNOTAVAIL, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
)
UNCOUNTED = "requests that are not known (no "
FIX = (  # for requests that did not end in time
    "Fix: if requests take so long, raise inference_drain_timeout. If they do not end because an engine hangs, that does not help: status and watchdog "
    "name such an engine; before the next change run restart for it, with -e inference_drain_timeout=30"
)
COUNT = "Fix: remove disable-log-stats from its arguments if it is there: without counters each drain waits for its whole time"
BEHIND = "requests at prefill that may be sent to it"
HELD_FIX = (
    "Fix: none, if a decode engine ended or lost its link before: nobody fetches what prefill holds for it until inference_kv_hold_timeout ends. If decode "
    "engines have requests waiting, which are longer than this, raise inference_drain_timeout"
)
INTERVAL = 0.5  # seconds between two readings


class Engine(NamedTuple):
    """An engine that leaves. ``kind``: its pool, which is drained differently for prefill and decode."""

    name: str
    kind: str
    url: str


class Drained(NamedTuple):
    """``seconds`` waited; ``busy``: what is left in each engine, {name: text}; ``begun``: where to go on, {} at the end of the wait."""

    seconds: float
    busy: dict[str, str]
    begun: dict[str, Any] = {}


def metrics_of(url: str) -> Found:
    """The counters of an engine; None if it accepts no connection, so that it has no requests either; otherwise why they are not known."""
    reply = ask(Target(url), "/metrics", timeout=10.0)
    if reply.never_connected and not any(text in reply.detail for text in OWN):
        return None
    if reply.error or reply.status != 200:
        return f"requests that are not known ({reply.error or f'status {reply.status}'} at /metrics)"
    return read_metrics(reply.body)


def left_in(engine: Engine, found: Found) -> str:
    """What an engine still has to do; empty if nothing."""
    if found is None or isinstance(found, str):
        return found or ""
    missing = [name for name in (RUNNING, WAITING) if name not in found]
    if missing:
        return f"{UNCOUNTED}{' and no '.join(missing)} at /metrics)"
    texts = []
    for name, text in ((RUNNING, "running"), (WAITING, "waiting")):
        if found.get(name):
            texts.append(f"{how_many(round(found[name]), 'request')} {text}")
    held = max([found.get(name, 0.0) for name in USAGE])
    if engine.kind == "prefill" and held > 1e-6:
        texts.append(f"{held * 100:.2f}{HELD}")
    return ", ".join(texts)


def fix_of(left: str) -> str:
    """What is lost, and what to do, if an engine has this left at the end of the time; ``left``: of `left_in`."""
    if only_held(left):
        return (
            f"it has no requests any more, so only those fail whose KV cache a decode engine still fetches. {HELD_FIX}"
        )
    return "these requests may fail. " + (COUNT if left.startswith(UNCOUNTED) else FIX)


def drain(
    engines: Sequence[Engine],
    upstream: Sequence[str] = (),
    timeout: float = 300.0,
    settle: float = 2.0,
    read: Callable[[str], Found] = metrics_of,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Any] = time.sleep,
    downstream: Sequence[str] = (),
    within: float = 0.0,
    begun: dict[str, Any] | None = None,
) -> Drained:
    """Wait until all engines were idle for ``settle`` seconds, at most ``timeout`` seconds.

    ``upstream``: URLs of the prefill engines that stay, if one of the engines is a decode engine; ``downstream``: those of all decode engines, of
    which one may fetch what a prefill engine holds, if they are known. ``within``: seconds of this call, 0 for the whole time; ``begun``: where an
    earlier call stopped, on the same machine since it started, see `Drained`.
    """
    begin = clock()
    given = begun if begun and float(begun.get("began", begin)) <= begin else {}  # else the machine started since
    began = float(given.get("began", begin))
    decode = any(engine.kind == "decode" for engine in engines)
    promised = Promised(upstream if decode else (), read, given.get("due"))
    prefill = [engine.name for engine in engines if engine.kind == "prefill"]
    fetched = Fetched(downstream if prefill else (), read, settle, given.get("fetched"))
    idle_since: float | None = given.get("idle_since")
    while True:
        with ThreadPoolExecutor(max_workers=16) as pool:
            found: list[Found] = list(pool.map(read, [engine.url for engine in engines]))
        busy = {engine.name: left_in(engine, samples) for engine, samples in zip(engines, found)}
        busy = {name: text for name, text in busy.items() if text}
        now = clock()
        if fetched.all_of({name: busy.get(name, "") for name in prefill}, now):
            busy = {name: text for name, text in busy.items() if name not in prefill}
        behind = promised.left()
        if busy or behind:
            idle_since = None
        elif idle_since is None:
            idle_since = now
        if idle_since is not None and now - idle_since >= settle:
            return Drained(round(now - began, 1), {})
        if behind:
            busy = {**{engine.name: BEHIND for engine in engines if engine.kind == "decode"}, **busy}
        if now - began >= timeout:
            return Drained(round(now - began, 1), busy)
        if within and now - begin >= within:
            more = {"began": began, "idle_since": idle_since, "due": promised.due, "fetched": fetched.state()}
            return Drained(round(now - began, 1), busy, more)
        sleep(INTERVAL)
