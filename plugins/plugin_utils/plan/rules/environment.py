# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the environment: what the planner derives, what excludes each other, what a release reads."""

from __future__ import annotations

import re
import typing as t

from .base import Case, Found, Rules
from .store import GIB, truth

RULES = Rules()
OWN = {
    "ASCEND_RT_VISIBLE_DEVICES": "inference_pools.<pool>.devices",
    "HCCL_IF_BASE_PORT": "inference_pools.<pool>.ports.hccl",
    "HCCL_IF_IP": "inference_address of the host",
    "VLLM_HOST_IP": "inference_address of the host",
    "MOONCAKE_CONFIG_PATH": "inference_store",
    "DISAGGREGATED_PREFILL_RANK_TABLE_PATH": "inference_kv_transfer",
    "VLLM_MOONCAKE_BOOTSTRAP_PORT": "inference_pools.<pool>.ports.bootstrap",
    "VLLM_LLMDD_RPC_PORT": "inference_pools.<pool>.ports.llmdatadist",
    "VLLM_ASCEND_LLMDD_RPC_PORT": "inference_pools.<pool>.ports.llmdatadist",
}
CARDS = ("GLOO_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
TIMEOUTS = ("ASCEND_CONNECT_TIMEOUT", "ASCEND_TRANSFER_TIMEOUT", "HCCL_CONNECT_TIMEOUT", "HCCL_EXEC_TIMEOUT")
HOLD = (
    "VLLM_ASCEND_KVCACHE_DELAY_FREE_TIMEOUT",
    "VLLM_NIXL_ABORT_REQUEST_TIMEOUT",
    "VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT",
)
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
SECRET = re.compile(r"(API_KEY|_TOKEN|PASSWORD|SECRET)$")
OFFLOAD = "MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES"


def asked(case: Case) -> t.Iterator[tuple[str, str, str]]:
    """Path, name and value of every environment variable that the user sets, for every process."""
    description, seen = case.context.description, set()
    layers = [layer for words in case.words for layer in words.layers("env")]
    layers += [
        ("inference_router.env", description.router.env),
        ("inference_mooncake_master.env", description.mooncake_master.env),
    ]
    for path, mapping in layers:
        for name in mapping:
            if mapping[name] is not None and f"{path}.{name}" not in seen:
                seen.add(f"{path}.{name}")
                yield f"{path}.{name}", name, str(mapping[name])


@RULES.rule("ENV-NAME", "Correct the name.", "environ(7)")
def name_(case: Case) -> t.Iterator[Found]:
    """A variable's name has letters, digits and underscores, and its value is one line."""
    for path, name, value in asked(case):
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            yield Found(path, message=f"'{name}' is no variable's name")
        elif "\n" in value:
            yield Found(path, message="the value has more than one line")


@RULES.rule(
    "ENV-DERIVED",
    "Remove the variable and set the word that it follows from.",
    "the planner: ports, peers and the rank table follow from the same word",
)
def derived(case: Case) -> t.Iterator[Found]:
    """What the planner derives for each process cannot be one value for all of them."""
    for words in case.words:
        for name, word in OWN.items():
            if words.asks_env(name):
                yield Found(words.env_path(name), words.env.get(name), f"it follows from {word}")


@RULES.rule(
    "ENV-CARDS",
    "Set inference_interface and none of them.",
    "vllm-ascend #167, #2390: Gloo and HCCL connect over different networks",
    "warning",
)
def cards(case: Case) -> t.Iterator[Found]:
    """Gloo, HCCL and tensor parallelism use the same network card."""
    for words in case.words if case.npu else ():
        told = {name: words.env[name] for name in CARDS if name in words.env}
        if len(set(told.values())) > 1:
            name = next((one for one in told if words.asks_env(one)), CARDS[0])
            yield Found(words.env_path(name), told[name], ", ".join(f"{one}={told[one]}" for one in told))


@RULES.rule(
    "ENV-PROXY",
    "Remove it; if a download needs it, download before.",
    "vllm-ascend docs: unset http_proxy; httpx and libcurl in proxy, store and engines obey it",
)
def http_proxy(case: Case) -> t.Iterator[Found]:
    """No process inherits an HTTP proxy: requests between hosts would go through it."""
    for path, name, value in asked(case):
        if name.lower() in PROXIES and value:
            yield Found(path, value)


@RULES.rule(
    "ENV-SECRET",
    "Put it into inference_secrets and refer to it there.",
    "the plan is printed, stored and compared; secrets are not part of it",
)
def secrets(case: Case) -> t.Iterator[Found]:
    """A secret stands in no plain variable."""
    for path, name, value in asked(case):
        if SECRET.search(name.upper()) and value:
            yield Found(path, "(hidden)")


@RULES.rule(
    "ENV-SHELL",
    "Write what the shell would have put in its place.",
    "systemd, docker and supervisor pass values as they are",
    "warning",
)
def shell(case: Case) -> t.Iterator[Found]:
    """No shell reads these values, so a $ stays a $ (except where a variable extends itself)."""
    for path, name, value in asked(case) if not case.in_pods else ():
        rest = re.sub(rf"\$(?:{re.escape(name)}\b|{{{re.escape(name)}[^}}]*}})", "", value)
        if re.search(r"\$[({A-Za-z_]|`", rest):
            yield Found(path, value)


@RULES.rule("ENV-TIMEOUT", "Write a whole number.", "CANN and Mooncake: std::stoi, or the default without a word")
def timeouts(case: Case) -> t.Iterator[Found]:
    """Time-outs are whole numbers: milliseconds for ASCEND_*, seconds for HCCL_* and vLLM's."""
    for path, name, value in asked(case):
        if name in TIMEOUTS + HOLD and not (value.isdecimal() and int(value)):
            yield Found(path, value)


@RULES.rule(
    "RDMA-TIMEOUT",
    "Choose a number from 5 to 24; 17 is half a second, every step doubles it.",
    "CANN: HCCL_RDMA_TIMEOUT, 4.096 us x 2^n",
)
def rdma(case: Case) -> t.Iterator[Found]:
    """HCCL_RDMA_TIMEOUT is an exponent from 5 to 24."""
    for path, name, value in asked(case):
        if name == "HCCL_RDMA_TIMEOUT" and not (value.isdecimal() and 5 <= int(value) <= 24):
            yield Found(path, value)


@RULES.rule(
    "ENV-RELEASE",
    "Use the name that the release reads, or inference_kv_hold_timeout for the time that prefill holds KV cache.",
    "vllm_ascend/envs.py by tag",
    "warning",
)
def of_release(case: Case) -> t.Iterator[Found]:
    """A variable of another release does nothing."""
    release = case.context.release
    for path, name, value in asked(case) if case.npu else ():
        if name in HOLD and name != release.free_timeout_env:
            yield Found(path, value, f"release {release.name} reads {release.free_timeout_env or 'none'}")
        elif name == "VLLM_USE_V1" and not release.use_v1_env and value == "0":
            yield Found(path, value, "this release has no other engine than V1")
        elif name == "ASCEND_BASE_PORT" and not release.ascend_base_port_env:
            yield Found(path, value, "Mooncake reads it from 0.3.8 on")


@RULES.rule(
    "USE-V1",
    "Remove it: the planner sets 1.",
    "vllm-ascend docs up to 0.11: prefill/decode disaggregation needs V1",
)
def use_v1(case: Case) -> t.Iterator[Found]:
    """Up to 0.11 connectors work with vLLM's V1 engine only."""
    for words in case.words if case.context.release.use_v1_env else ():
        if words.env.get("VLLM_USE_V1") == "0" and case.context.transfer_of(words.instance.pool):
            yield Found(words.env_path("VLLM_USE_V1"), "0")


@RULES.rule(
    "HASH-SEED",
    "Remove it: the planner sets 0 for all.",
    "vllm-ascend kv_pool.md; vLLM prefix hashes start from it",
)
def hash_seed(case: Case) -> t.Iterator[Found]:
    """All engines that share a pool start Python with the same hash seed, or none finds another's KV cache."""
    told = {one.env.get("PYTHONHASHSEED", "") for one in case.words}
    for words in case.words if case.context.store else ():
        own = words.env.get("PYTHONHASHSEED", "")
        if words.asks_env("PYTHONHASHSEED") and (len(told) > 1 or not own.isdecimal()):
            yield Found(words.env_path("PYTHONHASHSEED"), own)


@RULES.rule(
    "BUFFER-POOL",
    "Keep one of ASCEND_BUFFER_POOL, ASCEND_USE_ASYNC_TRANSFER and ASCEND_ENABLE_USE_FABRIC_MEM.",
    "Mooncake ascend_direct_transport: 'Buffer pool mode does not support async transfer'",
)
def buffer_pool(case: Case) -> t.Iterator[Found]:
    """The buffer pool excludes asynchronous transfer and fabric memory."""
    for words in case.words:
        pooled = words.env.get("ASCEND_BUFFER_POOL", "")
        for name in ("ASCEND_USE_ASYNC_TRANSFER", "ASCEND_ENABLE_USE_FABRIC_MEM"):
            if pooled and pooled != "0:0" and truth(words.env.get(name, "0")):
                own = name if words.asks_env(name) else "ASCEND_BUFFER_POOL"
                yield Found(words.env_path(own), words.env[own], f"ASCEND_BUFFER_POOL is {pooled} and {name} is on")


@RULES.rule(
    "FABRIC-MEMORY",
    "Use it on A3 with the HCCS link only.",
    "vllm-ascend kv_pool.md 5.1: A3 with HCCS, CANN 9.0, HDK 25.5",
)
def fabric(case: Case) -> t.Iterator[Found]:
    """Fabric memory is A3's, over HCCS, from CANN 9.0 on."""
    for words in case.words:
        if not truth(words.env.get("ASCEND_ENABLE_USE_FABRIC_MEM", "0")):
            continue
        path, description = words.env_path("ASCEND_ENABLE_USE_FABRIC_MEM"), case.context.description
        if words.process.host.hardware not in ("a3", "950") or description.link == "roce":
            text = f"{words.process.host.name} is {words.process.host.hardware}, link {description.link}"
            yield Found(path, 1, text, severity="" if description.store.backend == "mooncake" else "warning")
        elif case.context.release.cann_version < (9,):
            yield Found(path, 1, f"release {case.context.release.name} has CANN {case.context.release.cann}")


@RULES.rule(
    "INTRA-ROCE",
    "Leave HCCL_INTRA_ROCE_ENABLE to the planner, and say the link with inference_link.",
    "vllm-ascend kv_pool.md 5.1; Mooncake #3749",
)
def intra_roce(case: Case) -> t.Iterator[Found]:
    """HCCL_INTRA_ROCE_ENABLE is on for a pool of KV cache on A2, and off on A3 over HCCS."""
    for words in case.words:
        told, hardware = words.env.get("HCCL_INTRA_ROCE_ENABLE"), words.process.host.hardware
        if hardware == "a2" and case.context.store and told == "0":
            yield Found(words.env_path("HCCL_INTRA_ROCE_ENABLE"), told, "a pool on A2 needs it")
        elif hardware == "a3" and case.context.description.link == "hccs" and told == "1":
            yield Found(words.env_path("HCCL_INTRA_ROCE_ENABLE"), told, "inference_link says hccs")


@RULES.rule(
    "OFFLOAD-BUFFER",
    "Write a multiple of 1073741824.",
    "vllm-ascend kv_pool.md 5.3: the default 1342177280 is refused with fabric memory",
)
def offload_buffer(case: Case) -> t.Iterator[Found]:
    """The offload buffer is a whole number of bytes, with fabric memory a multiple of 1 GiB."""
    for words in case.words:
        told = words.env.get(OFFLOAD)
        fabric_ = truth(words.env.get("ASCEND_ENABLE_USE_FABRIC_MEM", "0"))
        if told is not None and (not told.isdecimal() or fabric_ and int(told) % GIB):
            yield Found(words.env_path(OFFLOAD), told)


@RULES.rule(
    "FUSED-MC2",
    "Set VLLM_ASCEND_ENABLE_FUSED_MC2 on the decode pool only.",
    "vllm-ascend #8320",
    "warning",
)
def fused(case: Case) -> t.Iterator[Found]:
    """Up to 0.18 the fused MC2 operator makes prefill's answers inexact with several data-parallel ranks."""
    for words in case.of("prefill", "colocated") if case.context.release.vllm_version <= (0, 18, 0) else ():
        several = words.instance.pool.data_parallel_size > 1 and words.kv
        if several and words.env.get("VLLM_ASCEND_ENABLE_FUSED_MC2", "0") not in ("", "0"):
            yield Found(words.env_path("VLLM_ASCEND_ENABLE_FUSED_MC2"), words.env["VLLM_ASCEND_ENABLE_FUSED_MC2"])


@RULES.rule(
    "READY-TIMEOUT",
    "Set inference_start_timeout: both follow from it.",
    "vLLM: VLLM_ENGINE_READY_TIMEOUT_S",
    "warning",
)
def ready(case: Case) -> t.Iterator[Found]:
    """The engine does not give up loading before the playbook gives up waiting."""
    name, wanted = "VLLM_ENGINE_READY_TIMEOUT_S", case.context.description.start_timeout
    for words in case.words:
        told = words.env.get(name, "")
        if words.asks_env(name) and told.isdecimal() and int(told) < wanted:
            yield Found(words.env_path(name), told, f"inference_start_timeout is {wanted}")
