# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of serving: what prefill and decode have to agree on, budgets, speculation, recomputing."""

from __future__ import annotations

import re
import typing as t

from .base import Case, Found, Rules
from .engine_view import Words

RULES = Rules()
QUANTIZED = re.compile(r"(?:^|[-_./])(w\d+a\d+(?:c\d+)?|mxfp[48])(?:$|[-_./])", re.IGNORECASE)


def differing(case: Case, flag: str) -> t.Iterator[tuple[Words, str, str]]:
    """Decode's words whose value of a flag is none of prefill's, with both values; '' where the flag is absent."""
    prefill = case.of("prefill")
    if not case.disaggregated or not prefill:
        return
    told = {" ".join(one.table.get(flag, ("",))) if flag in one.table else "" for one in prefill}
    for words in case.of("decode"):
        own = " ".join(words.table.get(flag, ("",))) if flag in words.table else ""
        if own not in told or len(told) > 1:
            yield words, own or "not set", " and ".join(sorted(one or "not set" for one in told))


def side(case: Case, words: Words, flag: str) -> str:
    """The path of a flag that differs: decode's, or prefill's where only prefill says it."""
    other = next((one for one in case.of("prefill") if one.said(flag)), None)
    own = words.said(flag)
    if other and (not own or own[0].startswith("inference_args")):
        return other.path(flag)
    return words.path(flag)


def same(id_: str, flag: str, fix: str, source: str, severity: str, doc: str) -> None:
    """A rule that prefill and decode have the same value of a flag."""

    def check(case: Case) -> t.Iterator[Found]:
        for words, own, others in differing(case, flag):
            yield Found(side(case, words, flag), own, f"prefill has {others}, decode {own}")

    check.__doc__ = doc
    RULES.rule(id_, fix, source, severity)(check)


same(
    "SEED-DIFFERS",
    "seed",
    "Set the same seed for all: inference_args.seed.",
    "vllm-ascend docs: the same --seed on all nodes",
    "warning",
    "Prefill and decode sample with the same seed.",
)
same(
    "TOKENIZER-DIFFERS",
    "tokenizer",
    "Set it once for all: inference_args.tokenizer.",
    "prefill's token ids are decode's",
    "error",
    "Prefill and decode have the same tokenizer.",
)
same(
    "TOKENIZER-MODE",
    "tokenizer-mode",
    "Set it once for all: inference_args.tokenizer-mode.",
    "prefill's token ids are decode's",
    "warning",
    "Prefill and decode tokenize in the same mode.",
)
same(
    "KV-DTYPE-DIFFERS",
    "kv-cache-dtype",
    "Set it once for all: inference_args.kv-cache-dtype.",
    "connectors copy bytes: the cache has one layout",
    "error",
    "Prefill and decode keep the KV cache in the same type.",
)
same(
    "DTYPE-DIFFERS",
    "dtype",
    "Set it once for all: inference_args.dtype.",
    "connectors copy bytes: the cache has one layout",
    "error",
    "Prefill and decode compute in the same type.",
)
same(
    "QUANTIZATION-DIFFERS",
    "quantization",
    "Set it once for all: inference_args.quantization.",
    "vllm-ascend docs: identical model on both sides",
    "warning",
    "Prefill and decode load the model with the same quantization.",
)


@RULES.rule(
    "NAME-DIFFERS",
    "Set inference_model.name and no served-model-name.",
    "the proxies hand one model name to prefill and decode",
)
def names(case: Case) -> t.Iterator[Found]:
    """Every engine serves the model under the same name: the proxy hands one name to all."""
    first = case.words[0] if case.words else None
    told = set(first.table.get("served-model-name", ())) if first else set()
    for words in case.words[1:]:
        own = words.table.get("served-model-name", ())
        if words.kind != "encode" and not told & set(own):
            where = words if words.said("served-model-name") else first
            yield Found(
                (where or words).path("served-model-name"),
                " ".join(own),
                f"{words.kind} serves {' '.join(own)}, {first.kind if first else ''} {' '.join(sorted(told))}",
            )


@RULES.rule(
    "MAX-MODEL-LEN",
    "Set it once for all: inference_args.max-model-len.",
    "vllm-ascend docs: identical --max-model-len; decode refuses a prompt that prefill took",
    "warning",
)
def model_length(case: Case) -> t.Iterator[Found]:
    """Prefill and decode have the same max-model-len: a prompt that one of them refuses cannot be served."""
    for words, own, others in differing(case, "max-model-len"):
        yield Found(side(case, words, "max-model-len"), own, f"prefill has {others}, decode {own}")


@RULES.rule(
    "BLOCK-SIZE",
    "Set it once for all: inference_args.block-size.",
    "vllm-ascend mooncake_connector.py: block by block; remote_block_size is read from 0.20 on",
)
def block_size(case: Case) -> t.Iterator[Found]:
    """Prefill and decode have the same block size: the connector copies block by block."""
    for words, own, others in differing(case, "block-size"):
        default = {own, *others.split(" and ")} <= {"not set", "128"}
        severity = "warning" if default or case.context.release.vllm_version >= (0, 20) else ""
        yield Found(side(case, words, "block-size"), own, f"prefill has {others}, decode {own}", severity=severity)


@RULES.rule("CPU-BLOCK-SIZE", "Choose a multiple of 32, or leave it out.", "vLLM CPU attention: 'No common block size'")
def cpu_block_size(case: Case) -> t.Iterator[Found]:
    """On CPU a block has a multiple of 32 tokens."""
    for words in case.words if not case.npu else ():
        size = words.integer("block-size")
        if size and size % 32:
            yield Found(words.path("block-size"), size)


@RULES.rule(
    "SPEC-TOKENS",
    "Set num_speculative_tokens to 1 on prefill; equal on both sides only for hybrid (Mamba) models.",
    "vllm-ascend speculative_decoding.md; #16622",
    "warning",
)
def speculative(case: Case) -> t.Iterator[Found]:
    """Prefill speculates one token, unless the model is hybrid and both sides speculate the same number."""
    for words in case.of("prefill") if case.disaggregated else ():
        if (words.speculative_tokens or 1) > 1:
            yield Found(words.path("speculative-config"), words.speculative_tokens)


@RULES.rule(
    "SPEC-ONE-SIDE",
    "Give both pools a speculative-config, or neither.",
    "vllm-ascend speculative_decoding.md: the draft layer's cache is transferred too",
    "warning",
)
def one_side(case: Case) -> t.Iterator[Found]:
    """Speculation needs the draft layer's KV cache on both sides."""
    prefill = [one.speculative_tokens for one in case.of("prefill")]
    for words in case.of("decode") if prefill else ():
        if words.speculative_tokens and not any(prefill):
            yield Found(words.path("speculative-config"), words.speculative_tokens, "prefill does not speculate")
        elif not words.speculative_tokens and any(prefill):
            other = case.of("prefill")[0]
            yield Found(other.path("speculative-config"), other.speculative_tokens, "decode does not speculate")


@RULES.rule(
    "DECODE-BUDGET",
    "Raise max-num-batched-tokens to max-num-seqs x (1 + num_speculative_tokens), or lower max-num-seqs.",
    "vLLM scheduler: one step's tokens; vllm-ascend nightly configurations",
    "warning",
)
def budget(case: Case) -> t.Iterator[Found]:
    """A decode step has room for every sequence's token and its speculated ones."""
    for words in case.of("decode"):
        tokens, sequences = words.integer("max-num-batched-tokens"), words.integer("max-num-seqs")
        need = (sequences or 0) * (1 + (words.speculative_tokens or 0))
        if tokens and sequences and sequences <= tokens < need:
            yield Found(words.path("max-num-batched-tokens"), tokens, f"{need} are needed")


@RULES.rule(
    "SEQS-BUDGET",
    "Raise max-num-batched-tokens or lower max-num-seqs.",
    "vLLM config/scheduler.py: max_num_batched_tokens must be at least max_num_seqs",
)
def sequences_budget(case: Case) -> t.Iterator[Found]:
    """A step has room for at least one token of every sequence; vLLM does not start otherwise."""
    for words in case.words:
        tokens, sequences = words.integer("max-num-batched-tokens"), words.integer("max-num-seqs")
        if tokens and sequences and tokens < sequences:
            yield Found(words.path("max-num-batched-tokens"), tokens, f"max-num-seqs is {sequences}")


@RULES.rule(
    "CHUNKED-BUDGET",
    "Raise max-num-batched-tokens to max-model-len, or allow chunked prefill.",
    "vLLM config/scheduler.py: max_num_batched_tokens is smaller than max_model_len",
)
def chunked(case: Case) -> t.Iterator[Found]:
    """Without chunked prefill a step holds a whole prompt."""
    for words in case.words:
        tokens, length = words.integer("max-num-batched-tokens"), words.integer("max-model-len")
        if words.truth("enable-chunked-prefill") is False and tokens and length and tokens < length:
            yield Found(words.path("max-num-batched-tokens"), tokens, f"max-model-len is {length}")


@RULES.rule("GPU-MEMORY", "Write a fraction such as 0.9.", "vLLM config/cache.py: checked after the parser, at start")
def memory(case: Case) -> t.Iterator[Found]:
    """gpu-memory-utilization is a fraction above 0 and up to 1."""
    for words in case.words:
        try:
            told = float(words.value("gpu-memory-utilization") or 0.9)
        except ValueError:
            continue  # FLAG-VALUE says so
        if not 0 < told <= 1:
            yield Found(words.path("gpu-memory-utilization"), told)


@RULES.rule(
    "QUANTIZATION-MISSING",
    "Add quantization: ascend.",
    "vllm-ascend docs: out of memory or 'Tensor scale not implemented' without it",
    "warning",
)
def quantization(case: Case) -> t.Iterator[Found]:
    """A model whose name says that it is quantized for Ascend is loaded with --quantization ascend."""
    model = case.context.description.model
    found = QUANTIZED.search(model.path) or QUANTIZED.search(model.name)
    if not found or not case.npu:
        return
    for words in case.words:
        if "quantization" not in words.table and words.kind != "encode":
            yield Found(words.path("quantization"), "", f"the model's name says {found.group(1)}")


@RULES.rule("CPU-QUANTIZATION", "Use a model that is not quantized for Ascend.", "vLLM CPU: unknown method ascend")
def cpu_quantization(case: Case) -> t.Iterator[Found]:
    """A CPU cannot load a model that is quantized for Ascend."""
    for words in case.words if not case.npu else ():
        if words.value("quantization") == "ascend":
            yield Found(words.path("quantization"), "ascend")


@RULES.rule(
    "EAGER-GRAPH",
    "Remove enforce-eager or the compilation-config.",
    "vLLM: --enforce-eager switches graphs off",
    "warning",
)
def eager(case: Case) -> t.Iterator[Found]:
    """enforce-eager makes the graph settings of compilation-config useless."""
    for words in case.words:
        config = words.mapping("compilation-config")
        if words.truth("enforce-eager") and (config.get("cudagraph_mode", "NONE") != "NONE"):
            yield Found(words.path("compilation-config"), config["cudagraph_mode"])


@RULES.rule(
    "RECOMPUTE-ON-PREFILL",
    "Take recompute_scheduler_enable out of prefill's additional-config; decode alone uses it.",
    "vllm-ascend #11265, #8240; switched off with a warning in 0.23.0",
    "warning",
)
def recompute_prefill(case: Case) -> t.Iterator[Found]:
    """The recompute scheduler belongs to decode; on prefill it makes answers wrong or hangs."""
    for words in case.of("prefill"):
        if words.mapping("additional-config").get("recompute_scheduler_enable"):
            yield Found(words.path("additional-config"), "recompute_scheduler_enable")


@RULES.rule(
    "RECOMPUTE-COLOCATED",
    "Take recompute_scheduler_enable out of additional-config.",
    "vllm-ascend: ValueError with kv_both",
)
def recompute_both(case: Case) -> t.Iterator[Found]:
    """A colocated pool with a connector cannot have the recompute scheduler: there is nobody to recompute."""
    for words in case.of("colocated"):
        if words.mapping("additional-config").get("recompute_scheduler_enable") and words.kv:
            yield Found(words.path("additional-config"), "recompute_scheduler_enable")


@RULES.rule(
    "RECOMPUTE-RELEASE",
    "Choose a release from 0.11.0rc1 on, or take recompute_scheduler_enable out.",
    "vllm-ascend #3448: the proxy learned it with 0.11.0rc1",
)
def recompute_release(case: Case) -> t.Iterator[Found]:
    """Proxies before 0.11 hand 'recomputed' answers to the client, cut off."""
    for words in case.of("decode") if case.npu and case.context.release.vllm_version < (0, 11) else ():
        if words.mapping("additional-config").get("recompute_scheduler_enable"):
            yield Found(words.path("additional-config"), "recompute_scheduler_enable")


@RULES.rule(
    "REDUCE-SAMPLE",
    "Take enable_reduce_sample out of additional-config.",
    "vllm-ascend #13469: switched off with prefill and decode apart",
    "warning",
)
def reduce_sample(case: Case) -> t.Iterator[Found]:
    """enable_reduce_sample does nothing with prefill and decode apart."""
    for words in case.of("prefill", "decode"):
        if words.mapping("additional-config").get("enable_reduce_sample"):
            yield Found(words.path("additional-config"), "enable_reduce_sample")
