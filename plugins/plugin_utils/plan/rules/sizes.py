# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of parallel sizes: combinations that connectors and vLLM support."""

from __future__ import annotations

import re
import typing as t

from ...description.findings import Finding
from ..ports import WITH_PORT
from .base import Case, Rules
from .model_figures import figures

RULES = Rules()
# Names of dense model families; an A in the size, as in Qwen3-30B-A3B, marks a mixture of experts, and so does a size without a dense model
DENSE = re.compile(
    r"(?:^|[/ _-])(?:qwen[23](?:\.5)?[-_](?:vl[-_])?(?!(?:30|235|480)b|(?:next[-_])?80b)\d+(?:\.\d+)?b(?![-_]a\d)|llama-?[23])",
    re.IGNORECASE,
)
CONNECTED = WITH_PORT


def why_dense(case: Case) -> tuple[str, str]:
    """How it is known that the model has no experts, and what in its name says so without being certain; empty otherwise."""
    model = case.context.description.model
    if figures(case).dense:
        return ("inference_model.moe is false" if model.moe == "false" else f"as {figures(case).source}"), ""
    named = DENSE.search(f"{model.path} {model.name}") if model.moe == "auto" else None
    return "", f"its name contains {named.group(0).strip('/ ')}" if named else ""


def connected(case: Case) -> bool:
    """Whether prefill and decode are connected by one of Mooncake's connectors on NPUs."""
    return case.npu and case.disaggregated and case.context.p2p in CONNECTED


@RULES.rule(
    "TP-DIVIDES",
    "Choose tensor_parallel_size of prefill as a multiple of decode's.",
    "vllm-ascend mooncake_connector.py: 'prefill_tp_size must be greater than or equal to the decode_tp_size'",
)
def tp_divides(case: Case) -> t.Iterator[Finding]:
    """Prefill's tensor parallel size is not a multiple of decode's.

    Each decode worker reads the KV cache of whole prefill workers; the connector refuses other sizes at start.
    """
    if not connected(case):
        return
    prefill, decode = (
        getattr(case.context.description.pools, name).tensor_parallel_size for name in ("prefill", "decode")
    )
    if prefill % decode:
        problem = f"prefill's size {prefill} is not a multiple of decode's size {decode}"
        yield Finding.at("inference_pools.decode.tensor_parallel_size", decode, problem)


@RULES.rule(
    "DECODE-PP", "Set inference_pools.decode.pipeline_parallel_size to 1.", "vllm-ascend: 'decode pp must be 1'"
)
def decode_pp(case: Case) -> t.Iterator[Finding]:
    """Decode has pipeline parallelism.

    The connector refuses it at start: it transfers KV cache to a single pipeline stage only.
    """
    size = case.context.description.pools.decode.pipeline_parallel_size if connected(case) else 1
    if size > 1:
        problem = f"decode has {size} pipeline stages"
        yield Finding.at("inference_pools.decode.pipeline_parallel_size", size, problem)


@RULES.rule(
    "PP-PCP",
    "Choose one of pipeline_parallel_size and prefill_context_parallel_size.",
    "vllm-ascend 0.23.0 release notes: PP with PCP is not supported",
)
def pp_pcp(case: Case) -> t.Iterator[Finding]:
    """A pool has both pipeline and prefill context parallelism.

    vLLM-Ascend does not support the two together.
    """
    for name, pool in case.context.description.pools.present().items():
        if case.npu and pool.pipeline_parallel_size > 1 and pool.prefill_context_parallel_size > 1:
            problem = f"pipeline_parallel_size of the same pool is {pool.pipeline_parallel_size}"
            path = f"inference_pools.{name}.prefill_context_parallel_size"
            yield Finding.at(path, pool.prefill_context_parallel_size, problem)


@RULES.rule("LAYERWISE-PP", "Use inference_kv_transfer: mooncake, or pipeline_parallel_size 1.", "vllm-ascend #4244")
def layerwise_pp(case: Case) -> t.Iterator[Finding]:
    """The layerwise connector of a release up to 0.11 is combined with pipeline parallelism.

    It ignores pipeline ranks, so two workers bind the same port and the engine does not start.
    """
    for name, pool in case.context.description.pools.present().items():
        layerwise = "mooncake_layerwise" in case.context.transfer_of(pool)
        if layerwise and case.context.release.vllm_version < (0, 12) and pool.pipeline_parallel_size > 1:
            problem = (
                f"mooncake_layerwise of release {case.context.release.name} does not support "
                f"{pool.pipeline_parallel_size} pipeline stages"
            )
            yield Finding.at(f"inference_pools.{name}.pipeline_parallel_size", pool.pipeline_parallel_size, problem)


@RULES.rule(
    "DCP-EQUAL",
    "Set the same decode_context_parallel_size on both pools, unless the model is known to work with different sizes.",
    "vllm-ascend #14322; 0.23.0 known issues",
    "warning",
)
def dcp_equal(case: Case) -> t.Iterator[Finding]:
    """Decode context parallelism differs between prefill and decode.

    Models with sparse attention lose accuracy.
    """
    pools = case.context.description.pools
    if connected(case) and pools.prefill and pools.decode:
        prefill, decode = pools.prefill.decode_context_parallel_size, pools.decode.decode_context_parallel_size
        if prefill != decode:
            problem = f"decode_context_parallel_size differs: prefill has {prefill}, decode has {decode}"
            yield Finding.at("inference_pools.decode.decode_context_parallel_size", decode, problem)


@RULES.rule(
    "DCP-DIVIDES",
    "Choose a divisor of tensor_parallel_size.",
    "vLLM config/parallel.py: decode context parallelism reuses the devices of tensor parallelism",
)
def dcp_divides(case: Case) -> t.Iterator[Finding]:
    """The decode context parallel size does not divide the tensor parallel size.

    Decode context parallelism splits the devices of tensor parallelism; vLLM refuses other sizes at start.
    """
    for name, pool in case.context.description.pools.present().items():
        size, tensor = pool.decode_context_parallel_size, pool.tensor_parallel_size
        if tensor % size:
            problem = f"{size} does not divide tensor_parallel_size {tensor}"
            yield Finding.at(f"inference_pools.{name}.decode_context_parallel_size", size, problem)


@RULES.rule(
    "CONTEXT-PARALLEL",
    "Use a release from 0.12.0rc1 on, or size 1.",
    "vLLM: --prefill-context-parallel-size came with 0.12, --decode-context-parallel-size with 0.11",
)
def context_parallel(case: Case) -> t.Iterator[Finding]:
    """The release's vLLM does not support this context parallelism.

    vLLM fails to start: unknown option.
    """
    since = {"prefill_context_parallel_size": (0, 12), "decode_context_parallel_size": (0, 11)}
    for name, pool in case.context.description.pools.present().items():
        for size, version in since.items():
            if getattr(pool, size) > 1 and case.context.release.vllm_version < version:
                problem = f"vLLM {case.context.release.vllm} has no --{size.replace('_', '-')}"
                yield Finding.at(f"inference_pools.{name}.{size}", getattr(pool, size), problem)


@RULES.rule(
    "DENSE-DP",
    "Set data_parallel_size to 1 and raise instances instead: each instance is a separate engine with its own ports.",
    "vllm-ascend #8344, #8345; vLLM resets data_parallel_size to 1 for models without experts from 0.14 on",
)
def dense_dp(case: Case) -> t.Iterator[Finding]:
    """A dense model has data parallelism.

    From 0.14 on vLLM disables data parallelism for dense models: the ranks do not connect to each other, or share a
    port.
    """
    known, named = why_dense(case)
    if not (known or named) or not case.context.release.dense_dp_breaks:
        return
    for name, pool in case.context.description.pools.present().items():
        if pool.data_parallel_size > 1:
            path = f"inference_pools.{name}.data_parallel_size"
            problem = f"the model is dense ({known or named}) and has {pool.data_parallel_size} data-parallel ranks"
            yield Finding.at(path, pool.data_parallel_size, problem, severity="" if known else "warning")


@RULES.rule(
    "DENSE-EP",
    "Remove expert parallelism.",
    "vLLM config/model.py: Number of experts in the model must be greater than 0 when expert parallelism is enabled",
)
def dense_ep(case: Case) -> t.Iterator[Finding]:
    """A dense model has expert parallelism.

    It has no experts to distribute; the engine ends at start with a ValueError.
    """
    known, named = why_dense(case)
    for view in case.engine_views if known or named else ():
        if view.truth("enable-expert-parallel"):
            written = view.user_value("enable-expert-parallel") is not None
            path = view.path("enable-expert-parallel") if written else f"{view.pool_path}.expert_parallel"
            problem = f"the model has no experts ({known or named})"
            yield Finding.at(path, True, problem, severity="" if known else "warning")


@RULES.rule(
    "LLMDATADIST-TP",
    "Choose the same tensor_parallel_size on both sides, or a later release with Mooncake.",
    "vllm-ascend 0.10.2rc1 release note: needs vLLM #23917",
    "warning",
)
def llmdatadist_tp(case: Case) -> t.Iterator[Finding]:
    """Prefill and decode differ in tensor parallel size with LLMDataDist.

    From release 0.10.2rc1 on the transfer hangs.
    """
    if "llmdatadist" not in case.context.everywhere or not case.disaggregated:
        return
    prefill, decode = (
        getattr(case.context.description.pools, name).tensor_parallel_size for name in ("prefill", "decode")
    )
    if prefill != decode and case.context.release.vllm_version >= (0, 10, 2):
        problem = f"tensor_parallel_size differs: prefill has {prefill}, decode has {decode}"
        yield Finding.at("inference_pools.decode.tensor_parallel_size", decode, problem)
