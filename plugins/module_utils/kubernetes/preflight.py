# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a plan from being applied, as far as reading shows; every finding at once."""

from __future__ import annotations

from ..tools.finding import Finding
from .capacity import crd_version, node_shortage
from .kinds import WORKLOAD
from .manifests import written
from .names import COMPONENT, address, label
from .ownership import foreign, is_managed
from .pod_security import pod_security
from .quota import quota_shortage
from .state import SERVING_CRD
from .workloads import engine_objects, makes_engines

VERSIONS = ("", "v0.4.0", "v1.0.0", "main")  # that a CRD can be recognized as, oldest first
LWS = (
    "Install it: kubectl apply --server-side -f "
    "https://github.com/kubernetes-sigs/lws/releases/latest/download/manifests.yaml; "
    "or plan instances of one node, or set inference_kubernetes.workload: kthena."
)


def problems(plan, state, options, secrets):
    """Findings; ``options`` has ``adopt``, ``check_nodes`` and ``create_namespace``."""
    found = _existing_secret(plan, state) if plan["kubernetes"]["secrets"]["existing"] else _secrets(plan, secrets)
    if SERVING_CRD in state.crds:
        found += _kthena(plan, state)
    if "LeaderWorkerSet" in state.unserved:
        problem = "an instance over several nodes is one, and the cluster does not have the kind"
        found.append(Finding("LeaderWorkerSet", "K8S-LWS", problem, LWS))
    found += _other_engines(plan, state)
    if state.is_namespace_missing and not options["create_namespace"]:
        name = plan["kubernetes"]["namespace"]
        fix = f"Run kubectl create namespace {name}, or set kthena_create_namespace."
        found.append(Finding(f"namespace {name}", "K8S-NAMESPACE", "the cluster does not have it", fix))
    found += pod_security(plan, state.namespace)
    if options["check_nodes"]:
        found += node_shortage(plan, state.nodes, state.taken)
    found += quota_shortage(plan, state.quotas, state.running)
    found += _leaving(plan, state)
    if not options["adopt"]:
        found += foreign(plan, list(state.live.values()))
    return found


def _leaving(plan, state):
    """What somebody has deleted and is still there, also the namespace or a kind: an apply is accepted, and it goes all the same."""
    around = [item for item in (state.namespace, *state.crds.values()) if item]
    planned = around + [state.live[place] for place in sorted(written(plan)) if place in state.live]
    fix = "Run site again when it is gone. What holds it: the finalizers that kubectl get -o yaml shows."
    return [
        Finding(address(thing), "K8S-LEAVING", "it is being removed", fix)
        for thing in planned
        if thing["metadata"].get("deletionTimestamp")
    ]


def _other_engines(plan, state):
    """Engines that another kind of object makes: they hold the devices that the planned ones wait for."""
    roles, planned = plan["kubernetes"]["roles"], engine_objects(plan)
    mine = {place: state.live[place] for place in state.live if is_managed(plan, state.live[place])}
    left = [
        place
        for place, thing in mine.items()
        if makes_engines(plan, thing)
        and place not in planned
        and (thing["kind"] == "ModelServing" or label(thing, COMPONENT) in roles)  # another role may just go
    ]
    problem = "the deployment's engines are of this kind, and the plan has another: {}".format(", ".join(planned))
    fix = "Run remove first, or plan the other kind under another inference_deployment."
    why = "Old and new engines would wait for each other's devices."
    return [Finding(place, "K8S-WORKLOAD", problem, fix, why=why) for place in left]


def report(found):
    """Findings as numbered lines."""
    lines = [f"{number}. {finding.text()}" for number, finding in enumerate(found, 1)]
    return "\n".join(["The plan cannot be applied to this cluster. Nothing was changed.", *lines])


def _secrets(plan, secrets):
    missing = [key for key in plan["kubernetes"]["secrets"]["keys"] if key not in secrets]
    why, fix = "Pods read it from a Secret.", "Set it in inference_secrets (kthena_secrets of the role)."
    return [
        Finding(f"secret {key}", "K8S-SECRET", "the plan refers to it, and it has no value", fix, why=why)
        for key in missing
    ]


def _existing_secret(plan, state):
    wanted = plan["kubernetes"]["secrets"]
    if "secret" in state.hidden:
        return []
    has = (state.secret or {}).get("data") or {}
    where, why = "in namespace {}".format(plan["kubernetes"]["namespace"]), "Pods that refer to it do not start."
    missing = [key for key in wanted["keys"] if not has.get(key)]  # an empty key would let everybody in
    if not missing:
        return []
    problem = (
        f"it does not exist {where}" if state.secret is None else "it lacks a value of {}".format(", ".join(missing))
    )
    fix = "Create it with the keys {}, or correct inference_kubernetes.secrets.existing.".format(
        ", ".join(wanted["keys"])
    )
    return [Finding("Secret/{}".format(wanted["name"]), "K8S-SECRET", problem, fix, why=why)]


def _kthena(plan, state):
    """By discovery, which every user may read, and by the CRD where the user may read it."""
    wanted, crd, version = plan["kubernetes"]["kthena_version"], state.crds[SERVING_CRD], WORKLOAD.split("/")[1]
    if crd:
        served = [item["name"] for item in crd["spec"]["versions"] if item.get("served", True)]
        if version not in served:
            problem = f"the cluster serves it as {', '.join(served) or 'nothing'}, and the plan is for {version}"
            return [Finding(f"CRD {SERVING_CRD}", "K8S-KTHENA", problem, f"Install a Kthena that serves {version}.")]
    elif "ModelServing" in state.unserved:
        fix = (
            "Install Kthena: helm install kthena oci://ghcr.io/volcano-sh/charts/kthena "
            f"--version {VERSIONS[2] if wanted == 'main' else wanted} --namespace kthena-system --create-namespace"
        )
        return [Finding(f"CRD {SERVING_CRD}", "K8S-KTHENA", "the cluster does not have it", fix)]
    found, has = [], crd_version(crd) if crd else wanted
    if VERSIONS.index(has) < VERSIONS.index(wanted):
        problem = f"the plan is for it, and the cluster's CRD is of {has or 'a version before v0.4.0'}"
        fix = "Set inference_kubernetes.kthena_version to the cluster's version, or update Kthena."
        found.append(Finding("inference_kubernetes.kthena_version", "K8S-KTHENA", problem, fix, value=wanted))
    if {"ModelServer", "ModelRoute"} & state.unserved:
        problem = "the cluster has no CRDs of networking.serving.volcano.sh"
        fix = "Install Kthena with --set networking.enabled=true, or use another router.mode."
        found.append(Finding("inference_kubernetes.router.mode", "K8S-KTHENA", problem, fix, value="kthena_router"))
    if "AutoscalingPolicy" in state.unserved:
        problem, fix = "the cluster does not have the kind AutoscalingPolicy", "Update Kthena, or remove the roles."
        found.append(Finding("inference_kubernetes.autoscaling.roles", "K8S-KTHENA", problem, fix))
    return found
