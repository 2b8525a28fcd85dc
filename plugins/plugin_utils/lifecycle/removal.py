# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which plan the removal goes by on one host."""

from __future__ import annotations

import json
import posixpath
import typing as t

from ...module_utils.status.plan import PLAN_VERSION

Plan = dict[str, t.Any]


def removal_plan(text: str, directory: str, todays: Plan) -> Plan:
    """The deployed plan if there is one that belongs into ``directory``, else the inventory's; ``{}`` if there is neither.

    ``text``: that of plan.json, empty without one. ``ValueError`` for a plan that another folder has.
    """
    plan = _decoded(text)
    if not plan or plan.get("plan_version") != PLAN_VERSION:
        return todays
    place = posixpath.join(str(plan.get("root")), "deployments", str(plan.get("deployment")))
    if directory not in (place, plan.get("directory")) or place != plan.get("directory"):
        raise ValueError(
            f"{directory}/plan.json is about {plan.get('directory')}, so it does not say what was made here. Nothing was removed. "
            "Fix: move the file away and run deploy or remove again."
        )
    return plan


def _decoded(text: str) -> Plan:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
