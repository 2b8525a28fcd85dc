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
from .state import engines_of


def applied_digest(engines):
    """The digest of the plan that was applied last, from the objects of the engines; empty if there is none, or several."""
    found = {((thing or {}).get("metadata") or {}).get("annotations", {}).get(PLAN_DIGEST, "") for thing in engines}
    return str(found.pop()) if len(found) == 1 else ""


def rollback_plan(kept, digest):
    """The plan to roll back to: the last verified one that is not the one that was applied last.

    ``kept`` is the ConfigMap of verified plans, None if it is not there; ``digest`` is of the plan that was applied last.
    """
    data = (kept.get("data") or {}) if kept else {}
    for key in ("verified.json", "previous.json"):
        if data.get(key):
            plan = json.loads(data[key])
            if plan.get("digest") == digest:
                continue
            # Plans with stages were made before the router followed the pods by itself.
            if plan.get("plan_version") != PLAN_VERSION or "stages" in plan.get("kubernetes", {}):
                raise KubernetesProblem(
                    f"The last verified plan was made by another version of the collection, whose format (version "
                    f"{plan.get('plan_version', 'none')}) this one does not apply. Fix: run kubernetes_rollback "
                    "with the version of the collection that deployed it; or set "
                    f"inference_release {plan.get('release')} and run site."
                )
            return plan
    raise KubernetesProblem(
        "No verified revision other than the running one exists: a rollback is not possible. "
        "Fix: correct the inventory and run site."
    )


def refuse_other(plan, restored):
    """Raise ``KubernetesProblem`` if a recorded plan is of another deployment than ``plan``.

    Whoever may write ConfigMaps of the namespace decides about the record, and it is applied with the rights of the user.
    """
    keys = ("namespace", "name")
    places = [
        [found.get("deployment"), *(found.get("kubernetes", {}).get(key) for key in keys)] for found in (plan, restored)
    ]
    if places[0] != places[1]:
        raise KubernetesProblem(
            f"The record ConfigMap/{record_name(plan)} has a plan of another deployment: namespace {places[1][1]}, name {places[1][2]}. "
            "Nothing was applied. Fix: find out who wrote it; then correct the inventory and run site."
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
    """The record, None if it is not there, and the digest of the plan that was applied last."""
    return cluster.get("ConfigMap", record_name(plan)), applied_digest(engines_of(cluster, plan).values())


def write(cluster, plan):
    """Record the plan as verified; returns whether that changed the record."""
    kept, digest = read(cluster, plan)
    if cluster.check and not digest:
        return False  # nothing of it runs yet
    if not cluster.check and digest != plan["digest"]:
        raise KubernetesProblem(
            "The cluster runs another plan than the one that is to be recorded as verified. Deploy it first."
        )
    if kept and foreign(plan, [kept]):
        raise KubernetesProblem(f"ConfigMap/{record_name(plan)} was not made by this collection.")
    data = record_verified(kept, plan)
    cluster.apply(record(plan, data))
    return not kept or data != (kept.get("data") or {})
