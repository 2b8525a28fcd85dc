# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The measurements of a benchmark: which commands run where, from the plan and the settings."""

from __future__ import annotations

import math
import typing as t

from ...module_utils.tools.engine_kinds import ANSWERING_KINDS
from ..description.findings import Finding, PlanError, SettingsError
from ..description.values import natural
from . import in_cluster
from .aisbench import AISBENCH, aisbench_config, aisbench_findings, give_slices
from .client import client_findings, greedy, target
from .others import other_services
from .pool import pool_findings, pool_runs
from .settings import Bench, read_bench

Record = t.Mapping[str, t.Any]
PERCENTILES = "50,90,99"
MINUTE = 60  # seconds for which a rate lasts
EVENLY = (
    "1000000"  # --burstiness: the shape of the gamma distribution of the times between requests; 1 is a Poisson process
)
WHOLE_TRACE = 10**9  # more requests than any trace has; without the option the program ends after 1000
MOST_ENGINES = 64  # whose counters are read before and after each measurement


def bench_runs(plan: Record, raw: t.Any, more: t.Sequence[Finding] = ()) -> dict[str, t.Any]:
    """``{host, settings, runs: [{label, load, rate, repeat, round, argv, ...}], ...}``: the options of service_bench, and what each run is.

    Load and repeat 0 is the warm-up, which is not part of the report. Raises PlanError with all errors, and with those of the caller in ``more``.
    """
    try:
        bench = read_bench(raw)
    except PlanError as error:
        raise SettingsError([*error.findings, *more]) from error
    findings = [*_unsuitable(plan, bench), *_too_long(plan, bench), *pool_findings(plan, bench)]
    findings += [*aisbench_findings(bench, bool(plan["runtime_facts"]["in_cluster"])), *more]
    findings += in_cluster.findings(plan, bench)
    service = in_cluster.controller(plan, bench) or _service(plan, bench.host)
    if service is None:
        findings.append(
            _refusal("host", f"{bench.host or 'no host'} runs no engine of the plan", "Name a host with an engine.")
        )
    if findings or service is None:
        raise SettingsError(findings)
    engines = [
        {"name": engine["name"], "url": engine["url"]}
        for kind in ANSWERING_KINDS
        for engine in plan["verify"].get(kind, ())
    ]
    pairs = max(1, len(plan["verify"].get("prefill", ()))) * max(1, len(plan["verify"].get("decode", ())))
    warm_up = _run(plan, service, bench, 0, 0, min(2 * max(len(engines), pairs), 64))
    loads: list[tuple[int, float]] = [(load, 0.0) for load in bench.loads] + [(0, rate) for rate in bench.rates]
    measured = [
        _run(plan, service, bench, load, repeat, bench.prompts or max(64, 8 * load, math.ceil(MINUTE * rate)), rate)
        for load, rate in loads
        for repeat in range(1, bench.repeats + 1)
    ]
    if bench.profile == "pool":
        measured = [run for once in measured for run in pool_runs(plan, bench, once)]
    if bench.data:
        give_slices([warm_up, *measured])
    container = (
        service["container"] if bench.driver != AISBENCH else None
    )  # which is a program of the host, and no part of an image
    return {
        "host": service["host"],
        "service": service["name"],
        "settings": {name: getattr(bench, name) for name in bench.__dataclass_fields__ if name != "slo"},
        "slo": {name: getattr(bench.slo, name) for name in bench.slo.__dataclass_fields__},
        "devices": sum(len(item["devices"]) for item in plan["services"]),
        "runs": [warm_up, *measured],
        "options": {
            **_surroundings(service, bench),
            "directory": service["scratch_directory"],
            "container": (container or {}).get("name", ""),
            "runtime": plan["runtime"],
            "user": "" if service["container"] else plan["user"],  # else the owner of the directory
            "engines": engines[:MOST_ENGINES],
            "others": other_services(plan),
            "prompt_tokens": bench.prefix + bench.input,
            "output_tokens": bench.output,
            **(_trace(plan, bench) if bench.profile == "trace" else {}),
            "timeout": bench.timeout,
        },
    }


def _surroundings(service: Record, bench: Bench) -> dict[str, t.Any]:
    """Environment and scripts of the program: those of the engine, or, for a program that is no part of it, none of its libraries."""
    if bench.driver == AISBENCH:
        return {"environment": {"HF_HUB_OFFLINE": "1"}, "source": []}
    names = [name for name in ("PYTHONPATH", "HF_HUB_OFFLINE") if name in service["env"]]
    return {"environment": {name: service["env"][name] for name in names}, "source": list(service["source"])}


def _unsuitable(plan: Record, bench: Bench) -> list[Finding]:
    found = []
    if bench.driver != AISBENCH:
        found += client_findings(in_cluster.vllm_of_client(plan), bench)
    return found


def _too_long(plan: Record, bench: Bench) -> list[Finding]:
    """Prompts and answers that exceed max-model-len: every request would fail."""
    need = bench.prefix + bench.input + bench.output
    for name, most in _contexts(plan):
        if need > most:
            problem = f"prompt and answer have {need} tokens, and max-model-len of {name} is {most}"
            return [_refusal("input", problem, "Set smaller input, prefix and output.")]
    return []


def _trace(plan: Record, bench: Bench) -> dict[str, t.Any]:
    """What the file of requests is judged by before they are sent."""
    most = min((most for _name, most in _contexts(plan)), default=0)
    return {"trace": bench.trace, "trace_requests": bench.prompts, "most_tokens": most}


def _contexts(plan: Record) -> list[tuple[str, int]]:
    """(engine, tokens of its context) where it is declared."""
    found = []
    for service in plan["services"]:
        argv = service["argv"]
        if service["kind"] in ANSWERING_KINDS and "--max-model-len" in argv:
            most = argv[argv.index("--max-model-len") + 1]
            found += [(service["name"], int(most))] if most.isdigit() else []
    return found


def _refusal(name: str, problem: str, fix: str) -> Finding:
    path = f"inference_bench.{name}" if name else "inference_bench"
    return Finding(path, "BENCH-SETTING", problem, fix, why="Every request would fail, or nothing could be measured.")


def _service(plan: Record, host: str) -> Record | None:
    """An engine, in whose environment the program runs: of the wanted host, else of the router's, else the first."""
    found = sorted(
        (item for item in plan["services"] if item["kind"] in ANSWERING_KINDS), key=lambda item: natural(item["name"])
    )
    router = next((item["host"] for item in plan["services"] if item["kind"] == "router"), "")
    wanted = [host] if host else [router, *(item["host"] for item in found)]
    return next((item for name in wanted for item in found if item["host"] == name), None)


def _run(
    plan: Record, service: Record, bench: Bench, load: int, repeat: int, prompts: int, rate: float = 0.0
) -> dict[str, t.Any]:
    """One run: ``load`` requests at a time, or ``rate`` requests a second; neither of them is the warm-up or a trace."""
    shown = f"rate {rate:g}/s" if rate else f"load {load}"
    label = f"{shown}, measurement {repeat} of {bench.repeats}" if repeat else "warm-up"
    run = {"label": label, "load": load, "rate": rate, "repeat": repeat, "round": "", "engine": "", "evict": ""}
    if bench.driver == AISBENCH:
        at_a_time = load or (bench.at_once or prompts if rate else min(prompts, 16))
        trust = "--trust-remote-code" in service["argv"]
        seed = _seed(bench, load or rate, repeat)
        config = aisbench_config(
            _with_tokenizer(plan, service), _entry(plan)["url"], bench, at_a_time, prompts, trust, seed, rate
        )
        return {**run, "argv": [*_pinned(bench), bench.program], "config": config}
    place = load or rate
    argv = [
        *_hashed(bench, place, repeat),
        *_pinned(bench),
        *_program(service),
        *_target(plan, service, bench),
        *_prompts(bench, place, repeat),
    ]
    argv += ["--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", PERCENTILES, "--disable-tqdm"]
    if rate:
        burst = ["--burstiness", EVENLY] if bench.arrival == "constant" else []
        most = ["--max-concurrency", str(bench.at_once)] if bench.at_once else []
        argv += ["--num-prompts", str(prompts), "--request-rate", f"{rate:g}", *burst, *most, "--ignore-eos"]
    elif bench.profile != "trace" or not repeat:
        argv += ["--num-prompts", str(prompts), "--max-concurrency", str(load or min(prompts, 16)), "--ignore-eos"]
    else:
        argv += ["--num-prompts", str(bench.prompts or WHOLE_TRACE)]
    limits = [f"{name}:{getattr(bench.slo, name)}" for name in ("ttft", "tpot", "e2el") if getattr(bench.slo, name)]
    if limits:
        argv += ["--goodput", *limits]
    return {**run, "argv": argv, "config": {}}


def _hashed(bench: Bench, load: float, repeat: int) -> list[str]:
    """For a trace, the seed of Python's hash of texts, from which vLLM makes the tokens of a block: another process would send other prompts.

    Source: `TimedTrace._expand_prompt` in vllm/benchmarks/datasets of vLLM 0.23 to 0.32.
    """
    return ["env", f"PYTHONHASHSEED={_seed(bench, load, repeat)}"] if bench.profile == "trace" and repeat else []


def _seed(bench: Bench, load: float, repeat: int) -> int:
    """Another one in each measurement: what an earlier one left in a prefix cache must not help."""
    return bench.seed + round(1000 * load) + repeat


def _pinned(bench: Bench) -> list[str]:
    return ["taskset", "--cpu-list", bench.cores] if bench.cores else []


def _program(service: Record) -> list[str]:
    """The program of the engine's own environment or image."""
    return [service["argv"][0] if service["argv"][0].endswith("vllm") else "vllm", "bench", "serve"]


def _with_tokenizer(plan: Record, service: Record) -> Record:
    """The plan whose model is in the folder from which the program reads the tokenizer."""
    return {**plan, "model": {**plan["model"], "path": service.get("tokenizer") or plan["model"]["path"]}}


def _entry(plan: Record) -> Record:
    return t.cast(Record, plan["verify"].get("entry") or plan["verify"]["colocated"][0])


def _target(plan: Record, service: Record, bench: Bench) -> list[str]:
    model = plan["model"]
    found = [
        *target(in_cluster.vllm_of_client(plan), _entry(plan)["url"], bench.chat),
        "--model",
        _with_tokenizer(plan, service)["model"]["path"],
        "--served-model-name",
        model["name"],
        *greedy(in_cluster.vllm_of_client(plan)),
    ]
    if "--trust-remote-code" in service["argv"]:
        found.append("--trust-remote-code")
    return found


def _prompts(bench: Bench, load: float, repeat: int) -> list[str]:
    seed = ["--seed", str(_seed(bench, load, repeat))]
    if bench.profile == "trace" and repeat:
        # Mooncake's traces count milliseconds and blocks of 512 tokens
        found = ["--dataset-name", "timed_trace", "--dataset-path", bench.trace, "--self-timed"]
        return [*found, "--timed-trace-chunk-hash-size", "512", "--timed-trace-sec-multiplier", "0.001", *seed]
    length, answer = str(bench.input or 64), str(bench.output or 16)
    if bench.prefix:
        found = ["--dataset-name", "prefix_repetition", "--prefix-repetition-prefix-len", str(bench.prefix)]
        found += ["--prefix-repetition-suffix-len", length, "--prefix-repetition-num-prefixes", str(bench.prefixes)]
        return [*found, "--prefix-repetition-output-len", answer, *seed]
    return ["--dataset-name", "random", "--random-input-len", length, "--random-output-len", answer, *seed]
