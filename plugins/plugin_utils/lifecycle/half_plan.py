# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a plan for a half of its instances: a router that knows fewer engines, and the section of the verification for them."""

from __future__ import annotations

import json
import shlex
import typing as t

from ...module_utils.tools.engine_kinds import ANSWERING_KINDS
from ..plan.service import base_url

Plan = t.Mapping[str, t.Any]
HOSTS, PORTS = "-hosts", "-ports"


def limited(router: Plan, urls: t.Collection[str]) -> dict[str, t.Any]:
    """A router's service with these engines only. Its digest stays, because its engines are no part of it."""
    members = router["members"]
    files = [{**file, "content": _content(file["path"], file["content"], members, urls)} for file in members["files"]]
    script = next((file["content"] for file in files if file["path"] == members["script"]), "")
    return {
        **router,
        "argv": [*members["argv"], *_arguments(script)],
        "members": {**members, "files": files},
    }


def _content(path: str, content: str, members: Plan, urls: t.Collection[str]) -> str:
    """One of the files with the engines: the script that sets arguments, or the list of those that a program adds."""
    if path == members["script"]:
        listed = "set -- " + shlex.join(kept(_arguments(content), urls))
        return "\n".join(listed if line.startswith("set -- ") else line for line in content.split("\n"))
    found = json.loads(content)
    rows = [row for row in found["members"] if row["url"] in urls]
    return json.dumps({**found, "members": rows}, indent=1) + "\n"


def _arguments(script: str) -> list[str]:
    line = next((line for line in script.split("\n") if line.startswith("set -- ")), "set -- ")
    return shlex.split(line)[2:]


def kept(arguments: t.Sequence[str], urls: t.Collection[str]) -> list[str]:
    """The options that list engines, with these engines only: URLs, or two lists of hosts and ports, paired by position."""
    groups: list[list[str]] = []
    for argument in arguments:
        if argument.startswith("--"):
            groups.append([argument])
        elif groups:
            groups[-1].append(argument)
    lists = {group[0]: group[1:] for group in groups}
    found: list[str] = []
    for option, *values in groups:
        if option.endswith((HOSTS, PORTS)):
            name = option[: -len(HOSTS)]
            pairs = zip(lists.get(name + HOSTS, ()), lists.get(name + PORTS, ()), strict=True)
            stay = [base_url(host, int(port)) in urls for host, port in pairs]
            left = [value for value, stays in zip(values, stay, strict=True) if stays]
        else:
            left = [value for value in values if value in urls]
        found += [option, *left] if left else []
    return found


def of_half(plan: Plan, names: t.Collection[str]) -> dict[str, t.Any]:
    """The section ``verify`` of the plan for these engines, asked through the first of these routers."""
    section = plan["verify"]
    entry = next(router for router in section["routers"] if router["name"] in names)
    service = next(service for service in plan["services"] if service["name"] == entry["name"])
    found = {key: value for key, value in section.items() if key != "routers"}
    for role in ANSWERING_KINDS:
        found[role] = [engine for engine in section[role] if engine["name"] in names]
    found["entry"] = {**entry, "kind": "router"}
    if section.get("engine_api_key") and not service["secret_env"]:
        found["entry"]["api_key"] = section["engine_api_key"]
    return found
