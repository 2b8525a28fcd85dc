# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the kubernetes runtime: objects that the cluster refuses, or accepts although they cannot work."""

from __future__ import annotations

import dataclasses
import functools
import re
import typing as t

from ....module_utils.kubernetes.names import is_pod
from ...description.findings import Finding, nearest
from ...plan.routers.registry import flavour_of
from ...plan.rules.base import Case, Check, Rules
from .manifest.check import check_manifest
from .manifests import objects

KTHENA_CONNECTORS = ("mooncake", "mooncake_hybrid")
DURATION = re.compile(r"([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+")

RULES = Rules()


def rule(*words: str, router: str = "") -> t.Callable[[Check], Check]:
    """Register a rule of engines in pods, or of a mode of their router; otherwise it has no violations."""

    def decorate(check: Check) -> Check:
        @functools.wraps(check)
        def in_pods(case: Case) -> t.Iterable[Finding]:
            is_meant = router in ("", case.context.description.kubernetes.router.mode)
            return check(case) if case.in_pods and is_meant else ()

        return RULES.rule(*words)(in_pods)

    return decorate


@rule(
    "K8S-MANIFEST",
    "Correct inference_kubernetes or the pool.",
    "CRDs and webhooks of Kthena; pod validation of Kubernetes",
)
def manifests(case: Case) -> t.Iterator[Finding]:
    """The cluster would not accept an object of the plan.

    The API server refuses the object, or accepts it and never creates its pods.
    """
    version = case.context.description.kubernetes.kthena_version
    for manifest in objects(case.context, case.services):
        for found in check_manifest(manifest, version):
            path = _variable(case, found) or found.path
            yield Finding.at(path, found.value, f"{found.problem} ({found.id}; {found.source})", found.fix)


def _variable(case: Case, found: Finding) -> str:
    """The variable that a value of a manifest comes from: the only one with this value and key, or this value; empty if unclear.

    Of an unknown field, the only one whose path ends like its path.
    """
    alike, stack = [], [("inference_kubernetes", dataclasses.asdict(case.context.description.kubernetes))]
    end, router = re.findall(r"\w+", found.path)[-2:], "router" in found.path
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            stack += [(f"{path}.{key}", value[key]) for key in value]
            alike += [f"{path}.{key}" for key in value if found.value == repr(key)]
        elif isinstance(value, (list, tuple)):
            stack += [(f"{path}[{index}]", item) for index, item in enumerate(value)]
        elif value not in ("", None) and found.value in (value, repr(value)):
            alike.append(path)
        if found.id == "K8S-FIELD" and re.findall(r"\w+", path)[-1:] == end[-1:]:
            alike.append(path)
    named = [path for path in alike if re.findall(r"\w+", path)[-2:] == end and ("router" in path) == router]
    likely = named or (alike if not found.value or len(found.value) > len("'9'") else [])
    return likely[0] if len(likely) == 1 else ""


@rule(
    "K8S-NODE-PORT",
    "Set a port from 30000 to 32767, or 0 for one that the cluster chooses. Accept this rule if the cluster has another range.",
    "kube-apiserver --service-node-port-range",
)
def node_port(case: Case) -> t.Iterator[Finding]:
    """The Service's port on the nodes is outside of the range of a cluster.

    The API server refuses the Service, so clients reach no router.
    """
    router = case.context.description.kubernetes.router
    if router.service_type != "ClusterIP" and router.node_port and not 30000 <= router.node_port <= 32767:
        problem = f"port {router.node_port} is not one of a Service on nodes"
        yield Finding.at("inference_kubernetes.router.node_port", router.node_port, problem)


@rule("K8S-ENGINE", "Use inference_runtime: supervisor for the CPU engine.", "design of the runtimes")
def engine(case: Case) -> t.Iterator[Finding]:
    """The CPU engine is planned in pods.

    The CPU engine is installed on hosts; there is no image of it for a pod.
    """
    found = case.context.engine
    if not found.images:
        yield Finding.at("inference_engine", found.name, f"there is no image of {found.title}")


@rule("K8S-INSTANCES", "Plan at least one instance, or remove the pool.", "Kthena's ModelServing")
def instances(case: Case) -> t.Iterator[Finding]:
    """A role has no replicas.

    A role of a ModelServing without replicas has no pods, so requests that need it fail.
    """
    for name, pool in case.context.description.pools.present().items():
        if pool.instances < 1:
            yield Finding.at(f"inference_pools.{name}.instances", pool.instances, f"pool {name} has no instances")


@rule("K8S-ROLE", "Use the name of a pool of inference_pools.", "Kthena's ModelServing")
def known_roles(case: Case) -> t.Iterator[Finding]:
    """inference_kubernetes.pods names a pool that does not exist.

    The settings would silently have no effect.
    """
    description = case.context.description
    pools = description.pools.present()
    for name in sorted(set(description.kubernetes.pods) - set(pools)):
        hint = f"{nearest(name, pools)}Pools: {', '.join(pools)}."
        yield Finding.at(f"inference_kubernetes.pods.{name}", "", f"unknown pool '{name}'", hint)


@rule("K8S-UNIFORM", "Set it for the whole pool.", "Kthena's ModelServing")
def uniform(case: Case) -> t.Iterator[Finding]:
    """A pool has settings for single instances or hosts.

    All replicas of a role run one template with one process in a pod, so settings of single instances are lost.
    """
    for name, pool in case.context.description.pools.present().items():
        path = f"inference_pools.{name}"
        if pool.load_balancing == "external" and pool.data_parallel_size > 1:
            problem = "external load balancing runs a process for each rank, but a pod runs only one"
            yield Finding.at(f"{path}.load_balancing", "external", problem, "Use internal, or more instances.")
        if pool.hosts:
            problem = f"pool {name} has settings for single hosts, but all pods of a role are equal"
            yield Finding.at(f"{path}.hosts", ", ".join(sorted(pool.hosts)), problem)
        if pool.ranks:
            problem = f"pool {name} has settings for single ranks, but a pod runs all ranks of a replica in one process"
            yield Finding.at(f"{path}.ranks", ", ".join(sorted(pool.ranks)), problem)
        for port in ("api", "kv", "dp_rpc", "hccl", "bootstrap", "llmdatadist"):
            if len(getattr(pool.ports, port)) > 1:
                problem = "a list sets ports for each instance, but all pods of a role are equal"
                yield Finding.at(f"{path}.ports.{port}", list(getattr(pool.ports, port)), problem, "Set one number.")


@rule("K8S-WORKLOAD", "Remove it, or set inference_kubernetes.workload: kthena.", "Kthena's ModelServing")
def workload(case: Case) -> t.Iterator[Finding]:
    """Settings of Kthena are set without Kthena.

    The setting would silently have no effect.
    """
    settings = case.context.description.kubernetes
    if not settings.is_native:
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


@rule("K8S-AUTOSCALING", "Correct inference_kubernetes.autoscaling.", "Kthena's AutoscalingPolicy and its webhook")
def autoscaled(case: Case) -> t.Iterator[Finding]:
    """A role cannot be scaled as described.

    Kthena's webhook refuses the policy, or it never has an effect.
    """
    settings, pools = case.context.description.kubernetes, case.context.description.pools.present()
    roles, path = settings.autoscaling.roles, "inference_kubernetes.autoscaling"
    if roles and settings.kthena_version == "v0.4.0":
        problem = "Kthena v0.4.0 scales roles by a kind of its own, AutoscalingPolicyBinding, which is not written here"
        yield Finding.at(path, ", ".join(roles), problem, "Update Kthena.")
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


@rule(
    "K8S-ROUTER-PORT",
    "Remove inference_pools.<pool>.ports.api (the roles then go to different nodes), or use router.mode: deployment.",
    "ModelServer.spec.workloadPort of Kthena v1.0.0",
    router="kthena_router",
)
def one_port(case: Case) -> t.Iterator[Finding]:
    """Pools behind kthena-router have different API ports.

    kthena-router uses one port for all roles, so it cannot reach pools with another port.
    """
    pods = [service for service in case.services if service.health and is_pod(service.host)]
    ports = {service.kind: service.port("api").first for service in pods}
    if len(set(ports.values())) > 1:
        listed = ", ".join(f"{kind} {ports[kind]}" for kind in sorted(ports))
        yield Finding.at("inference_pools", listed, f"the pools have different API ports: {listed}")


@rule(
    "K8S-ROUTER-RECOMPUTE",
    "Remove recompute_scheduler_enable, or use router.mode: deployment.",
    "source of kthena-router v1.0.0",
    router="kthena_router",
)
def recompute(case: Case) -> t.Iterator[Finding]:
    """The recompute scheduler is enabled with kthena-router.

    kthena-router does not resend requests that decode returns for recomputation; answers are truncated.
    """
    for service in case.services:
        if any("recompute_scheduler_enable" in argument for argument in service.argv):
            problem = f"{service.name} has recompute_scheduler_enable, but the router is kthena-router"
            yield Finding.at(f"{service.name}.argv", "recompute_scheduler_enable", problem)


@rule(
    "K8S-ROUTER-TIMEOUT",
    "Set a number with a unit: 300s, 5m or 150ms.",
    "source of kthena-router v1.0.0",
    router="kthena_router",
)
def router_timeout(case: Case) -> t.Iterator[Finding]:
    """The timeout of kthena-router is not a duration.

    The server accepts the value, but kthena-router cannot decode it and then fails to read all ModelServers of the cluster.
    """
    timeout = case.context.description.kubernetes.router.timeout
    if not DURATION.fullmatch(timeout):
        yield Finding.at("inference_kubernetes.router.timeout", timeout, f"'{timeout}' is not a duration")


@rule(
    "K8S-ROUTER-CONNECTOR",
    "Use inference_kv_transfer: mooncake, or router.mode: deployment.",
    "ModelServer.spec.kvConnector of Kthena v1.0.0",
    router="kthena_router",
)
def connector(case: Case) -> t.Iterator[Finding]:
    """kthena-router does not support the connector.

    kthena-router does not support this connector's protocol between prefill and decode; every request fails.
    """
    transfer = case.context.p2p
    if transfer and transfer not in KTHENA_CONNECTORS:
        problem = f"kthena-router does not support the {transfer} connector"
        yield Finding.at("inference_kv_transfer", transfer, problem)


@rule("K8S-ROUTER-IMAGE", "Set an image that contains the router.", "images of vLLM-Ascend")
def proxy(case: Case) -> t.Iterator[Finding]:
    """The packaged router has no image.

    The engines' image contains vLLM-Ascend's proxies but not routers of other packages, so the router's pod would not start.
    """
    package = flavour_of(case.context).package
    in_pod = any(service.kind == "router" and is_pod(service.host) for service in case.services)
    if package and in_pod and not case.context.description.kubernetes.router.image:
        problem = f"image is not set for the router {package.program}"
        yield Finding.at("inference_kubernetes.router.image", "", problem)


@rule("K8S-ROUTER-HOST", "Add a host to the group, or use router.mode: deployment.", "design of the runtimes")
def router_host(case: Case) -> t.Iterator[Finding]:
    """The router has no host.

    With router.mode host the router runs outside of the cluster and needs a host.
    """
    description = case.context.description
    if description.kubernetes.router.mode == "host":
        router = case.context.router
        if router is None or is_pod(router.name):
            problem = f"the inventory has no hosts in the router's group '{description.router.group}'"
            yield Finding.at("inference_kubernetes.router.mode", "host", problem)


@rule(
    "K8S-INTERFACE",
    "Set it to the nodes' interface (ip route | grep default).",
    "the guide of ModelServing with Mooncake",
    "warning",
)
def interface(case: Case) -> t.Iterator[Finding]:
    """The nodes' network interface is not set.

    HCCL and Gloo then select an interface themselves, possibly the wrong one on nodes with several.
    """
    description = case.context.description
    if description.kubernetes.host_network and not description.interface:
        yield Finding.at("inference_interface", "", "inference_interface is not set")


@rule("K8S-FILE", "Use inference_kv_transfer: mooncake on kubernetes.", "design of the runtimes")
def addresses(case: Case) -> t.Iterator[Finding]:
    """A file of a pod contains the address of its host.

    Files are mounted unchanged, so the address would be wrong.
    """
    for service in case.services:
        if is_pod(service.host):
            for file in service.files:
                if service.address in file.content or file.generated:
                    problem = f"{file.path} contains the address of its host, which is unknown before the pod runs"
                    yield Finding.at(f"{service.name}.files", file.path, problem)
