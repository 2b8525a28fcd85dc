# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of serving: settings that must be equal on prefill and decode, token budgets, speculative decoding, recomputation."""

from __future__ import annotations

import re
import typing as t

from ...description.findings import Finding
from ...description.values import number
from .base import Case, Rules
from .decode_tuning import recompute_key
from .engine_view import EngineView

RULES = Rules()
QUANTIZED = re.compile(r"(?:^|[-_./])(w\d+a\d+(?:c\d+)?|mxfp[48])(?:$|[-_./])", re.IGNORECASE)

CONFIG = "additional-config"
# Models with a state of linear attention (Mamba), for which upstream wants equal numbers on both sides
LINEAR = re.compile(r"qwen3-next|qwen3\.[5-9]|glm-?5\.3-flash|kimi-?k3", re.IGNORECASE)
# Models whose block size is not 128 where none is set (vllm_ascend/utils.py: refresh_block_size)
OWN_BLOCKS = re.compile(LINEAR.pattern + "|deepseek-?v4", re.IGNORECASE)
UNSET = "the default"  # shown for an option that is not set


def differing(case: Case, flag: str) -> t.Iterator[tuple[EngineView, str, str]]:
    """Decode's engine views whose value of an option differs from prefill's, with both values."""
    prefill = case.of("prefill")
    if not case.disaggregated or not prefill:
        return
    values = {" ".join(view.table.get(flag, ("",))) for view in prefill}
    for view in case.of("decode"):
        own = " ".join(view.table.get(flag, ("",)))
        if own not in values or len(values) > 1:
            yield view, own or UNSET, " and ".join(sorted(value or UNSET for value in values))


def side(case: Case, view: EngineView, flag: str) -> tuple[str, str]:
    """The path of an option that differs, and its value there: decode's, or prefill's if only prefill sets it."""
    other = next((prefill for prefill in case.of("prefill") if prefill.user_value(flag)), None)
    own = view.user_value(flag)
    if other and (not own or own[0].startswith("inference_args")):
        view = other
    return view.path(flag), " ".join(view.table.get(flag, ("",))) or UNSET


def same(id_: str, flag: str, fix: str, source: str, severity: str, doc: str) -> None:
    """Register a rule against different values of an option on prefill and decode; ``doc`` is the check's docstring."""

    def check(case: Case) -> t.Iterator[Finding]:
        for view, own, others in differing(case, flag):
            yield Finding.at(*side(case, view, flag), f"--{flag} differs: prefill has {others}, decode has {own}")

    check.__doc__ = doc
    RULES.rule(id_, fix, source, severity)(check)


same(
    "SEED-DIFFERS",
    "seed",
    "Set the same seed for all: inference_args.seed.",
    "vllm-ascend docs: the same --seed on all nodes",
    "warning",
    "Prefill and decode sample with different seeds.\n\nAnswers cannot be reproduced.",
)
same(
    "TOKENIZER-DIFFERS",
    "tokenizer",
    "Set it once for all: inference_args.tokenizer.",
    "decode uses prefill's token ids",
    "error",
    "Prefill and decode have different tokenizers.\n\nDecode interprets prefill's token ids as other text, so answers are wrong.",
)
TEMPLATES = "proxies of vllm-ascend send the messages to both sides, and each applies its own template"
OTHER_PROMPT = "Decode reads KV cache of another prompt than its own, so answers are wrong without an error."
same(
    "TEMPLATE-DIFFERS",
    "chat-template",
    "Set it once for all: inference_args.chat-template.",
    TEMPLATES,
    "error",
    f"Prefill and decode have different chat templates.\n\n{OTHER_PROMPT}",
)
same(
    "TEMPLATE-KWARGS",
    "default-chat-template-kwargs",
    "Set it once for all: inference_args.default-chat-template-kwargs.",
    TEMPLATES,
    "error",
    f"Prefill and decode give other values to the chat template.\n\n{OTHER_PROMPT}",
)
same(
    "TOKENIZER-MODE",
    "tokenizer-mode",
    "Set it once for all: inference_args.tokenizer-mode.",
    "decode uses prefill's token ids",
    "warning",
    "Prefill and decode tokenize in different modes.\n\nThe same text may get different token ids, and the KV cache does not match.",
)
same(
    "KV-DTYPE-DIFFERS",
    "kv-cache-dtype",
    "Set it once for all: inference_args.kv-cache-dtype.",
    "connectors copy bytes: the cache has one layout",
    "error",
    "Prefill and decode store the KV cache in different data types.\n\nThe connector copies bytes that decode interprets differently, so answers are wrong.",
)
same(
    "DTYPE-DIFFERS",
    "dtype",
    "Set it once for all: inference_args.dtype.",
    "connectors copy bytes: the cache has one layout",
    "error",
    "Prefill and decode compute in different data types.\n\nThe KV cache layout differs and the connector copies bytes, so answers are wrong.",
)
same(
    "QUANTIZATION-DIFFERS",
    "quantization",
    "Set it once for all: inference_args.quantization.",
    "vllm-ascend docs: identical model on both sides",
    "warning",
    "Prefill and decode load the model with different quantization.\n\n"
    "Their results differ, so decode continues from a KV cache that does not match its weights.",
)
# release.recompute_on_prefill -> what a finding says of it
RECOMPUTE_HERE = {
    "recommended": ", as documents of this release recommend, and upstream found later that answers can become less accurate",
    "ignored": ", and this release ignores it there with a warning",
}


@RULES.rule(
    "NAME-DIFFERS",
    "Set inference_model.name and remove served-model-name.",
    "the proxies pass one model name to prefill and decode",
)
def names(case: Case) -> t.Iterator[Finding]:
    """Engines do not serve the model under the name that requests have.

    The proxy passes the client's model name to all engines, and the verification asks for it; an engine with another name answers 404.
    """
    name = case.context.served_name
    for view in case.engine_views:
        own = view.table.get("served-model-name", ())
        if own and view.kind != "encode" and name not in own:
            problem = f"{view.kind} serves {' '.join(own)}, and the model's name is {name}"
            yield Finding.at(view.path("served-model-name"), " ".join(own), problem)


@RULES.rule(
    "MAX-MODEL-LEN",
    "Set it once for all: inference_args.max-model-len.",
    "vllm-ascend docs: identical --max-model-len; decode refuses a prompt that prefill accepted",
    "warning",
)
def model_length(case: Case) -> t.Iterator[Finding]:
    """Prefill and decode have a different max-model-len.

    Decode refuses prompts that prefill has accepted.
    """
    for view, own, others in differing(case, "max-model-len"):
        problem = f"--max-model-len differs: prefill has {others}, decode has {own}"
        yield Finding.at(*side(case, view, "max-model-len"), problem)


@RULES.rule(
    "BLOCK-SIZE",
    "Set it once for all: inference_args.block-size.",
    "vllm-ascend mooncake_connector.py: block by block; remote_block_size is read from 0.20 on; utils.py refresh_block_size: 128 by default",
)
def block_size(case: Case) -> t.Iterator[Finding]:
    """Prefill and decode have a different block size.

    The connector copies whole blocks, so decode reads wrong parts of the KV cache.
    """
    model = case.context.description.model
    chunked = all(view.truth("enable-chunked-prefill") is not False for view in case.engine_views)
    plain = case.npu and chunked and not OWN_BLOCKS.search(f"{model.path} {model.name}")
    for view, own, others in differing(case, "block-size"):
        default = {own, *others.split(" and ")} <= {UNSET, "128"}
        if default and plain:
            continue  # the default is 128
        severity = "warning" if default or case.context.release.vllm_version >= (0, 20) else ""
        problem = f"--block-size differs: prefill has {others}, decode has {own}"
        yield Finding.at(*side(case, view, "block-size"), problem, severity=severity)


@RULES.rule(
    "CPU-BLOCK-SIZE", "Choose a multiple of 32, or remove the option.", "vLLM CPU attention: 'No common block size'"
)
def cpu_block_size(case: Case) -> t.Iterator[Finding]:
    """The block size is not a multiple of 32 on CPU.

    vLLM's CPU attention has no kernel for it, and vLLM fails to start.
    """
    for view in case.engine_views if not case.npu else ():
        size = view.integer("block-size")
        if size and size % 32:
            yield Finding.at(view.path("block-size"), size, f"{size} is not a multiple of 32")


@RULES.rule(
    "SPEC-TOKENS",
    "Set num_speculative_tokens to 1 on prefill; equal on both sides only for hybrid (Mamba) models.",
    "vllm-ascend speculative_decoding.md; #16622",
    "warning",
)
def speculative(case: Case) -> t.Iterator[Finding]:
    """Prefill uses more than one speculative token.

    Prefill produces only the first token. Only hybrid (Mamba) models need equal numbers on both sides; others waste
    the work or fail.
    """
    decode = {view.speculative_tokens for view in case.of("decode")}
    for view in case.of("prefill") if case.disaggregated else ():
        hybrid = case.context.p2p == "mooncake_hybrid" or LINEAR.search(case.context.description.model.path)
        if (view.speculative_tokens or 1) > 1 and not (hybrid and decode == {view.speculative_tokens}):
            problem = f"prefill has {view.speculative_tokens} speculative tokens"
            yield Finding.at(
                view.key_path("speculative-config", "num_speculative_tokens"), view.speculative_tokens, problem
            )


@RULES.rule(
    "SPEC-ONE-SIDE",
    "Give both pools a speculative-config, or neither.",
    "vllm-ascend speculative_decoding.md: the draft layer's cache is transferred too",
    "warning",
)
def one_side(case: Case) -> t.Iterator[Finding]:
    """Only one of prefill and decode uses speculative decoding.

    The draft layer's KV cache is transferred too, so the layers of both sides do not match.
    """
    prefill = [view.speculative_tokens for view in case.of("prefill")]
    for view in case.of("decode") if prefill else ():
        if view.speculative_tokens and not any(prefill):
            yield Finding.at(
                view.key_path("speculative-config", "num_speculative_tokens"),
                view.speculative_tokens,
                "decode uses speculative decoding, prefill does not",
            )
        elif not view.speculative_tokens and any(prefill):
            other = case.of("prefill")[0]
            yield Finding.at(
                other.key_path("speculative-config", "num_speculative_tokens"),
                other.speculative_tokens,
                "prefill uses speculative decoding, decode does not",
            )


@RULES.rule(
    "DECODE-BUDGET",
    "Raise max-num-batched-tokens to max-num-seqs x (1 + num_speculative_tokens), or lower max-num-seqs.",
    "vLLM scheduler: one step's tokens; vllm-ascend nightly configurations",
    "warning",
)
def budget(case: Case) -> t.Iterator[Finding]:
    """A decode step has too few tokens for all sequences and their speculative tokens.

    Some sequences wait in every step, so decode never runs max-num-seqs sequences at once.
    """
    for view in case.of("decode"):
        tokens, sequences = view.integer("max-num-batched-tokens"), view.integer("max-num-seqs")
        need = (sequences or 0) * (1 + (view.speculative_tokens or 0))
        if tokens and sequences and sequences <= tokens < need:
            yield Finding.at(
                view.path("max-num-batched-tokens"),
                tokens,
                f"{tokens} tokens per step are fewer than the {need} that decode needs",
            )


@RULES.rule(
    "SEQS-BUDGET",
    "Raise max-num-batched-tokens or lower max-num-seqs.",
    "vLLM config/scheduler.py: max_num_batched_tokens must be at least max_num_seqs",
)
def sequences_budget(case: Case) -> t.Iterator[Finding]:
    """The token budget max-num-batched-tokens is less than max-num-seqs.

    vLLM does not start.
    """
    for view in case.engine_views:
        tokens, sequences = view.integer("max-num-batched-tokens"), view.integer("max-num-seqs")
        if tokens and sequences and tokens < sequences:
            yield Finding.at(
                view.path("max-num-batched-tokens"),
                tokens,
                f"{tokens} tokens per step are fewer than max-num-seqs {sequences}",
            )


@RULES.rule(
    "CHUNKED-BUDGET",
    "Raise max-num-batched-tokens to max-model-len, or allow chunked prefill.",
    "vLLM config/scheduler.py: max_num_batched_tokens is smaller than max_model_len",
)
def chunked(case: Case) -> t.Iterator[Finding]:
    """The token budget max-num-batched-tokens is less than max-model-len, and chunked prefill is off.

    vLLM does not start.
    """
    for view in case.engine_views:
        tokens, length = view.integer("max-num-batched-tokens"), view.integer("max-model-len")
        if view.truth("enable-chunked-prefill") is False and tokens and length and tokens < length:
            problem = f"{tokens} tokens per step are fewer than max-model-len {length}, and chunked prefill is off"
            yield Finding.at(view.path("max-num-batched-tokens"), tokens, problem)


@RULES.rule("GPU-MEMORY", "Write a fraction such as 0.9.", "vLLM config/cache.py: checked after the parser, at start")
def memory(case: Case) -> t.Iterator[Finding]:
    """gpu-memory-utilization is not between 0 and 1.

    vLLM refuses it and fails to start.
    """
    for view in case.engine_views:
        written = view.value("gpu-memory-utilization") or "0.9"
        fraction = number(written)
        if fraction is not None and not 0 < fraction <= 1:  # FLAG-VALUE reports what is no number
            problem = f"{written} is not a fraction above 0 and up to 1"
            yield Finding.at(view.path("gpu-memory-utilization"), written, problem)


@RULES.rule(
    "QUANTIZATION-MISSING",
    "Add quantization: ascend.",
    "vllm-ascend docs: out of memory or 'Tensor scale not implemented' without it",
    "warning",
)
def quantization(case: Case) -> t.Iterator[Finding]:
    """A model that is quantized for Ascend is loaded without --quantization ascend.

    The engine runs out of memory, or fails with 'Tensor scale not implemented'. From 0.17 on vLLM-Ascend takes the method from the
    model's files.
    """
    model = case.context.description.model
    found = QUANTIZED.search(model.path) or QUANTIZED.search(model.name)
    if not found or not case.npu or case.context.release.detects_quantization:
        return
    for view in case.engine_views:
        if "quantization" not in view.table and view.kind != "encode":
            problem = f"--quantization is not set although the model's name has {found.group(1)}"
            yield Finding.at(view.path("quantization"), "", problem)


@RULES.rule("CPU-QUANTIZATION", "Use a model that is not quantized for Ascend.", "vLLM CPU: unknown method ascend")
def cpu_quantization(case: Case) -> t.Iterator[Finding]:
    """The CPU engine is configured with Ascend quantization.

    vLLM on CPU fails to start: unknown quantization method.
    """
    for view in case.engine_views if not case.npu else ():
        if view.value("quantization") == "ascend":
            yield Finding.at(view.path("quantization"), "ascend", "the CPU engine has no quantization method ascend")


@RULES.rule(
    "EAGER-GRAPH",
    "Remove enforce-eager or the compilation-config.",
    "vLLM: --enforce-eager switches graphs off",
    "warning",
)
def eager(case: Case) -> t.Iterator[Finding]:
    """Graph settings are combined with enforce-eager.

    enforce-eager switches graphs off, so they have no effect.
    """
    for view in case.engine_views:
        config = view.mapping("compilation-config")
        if view.truth("enforce-eager") and (config.get("cudagraph_mode", "NONE") != "NONE"):
            problem = f"cudagraph_mode {config['cudagraph_mode']} is set, but enforce-eager switches graphs off"
            yield Finding.at(view.key_path("compilation-config", "cudagraph_mode"), config["cudagraph_mode"], problem)


@RULES.rule(
    "RECOMPUTE-ON-PREFILL",
    "Remove recompute_scheduler_enable from prefill's additional-config; only decode uses it.",
    "vllm-ascend #11265 (accuracy; mended in 0.23.0rc1, which ignores it on prefill); tutorials of 0.13.0 to 0.22.1rc1 recommend it",
    "warning",
)
def recompute_prefill(case: Case) -> t.Iterator[Finding]:
    """The recompute scheduler is enabled on prefill.

    It is made for decode. On prefill it can make answers less accurate, which upstream found after documents of several releases had recommended
    it for both; later releases ignore it there. It is a warning: the documents of each faulty release recommend the setting.
    """
    known = RECOMPUTE_HERE.get(case.context.release.recompute_on_prefill, "")
    for view in case.of("prefill"):
        key = recompute_key(view)
        if key:
            problem = f"the recompute scheduler is enabled on prefill{known}"
            yield Finding.at(view.key_path(CONFIG, key), True, problem)


@RULES.rule(
    "RECOMPUTE-COLOCATED",
    "Remove recompute_scheduler_enable from additional-config.",
    "vllm-ascend: ValueError with kv_both, and from 0.18 on without a connector",
)
def recompute_both(case: Case) -> t.Iterator[Finding]:
    """The recompute scheduler is enabled on a colocated pool.

    There is no prefill engine to recompute; the engine fails to start with a ValueError.
    """
    alone = case.npu and case.context.release.vllm_version >= (0, 18)
    for view in case.of("colocated"):
        key = recompute_key(view)
        if key and (view.kv or alone):
            yield Finding.at(view.key_path(CONFIG, key), True, "the recompute scheduler is enabled on a colocated pool")


@RULES.rule(
    "RECOMPUTE-RELEASE",
    "Choose a release from 0.11.0rc1 on, or remove recompute_scheduler_enable.",
    "vllm-ascend #3448: supported by the proxy from 0.11.0rc1 on",
)
def recompute_release(case: Case) -> t.Iterator[Finding]:
    """The recompute scheduler is enabled in a release whose proxies do not support it.

    The proxy returns truncated 'recomputed' answers to the client.
    """
    for view in case.of("decode") if case.npu and case.context.release.vllm_version < (0, 11) else ():
        if view.mapping("additional-config").get("recompute_scheduler_enable"):
            problem = f"the proxies of release {case.context.release.name} do not support the recompute scheduler"
            yield Finding.at(view.key_path("additional-config", "recompute_scheduler_enable"), True, problem)


@RULES.rule(
    "REDUCE-SAMPLE",
    "Remove enable_reduce_sample from additional-config.",
    "vllm-ascend #13469: switched off with disaggregated prefill",
    "warning",
)
def reduce_sample(case: Case) -> t.Iterator[Finding]:
    """enable_reduce_sample is set on a disaggregated pool.

    vLLM-Ascend disables it there, so it has no effect.
    """
    for view in case.of("prefill", "decode"):
        if view.mapping("additional-config").get("enable_reduce_sample"):
            problem = f"enable_reduce_sample is set on a disaggregated {view.kind} pool"
            yield Finding.at(view.key_path("additional-config", "enable_reduce_sample"), True, problem)
