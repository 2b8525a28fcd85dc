# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of combinations that the configuration code of vLLM and vLLM-Ascend refuses when an engine starts."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from .base import Case, Rules
from .engine_view import EngineView
from .model_figures import MTP, SPECULATIVE, figures

RULES = Rules()
CONFIG = "additional-config"
TOKENS = "num_speculative_tokens"
RUNNER = "VLLM_USE_V2_MODEL_RUNNER"
BLOCKING = "ASCEND_LAUNCH_BLOCKING"
FLASHCOMM = "VLLM_ASCEND_ENABLE_FLASHCOMM1"
# Methods of speculation with a draft model, those without one that need a number of tokens, and those that hold the scheduler up
DRAFTED = ("eagle", "eagle3", "medusa", "mlp_speculator", "draft_model", "dflash")
COUNTED = (*MTP, "ngram", "ngram_gpu")
NOT_ASYNC = ("ngram", "suffix", "medusa", "mlp_speculator")


class Together(t.NamedTuple):
    """An option that needs another one, from one vLLM on and before another. ``given``: the values that need it; empty: each."""

    flag: str
    needs: str
    has: t.Callable[[EngineView], t.Any]
    given: tuple[str, ...] = ()
    since: tuple[int, ...] = ()
    end: tuple[int, ...] = ()


TOGETHER = (
    Together("enable-log-outputs", "enable-log-requests: true", lambda view: view.truth("enable-log-requests")),
    Together(
        "ray-workers-use-nsight",
        "distributed-executor-backend: ray",
        lambda view: view.value("distributed-executor-backend") == "ray",
    ),
    Together(
        "dtype", "another quantization", lambda view: view.value("quantization") != "ascend", given=("float32", "float")
    ),
    Together("enable-return-routed-experts", "an engine without a connector", lambda view: not view.kv, since=(0, 23)),
    Together(
        "enable-mamba-cache-stochastic-rounding",
        "mamba-ssm-cache-dtype: float16",
        lambda view: view.value("mamba-ssm-cache-dtype") == "float16",
    ),
    Together("kv-offloading-backend", "kv-offloading-size", lambda view: view.value("kv-offloading-size"), end=(0, 14)),
    Together(
        "dcp-comm-backend",
        "a decode_context_parallel_size above 1",
        lambda view: view.instance.pool.decode_context_parallel_size > 1,
        given=("a2a",),
    ),
    Together(
        "mamba-ssu-algorithm", "mamba-backend: flashinfer", lambda view: view.value("mamba-backend") == "flashinfer"
    ),
    # vLLM-Ascend 0.19 ignores it
    Together("enable-dbo", "GPUs with DeepEP", lambda view: "deepep" in view.value("all2all-backend"), end=(0, 19)),
    Together(
        "ubatch-size",
        "GPUs with DeepEP",
        lambda view: (view.integer("ubatch-size") or 0) < 2 or "deepep" in view.value("all2all-backend"),
        end=(0, 19),
    ),
    Together(
        "spec-tokens", f"a speculative-config without {TOKENS}", lambda view: TOKENS not in view.mapping(SPECULATIVE)
    ),
    Together(
        "spec-tokens",
        "spec-method or spec-model",
        lambda view: {"spec-method", "spec-model", *view.mapping(SPECULATIVE)} & {*view.table, "method", "model"},
    ),
    # vLLM passes it on as a key of additional-config that vLLM-Ascend refuses
    Together("kda-decode-backend", "another platform than NPUs", lambda view: False, since=(0, 30)),
)


def between(case: Case, first: tuple[int, ...], end: tuple[int, ...] = ()) -> tuple[EngineView, ...]:
    """The engines on NPUs of a release from one vLLM on and before another."""
    version = case.context.release.vllm_version
    return case.engine_views if case.npu and first <= version and (not end or version < end) else ()


def on(text: str) -> bool:
    """Whether a variable's text is a number other than 0, or true."""
    return text.strip().lower() not in ("", "0", "false")


@RULES.rule(
    "LAUNCH-BLOCKING",
    f"Remove {BLOCKING}, or set enforce-eager to find an error.",
    "vllm-ascend platform.py up to 0.28: ACL graph is incompatible with ASCEND_LAUNCH_BLOCKING=1",
)
def blocking(case: Case) -> t.Iterator[Finding]:
    """ASCEND_LAUNCH_BLOCKING is set for an engine with graphs.

    The engine ends at start with a ValueError.
    """
    for view in between(case, (0, 10), (0, 29)):
        mode = str(view.mapping("compilation-config").get("cudagraph_mode", ""))
        if view.env.get(BLOCKING) == "1" and not view.truth("enforce-eager") and mode.upper() != "NONE":
            yield Finding.at(view.env_path(BLOCKING), "1", f"{BLOCKING} is set and pool {view.kind} uses graphs")


@RULES.rule(
    "PARTIAL-PREFILLS",
    "Remove the option.",
    "vLLM engine/arg_utils.py up to 0.26: Concurrent Partial Prefill is not supported",
)
def partial(case: Case) -> t.Iterator[Finding]:
    """Several prefills of a step are allowed to be partial.

    The engine ends at start with a NotImplementedError: no engine of vLLM V1 has this feature.
    """
    for view in between(case, (0, 10)):
        for flag in ("max-num-partial-prefills", "max-long-partial-prefills"):
            number = view.integer(flag)
            if number is not None and number != 1:
                yield Finding.at(view.path(flag), number, f"--{flag} {number} asks for concurrent partial prefills")


@RULES.rule(
    "VLLM-EPLB",
    "Remove it; additional-config with eplb_config and DYNAMIC_EPLB balance experts on NPUs.",
    "vLLM config/parallel.py: only supported on CUDA devices or ROCm devices; vllm-ascend from 0.27 on: only by model runner V2",
)
def eplb(case: Case) -> t.Iterator[Finding]:
    """vLLM's own balancing of experts, or elastic expert parallelism, which needs it, is on.

    The engine ends at start with a ValueError.
    """
    for view in between(case, (0, 10)):
        if case.context.release.vllm_version >= (0, 27) and on(view.env.get(RUNNER, "")):
            continue
        redundant = "num-redundant-experts"  # refused without enable-eplb
        for flag in ("enable-eplb", "enable-elastic-ep", *([redundant] if view.integer(redundant) else [])):
            if view.truth(flag):
                yield Finding.at(view.path(flag), view.value(flag) or True, f"--{flag} is for other devices than NPUs")


@RULES.rule(
    "FLASHCOMM",
    "Remove it here, or give the pool tensor parallelism, and expert parallelism for a model with experts.",
    "vllm-ascend platform.py from 0.12 to 0.26: Flash Comm v1 is only supported when tp_size > 1; requires enable_expert_parallel",
)
def flashcomm(case: Case) -> t.Iterator[Finding]:
    """FlashComm is on in a pool without tensor parallelism, or without expert parallelism of a model with experts.

    The engine ends at start with an AssertionError.
    """
    for view in between(case, (0, 12), (0, 27)):
        key = view.mapping(CONFIG).get("enable_flashcomm1")
        known = "enable_flashcomm1" in case.context.release.additional_config and key is not None
        if not (key if known else on(view.env.get(FLASHCOMM, ""))):
            continue
        path = view.key_path(CONFIG, "enable_flashcomm1") if known else view.env_path(FLASHCOMM)
        if view.integer("tensor-parallel-size") == 1:
            yield Finding.at(path, 1, f"FlashComm is on, and tensor_parallel_size of pool {view.kind} is 1")
        elif figures(case).experts and not view.truth("enable-expert-parallel"):
            problem = f"FlashComm is on, and the model has experts, which pool {view.kind} does not distribute"
            yield Finding.at(path, 1, problem)


@RULES.rule(
    "KV-NZ",
    "Remove enable_kv_nz here; only a decode pool of a model with latent attention (MLA) may have it.",
    "vllm-ascend ascend_config.py: enable_kv_nz is only supported in pd scenario and can only be used in D node; for mla",
)
def kv_nz(case: Case) -> t.Iterator[Finding]:
    """enable_kv_nz is set outside of a decode pool, or for a model without latent attention.

    The engine ends at start with a NotImplementedError or a RuntimeError.
    """
    for view in between(case, (0, 13)):
        if view.mapping(CONFIG).get("enable_kv_nz") is True:
            path, found = view.key_path(CONFIG, "enable_kv_nz"), figures(case)
            if view.kind != "decode":
                yield Finding.at(path, True, f"enable_kv_nz is set in pool {view.kind}")
            elif found.heads and not found.latent:
                yield Finding.at(path, True, f"{found.source} has no latent attention")


@RULES.rule(
    "PCP-RELEASE",
    "Set prefill_context_parallel_size to 1, or choose release 0.18.0.",
    "vllm-ascend platform.py from 0.22 on: PCP and DP cannot be enabled simultaneously; from 0.25 on: PCP is not supported",
)
def prefill_context(case: Case) -> t.Iterator[Finding]:
    """Prefill context parallelism is combined with data parallelism, or the release does not support it.

    The engine ends at start with a ValueError.
    """
    for view in between(case, (0, 22)):
        pool, version = view.instance.pool, case.context.release.vllm_version
        size = pool.prefill_context_parallel_size
        if size == 1 or version >= (0, 25) and on(view.env.get(RUNNER, "")):
            continue
        path = f"{view.pool_path}.prefill_context_parallel_size"
        if version >= (0, 25):
            problem = f"release {case.context.release.name} does not support prefill context parallelism"
            yield Finding.at(path, size, problem)
        elif pool.data_parallel_size > 1:
            yield Finding.at(path, size, f"data_parallel_size of the same pool is {pool.data_parallel_size}")


@RULES.rule(
    "OPTION-ALONE",
    "Set what it needs, or remove it.",
    "vLLM config/parallel.py, cache.py, mamba.py, vllm.py and cli_args.py, which check them at start",
)
def alone(case: Case) -> t.Iterator[Finding]:
    """An option is set without the one that it needs.

    The engine ends at start with a ValueError or a TypeError.
    """
    for row in TOGETHER:
        for view in between(case, row.since, row.end):
            concerned = view.truth(row.flag) and (not row.given or view.value(row.flag) in row.given)
            if concerned and not row.has(view):
                written = view.value(row.flag) or True
                yield Finding.at(view.path(row.flag), written, f"--{row.flag} of pool {view.kind} needs {row.needs}")


@RULES.rule(
    "SPEC-MODEL",
    "Name the draft model in speculative-config, with num_speculative_tokens; or choose method mtp if the model has MTP layers.",
    "vLLM config/speculative.py: num_speculative_tokens was provided but without speculative model",
)
def draft(case: Case) -> t.Iterator[Finding]:
    """Speculation lacks its method, its draft model, or the number of tokens.

    The engine ends at start with a ValueError.
    """
    version = case.context.release.vllm_version
    for view in case.engine_views:
        given = view.mapping(SPECULATIVE)
        method = given.get("method")
        if (
            version >= (0, 18) and given.get(TOKENS) and not (method or given.get("model"))
        ):  # earlier ones look at the model
            problem = "speculative-config has neither method nor model, so nothing proposes tokens"
            yield Finding.at(view.key_path(SPECULATIVE, TOKENS), given[TOKENS], problem)
        lacks = "model" if method in DRAFTED else TOKENS if method in COUNTED else ""
        if lacks and not given.get("model") and given.get(lacks) is None:
            problem = f"speculative-config has no {lacks}, which method {method} needs"
            yield Finding.at(view.key_path(SPECULATIVE, "method"), method, problem)


@RULES.rule(
    "SPEC-ASYNC",
    "Remove async-scheduling, which vLLM switches on where it can.",
    "vLLM config/vllm.py: async scheduling is only supported with EAGLE/MTP kind of speculative decoding",
)
def asynchronous(case: Case) -> t.Iterator[Finding]:
    """Asynchronous scheduling is demanded beside a method of speculation that it does not support.

    The engine ends at start with a ValueError.
    """
    for view in case.engine_views:
        method = view.mapping(SPECULATIVE).get("method")
        if view.truth("async-scheduling") and method in NOT_ASYNC:
            yield Finding.at(view.path("async-scheduling"), True, f"speculation of method {method} is not asynchronous")


@RULES.rule(
    "OFFLOADING-SIZE",
    "Remove it; inference_kv_transfer: mooncake+store keeps KV cache in host memory beside the transfer.",
    "vLLM config/vllm.py _post_init_kv_transfer_config: the connector becomes OffloadingConnector with kv_both",
)
def offloading(case: Case) -> t.Iterator[Finding]:
    """--kv-offloading-size is set beside a connector.

    vLLM replaces the connector by one that only offloads: no KV cache is transferred any more, and decode computes every prompt.
    """
    for view in case.engine_views:
        name = view.kv.get("kv_connector")
        if "kv-offloading-size" in view.table and name:
            size = view.value("kv-offloading-size")
            yield Finding.at(view.path("kv-offloading-size"), size, f"it replaces {name} of pool {view.kind}")


@RULES.rule(
    "CP-INTERLEAVE",
    "Remove the option: the planner sets it to the block size.",
    "vllm-ascend platform.py: cp_kv_cache_interleave_size and block_size needs to be equal if use pcp or dcp > 1",
)
def interleave(case: Case) -> t.Iterator[Finding]:
    """Context parallelism spreads the KV cache that a connector transfers in other pieces than blocks.

    The engine ends at start with an AssertionError.
    """
    for view in between(case, (0, 12)):
        size, blocks = view.integer("cp-kv-cache-interleave-size"), view.integer("block-size") or 128
        if view.instance.pool.context_parallel_size > 1 and view.kv and size != blocks:
            problem = f"--cp-kv-cache-interleave-size is {size or 'not set'}, and the block size is {blocks}"
            yield Finding.at(view.path("cp-kv-cache-interleave-size"), size, problem)
