# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters of engines and of mooncake_master in Prometheus' text format, and their changes over a time window."""

from __future__ import annotations

import re
from typing import Dict, NamedTuple

from ..tools.foreign_json import number

# name, {labels}, value; exemplars and time stamps after the value are ignored
_SAMPLE = re.compile(r'^([A-Za-z_:][\w:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?\s+(\S+)')
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

SOURCES = ("local_compute", "local_cache_hit", "external_kv_transfer")

FINISHED = "vllm:request_success_total"
RUNNING, WAITING = "vllm:num_requests_running", "vllm:num_requests_waiting"
BY_RANK = (FINISHED, RUNNING, WAITING)

Samples = Dict[str, float]


def read_metrics(text: str) -> Samples:
    """`name` and `name{source=…}` -> the sum over all other labels (engines, ranks, reasons).

    A name is absent if one of its values is text, NaN or infinite: the sum of the others would be taken for the whole.

    Only two labels are kept: `source` of vllm:prompt_tokens_by_source_total (vLLM >= 0.16), and `engine` (the data-parallel rank)
    of requests that have finished, run or wait, such as `vllm:request_success_total{engine=…}`.
    """
    samples: Samples = {}
    unknown = set()
    for line in text.splitlines():
        found = None if line.startswith("#") else _SAMPLE.match(line)
        if not found:
            continue
        names = [found.group(1)]
        labels = dict(_LABEL.findall(found.group(2) or ""))
        if labels.get("source"):
            names.append(f"{found.group(1)}{{source={labels['source']}}}")
        if found.group(1) in BY_RANK and labels.get("engine"):
            names.append(f"{found.group(1)}{{engine={labels['engine']}}}")
        value = _value(found.group(3))
        if value is None:
            unknown.update(names)
            continue
        for name in names:
            samples[name] = samples.get(name, 0.0) + value
    return {name: samples[name] for name in samples if name not in unknown}


def _value(text: str) -> float | None:
    try:
        return number(float(text))
    except ValueError:
        return None


def labels_of(text: str, name: str) -> list[dict[str, str]]:
    """The labels of each sample with this name."""
    found = [_SAMPLE.match(line) for line in text.splitlines()]
    return [dict(_LABEL.findall(item.group(2) or "")) for item in found if item and item.group(1) == name]


class Served(NamedTuple):
    """Tokens and requests of one engine in a window. None = the engine has no such counter."""

    requests: float
    prompt_tokens: float
    external: float | None
    local_compute: float | None
    local_cache: float | None
    promised: float | None
    ttft_seconds: float | None


def served(before: Samples, after: Samples) -> Served:
    """The difference of two readings. A counter that decreased (after a restart) counts from zero."""

    def grown(name: str) -> float | None:
        if name not in after:
            return None
        difference = after[name] - before.get(name, 0.0)
        return after[name] if difference < 0 else difference

    by_source = "vllm:prompt_tokens_by_source_total"
    # The series of a source may appear only with its first token, so the whole family is checked.
    tokens = {source: grown(f"{by_source}{{source={source}}}") for source in SOURCES}
    if by_source in after:
        tokens = {source: value or 0.0 for source, value in tokens.items()}
    first = grown("vllm:time_to_first_token_seconds_count")
    total = grown("vllm:time_to_first_token_seconds_sum")
    return Served(
        requests=grown(FINISHED) or 0.0,
        prompt_tokens=grown("vllm:prompt_tokens_total") or 0.0,
        external=tokens["external_kv_transfer"],
        local_compute=tokens["local_compute"],
        local_cache=tokens["local_cache_hit"],
        promised=grown("vllm:external_prefix_cache_hits_total"),
        ttft_seconds=total / first if first and total is not None else None,
    )


def ranks_served(before: Samples, after: Samples) -> dict[int, float]:
    """{data-parallel rank: finished requests} between two readings; empty without the label `engine`."""
    found = {}
    for name in after:
        rank = re.match(re.escape(FINISHED) + r"\{engine=(\d+)\}\Z", name)
        if rank and after[name] > before.get(name, 0.0):
            found[int(rank.group(1))] = after[name] - before.get(name, 0.0)
    return found


_PUTS = ("master_key_count", "master_put_start_requests_total", "master_batch_put_start_items_total")
_HITS = ("valid_get_nums_", "mem_cache_hit_nums_", "file_cache_hit_nums_")  # Mooncake >= 0.3.8
_ASKED, _MISSED = "master_batch_get_replica_list_items_total", "master_batch_get_replica_list_failed_items_total"


def store_puts(before: Samples, after: Samples) -> float | None:
    """Increase of the master's count of keys or puts; None without these counters."""
    grown = [after[name] - before.get(name, 0.0) for name in _PUTS if name in after]
    return max(grown) if grown else None


def store_gets(before: Samples, after: Samples) -> float | None:
    """Increase of the master's count of gets with a hit; None without these counters.

    Mooncake before 0.3.8 counts requests and failures, not hits.
    """
    grown = [after[name] - before.get(name, 0.0) for name in _HITS if name in after]
    if grown:
        return max(grown)
    if _ASKED not in after:
        return None
    requested, missed = (after.get(name, 0.0) - before.get(name, 0.0) for name in (_ASKED, _MISSED))
    return requested - missed
