# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of what a model is known to have: attention heads, experts and layers for speculative decoding."""

from __future__ import annotations

import re
import typing as t

from ...description.findings import Finding
from ...releases.model_figures import Figures, of_model
from .base import Case, Rules

RULES = Rules()
SPECULATIVE = "speculative-config"
OF_0_11 = re.compile("deepseek-(v3|r1)|mimo|ernie-4.5|qwen3-next")  # vllm-ascend 0.11 patch/platform/patch_config.py
MTP = ("mtp", "deepseek_mtp", "glm4_moe_mtp", "qwen3_next_mtp")
CONFIG = "vLLM config/model.py verify_with_parallel_config"


def figures(case: Case) -> Figures:
    """What is known of the served model."""
    model = case.context.description.model
    return of_model(model.path, model.name, model.moe)


@RULES.rule(
    "MOE-KNOWN",
    "Remove inference_model.moe, or correct it. For another model with this name accept the rule.",
    "config.json of the family's publisher",
    "warning",
)
def experts(case: Case) -> t.Iterator[Finding]:
    """inference_model.moe contradicts the figures that the model has by its name.

    Rules of expert and data parallelism judge another kind of model than the engines load.
    """
    model = case.context.description.model
    known = of_model(model.path, model.name)
    if model.moe != "auto" and known.experts is not None and (known.experts > 0) != (model.moe == "true"):
        has = f"{known.experts} experts" if known.experts else "no experts"
        yield Finding.at("inference_model.moe", model.moe, f"{known.source} has {has}")


@RULES.rule("HEADS-TP", "Choose a tensor_parallel_size that divides the number of heads.", CONFIG)
def heads(case: Case) -> t.Iterator[Finding]:
    """The tensor parallel size does not divide the model's attention heads.

    vLLM splits the heads over the ranks; the engine ends at start with a ValueError.
    """
    found = figures(case)
    for name, pool in case.context.description.pools.present().items():
        if found.heads and found.heads % pool.tensor_parallel_size:
            problem = f"{found.source} has {found.heads} attention heads, which {pool.tensor_parallel_size} ranks cannot share"
            yield Finding.at(f"inference_pools.{name}.tensor_parallel_size", pool.tensor_parallel_size, problem)


@RULES.rule(
    "DCP-HEADS",
    "Choose a size up to tensor_parallel_size divided by the number of KV heads, or 1.",
    f"{CONFIG}, from vLLM 0.12 on",
)
def kv_heads(case: Case) -> t.Iterator[Finding]:
    """Decode context parallelism needs more copies of each KV head than tensor parallelism makes.

    Ranks that hold the same KV head share its tokens; with too few of them the engine ends at start with an AssertionError.
    """
    found = figures(case)
    if not found.kv_heads or not found.heads or found.latent or case.context.release.vllm_version < (0, 12):
        return
    for name, pool in case.context.description.pools.present().items():
        size, tensor = pool.decode_context_parallel_size, pool.tensor_parallel_size
        fits = tensor > found.kv_heads and size <= tensor // found.kv_heads
        if size > 1 and not (fits and found.heads // found.kv_heads % size == 0):
            problem = (
                f"{found.source} has {found.heads} attention heads with {found.kv_heads} KV heads, which {tensor} ranks "
                f"hold {max(1, tensor // found.kv_heads)} times"
            )
            yield Finding.at(f"inference_pools.{name}.decode_context_parallel_size", size, problem)


@RULES.rule(
    "DCP-SPARSE",
    "Set decode_context_parallel_size to tensor_parallel_size, or to 1.",
    "vllm-ascend platform.py from 0.23 on: DCP for SFA is only supported when dcp_size == tp_size",
)
def sparse(case: Case) -> t.Iterator[Finding]:
    """Decode context parallelism of a model with sparse attention differs from tensor parallelism.

    The engine ends at start with an AssertionError.
    """
    holds = case.npu and figures(case).sparse and case.context.release.vllm_version >= (0, 23)
    for name, pool in case.context.description.pools.present().items() if holds else ():
        size, tensor = pool.decode_context_parallel_size, pool.tensor_parallel_size
        if size not in (1, tensor):
            problem = f"{figures(case).source} has sparse attention, and {size} is not tensor_parallel_size {tensor}"
            yield Finding.at(f"inference_pools.{name}.decode_context_parallel_size", size, problem)


@RULES.rule(
    "MTP-LAYERS",
    "Remove the speculative-config, or choose a method that this model has.",
    "vLLM config/speculative.py: Unsupported speculative method: 'mtp'",
)
def mtp_layers(case: Case) -> t.Iterator[Finding]:
    """Speculation with MTP layers is set for a model that has none.

    The engine ends at start: it finds no draft model in the model.
    """
    found, release = figures(case), case.context.release
    none = found.mtp_layers == 0 or found.dense and found.mtp_layers is None
    unread = case.npu and (0, 11) <= release.vllm_version < (0, 12) and not OF_0_11.search(found.source.lower())
    for view in case.engine_views if found.source and (none or unread) else ():
        given = view.mapping(SPECULATIVE)
        if given.get("method") in MTP and not given.get("model"):
            problem = f"{found.source} has no MTP layers" if found.mtp_layers == 0 else "the model is dense"
            problem = problem if none else f"release {release.name} does not read the MTP layers of {found.source}"
            yield Finding.at(view.key_path(SPECULATIVE, "method"), given["method"], problem)
