# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AISBench as the driver of a benchmark: its configuration, and what it cannot measure.

Facts, from ais_bench_benchmark 3.1.20260630. Types may be named as text, so the configuration is JSON. Its synthetic prompts are random tokens of the
model's tokenizer, without a seed and with one common prefix at most; the prompts named ``string`` are all alike, so that a prefix cache answers
them. ``retry`` counts tries: with more than one a failed request is sent again and is not counted. It has no goodput.
"""

from __future__ import annotations

import typing as t

from ..description.findings import Finding
from .settings import Bench

Record = t.Mapping[str, t.Any]
AISBENCH = "aisbench"
WITH_SEED = ("trace", "pool")  # profiles that send the same prompts again
_PACKAGE = "ais_bench.benchmark"


def aisbench_findings(bench: Bench) -> t.Iterator[Finding]:
    """Settings that this driver cannot follow; nothing for the other one."""
    if bench.driver != AISBENCH:
        if bench.program:
            yield _refusal("program", f"the driver is {bench.driver}, whose program is known", "Set driver: aisbench.")
        return
    if not bench.program:
        problem = "the driver is aisbench, and its program is not known"
        yield _refusal("program", problem, "Set the path of ais_bench on the host of the load, or in the image.")
    elif not bench.program.startswith("/"):
        yield _refusal("program", f"{bench.program} is no absolute path", "Write the whole path of ais_bench.")
    if bench.profile in WITH_SEED:
        problem = f"the profile {bench.profile} sends the same prompts again, and those that this playbook lets aisbench make have no seed"
        yield _refusal("profile", problem, "Use another profile, or driver: vllm.")
    if bench.arrival == "constant":
        problem = "how requests of a rate arrive is decided by aisbench"
        yield _refusal("arrival", problem, "Remove arrival, or set driver: vllm.")
    if bench.prefix and bench.prefixes != 1:
        problem = f"aisbench has one common prefix, not {bench.prefixes}"
        yield _refusal("prefixes", problem, "Set prefixes: 1, or driver: vllm.")
    if any(getattr(bench.slo, name) for name in bench.slo.__dataclass_fields__):
        yield _refusal("slo", "aisbench does not count good requests", "Leave slo out, or use driver: vllm.")


def aisbench_config(
    plan: Record, url: str, bench: Bench, load: int, prompts: int, trust: bool, rate: float = 0.0
) -> dict[str, t.Any]:
    """The configuration of one run, without the key of the API. ``load``: requests at a time; ``rate``: requests a second, 0 for no limit."""
    size = {"RequestSize": bench.prefix + (bench.input or 64), "PrefixLen": bench.prefix}
    model = {
        "attr": "service",
        "type": f"{_PACKAGE}.models.VLLMCustomAPI",
        "abbr": "service",
        "path": plan["model"]["path"],
        "model": plan["model"]["name"],
        "url": url,
        "stream": True,
        "request_rate": rate,
        "retry": 1,
        "batch_size": load,
        "max_out_len": bench.output or 16,
        "trust_remote_code": trust,
        "generation_kwargs": {"temperature": 0, "ignore_eos": True},
    }
    dataset = {
        "abbr": "random",
        "type": f"{_PACKAGE}.datasets.synthetic.SyntheticDataset",
        "config": {"Type": "tokenid", "RequestCount": prompts, "TrustRemoteCode": trust, "TokenIdConfig": size},
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
    return {"models": [model], "datasets": [dataset], "summarizer": summary}


def _refusal(name: str, problem: str, fix: str) -> Finding:
    why = "Nothing could be measured, or something else."
    return Finding(f"inference_bench.{name}", "BENCH-SETTING", problem, fix, why=why)
