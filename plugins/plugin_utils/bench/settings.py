# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variable `inference_bench`: what a benchmark sends. A profile gives the values that are not set."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..description.findings import Finding, SettingsError
from ..description.loader import Reader, choice, documented, factory, number, typed

MOST_LOADS = 16
MOST_RATE = 100_000  # requests a second
# Values for what is not set. smoke: the load of the guide of W8A8 (10 tokens in, 100 out, 4 a second, 4 at a time); throughput: the shape of
# vLLM-Ascend's own nightly cases (3,500 in, 1,500 out); long_prefix: 8 long system prompts.
PROFILES: dict[str, dict[str, t.Any]] = {
    "smoke": {"rates": (4,), "at_once": 4, "prompts": 10, "input": 10, "output": 100, "repeats": 1},
    "latency": {"loads": (1,), "prompts": 32, "input": 1024, "output": 128, "repeats": 3},
    "throughput": {"loads": (1, 4, 16, 64), "prompts": 0, "input": 3500, "output": 1500, "repeats": 3},
    "long_prefix": {"loads": (1, 8), "prompts": 0, "input": 512, "prefix": 8192, "output": 128, "repeats": 3},
    # The guide of the KV pool: 100 requests, 25 at a time, 1,024 tokens in, 10 out.
    "pool": {"loads": (25,), "prompts": 100, "input": 1024, "output": 10, "repeats": 3},
    "trace": {"loads": (0,), "prompts": 0, "input": 0, "output": 0, "repeats": 1},
}


@dataclass(frozen=True)
class Slo:
    """Service level objective: a request is good if it keeps all limits. Goodput counts good requests per second."""

    ttft: int = documented("Most milliseconds until the first token. 0: no limit.", number(0, 0))
    tpot: int = documented("Most milliseconds for each further token, on average. 0: no limit.", number(0, 0))
    e2el: int = documented("Most milliseconds until the whole answer. 0: no limit.", number(0, 0))


@dataclass(frozen=True)
class Bench:
    """What the playbook bench sends. Values that are not set come from the profile."""

    profile: str = documented(
        "The kind of load.", choice("latency", "smoke", "throughput", "long_prefix", "pool", "trace")
    )
    driver: str = documented(
        "The program that sends the requests: vllm (vllm bench serve), or aisbench for figures like Huawei's.",
        choice("vllm", "aisbench"),
    )
    program: str = documented(
        "Driver aisbench: path of ais_bench on the host of the load, also if engines are containers. On Kubernetes also of vllm: both on the controller.",
        typed("path"),
    )
    tokenizer: str = documented(
        "Kubernetes: folder on the controller with the model's tokenizer files. Default: the model's path.",
        typed("path"),
    )
    loads: tuple[int, ...] = documented("Concurrent requests, one measurement each.", ())
    rates: tuple[t.Any, ...] = documented(
        "Requests that arrive in a second, one measurement each, instead of loads: an open loop, which does not wait for answers.",
        (),
    )
    arrival: str = documented(
        "How requests of a rate arrive: at random (poisson), or evenly.", choice("poisson", "constant")
    )
    at_once: int = documented(
        "Most requests of a rate at a time: a later one waits in the client, and no figure has that wait. 0: no limit.",
        number(0, 0),
    )
    chat: bool = documented(
        "Send chats, to which the model's template adds tokens, instead of completions.",
        False,
    )
    prompts: int = documented(
        "Requests of one measurement. 0: 8 times the load, or a minute of a rate, at least 64; of a trace all.",
        number(0, 0),
    )
    input: int = documented("Tokens of a prompt, without its prefix. 0: from the profile.", number(0, 0))
    prefix: int = documented(
        "Tokens at the beginning of a prompt that it shares with others. 0: from the profile.", number(0, 0)
    )
    prefixes: int = documented("Number of different prefixes.", number(8, 1))
    output: int = documented("Tokens of an answer. 0: from the profile.", number(0, 0))
    evict: int = documented(
        "Profile pool: requests that replace an engine's KV cache. 0: computed from the size that the engine reports.",
        number(0, 0),
    )
    repeats: int = documented("Measurements of each load, with other prompts. 0: from the profile.", number(0, 0, 100))
    seed: int = documented("Seed of the prompts.", number(1, 0))
    slo: Slo = documented("Limits of a good request.", factory(Slo))
    host: str = documented(
        "Planned host with an engine on which the load is made. Default: the router's, else the first.", ""
    )
    cores: str = documented(
        "Processors of that host for the load, such as 0-3, apart from those of the engines.", typed("numbers")
    )
    trace: str = documented("File on that host with requests in the format of Mooncake's traces.", typed("path"))
    data: str = documented(
        "Driver aisbench: prompts on that host instead of random ones, FILE.jsonl with question and answer in each line, or the folder of gsm8k.",
        typed("path"),
    )
    timeout: int = documented("Most seconds of one measurement.", number(3600, 1))


def read_bench(raw: t.Any) -> Bench:
    """The settings with those of the profile. Raises PlanError with all errors."""
    reader = Reader()
    bench = t.cast(Bench, reader.record(Bench, raw, "inference_bench"))
    findings = reader.findings + _contradictions(bench)
    if findings:
        raise SettingsError(findings)
    preset = PROFILES[bench.profile]
    if bench.loads or bench.rates:  # one kind of load replaces the other
        preset = {name: value for name, value in preset.items() if name not in ("loads", "rates", "at_once")}
    values = {name: getattr(bench, name) or value for name, value in preset.items()}
    values["rates"] = tuple(float(rate) for rate in values.get("rates", bench.rates))
    return Bench(**{**{name: getattr(bench, name) for name in Bench.__dataclass_fields__}, **values})


def _contradictions(bench: Bench) -> list[Finding]:
    found = []
    if bench.profile == "trace" and not bench.trace:
        found.append(_finding("trace", "the profile is trace, and no file is given", "Set inference_bench.trace."))
    if bench.trace and bench.profile != "trace":
        found.append(_finding("trace", f"the profile is {bench.profile}, which reads no file", "Set profile: trace."))
    if bench.trace and not bench.trace.startswith("/"):
        problem = f"{bench.trace} is no absolute path"
        found.append(_finding("trace", problem, "Write the whole path of the file on the host of the load."))
    if bench.data and not bench.data.startswith("/"):
        problem = f"{bench.data} is no absolute path"
        found.append(_finding("data", problem, "Write the whole path on the host of the load."))
    if bench.data and (bench.profile in ("long_prefix", "pool", "trace") or bench.input or bench.prefix):
        problem = "data has prompts of its own, and the profile or a length asks for others"
        found.append(_finding("data", problem, "Remove data, or input, prefix and that profile."))
    if len(bench.loads) > MOST_LOADS or any(load < 1 for load in bench.loads):
        found.append(_finding("loads", f"{list(bench.loads)} are no loads", f"Name 1 to {MOST_LOADS} numbers above 0."))
    wrong = [rate for rate in bench.rates if not _is_rate(rate)]
    if wrong or len(bench.rates) > MOST_LOADS:
        problem = f"{wrong or list(bench.rates)} are no rates"
        found.append(_finding("rates", problem, f"Name 1 to {MOST_LOADS} numbers above 0, such as 0.5."))
    if bench.rates and bench.loads:
        problem = "both loads and rates are set"
        found.append(_finding("rates", problem, "Measure loads or rates, and the others in another run."))
    if bench.rates and bench.profile in ("pool", "trace"):
        problem = f"the profile {bench.profile} has arrivals of its own"
        found.append(_finding("rates", problem, "Remove rates, or set another profile."))
    if bench.arrival != "poisson" and not bench.rates and "rates" not in PROFILES[bench.profile]:
        found.append(_finding("arrival", "arrival is set, and no rates", "Set rates, or remove arrival."))
    if bench.at_once and not bench.rates and "rates" not in PROFILES[bench.profile]:
        found.append(_finding("at_once", "at_once is set, and no rates", "Set rates, or set loads instead of at_once."))
    return found


def _is_rate(value: t.Any) -> bool:
    try:
        return not isinstance(value, bool) and 0 < float(value) <= MOST_RATE
    except (TypeError, ValueError):
        return False


def _finding(name: str, problem: str, fix: str) -> Finding:
    return Finding(f"inference_bench.{name}", "BENCH-SETTING", problem, fix, why="Nothing could be measured.")
