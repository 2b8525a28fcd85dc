# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which mutants are tried: for each folder the same number, drawn by a seed.

A line is drawn, then a kind of change, then one of that kind: at most one mutant for each line, and numbers, of which a line has many, do not
outweigh conditions. The order is that of hashes of the texts of the lines, so a change elsewhere does not change what is drawn.
"""

from __future__ import annotations

import hashlib
import math
import pathlib
import typing as t

from .operators import Place, mutant, places

SEED = "1"
# What each folder is: patterns below plugins/, and patterns that belong to another one.
FOLDERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "planner": (
        (
            "plugin_utils/plan/*.py",
            "plugin_utils/plan/routers/*.py",
            "plugin_utils/description/*.py",
            "plugin_utils/lifecycle/*.py",
        ),
        (),
    ),
    "rules": (("plugin_utils/plan/rules/*.py", "plugin_utils/runtimes/kubernetes/rules.py"), ()),
    "renderers": (
        ("plugin_utils/plan/render/*.py", "plugin_utils/runtimes/**/*.py"),
        ("plugin_utils/runtimes/kubernetes/rules.py",),
    ),
    "verify": (("module_utils/verify/*.py",), ()),
    "modules": (("modules/*.py", "module_utils/**/*.py"), ("module_utils/verify/*.py",)),
}


class Mutant(t.NamedTuple):
    """A changed file. ``line`` is its number; ``before`` and ``after`` are the changed lines' texts."""

    path: str
    place: Place
    before: str
    after: str
    text: str


def files_of(root: pathlib.Path, folder: str) -> list[pathlib.Path]:
    """The files of a folder of the table."""
    patterns, others = FOLDERS[folder]
    plugins = root / "plugins"
    left_out = {path for pattern in others for path in plugins.glob(pattern)}
    found = {path for pattern in patterns for path in plugins.glob(pattern)} - left_out
    return sorted(path for path in found if not path.name.startswith("_"))


def sample(root: pathlib.Path, folder: str, count: int, seed: str = SEED) -> list[Mutant]:
    """The first ``count`` mutants of a folder in the order of the seed."""
    drawn = []
    for path in files_of(root, folder):
        name = str(path.relative_to(root))
        lines = path.read_text(encoding="utf-8").split("\n")
        by_line: dict[int, None] = dict.fromkeys(range(1, len(lines) + 1))
        seen: dict[str, int] = {}
        for line in by_line:
            text = lines[line - 1].strip()
            if text:
                seen[text] = seen.get(text, 0) + 1
                drawn.append((_hash(seed, name, text, str(seen[text])), name, line))
    found: list[Mutant] = []
    known: dict[str, dict[int, list[Place]]] = {}
    for key, name, line in sorted(drawn):
        if len(found) == count:
            break
        if name not in known:
            known[name] = {}
            for place in places((root / name).read_text(encoding="utf-8")):
                known[name].setdefault(place.line, []).append(place)
        one = _one(root / name, name, known[name].get(line, []), key)
        if one:
            found.append(one)
    return found


def _one(path: pathlib.Path, name: str, of_line: list[Place], key: str) -> Mutant | None:
    """The mutant that the hash of a line chooses."""
    source = path.read_text(encoding="utf-8")
    kinds = sorted({place.operator for place in of_line}, key=lambda kind: _hash(key, kind))
    for kind in kinds:
        for place in sorted(
            (place for place in of_line if place.operator == kind), key=lambda item: _hash(key, str(item.column))
        ):
            text = mutant(source, place)
            if text is not None:
                return Mutant(name, place, *_difference(source, text), text)
    return None


def _difference(before: str, after: str) -> tuple[str, str]:
    """The lines in which two texts differ, stripped and joined."""
    old, new = before.split("\n"), after.split("\n")
    first = next((number for number, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)
    last = next(
        (number for number, pair in enumerate(zip(old[::-1], new[::-1], strict=False)) if pair[0] != pair[1]), 0
    )
    last = min(last, len(old) - first, len(new) - first)
    parts = (old[first : len(old) - last], new[first : len(new) - last])
    return tuple(" ".join(line.strip() for line in part) for part in parts)  # type: ignore[return-value]


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def interval(noticed: int, count: int) -> tuple[int, int]:
    """Wilson's interval of 95 %, in percent, for the share of all mutants of which ``count`` were drawn."""
    z, share = 1.96, noticed / count
    middle, half = share + z * z / (2 * count), z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return tuple(round(100 * (middle + sign * half) / (1 + z * z / count)) for sign in (-1, 1))  # type: ignore[return-value]
