# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The /metrics page: the counters of the release, with its names."""

from __future__ import annotations

import os
from collections import Counter

TICKS = os.sysconf("SC_CLK_TCK")
REASONS = ("stop", "length", "abort", "error")


class Metrics:
    """Counters of one API server, per data parallel rank."""

    def __init__(self, release, model_name, ranks):
        self.release, self.model_name, self.ranks = release, model_name, ranks
        self.values = Counter()
        self.running = Counter()
        self.usage = Counter()

    def count(self, rank, result):
        """Count the result of a request (see engine.Rank.run)."""
        add = self.values
        for name in ("prefix_cache_queries", "prefix_cache_hits", "external_prefix_cache_queries"):
            add[name, rank] += result.get(name, 0)
        add["external_prefix_cache_hits", rank] += result.get("external_prefix_cache_hits", 0)
        for source, tokens in result.get("sources", {}).items():
            add["source:" + source, rank] += tokens
        add["prompt_tokens", rank] += result.get("prompt_tokens", 0)
        add["generation_tokens", rank] += len(result.get("pieces", ()))
        add["success:" + result["finish_reason"], rank] += 1
        add["seconds", rank] += result.get("seconds", 0)
        add["requests", rank] += 1
        self.usage[rank] = result.get("usage", 0.0)

    def _line(self, name, rank, value, more=""):
        return f'vllm:{name}{{engine="{rank}",{more}model_name="{self.model_name}"}} {float(value)}'

    def page(self):
        """Prometheus text."""
        names = ["prefix_cache_queries", "prefix_cache_hits", "prompt_tokens", "generation_tokens"]
        if self.release.since("0.12.0rc1"):
            names += ["external_prefix_cache_queries", "external_prefix_cache_hits"]
        lines = []
        for rank in self.ranks:
            lines.append(self._line("num_requests_running", rank, self.running[rank]))
            lines.append(self._line("num_requests_waiting", rank, 0))
            lines.append(self._line("kv_cache_usage_perc", rank, self.usage[rank]))
            lines += [self._line(name + "_total", rank, self.values[name, rank]) for name in names]
            for reason in REASONS:
                value = self.values["success:" + reason, rank]
                lines.append(self._line("request_success_total", rank, value, f'finished_reason="{reason}",'))
            if self.release.since("0.16.0rc1"):
                for source in ("local_compute", "local_cache_hit", "external_kv_transfer"):
                    value = self.values["source:" + source, rank]
                    lines.append(self._line("prompt_tokens_by_source_total", rank, value, f'source="{source}",'))
                cached = self.values["source:local_cache_hit", rank] + self.values["source:external_kv_transfer", rank]
                lines.append(self._line("prompt_tokens_cached_total", rank, cached))
            lines.append(self._line("time_to_first_token_seconds_count", rank, self.values["requests", rank]))
            lines.append(self._line("time_to_first_token_seconds_sum", rank, self.values["seconds", rank]))
        kinds = {line.split("{")[0] for line in lines}
        typed = []
        for kind in sorted(kinds):
            if not kind.endswith(("_count", "_sum")):
                typed.append(f"# TYPE {kind} {'counter' if kind.endswith('_total') else 'gauge'}")
            typed += [line for line in lines if line.startswith(kind + "{")]
        typed += ["# TYPE process_start_time_seconds gauge", f"process_start_time_seconds {process_start()}"]
        return ("\n".join(typed) + "\n").encode()


def process_start():
    """When this process started, as prometheus_client computes it (process_collector.py): seconds since 1970."""
    with open("/proc/self/stat", encoding="ascii", errors="replace") as stream:
        ticks = int(stream.read().rpartition(")")[2].split()[19])
    with open("/proc/stat", encoding="ascii") as stream:
        boot = next(float(line.split()[1]) for line in stream if line.startswith("btime "))
    return boot + ticks / TICKS
