# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of verified plans: the last one and the one before, in a ConfigMap of the deployment."""

from __future__ import annotations

import json

from ..status.plan import PLAN_VERSION
from .errors import KubernetesProblem
from .manifests import record, record_name
from .names import PLAN_DIGEST
from .ownership import foreign


def applied_digest(scripts):
    """The digest of the plan that was applied last, from the start scripts' ConfigMap; empty if there is none."""
    annotations = (scripts["metadata"].get("annotations") or {}) if scripts else {}
    return str(annotations.get(PLAN_DIGEST, ""))


def rollback_plan(kept, scripts):
    """The plan to roll back to: the last verified one that is not the one that was applied last.

    ``kept`` is the ConfigMap of verified plans, ``scripts`` that of the start scripts, each None if it is not there.
    """
    data = (kept.get("data") or {}) if kept else {}
    for key in ("verified.json", "previous.json"):
        if data.get(key):
            plan = json.loads(data[key])
            if plan.get("digest") == applied_digest(scripts):
                continue
            if plan.get("plan_version") != PLAN_VERSION:
                raise KubernetesProblem(
                    f"The last verified plan has version {plan.get('plan_version', 'none')}, this collection applies version "
                    f"{PLAN_VERSION}. Fix: run kubernetes_rollback with the version of the collection that deployed it; or set "
                    f"inference_release {plan.get('release')} and run site."
                )
            return plan
    raise KubernetesProblem(
        "No verified revision other than the running one exists: a rollback is not possible. "
        "Fix: correct the inventory and run site."
    )


def record_verified(kept, plan):
    """The ConfigMap's new ``data`` once ``plan`` is verified: it, and the one that was verified before."""
    data = dict(kept.get("data") or {}) if kept else {}
    before = json.loads(data["verified.json"]).get("digest") if data.get("verified.json") else None
    if before == plan["digest"]:
        return data
    fresh = {"verified.json": json.dumps(plan, sort_keys=True, separators=(",", ":"))}
    if before:
        fresh["previous.json"] = data["verified.json"]
    return fresh


def read(cluster, plan):
    """The record and the start scripts of the plan's deployment; each None if it is not there."""
    return cluster.get("ConfigMap", record_name(plan)), cluster.get("ConfigMap", plan["kubernetes"]["scripts"])


def write(cluster, plan):
    """Record the plan as verified; returns whether that changed the record."""
    kept, scripts = read(cluster, plan)
    if cluster.check and not scripts:
        return False  # nothing of it runs yet
    if not cluster.check and applied_digest(scripts) != plan["digest"]:
        raise KubernetesProblem(
            "The cluster runs another plan than the one that is to be recorded as verified. Deploy it first."
        )
    if kept and foreign(plan, [kept]):
        raise KubernetesProblem(f"ConfigMap/{record_name(plan)} was not made by this collection.")
    data = record_verified(kept, plan)
    cluster.apply(record(plan, data))
    return not kept or data != (kept.get("data") or {})
