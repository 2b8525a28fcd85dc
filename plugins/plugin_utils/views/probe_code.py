# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The code of the service ``probe`` as files: the modules of ``module_utils`` that its program imports, in a package of their own."""

from __future__ import annotations

import ast
import functools
import pathlib
import posixpath
import typing as t

from ..plan.render.probe import MODULE, code_directory

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "module_utils"
PACKAGE, _dot, PROGRAM = MODULE.partition(".")


def code_files(service: t.Mapping[str, t.Any]) -> list[dict[str, str]]:
    """``[{path, content, mode}]`` for a planned service; nothing for services that are not the probe."""
    if service["kind"] != "probe":
        return []
    base = posixpath.join(code_directory(service["work_directory"]), PACKAGE)
    return [
        {"path": posixpath.join(base, name), "content": content, "mode": "0640"} for name, content in _sources().items()
    ]


def code_folders(service: t.Mapping[str, t.Any]) -> list[str]:
    """The folders of these files, parents first."""
    below = code_directory(service["work_directory"])
    found = {posixpath.dirname(file["path"]) for file in code_files(service)}
    return sorted({below, posixpath.join(below, PACKAGE), *found}) if found else []


@functools.cache
def _sources() -> dict[str, str]:
    """{path below module_utils: content} of the program and everything that it imports from this collection."""
    found: dict[str, str] = {}
    todo = [PROGRAM.replace(".", "/") + ".py"]
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = (SOURCES / name).read_text(encoding="utf-8")
            todo += _imported(name, found[name])
    return dict(sorted(found.items()))


def _imported(name: str, content: str) -> t.Iterator[str]:
    """Files that relative imports of a file name: modules, or names of a package that are modules."""
    folder = pathlib.PurePosixPath(name).parent
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.ImportFrom) and node.level:
            place = [*folder.parts[: len(folder.parts) - (node.level - 1)], *(node.module or "").split(".")]
            base = pathlib.PurePosixPath(*[part for part in place if part])
            candidates = [base.with_suffix(".py"), *(base / f"{alias.name}.py" for alias in node.names)]
            yield from (str(path) for path in candidates if (SOURCES / path).is_file())
