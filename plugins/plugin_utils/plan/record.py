# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each host keeps of the deployed plan: its own part, and the whole plan compressed in the key ``whole``.

``status``, ``remove`` and a start of the services need the part only. ``rollback``, ``upgrade`` and ``plan --diff`` need the whole plan,
also if other hosts are lost, so each host has it. A plan of 1000 hosts and 8,500 services has 47 MB as indented JSON; a host stores 2 MB.
"""

from __future__ import annotations

import base64
import functools
import gzip
import io
import json
import typing as t
import zlib

from .service import digest

Plan = dict[str, t.Any]
OF_A_SERVICE = (
    "name",
    "host",
    "digest",
    "ports",
    "health",
    "start",
    "stop",
)  # what a plan's digest has of each service
WHOLE = "whole"
LIMIT = 256 << 20  # bytes of a plan's JSON without spaces: five times those of 1,000 hosts and 8,500 services


def digest_of(plan: t.Mapping[str, t.Any]) -> str:
    """The digest of a whole plan. A change of what it covers needs another PLAN_VERSION: recorded plans are compared with it."""
    services = [[service[key] for key in OF_A_SERVICE] for service in plan["services"]]
    return digest({**{key: plan[key] for key in plan if key != "digest"}, "services": services})


def record_of(plan: Plan) -> dict[str, t.Any]:
    """What each host stores besides its part: ``whole``, the compressed plan, and ``placement``. Equal plans have equal records."""
    text = json.dumps(plan, sort_keys=True, separators=(",", ":"))
    packed = gzip.compress(text.encode(), compresslevel=6, mtime=0)
    return {WHOLE: base64.b64encode(packed).decode("ascii"), "placement": plan.get("placement") or {}}


def whole_plan(deployed: t.Mapping[str, t.Any]) -> t.Mapping[str, t.Any]:
    """The whole plan of a deployed one; a plan without ``whole`` is complete. Raises ``ValueError`` for a damaged one."""
    text = deployed.get(WHOLE)
    return _expanded(str(text)) if text else deployed


def readable_plan(deployed: t.Mapping[str, t.Any]) -> t.Mapping[str, t.Any]:
    """The whole plan of a deployed one; {} for a damaged one."""
    try:
        return whole_plan(deployed)
    except ValueError:
        return {}


def stored_plan(text: str) -> t.Mapping[str, t.Any]:
    """The whole plan in the text of a host's plan.json; {} if there is none or it is damaged."""
    try:
        found = json.loads(text)
        return whole_plan(found) if isinstance(found, dict) else {}
    except (ValueError, RecursionError):
        return {}


def is_of_others(text: str, hosts: t.AbstractSet[str]) -> bool:
    """Whether a host's plan.json is of a deployment that has none of these hosts, though they say that it is theirs.

    One without a plan is not: a killed run may have begun there.
    """
    try:
        names = {str(host["name"]) for host in stored_plan(text).get("hosts", ())}
    except (AttributeError, KeyError, TypeError):
        return True
    return bool(names and hosts) and not names & hosts


@functools.lru_cache(maxsize=4)  # the hosts of a deployment have the same text
def _expanded(text: str) -> Plan:
    try:
        found: Plan = json.loads(_unpacked(base64.b64decode(text)))
        if not isinstance(found, dict):
            raise ValueError("it is no plan")
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise ValueError(
            f"the deployed plan is damaged: {error}. Fix: run site, which records the plan again."
        ) from error
    return found


def _unpacked(packed: bytes) -> bytes:
    """The content of gzip data. A host can send little that becomes much, so it ends at a limit."""
    with gzip.open(io.BytesIO(packed)) as stream:
        found = stream.read(LIMIT + 1)
    if len(found) > LIMIT:
        raise ValueError(f"it has more than {LIMIT >> 20} MiB")
    return found


def plan_files(part: Plan, record: t.Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    """The files with the plan, as the option ``files`` of the module service_files.

    ``part`` is a host's part of the plan with ``record``, or what a host had stored before, or the whole plan.
    """
    stored = {**part, WHOLE: record[WHOLE]} if record else part
    placement = (record or whole_plan(part)).get("placement") or {}
    contents = {
        "plan.json": json.dumps(stored, indent=1, sort_keys=True, ensure_ascii=False),
        "placement.json": json.dumps(
            placement, sort_keys=True
        ),  # read by the next plan, so that instances keep their places
    }
    return [
        {"path": f"{part['directory']}/{name}", "content": f"{text}\n", "mode": "0640", "private": True}
        for name, text in contents.items()
    ]
