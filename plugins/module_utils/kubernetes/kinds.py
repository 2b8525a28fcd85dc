# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of objects that the modules read and write, and where a server has them."""

from __future__ import annotations

WORKLOAD = "workload.serving.volcano.sh/v1alpha1"
NETWORKING = "networking.serving.volcano.sh/v1alpha1"
REVIEW = "SelfSubjectAccessReview"
RULES = "SelfSubjectRulesReview"
SCHEDULING = "scheduling.volcano.sh/v1beta1"
CRDS = "apiextensions.k8s.io/v1"
# kind: (apiVersion, plural, whether objects belong to a namespace)
KINDS = {
    "ModelRoute": (NETWORKING, "modelroutes", True),
    "ModelServer": (NETWORKING, "modelservers", True),
    "Deployment": ("apps/v1", "deployments", True),
    "Service": ("v1", "services", True),
    "PodDisruptionBudget": ("policy/v1", "poddisruptionbudgets", True),
    "NetworkPolicy": ("networking.k8s.io/v1", "networkpolicies", True),
    "PodMonitor": ("monitoring.coreos.com/v1", "podmonitors", True),
    "ModelServing": (WORKLOAD, "modelservings", True),
    "AutoscalingPolicy": (WORKLOAD, "autoscalingpolicies", True),
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", "leaderworkersets", True),
    "PodGroup": (SCHEDULING, "podgroups", True),
    "Secret": ("v1", "secrets", True),
    "ConfigMap": ("v1", "configmaps", True),
    "Pod": ("v1", "pods", True),
    "Event": ("v1", "events", True),
    "ResourceQuota": ("v1", "resourcequotas", True),
    "Namespace": ("v1", "namespaces", False),
    "Node": ("v1", "nodes", False),
    RULES: ("authorization.k8s.io/v1", "selfsubjectrulesreviews", False),
    REVIEW: ("authorization.k8s.io/v1", "selfsubjectaccessreviews", False),
    "CustomResourceDefinition": (CRDS, "customresourcedefinitions", False),
}
# What a deployment may consist of, in the order in which it may go: configuration last.
OWN = (
    "AutoscalingPolicy",
    "ModelRoute",
    "ModelServer",
    "Deployment",
    "Service",
    "PodDisruptionBudget",
    "PodMonitor",
    "ModelServing",
    "LeaderWorkerSet",
    "NetworkPolicy",
    "Secret",
    "ConfigMap",
)
# Kinds that a cluster has only with Kthena, or with LeaderWorkerSet.
EXTENSIONS = ("ModelServing", "ModelServer", "ModelRoute", "AutoscalingPolicy", "LeaderWorkerSet")
# What a deployment does without in a cluster that does not have the kind.
OPTIONAL = ("PodMonitor",)


def path_of(kind, namespace, name=""):
    """The path of an object, or of all objects of a kind, below the server's URL; without a namespace those of all namespaces."""
    version, plural, namespaced = KINDS[kind]
    parts = ["/apis" if "/" in version else "/api", version]
    if namespaced and namespace:
        parts += ["namespaces", namespace]
    return "/".join(parts + [plural] + ([name] if name else []))
