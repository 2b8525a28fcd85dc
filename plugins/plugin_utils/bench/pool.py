# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The profile pool: what a KV store gains. The same prompts computed, loaded from the engine's own memory, and from another instance's.

The requests go to the engines directly, since a router would choose the engine.
"""

from __future__ import annotations

import typing as t

from ..description.findings import Finding
from .settings import Bench

Record = t.Mapping[str, t.Any]
COLD, OWN, OTHER = "cold", "own memory", "other instance"
EVICT = 500_000  # added to the seed of a measurement, for prompts that no measurement sends


def pool_engines(plan: Record) -> list[Record]:
    """The engines that compute prompts and share them through the store: ``{name, url, ...}``."""
    verify = plan["verify"]
    return list(verify.get("colocated") or verify.get("prefill") or ())


def pool_findings(plan: Record, bench: Bench) -> t.Iterator[Finding]:
    """Why the profile cannot be measured with this plan; nothing for other profiles."""
    if bench.profile != "pool":
        return
    path, rule = "inference_bench.profile", "BENCH-SETTING"
    if not plan["verify"].get("store"):
        problem, why = "pool measures a KV store, and the plan has none", "Nothing could be loaded."
        yield Finding(path, rule, problem, "Set inference_kv_transfer: mooncake_store, or another profile.", why=why)
    if len(pool_engines(plan)) < 2:
        problem = "pool needs two engines, of which one loads what the other computed"
        why = "The third round could not be measured."
        yield Finding(path, rule, problem, "Plan two instances, or set another profile.", why=why)


def pool_runs(plan: Record, bench: Bench, run: dict[str, t.Any]) -> t.Iterator[dict[str, t.Any]]:
    """The rounds of one measurement: computed, replaced in the engine's KV cache by other prompts, own memory, other instance."""
    first, second = pool_engines(plan)[:2]
    yield _round(run, COLD, first)
    evict = {**_round(run, "evict", first), "repeat": 0}
    yield {**_others(evict, bench.evict), "evict": "" if bench.evict else first["name"]}
    yield _round(run, OWN, first)
    yield _round(run, OTHER, second)


def _others(run: dict[str, t.Any], number: int) -> dict[str, t.Any]:
    """The run with prompts that no measurement sends. ``number`` of them; for 0 the module adds how many."""
    if run["config"]:
        prompts = run["config"]["prompts"]
        more = {"seed": prompts["seed"] + EVICT, "count": number or prompts["count"]}
        return {**run, "config": {**run["config"], "prompts": {**prompts, **more}}}
    argv = _with(run["argv"], "--seed", str(int(_option(run["argv"], "--seed")) + EVICT))
    count = _with(argv, "--num-prompts", str(number)) if number else _without(argv, "--num-prompts")
    return {**run, "argv": count}


def _round(run: t.Mapping[str, t.Any], name: str, engine: Record) -> dict[str, t.Any]:
    found = {**run, "label": f"{run['label']}, {name}", "round": name, "engine": engine["name"]}
    if run["config"]:
        (model,) = run["config"]["models"]
        return {**found, "config": {**run["config"], "models": [{**model, "url": engine["url"]}]}}
    return {**found, "argv": _with(run["argv"], "--base-url", engine["url"])}


def _option(argv: t.Sequence[str], name: str) -> str:
    return argv[argv.index(name) + 1]


def _with(argv: t.Sequence[str], name: str, value: str) -> list[str]:
    place = argv.index(name) + 1
    return [*argv[:place], value, *argv[place + 1 :]]


def _without(argv: t.Sequence[str], name: str) -> list[str]:
    place = argv.index(name)
    return [*argv[:place], *argv[place + 2 :]]
