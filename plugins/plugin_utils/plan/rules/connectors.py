# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of connectors: names that the release has, roles, sizes and identities that fit the topology."""

from __future__ import annotations

import typing as t

from ...description.findings import nearest
from ..ports import P2P
from ..render import kv
from .base import Case, Found, Rules
from .engine_view import KV, extra_of

RULES = Rules()
TRANSFERS = tuple(kv.ASCEND_NAMES) + ("mooncake_store", "none")
BOTH_WAYS = {kv.ASCEND_NAMES[word] for word in kv.BOTH_WAYS}
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


def transfers(case: Case) -> t.Iterator[tuple[str, str, list[str]]]:
    """Where the transfer is said, the word, and its parts: the deployment's, then the pools' own."""
    description = case.context.description
    if description.kv_transfer:
        yield "inference_kv_transfer", description.kv_transfer, description.kv_transfer.split("+")
    for name, pool in description.pools.present().items():
        own = getattr(pool, "kv_transfer", "")
        if own:
            yield f"inference_pools.{name}.kv_transfer", own, own.split("+")


@RULES.rule(
    "TRANSFER-UNKNOWN",
    f"Write one of {', '.join(kv.ASCEND_NAMES)}, none, or two of them joined with +.",
    "the planner",
)
def transfer_unknown(case: Case) -> t.Iterator[Found]:
    """The words of a transfer are known."""
    for path, word, parts in transfers(case):
        for part in parts:
            if part not in TRANSFERS:
                yield Found(path, word, f"'{part}' is not known. {nearest(part, TRANSFERS)}".strip())


@RULES.rule("TRANSFER-TWO", "Leave one of them.", "vLLM: one connector answers do_remote_prefill")
def transfer_two(case: Case) -> t.Iterator[Found]:
    """KV cache goes from prefill to decode one way."""
    for path, word, parts in transfers(case):
        if len([one for one in parts if one in P2P]) > 1 or len(set(parts)) < len(parts):
            yield Found(path, word)


@RULES.rule(
    "TRANSFER-NONE",
    "Name a connector with inference_kv_transfer, or describe a colocated pool instead.",
    "vllm-ascend docs: disaggregated prefill",
)
def transfer_none(case: Case) -> t.Iterator[Found]:
    """Prefill and decode are joined by a connector, or decode computes every prompt again."""
    if case.disaggregated and not case.context.everywhere:
        yield Found("inference_kv_transfer", case.context.description.kv_transfer or "none")


@RULES.rule(
    "TRANSFER-COLOCATED",
    "Use store (a pool that instances share) or none.",
    "vllm-ascend mooncake connectors: producer and consumer only",
    "warning",
)
def transfer_colocated(case: Case) -> t.Iterator[Found]:
    """A colocated pool has no peer that would fetch its KV cache from it."""
    pools = case.context.description.pools
    if pools.colocated and not pools.prefill and any(one in P2P for one in case.context.transfer_of(pools.colocated)):
        yield Found("inference_kv_transfer", case.context.description.kv_transfer)


@RULES.rule(
    "CONNECTOR-RELEASE",
    "Choose another inference_kv_transfer or another inference_release.",
    "vllm_ascend/distributed: registered connectors by tag",
)
def connector_release(case: Case) -> t.Iterator[Found]:
    """The release registers the connector."""
    known = case.context.release.connectors
    for words in case.words:
        for index, one in enumerate(words.connectors):
            name = str(one.get("kv_connector", ""))
            if name in known or one.get("kv_connector_module_path"):
                continue
            text = f"{name or 'no connector'} is not one of release {case.context.release.name}: {', '.join(known)}"
            if name == "MooncakeConnector" and case.npu:
                text = "MooncakeConnector is vLLM's own for CUDA; vLLM-Ascend's is MooncakeConnectorV1"
            own = words.kv_path("kv_connector") if index == 0 or words.said(KV) else "inference_kv_transfer"
            yield Found(own, name, text, nearest(name, known).strip() if name != "MooncakeConnector" else "")


@RULES.rule(
    "CONNECTOR-CPU",
    "Use mooncake, store or mooncake+store; the others need NPUs.",
    "vLLM: the connectors of its own registry",
)
def connector_cpu(case: Case) -> t.Iterator[Found]:
    """The CPU engine has vLLM's own Mooncake connectors only."""
    if not case.npu:
        for path, word, parts in transfers(case):
            if any(one in TRANSFERS and one not in ("mooncake", "store", "mooncake_store", "none") for one in parts):
                yield Found(path, word)


@RULES.rule(
    "KV-ROLE", "Leave kv_role out: it follows from the pool.", "vllm-ascend docs: kv_producer, kv_consumer, kv_both"
)
def role(case: Case) -> t.Iterator[Found]:
    """Prefill produces, decode consumes, a colocated pool does both; every connector inside says it for itself."""
    for words in case.words:
        expected = kv.ROLE[words.kind]
        for one in words.connectors:
            name = str(one.get("kv_connector"))
            allowed = {expected} | ({"kv_both"} if "Store" in name or name in BOTH_WAYS else set())
            if str(one.get("kv_role")) not in allowed:
                text = f"a {words.kind} pool is {expected}, not {one.get('kv_role') or 'without a role'}"
                yield Found(words.kv_path("kv_role"), one.get("kv_role"), text)


@RULES.rule(
    "KV-KEY",
    "Correct or remove the key; what a connector reads of its own stands in kv_connector_extra_config.",
    "vLLM KVTransferConfig: ignored up to 0.17, refused from 0.18 on",
)
def top_keys(case: Case) -> t.Iterator[Found]:
    """The keys of kv-transfer-config are known to vLLM."""
    early = case.context.release.vllm_version < (0, 18)
    for words in case.words:
        for key in words.kv:
            if key not in TOP_KEYS:
                severity = "warning" if early else ""
                yield Found(words.kv_path(key), words.kv[key], fix=nearest(key, TOP_KEYS).strip(), severity=severity)


@RULES.rule(
    "KV-MODULE-PATH",
    "Remove kv_connector_module_path: the connector is registered under its name.",
    "vllm-ascend #9916: from 0.20.2 on the path wins over the name",
)
def module_path(case: Case) -> t.Iterator[Found]:
    """A module path that is left over from an older release ends the engine at start, from 0.20.2 on."""
    for words in case.words:
        for one in words.connectors:
            if case.npu and one.get("kv_connector_module_path"):
                severity = "" if case.context.release.module_path_wins else "warning"
                path = words.kv_path("kv_connector_module_path")
                yield Found(path, one["kv_connector_module_path"], severity=severity)


@RULES.rule(
    "ENGINE-ID",
    "Remove engine_id: every start then has one of its own.",
    "vllm-ascend mooncake_connector.py: 'Conflict engine id'; peers keep addresses by (engine_id, port)",
)
def engine_id(case: Case) -> t.Iterator[Found]:
    """A pinned engine id outlives its process: peers keep its old addresses, and two instances with one id are mixed up."""
    owners: dict[str, str] = {}
    for words in case.words:
        found = next((str(one["engine_id"]) for one in words.connectors if one.get("engine_id")), "")
        if not found or (case.in_pods and "$" in found):
            continue  # a pod puts its own name in the place of $(...)
        path = words.kv_path("engine_id")
        other = owners.setdefault(found, words.kind)
        if other != words.kind:
            yield Found(path, found, f"prefill and decode have the same id ({other} too)")
        elif words.instance.pool.instances > 1:
            yield Found(path, found, f"all {words.instance.pool.instances} instances of the pool get this id")
        else:
            text = "with a pinned id every decode instance has to restart whenever a prefill instance does"
            yield Found(path, found, text, severity="warning")


@RULES.rule(
    "PARALLEL-MISMATCH",
    "Leave prefill and decode out of kv_connector_extra_config: the planner fills them in from the pools.",
    "vllm-ascend check_kv_extra_config (0.12.0rc1); #8442, #8344",
)
def parallel_mismatch(case: Case) -> t.Iterator[Found]:
    """Both sides' sizes in kv_connector_extra_config are those that the pools really have."""
    pools = case.context.description.pools
    names = {"dp_size": "data_parallel_size", "tp_size": "tensor_parallel_size", "pp_size": "pipeline_parallel_size"}
    for words in case.words:
        for one in words.connectors:
            for side in ("prefill", "decode"):
                told, pool = extra_of(one).get(side), getattr(pools, side)
                if not isinstance(told, dict) or not pool:
                    continue
                for key, word in names.items():
                    if key in told and str(told[key]) != str(getattr(pool, word)):
                        path = words.kv_path("kv_connector_extra_config", side, key)
                        text = f"{side} has {word} {getattr(pool, word)}"
                        yield Found(path, told[key], text)


@RULES.rule(
    "KV-PORT-DERIVED",
    "Set the first port with inference_pools.<pool>.ports.kv: the planner spaces instances and ranks from there.",
    "vllm-ascend mooncake_connector.py: kv_port + global rank x sizes",
)
def kv_port(case: Case) -> t.Iterator[Found]:
    """The connector's kv_port is the one that the plan keeps free and opens."""
    for words in case.words:
        ports = [port for port in words.service.ports if port.name == "kv"]
        for one in words.connectors:
            told = one.get("kv_port")
            if told is None or not case.npu or not words.asks_kv():
                continue
            if not str(told).isdecimal():
                yield Found(words.kv_path("kv_port"), told, "a port is a whole number")
            elif ports and int(told) not in (ports[0].first - words.process.first_worker, ports[0].first):
                text = f"the plan has {ports[0].first - words.process.first_worker} here"
                yield Found(words.kv_path("kv_port"), told, text)


@RULES.rule(
    "KV-POLICY",
    "Set kv_load_failure_policy to recompute or fail, beside kv_connector at the top.",
    "vLLM KVTransferConfig (0.13); vllm-ascend kv_pool.md: not read from a connector inside MultiConnector",
)
def policy(case: Case) -> t.Iterator[Found]:
    """The policy for KV cache that cannot be loaded is recompute or fail, and stands at the top."""
    for words in case.words:
        for index, one in enumerate(words.connectors):
            told = one.get("kv_load_failure_policy")
            if told is None:
                continue
            path = words.kv_path("kv_load_failure_policy")
            if told not in ("recompute", "fail"):
                yield Found(path, told)
            elif index:
                yield Found(path, told, "it has no effect inside MultiConnector")
            elif case.npu and not case.context.release.failure_policy:
                yield Found(path, told, f"release {case.context.release.name} does not know it", severity="warning")
            elif told == "recompute" and one.get("kv_connector") == "MooncakeHybridConnector":
                yield Found(path, told, "hybrid models cannot recompute", "Set it to fail.")


@RULES.rule(
    "MULTI-ORDER",
    "Put the connector from prefill to decode first, the store after it.",
    "vllm-ascend kv_pool.md: MooncakeConnectorV1, then AscendStoreConnector",
)
def multi_order(case: Case) -> t.Iterator[Found]:
    """MultiConnector asks its connectors in order, and the one from prefill to decode comes first."""
    for words in case.words:
        names = [str(one.get("kv_connector")) for one in words.connectors[1:]]
        stores = [index for index, name in enumerate(names) if "Store" in name]
        if names and stores and stores[0] == 0 and len(names) > 1:
            own = words.said(KV) is not None or "kv_connector_extra_config" in words.instance.pool.kv
            path = words.kv_path("kv_connector_extra_config", "connectors") if own else "inference_kv_transfer"
            yield Found(path, ", ".join(names))


@RULES.rule(
    "MULTI-EMPTY", "List them in kv_connector_extra_config.connectors.", "vLLM MultiConnector: connectors is required"
)
def multi_empty(case: Case) -> t.Iterator[Found]:
    """MultiConnector has at least one connector inside."""
    for words in case.words:
        if words.kv.get("kv_connector") == "MultiConnector" and len(words.connectors) < 2:
            yield Found(words.kv_path("kv_connector"), "MultiConnector")


@RULES.rule(
    "ASCEND-DIRECT",
    "Leave use_ascend_direct to the planner.",
    "vllm-ascend #5635: status 103900 without it",
)
def ascend_direct(case: Case) -> t.Iterator[Found]:
    """From 0.10.2rc1 to 0.11 Mooncake carries nothing unless use_ascend_direct is true."""
    for words in case.words if case.context.release.use_ascend_direct else ():
        for one in words.connectors:
            extra = extra_of(one)
            if "kv_port" in one and extra.get("use_ascend_direct") is not True:
                path = words.kv_path("kv_connector_extra_config", "use_ascend_direct")
                yield Found(path, extra.get("use_ascend_direct"))


@RULES.rule(
    "STORE-LAYERWISE",
    "Set use_layerwise on the prefill pool only, with inference_store.backend: memcache.",
    "vllm-ascend layerwise_kv_pool.md",
    "warning",
)
def store_layerwise(case: Case) -> t.Iterator[Found]:
    """The store loads layer by layer on prefill only, and with memcache only."""
    for words in case.words:
        for one in words.connectors:
            extra = extra_of(one)
            if extra.get("use_layerwise") is True and (words.kind == "decode" or extra.get("backend") != "memcache"):
                yield Found(words.kv_path("kv_connector_extra_config", "use_layerwise"), True)
