# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A deployment's folders on one host, and the files whose content is in the plan: options of the module service_files.

Everything that is executed or trusted is owned by root (or by the connected user without root). A service's user owns the folders
of logs and run state, and the working directory: nothing that a later run as root would follow or execute.
"""

from __future__ import annotations

import posixpath
import typing as t

from .program_code import code_files, code_folders

Plan = t.Mapping[str, t.Any]
Service = t.Mapping[str, t.Any]


def folders(plan: Plan, services: t.Iterable[Service]) -> list[dict[str, t.Any]]:
    """``[{path, service_owned, mode}]``, parents first. Folders shared by deployments are created only if missing."""
    base, planned = plan["directory"], plan["folders"]
    shared = (plan["root"], planned["deployments"], planned["caches"])
    found = [{"path": path, "service_owned": False, "mode": "0755"} for path in shared]
    found += [{"path": posixpath.join(planned["caches"], "vllm"), "service_owned": True, "mode": "0755"}]
    found += [
        {"path": base, "service_owned": False},
        {"path": posixpath.join(base, "services"), "service_owned": False},
    ]
    found += [{"path": planned[name], "service_owned": True} for name in ("logs", "run")]
    for service in services:
        found.append({"path": service["work_directory"], "service_owned": False})
        found.append({"path": service["scratch_directory"], "service_owned": True})
        found += [{"path": path, "service_owned": False} for path in code_folders(service)]
    return found


def files(services: t.Iterable[Service]) -> list[dict[str, t.Any]]:
    """``[{path, content, mode, service}]`` of the files in the plan; a file shared by several services is listed once."""
    found: dict[str, dict[str, t.Any]] = {}
    for service in services:
        own = [
            *service["files"],
            *service.get("members", {}).get("files", ()),
            *service.get("link_watch", {}).get("files", ()),
        ]
        for file in [*own, *code_files(service)]:
            found.setdefault(file["path"], {**_text(file), "service": service["name"]})
    return list(found.values())


def _text(file: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {key: file[key] for key in ("path", "content", "mode")}
