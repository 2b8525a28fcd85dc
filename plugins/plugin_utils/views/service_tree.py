# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A deployment's folders on one host, and the files that the plan has the text of: options of the module service_files.

What is run, read and trusted belongs to root (or to the connected user, where there is no root). A service's user owns the folders
of logs, of the run's marks, and the one in which the service starts: nothing that a later run as root would follow or execute.
"""

from __future__ import annotations

import posixpath
import typing as t

Plan = t.Mapping[str, t.Any]
Service = t.Mapping[str, t.Any]


def folders(plan: Plan, services: t.Iterable[Service]) -> list[dict[str, t.Any]]:
    """``[{path, service_owned, mode}]``, each after its parent. What deployments share is made only where it is missing."""
    root, base = plan["root"], plan["directory"]
    found = [{"path": root, "service_owned": False, "mode": "0755"}]
    found += [
        {"path": posixpath.join(root, name), "service_owned": False, "mode": "0755"}
        for name in ("deployments", "cache")
    ]
    found += [{"path": posixpath.join(root, "cache", "vllm"), "service_owned": True, "mode": "0755"}]
    found += [
        {"path": base, "service_owned": False},
        {"path": posixpath.join(base, "services"), "service_owned": False},
    ]
    found += [{"path": posixpath.join(base, name), "service_owned": True} for name in ("logs", "run")]
    for service in services:
        found.append({"path": service["work_directory"], "service_owned": False})
        found.append({"path": service["scratch_directory"], "service_owned": True})
    return found


def files(services: t.Iterable[Service]) -> list[dict[str, t.Any]]:
    """``[{path, content, mode, service}]`` of what the plan itself has the text of; a file that several share is named once."""
    found: dict[str, dict[str, t.Any]] = {}
    for service in services:
        for file in service["files"]:
            found.setdefault(file["path"], {**_text(file), "service": service["name"]})
    return list(found.values())


def _text(file: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {key: file[key] for key in ("path", "content", "mode")}
