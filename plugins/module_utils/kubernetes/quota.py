# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the namespace's quotas have room for the plan."""

from __future__ import annotations

from ..tools.finding import Finding
from .quantity import is_quantity, quantity
from .workloads import planned_templates

WHY = "The controller gets no more pods, reports no event, and the deployment waits until its timeout."
FIX = "Raise the quota, or plan fewer or smaller instances."


def quota_shortage(plan, quotas, running):
    """Findings about what the planned pods need beyond the pods of the deployment that run; quotas with scopes are not judged."""
    needed, held = planned(plan), total([(pod["spec"], 1) for pod in running])
    return [
        Finding(place, "K8S-QUOTA", f"the plan needs {more}, and {free}", FIX, why=WHY)
        for place, more, free in _lacking(quotas, needed, held)
    ]


def update_shortage(place, deployment, quotas, running):
    """The same about the pod that an update of a Deployment starts before an old one goes, unless others are leaving."""
    spec, leaving = deployment["spec"], [pod for pod in running if pod["metadata"].get("deletionTimestamp")]
    rolling = (spec.get("strategy") or {}).get("rollingUpdate") or {}
    if rolling.get("maxSurge") == 0 or _may_go(rolling.get("maxUnavailable", "25%"), spec.get("replicas", 1)):
        return []
    fix = f"Raise the quota by what a pod of {place} needs, at least for the update."
    why = "A new pod starts before an old one goes, so the update would never begin."
    needed = total([(spec["template"]["spec"], 1)])
    return [
        Finding(
            quota, "K8S-QUOTA", f"the update of {place} needs {more}, and {free}; nothing was applied", fix, why=why
        )
        for quota, more, free in _lacking(quotas, needed, total([(pod["spec"], 1) for pod in leaving]))
    ]


def _may_go(number, replicas):
    """How many pods may go before a new one serves; a share is rounded down, as the server does."""
    return replicas * int(number[:-1]) // 100 if isinstance(number, str) else number


def _lacking(quotas, needed, held):
    for item in quotas:
        spec, used = item["spec"], (item.get("status") or {}).get("used") or {}
        if spec.get("scopes") or spec.get("scopeSelector"):
            continue
        for key, hard in sorted((spec.get("hard") or {}).items()):
            name = key if "." in key else f"requests.{key}"  # cpu is short for requests.cpu
            name = "pods" if key in ("pods", "count/pods") else name
            more = needed.get(name, 0) - held.get(name, 0)
            free = quantity(hard) - (quantity(used[key]) if is_quantity(used.get(key)) else held.get(name, 0))
            if more > 0 and more > free:
                place = "ResourceQuota/{}".format(item["metadata"]["name"])
                yield place, f"{shown(more)} more {key}", f"{shown(free)} of {hard} are free"


def planned(plan):
    """``{"requests.cpu": amount, "pods": number}`` of all planned pods."""
    return total([(template["spec"], count) for dummy, part, template, count in planned_templates(plan)])


def total(pods):
    """What pods, as (specification, number), count for; a limit without a request is its request."""
    found = {}
    for spec, count in pods:
        found["pods"] = found.get("pods", 0) + count
        for container in spec["containers"]:
            resources = container.get("resources") or {}
            limits = resources.get("limits") or {}
            amounts = {"limits": limits, "requests": dict(limits, **(resources.get("requests") or {}))}
            for kind in amounts:
                for name in amounts[kind]:
                    key = f"{kind}.{name}"
                    found[key] = found.get(key, 0) + quantity(amounts[kind][name]) * count
    return found


def shown(amount):
    """An amount for people."""
    gibibytes = float(amount) / 2**30
    return f"{gibibytes:g}Gi" if abs(gibibytes) >= 1 else f"{float(amount):g}"
