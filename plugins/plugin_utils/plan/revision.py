# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The revision of a plan: what decides whether an engine of one plan may exchange KV cache with one of another.

Engines of different revisions are never paired: a decode engine would read the blocks of prefill with another layout, or of another
model. Nothing checks this at run time (vLLM-Ascend's Mooncake connectors send no version), so the text would be wrong.
"""

from __future__ import annotations

import json
import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from .service import digest

Plan = t.Mapping[str, t.Any]
Service = t.Mapping[str, t.Any]

BEFORE_ROUTERS = ("frontend", "balancer", "address_program")  # programs of the distribution, on which no engine depends
# Software that other names have as well (``files``, ``frontend``, ``balancer``, ``venv``); plans of earlier versions lack these names.
LISTED = ("logger", "frontend_program", "balancer_program", "interpreter")
LISTED_OF_ENGINE = ("interpreter",)
LISTED_OF_MOONCAKE = ("built",)
# Options of vllm serve that change neither the content nor the layout of KV cache: what is scheduled, answered and logged.
NEUTRAL_OPTIONS = frozenset(
    [
        "allow-credentials",
        "allowed-headers",
        "allowed-methods",
        "allowed-origins",
        "api-server-count",
        "async-scheduling",
        "chat-template",
        "disable-log-requests",
        "disable-log-stats",
        "disable-uvicorn-access-log",
        "enable-auto-tool-choice",
        "enable-chunked-prefill",
        "enable-log-outputs",
        "enable-log-requests",
        "enable-prefix-caching",
        "enable-server-load-tracking",
        "gpu-memory-utilization",
        "h11-max-header-count",
        "kv-cache-memory-bytes",
        "long-prefill-token-threshold",
        "max-log-len",
        "max-long-partial-prefills",
        "max-num-batched-tokens",
        "max-num-partial-prefills",
        "max-num-seqs",
        "middleware",
        "num-gpu-blocks-override",
        "port",
        "reasoning-parser",
        "response-role",
        "return-tokens-as-token-ids",
        "scheduling-policy",
        "shutdown-timeout",
        "tool-call-parser",
        "tool-parser-plugin",
        "uvicorn-log-level",
    ]
)
NEUTRAL_ENVIRONMENT = frozenset(
    [
        "ASCEND_GLOBAL_EVENT_ENABLE",
        "ASCEND_GLOBAL_LOG_LEVEL",
        "ASCEND_PROCESS_LOG_PATH",
        "ASCEND_SLOG_PRINT_TO_STDOUT",
        "GLOG_v",
        "HCCL_ENTRY_LOG_ENABLE",
        "MC_LOG_LEVEL",
        "OMP_NUM_THREADS",
        "VLLM_LOGGING_LEVEL",
        "VLLM_LOG_STATS_INTERVAL",
        "VLLM_ENGINE_READY_TIMEOUT_S",
        "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS",
    ]
)
# Options, variables and keys of connectors that say where an engine is, and with which of its own processes it works. Mooncake's connectors learn
# the address and port of the other side from each request.
PLACE_OPTIONS = frozenset(
    [
        "data-parallel-address",
        "data-parallel-rank",
        "data-parallel-rpc-port",
        "data-parallel-size-local",
        "data-parallel-start-rank",
        "headless",
        "host",
        "master-addr",
        "master-port",
        "node-rank",
    ]
)
PLACE_ENVIRONMENT = frozenset(
    [
        "ASCEND_INFERENCE_SERVICE",
        "ASCEND_RT_VISIBLE_DEVICES",
        "GLOO_SOCKET_IFNAME",
        "HCCL_CONNECT_TIMEOUT",
        "HCCL_IF_BASE_PORT",
        "HCCL_IF_IP",
        "HCCL_SOCKET_IFNAME",
        "MOONCAKE_CONFIG_PATH",
        "TP_SOCKET_IFNAME",
        "VLLM_HOST_IP",
        "VLLM_MOONCAKE_BOOTSTRAP_PORT",
    ]
)
NAMES = "--served-model-name"
CONNECTORS = "kv-transfer-config"
PLACE_KEYS = ("kv_port", "d2rh_zmq_port", "d2rh_scheduler_ready_port")  # of connectors whose name begins with Mooncake
SOCKET_KEYS = ("lookup_rpc_port", "mooncake_rpc_port")  # of the store: part of the name of a socket on the host


def exchange(service: Service) -> t.Any:
    """What decides whether two engines may exchange KV cache, of one engine: its command and environment without neutral settings and its place."""
    kept: list[str] = []
    name, left_out = "", False
    for argument in service["argv"]:
        if argument.startswith("--"):
            name = argument[2:].split("=")[0]
            left_out = (
                name in PLACE_OPTIONS
                or name in NEUTRAL_OPTIONS
                or name[3:] in NEUTRAL_OPTIONS
                and name.startswith("no-")
            )
        if not left_out:
            kept.append(_connectors(argument) if name == CONNECTORS else argument)
    # Of containers HOME was always part of this: without it, those that run would count as ones of another revision.
    out = NEUTRAL_ENVIRONMENT | PLACE_ENVIRONMENT | (set() if service.get("container") else {"HOME"})
    return kept, {name: value for name, value in service["env"].items() if name not in out}


def _connectors(argument: str) -> str:
    """The JSON of the connectors without ports; another text as it is."""
    try:
        return json.dumps(_without_ports(json.loads(argument)), sort_keys=True)
    except (ValueError, RecursionError):
        return argument


def _without_ports(value: t.Any, mooncake: bool = False) -> t.Any:
    if isinstance(value, list):
        return [_without_ports(item, mooncake) for item in value]
    if not isinstance(value, dict):
        return value
    mooncake = str(value["kv_connector"]).startswith("Mooncake") if "kv_connector" in value else mooncake
    out = (*SOCKET_KEYS, *(PLACE_KEYS if mooncake else ()))
    return {key: _without_ports(value[key], mooncake) for key in value if key not in out}


def revision_of(plan: Plan) -> str:
    """The digest of a plan's release, engine, model and software, and of the settings of each pool, of which the first engine stands for all.

    New instances, other hosts, devices and ports, another router, and neutral settings leave it as it is. ``plan``: with ``services`` as plain data.
    """
    pools: dict[str, t.Any] = {}
    for service in sorted(plan["services"], key=lambda service: (service["instance"], service["rank"])):
        if service["kind"] in ENGINE_KINDS:
            pools.setdefault(service["kind"], exchange(service))
    keys = ("release", "engine", "model")
    of_engines = {key: value for key, value in _software(plan).items() if key != "router"}
    return digest({**{key: plan[key] for key in keys}, "software": of_engines, "pools": pools})


def other_software(plan: Plan, deployed: Plan) -> bool:
    """Whether release, engine, model or software differ, so that engines of the two plans are never paired.

    The router's software counts here, though not in the revision: another router may not have the API that its engines are changed by.
    """
    same = all(deployed.get(key) == plan.get(key) for key in ("release", "engine", "model"))
    return not same or _software(deployed) != _software(plan)


def _software(plan: Plan) -> t.Any:
    """The software without the programs in front of the routers, and without what it names twice."""
    software = plan.get("software")
    if not isinstance(software, dict) or not isinstance(software.get("router"), dict):
        return software
    router = {key: value for key, value in software["router"].items() if key not in (*BEFORE_ROUTERS, *LISTED)}
    engine = {key: value for key, value in (software.get("engine") or {}).items() if key not in LISTED_OF_ENGINE}
    found = {**software, "router": router, "engine": engine}
    if isinstance(software.get("mooncake"), dict):
        found["mooncake"] = {key: value for key, value in software["mooncake"].items() if key not in LISTED_OF_MOONCAKE}
    return found


def incompatible(plan: Plan, deployed: Plan) -> set[str]:
    """Names of engines that cannot exchange KV cache with themselves as they are deployed; all if the revision changes.

    Plans of earlier versions of the collection have no revision. New engines have the settings of their pool, so they need no comparison.
    """
    engines = {service["name"]: service for service in plan["services"] if service["kind"] in ENGINE_KINDS}
    revisions = {each["revision"] for each in (plan, deployed) if each.get("revision")}
    if other_software(plan, deployed) or len(revisions) > 1:
        return set(engines)
    before = {service["name"]: service for service in deployed.get("services", ())}
    return {name for name in engines if name in before and exchange(before[name]) != exchange(engines[name])}


def only_names_differ(plan: Plan, deployed: Plan) -> bool:
    """Whether engines of the two plans are not paired, and all that differs is the names of the model, by which routers ask both of a pair."""
    there = {service["name"] for service in deployed.get("services", ())}
    engines = [service for service in plan.get("services", ()) if service["kind"] in ENGINE_KINDS]
    if {service["kind"] for service in engines if service["name"] in there} != {service["kind"] for service in engines}:
        return False  # nothing to compare
    named = [{**each, "revision": ""} for each in (plan, deployed)]
    return bool(engines) and bool(incompatible(*named)) and not incompatible(*map(_unnamed, named))


def _unnamed(plan: Plan) -> Plan:
    """A plan without the names of its model."""
    services = [{**service, "argv": _without(NAMES, service["argv"])} for service in plan.get("services", ())]
    return {**plan, "model": {**(plan.get("model") or {}), "name": ""}, "services": services}


def _without(option: str, argv: t.Sequence[str]) -> list[str]:
    """A command without an option and its values."""
    kept, inside = [], False
    for argument in argv:
        if argument.startswith("--"):
            inside = argument.split("=")[0] == option
        kept += [] if inside else [argument]
    return kept
