# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Annotations of pod templates that the plan cannot know: with which secrets pods start, and when they were asked to start again.

A changed one rolls the pods, as a changed image does. Both are kept from what is live, so that nothing rolls that did not change.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os

from .errors import KubernetesProblem
from .manifests import secret
from .names import address
from .ownership import is_managed
from .workloads import templates

SECRETS = "ascend.inference/secrets"
RESTARTED = "ascend.inference/restarted"
SALT = "mark-key"  # of the Secret: without it nobody who reads pods can try values against their annotation


def salted(plan, values, live):
    """``(the Secret as a list, its mark, whether running pods have other values)``; the mark is empty while it needs none.

    A Secret that has the same values and no salt, as one by an older version of the collection, gets none.
    """
    found = secret(plan, values)
    if not found:
        return [], "", False
    before = (live.get(address(found[0])) or {}).get("data") or {}
    data, salt = found[0]["data"], before.get(SALT)
    is_same = {key: value for key, value in before.items() if key != SALT} == data
    if is_same and not salt:
        return found, "", False
    key = base64.b64decode(salt) if salt else os.urandom(32)
    mark = hmac.new(key, json.dumps(data, sort_keys=True).encode("utf-8"), hashlib.sha256).hexdigest()[:16]
    data[SALT] = base64.b64encode(key).decode("ascii")
    return found, mark, bool(before) and not is_same


def stamped(plan, things, live, mark, begin, restarted):
    """The objects, changed: ``mark`` in templates that read the Secret, and the time ``begin`` in those of roles that are ``restarted``, else the live one."""
    name = plan["kubernetes"]["secrets"]["name"]
    for thing in things:
        before = live.get(address(thing))
        if before and thing["kind"] == "Deployment" and is_managed(plan, before):
            thing["spec"]["selector"] = before["spec"]["selector"]  # nobody can change it
        ours = templates(before) if before and is_managed(plan, before) else ()
        known = {place[:2]: _annotations(place[2]).get(RESTARTED) for place in ours}
        for role, part, template, dummy in templates(thing):
            found = {SECRETS: mark if _reads(template, name) else "", RESTARTED: known.get((role, part))}
            if role in restarted:
                found[RESTARTED] = begin
            found = {key: found[key] for key in found if found[key]}
            if found:
                template["metadata"] = dict(
                    template.get("metadata") or {}, annotations=dict(_annotations(template), **found)
                )
    return things


def parts_of(plan, services):
    """The roles and Deployments of services by their names; of all that run in pods without any name."""
    kinds = {item["name"]: item["kind"] for item in plan["services"]}
    parts = {name: kinds[name] if kinds[name] in plan["kubernetes"]["roles"] else name for name in kinds}
    known = {role for thing in plan["objects"] for role, *dummy in templates(thing)}
    found = {parts.get(name, name) for name in services or parts}
    if services and found - known:
        raise KubernetesProblem(
            "No pods run {}. Nothing was restarted. Fix: correct inference_services.".format(
                ", ".join(sorted(found - known))
            )
        )
    return found & known


def _annotations(template):
    return (template.get("metadata") or {}).get("annotations") or {}


def _reads(template, name):
    variables = [each for item in template["spec"].get("containers") or [] for each in item.get("env") or []]
    return any(((each.get("valueFrom") or {}).get("secretKeyRef") or {}).get("name") == name for each in variables)
