# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The code of the service ``probe`` as files: the modules of ``module_utils`` that its program imports, in a package of their own."""

from __future__ import annotations

import posixpath
import typing as t

from ..plan.host_code import sources
from ..plan.render.probe import MODULE, code_directory

PACKAGE, _dot, PROGRAM = MODULE.partition(".")


def code_files(service: t.Mapping[str, t.Any]) -> list[dict[str, str]]:
    """``[{path, content, mode}]`` for a planned service; nothing for services that are not the probe."""
    if service["kind"] != "probe":
        return []
    base = posixpath.join(code_directory(service["work_directory"]), PACKAGE)
    return [
        {"path": posixpath.join(base, name), "content": content, "mode": "0640"}
        for name, content in sources(PROGRAM).items()
    ]


def code_folders(service: t.Mapping[str, t.Any]) -> list[str]:
    """The folders of these files, parents first."""
    below = code_directory(service["work_directory"])
    found = {posixpath.dirname(file["path"]) for file in code_files(service)}
    return sorted({below, posixpath.join(below, PACKAGE), *found}) if found else []
