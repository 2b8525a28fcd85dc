# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of values in inference_kubernetes that the planner replaces, or that have to agree with other variables."""

from __future__ import annotations

import posixpath
import typing as t

from ...description.findings import Finding
from ...plan.rules.base import Case, Rules

RULES = Rules()
VENDOR = "huawei.com/"


@RULES.rule(
    "K8S-NPUS",
    "Remove it: the planner asks for the devices that the pool's sizes need. Another name of the resource is inference_kubernetes.resource.",
    "design of the planner: NPUs of a container are those of its engine",
)
def npus(case: Case) -> t.Iterator[Finding]:
    """Requests or limits of engine containers name another number of NPUs than their engines have, or another kind.

    The planner replaces the number. Of another kind no node has any beside its own, so the pods wait forever.
    """
    settings = case.context.description.kubernetes
    for view in case.engine_views if case.in_pods else ():
        planned = {settings.resource: str(len(view.service.devices))}
        for part in ("limits", "requests"):
            own = getattr(settings.pods.get(view.kind), part, {})
            for name, amount in getattr(settings.of_role(view.kind), part).items():
                if name.startswith(VENDOR) and str(amount) != planned.get(name):
                    place = f"inference_kubernetes.{f'pods.{view.kind}.' if name in own else ''}{part}.{name}"
                    problem = (
                        f"pool {view.kind} gets {planned[settings.resource]} of {settings.resource} from its sizes"
                    )
                    yield Finding.at(place, amount, problem)


@RULES.rule(
    "K8S-MODEL-PATH",
    "Set it to a folder above inference_model.path, or remove it: the default is the folder that has the model.",
    "design of the runtime: the folder of the node or claim is mounted under the same path",
)
def model_path(case: Case) -> t.Iterator[Finding]:
    """inference_kubernetes.model_path is not the model's path or a folder above it.

    Pods see the folder under its own path, so engines do not find the model, or search it on a hub.
    """
    description = case.context.description
    root, pools = description.kubernetes.model_path.rstrip("/"), description.pools.present().values()
    mounted = [root, *(mount.path.rstrip("/") for mount in description.kubernetes.mounts)]
    models = dict.fromkeys([description.model.path, *(pool.model for pool in pools if pool.model)])
    for model in models if case.in_pods and root else ():
        plain = posixpath.normpath(model)
        if not any(plain == folder or plain.startswith(f"{folder}/") for folder in mounted):
            problem = f"pods mount {root}, and the model is {model}"
            yield Finding.at("inference_kubernetes.model_path", root, problem)
