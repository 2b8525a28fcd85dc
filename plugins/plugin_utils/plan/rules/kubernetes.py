# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the kubernetes runtime: what the cluster refuses, and what it accepts though nothing can come of it."""

from __future__ import annotations

import re
import typing as t

from ...runtimes.kubernetes.hosts import is_pod
from ...runtimes.kubernetes.manifest.check import check_manifest
from ...runtimes.kubernetes.manifests import objects
from .base import Case, Found, Rule

KTHENA_CONNECTORS = ("mooncake", "mooncake_hybrid")
DURATION = re.compile(r"([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+")


def _planned(case: Case) -> bool:
    return case.context.description.runtime == "kubernetes"


def manifests(case: Case) -> t.Iterator[Found]:
    """Every object of the plan, judged as the server, its webhooks and the kubelet's side would."""
    if not _planned(case):
        return
    version = case.context.description.kubernetes.kthena_version
    for manifest in objects(case.context, case.services):
        for one in check_manifest(manifest, version):
            yield Found(one.path, one.value, f"{one.problem} ({one.id}; {one.source})", one.fix)


def engine(case: Case) -> t.Iterator[Found]:
    """The engine has to come with an image."""
    if _planned(case) and case.context.description.engine == "vllm_cpu":
        yield Found("inference_engine", "vllm_cpu")


def instances(case: Case) -> t.Iterator[Found]:
    """A role without a replica has no pod to describe."""
    if _planned(case):
        for name, pool in case.context.description.pools.present().items():
            if pool.instances < 1:
                yield Found(f"inference_pools.{name}.instances", pool.instances)


def known_roles(case: Case) -> t.Iterator[Found]:
    """Words for a role that there is."""
    if _planned(case):
        words = case.context.description
        for name in sorted(set(words.kubernetes.pods) - set(words.pools.present())):
            yield Found(f"inference_kubernetes.pods.{name}", fix=f"Pools: {', '.join(words.pools.present())}.")


def uniform(case: Case) -> t.Iterator[Found]:
    """All replicas of a role run one template, one process in a pod."""
    if not _planned(case):
        return
    for name, pool in case.context.description.pools.present().items():
        path = f"inference_pools.{name}"
        if pool.load_balancing == "external" and pool.data_parallel_size > 1:
            message = "external load balancing runs a process for each rank; a pod of a role runs one"
            yield Found(f"{path}.load_balancing", "external", message, "Use internal, or more instances.")
        if pool.hosts:
            message = "there are no hosts to name: all pods of a role are equal"
            yield Found(f"{path}.hosts", ", ".join(sorted(pool.hosts)), message, "Say it for the pool.")
        for port in ("api", "kv", "dp_rpc", "hccl", "bootstrap", "llmdatadist"):
            if len(getattr(pool.ports, port)) > 1:
                message = "a list gives each instance its own ports; the pods of a role are equal"
                yield Found(f"{path}.ports.{port}", list(getattr(pool.ports, port)), message, "Give one number.")


def one_port(case: Case) -> t.Iterator[Found]:
    """A ModelServer has one port for prefill and decode."""
    if _planned(case) and case.context.description.kubernetes.router.mode == "kthena_router":
        ports = {one.kind: one.port("api").first for one in case.services if one.health and is_pod(one.host)}
        if len(set(ports.values())) > 1:
            yield Found("inference_pools", ", ".join(f"{kind} {ports[kind]}" for kind in sorted(ports)))


def recompute(case: Case) -> t.Iterator[Found]:
    """A proxy has to send recomputed requests to prefill again; kthena-router does not."""
    words = case.context.description
    if not _planned(case) or words.kubernetes.router.mode != "kthena_router":
        return
    for one in case.services:
        if any("recompute_scheduler_enable" in word for word in one.argv):
            yield Found(f"{one.name}.argv", "recompute_scheduler_enable")


def router_timeout(case: Case) -> t.Iterator[Found]:
    """A timeout that kthena-router can read; the server takes any string."""
    words = case.context.description.kubernetes
    if _planned(case) and words.router.mode == "kthena_router" and not DURATION.fullmatch(words.router.timeout):
        yield Found("inference_kubernetes.router.timeout", words.router.timeout)


def connector(case: Case) -> t.Iterator[Found]:
    """The connectors whose hand-over kthena-router speaks."""
    words = case.context.description
    if _planned(case) and words.kubernetes.router.mode == "kthena_router":
        word = case.context.p2p
        if word and word not in KTHENA_CONNECTORS:
            yield Found("inference_kv_transfer", word)


def proxy(case: Case) -> t.Iterator[Found]:
    """The engines' image holds vLLM-Ascend's proxies, not the packaged router."""
    words = case.context.description
    for one in case.services:
        packaged = one.kind == "router" and is_pod(one.host) and one.argv[0] == "vllm-router"
        if packaged and not words.kubernetes.router.image:
            yield Found("inference_kubernetes.router.image")


def router_host(case: Case) -> t.Iterator[Found]:
    """A router on a host needs a host."""
    words = case.context.description
    if _planned(case) and words.kubernetes.router.mode == "host":
        router = case.context.router
        if router is None or is_pod(router.name):
            yield Found("inference_kubernetes.router.mode", "host")


def interface(case: Case) -> t.Iterator[Found]:
    """Nodes are not in the inventory, so nobody but the user knows their interface."""
    words = case.context.description
    if _planned(case) and words.kubernetes.host_network and not words.interface:
        yield Found("inference_interface")


def addresses(case: Case) -> t.Iterator[Found]:
    """A file is mounted as it is: nothing replaces an address in it."""
    for one in case.services:
        if is_pod(one.host):
            for file in one.files:
                if one.address in file.content or file.generated:
                    yield Found(f"{one.name}.files", file.path)


RULES = (
    Rule(
        "K8S-MANIFEST",
        "error",
        "The cluster would refuse this object, or accept it and never create its pods.",
        "Correct inference_kubernetes or the pool.",
        "CRDs and webhooks of Kthena; pod validation of Kubernetes",
        manifests,
    ),
    Rule(
        "K8S-ENGINE",
        "error",
        "The CPU engine has no image; its plugin for vLLM is installed on hosts.",
        "Use inference_runtime: supervisor for the CPU engine.",
        "design of the runtimes",
        engine,
    ),
    Rule(
        "K8S-INSTANCES",
        "error",
        "A role of a ModelServing needs an instance.",
        "Plan one instance at least, or remove the pool.",
        "Kthena's ModelServing",
        instances,
    ),
    Rule(
        "K8S-ROLE",
        "error",
        "There is no pool of this name.",
        "Name a pool of inference_pools.",
        "Kthena's ModelServing",
        known_roles,
    ),
    Rule(
        "K8S-UNIFORM",
        "error",
        "All replicas of a role are equal.",
        "Say it for the whole pool.",
        "Kthena's ModelServing",
        uniform,
    ),
    Rule(
        "K8S-ROUTER-PORT",
        "error",
        "kthena-router reaches all roles on one port, and these pools have different ones.",
        "Leave inference_pools.<pool>.ports.api out (the roles then go to different nodes), or use router.mode: deployment.",
        "ModelServer.spec.workloadPort of Kthena v1.0.0",
        one_port,
    ),
    Rule(
        "K8S-ROUTER-RECOMPUTE",
        "error",
        "kthena-router does not send a request again that decode gave back to be recomputed.",
        "Drop recompute_scheduler_enable, or use router.mode: deployment.",
        "source of kthena-router v1.0.0",
        recompute,
    ),
    Rule(
        "K8S-ROUTER-TIMEOUT",
        "error",
        "The server accepts this, but kthena-router cannot decode it, and with it no ModelServer of the cluster.",
        "Write number and unit: 300s, 5m or 150ms.",
        "source of kthena-router v1.0.0",
        router_timeout,
    ),
    Rule(
        "K8S-ROUTER-CONNECTOR",
        "error",
        "kthena-router does not speak this connector's hand-over between prefill and decode.",
        "Use inference_kv_transfer: mooncake, or router.mode: deployment.",
        "ModelServer.spec.kvConnector of Kthena v1.0.0",
        connector,
    ),
    Rule(
        "K8S-ROUTER-IMAGE",
        "error",
        "The packaged router is not in the engines' image.",
        "Name an image that has vllm-router.",
        "images of vLLM-Ascend",
        proxy,
    ),
    Rule(
        "K8S-ROUTER-HOST",
        "error",
        "The inventory has no host in the router's group.",
        "Put a host into the group, or use router.mode: deployment.",
        "design of the runtimes",
        router_host,
    ),
    Rule(
        "K8S-INTERFACE",
        "warning",
        "The nodes' network interface is not known, so that HCCL and Gloo choose one themselves.",
        "Set it to the nodes' interface (ip route | grep default).",
        "the guide of ModelServing with Mooncake",
        interface,
    ),
    Rule(
        "K8S-FILE",
        "error",
        "This file depends on its host, which is not known before the pod runs.",
        "Use inference_kv_transfer: mooncake on kubernetes.",
        "design of the runtimes",
        addresses,
    ),
)
