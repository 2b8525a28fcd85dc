# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of vLLM's metrics, read from its sources; nothing is imported or run.

``read(folder)`` returns names as Prometheus stores them: ``vllm:prompt_tokens_total`` of the counter ``vllm:prompt_tokens``, and
``..._bucket``, ``..._sum`` and ``..._count`` of a histogram.
"""

from __future__ import annotations

import ast
import pathlib
import re
import typing as t

NAME = re.compile(r"vllm:[a-z0-9_]+")
ENDS = {"gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


def kind_of(call: ast.Call) -> str:
    """``gauge``, ``counter`` or ``histogram`` by the name of what is called: Gauge, self._gauge_cls, gauge_cls; else empty."""
    called = ast.unparse(call.func).lower()
    return next((kind for kind in ("gauge", "counter", "histogram") if kind in called), "")


def exported(name: str, kind: str) -> t.Iterator[str]:
    """The names of a metric's series; the client library adds _total to counters."""
    if kind == "counter":
        yield name if name.endswith("_total") else f"{name}_total"
        return
    yield from (f"{name}{end}" for end in ENDS.get(kind, ("",)))


def of_file(path: pathlib.Path) -> t.Iterator[str]:
    """Names in one file. A name outside of a call, such as that of a constant, has no kind and is kept as it is."""
    tree = ast.parse(path.read_bytes())
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            values = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "name")]
            for value in values:
                if isinstance(value, ast.Constant) and NAME.fullmatch(str(value.value)) and kind_of(node):
                    inside.add(id(value))
                    yield from exported(str(value.value), kind_of(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in inside and NAME.fullmatch(str(node.value)):
            yield str(node.value)


def read(folder: pathlib.Path) -> list[str]:
    """The names of one vLLM, sorted; ``folder`` contains ``vllm/``."""
    places = ("vllm/v1/metrics", "vllm/distributed/kv_transfer")
    files = [path for place in places for path in sorted((folder / place).rglob("*.py"))]
    return sorted({name for path in files for name in of_file(path)})
