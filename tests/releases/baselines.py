# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Are the figures of vLLM-Ascend's own CI (bench/upstream_data.py) those of the newest source distribution, and all of them?"""

from __future__ import annotations

import pathlib
import re
import typing as t

import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.upstream_data import CASES, SDIST, Case

CONFIGS = "tests/e2e/cases/models/configs"
CHOSEN = ".github/workflows/configs"  # which of them the CI runs, on which hardware
HARDWARE = "a3"
PLACEHOLDER = 1  # a baseline up to this is no measured one: every deployment reaches it
LENGTH = re.compile(
    r"_?in(\d+)(?![\dkKmM])"
)  # of a prompt, in the name of its data set; 128k may be 128,000 or 131,072
SHARED = re.compile(r"prefix(\d+)")  # percent


def differences(release: str, sources: pathlib.Path) -> t.Iterator[str]:
    """What the CI's files in a release's sources say otherwise than CASES; nothing for other releases than the one that CASES are of."""
    if release != SDIST:
        return
    theirs = measured(sources)
    yield from (f"its CI does not measure {case} any more" for case in CASES if case not in theirs)
    yield from (
        f"its CI measures {case}, which bench/upstream_data.py does not have" for case in theirs if case not in CASES
    )


def measured(sources: pathlib.Path) -> list[Case]:
    """The loads of disaggregated deployments that the CI measures, with a length of prompts in numbers and one baseline for each load."""
    chosen = {
        name for path in (sources / CHOSEN).glob("*.yaml") for name in _chosen(yaml.safe_load(path.read_text("utf-8")))
    }
    found: list[Case] = []
    for path in sorted((sources / CONFIGS).rglob("*.yaml")):
        if path.name in chosen:
            found += _cases(path.stem, yaml.safe_load(path.read_text(encoding="utf-8")))
    return found


def _chosen(tree: t.Any) -> t.Iterator[str]:
    for entries in (tree.get(HARDWARE) or {}).values() if isinstance(tree, dict) else ():
        for item in entries.get("test_config") or ():
            yield pathlib.PurePath(item.get("config_file_path", "")).name


def _cases(name: str, config: t.Mapping[str, t.Any]) -> list[Case]:
    if (config.get("routing") or {}).get("type") != "disaggregated_prefill":
        return []
    found: dict[tuple[t.Any, ...], set[Case]] = {}
    for item in (config.get("benchmarks") or {}).values():
        length = LENGTH.search(item["dataset_path"].rsplit("/", 1)[-1])
        if item.get("case_type") != "performance" or item["baseline"] <= PLACEHOLDER or not length:
            continue
        case = _case(name, config, item, int(length[1]))
        found.setdefault((case.prefix, case.input, case.output, case.load, case.rate), set()).add(case)
    return [
        next(iter(cases)) for cases in found.values() if len(cases) == 1
    ]  # two baselines of one load differ by what is not printed


def _case(name: str, config: t.Mapping[str, t.Any], item: t.Mapping[str, t.Any], length: int) -> Case:
    shared = SHARED.search(item["dataset_path"].rsplit("/", 1)[-1])
    prefix = round(length * int(shared[1]) / 100) if shared else 0
    groups = config["routing"]["groups"]
    pools = tuple(
        (kind, _instances(config, groups[group])) for kind, group in (("decode", "decoder"), ("prefill", "prefiller"))
    )
    return Case(
        name,
        str(config["model"]).rsplit("/", 1)[-1],
        config["num_nodes"] * config["npu_per_node"],
        pools,
        prefix,
        length - prefix,
        item["max_out_len"],
        item["batch_size"],
        item["request_rate"],
        item["baseline"],
        item["threshold"],
    )


def _instances(config: t.Mapping[str, t.Any], nodes: t.Sequence[int]) -> int:
    """Nodes with rank 0 of an instance."""
    return sum(1 for item in config["config"] if item["node_index"] in nodes and not item.get("dp_rank_start"))
