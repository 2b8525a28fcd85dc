# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a test notices a mutant: the nearest tests first, in a fork of this process, until one fails.

The fork has imported pytest and other packages, but nothing of the collection. The mutant is written into the copy of the checkout, with a time of
its own, so that no compiled file of before is used. A test that fails without the mutant as well has noticed nothing.
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

from .near_tests import Graph
from .sample import Mutant

OF_A_TEST = 25.0  # seconds of processor time; more is a loop that does not end
WAITING = 240.0  # seconds in which a test ends, on a busy machine
MEMORY = 6 << 30
ENOUGH = 90  # exit status: the time is up, and no test has failed
LOADED = ("yaml", "hypothesis", "jinja2", "ansible.module_utils.basic", "ansible.plugins.loader", "ansible.template")


class Watch:
    """Ends a test that takes too long, and the run when its time is up; writes the first test that fails to a file."""

    def __init__(self, failed: pathlib.Path, left_out: t.Collection[str], most: float) -> None:
        self.failed, self.left_out, self.end = failed, left_out, time.process_time() + most

    def pytest_collection_modifyitems(self, items: list[t.Any]) -> None:
        items[:] = [item for item in items if item.nodeid not in self.left_out]

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
        if report.failed and not self.failed.exists():
            self.failed.write_text(report.nodeid, encoding="utf-8")
        if time.process_time() > self.end and not self.failed.exists():
            os._exit(ENOUGH)


def _too_long(number: int, frame: t.Any) -> None:
    raise TimeoutError("the test does not end")


class Judge:
    """Judges mutants in the copy of a checkout; ``folder`` is for its own files.

    ``most``: seconds of processor time for the near tests, and for the others; a mutant that no test has noticed by then counts as survived.
    """

    def __init__(self, root: pathlib.Path, folder: pathlib.Path, most: float) -> None:
        self.root, self.folder, self.most, self.graph = root, folder, most, Graph(root)
        self.reliable: dict[str, bool] = {}  # tests that failed with a mutant, and whether they pass without
        for name in LOADED:
            importlib.import_module(name)

    def judged(self, mutant: Mutant) -> str:
        """The test that notices it; empty if none does."""
        for files in self.graph.of(mutant.path):
            while True:
                with self._written(mutant):
                    test = self._first_failure(files)
                    # Again and alone: on a busy machine a test may fail because it waits for something.
                    again = test if test in ("", "collection") else self._first_failure([test])
                if not test or again and (test == "collection" or self._passes(test)):
                    break
                self.reliable[test] = False
            if test:
                return test
        return ""

    def _passes(self, test: str) -> bool:
        """Whether a test passes without a mutant."""
        if test not in self.reliable:
            self.reliable[test] = not self._first_failure([test])
        return self.reliable[test]

    def _written(self, mutant: Mutant) -> t.Any:
        return _Written(self.root / mutant.path, mutant.text)

    def _first_failure(self, names: list[str]) -> str:
        failed = self.folder / "failed"
        failed.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            self._child(names, failed)
        _pid, status = os.waitpid(child, 0)
        if failed.exists():
            return failed.read_text(encoding="utf-8")
        if os.WIFSIGNALED(status):
            return "collection"
        return "" if os.WEXITSTATUS(status) in (0, 5, ENOUGH) else "collection"

    def _child(self, names: list[str], failed: pathlib.Path) -> t.NoReturn:
        code: t.Any = 3
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (int(6 * self.most), int(6 * self.most) + 5))
            output = os.open(self.folder / "pytest.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            options = ["-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", "-p", "no:xdist"]
            left_out = {name for name, passes in self.reliable.items() if not passes}
            code = pytest.main([*options, *names], plugins=[Watch(failed, left_out, self.most)])
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
