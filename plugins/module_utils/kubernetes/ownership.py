# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects of a namespace are the deployment's: only those that carry its labels."""

from __future__ import annotations

from ..tools.finding import Finding
from .kinds import OWN
from .manifests import written
from .names import address, label, natural, own_labels


def is_managed(plan, thing):
    """Whether an object carries the deployment's labels."""
    return all(label(thing, key) == value for key, value in own_labels(plan["deployment"]).items())


def foreign(plan, live):
    """Findings about objects that would be written and that something else made."""
    planned = written(plan)
    theirs = sorted(address(item) for item in live if address(item) in planned and not is_managed(plan, item))
    problem = f"the object exists in {plan['kubernetes']['namespace']} and was not made by this role"
    fix = "Choose another inference_deployment, or set kthena_adopt to take the objects over."
    why = "Applying the plan would overwrite it."
    return [Finding(name, "K8S-FOREIGN", problem, fix, why=why) for name in theirs]


def stale(plan, live, keep=True):
    """Objects of the deployment that the plan does not have (any more), in the order in which they may go.

    With ``keep`` the Secret and the record of verified plans stay; without it everything of the deployment goes. What a controller
    has made, with labels that it copies, goes with its owner; what is being removed waits for its finalizers only.
    """
    kept = set()
    if keep:
        kept = {*written(plan), "Secret/{}".format(plan["kubernetes"]["secrets"]["name"])}
    mine = [item for item in live if is_managed(plan, item) and address(item) not in kept and item["kind"] in OWN]
    mine = [item for item in mine if not {"ownerReferences", "deletionTimestamp"} & set(item["metadata"])]
    return sorted(mine, key=lambda item: (OWN.index(item["kind"]), natural(item["metadata"]["name"])))
