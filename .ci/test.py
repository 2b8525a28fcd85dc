# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the parts of the tests, some in parallel, and print a summary: `make test`, `make test PARTS="lint units"`, `make test SKIP=molecule`.

Every line of output has the name of its part; complete logs are in .cache/logs/. The exit status is not 0 if a part failed, or
if the run took longer than MINUTES (default 80, 300 with LONG=1), in which case running parts are stopped and count as failed.
LONG=1, which `make test-long` sets, adds LONG_ONLY, and the parts run without omissions.
"""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import times

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / ".cache" / "logs"
HEARTBEAT = 60  # seconds without output until the running parts are printed
# Lines of a log that name what failed: pytest's summary, Ansible's failed tasks, findings of ansible-test and the linters.
CAUSE = re.compile(r"^(FAILED |ERROR |ERROR: |fatal: |E {3}\w*(Error|Exception)|\S+:\d+:\d+: \S|make: \*\*\*)")
CAUSES, WIDTH = 6, 160  # causes that are printed of each part, and the characters of each

# In start order, at most JOBS at a time: the longest first, so that none of them runs alone at the end.
# A name that ends with "-" is a prefix of several parts: each scenario of molecule and each file tests/e2e/test_NAME.py is a
# part, so that new ones are included. Ports do not overlap: e2e-local uses 21000 to 21299, simulated clusters 23000 to 24999
# of 127.0.0.2 and up, parsers 25000 to 25999, all others use free ports.
JOBS = 3
ORDER = (
    "integration",
    "e2e-local",
    "molecule-",  # one starts first and builds the images that the others need
    "e2e-kthena",
    "units",
    "cores",
    "sanity",
    "e2e-",
    "lint",
    "parsers",
    "judge",
    "build",
    "docs",
    "conformance",
    "mutation",
)
# Scenarios about the test nodes themselves (every other scenario fails when they do), and scenarios whose parts others test:
# layerwise_2p1d the simulated clusters of tests/unit/simulator; colocated_pool e2e-local (the real master, store and router) and e2e-faults
# (the Ascend connectors); llmdatadist_w8a8 integration (software from git, empty package lists, a rank table of A3) and llmdatadist_1p2d,
# llmdatadist_docker that and docker_pd; tuned the unit tests of tuning, whose unit's commands they run.
# mutation says how good the unit tests are, not whether the code is right.
LONG_ONLY = {
    "mutation",
    "molecule-engine",
    "molecule-address_systemd",
    "molecule-changes_docker",
    "molecule-changes_systemd",
    "molecule-colocated_changes",
    "molecule-dp_changes",
    "molecule-halves_docker",
    "molecule-halves_systemd",
    "molecule-layerwise_2p1d",
    "molecule-layerwise_changes",
    "molecule-colocated_pool",
    "molecule-llmdatadist_docker",
    "molecule-llmdatadist_w8a8",
    "molecule-tuned",
}
LONG = bool(os.environ.get("LONG"))
SCRIPTS = {"conformance", "e2e", "integration", "judge", "parsers"}  # in tests/; the others are programs of .ci/parts/


def command(part):
    kind, dummy, name = part.partition("-")
    if kind == "molecule":
        return ["bash", ".ci/parts/molecule.sh", name]
    return ["bash", ".ci/parts/script.sh", part] if kind in SCRIPTS else ["bash", f".ci/parts/{part}.sh"]


def parts():
    """Names of all parts, in their order."""
    several = {
        "molecule-": [path.parent.name for path in (ROOT / "molecule").glob("*/molecule.yml")],
        "e2e-": [path.stem[len("test_") :] for path in (ROOT / "tests" / "e2e").glob("test_*.py")],
    }
    names = [item + name for item in ORDER for name in (sorted(several[item]) if item in several else [""])]
    return [name for name in dict.fromkeys(names) if LONG or name not in LONG_ONLY]  # each keeps its first position


class Running:
    """One part: its process, a thread that forwards its lines, its log."""

    def __init__(self, part, lines):
        self.part = part
        self.begin = time.monotonic()
        self.tail = []
        # Not the folder in /tmp of all runs of pytest: another run may have left something there that cannot be removed.
        self.temporary = tempfile.mkdtemp(prefix="t-")  # short, as the paths of sockets are limited
        self.process = subprocess.Popen(
            command(part),
            cwd=ROOT,
            env={**os.environ, "PYTEST_DEBUG_TEMPROOT": self.temporary},
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

    def finish(self):
        """The exit status of a part whose output has ended, and its processor time, including children."""
        dummy, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.clean()
        return self.process.returncode, usage.ru_utime + usage.ru_stime

    def end(self):
        """Stop the part and its child processes, first with SIGTERM."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sign)
                self.process.wait(timeout=20)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
        self.clean()

    def clean(self):
        """Remove the temporary files of its tests; rm, as some folders are deeper than Python's limit of recursion."""
        subprocess.run(["rm", "-rf", "--one-file-system", self.temporary], check=False)


def run(limit, parts, deadline, report):
    """Run the parts, at most `limit` at a time, calling report(part, outcome, seconds, last lines, processor) as each ends."""
    waiting, running, lines = list(parts), [], queue.Queue()
    try:
        while waiting or running:
            while waiting and len(running) < limit:
                running.append(Running(waiting.pop(0), lines))
                print(f"--- {running[-1].part} begins", flush=True)
            try:
                job, line = lines.get(timeout=max(0.1, min(HEARTBEAT, deadline - time.monotonic())))
            except queue.Empty:
                state = ", ".join(f"{item.part} for {item.seconds():.0f} s" for item in running)
                print(f"--- running: {state}", flush=True)
                if time.monotonic() >= deadline:
                    break
                continue
            if line is not None:
                job.tail = [*job.tail[-39:], line]
                print(f"{job.part:>16} | {line}", flush=True)
            else:
                running.remove(job)
                status, processor = job.finish()
                outcome = "passed" if status == 0 else f"FAILED ({status})"
                print(f"--- {job.part}: {outcome} after {job.seconds():.0f} s", flush=True)
                report(job.part, outcome, job.seconds(), job.tail, processor)
    finally:
        for item in running:
            item.end()
            report(item.part, "FAILED (time was up)", item.seconds(), item.tail, 0)
        for part in waiting:
            report(part, "FAILED (no time left)", 0, [], 0)


def causes(part):
    """The first lines of a part's log that name what failed, each once and shortened; the last line if none does."""
    try:
        lines = (LOGS / f"{part}.log").read_text(errors="replace").splitlines()
    except OSError:
        return []
    named = list(dict.fromkeys(line[:WIDTH] for line in lines if CAUSE.match(line)))
    return named[:CAUSES] or [line[:WIDTH] for line in lines[-1:]]


def busy():
    """Processor seconds used on this machine since its start, including containers; 0 without /proc."""
    try:
        text = Path("/proc/stat").read_text()
    except OSError:
        return 0
    ticks = [int(field) for field in text.splitlines()[0].split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")  # without idle time and I/O wait


def chosen(names):
    """The selected and not skipped parts, by name or, like "molecule", by the part of the name before the dash."""
    known, skipped = parts(), os.environ.get("SKIP", "").split()

    def among(part, given):
        return part in given or part.partition("-")[0] in given

    for name in [*names, *skipped]:
        if not any(among(part, [name]) for part in known):
            raise SystemExit(f"no part {name!r}; there are: {', '.join(known)}")
    return [item for item in known if not among(item, skipped) and (not names or among(item, names))]


def main():
    LOGS.mkdir(parents=True, exist_ok=True)
    begin, worked = time.monotonic(), busy()
    deadline = begin + 60 * float(os.environ.get("MINUTES", "300" if LONG else "80"))
    outcomes = {}
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))  # so that child processes are stopped
    limit = int(os.environ.get("JOBS", JOBS))
    run(limit, chosen(sys.argv[1:]), deadline, lambda part, *rest: outcomes.__setitem__(part, rest))

    failed = [part for part, result in outcomes.items() if result[0].startswith("FAILED")]
    passed = [part for part, result in outcomes.items() if result[0] == "passed"]
    times.keep({part: (outcomes[part][1], outcomes[part][3]) for part in passed})
    for part in failed:
        print(f"\n=== {part}: last lines (complete log: .cache/logs/{part}.log)")
        print("\n".join(outcomes[part][2]))
    print("\n=== summary")
    for part, result in outcomes.items():
        print(f"{part:>16}  {result[1]:6.0f} s  {result[0]}, {result[3]:.0f} s of processor time")
    print(
        f"{'in all':>16}  {time.monotonic() - begin:6.0f} s, {busy() - worked:.0f} s of processor time on the whole machine"
    )
    for part in failed:  # at the end too: whoever keeps only the last lines of the output has the causes
        for line in causes(part):
            print(f"{part:>16} | {line}")
    print(f"parts: {len(passed)} passed, {len(failed)} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    raise SystemExit(main())
