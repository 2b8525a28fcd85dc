# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the parts of the tests, some side by side, and sum up: `make test`, `make test PARTS="lint units"`, `make test SKIP=molecule`.

Every line of output carries its part's name; the whole of it is kept in .cache/logs/. Ends non-zero if a part failed, or
if the run took longer than MINUTES (default 80), in which case the parts still running are ended and count as failed.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / ".cache" / "logs"
MISSING = 3  # exit status of parts/script.sh for a program that isn't there
HEARTBEAT = 60  # seconds without output until a line says what is running

# (how many at a time, parts). Sanity first, as the longest of the static ones; `images` is the molecule part's preparation.
# What starts engines and takes times runs alone.
PHASES = (
    (2, ("sanity", "lint", "images", "units", "docs", "build")),
    (1, ("conformance", "integration", "e2e", "molecule")),
)
SCRIPTS = {"conformance", "integration", "e2e"}  # programs tests/NAME/run
MAY_BE_MISSING = {"conformance", "e2e"}  # until they are written


def command(part):
    return ["bash", ".ci/parts/script.sh", part] if part in SCRIPTS else ["bash", f".ci/parts/{part}.sh"]


class Running:
    """One part: its process, a thread that passes its lines on, its log."""

    def __init__(self, part, lines):
        self.part = part
        self.begin = time.monotonic()
        self.tail = []
        self.process = subprocess.Popen(
            command(part),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        threading.Thread(target=self.read, args=(lines,), daemon=True).start()

    def read(self, lines):
        with open(LOGS / f"{self.part}.log", "w") as log:
            for line in self.process.stdout:
                log.write(line)
                log.flush()
                lines.put((self, line.rstrip("\n")))
        lines.put((self, None))

    def seconds(self):
        return time.monotonic() - self.begin

    def end(self):
        """Stop the part with everything it started, gently at first."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sign)
                self.process.wait(timeout=20)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


def run_phase(limit, parts, deadline, report):
    """Run the parts, at most `limit` at a time, calling report(part, outcome, seconds, last lines) as each ends."""
    waiting, running, lines = list(parts), [], queue.Queue()
    try:
        while waiting or running:
            while waiting and len(running) < limit:
                running.append(Running(waiting.pop(0), lines))
                print(f"--- {running[-1].part} begins", flush=True)
            try:
                one, line = lines.get(timeout=max(0.1, min(HEARTBEAT, deadline - time.monotonic())))
            except queue.Empty:
                state = ", ".join(f"{one.part} for {one.seconds():.0f} s" for one in running)
                print(f"--- running: {state}", flush=True)
                if time.monotonic() >= deadline:
                    break
                continue
            if line is not None:
                one.tail = [*one.tail[-39:], line]
                print(f"{one.part:>11} | {line}", flush=True)
            else:
                running.remove(one)
                status = one.process.wait()
                missing = status == MISSING and one.part in MAY_BE_MISSING
                outcome = "left out: not there yet" if missing else "passed" if status == 0 else f"FAILED ({status})"
                print(f"--- {one.part}: {outcome} after {one.seconds():.0f} s", flush=True)
                report(one.part, outcome, one.seconds(), one.tail)
    finally:
        for one in running:
            one.end()
            report(one.part, "FAILED (time was up)", one.seconds(), one.tail)
        for part in waiting:
            report(part, "FAILED (no time left)", 0, [])


def chosen(names):
    wanted, skipped = names or None, os.environ.get("SKIP", "").split()
    known = [part for phase in PHASES for part in phase[1]]
    for name in [*(wanted or []), *skipped]:
        if name not in known:
            raise SystemExit(f"no part {name!r}; there are: {', '.join(known)}")
    return [(limit, [p for p in parts if (not wanted or p in wanted) and p not in skipped]) for limit, parts in PHASES]


def main():
    LOGS.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    deadline = begin + 60 * float(os.environ.get("MINUTES", "80"))
    outcomes = {}
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))  # so that what was started is ended
    for limit, parts in chosen(sys.argv[1:]):
        limit = int(os.environ.get("JOBS", limit))
        run_phase(limit, parts, deadline, lambda part, *rest: outcomes.__setitem__(part, rest))

    failed = [part for part, result in outcomes.items() if result[0].startswith("FAILED")]
    passed = [part for part, result in outcomes.items() if result[0] == "passed"]
    for part in failed:
        print(f"\n=== {part}: its last lines (all of it: .cache/logs/{part}.log)")
        print("\n".join(outcomes[part][2]))
    print("\n=== summary")
    for part, result in outcomes.items():
        print(f"{part:>11}  {result[1]:6.0f} s  {result[0]}")
    print(f"{'in all':>11}  {time.monotonic() - begin:6.0f} s")
    print(f"parts: {len(passed)} passed, {len(failed)} failed, {len(outcomes) - len(passed) - len(failed)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    raise SystemExit(main())
