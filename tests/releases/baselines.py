# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Are the figures of vLLM-Ascend's own CI (bench/upstream.py) those of the newest source distribution?"""

from __future__ import annotations

import pathlib
import typing as t

import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.upstream import CASES, SDIST, Case

CONFIGS = "tests/e2e/cases/models/configs"


def differences(release: str, sources: pathlib.Path) -> t.Iterator[str]:
    """What the CI's files in a release's sources say otherwise than CASES; nothing for other releases than the one that CASES are of."""
    if release != SDIST:
        return
    files = {path.stem: path for path in (sources / CONFIGS).rglob("*.yaml")}
    for case in CASES:
        if case.name not in files:
            yield f"its CI has no case {case.name} any more"
            continue
        text = files[case.name].read_text(encoding="utf-8")
        yield from (f"its CI measures {case.name} with {text}" for text in _otherwise(case, yaml.safe_load(text)))


def _otherwise(case: Case, config: t.Mapping[str, t.Any]) -> t.Iterator[str]:
    devices = config["num_nodes"] * config["npu_per_node"]
    model = str(config["model"]).rsplit("/", 1)[-1]
    for ours, theirs in ((case.devices, f"{devices} NPUs"), (case.model, f"the model {model}")):
        if str(ours) not in theirs:
            yield f"{theirs}, not {ours}"
    wanted = (case.output, case.load, case.rate)
    loads = [
        item
        for item in config["benchmarks"].values()
        if (item.get("max_out_len"), item.get("batch_size"), item.get("request_rate")) == wanted
    ]
    if not loads:
        yield f"no load of {case.output} tokens, {case.load} at a time, {case.rate} a second"
    for item in loads:
        if (item["baseline"], item["threshold"]) != (case.throughput, case.least):
            yield f"the baseline {item['baseline']} and the threshold {item['threshold']}, not {case.throughput} and {case.least}"
