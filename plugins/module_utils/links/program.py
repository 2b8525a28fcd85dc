# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The watch beside an engine whose links do not come back: ends the engine once another one that it is linked with was started again.

Called by run.sh with the path of its settings as JSON and the engine's process id: {service, connector, own, peers: {name: URL}, record,
interval, timeout, per_hour, stop_timeout}. It has the rights of the engine, asks the others for their page /metrics, and sends signals to its
own engine only; the engine's runtime starts that again. Only the standard library.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

from ..tools.http_client import Reply, Target, ask
from ..tools.process_start import start_of
from . import record
from .decisions import Links, recent

AT_ONCE = 16  # engines that are asked at once
SOON = 1.0  # seconds; requests to an engine with old links hang, so few of them should come in between


class Watch:
    """Rounds beside one engine. ``get``: one HTTP exchange."""

    def __init__(
        self,
        path: str,
        get: Callable[..., Reply] = ask,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path, self.get, self.clock = path, get, clock
        self.settings: dict[str, Any] = {}
        self.read_settings()
        known = record.read(self.settings["record"])
        self.links, self.ended = Links(known["met"]), list(known["ended"])
        self.unknown: list[str] = []
        self.reported = ""

    def read_settings(self) -> None:
        """Also between rounds: a pool may get instances while the engine runs. A file that is just replaced changes nothing."""
        try:
            with open(self.path, encoding="utf-8") as stream:
                self.settings = json.load(stream)
        except (OSError, ValueError):
            if not self.settings:
                raise

    def round(self) -> bool:
        """Ask the other engines once; whether this engine has to be ended now. That is noted before it is."""
        self.read_settings()
        if self._answers():
            self._look()
        now, stale = self.clock(), sorted(self.links.stale)
        self.ended = recent(self.ended, now)
        due = bool(stale) and len(self.ended) < self.settings["per_hour"]
        if due:
            self.ended.append(now)
        problem = self._note(now, stale)
        if stale:
            self._report(stale, due, problem)
        return due and not problem

    def _answers(self) -> bool:
        """Whether the own engine serves. Before that it has no links."""
        return self.get(Target(self.settings["own"]), "/health", timeout=self.settings["timeout"]).status == 200

    def _look(self) -> None:
        peers = self.settings["peers"]
        with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
            pages = list(pool.map(self._page, peers.values()))
        self.unknown = []
        for name, reply in zip(peers, pages):
            start = start_of(reply.body) if reply.status == 200 and not reply.error else None
            if start is not None:
                self.links.see(name, start)
            elif reply.status:
                self.unknown.append(name)

    def _page(self, url: str) -> Reply:
        return self.get(Target(url), "/metrics", timeout=self.settings["timeout"])

    def _note(self, now: float, stale: list[str]) -> str:
        """Write the record; the reason if that is not possible. Without it restarts would not be counted, so there are none then."""
        known = {"at": now, "met": self.links.met, "ended": self.ended, "stale": stale, "unknown": self.unknown}
        try:
            record.write(self.settings["record"], known)
        except OSError as error:
            return f"{self.settings['record']} cannot be written ({error.strerror})"
        return ""

    def _report(self, stale: list[str], due: bool, problem: str) -> None:
        text = (
            f"{', '.join(stale)} was started again, and {self.settings['connector']} does not link with it a second time, so no KV cache is "
            "transferred"
        )
        if due and not problem:
            count = f"{len(self.ended)} of at most {self.settings['per_hour']} times within an hour"
            self.say(f"{text}. Ending this engine; it is started again ({count})")
            return
        reason = problem or f"it was ended {len(self.ended)} times within the last hour"
        self.say(
            f"{text}. This engine is not ended now, because {reason}. Fix: find out why {', '.join(stale)} ends, then run "
            f"ascend.inference.restart with inference_services: [{self.settings['service']}] and, because linked engines restart at once, "
            "-e inference_allow_pause=true"
        )

    def say(self, text: str) -> None:
        """Write a line to the service's log, unless it was the last one."""
        if text != self.reported:
            sys.stdout.write(f"{self.settings['service']}, watch of links: {text}\n")
            sys.stdout.flush()
        self.reported = text


def end(engine: int, seconds: float) -> None:
    """End the engine as its runtime would: the signal, and SIGKILL after some seconds. The runtime ends the processes that remain."""
    os.kill(engine, signal.SIGTERM)
    limit = time.monotonic() + seconds
    while os.getppid() == engine and time.monotonic() < limit:
        time.sleep(0.2)
    if os.getppid() == engine:
        os.kill(engine, signal.SIGKILL)


def main() -> int:
    """Rounds until the engine is gone. Its process is the parent of this one, so its id cannot belong to another one meanwhile."""
    path, engine = sys.argv[1], int(sys.argv[2])
    watch = Watch(path)
    while os.getppid() == engine:
        if watch.round():
            end(engine, watch.settings["stop_timeout"])
            return 0
        time.sleep(min(SOON, watch.settings["interval"]) if watch.links.doubtful else watch.settings["interval"])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
