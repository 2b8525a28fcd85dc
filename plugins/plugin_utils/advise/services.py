# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which services' metrics are read, and from which host."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ANSWERING_KINDS
from ..bench.others import other_services
from ..description.findings import SettingsError
from .evidence import gap

Record = t.Mapping[str, t.Any]


def watched_services(plan: Record) -> dict[str, t.Any]:
    """``{host, services: [{name, kind, url}]}``: engines, then routers and the store. Raises PlanError for a deployment in a cluster."""
    if plan["runtime_facts"]["in_cluster"]:
        problem, fix = "the engines of a cluster are not read by this playbook", "Use the metrics of the cluster."
        raise SettingsError([gap("CLUSTER", "inference_runtime", problem, fix, "Nothing could be measured.")])
    verify = plan["verify"]
    engines = [engine for role in ANSWERING_KINDS for engine in verify.get(role) or ()]
    found = [{"name": engine["name"], "kind": "engine", "url": engine["url"]} for engine in engines]
    return {"host": (verify.get("entry") or engines[0])["host"], "services": [*found, *other_services(plan)]}
