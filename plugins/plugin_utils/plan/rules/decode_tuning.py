# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of three groups of keys of --additional-config with conditions of their own: finegrained_tp_config, xlite_graph_config and enable_kvpp."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from .base import Case, Rules
from .engine_view import EngineView
from .start_checks import CONFIG, between

RULES = Rules()
FINE = "finegrained_tp_config"
SUFFIX = "_tensor_parallel_size"
PREEMPT = "PreemptOffloadConnector"
RECOMPUTE = "recompute_scheduler_enable"


def recompute_key(view: EngineView) -> str:
    """The key that enables the recompute scheduler of an engine, as it is written: at the top, or from 0.27 on in scheduler_config."""
    config = view.mapping(CONFIG)
    nested = config.get("scheduler_config")
    if config.get(RECOMPUTE):
        return RECOMPUTE
    return f"scheduler_config.{RECOMPUTE}" if isinstance(nested, dict) and nested.get(RECOMPUTE) else ""


def _connectors(view: EngineView) -> set[str]:
    return {str(connector.get("kv_connector")) for connector in view.connectors}


def _wrong(case: Case, view: EngineView, part: str, size: int) -> str:
    """Why an engine does not take the size of one part of the model; empty if it does."""
    version = case.context.release.vllm_version
    newer = version >= (0, 30)
    if view.instance.pool.data_parallel_size % size:
        return f"{size} does not divide data_parallel_size {view.instance.pool.data_parallel_size}"
    if part in (("oproj", "mlp") if newer else ("oproj", "olora")):
        if view.kind != "decode" or not view.kv:
            return f"only decode with a connector may have it, and this is {view.kind}"
        if view.truth("enforce-eager"):
            return "enforce-eager is set, and it needs graphs"
    if version < (0, 23):
        return ""
    if part in (("oproj", "mlp") if newer else ("oproj",)) and view.instance.pool.tensor_parallel_size > 1:
        return f"tensor_parallel_size is {view.instance.pool.tensor_parallel_size}, and it needs 1"
    if part in (("oproj", "mlp") if newer else ("oproj", "embedding")) and not recompute_key(view):
        return f"{RECOMPUTE} is not on"
    if part in ("oproj", "mlp") and newer and size > 1 and PREEMPT not in _connectors(view):
        return "preempt_offload is not in the pool's kv_transfer"
    return ""


@RULES.rule(
    "FINE-TP",
    "Change what the finding names, or remove the size.",
    "vllm-ascend from 0.12 on: ascend_config.py FinegrainedTPConfig, platform.py",
)
def fine(case: Case) -> t.Iterator[Finding]:
    """A size of finegrained_tp_config does not fit the other settings of the engine.

    The engine ends at start with an AssertionError.
    """
    for view in between(case, (0, 12)):
        sizes = view.mapping(CONFIG).get(FINE)
        for key, size in sizes.items() if isinstance(sizes, dict) else ():
            part = str(key).removesuffix(SUFFIX)
            problem = _wrong(case, view, part, size) if isinstance(size, int) and size > 0 else ""
            if problem:
                yield Finding.at(view.key_path(CONFIG, f"{FINE}.{key}"), size, f"{key}: {problem}")


@RULES.rule(
    "XLITE",
    "Change what the finding names, or remove xlite_graph_config.",
    "vllm-ascend ascend_config.py XliteGraphConfig from 0.12 to 0.28",
)
def xlite(case: Case) -> t.Iterator[Finding]:
    """The graphs of Xlite are on beside a setting that they do not take in this release.

    The engine ends at start with a RuntimeError.
    """
    version = case.context.release.vllm_version
    for view in between(case, (0, 12), (0, 29)):
        given, tokens = view.mapping(CONFIG).get("xlite_graph_config"), view.speculative_tokens
        if not isinstance(given, dict) or not given.get("enabled"):
            continue
        problem = ""
        if tokens and (version < (0, 23) or tokens != 1):
            problem = f"speculation has {tokens} tokens, and it takes {'none' if version < (0, 23) else 1}"
        elif view.instance.pool.pipeline_parallel_size > 1:
            problem = "pipeline_parallel_size is above 1"
        elif version < (0, 19) and view.integer("block-size") != 128:
            problem = "block-size: 128 is not written"
        if problem:
            yield Finding.at(view.key_path(CONFIG, "xlite_graph_config.enabled"), True, f"Xlite is on, and {problem}")


@RULES.rule(
    "KVPP",
    "Remove it there. It works without a connector, with the store, and on prefill with mooncake_v2; not with decode context parallelism.",
    "vllm-ascend 0.30.0rc2 ascend_config.py: KVPPConfig.validate",
)
def kvpp(case: Case) -> t.Iterator[Finding]:
    """The option enable_kvpp is on where the release does not take it.

    The engine ends at start with a ValueError.
    """
    for view in between(case, (0, 30)):
        if view.mapping(CONFIG).get("enable_kvpp") is not True:
            continue
        connectors, problem = _connectors(view), ""
        if view.instance.pool.decode_context_parallel_size > 1:
            problem = "decode_context_parallel_size is above 1"
        elif connectors and connectors != {"AscendStoreConnector"} and connectors != {"MooncakeConnectorV2"}:
            problem = f"the connector is {'+'.join(sorted(connectors))}"
        elif connectors == {"MooncakeConnectorV2"} and view.kind == "decode":
            problem = "this is a decode pool"
        if problem:
            yield Finding.at(view.key_path(CONFIG, "enable_kvpp"), True, f"enable_kvpp is on, and {problem}")
