# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of parallel sizes: what prefill, decode, connector and vLLM can do together."""

from __future__ import annotations

import re
import typing as t

from .base import Case, Found, Rules

RULES = Rules()
# Names of families without experts; Qwen3-30B-A3B and the like say with A that they have some
DENSE = re.compile(r"(?:^|[/ _-])(?:qwen[23](?:\.5)?-(?:vl-)?\d+(?:\.\d+)?b(?!-a\d)|llama-?[23])", re.IGNORECASE)
CONNECTED = ("mooncake", "mooncake_hybrid", "mooncake_layerwise")


def connected(case: Case) -> bool:
    """Whether prefill and decode are joined by one of Mooncake's connectors on NPUs."""
    return case.npu and case.disaggregated and case.context.p2p in CONNECTED


@RULES.rule(
    "TP-DIVIDES",
    "Choose tensor_parallel_size of prefill as a multiple of decode's.",
    "vllm-ascend mooncake_connector.py: 'prefill_tp_size must be greater than or equal to the decode_tp_size'",
)
def tp_divides(case: Case) -> t.Iterator[Found]:
    """Prefill's tensor parallel size is a multiple of decode's: each decode worker reads whole workers of prefill."""
    if not connected(case):
        return
    prefill, decode = (
        getattr(case.context.description.pools, one).tensor_parallel_size for one in ("prefill", "decode")
    )
    if prefill % decode:
        yield Found("inference_pools.decode.tensor_parallel_size", decode, f"prefill has {prefill}, decode {decode}")


@RULES.rule(
    "DECODE-PP", "Set inference_pools.decode.pipeline_parallel_size to 1.", "vllm-ascend: 'decode pp must be 1'"
)
def decode_pp(case: Case) -> t.Iterator[Found]:
    """Decode has no pipeline parallelism."""
    size = case.context.description.pools.decode.pipeline_parallel_size if connected(case) else 1
    if size > 1:
        yield Found("inference_pools.decode.pipeline_parallel_size", size)


@RULES.rule(
    "PP-PCP",
    "Choose one of pipeline_parallel_size and prefill_context_parallel_size.",
    "vllm-ascend 0.23.0 release notes: PP with PCP is not supported",
)
def pp_pcp(case: Case) -> t.Iterator[Found]:
    """Pipeline and prefill context parallelism exclude each other."""
    for name, pool in case.context.description.pools.present().items():
        if case.npu and pool.pipeline_parallel_size > 1 and pool.prefill_context_parallel_size > 1:
            yield Found(f"inference_pools.{name}.prefill_context_parallel_size", pool.prefill_context_parallel_size)


@RULES.rule("LAYERWISE-PP", "Use inference_kv_transfer: mooncake, or pipeline_parallel_size 1.", "vllm-ascend #4244")
def layerwise_pp(case: Case) -> t.Iterator[Found]:
    """The layerwise connector ignores pipeline ranks up to 0.11 and binds the same port twice."""
    for name, pool in case.context.description.pools.present().items():
        layerwise = "mooncake_layerwise" in case.context.transfer_of(pool) and case.context.release.vllm_version < (
            0,
            12,
        )
        if layerwise and pool.pipeline_parallel_size > 1:
            yield Found(f"inference_pools.{name}.pipeline_parallel_size", pool.pipeline_parallel_size)


@RULES.rule(
    "DCP-EQUAL",
    "Set the same decode_context_parallel_size on both pools, unless the model is known to work without.",
    "vllm-ascend #14322; 0.23.0 known issues",
    "warning",
)
def dcp_equal(case: Case) -> t.Iterator[Found]:
    """Models with sparse attention lose accuracy if decode context parallelism differs between prefill and decode."""
    pools = case.context.description.pools
    if connected(case) and pools.prefill and pools.decode:
        one, other = pools.prefill.decode_context_parallel_size, pools.decode.decode_context_parallel_size
        if one != other:
            yield Found(
                "inference_pools.decode.decode_context_parallel_size", other, f"prefill has {one}, decode {other}"
            )


@RULES.rule(
    "DCP-DIVIDES",
    "Choose a divisor of tensor_parallel_size.",
    "vLLM config/parallel.py: decode context parallelism reuses the devices of tensor parallelism",
)
def dcp_divides(case: Case) -> t.Iterator[Found]:
    """The decode context parallel size divides the tensor parallel size."""
    for name, pool in case.context.description.pools.present().items():
        size, tp = pool.decode_context_parallel_size, pool.tensor_parallel_size
        if tp % size:
            yield Found(f"inference_pools.{name}.decode_context_parallel_size", size, f"tensor_parallel_size is {tp}")


@RULES.rule(
    "CONTEXT-PARALLEL",
    "Use a release from 0.12.0rc1 on, or size 1.",
    "vLLM: --prefill-context-parallel-size came with 0.12, --decode-context-parallel-size with 0.11",
)
def context_parallel(case: Case) -> t.Iterator[Found]:
    """The release's vLLM has context parallelism."""
    since = {"prefill_context_parallel_size": (0, 12), "decode_context_parallel_size": (0, 11)}
    for name, pool in case.context.description.pools.present().items():
        for word, version in since.items():
            if getattr(pool, word) > 1 and case.context.release.vllm_version < version:
                yield Found(f"inference_pools.{name}.{word}", getattr(pool, word))


@RULES.rule(
    "DENSE-DP",
    "Set data_parallel_size to 1 and raise instances instead: each is then an engine of its own with its own ports.",
    "vllm-ascend #8344, #8345; vLLM resets data_parallel_size to 1 for models without experts from 0.14 on",
)
def dense_dp(case: Case) -> t.Iterator[Found]:
    """A dense model has no data parallelism in vLLM from 0.14 on: the ranks do not find each other or share a port."""
    model = case.context.description.model
    named = DENSE.search(f"{model.path} {model.name}") if model.moe == "auto" else None
    if model.moe != "false" and not named or not case.context.release.dense_dp_breaks:
        return
    for name, pool in case.context.description.pools.present().items():
        if pool.data_parallel_size > 1:
            text = f"the model's name ({named.group(0).strip('/ ')}) says that it is dense" if named else ""
            path = f"inference_pools.{name}.data_parallel_size"
            yield Found(path, pool.data_parallel_size, text, severity="warning" if named else "")


@RULES.rule("DENSE-EP", "Leave expert parallelism out.", "vLLM: expert parallelism needs experts", "warning")
def dense_ep(case: Case) -> t.Iterator[Found]:
    """A dense model has no experts to spread."""
    for words in case.words:
        if case.context.description.model.moe == "false" and words.truth("enable-expert-parallel"):
            named = words.said("enable-expert-parallel") is not None
            yield Found(words.path("enable-expert-parallel") if named else f"{words.pool_path}.expert_parallel", True)


@RULES.rule(
    "LLMDATADIST-TP",
    "Choose the same tensor_parallel_size on both sides, or a later release with Mooncake.",
    "vllm-ascend 0.10.2rc1 release note: needs vLLM #23917",
    "warning",
)
def llmdatadist_tp(case: Case) -> t.Iterator[Found]:
    """With LLMDataDist 0.10.2rc1 hangs if prefill and decode differ in tensor parallel size."""
    if "llmdatadist" not in case.context.everywhere or not case.disaggregated:
        return
    prefill, decode = (
        getattr(case.context.description.pools, one).tensor_parallel_size for one in ("prefill", "decode")
    )
    if prefill != decode and case.context.release.vllm_version >= (0, 10, 2):
        yield Found("inference_pools.decode.tensor_parallel_size", decode, f"prefill has {prefill}, decode {decode}")
