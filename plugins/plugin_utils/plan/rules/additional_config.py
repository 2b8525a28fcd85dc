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
