# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of --additional-config: the keys that the release of vLLM-Ascend reads, and what they need."""

from __future__ import annotations

import functools
import typing as t

from ...description.findings import Finding
from ...releases import values as data
from ...releases.release import ADDITIONAL_SPANS, ORDER, Release
from .base import Case, Rules
from .engine_view import EngineView
from .json_values import Problem, judged

RULES = Rules()
FLAG = "additional-config"
SOURCE = "vllm_ascend/ascend_config.py and every module that reads additional_config, by release"
# Keys that the sources do not list: each replaces the field of that name of vLLM's SchedulerConfig (vllm_ascend/core/schedule_config.py).
OPEN = "ascend_scheduler_config"
RANGES = {  # above what, key: the first vLLM that checks it, and the numbers that it takes
    ("profiling_chunk_config", "max_fit_chunk"): ((0, 19), 6, 10**9),
    ("profiling_chunk_config", "min_chunk"): ((0, 19), 1, 10**9),
    ("eplb_config", "eplb_policy_type"): ((0, 18), 0, 3),
    ("", "enable_fused_mc2"): ((0, 24), 0, 1),
}
STEP = 2048  # vLLM 0.11 engine/arg_utils.py: max_num_batched_tokens of a server that is told none
BALANCE, BALANCE_KEY = "VLLM_ASCEND_BALANCE_SCHEDULING", "enable_balance_scheduling"


@functools.lru_cache(maxsize=64)
def _known(words: tuple[str, ...]) -> data.Known:
    return data.known(words)


def known(release: Release) -> data.Known:
    """What a release takes; nothing where no sources were collected."""
    return _known((*release.additional_config, *release.additional_values))


def problems(case: Case) -> t.Iterator[tuple[EngineView, Problem]]:
    """Everything that is wrong with keys and kinds of values."""
    for view in case.engine_views if case.npu else ():
        for problem in judged(known(case.context.release), "", view.mapping(FLAG)):
            if problem[0].rpartition(".")[0] != OPEN or problem[2] != "key":
                yield view, problem


@RULES.rule("CONFIG-KEY", "Otherwise remove the key.", SOURCE)
def key(case: Case) -> t.Iterator[Finding]:
    """--additional-config has a key that the release does not read.

    Releases from 0.27.1rc1 on end at start; older ones drop the setting without a message.
    """
    release = case.context.release
    for view, (path, value, problem, near) in problems(case):
        if problem == "key":
            parent, dummy, own = path.rpartition(".")
            severity = _severity(release, parent)
            text = f"release {release.name} reads no {own}{f' in {parent}' if parent else ''}{_when(path)}"
            past = "Choose such a release if the key is needed." if path in ADDITIONAL_SPANS else ""
            fix = past or near or "Correct the name if it is misspelt."
            yield Finding.at(view.key_path(FLAG, path), value, text, fix, severity)


def _severity(release: Release, parent: str) -> str:
    """An error where the release refuses it; the development branch moves."""
    return "" if parent in known(release).strict and release.name != "main" else "warning"


def _when(path: str) -> str:
    """When other releases read a key; empty if none does."""
    spans = ADDITIONAL_SPANS.get(path)
    if not spans:
        return ""
    first, last = spans[0][0] or next(iter(ORDER)), spans[-1][1]
    return f"; {first} to {last} did" if last else f"; {first} and later do"


@RULES.rule("CONFIG-VALUE", "Write a value of this kind.", SOURCE)
def value_(case: Case) -> t.Iterator[Finding]:
    """A key of --additional-config has a value that the release does not take.

    Releases from 0.27.1rc1 on end at start; older ones take any text for true.
    """
    release = case.context.release
    for view, (path, value, problem, near) in problems(case):
        if problem != "key":
            severity = _severity(release, path.rpartition(".")[0])
            text = f"{path} takes {problem}, not {value!r}"
            yield Finding.at(view.key_path(FLAG, path), value, text, near, severity)


@RULES.rule(
    "CONFIG-ROLE",
    "Remove layer_sharding here; only a prefill pool with a connector may have it.",
    "vllm_ascend/platform.py: layer_sharding can only be enabled in PD-disaggregated's P node",
)
def role(case: Case) -> t.Iterator[Finding]:
    """Sharding of layers (layer_sharding) is set outside of a prefill pool.

    The engine ends at start with a ValueError.
    """
    has = "layer_sharding" in case.context.release.additional_config and case.context.release.vllm_version >= (0, 19)
    for view in case.of("decode", "colocated") if has else ():
        sharding = view.mapping(FLAG).get("layer_sharding")
        if sharding:
            yield Finding.at(
                view.key_path(FLAG, "layer_sharding"), sharding, f"layer_sharding is set in pool {view.kind}"
            )


def _scheduler(view: EngineView, key: str) -> tuple[str, t.Any]:
    """Place and value of a key that newer releases have in scheduler_config, and older ones above it; None if it is in neither."""
    given = view.mapping(FLAG)
    nested = given.get("scheduler_config")
    if isinstance(nested, dict) and key in nested:
        return view.key_path(FLAG, f"scheduler_config.{key}"), nested[key]
    return view.key_path(FLAG, key), given.get(key)


@RULES.rule(
    "CONFIG-RANGE",
    "Choose a number within it, or remove the key.",
    "vllm-ascend ascend_config.py: must be 0 or 1; must in [0, 1, 2, 3]; Recommend to use at least 30 data points for fitting",
)
def range_(case: Case) -> t.Iterator[Finding]:
    """A number of --additional-config is outside of what the release takes.

    The engine ends at start with a ValueError or an AssertionError.
    """
    for view in case.engine_views if case.npu else ():
        for (path, key), (first, least, most) in RANGES.items():
            where, found = _scheduler(view, path) if path else (view.key_path(FLAG, key), view.mapping(FLAG))
            value = found.get(key) if isinstance(found, dict) else None
            if case.context.release.vllm_version >= first and isinstance(value, int) and not least <= value <= most:
                yield Finding.at(
                    f"{where}.{key}" if path else where, value, f"{key} takes {least} to {most}, not {value}"
                )


@RULES.rule(
    "BALANCE-MIXED",
    "Remove it here; only colocated engines may have it.",
    "vllm-ascend platform.py from 0.18 on: enable_balance_scheduling only supports PD-mixed mode",
)
def balance(case: Case) -> t.Iterator[Finding]:
    """Balance scheduling is on in a pool that only prefills or only decodes.

    The engine ends at start with a ValueError.
    """
    release = case.context.release
    refused = case.npu and release.vllm_version >= (0, 18) and release.name != "0.18.0rc1"
    for view in case.engine_views if refused else ():
        path, enabled = _scheduler(view, BALANCE_KEY)
        if enabled is None or not {BALANCE_KEY, "scheduler_config"} & set(release.additional_config):
            path, enabled = view.env_path(BALANCE), view.env.get(BALANCE, "0").strip() not in ("", "0")
        if enabled and view.kv.get("kv_role") in ("kv_producer", "kv_consumer"):
            yield Finding.at(path, enabled, f"balance scheduling is on in pool {view.kind}, which transfers KV cache")


@RULES.rule(
    "CHUNK-PIPELINE",
    "Set pipeline_parallel_size to 2 or more, or remove it.",
    "vllm-ascend ascend_config.py from 0.19 on: profiling_chunk_config requires pipeline parallelism (pp > 1)",
)
def chunks(case: Case) -> t.Iterator[Finding]:
    """Chunks of prefill are sized by a profile, which is for pipeline parallelism, in a pool without it.

    The engine ends at start with a ValueError.
    """
    for view in case.engine_views if case.npu and case.context.release.vllm_version >= (0, 19) else ():
        path, found = _scheduler(view, "profiling_chunk_config")
        if isinstance(found, dict) and found.get("enabled") and view.instance.pool.pipeline_parallel_size == 1:
            problem = f"profiling_chunk_config is on, and pool {view.kind} has no pipeline parallelism"
            yield Finding.at(f"{path}.enabled", found["enabled"], problem)


@RULES.rule(
    "SCHEDULER-CHUNKS",
    f"Set {OPEN}.enable_chunked_prefill: true, or max-num-batched-tokens to max-model-len.",
    "vllm-ascend core/schedule_config.py up to 0.11: Ascend scheduler is enabled without chunked prefill feature",
)
def whole_prompts(case: Case) -> t.Iterator[Finding]:
    """The Ascend scheduler takes prompts whole, and a step has fewer tokens than the longest prompt.

    The engine ends at start with a ValueError.
    """
    for view in case.engine_views if case.npu and case.context.release.vllm_version < (0, 12) else ():
        found = view.mapping(FLAG).get(OPEN)
        whole = view.truth("enable-chunked-prefill") is False  # vLLM's own default is then the longest prompt
        longest, given = view.integer("max-model-len"), view.integer("max-num-batched-tokens")
        given = STEP if given is None and not whole else given
        if isinstance(found, dict) and found.get("enabled") and not found.get("enable_chunked_prefill"):
            step = found.get("max_num_batched_tokens", given)
            if longest and isinstance(step, int) and step < longest:
                problem = f"a step of pool {view.kind} has {step} tokens, and max-model-len is {longest}"
                yield Finding.at(view.key_path(FLAG, f"{OPEN}.enabled"), found["enabled"], problem)


@RULES.rule(
    "EPLB-ENVIRONMENT",
    "Set DYNAMIC_EPLB: 'true' in env of the same pool.",
    "vllm_ascend/ascend_config.py EplbConfig: DYNAMIC_EPLB or EXPERT_MAP_RECORD must be set to true",
)
def eplb(case: Case) -> t.Iterator[Finding]:
    """Dynamic expert load balancing is on, and the environment does not allow it.

    The engine ends at start with an AssertionError.
    """
    checked = case.npu and case.context.release.vllm_version >= (0, 18)
    for view in case.engine_views if checked else ():
        found = view.mapping(FLAG).get("eplb_config")
        found = found if isinstance(found, dict) else {}
        on = next((name for name in ("dynamic_eplb", "expert_map_record_path") if found.get(name)), "")
        if not on or "eplb_config" not in case.context.release.additional_config:
            continue
        allowed = (
            view.env.get("DYNAMIC_EPLB", "").lower() in ("true", "1") or view.env.get("EXPERT_MAP_RECORD") == "true"
        )
        if not allowed:
            yield Finding.at(
                view.key_path(FLAG, f"eplb_config.{on}"), found[on], f"{on} is set, and DYNAMIC_EPLB is not"
            )
