# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule of kv_connector_extra_config: a mapping, with the sizes that Mooncake's connectors read at their start."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from ..render import kv
from .base import Case, Rules
from .engine_view import extra_of

RULES = Rules()
SIZED = ("mooncake", "mooncake_hybrid")
EXTRA = "kv_connector_extra_config"


@RULES.rule(
    "KV-SIZES",
    "Leave kv-transfer-config out: the planner writes it with the sizes of both pools.",
    "vllm-ascend 0.11.0 to 0.30.0rc2: assert 'tp_size' in prefill_parallel_config (mooncake_connector.py, mooncake_hybrid_connector.py)",
)
def extra(case: Case) -> t.Iterator[Finding]:
    """A connector's kv_connector_extra_config is no mapping, or lacks the sizes of the pools.

    vLLM or the connector ends at its start.
    """
    if "Connector" in case.context.description.kv_transfer:  # TRANSFER-UNKNOWN says what to write
        return
    for view in case.engine_views:
        for connector in view.connectors:
            given = connector.get(EXTRA)
            if given is not None and not isinstance(given, dict):
                yield Finding.at(view.kv_path(EXTRA), given, f"{EXTRA} is not a mapping of settings")
            elif case.npu and case.disaggregated and kv.word_of(str(connector.get("kv_connector", ""))) in SIZED:
                lacking = [side for side in ("prefill", "decode") if not _complete(extra_of(connector).get(side))]
                if lacking:
                    problem = f"{EXTRA} has no dp_size and tp_size of {' and '.join(lacking)}"
                    yield Finding.at(view.kv_path(EXTRA), "", problem)


def _complete(sizes: t.Any) -> bool:
    return isinstance(sizes, dict) and {"dp_size", "tp_size"} <= set(sizes)
