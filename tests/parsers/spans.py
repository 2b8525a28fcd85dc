# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Are the times in vLLM's spans those of its counters? The playbook trace reads counters for this reason (plugin_utils/trace/report.py)."""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

import environments

TIMES = ("queued_time", "prefill_time", "decode_time")
# Where vLLM computes them for its spans, and where for its counters.
PLACES = {"do_tracing": "v1/engine/output_processor.py", "update_from_finished_request": "v1/metrics/stats.py"}


def problems(version: str) -> list[str]:
    """What differs between the two in a vLLM's wheel."""
    environments.vllm(version)
    folder = environments.CACHE / f"vllm-{environments.BUILDS.get(version, version)}" / "vllm"
    found = {function: times(folder / file, function) for function, file in PLACES.items()}
    spans, counters = found.values()
    if "def do_tracing" not in (folder / PLACES["do_tracing"]).read_text(encoding="utf-8"):
        return []  # an engine of an older release makes no spans
    return [
        f"{name} of a span is {spans.get(name)}, and of a counter {counters.get(name)}"
        for name in TIMES
        if name not in spans or spans[name] != counters.get(name)
    ]


def times(file: Path, function: str) -> dict[str, tuple[str, ...]]:
    """``{name: attributes}`` of the request's record from which a function computes each time, in their order.

    A time of a span that is the difference of two attributes looks like ``("scheduled_ts", "queued_ts")``.
    """
    body: t.Iterable[ast.AST] = (
        node
        for top in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(top, ast.FunctionDef) and top.name == function
        for node in ast.walk(top)
    )
    return {
        node.targets[0].id: (node.value.left.attr, node.value.right.attr)
        for node in body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.BinOp)
        and isinstance(node.value.op, ast.Sub)
        and isinstance(node.value.left, ast.Attribute)
        and isinstance(node.value.right, ast.Attribute)
    }
