# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements with hashes: the parts of .ci/requirements/locks that an environment needs.

``requirements/NAME.txt`` says what is wanted. ``locks/NAME.txt``, else ``locks/main.txt``, has versions and hashes of that and of all it needs,
for every Python and machine. ``make lock`` writes them (`uv pip compile --universal --generate-hashes`).
"""

from __future__ import annotations

import re
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent / "requirements"
LOCKS = REQUIREMENTS / "locks"
# Lock -> the oldest Python that it is for. Those beside main.txt need other versions of the same packages.
OLDEST = {"main": "3.10", "galaxy": "3.10", "target": "3.7"}
CONDITION = re.compile(r"python(?:_full)?_version (<|>=|==) [\"'](\d+)\.(\d+)")
BLOCK = re.compile(r"^(\S+?)==(.+?)(?: ; (.*?))?(?: \\)?$")


def lock_of(name):
    """The lock that has the requirements of this name."""
    return LOCKS / f"{name if name in OLDEST else 'main'}.txt"


def wanted_by(lock):
    """The files of requirements that a lock is for."""
    names = sorted(path.stem for path in REQUIREMENTS.glob("*.txt"))
    return [REQUIREMENTS / f"{name}.txt" for name in names if lock_of(name).stem == lock]


def included(name):
    """This name and those of the files that its file includes."""
    text = (REQUIREMENTS / f"{name}.txt").read_text()
    return {name}.union(*(included(Path(line.split()[1]).stem) for line in text.splitlines() if line.startswith("-r ")))


def blocks(lock):
    """``[(package, version, condition, hashes, who needs it)]`` of a lock: the latter are packages, and ``-r FILE``."""
    found = []
    for text in re.split(r"\n(?=\S)", lock.read_text()):
        first, *more = text.strip().splitlines()
        if first.startswith("#"):
            continue
        package, version, condition = BLOCK.match(first).groups()
        hashes = [line.strip(" \\") for line in more if line.strip().startswith("--hash=")]
        needed = [re.sub(r"^\s*#\s*(via)?\s*", "", line) for line in more if line.strip().startswith("#")]
        found.append((package, version, condition or "", hashes, set(filter(None, needed))))
    return found


def pinned(*names):
    """Requirements with versions and hashes: what the files of these names and those that they include need, and nothing else of the lock."""
    files = set().union(*(included(name) for name in names))
    known = blocks(lock_of(names[0]))
    reached, fresh = set(), {f"-r {path.relative_to(REQUIREMENTS.parent.parent)}" for path in map(_file, files)}
    while fresh:
        found = {block[0] for block in known if block[4] & fresh}
        reached, fresh = reached | found, found - reached
    return "".join(_text(*block[:4]) for block in known if block[0] in reached)


def one(package, version):
    """A single package for whatever Python, with its hashes."""
    found = [_text(*block[:2], "", block[3]) for block in blocks(LOCKS / "main.txt") if block[:2] == (package, version)]
    if not found:
        raise SystemExit(f"error: {LOCKS / 'main.txt'} has no {package}=={version}: make lock")
    return found[0]


def holds(condition, python):
    """Whether a condition of Pythons holds for a version such as (3, 11)."""
    compare = {"<": tuple.__lt__, ">=": tuple.__ge__, "==": tuple.__eq__}
    return all(compare[sign](python, (int(major), int(minor))) for sign, major, minor in CONDITION.findall(condition))


def version_for(name, package, python):
    """The version of a package that ``requirements/NAME.txt`` names for a Python."""
    lines = re.findall(rf"^{package}==(\S+)(.*)$", _file(name).read_text(), re.MULTILINE)
    return next(version for version, condition in lines if holds(condition, python))


def _file(name):
    return REQUIREMENTS / f"{name}.txt"


def _text(package, version, condition, hashes):
    mark = f" ; {condition}" if condition else ""
    return " \\\n    ".join([f"{package}=={version}{mark}", *hashes]) + "\n"
