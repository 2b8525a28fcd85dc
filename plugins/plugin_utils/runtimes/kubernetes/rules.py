# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the kubernetes runtime: objects that the cluster refuses, or accepts although they cannot work."""

from __future__ import annotations

import re
import typing as t

from ....module_utils.kubernetes.names import is_pod
from ...description.findings import Finding, nearest
from ...plan.routers.registry import flavour_of
from ...plan.rules.base import Case, Rule
from .manifest.check import check_manifest
from .manifests import objects

KTHENA_CONNECTORS = ("mooncake", "mooncake_hybrid")
DURATION = re.compile(r"([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+")


def _planned(case: Case) -> bool:
    return case.in_pods


def manifests(case: Case) -> t.Iterator[Finding]:
    """The cluster would not accept an object of the plan."""
    if not _planned(case):
        return
    version = case.context.description.kubernetes.kthena_version
    for manifest in objects(case.context, case.services):
        for found in check_manifest(manifest, version):
            yield Finding.at(found.path, found.value, f"{found.problem} ({found.id}; {found.source})", found.fix)


def engine(case: Case) -> t.Iterator[Finding]:
    """The CPU engine is planned in pods."""
    found = case.context.engine
    if _planned(case) and not found.images:
        yield Finding.at("inference_engine", found.name, f"there is no image of {found.title}")


def instances(case: Case) -> t.Iterator[Finding]:
    """A role has no replicas."""
    if _planned(case):
        for name, pool in case.context.description.pools.present().items():
            if pool.instances < 1:
                yield Finding.at(f"inference_pools.{name}.instances", pool.instances, f"pool {name} has no instances")


def known_roles(case: Case) -> t.Iterator[Finding]:
    """inference_kubernetes.pods names a pool that does not exist."""
    if _planned(case):
        description = case.context.description
        pools = description.pools.present()
        for name in sorted(set(description.kubernetes.pods) - set(pools)):
            hint = f"{nearest(name, pools)}Pools: {', '.join(pools)}."
            yield Finding.at(f"inference_kubernetes.pods.{name}", "", f"unknown pool '{name}'", hint)


def uniform(case: Case) -> t.Iterator[Finding]:
    """A pool has settings for single instances or hosts."""
    if not _planned(case):
        return
    for name, pool in case.context.description.pools.present().items():
        path = f"inference_pools.{name}"
        if pool.load_balancing == "external" and pool.data_parallel_size > 1:
            problem = "external load balancing runs a process for each rank, but a pod runs only one"
            yield Finding.at(f"{path}.load_balancing", "external", problem, "Use internal, or more instances.")
        if pool.hosts:
            problem = f"pool {name} has settings for single hosts, but all pods of a role are equal"
            yield Finding.at(f"{path}.hosts", ", ".join(sorted(pool.hosts)), problem)
        for port in ("api", "kv", "dp_rpc", "hccl", "bootstrap", "llmdatadist"):
            if len(getattr(pool.ports, port)) > 1:
                problem = "a list sets ports for each instance, but all pods of a role are equal"
                yield Finding.at(f"{path}.ports.{port}", list(getattr(pool.ports, port)), problem, "Set one number.")


def workload(case: Case) -> t.Iterator[Finding]:
    """Settings of Kthena are set without Kthena."""
    settings = case.context.description.kubernetes
    if not _planned(case) or not settings.is_native:
        return
    is_set = {
        "groups": settings.groups > 1,
        "serving": bool(settings.serving),
        "recovery_policy": settings.recovery_policy != "RoleRecreate",
        "rollout": bool(settings.rollout),
        "partition": bool(settings.partition),
        "autoscaling": bool(settings.autoscaling.roles),
        "router.mode": settings.router.mode == "kthena_router",
    }
    for name in is_set:
        if is_set[name]:
            yield Finding.at(f"inference_kubernetes.{name}", "", "it is a setting of Kthena, and workload is native")


def autoscaled(case: Case) -> t.Iterator[Finding]:
    """A role cannot be scaled as described."""
    if not _planned(case):
        return
    settings, pools = case.context.description.kubernetes, case.context.description.pools.present()
    roles, path = settings.autoscaling.roles, "inference_kubernetes.autoscaling"
    if roles and settings.kthena_version == "v0.4.0":
        yield Finding.at(path, ", ".join(roles), "Kthena v0.4.0 scales no roles", "Update Kthena.")
    if len(roles) > 2:
        yield Finding.at(f"{path}.roles", ", ".join(roles), "a policy has at most two roles")
    for name in roles:
        place = f"{path}.roles.{name}"
        if name not in pools:
            hint = f"{nearest(name, pools)}Pools: {', '.join(pools)}."
            yield Finding.at(place, "", f"unknown pool '{name}'", hint)
            continue
        least = pools[name].instances // settings.groups
        if roles[name].max < least:
            yield Finding.at(
                f"{place}.max", roles[name].max, f"pool {name} has {least} instances, which are the fewest"
            )
        elif roles[name].max > least and not roles[name].metrics:
            yield Finding.at(f"{place}.metrics", "", "metrics is empty, so nothing says how many instances are needed")


def one_port(case: Case) -> t.Iterator[Finding]:
    """Pools behind kthena-router have different API ports."""
    if _planned(case) and case.context.description.kubernetes.router.mode == "kthena_router":
        pods = [service for service in case.services if service.health and is_pod(service.host)]
        ports = {service.kind: service.port("api").first for service in pods}
        if len(set(ports.values())) > 1:
            listed = ", ".join(f"{kind} {ports[kind]}" for kind in sorted(ports))
            yield Finding.at("inference_pools", listed, f"the pools have different API ports: {listed}")


def recompute(case: Case) -> t.Iterator[Finding]:
    """The recompute scheduler is enabled with kthena-router."""
    if not _planned(case) or case.context.description.kubernetes.router.mode != "kthena_router":
        return
    for service in case.services:
        if any("recompute_scheduler_enable" in argument for argument in service.argv):
            problem = f"{service.name} has recompute_scheduler_enable, but the router is kthena-router"
            yield Finding.at(f"{service.name}.argv", "recompute_scheduler_enable", problem)


def router_timeout(case: Case) -> t.Iterator[Finding]:
    """The timeout of kthena-router is not a duration."""
    router = case.context.description.kubernetes.router
    if _planned(case) and router.mode == "kthena_router" and not DURATION.fullmatch(router.timeout):
        problem = f"'{router.timeout}' is not a duration"
        yield Finding.at("inference_kubernetes.router.timeout", router.timeout, problem)


def connector(case: Case) -> t.Iterator[Finding]:
    """kthena-router does not support the connector."""
    if _planned(case) and case.context.description.kubernetes.router.mode == "kthena_router":
        transfer = case.context.p2p
        if transfer and transfer not in KTHENA_CONNECTORS:
            problem = f"kthena-router does not support the {transfer} connector"
            yield Finding.at("inference_kv_transfer", transfer, problem)


def proxy(case: Case) -> t.Iterator[Finding]:
    """The packaged router has no image."""
    package = flavour_of(case.context).package
    for service in case.services:
        packaged = package and service.kind == "router" and is_pod(service.host)
        if package and packaged and not case.context.description.kubernetes.router.image:
            problem = f"image is not set for the router {package.program}"
            yield Finding.at("inference_kubernetes.router.image", "", problem)


def router_host(case: Case) -> t.Iterator[Finding]:
    """The router has no host."""
    description = case.context.description
    if _planned(case) and description.kubernetes.router.mode == "host":
        router = case.context.router
        if router is None or is_pod(router.name):
            problem = f"the inventory has no hosts in the router's group '{description.router.group}'"
            yield Finding.at("inference_kubernetes.router.mode", "host", problem)


def interface(case: Case) -> t.Iterator[Finding]:
    """The nodes' network interface is not set."""
    description = case.context.description
    if _planned(case) and description.kubernetes.host_network and not description.interface:
        yield Finding.at("inference_interface", "", "inference_interface is not set")


def addresses(case: Case) -> t.Iterator[Finding]:
    """A file of a pod contains the address of its host."""
    for service in case.services:
        if is_pod(service.host):
            for file in service.files:
                if service.address in file.content or file.generated:
                    problem = f"{file.path} contains the address of its host, which is unknown before the pod runs"
                    yield Finding.at(f"{service.name}.files", file.path, problem)


RULES = (
    Rule(
        "K8S-MANIFEST",
        "error",
        "The API server refuses the object, or accepts it and never creates its pods.",
        "Correct inference_kubernetes or the pool.",
        "CRDs and webhooks of Kthena; pod validation of Kubernetes",
        manifests,
    ),
    Rule(
        "K8S-ENGINE",
        "error",
        "The CPU engine is installed on hosts; there is no image of it for a pod.",
        "Use inference_runtime: supervisor for the CPU engine.",
        "design of the runtimes",
        engine,
    ),
    Rule(
        "K8S-INSTANCES",
        "error",
        "A role of a ModelServing without replicas has no pods, so requests that need it fail.",
        "Plan at least one instance, or remove the pool.",
        "Kthena's ModelServing",
        instances,
    ),
    Rule(
        "K8S-ROLE",
        "error",
        "The settings would silently have no effect.",
        "Use the name of a pool of inference_pools.",
        "Kthena's ModelServing",
        known_roles,
    ),
    Rule(
        "K8S-UNIFORM",
        "error",
        "All replicas of a role run one template with one process in a pod, so settings of single instances are lost.",
        "Set it for the whole pool.",
        "Kthena's ModelServing",
        uniform,
    ),
    Rule(
        "K8S-WORKLOAD",
        "error",
        "The setting would silently have no effect.",
        "Remove it, or set inference_kubernetes.workload: kthena.",
        "Kthena's ModelServing",
        workload,
    ),
    Rule(
        "K8S-AUTOSCALING",
        "error",
        "Kthena's webhook refuses the policy, or it never has an effect.",
        "Correct inference_kubernetes.autoscaling.",
        "Kthena's AutoscalingPolicy and its webhook",
        autoscaled,
    ),
    Rule(
        "K8S-ROUTER-PORT",
        "error",
        "kthena-router uses one port for all roles, so it cannot reach pools with another port.",
        "Remove inference_pools.<pool>.ports.api (the roles then go to different nodes), or use router.mode: deployment.",
        "ModelServer.spec.workloadPort of Kthena v1.0.0",
        one_port,
    ),
    Rule(
        "K8S-ROUTER-RECOMPUTE",
        "error",
        "kthena-router does not resend requests that decode returns for recomputation; answers are truncated.",
        "Remove recompute_scheduler_enable, or use router.mode: deployment.",
        "source of kthena-router v1.0.0",
        recompute,
    ),
    Rule(
        "K8S-ROUTER-TIMEOUT",
        "error",
        "The server accepts the value, but kthena-router cannot decode it and then fails to read all ModelServers of the cluster.",
        "Set a number with a unit: 300s, 5m or 150ms.",
        "source of kthena-router v1.0.0",
        router_timeout,
    ),
    Rule(
        "K8S-ROUTER-CONNECTOR",
        "error",
        "kthena-router does not support this connector's protocol between prefill and decode; every request fails.",
        "Use inference_kv_transfer: mooncake, or router.mode: deployment.",
        "ModelServer.spec.kvConnector of Kthena v1.0.0",
        connector,
    ),
    Rule(
        "K8S-ROUTER-IMAGE",
        "error",
        "The engines' image contains vLLM-Ascend's proxies but not routers of other packages, so the router's pod would not start.",
        "Set an image that contains the router.",
        "images of vLLM-Ascend",
        proxy,
    ),
    Rule(
        "K8S-ROUTER-HOST",
        "error",
        "With router.mode host the router runs outside of the cluster and needs a host.",
        "Add a host to the group, or use router.mode: deployment.",
        "design of the runtimes",
        router_host,
    ),
    Rule(
        "K8S-INTERFACE",
        "warning",
        "HCCL and Gloo then select an interface themselves, possibly the wrong one on nodes with several.",
        "Set it to the nodes' interface (ip route | grep default).",
        "the guide of ModelServing with Mooncake",
        interface,
    ),
    Rule(
        "K8S-FILE",
        "error",
        "Files are mounted unchanged, so the address would be wrong.",
        "Use inference_kv_transfer: mooncake on kubernetes.",
        "design of the runtimes",
        addresses,
    ),
)
