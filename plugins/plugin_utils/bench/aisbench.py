# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AISBench as the driver of a benchmark: its configuration, and what it cannot measure.

Facts, from ais_bench_benchmark 3.1.20260630, with which tests/parsers/aisbench_client.py compares them. Types may be named as text, so the
configuration is JSON. Its own random prompts (SyntheticDataset) have no seed, so a file is made for each measurement; it reads files of prompts, those
of gsm8k, and Mooncake's traces. ``test_range`` of a reader is a slice of a file. ``burstiness`` 0 sends evenly, 1, the default, as a Poisson process.
``retry`` counts tries: with more than one a failed request is sent again and is not counted. It counts no requests within limits (goodput).
"""

from __future__ import annotations

import typing as t

from ..description.findings import Finding
from .settings import Bench

Record = t.Mapping[str, t.Any]
AISBENCH = "aisbench"
_PACKAGE = "ais_bench.benchmark"


def aisbench_findings(bench: Bench, on_controller: bool = False) -> t.Iterator[Finding]:
    """Settings that this driver cannot follow; nothing for the other one, which is a program of its own only ``on_controller``."""
    if bench.driver != AISBENCH:
        if bench.program and not on_controller:
            yield _refusal("program", f"the driver is {bench.driver}, whose program is known", "Set driver: aisbench.")
        if bench.data:
            yield _refusal("data", f"this playbook sends no file with driver: {bench.driver}", "Set driver: aisbench.")
        return
    if not bench.program and not on_controller:
        problem = "the driver is aisbench, and its program is not known"
        yield _refusal("program", problem, "Set the path of ais_bench on the host of the load.")
    elif not bench.program.startswith("/") and not on_controller:
        yield _refusal("program", f"{bench.program} is no absolute path", "Write the whole path of ais_bench.")
    if bench.profile == "trace":
        problem = "this playbook sends traces with driver: vllm only, although aisbench reads them as well"
        yield _refusal("profile", problem, "Use another profile, or driver: vllm.")
    if any(getattr(bench.slo, name) for name in bench.slo.__dataclass_fields__):
        yield _refusal("slo", "aisbench does not count good requests", "Leave slo out, or use driver: vllm.")


def aisbench_config(
    plan: Record, url: str, bench: Bench, load: int, prompts: int, trust: bool, seed: int, rate: float = 0.0
) -> dict[str, t.Any]:
    """The configuration of one run, without the key of the API, and its prompts. ``load``: requests at a time; ``rate``: a second, 0 for no limit."""
    model = {
        "attr": "service",
        "type": f"{_PACKAGE}.models.VLLMCustomAPI{'Chat' if bench.chat else ''}",
        "abbr": "service",
        "path": plan["model"]["path"],
        "model": plan["model"]["name"],
        "url": url,
        "stream": True,
        "request_rate": rate,
        "traffic_cfg": {"burstiness": 0 if bench.arrival == "constant" else 1},
        "retry": 1,
        "batch_size": load,
        "max_out_len": bench.output or 16,
        "trust_remote_code": trust,
        "generation_kwargs": {"temperature": 0, "ignore_eos": True},
    }
    dataset = {
        "abbr": "random",
        "type": f"{_PACKAGE}.datasets.{_reader(bench.data)}",
        "reader_cfg": {"input_columns": ["question"], "output_column": "answer"},
        "infer_cfg": {
            "prompt_template": {
                "type": f"{_PACKAGE}.openicl.icl_prompt_template.PromptTemplate",
                "template": "{question}",
            },
            "retriever": {"type": f"{_PACKAGE}.openicl.icl_retriever.ZeroRetriever"},
            "inferencer": {"type": f"{_PACKAGE}.openicl.icl_inferencer.GenInferencer"},
        },
        "eval_cfg": {},
    }
    calculator = {
        "type": f"{_PACKAGE}.calculators.DefaultPerfMetricCalculator",
        "stats_list": ["Average", "Median", "P90", "P99"],
    }
    summary = {"attr": "performance", "type": f"{_PACKAGE}.summarizers.DefaultPerfSummarizer", "calculator": calculator}
    return {
        "models": [model],
        "datasets": [dataset],
        "summarizer": summary,
        "prompts": _prompts(plan, bench, prompts, seed),
    }


def _reader(data: str) -> str:
    """The class that reads the prompts: a folder is one of gsm8k."""
    return "gsm8k.GSM8KDataset" if data and not data.endswith(".jsonl") else "custom.CustomDataset"


def _prompts(plan: Record, bench: Bench, count: int, seed: int) -> dict[str, t.Any]:
    """What the module sends: a file of the user, or random prompts, of which it writes one."""
    if bench.data:
        return {"file": bench.data, "count": count}
    size = {"tokens": bench.input or 64, "prefix": bench.prefix, "prefixes": bench.prefixes}
    return {"model": plan["model"]["path"], "count": count, **size, "seed": seed}


def give_slices(runs: t.Sequence[dict[str, t.Any]]) -> None:
    """Let each run send prompts of the user's file that no other one sends, and say how many that are together."""
    needed = sum(run["config"]["prompts"]["count"] for run in runs)
    first = 0
    for run in runs:
        last = first + run["config"]["prompts"]["count"]
        run["config"]["datasets"][0]["reader_cfg"]["test_range"] = f"[{first}:{last}]"
        run["config"]["prompts"]["needed"] = needed
        first = last


def _refusal(name: str, problem: str, fix: str) -> Finding:
    why = "Nothing could be measured, or something else."
    return Finding(f"inference_bench.{name}", "BENCH-SETTING", problem, fix, why=why)
