# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cluster has of a deployment and for it, read in one go."""

from __future__ import annotations

from .capacity import held
from .errors import Refused
from .kinds import EXTENSIONS, KINDS, OPTIONAL, OWN, SCHEDULING, WORKLOAD
from .manifests import written
from .names import SERVING_NAME, address, label, own_labels
from .readiness import has_ended
from .rights import OWNER, lacking
from .workloads import engine_objects, role_of

SERVING_CRD = "modelservings." + WORKLOAD.split("/", 1)[0]
VOLCANO_CRD = "podgroups." + SCHEDULING.split("/", 1)[0]
ROUTER_CRDS = ("modelservers.networking.serving.volcano.sh", "modelroutes.networking.serving.volcano.sh")


class State:
    """Objects as the server returns them; what the user may not read is in ``hidden`` and counts as unknown.

    A user who may not read CRDs, nodes or the namespace may still deploy.
    """

    def __init__(self, cluster, plan):
        self.hidden = set()
        kubernetes = plan["kubernetes"]
        planned = {item["kind"] for item in plan["objects"]}
        self.absent = {kind: _absence(cluster, kind) for kind in OPTIONAL if kind in planned}
        self.absent = {kind: self.absent[kind] for kind in self.absent if self.absent[kind]}
        self.crds = {}
        needed = (SERVING_CRD,) if "ModelServing" in planned else ()
        names = needed + (ROUTER_CRDS if kubernetes["router"]["mode"] == "kthena_router" else ())
        self.lacks_volcano = kubernetes["scheduler"] == "volcano" and not cluster.serves("PodGroup")
        for name in (*names, VOLCANO_CRD):
            self.crds[name] = self._unless_hidden("crds", cluster.get, "CustomResourceDefinition", name)
        self.unserved = {kind for kind in EXTENSIONS if kind in planned and cluster.serves(kind) is False}
        self.namespace = self._unless_hidden("namespace", cluster.get, "Namespace", cluster.namespace)
        self.nodes = self._unless_hidden("nodes", cluster.list, "Node") or []
        self.quotas = self._unless_hidden("quotas", cluster.list, "ResourceQuota") or []
        self.running, self.taken = [pod for pod in deployed_pods(cluster, plan) if not has_ended(pod)], None
        wanted, self.secret = kubernetes["secrets"], None
        if wanted["existing"] and wanted["keys"]:
            self.secret = self._unless_hidden("secret", cluster.get, "Secret", wanted["name"])
        # Whoever made them: what is to be written, by name; the deployment's, by labels.
        self.live = {}
        for kind in OWN:
            for thing in self._unless_hidden(kind, cluster.list, kind, own_labels(plan["deployment"])) or []:
                self.live[address(thing)] = thing
        for place in written(plan):
            kind, dummy, name = place.partition("/")
            thing = None if place in self.live or kind in self.absent else cluster.get(kind, name)
            if thing:
                self.live[place] = thing

    def count_devices(self, cluster, resource):
        """Read what pods of others hold of the nodes' devices; None if the user may not read it."""
        pods = self._unless_hidden("pods of all namespaces", cluster.everywhere, "Pod")
        self.taken = None if pods is None else held(pods, self.running, resource)

    def _unless_hidden(self, what, call, *arguments):
        try:
            return call(*arguments)
        except Refused as error:
            if error.code != 403:
                raise
            self.hidden.add(what)
            return None

    @property
    def is_namespace_missing(self):
        """Whether the namespace is known not to be there."""
        return self.namespace is None and "namespace" not in self.hidden


def _absence(cluster, kind):
    """Why objects of an optional kind are left out; empty if they are not."""
    if not cluster.serves(kind):
        return f"the cluster has no {kind}"
    found = lacking(cluster, {kind: OWNER}).get(kind)
    return "the user may not {} {}".format(", ".join(found), KINDS[kind][1]) if found else ""


def deployed_pods(cluster, plan):
    """All pods of the deployment: of engines of every revision, and of its Deployments; each once, also with the labels of both."""
    selectors = ({SERVING_NAME: plan["kubernetes"]["name"]}, own_labels(plan["deployment"]))
    found = [pod for labels in selectors for pod in cluster.list("Pod", labels)]
    return list({pod["metadata"]["name"]: pod for pod in found}.values())


def pods_of(cluster, plan):
    """The engines' pods, of every revision."""
    roles = plan["kubernetes"]["roles"]
    return [pod for pod in deployed_pods(cluster, plan) if label(pod, SERVING_NAME) or role_of(pod) in roles]


def engines_of(cluster, plan):
    """``{"KIND/NAME": object}`` of what makes the engines' pods; None where there is none."""
    found = {place: cluster.get(*place.split("/")) for place in engine_objects(plan)}
    return {place: dict(found[place], kind=place.split("/")[0]) if found[place] else None for place in found}


def warnings_of(cluster):
    """The namespace's events that are no normal ones; none for a user who may not read them."""
    try:
        return cluster.list("Event", fields="type!=Normal")
    except Refused:
        return []
