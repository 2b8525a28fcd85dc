# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of connectors: availability in the release, roles, sizes and engine ids."""

from __future__ import annotations

import re
import typing as t

from ...description.findings import Finding, nearest
from ...description.meaning import close
from ...releases.release import registered
from ..ports import P2P
from ..render import kv
from .base import Case, Rules
from .engine_view import KV, EngineView, extra_of

RULES = Rules()


@RULES.rule(
    "TRANSFER-UNKNOWN",
    f"Use one of {', '.join(kv.ASCEND_NAMES)}, none, or one of them and store joined with +.",
    "design of the planner",
)
def transfer_unknown(case: Case) -> t.Iterator[Finding]:
    """inference_kv_transfer contains an unknown type.

    The planner cannot choose a connector for it, so no KV cache would be transferred.
    """
    for path, transfer, parts in transfers(case):
        for part in parts:
            if part not in TRANSFERS:
                several = re.findall(r"\w+", part)
                joined = several[1:] and set(TRANSFERS).issuperset(several)
                meant = f"Write {'+'.join(several)}. " if joined else nearest(part, TRANSFERS, {part: kv.word_of(part)})
                problem = DROPPED if part.lower().startswith("lmcache") else f"unknown KV transfer type '{part}'"
                yield Finding.at(path, transfer, problem, meant)


@RULES.rule("TRANSFER-TWO", "Keep one of them.", "vLLM: one connector answers do_remote_prefill")
def transfer_two(case: Case) -> t.Iterator[Finding]:
    """KV cache would be transferred from prefill to decode in two ways.

    Only one connector can serve a prefill request for remote decode; which of two vLLM uses is undefined.
    """
    for path, transfer, parts in transfers(case):
        direct = [part for part in parts if part in P2P]
        if "none" in parts and len(parts) > 1:
            yield Finding.at(path, transfer, "none is combined with a connector", "Write the connector alone, or none.")
        elif len(direct) > 1 or len(set(parts)) < len(parts):
            problem = f"{' and '.join(direct if len(direct) > 1 else parts)} would both transfer the same KV cache"
            yield Finding.at(path, transfer, problem)


@RULES.rule(
    "TRANSFER-NONE",
    "Name a connector with inference_kv_transfer, or describe a colocated pool instead.",
    "vllm-ascend docs: disaggregated prefill",
)
def transfer_none(case: Case) -> t.Iterator[Finding]:
    """No connector transfers KV cache from prefill to decode.

    Decode would recompute every prompt, and prefill's work would be lost.
    """
    if case.disaggregated and not case.context.everywhere:
        problem = "no KV transfer is configured between the prefill and decode pools"
        yield Finding.at("inference_kv_transfer", case.context.description.kv_transfer or "none", problem)


@RULES.rule(
    "TRANSFER-COLOCATED",
    "Use store (a pool that instances share) or none.",
    "vllm-ascend mooncake connectors: producer and consumer only; assert 'tp_size' in prefill_parallel_config",
)
def transfer_colocated(case: Case) -> t.Iterator[Finding]:
    """A colocated pool has a connector for disaggregated pools.

    No peer fetches its KV cache; connectors of Mooncake end the engine at its start, because the sizes of the two pools lack.
    """
    pools = case.context.description.pools
    if not pools.colocated or pools.prefill:
        return
    own = pools.colocated.kv_transfer
    path = "inference_pools.colocated.kv_transfer" if own else "inference_kv_transfer"
    for part in case.context.transfer_of(pools.colocated):
        if part in P2P:
            problem = f"{part} connects prefill with decode, but this pool is colocated"
            yield Finding.at(path, own or case.context.description.kv_transfer, problem)


@RULES.rule(
    "CONNECTOR-RELEASE",
    "Choose another inference_kv_transfer or another inference_release.",
    "vllm_ascend/distributed: registered connectors by tag",
)
def connector_release(case: Case) -> t.Iterator[Finding]:
    """The release does not have the connector.

    vLLM fails to start: unknown connector.
    """
    known = case.context.release.connectors
    for view in case.engine_views:
        for index, connector in enumerate(view.connectors):
            name = str(connector.get("kv_connector", ""))
            if name in known or connector.get("kv_connector_module_path"):
                continue
            problem = f"release {case.context.release.name} has no connector {name or 'without a name'}"
            own = view.kv_path("kv_connector") if index == 0 or view.user_value(KV) else view.transfer_path
            if own == view.transfer_path:
                yield from _unavailable(case, view, name, problem)
                continue
            spelt = registered(name) or nearest(name, known)
            hint = f"{spelt}Its connectors: {', '.join(known)}."
            if name == "MooncakeConnector" and case.npu:
                problem = "MooncakeConnector is vLLM's connector for CUDA; vLLM-Ascend's is MooncakeConnectorV1"
                hint = ""
            yield Finding.at(own, name, problem, hint)


def _unavailable(case: Case, view: EngineView, name: str, problem: str) -> t.Iterator[Finding]:
    """The finding for a connector that the planner chose for a word of the user: in the user's words. None for an unknown word."""
    word = kv.word_of(name)
    if word not in case.context.transfer_of(view.instance.pool):
        return  # TRANSFER-UNKNOWN: the user wrote another word
    known = [
        item for item in kv.ASCEND_NAMES if kv.connector_name(case.context, item) in case.context.release.connectors
    ]
    written = view.instance.pool.kv_transfer or case.context.description.kv_transfer
    hint = f"{registered(name)}This one has {', '.join(known)}."
    yield Finding.at(view.transfer_path, written, f"{problem}, which {word} stands for", hint)


@RULES.rule(
    "CONNECTOR-CPU",
    "Use mooncake, store or mooncake+store; the others need NPUs.",
    "vLLM: the connectors of its own registry",
)
def connector_cpu(case: Case) -> t.Iterator[Finding]:
    """The CPU engine does not have the connector.

    It has only vLLM's own Mooncake connectors; the others are part of vLLM-Ascend and need NPUs.
    """
    own = case.context.engine.connectors
    available = (*own, "mooncake_store", "none")
    for path, transfer, parts in transfers(case) if own else ():
        for part in parts:
            if part in TRANSFERS and part not in available:
                yield Finding.at(path, transfer, f"{case.context.engine.title} has no {part} connector")


@RULES.rule(
    "KV-ROLE",
    "Where kv-transfer-config is not written by hand, the planner derives the role from the pool.",
    "vllm-ascend docs: kv_producer, kv_consumer, kv_both",
)
def role(case: Case) -> t.Iterator[Finding]:
    """A connector's role does not fit its pool.

    Prefill produces KV cache, decode consumes it, a colocated pool does both; with another role decode computes
    every prompt again, or the engine refuses to start. Each connector inside MultiConnector has its own role.
    """
    for view in case.engine_views:
        expected = kv.ROLE[view.kind]
        for connector in view.connectors:
            name = str(connector.get("kv_connector"))
            allowed = {expected} | ({"kv_both"} if "Store" in name or name in BOTH_WAYS else set())
            if str(connector.get("kv_role")) not in allowed:
                problem = (
                    f"{name} of the {view.kind} pool has {connector.get('kv_role') or 'no role'} instead of {expected}"
                )
                written = view.user_value(KV)
                fix = (
                    f"Remove {written[0]}."
                    if written and written[0] == "inference_args." + KV
                    else f"Set kv_role to {expected}."
                )
                yield Finding.at(view.kv_path("kv_role"), connector.get("kv_role"), problem, fix)


@RULES.rule(
    "KV-KEY",
    "Correct or remove the key.",
    "vLLM KVTransferConfig: ignored up to 0.17, refused from 0.18 on",
)
def top_keys(case: Case) -> t.Iterator[Finding]:
    """kv-transfer-config has an unknown key.

    vLLM ignores it up to 0.17, so the setting is lost, and refuses to start from 0.18 on.
    """
    early = case.context.release.vllm_version < (0, 18)
    for view in case.engine_views:
        for key in view.kv:
            if key not in TOP_KEYS:
                severity = "warning" if early else ""
                problem = f"vLLM {case.context.release.vllm} has no key '{key}' in kv-transfer-config"
                yield Finding.at(view.kv_path(key), view.kv[key], problem, _place_of(case, view, key), severity)


def _place_of(case: Case, view: EngineView, key: str) -> str:
    """Where a key that vLLM does not know in kv-transfer-config belongs; empty if nothing like it is known."""
    own = [item for item in case.context.transfer_of(view.instance.pool) if item in kv.ASCEND_NAMES]
    of_store = key in STORE_KEYS or key in ("store", "mooncake_store")
    if own and of_store and "store" not in own:
        return f"It is about the store, which KV transfer {'+'.join(own)} does not have: set inference_kv_transfer: {own[0]}+store for one. "
    if own and key in TRANSFERS:
        return f"This pool's KV transfer is {'+'.join(own)}: write its settings below {' or '.join(own)}. "
    if own and key in EXTRA_KEYS:
        there = "store" if of_store else own[0]
        return f"It is a setting of a connector: write {view.pool_path}.kv: {{{there}: {{{key}: VALUE}}}}. "
    return nearest(key, TOP_KEYS)


@RULES.rule(
    "KV-MODULE-PATH",
    "Remove kv_connector_module_path: the connector is registered under its name.",
    "vllm-ascend #9916: from 0.20.2 on the path wins over the name",
)
def module_path(case: Case) -> t.Iterator[Finding]:
    """A connector that the release registers has a module path.

    The path is only for older releases: from 0.20.2 on it takes precedence over the registered name, and the old module
    makes the engine fail at startup.
    """
    for view in case.engine_views:
        for connector in view.connectors:
            module, registered = connector.get("kv_connector_module_path"), case.context.release.connectors
            if case.npu and module and connector.get("kv_connector") in registered:
                severity = "" if case.context.release.module_path_wins else "warning"
                problem = f"a module path is set although {connector.get('kv_connector')} is registered under its name"
                yield Finding.at(view.kv_path("kv_connector_module_path"), module, problem, severity=severity)


@RULES.rule(
    "ENGINE-ID",
    "Remove engine_id: vLLM generates a new one at every start.",
    "vllm-ascend mooncake_connector.py: 'Conflict engine id'; peers keep addresses by (engine_id, port)",
)
def engine_id(case: Case) -> t.Iterator[Finding]:
    """An engine id is pinned.

    Peers cache the addresses of an id. A pinned id outlives its process, so decode must restart whenever prefill
    does, and two instances with the same id are confused.
    """
    owners: dict[str, str] = {}
    for view in case.engine_views:
        found = next((str(item["engine_id"]) for item in view.connectors if item.get("engine_id")), "")
        if not found or (case.in_pods and "$" in found):
            continue  # a pod substitutes its own name for $(...)
        path = view.kv_path("engine_id")
        other = owners.setdefault(found, view.kind)
        if other != view.kind:
            yield Finding.at(path, found, f"{other} and {view.kind} have the same engine id {found}")
        elif view.instance.pool.instances > 1:
            problem = f"all {view.instance.pool.instances} instances of pool {view.kind} get the engine id {found}"
            yield Finding.at(path, found, problem)
        else:
            yield Finding.at(path, found, f"the engine id of pool {view.kind} is pinned to {found}", severity="warning")


@RULES.rule(
    "PARALLEL-MISMATCH",
    "Remove prefill and decode from kv_connector_extra_config: the planner fills them in from the pools.",
    "vllm-ascend check_kv_extra_config (0.12.0rc1); #8442, #8344",
)
def parallel_mismatch(case: Case) -> t.Iterator[Finding]:
    """The sizes in kv_connector_extra_config differ from those of the pools.

    The connector derives the remote worker from them and contacts the wrong one; later releases refuse to start.
    """
    pools = case.context.description.pools
    names = {"dp_size": "data_parallel_size", "tp_size": "tensor_parallel_size", "pp_size": "pipeline_parallel_size"}
    for view in case.engine_views:
        for connector in view.connectors:
            for side in ("prefill", "decode"):
                sizes, pool = extra_of(connector).get(side), getattr(pools, side)
                if not isinstance(sizes, dict) or not pool:
                    continue
                for key, name in names.items():
                    if key in sizes and str(sizes[key]) != str(getattr(pool, name)):
                        path = view.kv_path("kv_connector_extra_config", side, key)
                        problem = f"pool {side} has {name} {getattr(pool, name)}, not {sizes[key]}"
                        yield Finding.at(path, sizes[key], problem)


@RULES.rule(
    "KV-PORT-DERIVED",
    "Set the first port with inference_pools.<pool>.ports.kv: the planner spaces instances and ranks from there.",
    "vllm-ascend mooncake_connector.py: kv_port + global rank x sizes",
)
def kv_port(case: Case) -> t.Iterator[Finding]:
    """The connector's kv_port differs from the planned port.

    Only the planned port is reserved and opened in the firewall, so peers cannot connect.
    """
    for view in case.engine_views if case.npu else ():
        for item in case.processes_like(view) if view.sets_kv() else ():
            problem = _other_port(item)
            if problem:
                own = "" if item.service.name == view.service.name else f" of {item.service.name}"
                yield Finding.at(view.kv_path("kv_port"), problem[0], problem[1] + own)
                break


def _other_port(view: EngineView) -> tuple[t.Any, str] | None:
    """The kv_port of a process that is not the planned one, and what is wrong with it; None if there is none."""
    ports = [port.first for port in view.service.ports if port.name == "kv"]
    base = ports[0] - view.process.first_worker if ports else 0
    for connector in view.connectors:
        value = connector.get("kv_port")
        if value is not None and not str(value).isdecimal():
            return value, f"'{value}' is not a port number"
        if value is not None and ports and int(value) not in (base, ports[0]):
            return value, f"kv_port differs from the planned {base}"
    return None


@RULES.rule(
    "KV-VALUE", "Set a value of this kind, or remove the key.", "vllm/config/kv_transfer.py: types of KVTransferConfig"
)
def kv_value(case: Case) -> t.Iterator[Finding]:
    """A key of kv-transfer-config has a value of the wrong kind.

    vLLM ends at start.
    """
    for view in case.engine_views:
        for connector in view.connectors:
            for key, expected in KINDS.items():
                value = connector.get(key)
                if value is not None and not re.fullmatch(expected[0], str(value)):
                    yield Finding.at(view.kv_path(key), value, f"{key} is {value}, not {expected[1]}")


@RULES.rule(
    "KV-EXTRA",
    "Correct the name.",
    "vllm-ascend kv_transfer: get_from_extra_config and kv_connector_extra_config.get, 0.11.0 to 0.30.0rc2",
    "warning",
)
def extra_keys(case: Case) -> t.Iterator[Finding]:
    """A connector's setting is spelt almost as one that vLLM-Ascend reads, and no connector reads it.

    The setting has no effect, and no program says so.
    """
    for view in case.engine_views if case.npu else ():
        for connector in view.connectors:
            for key in extra_of(connector):
                alike = [] if key in EXTRA_KEYS else close(str(key), EXTRA_KEYS, cutoff=0.9)
                hint = (
                    f"Did you mean '{alike[0]}'?"
                    if alike
                    else "It is a KV transfer: write its settings below kv and this name."
                )
                if alike or key in TRANSFERS:
                    path = view.kv_path("kv_connector_extra_config", key)
                    yield Finding.at(path, "", f"no connector reads '{key}'", hint)


@RULES.rule(
    "KV-POLICY",
    "Set kv_load_failure_policy to recompute or fail, at the same level as kv_connector.",
    "vLLM KVTransferConfig (0.13); vllm-ascend kv_pool.md: not read from a connector inside MultiConnector",
)
def policy(case: Case) -> t.Iterator[Finding]:
    """The value of kv_load_failure_policy is invalid or has no effect here.

    It must be recompute or fail, at the top level of kv-transfer-config; anything else is ignored or refused
    at start.
    """
    for view in case.engine_views:
        for index, connector in enumerate(view.connectors):
            value = connector.get("kv_load_failure_policy")
            if value is None:
                continue
            path = view.kv_path("kv_load_failure_policy")
            if value not in ("recompute", "fail"):
                yield Finding.at(path, value, f"unknown policy '{value}'")
            elif index:
                yield Finding.at(path, value, "the policy has no effect on a connector inside MultiConnector")
            elif case.npu and not case.context.release.failure_policy:
                problem = f"release {case.context.release.name} does not read kv_load_failure_policy"
                yield Finding.at(path, value, problem, severity="warning")
            elif value == "recompute" and connector.get("kv_connector") == "MooncakeHybridConnector":
                yield Finding.at(path, value, "MooncakeHybridConnector cannot recompute", "Set it to fail.")


@RULES.rule(
    "MULTI-ORDER",
    "Put the connector from prefill to decode first, the store after it.",
    "vllm-ascend kv_pool.md: MooncakeConnectorV1, then AscendStoreConnector",
)
def multi_order(case: Case) -> t.Iterator[Finding]:
    """The store is listed before the connector from prefill to decode.

    MultiConnector queries its connectors in order: the store answers first, and decode does not get what prefill just
    computed.
    """
    for view in case.engine_views:
        names = [str(connector.get("kv_connector")) for connector in view.connectors[1:]]
        stores = [index for index, name in enumerate(names) if "Store" in name]
        if names and stores and stores[0] == 0 and len(names) > 1:
            own = view.user_value(KV) is not None or "kv_connector_extra_config" in view.instance.pool.kv
            path = view.kv_path("kv_connector_extra_config", "connectors") if own else view.transfer_path
            first, second = (f"{name} ({word})" if (word := kv.word_of(name)) else name for name in names[:2])
            yield Finding.at(path, ", ".join(names), f"{first} is listed before {second}")


@RULES.rule(
    "MULTI-EMPTY", "List them in kv_connector_extra_config.connectors.", "vLLM MultiConnector: connectors is required"
)
def multi_empty(case: Case) -> t.Iterator[Finding]:
    """MultiConnector has no connector inside.

    vLLM fails to start: MultiConnector needs a list of connectors.
    """
    for view in (
        case.engine_views if case.context.description.kv_transfer != "MultiConnector" else ()
    ):  # TRANSFER-UNKNOWN says more
        if view.kv.get("kv_connector") == "MultiConnector" and len(view.connectors) < 2:
            yield Finding.at(view.kv_path("kv_connector"), "MultiConnector", "MultiConnector lists no connectors")


@RULES.rule(
    "ASCEND-DIRECT",
    "Remove use_ascend_direct: the planner sets it.",
    "vllm-ascend #5635: status 103900 without it",
)
def ascend_direct(case: Case) -> t.Iterator[Finding]:
    """use_ascend_direct is switched off in a release that needs it.

    From 0.10.2rc1 to 0.11 Mooncake transfers nothing without it (status 103900).
    """
    for view in case.engine_views if case.context.release.use_ascend_direct else ():
        for connector in view.connectors:
            value = extra_of(connector).get("use_ascend_direct")
            if "kv_port" in connector and value is not True:
                path = view.kv_path("kv_connector_extra_config", "use_ascend_direct")
                problem = f"use_ascend_direct of {connector.get('kv_connector')} is {value}, not true"
                yield Finding.at(path, value, problem)


@RULES.rule(
    "STORE-LAYERWISE",
    "Set use_layerwise on the prefill pool only, with inference_store.backend: memcache.",
    "vllm-ascend layerwise_kv_pool.md; mooncake_backend.py from 0.28 on: validate_layerwise_support needs batch_put_session_start",
    "warning",
)
def store_layerwise(case: Case) -> t.Iterator[Finding]:
    """The key use_layerwise is set where the store cannot load layer by layer.

    Layerwise loading works only on prefill and with the memcache backend; elsewhere the setting has no effect. From 0.28 on it works with the
    mooncake backend as well, if the client can put parts of objects; else the engine ends at start.
    """
    release = case.context.release
    for view in case.engine_views:
        for connector in view.connectors:
            extra = extra_of(connector)
            if extra.get("use_layerwise") is not True or connector.get("kv_connector") == "SfaRemoteD2HConnector":
                continue  # that one reads the key on decode
            backend, problem, severity = str(extra.get("backend") or "mooncake"), "", ""
            if backend == "mooncake" and case.npu and release.vllm_version >= (0, 28):
                if release.mooncake_version < (0, 3, 13):
                    problem = f"use_layerwise with backend mooncake needs Mooncake 0.3.13, and {release.name} has {release.mooncake}"
                    severity = "error"
            elif view.kind == "decode" or backend != "memcache":
                problem = f"use_layerwise has no effect with {'a decode pool' if view.kind == 'decode' else f'backend {backend}'}"
            if problem:
                yield Finding.at(
                    view.kv_path("kv_connector_extra_config", "use_layerwise"), True, problem, severity=severity
                )


@RULES.rule(
    "UB-LINKS",
    "Set ASCEND_LOCAL_COMM_RES_PATH and ASCEND_LOCAL_COMM_RES for links by UB, or ASCEND_GLOBAL_RESOURCE_CONFIG for UBOE, in inference_env.",
    "vllm-ascend kv_cache_pool_ascend_store.md, MiniMax-M3.md (0.30.0rc2): required exports on 950",
    "warning",
)
def links_of_a_950(case: Case) -> t.Iterator[Finding]:
    """Engines on 950 hosts use a store or several connectors, and nothing says how their NPUs are linked.

    Transfers between NPUs fail; vLLM-Ascend reads the folder of the links' descriptions beside a single connector only.
    """
    for view in case.engine_views if case.context.release.ub_endpoints else ():
        transfers = case.context.transfer_of(view.instance.pool)
        wide, several = view.process.host.hardware == "950", len(transfers) > 1 or "store" in transfers
        if wide and several and view.kind != "encode" and not any(view.sets_env(name) for name in kv.UB_VARIABLES):
            names = ", ".join(kv.UB_VARIABLES)
            yield Finding.at(view.env_path(kv.UB_VARIABLES[0]), "", f"pool {view.kind} sets none of {names}")


TRANSFERS = tuple(kv.ASCEND_NAMES) + ("mooncake_store", "none")
BOTH_WAYS = {kv.ASCEND_NAMES[name] for name in kv.BOTH_WAYS}
# vllm/config/kv_transfer.py; kv_load_failure_policy since 0.13, enable_permute_local_kv since 0.11.1
TOP_KEYS = {
    "kv_connector",
    "engine_id",
    "kv_buffer_device",
    "kv_buffer_size",
    "kv_role",
    "kv_rank",
    "kv_parallel_size",
    "kv_ip",
    "kv_port",
    "kv_connector_extra_config",
    "kv_connector_module_path",
    "enable_permute_local_kv",
    "kv_load_failure_policy",
}


NUMBER = (r"\d+", "a whole number")
KINDS = {
    "kv_buffer_size": (r"\d+(\.\d*)?([eE][+-]?\d+)?", "a number"),
    "kv_parallel_size": NUMBER,
    "kv_rank": NUMBER,
    "enable_permute_local_kv": ("(?i:true|false|0|1)", "true or false"),
    "kv_buffer_device": (r"cpu|npu|cuda|xpu|tpu|hpu", "a kind of device"),
}
# Settings that some release of vLLM-Ascend reads from kv_connector_extra_config
EXTRA_KEYS = (
    *(
        "backend",
        "connectors",
        "consumer_is_to_load",
        "consumer_is_to_put",
        "decode",
        "prefill",
        "discard_partial_chunks",
    ),
    *("d2rh_host_cache_hash_source", "d2rh_log_full_block_map", "d2rh_scheduler_ready_port", "d2rh_transfer_workers"),
    *("d2rh_zmq_port", "enable_offload_prefix_caching", "h2d_stagger_us", "layerwise_max_transfer_blocks"),
    *(
        "layerwise_max_transfer_bytes",
        "layerwise_prefetch_layers",
        "load_async",
        "lookup_rpc_port",
        "mooncake_rpc_port",
    ),
    *("memcache_dp_init_barrier", "offload_host_memory_ratio", "prefill_pp_layer_partition", "prefill_pp_size"),
    *("qos_priority", "recv_buffer_tokens", "register_buffer", "tls_config", "transfer_backend", "use_ascend_direct"),
    *("use_layerwise", "num_cpu_blocks", "block_size", "spec_name", "cpu_bytes_to_use", "swap_in_threshold"),
)

# Those of them that only the store's connector reads
STORE_KEYS = (
    "use_layerwise",
    "load_async",
    "lookup_rpc_port",
    "mooncake_rpc_port",
    "consumer_is_to_load",
    "consumer_is_to_put",
)


def transfers(case: Case) -> t.Iterator[tuple[str, str, list[str]]]:
    """Path, value and parts of each transfer: the deployment's, then the pools' own."""
    description = case.context.description
    if description.kv_transfer:
        yield "inference_kv_transfer", description.kv_transfer, description.kv_transfer.split("+")
    for name, pool in description.pools.present().items():
        own = getattr(pool, "kv_transfer", "")
        if own:
            yield f"inference_pools.{name}.kv_transfer", own, own.split("+")


DROPPED = "LMCache is not deployed: vLLM-Ascend no longer develops its connector, and its server is not started here; store shares KV cache between instances"
