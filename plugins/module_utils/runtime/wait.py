# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits for readiness: health URL and process state, for all services of a host in parallel."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from ..tools.http_client import Target, ask
from .base import RuntimeProblem, state


def answers(url, timeout=5.0):
    """Whether the URL answers 200 within the timeout; no redirect is followed, and the environment's proxies are not used."""
    reply = ask(Target(url, validate_certs=False), "", timeout=timeout)
    return reply.status == 200 and not reply.error


def healthy(services, probe=answers):
    """Those of running services that answer now, or have no URL to ask."""
    with ThreadPoolExecutor(max_workers=16) as pool:
        well = list(pool.map(lambda item: not item.get("url") or probe(item["url"]), services))
    return [item for item, good in zip(services, well) if good]


UNKNOWN = state("absent", detail="unknown to the runtime")


class Waiter:
    """Waits for services; ``clock`` and ``sleep`` can be replaced in tests."""

    def __init__(self, runtime, restarts=0, interval=0.5, probe=answers, clock=time.monotonic, sleep=time.sleep):
        self.runtime, self.restarts, self.interval = runtime, restarts, interval
        self.probe, self.clock, self.sleep = probe, clock, sleep

    def wait(self, services):
        """Seconds to readiness by name, and failures: ``({name: seconds}, {name: text})``.

        ``services``: dicts with name, unit, url, timeout, log. A service that has exited, or was restarted more often than
        allowed since the wait began, fails at once, together with all services that are not ready then.
        """
        begin, ready, failed, start_ids = self.clock(), {}, {}, {}
        while len(ready) < len(services) and not failed:
            pending = [service for service in services if service["name"] not in ready]
            try:
                states = self.runtime.states(pending)
            except RuntimeProblem as error:
                return ready, {item["name"]: str(error) for item in pending}
            for item in pending:
                now = states.get(item["unit"], UNKNOWN)
                seen = start_ids.setdefault(item["name"], [])
                if now["start_id"] and now["start_id"] not in seen:  # a program that is being started has no pid yet
                    seen.append(now["start_id"])
                if not now["up"]:
                    failed[item["name"]] = "is not running: {} {}".format(now["state"], now["detail"]).rstrip()
                elif len(seen) > 1 + self.restarts:
                    failed[item["name"]] = f"exits after its start (number of restarts: {len(seen) - 1})"
                elif self.clock() - begin > item["timeout"]:
                    failed[item["name"]] = "runs, but {} did not answer within {} s".format(
                        item["url"], item["timeout"]
                    )
            if failed:
                break
            with ThreadPoolExecutor(max_workers=16) as pool:
                well = list(pool.map(self.probe, [item["url"] for item in pending]))
            ready.update(
                (waited["name"], round(self.clock() - begin, 1)) for waited, good in zip(pending, well) if good
            )
            if len(ready) < len(services):
                self.sleep(self.interval)
        return ready, failed
