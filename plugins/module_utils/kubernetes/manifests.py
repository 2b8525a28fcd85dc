# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects that a plan has, and those that are made of it: the Secret, the record of verified plans, pods for a dry run."""

from __future__ import annotations

import base64
import copy

from .names import (
    COMPONENT,
    MANAGED_BY,
    MANAGER,
    PART_OF,
    PLAN_DIGEST,
    SERVING_GROUP,
    SERVING_NAME,
    SERVING_ROLE,
    SERVING_ROLE_ID,
    address,
)


def staged(plan, stage):
    """The plan's objects of one stage: ``before``, ``engines`` or ``after``."""
    by_name = {address(item): item for item in plan["objects"]}
    return [_marked(plan, by_name[name]) for name in plan["kubernetes"]["stages"][stage]]


def _marked(plan, manifest):
    """The start scripts carry the plan's digest: they are applied first, so they tell which plan was tried last."""
    result = copy.deepcopy(manifest)
    if address(manifest) == "ConfigMap/{}".format(plan["kubernetes"]["scripts"]):
        result["metadata"].setdefault("annotations", {})[PLAN_DIGEST] = plan["digest"]
    return result


def own_labels(plan):
    """The labels of everything that belongs to the deployment."""
    return {MANAGED_BY: MANAGER, PART_OF: plan["deployment"]}


def _beside(plan, kind, name, component, data):
    head = {
        "name": name,
        "namespace": plan["kubernetes"]["namespace"],
        "labels": dict(own_labels(plan), **{COMPONENT: component}),
    }
    return {"apiVersion": "v1", "kind": kind, "metadata": head, "data": data}


def secret(plan, values):
    """The Secret with the values that the plan refers to, as a list of one, or of none if it refers to none."""
    wanted = plan["kubernetes"]["secrets"]
    if not wanted["keys"]:
        return []
    data = {key: base64.b64encode(str(values[key]).encode("utf-8")).decode("ascii") for key in wanted["keys"]}
    return [_beside(plan, "Secret", wanted["name"], "secrets", data)]


def record_name(plan):
    """The ConfigMap that holds the verified plans."""
    return "{}-verified".format(plan["kubernetes"]["name"])


def record(plan, data):
    """The ConfigMap that holds the verified plans."""
    return _beside(plan, "ConfigMap", record_name(plan), "verified", data)


def written(plan):
    """``{"KIND/NAME": (kind, name)}`` of every object that is ever written for the plan."""
    found = [(item["kind"], item["metadata"]["name"]) for item in plan["objects"]]
    found.append(("ConfigMap", record_name(plan)))
    if plan["kubernetes"]["secrets"]["keys"]:
        found.append(("Secret", plan["kubernetes"]["secrets"]["name"]))
    return {f"{kind}/{name}": (kind, name) for kind, name in found}


def pods(plan):
    """A pod for each template of the plan, as a controller will ask for it: the server refuses it to the controller only."""
    kubernetes, found = plan["kubernetes"], []
    for serving in staged(plan, "engines"):
        for role in serving["spec"]["template"]["roles"]:
            for key in ("entryTemplate", "workerTemplate"):
                if key in role:
                    found.append(_engine(kubernetes, role, key))
    for item in plan["objects"]:
        if item["kind"] == "Deployment":
            template = item["spec"]["template"]
            name = "{}-check".format(item["metadata"]["name"][:57])
            found.append(_pod(kubernetes, name, {}, template, template["spec"]))
    return found


def _engine(kubernetes, role, key):
    name = "{}-{}-{}-check".format(kubernetes["name"], role["name"], key[:-8].lower())[:63]
    labels = {
        SERVING_NAME: kubernetes["name"],
        SERVING_ROLE: role["name"],
        SERVING_GROUP: "{}-0".format(kubernetes["name"]),
        SERVING_ROLE_ID: "{}-0".format(role["name"]),
    }
    spec = dict({"schedulerName": kubernetes["scheduler"]}, **role[key]["spec"])
    return _pod(kubernetes, name, labels, role[key], spec)


def _pod(kubernetes, name, labels, template, spec):
    own = template.get("metadata", {})
    head = {
        "name": name,
        "namespace": kubernetes["namespace"],
        "labels": dict(labels, **own.get("labels", {})),
        "annotations": dict(own.get("annotations", {})),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": copy.deepcopy(spec)}
