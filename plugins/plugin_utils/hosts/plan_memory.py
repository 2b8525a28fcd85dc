# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a plan fits into the devices, from the facts that an earlier check wrote: before hosts are contacted again."""

from __future__ import annotations

import json
import typing as t

from ..description.findings import Finding, PlanError
from ..description.values import listed
from ..plan.rules.base import judge
from .model_memory import RULES, memory_lines
from .observed import Observed, Record

VARIABLE = "inference_model_facts"


def plan_memory(plan: Record, path: str, ignored: t.Collection[str] | str = ()) -> list[str]:
    """The memory table of each pool as lines. ``path``: the file that ``check`` wrote (inference_check_json).

    ``ignored`` are ids of accepted checks. Raises ``PlanError`` if an engine cannot start, or if the file has not the facts that
    the table needs.
    """
    case = Observed(plan, read_facts(path))
    lines = memory_lines(case)
    if not lines:
        raise PlanError([_unusable(path, _missing(case))])
    findings = [finding for finding in judge(case, RULES, listed(ignored)) if finding.severity == "error"]
    if findings:
        raise PlanError(findings)
    return ["", *lines]


def read_facts(path: str) -> t.Mapping[str, Record]:
    try:
        with open(path, encoding="utf-8") as stream:
            facts = json.load(stream)["facts"]
    except OSError as error:
        raise PlanError([_unusable(path, f"cannot be read: {error.strerror or error}")]) from error
    except (ValueError, KeyError, TypeError) as error:
        raise PlanError([_unusable(path, "is not a file of the playbook check")]) from error
    return t.cast("t.Mapping[str, Record]", facts)


def _missing(case: Observed) -> str:
    """What the file lacks for the table."""
    path = case.plan["model"]["path"].rstrip("/")
    known = [model for _host, facts in case.gathered("host") for model in facts.get("models") or []]
    if not any(host["name"] in case.facts for host in case.hosts()):
        return f"has none of the planned hosts; it has {', '.join(sorted(case.facts)[:4]) or 'none'}"
    if not any(model["path"].rstrip("/") == path for model in known):
        return f"has no facts of the model {path}; it has {', '.join(sorted({model['path'] for model in known})) or 'none'}"
    if not any((model.get("weights") or {}).get("layers") for model in known):
        return "has no sizes of weights: the model had no safetensors files when it was checked"
    return "has no memory sizes of the planned devices"


def _unusable(path: str, problem: str) -> Finding:
    return Finding(
        VARIABLE,
        "MODEL-FACTS",
        f"the file {problem}",
        f"Run the playbook check with -e inference_check_json={path} and the same inventory.",
        value=path,
        why="The memory table needs sizes of the model and of the devices.",
    )
