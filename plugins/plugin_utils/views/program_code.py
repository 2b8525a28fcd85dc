# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The code of our own programs on hosts as files: the service ``probe``, and the watch beside an engine whose links do not come back.

Each has a package of its own with the modules of ``module_utils`` that its program imports.
"""

from __future__ import annotations

import posixpath
import typing as t

from ..plan.host_code import sources
from ..plan.render import links, probe


def code_files(service: t.Mapping[str, t.Any]) -> list[dict[str, str]]:
    """``[{path, content, mode}]`` for a planned service; nothing for one without such a program."""
    package, _dot, program = _module(service).partition(".")
    if not package:
        return []
    base = posixpath.join(service["code_directory"], package)
    return [
        {"path": posixpath.join(base, name), "content": content, "mode": "0640"}
        for name, content in sources(program).items()
    ]


def code_folders(service: t.Mapping[str, t.Any]) -> list[str]:
    """The folders of these files, parents first."""
    package = _module(service).partition(".")[0]
    found = {posixpath.dirname(file["path"]) for file in code_files(service)}
    return (
        sorted({service["code_directory"], posixpath.join(service["code_directory"], package), *found}) if found else []
    )


def _module(service: t.Mapping[str, t.Any]) -> str:
    if service["kind"] == probe.NAME:
        return probe.MODULE
    return links.MODULE if "link_watch" in service else ""
