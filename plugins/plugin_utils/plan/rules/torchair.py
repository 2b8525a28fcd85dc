# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of TorchAir's graphs, which releases up to 0.11 have beside ACL graphs: which models each of them takes."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from ...releases.model_figures import of_model
from .base import Case, Rules
from .engine_view import EngineView

RULES = Rules()
CONFIG, KEY = "additional-config", "torchair_graph_config"
SOURCE = "vllm-ascend ascend_config.py check_ascend_config of 0.9.1 to 0.11.0"
OF_GRAPHS = (  # what is refused without enabled
    *("mode", "use_cached_graph", "use_cached_kv_cache_bytes", "graph_batch_sizes", "graph_batch_sizes_init"),
    *("enable_multistream_mla", "enable_multistream_moe", "enable_kv_nz", "enable_super_kernel"),
)
END = (0, 11, 99)  # 0.12.0rc1 has no TorchAir
# TORCHAIR_MODEL_LIST of each release, newest first; 0.9.1 has no list, and asks for deepseek
MODELS = (
    ((0, 10, 1), ("deepseek", "pangu", "kimi_k2", "qwen")),
    ((0, 10, 0), ("deepseek", "pangu", "kimi_k2")),
    ((0, 9, 2), ("deepseek", "pangu")),
    ((0,), ("deepseek",)),
)


def graphs(case: Case) -> t.Iterator[tuple[EngineView, bool, str]]:
    """Each engine of a release with TorchAir, whether TorchAir is on, and its kind of model; empty if it is not known."""
    version = case.context.release.vllm_version
    for view in case.engine_views if case.npu and version <= END else ():
        if version < (0, 10) and view.env.get("VLLM_USE_V1") == "0":
            continue  # another engine, with other checks
        given = view.mapping(CONFIG).get(KEY)
        model = case.context.description.model
        source = of_model(view.instance.pool.model or model.path, model.name, model.moe).source.lower()
        # A distilled model has its smaller family's type: deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B
        kind = next((name for name in ("qwen", "deepseek", "glm") if name in source), "")
        yield view, isinstance(given, dict) and bool(given.get("enabled")), kind


@RULES.rule(
    "TORCHAIR-EAGER", "Remove one of them.", f"{SOURCE}: Can't enable graph mode and eager mode at the same time"
)
def eager(case: Case) -> t.Iterator[Finding]:
    """TorchAir's graphs are enabled beside enforce-eager.

    The engine ends at start with a RuntimeError.
    """
    for view, enabled, _kind in graphs(case):
        if enabled and view.truth("enforce-eager"):
            problem = f"{KEY}.enabled is true in pool {view.kind}, which has enforce-eager"
            yield Finding.at(view.key_path(CONFIG, f"{KEY}.enabled"), True, problem)


@RULES.rule(
    "TORCHAIR-OFF",
    f"Set {KEY}.enabled: true, or remove it.",
    "vllm-ascend ascend_config.py TorchairGraphConfig: is valid only when Torchair graph mode is enabled",
)
def switched_off(case: Case) -> t.Iterator[Finding]:
    """A setting of TorchAir's graphs is written, and they are not enabled.

    The engine ends at start with a RuntimeError.
    """
    for view, enabled, _kind in graphs(case):
        given = view.mapping(CONFIG).get(KEY)
        for name in () if enabled or not isinstance(given, dict) else OF_GRAPHS:
            if given.get(name):
                problem = f"{KEY} of pool {view.kind} has {name}, and is not enabled"
                yield Finding.at(view.key_path(CONFIG, f"{KEY}.{name}"), given[name], problem)


@RULES.rule(
    "TORCHAIR-MODEL",
    f"Remove {KEY}.enabled; the engine uses ACL graphs then.",
    f"{SOURCE}: Torchair graph mode only works with deepseek model, and TORCHAIR_MODEL_LIST",
)
def other_model(case: Case) -> t.Iterator[Finding]:
    """TorchAir's graphs are enabled for a model that they do not support in this release.

    The engine ends at start with a NotImplementedError.
    """
    release = case.context.release
    supported = next((names for first, names in MODELS if release.vllm_version >= first), ())
    for view, enabled, kind in graphs(case):
        if enabled and kind and kind not in supported and not view.truth("enforce-eager"):
            problem = (
                f"release {case.context.release.name} has TorchAir for {', '.join(supported)} only, not for {kind}"
            )
            yield Finding.at(view.key_path(CONFIG, f"{KEY}.enabled"), True, problem)


@RULES.rule(
    "ACLGRAPH-DEEPSEEK",
    f"Set enforce-eager: true for the pool, or additional-config: {{{KEY}: {{enabled: true}}}}.",
    "vllm-ascend ascend_config.py check_ascend_config of 0.9.1 and 0.10.1rc1: ACL Graph does not support deepseek",
)
def acl_graph(case: Case) -> t.Iterator[Finding]:
    """A DeepSeek model has neither TorchAir's graphs nor enforce-eager, in a release whose ACL graphs do not support it.

    The engine ends at start with a NotImplementedError.
    """
    for view, enabled, kind in graphs(case) if case.context.release.vllm_version < (0, 11) else ():
        if kind == "deepseek" and not enabled and not view.truth("enforce-eager"):
            problem = f"pool {view.kind} uses ACL graphs, which release {case.context.release.name} does not have for DeepSeek"
            yield Finding.at(view.path("enforce-eager"), "", problem)
