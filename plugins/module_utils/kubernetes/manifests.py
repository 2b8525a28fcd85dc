# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects that a plan has, and those that are made of it: the Secret, the record of verified plans, pods for a dry run."""

from __future__ import annotations

import base64
import copy

from .names import (
    PLAN_DIGEST,
    SERVING_GROUP,
    SERVING_NAME,
    SERVING_ROLE,
    SERVING_ROLE_ID,
    address,
    common_labels,
)
from .workloads import makes_engines, templates


def objects(plan):
    """The plan's objects in apply order; those of the engines carry the plan's digest, which tells what was applied last."""
    found = copy.deepcopy(plan["objects"])
    for item in found:
        if makes_engines(plan, item):
            item["metadata"].setdefault("annotations", {})[PLAN_DIGEST] = plan["digest"]
    return found


def _beside(plan, kind, name, component, data):
    head = {
        "name": name,
        "namespace": plan["kubernetes"]["namespace"],
        "labels": common_labels(plan["deployment"], component, plan["release"]),
    }
    return {"apiVersion": "v1", "kind": kind, "metadata": head, "data": data}


def secret(plan, values):
    """The Secret with the values that the plan refers to, as a list of one; of none if there are none, or if it is made elsewhere."""
    if not writes_secret(plan):
        return []
    wanted = plan["kubernetes"]["secrets"]
    data = {key: base64.b64encode(str(values[key]).encode("utf-8")).decode("ascii") for key in wanted["keys"]}
    return [_beside(plan, "Secret", wanted["name"], "secrets", data)]


def writes_secret(plan):
    """Whether the deployment has a Secret of its own."""
    wanted = plan["kubernetes"]["secrets"]
    return bool(wanted["keys"]) and not wanted["existing"]


def record_name(plan):
    """The ConfigMap that holds the verified plans."""
    return "{}-verified".format(plan["kubernetes"]["name"])


def record(plan, data):
    """The ConfigMap that holds the verified plans."""
    return _beside(plan, "ConfigMap", record_name(plan), "verified", data)


def written(plan):
    """``KIND/NAME`` of every object that is ever written for the plan."""
    found = [address(item) for item in plan["objects"]] + [f"ConfigMap/{record_name(plan)}"]
    return found + ["Secret/{}".format(plan["kubernetes"]["secrets"]["name"])] * writes_secret(plan)


def pods(plan):
    """A pod for each template of the plan, as a controller will ask for it: the server refuses it to the controller only."""
    kubernetes, found = plan["kubernetes"], []
    for item in plan["objects"]:
        for role, part, template, dummy in templates(item):
            words, labels, spec = [item["metadata"]["name"], part], {}, template["spec"]
            if item["kind"] == "ModelServing":
                words.insert(1, role)
                labels = _serving_labels(kubernetes, role)
                spec = dict({"schedulerName": kubernetes["scheduler"]}, **spec)
            name = "-".join(word for word in words if word)[:57]
            found.append(_pod(kubernetes, f"{name}-check", labels, template, spec))
    return found


def _serving_labels(kubernetes, role):
    return {
        SERVING_NAME: kubernetes["name"],
        SERVING_ROLE: role,
        SERVING_GROUP: "{}-0".format(kubernetes["name"]),
        SERVING_ROLE_ID: f"{role}-0",
    }


def _pod(kubernetes, name, labels, template, spec):
    own = template.get("metadata", {})
    head = {
        "name": name,
        "namespace": kubernetes["namespace"],
        "labels": dict(labels, **own.get("labels", {})),
        "annotations": dict(own.get("annotations", {})),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": copy.deepcopy(spec)}
