# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each place at which a test kills the controller exists: a task that got another name would only fail in the long tests."""

from __future__ import annotations

import ast
import functools
import pathlib
import re
import typing as t

import pytest
import yaml
from ansible_collections.ascend.inference.tests.integration import test_killed_changes

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = re.compile(r"^(?P<play>[A-Z][^|]*) \| (?P<role>\w*) \| (?P<task>[A-Z][^|]*?)(?: \| \d+)?$")
TEMPLATE = re.compile(r"\\\{\\\{.*?\\\}\\\}")
NAMES = r"[\w-]+(?:, [\w-]+)*"  # in the title of a step
DEPLOYING = "Deploy | service | "  # of a place that is only a task


class Value(t.NamedTuple):
    """A string of a test, with the line where it is."""

    text: str
    line: int


def strings(node: ast.AST, known: dict[str, str]) -> t.Iterator[Value]:
    """All strings below a node; in f-strings the names in ``known`` have values, and those with other values are left out."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield Value(each.value, each.lineno)
        if isinstance(each, ast.JoinedStr):
            parts = [
                known.get(part.value.id)
                if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name)
                else part.value
                if isinstance(part, ast.Constant)
                else None
                for part in each.values
            ]
            if None not in parts:
                yield Value("".join(parts), each.lineno)


def places(path: pathlib.Path) -> t.Iterator[Value]:
    """The places that a file of tests has: PLAY | ROLE | TASK, with a number or without one, and the values of ``killed_at``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known = {
        each.targets[0].id: each.value.value
        for each in tree.body
        if isinstance(each, ast.Assign)
        and isinstance(each.value, ast.Constant)
        and isinstance(each.value.value, str)
        and isinstance(each.targets[0], ast.Name)
    }
    for found in strings(tree, known):
        if PLACE.match(found.text):
            yield found
    for each in ast.walk(tree):
        if isinstance(each, ast.keyword) and each.arg == "killed_at" and isinstance(each.value, ast.Constant):
            found = Value(each.value.value, each.value.lineno)
            if found.text and " | " not in found.text:
                yield Value(DEPLOYING + found.text, found.line)


@functools.cache
def every() -> dict[str, str]:
    """{place: where the tests have it}."""
    found = {
        each.text: f"{path.name}:{each.line}"
        for path in sorted(ROOT.glob("tests/integration/test_*.py"))
        if path != pathlib.Path(__file__)
        for each in places(path)
    }
    for name, case in test_killed_changes.CASES.items():
        found[f"{case.play} | service | {case.at}"] = f"{test_killed_changes.__name__.rpartition('.')[2]}: {name}"
    return found


def named(path: pathlib.Path) -> t.Iterator[str]:
    """The names of all plays, blocks and tasks of a file."""

    def below(node: t.Any) -> t.Iterator[str]:
        for each in node if isinstance(node, list) else ():
            if isinstance(each, dict):
                yield str(each.get("name", ""))
                for key in ("block", "rescue", "always", "tasks", "pre_tasks", "post_tasks"):
                    yield from below(each.get(key))

    yield from below(yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


@functools.cache
def names(folder: str) -> frozenset[str]:
    """The names of all files below a folder."""
    found = {name for path in (ROOT / folder).rglob("*.yml") for name in named(path)}
    return frozenset(name for name in found if re.sub(r"{{.*?}}", "", name))  # of a step the name is only a template


@functools.cache
def titles() -> frozenset[str]:
    """Patterns of the titles of steps: what an f-string fills in are names or a number."""
    found = set()
    for path in (ROOT / "plugins/plugin_utils/change").glob("*.py"):
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(each, ast.JoinedStr):
                parts = [re.escape(part.value) if isinstance(part, ast.Constant) else NAMES for part in each.values]
                found.add("".join(parts))
            elif isinstance(each, ast.Constant) and isinstance(each.value, str):
                found.add(re.escape(each.value))
    return frozenset(found)


def exists(name: str, folder: str) -> bool:
    """Whether a file below this folder has the name, in which a template may be any text, or none."""
    return any(re.fullmatch(TEMPLATE.sub(".*", re.escape(found)), name) for found in names(folder))


def test_the_places_of_the_tests_are_found():
    assert len(every()) > 15, "otherwise the patterns above no longer find them"


@pytest.mark.parametrize("place", every())
def test_a_place_exists(place):
    play, role, task = PLACE.match(place).groups()
    where = every()[place]
    assert exists(play, "playbooks"), f"{where}: no play is called {play!r}"
    folder = f"roles/{role}/tasks" if role else "playbooks"
    step = role == "service" and any(re.fullmatch(title, task) for title in titles())
    assert step or exists(task, folder), f"{where}: no task of {folder} is called {task!r}"
