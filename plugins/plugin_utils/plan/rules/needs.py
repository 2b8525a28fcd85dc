# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of settings that do nothing here: what each needs of a deployment, and variables that are written without a value."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...description.findings import Finding
from ...description.values import canonical
from ...description.variables import PREFIX
from .base import Case, Rules
from .engine_view import DERIVED, KV

RULES = Rules()


@dataclass(frozen=True)
class Need:
    """What settings need: ``there`` says whether a deployment has it; ``record`` holds the ``names``, "" for variables themselves."""

    record: str
    names: tuple[str, ...]
    there: t.Callable[[Case], bool]
    lacks: str
    fix: str


def _mode(case: Case) -> str:
    """The mode of the cluster's router; empty where another need says that there is no cluster."""
    return case.context.description.kubernetes.router.mode if case.in_pods else ""


# Options of the planner, which a null leaves out.
OMITTED = {
    *DERIVED,
    KV,
    "ec-transfer-config",
    "enable-expert-parallel",
    "host",
    "served-model-name",
    "shutdown-timeout",
}
NEEDS = (
    Need(
        "router",
        ("balancer_bind", "balancer_port", "balancer_status_port"),
        lambda case: case.context.balanced,
        "there is no balancer",
        "Set inference_router.balancer: haproxy",
    ),
    Need(
        "router",
        ("virtual_interface", "virtual_router_id"),
        lambda case: bool(case.context.description.router.virtual_address),
        "there is no virtual address",
        "Set inference_router.virtual_address",
    ),
    Need(
        "router",
        ("args", "bind", "env", "policy", "port"),
        lambda case: case.context.description.router.flavour != "none",
        "inference_router.flavour is none, so there is no router",
        "Leave the flavour out",
    ),
    Need(
        "container",
        ("mounts", "read_only", "shm_size", "user"),
        lambda case: case.context.contained and not case.in_pods,
        "inference_runtime {runtime} starts no containers on hosts",
        "Set inference_runtime: docker",
    ),
    Need(
        "container",
        ("os",),
        lambda case: case.context.contained,
        "inference_runtime {runtime} uses no image",
        "Set inference_runtime: docker",
    ),
    Need(
        "",
        ("kubernetes",),
        lambda case: case.in_pods,
        "inference_runtime is {runtime}",
        "Set inference_runtime: kubernetes",
    ),
    Need(
        "kubernetes.router",
        (
            *("host_network", "image", "limits", "node_port", "node_selector", "replicas", "requests", "run_as_root"),
            "service_type",
        ),
        lambda case: _mode(case) in ("", "deployment"),
        "the router's mode is {mode}",
        "Set inference_kubernetes.router.mode: deployment",
    ),
    Need(
        "kubernetes.router",
        ("retries", "timeout"),
        lambda case: _mode(case) in ("", "kthena_router"),
        "the router's mode is {mode}",
        "Set inference_kubernetes.router.mode: kthena_router",
    ),
    Need(
        "kubernetes.router",
        ("url",),
        lambda case: _mode(case) in ("", "kthena_router", "none"),
        "the router's mode is {mode}",
        "Set inference_kubernetes.router.mode: kthena_router, or none,",
    ),
    Need(
        "",
        ("tasks_max", "user"),
        lambda case: case.context.runtime.own_user,
        "the runtime is {runtime}",
        "Set inference_runtime: docker or systemd",
    ),
    Need(
        "",
        ("cann_path", "link"),
        lambda case: case.npu,
        "the engine is {engine}, which uses no NPUs",
        "Leave inference_engine out",
    ),
    Need(
        "",
        ("hardware",),
        lambda case: case.npu or case.context.description.hardware == "cpu",
        "the engine is {engine}, which uses no NPUs",
        "Leave inference_engine out",
    ),
    Need(
        "",
        ("release", "releases"),
        lambda case: case.context.description.release.startswith(case.context.engine.release_prefix),
        "the engine is {engine}, which is no vLLM-Ascend",
        "Set inference_engine_version, the version of its vLLM,",
    ),
    Need(
        "",
        ("kv_hold_timeout",),
        lambda case: case.disaggregated and bool(case.context.p2p),
        "no prefill engine keeps KV blocks for decode",
        "Plan prefill and decode with a transfer between them",
    ),
    Need(
        "firewall",
        ("backend", "clients", "cluster", "monitoring", "spared"),
        lambda case: case.context.description.firewall.state != "unmanaged",
        "inference_firewall.state is unmanaged",
        "Set inference_firewall.state: present",
    ),
    Need(
        "probe",
        ("interval", "port", "stalled_after", "textfile_directory", "timeout"),
        lambda case: case.context.description.probe.enabled,
        "the probe is not enabled",
        "Set inference_probe.enabled: true",
    ),
    Need(
        "verify",
        ("ca_file", "server_name"),
        lambda case: case.context.description.router.frontend != "none" or case.in_pods,
        "the entry has no TLS without a frontend",
        "Set inference_router.frontend: haproxy",
    ),
)


@RULES.rule(
    "SETTING-UNUSED",
    "Otherwise remove it.",
    "design of the planner: the parts of a deployment that read the setting",
    "warning",
)
def unused(case: Case) -> t.Iterator[Finding]:
    """A setting is of a part that this deployment does not have.

    Nothing reads it, so the deployment is not what the setting says.
    """
    description = case.context.description
    words = {"runtime": description.runtime, "engine": description.engine, "mode": _mode(case)}
    for need in NEEDS:
        names = [name for name in need.names if case.sets(need.record, name)]
        if names and not need.there(case):
            start = f"{PREFIX}{need.record}." if need.record else PREFIX
            listed = ", ".join(names if need.record else [PREFIX + name for name in names])
            problem = f"{listed} {'is' if len(names) == 1 else 'are'} set, but {need.lacks.format(**words)}"
            yield Finding.at(start + names[0], "", problem, f"{need.fix} if the setting is meant.")


@RULES.rule(
    "VALUE-EMPTY",
    "Write a value behind the colon, or remove the line.",
    "YAML 1.2: a key without a value is null",
    "warning",
)
def empty(case: Case) -> t.Iterator[Finding]:
    """A variable is written without a value.

    Its default is taken, which may be another value than the one that was to follow.
    """
    for place in case.empty:
        yield Finding.at(place, "", f"{place.rpartition('.')[2]} has no value")
    wide = case.context.description.args if not case.context.description.recipe else {}
    for key in sorted(wide):
        if wide[key] is None and canonical(key) not in OMITTED:
            yield Finding.at(f"inference_args.{key}", "", f"{key} has no value")
