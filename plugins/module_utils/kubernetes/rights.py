# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user has to be allowed to do, asked of the server before anything else, and the Role that allows it."""

from __future__ import annotations

import json

from ..tools.finding import Finding
from .kinds import KINDS, OPTIONAL, OWN
from .manifests import written

OWNER = ("get", "list", "create", "patch", "delete")
READER = ("get", "list")
READ = ("pods", "pods/log", "events", "resourcequotas")  # without the last three the role tells less


def lacking(cluster, kinds):
    """``{kind: verbs that the user lacks}``; ``kinds`` has the verbs that are needed."""
    found = {kind: [verb for verb in kinds[kind] if not cluster.may(verb, kind)] for kind in kinds}
    return {kind: found[kind] for kind in found if found[kind]}


def missing_rights(cluster, plan):
    """A finding with all rights that are missing to apply the plan, and the Role; empty if there are none."""
    planned = {place.split("/")[0] for place in written(plan)}
    owned = [kind for kind in OWN if kind in planned]
    found = lacking(cluster, dict({kind: OWNER for kind in owned if kind not in OPTIONAL}, Pod=("list",)))
    if not found:
        return []
    texts = ["{} {}".format(", ".join(verbs), KINDS[kind][1]) for kind, verbs in found.items()]
    place = "namespace {}".format(plan["kubernetes"]["namespace"])
    fix = "Ask a cluster administrator to apply this Role and a RoleBinding of the user to it:\n" + role(plan, owned)
    return [Finding(place, "K8S-RIGHTS", "the user may not: {}".format("; ".join(texts)), fix)]


def role(plan, kinds):
    """A Role that is enough, as YAML."""
    head = {"name": "ascend-inference", "namespace": plan["kubernetes"]["namespace"]}
    rules = [(KINDS[kind][0].rpartition("/")[0], [KINDS[kind][1]], OWNER) for kind in kinds] + [("", READ, READER)]
    rules.append(
        ("", ["pods"], ("delete",))
    )  # that an unfinished update has left; without it the run says what to delete
    lines = ["apiVersion: rbac.authorization.k8s.io/v1", "kind: Role", "metadata: " + json.dumps(head), "rules:"]
    for group, resources, verbs in rules:
        lines.append("- " + json.dumps({"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}))
    return "\n".join(lines)
