# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make check`: what can be known in a minute about what git says is changed, or about the last commit if nothing is.

Formats and styles of the changed files; the unit tests that are nearest to them; the rehearsed cases in which their tasks run, against their
records; then further tests that reach the changed files, the nearer ones first, as long as the minute lasts. It says what it did not run.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "mutation"))
import near_tests  # noqa: E402  (a program beside the collection's tree)

SECONDS = 60
ROUND = 12  # test files that are begun together
# What any file may offend.
EVERYWHERE = [f"tests/unit/test_{name}.py" for name in ("house_rules", "clone", "registries", "roles")]


def changed() -> list[str]:
    """The changed and new files, or those of the last commit."""
    new = _git("ls-files", "--others", "--exclude-standard")
    found = {*_git("diff", "--name-only", "--diff-filter=d", "HEAD"), *new}
    return sorted(found) or sorted(_git("diff", "--name-only", "--diff-filter=d", "HEAD~1"))


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.split()


def styles(names: list[str]) -> list[list[str]]:
    """The commands that judge the text of files."""
    python = [name for name in names if name.endswith(".py")]
    yaml = [name for name in names if name.endswith((".yml", ".yaml"))]
    shell = [name for name in names if name.endswith(".sh")]
    commands = [["ruff", "format", "--diff", *python], ["ruff", "check", *python]] if python else []
    commands += [["yamllint", "--strict", *yaml]] if yaml else []
    return commands + ([["shellcheck", *shell]] if shell else [])


def main() -> None:
    """Run the checks; the exit status is 1 if one fails."""
    begin = time.monotonic()
    names = changed()
    near, more, cases = near_tests.nearest(ROOT, names)
    print(f"{len(names)} changed files: {len(near)} test files and {len(cases)} rehearsed cases are near", flush=True)
    good = True
    for command in styles(names):
        good &= _done(command)
    if near:
        good &= _done([*_pytest(len(near)), *near])
    if cases:
        record = "tests/unit/rehearsal/test_rehearsal.py::test_what_runs_is_what_was_recorded"
        good &= _done([*_pytest(1), record], {"REHEARSE": " ".join(cases)})
    more = [*EVERYWHERE, *(name for name in more if name not in EVERYWHERE)]
    while more and (left := begin + SECONDS - time.monotonic()) > 0:
        try:
            good &= _done([*_pytest(ROUND), *more[:ROUND]], left=left)
        except subprocess.TimeoutExpired:
            break
        del more[:ROUND]
    print(
        f"{time.monotonic() - begin:.0f} s. Not run: {len(more)} more test files that reach these files (make units)."
    )
    sys.exit(0 if good else 1)


def _pytest(files: int) -> list[str]:
    return ["pytest", "-q", "--no-header", "--durations=0", "-n", "0" if files == 1 else "2"]


def _done(command: list[str], more: dict[str, str] | None = None, left: float | None = None) -> bool:
    """Whether a command found nothing; TimeoutExpired if it takes more than the seconds that are left."""
    environment = {**os.environ, **(more or {})}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, timeout=left)
    return done.returncode in (0, 5)  # 5: there was no test


if __name__ == "__main__":
    main()
