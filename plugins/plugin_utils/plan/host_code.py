# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of ``module_utils`` that run on hosts without Ansible: the source of a module and of everything that it imports from this collection."""

from __future__ import annotations

import ast
import functools
import pathlib
import typing as t

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "module_utils"


@functools.cache
def sources(program: str) -> dict[str, str]:
    """``{path below module_utils: content}``; ``program``: the module below it, such as ``collector.logs``."""
    found: dict[str, str] = {}
    waiting = [f"{program.replace('.', '/')}.py"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = (SOURCES / name).read_text(encoding="utf-8")
            waiting += _imported(name, found[name])
    return dict(sorted(found.items()))


def _imported(name: str, content: str) -> t.Iterator[str]:
    """Files that relative imports of a file name: modules, or names of a package that are modules."""
    folder = pathlib.PurePosixPath(name).parent
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.ImportFrom) and node.level:
            above = folder.parts[: len(folder.parts) - (node.level - 1)]
            base = pathlib.PurePosixPath(*above, *(part for part in (node.module or "").split(".") if part))
            candidates = [base.with_suffix(".py"), *(base / f"{alias.name}.py" for alias in node.names)]
            yield from (str(path) for path in candidates if (SOURCES / path).is_file())
