# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a test notices a mutant: the nearest tests first, in a fork of this process, until one fails.

The fork has imported pytest and other packages, but nothing of the collection. The mutant is written into the copy of the checkout, with a time of
its own, so that no compiled file of before is used. A test that fails without the mutant as well has noticed nothing: the tests that have noticed
something run once more at the end, all together and without a mutant, see ``unreliable``.
"""

from __future__ import annotations

import importlib
import os
import pathlib
import resource
import signal
import time
import typing as t

import pytest

from .near_tests import Graph, about, in_order
from .sample import Mutant

OF_A_TEST = 25.0  # seconds of processor time; more is a loop that does not end
WAITING = 240.0  # seconds in which a test ends, on a busy machine
SHORT = 0.5  # seconds; a test that fails sooner did so without waiting for something on a busy machine
MEMORY = 6 << 30
COLLECTION = "collection"  # noticed by the import of tests
ENOUGH = 90  # exit status: the time is up, and no test has failed
LOADED = ("yaml", "hypothesis", "jinja2", "ansible.module_utils.basic", "ansible.plugins.loader", "ansible.template")


class Watch:
    """Ends a test that takes too long, and the run when its time is up; writes each test that fails to a file, with its seconds."""

    def __init__(self, failed: pathlib.Path, left_out: t.Collection[str], words: set[str], most: float) -> None:
        self.failed, self.left_out, self.words, self.end = failed, left_out, words, time.process_time() + most

    def pytest_collection_modifyitems(self, items: list[t.Any]) -> None:
        known = [item for item in items if item.nodeid not in self.left_out]
        items[:] = [known[index] for index in in_order([item.nodeid for item in known], self.words)]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: t.Any) -> t.Iterator[None]:
        signal.signal(signal.SIGPROF, _too_long)
        signal.signal(signal.SIGALRM, _too_long)
        signal.setitimer(signal.ITIMER_PROF, OF_A_TEST)
        signal.setitimer(signal.ITIMER_REAL, WAITING)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logreport(self, report: t.Any) -> None:
        if report.failed:
            with self.failed.open("a", encoding="utf-8") as file:
                file.write(f"{report.duration:.3f} {report.nodeid}\n")
        if time.process_time() > self.end and not self.failed.exists():
            os._exit(ENOUGH)


def _too_long(number: int, frame: t.Any) -> None:
    raise TimeoutError("the test does not end")


class Judge:
    """Judges mutants in the copy of a checkout; ``folder`` is for its own files. ``near``: which tests, in which order.

    ``most``: seconds of processor time for each list of tests; a mutant that no test has noticed by then counts as survived.
    """

    def __init__(self, root: pathlib.Path, folder: pathlib.Path, most: float, near: Graph) -> None:
        self.root, self.folder, self.most, self.near = root, folder, most, near
        self.left_out: set[str] = set()  # tests that fail without a mutant, or now and then
        self.words: set[str] = set()  # of the changed function
        for name in LOADED:
            importlib.import_module(name)

    def judged(self, mutant: Mutant) -> str:
        """The test that notices it; empty if none does."""
        self.words = about((self.root / mutant.path).read_text(encoding="utf-8"), mutant.place.line)
        for names in self.near.of(mutant.path):
            with self._written(mutant):
                test, seconds = self._first_failure(names)
                # Again and alone: on a busy machine a test may fail because it waits for something.
                while test not in ("", COLLECTION) and seconds >= SHORT and not self._first_failure([test])[0]:
                    self.left_out.add(test)
                    test, seconds = self._first_failure(names)
            if test:
                return test
        return ""

    def unreliable(self, tests: t.Iterable[str]) -> set[str]:
        """Those of these tests that fail without a mutant. They are left out from here on."""
        names = sorted(set(tests) - {"", COLLECTION})
        found = {test for test, _seconds in self._failures(names, [], 3600.0)} if names else set()
        self.left_out |= found
        return found

    def _written(self, mutant: Mutant) -> t.Any:
        return _Written(self.root / mutant.path, mutant.text)

    def _first_failure(self, names: list[str]) -> tuple[str, float]:
        """A test, and its seconds; ``COLLECTION`` if pytest itself fails; empty if all pass."""
        return next(iter(self._failures(names, ["-x"], self.most)), ("", 0.0))

    def _failures(self, names: list[str], options: list[str], most: float) -> list[tuple[str, float]]:
        failed = self.folder / "failed"
        failed.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            self._child(names, options, failed, most)
        _pid, status = os.waitpid(child, 0)
        if failed.exists():
            rows = [line.split(" ", 1) for line in failed.read_text(encoding="utf-8").splitlines()]
            return [(name, float(seconds)) for seconds, name in rows]
        ended = os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 5, ENOUGH)
        return [] if ended else [(COLLECTION, 0.0)]

    def _child(self, names: list[str], more: list[str], failed: pathlib.Path, most: float) -> t.NoReturn:
        code: t.Any = 3
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (int(6 * most), int(6 * most) + 5))
            output = os.open(self.folder / "pytest.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            options = [*more, "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", "-p", "no:xdist"]
            code = pytest.main([*options, *names], plugins=[Watch(failed, self.left_out, self.words, most)])
        finally:
            os._exit(int(code))


class _Written:
    """A context in which a file of the copy has another text, and a time that no compiled file knows."""

    def __init__(self, path: pathlib.Path, text: str) -> None:
        self.path, self.text = path, text

    def __enter__(self) -> None:
        self.before, self.status = self.path.read_text(encoding="utf-8"), self.path.stat()
        stamp = time.time_ns() + 10**12
        self.path.write_text(self.text, encoding="utf-8")
        os.utime(self.path, ns=(stamp, stamp))

    def __exit__(self, *_unused: t.Any) -> None:
        self.path.write_text(self.before, encoding="utf-8")
        os.utime(self.path, ns=(self.status.st_atime_ns, self.status.st_mtime_ns))
