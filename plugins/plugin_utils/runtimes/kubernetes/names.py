# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and labels, shared by all Kubernetes objects of a deployment."""

from __future__ import annotations

import typing as t

from ....module_utils.kubernetes.kinds import KINDS
from ....module_utils.kubernetes.names import COMPONENT, PART_OF, SERVING_NAME, SERVING_ROLE, common_labels
from ....module_utils.tools.engine_kinds import ENGINE_KINDS
from ...plan.deployment import Context
from ...plan.service import Service

Manifest = dict[str, t.Any]


def is_engine(service: Service) -> bool:
    """Whether a role runs it."""
    return service.kind in ENGINE_KINDS


def secrets_name(context: Context) -> str:
    """Name of the Secret with the deployment's secrets."""
    return context.description.kubernetes.secrets.existing or f"{context.description.deployment}-secrets"


def labels(context: Context, component: str) -> dict[str, str]:
    """All labels of a component's objects and pods; what selects them has only those of ``chosen``."""
    return common_labels(context.description.deployment, component, context.release.name)


def chosen(context: Context, component: str) -> dict[str, str]:
    """The labels that select a component's pods. A Deployment can never change its own, so none that another tool or release writes."""
    return {COMPONENT: component, PART_OF: context.description.deployment}


def role_labels(context: Context, role: str) -> dict[str, str]:
    """Labels of all pods of a role: Kthena's, or ours."""
    if context.description.kubernetes.is_native:
        return chosen(context, role)
    return {SERVING_NAME: context.description.deployment, SERVING_ROLE: role}


def engine_selector(context: Context) -> Manifest:
    """Selects the pods of all roles."""
    if not context.description.kubernetes.is_native:
        return {"matchLabels": {SERVING_NAME: context.description.deployment}}
    roles = list(context.description.pools.present())
    return {
        "matchLabels": {PART_OF: context.description.deployment},
        "matchExpressions": [{"key": COMPONENT, "operator": "In", "values": roles}],
    }


def object_name(context: Context, component: str) -> str:
    """The name of an object that the deployment has one of for each component."""
    return f"{context.description.deployment}-{component}"


def manifest(context: Context, kind: str, component: str, name: str = "", **rest: t.Any) -> Manifest:
    """An object with its metadata; without a name it has the component's."""
    return {
        "apiVersion": KINDS[kind][0],
        "kind": kind,
        "metadata": {
            "name": name or object_name(context, component),
            "namespace": context.description.kubernetes.namespace,
            "labels": labels(context, component),
        },
        **rest,
    }
