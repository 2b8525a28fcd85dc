# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of verified plans: the last one and the one before, in a ConfigMap of the deployment."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re

from ..status.plan import PLAN_VERSION
from ..tools import foreign_file
from ..tools.engine_kinds import ANSWERING_KINDS
from .errors import KubernetesProblem
from .kinds import OWN
from .manifests import record, record_name
from .names import digest_of
from .ownership import foreign
from .state import engines_of

REPAIR = "Fix: find out who wrote it; then correct the inventory and run site."
DECIDING = ("an entry or a router", "secrets", "addresses of engines")
PLACEHOLDER = re.compile(r"http://[a-z0-9-]+\.pod:[0-9]{1,5}\Z")
KEPT = 50  # digests


def applied_digest(engines):
    """The digest of the plan that was applied last, from the objects of the engines; empty if there is none, or several."""
    found = {digest_of(thing) for thing in engines}
    return found.pop() if len(found) == 1 else ""


def rollback_plan(kept, digest):
    """The plan to roll back to: the last verified one that is not the one that was applied last.

    ``kept`` is the ConfigMap of verified plans, None if it is not there; ``digest`` is of the plan that was applied last.
    """
    data = (kept.get("data") or {}) if kept else {}
    for key in ("verified.json", "previous.json"):
        if data.get(key):
            plan = _parsed(key, data[key])
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


def _parsed(key, text):
    try:
        plan = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise KubernetesProblem(f"{key} of the record of verified plans is not JSON: {error}. {REPAIR}") from error
    if not isinstance(plan, dict) or not isinstance(plan.get("kubernetes", {}), dict):
        raise KubernetesProblem(f"{key} of the record of verified plans is no plan. {REPAIR}")
    return plan


def proven(plan, restored, known):
    """The warning for a recorded plan that is applied though this machine cannot know whether it is as it was; "" if it is.

    ``known`` has the digests that this machine has recorded, None if it has recorded no plan of the deployment. Raises
    ``KubernetesProblem`` if it has recorded others, or if the plan would send requests and secrets elsewhere than ``plan`` does.
    """
    name = record_name(plan)
    if known is not None:
        if fingerprint(restored) in known:
            return ""
        raise KubernetesProblem(
            f"ConfigMap/{name} has a plan that this machine has not recorded: it was changed since, or recorded from another machine or by an "
            "older version. Nothing was applied. Fix: find out who wrote it (kubectl get configmap "
            f"{name} -o yaml --show-managed-fields). If another machine did, run kubernetes_rollback there; else correct the inventory and run site."
        )
    for title, mine, theirs in zip(DECIDING, _deciding(plan), _deciding(restored)):
        if mine != theirs:
            raise KubernetesProblem(
                f"The plan in ConfigMap/{name} has {title} other than the inventory's, and this machine did not record it, so another user may have "
                "changed it to be sent requests or secrets. Nothing was applied. Fix: find out who wrote it (kubectl get configmap "
                f"{name} -o yaml --show-managed-fields); if it is right, give the inventory the same settings and run kubernetes_rollback again."
            )
    if not _well_formed(plan, restored):
        raise KubernetesProblem(
            f"ConfigMap/{name} has a plan with objects that no plan has. Nothing was applied. {REPAIR}"
        )
    return (
        f"This machine has recorded no verified plan of {plan['deployment']}, so it cannot know whether ConfigMap/{name} was changed since. "
        "Whoever may write it decides what the pods run."
    )


def _deciding(plan):
    """What decides where requests and the values of secrets are sent, for each of ``DECIDING``."""
    check = plan.get("verify")
    check = check if isinstance(check, dict) else {}
    kubernetes = plan.get("kubernetes", {})
    engines = [_is_placeholder(engine) for kind in ANSWERING_KINDS for engine in check.get(kind) or ()]
    return [
        [check.get("entry"), kubernetes.get("router")],
        [check.get("engine_api_key"), kubernetes.get("secrets")],
        [all(engines)],
    ]


def _is_placeholder(engine):
    """Whether the address of an engine is filled in from the cluster's pods, and not given by the plan."""
    url = engine.get("url") if isinstance(engine, dict) else None
    return isinstance(url, str) and bool(PLACEHOLDER.match(url))


def _well_formed(plan, restored):
    """Whether the objects are of kinds and in the namespace of a deployment."""
    found = restored.get("objects")
    heads = (
        [item.get("metadata") if isinstance(item, dict) else None for item in found]
        if isinstance(found, list)
        else [None]
    )
    return all(isinstance(head, dict) and isinstance(head.get("name"), str) for head in heads) and all(
        item.get("kind") in OWN and item["metadata"].get("namespace") in (None, plan["kubernetes"]["namespace"])
        for item in found
    )


def fingerprint(plan):
    """SHA-256 over the whole plan as it is recorded; its own digest is only what it says of itself."""
    return hashlib.sha256(_text(plan).encode("utf-8")).hexdigest()


def _text(plan):
    return json.dumps(plan, sort_keys=True, separators=(",", ":"))


def known_path(directory, plan):
    """The file with the digests that a machine has recorded for a deployment."""
    return os.path.join(directory, "{}_{}.json".format(plan["kubernetes"]["namespace"], plan["kubernetes"]["name"]))


def known_digests(directory, plan):
    """The digests that this machine has recorded; None if there is no such file. A damaged file knows none."""
    try:
        found = json.loads(foreign_file.read(known_path(directory, plan)))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        return []
    return [value for value in found if isinstance(value, str)] if isinstance(found, list) else []


def note_digest(directory, plan):
    """Keep the digest of a plan that this machine records; the newest ``KEPT`` stay."""
    mine = fingerprint(plan)
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        known = [value for value in known_digests(directory, plan) or [] if value != mine]
        foreign_file.write(known_path(directory, plan), json.dumps([*known, mine][-KEPT:]) + "\n")
    except OSError as error:
        raise KubernetesProblem(
            f"The digest of the verified plan cannot be kept in {directory}: {error.strerror}. Nothing was recorded, because a rollback would refuse "
            "it. Fix: make the folder (below ANSIBLE_HOME) writable, and run verify."
        ) from error


def record_verified(kept, plan):
    """The ConfigMap's new ``data`` once ``plan`` is verified: it, and the one that was verified before."""
    data = dict(kept.get("data") or {}) if kept else {}
    before = next(iter(recorded_digests({"data": {"verified.json": data.get("verified.json", "")}})), None)
    if before == plan["digest"]:
        return data
    fresh = {"verified.json": _text(plan)}
    if before:
        fresh["previous.json"] = data["verified.json"]
    return fresh


def last_verified(kept):
    """The last verified plan of the record, which anybody with the right to write ConfigMaps can have written; {} without one."""
    text = ((kept or {}).get("data") or {}).get("verified.json")
    return _parsed("verified.json", text) if text else {}


def recorded_digests(kept):
    """The digests of the plans in the record, of those that can be read."""
    found = []
    for key in ("verified.json", "previous.json"):
        with contextlib.suppress(KubernetesProblem):
            found.append(_parsed(key, ((kept or {}).get("data") or {}).get(key, "")).get("digest"))
    return found


def read(cluster, plan):
    """The record, None if it is not there, and the digest of the plan that was applied last."""
    return cluster.get("ConfigMap", record_name(plan)), applied_digest(engines_of(cluster, plan).values())


def write(cluster, plan, adopt=False):
    """Record the plan as verified; returns whether that changed the record. ``adopt``: also in a ConfigMap of others."""
    kept, digest = read(cluster, plan)
    if cluster.check and not digest:
        return False  # nothing of it runs yet
    if not cluster.check and digest != plan["digest"]:
        raise KubernetesProblem(
            "The cluster runs another plan than the one that is to be recorded as verified. Deploy it first."
        )
    is_foreign = bool(kept and foreign(plan, [kept]))
    if is_foreign and not adopt:
        raise KubernetesProblem(
            f"ConfigMap/{record_name(plan)} was not made by this collection, so the plan was not recorded. "
            "Choose another inference_deployment, or set kthena_adopt to take it over."
        )
    data = record_verified(kept, plan)
    if kept and not is_foreign and data == (kept.get("data") or {}):
        return False
    cluster.apply(record(plan, data), force=is_foreign or None)
    return not kept or data != (kept.get("data") or {})
