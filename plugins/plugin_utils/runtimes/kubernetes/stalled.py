# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The liveness probe of an engine's pod, and what its node waits for before it ends the engine.

The probe ends with 3 if requests run and the engine computes nothing, else with 0.

It compares the engine's own counters with those of the earlier probes, in a file of the container. Whatever it cannot know is no
reason to end an engine: no answer, other counters, no file. Clients that leave all at once may leave an idle engine with
``running`` requests in its metrics (vLLM issue 22545); so before it fails, the probe sends one request itself, which such an engine
answers. Only the standard library: the file is mounted into the image as it is.

With ``--leave`` it waits until the engine has nothing left to do; the pod gets no new requests then. Pods that run read the newest
version of this file with the words that they were started with, so words may come but not go.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import sys
import tempfile
import time
import typing as t

STALLED = 3
TIMEOUT = 10.0  # seconds for an answer to /metrics, and for one to the request
LONGEST = 25  # seconds of the whole probe; the node would count a longer one as failed
MOST = 16 * 2**20  # bytes of an answer; metrics have less than 1 MiB
QUIET = 60.0  # seconds in which a leaving engine says nothing new: what it still has will not end, or nobody fetches it
POLL = 1.0  # seconds
MOST_GAP = 150.0  # seconds; the probes between are missing, and whatever ran then may have ended
SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)")

Seen = dict[str, list[float]]  # {labels: [work done, since]}, the time in seconds since 1970


def samples(text: str, names: t.Collection[str]) -> dict[str, dict[str, float]]:
    """``{labels: {name: value}}`` of these metrics."""
    found: dict[str, dict[str, float]] = {}
    for line in text.splitlines():
        sample = SAMPLE.match(line)
        if sample and sample.group(1) in names:
            try:
                found.setdefault(sample.group(2) or "", {})[sample.group(1)] = float(sample.group(3))
            except ValueError:
                continue
    return found


def readings(text: str, running: str, work: t.Collection[str]) -> dict[str, tuple[float, float]]:
    """``{labels: (running requests, work done)}`` of each engine behind the port; none of one without these metrics."""
    return {
        labels: (each[running], sum(each.get(name, 0.0) for name in work))
        for labels, each in samples(text, (running, *work)).items()
        if running in each and len(each) > 1
    }


def compared(before: Seen, found: t.Mapping[str, tuple[float, float]], now: float) -> Seen:
    """Since when each engine that has requests has done no work."""
    result = {}
    for labels, (requests, work) in found.items():
        if requests > 0:
            same = labels in before and before[labels][0] == work
            result[labels] = [work, before[labels][1] if same else now]
    return result


def earlier(path: str, now: float) -> Seen:
    """What the last probe saw; nothing if it was too long ago."""
    try:
        with open(path, encoding="utf-8") as stream:
            kept = json.load(stream)
        return kept["seen"] if 0 <= now - kept["at"] <= MOST_GAP else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def keep(path: str, seen: Seen, now: float) -> None:
    """For the next probe."""
    with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path), delete=False, encoding="utf-8") as stream:
        json.dump({"at": now, "seen": seen}, stream)
    os.replace(stream.name, path)


def metrics(address: str, port: int) -> str | None:
    """The engine's metrics; empty if it does not answer in time, None if nothing listens there."""
    try:
        connection = http.client.HTTPConnection(address, port, timeout=TIMEOUT)
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        return answer.read(MOST).decode("utf-8", "replace") if answer.status == 200 else ""
    except ConnectionRefusedError:
        return None
    except (OSError, http.client.HTTPException):
        return ""


def is_silent(address: str, port: int, model: str) -> bool:
    """Whether the engine accepts a request for one token and does not answer it."""
    body = json.dumps({"model": model, "prompt": "1", "max_tokens": 1})
    headers = {"Content-Type": "application/json"}
    if os.environ.get("VLLM_API_KEY"):
        headers["Authorization"] = f"Bearer {os.environ['VLLM_API_KEY']}"
    connection = http.client.HTTPConnection(address, port, timeout=TIMEOUT)
    try:
        connection.request("POST", "/v1/completions", body, headers)
        connection.getresponse()
    except TimeoutError:
        return True
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return False


def leave(address: str, port: int, pending: t.Sequence[str], work: t.Sequence[str], most: float) -> None:
    """Wait until nothing is pending twice in a row, nothing changes for ``QUIET`` seconds, nothing listens, or ``most`` seconds are over."""
    begin, before, since, idle = time.monotonic(), None, 0.0, 0
    while idle < 2 and time.monotonic() - begin < most:
        text = metrics(address, port)
        if text is None:
            return
        found, now = samples(text, (*pending, *work)), time.monotonic()
        if found != before:
            before, since = found, now
        is_busy = any(each.get(name, 0.0) > 1e-6 for each in found.values() for name in pending)
        idle = idle + 1 if found and not is_busy else 0
        if not idle and now - since >= QUIET:
            return
        time.sleep(POLL)


def address_of(path: str) -> str:
    """The address in the file that a worker's start script writes: its first pod has the API. Without it the pod's own."""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read().strip()
    except OSError:
        return os.environ.get("POD_IP") or "127.0.0.1"


def main() -> int:
    """Read the command line, look once or until the engine may end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", required=True, help="name of the model in requests")
    parser.add_argument("--after", type=float, required=True, help="seconds without work until an engine is stalled")
    parser.add_argument("--running", required=True, help="metric of the requests that run")
    parser.add_argument("--work", action="append", required=True, help="counter of tokens or steps")
    parser.add_argument("--state", default="/tmp/ascend-inference-stalled.json")
    parser.add_argument("--leave", type=float, help="wait at most so many seconds until nothing is left to do")
    parser.add_argument("--pending", action="append", default=[], help="metric of what is left to do, beside --running")
    parser.add_argument("--entry", default=os.path.join(tempfile.gettempdir(), "ascend-inference-entry"))
    options = parser.parse_args()
    address = address_of(options.entry)
    if options.leave is not None:
        leave(address, options.port, (options.running, *options.pending), options.work, options.leave)
        return 0
    signal.signal(signal.SIGALRM, lambda *_unused: os._exit(0))
    signal.alarm(LONGEST)
    now = time.time()
    found = readings(metrics(address, options.port) or "", options.running, options.work)
    if not found:
        return 0
    seen = compared(earlier(options.state, now), found, now)
    late = {labels: now - seen[labels][1] for labels in seen if now - seen[labels][1] >= options.after}
    try:
        keep(options.state, seen, now)
    except OSError:
        return 0
    if not late or not is_silent(address, options.port, options.model):
        return 0
    for labels, seconds in late.items():
        print(f"{found[labels][0]:g} requests run, and for {seconds:.0f} s no token or step was computed: {labels}")
    return STALLED


if __name__ == "__main__":
    sys.exit(main())
