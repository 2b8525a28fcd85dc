# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What vLLM-Ascend's own CI measures for the same model on the same hardware, beside the measured figures.

Source: the source distribution of vLLM-Ascend 0.30.0rc2, tests/e2e/cases/models/configs/*/CASE.yaml; tests/releases/baselines.py compares them. A
case passes if the throughput of output tokens is at least ``least`` times ``throughput``. Its prompts are those of a data set that is padded to a
length, of which ``prefix`` tokens are shared; ours are random tokens of the same lengths. Cases that its CI leaves out, warm-ups, and those whose
length of prompts is not printed as a number are not listed.
"""

from __future__ import annotations

import typing as t

from ..description.findings import Finding

Record = t.Mapping[str, t.Any]
SDIST = "0.30.0rc2"  # the newest release with a source distribution
REACHED, MISSED, WITHIN = "reached", "missed", "within the spread"
OTHER, FEW, UNKNOWN = "not the same", "not judged", "not known"


class Case(t.NamedTuple):
    """A case of the CI: tokens of a prompt's shared begin, of its rest, and of the answer; requests at a time and per second (0: at once)."""

    name: str
    model: str
    devices: int
    pools: tuple[tuple[str, int], ...]
    prefix: int
    input: int
    output: int
    load: int
    rate: float
    throughput: float  # output tokens per second of all devices
    least: float


HARDWARE = "a3"  # of all cases
_ONE = (("decode", 1), ("prefill", 1))
_TWO = (("decode", 1), ("prefill", 2))
_LONG, _LONGER = (58982, 6554), (117965, 13107)  # 64 Ki and 128 Ki tokens, nine tenths of them shared
CASES = (
    Case(
        "DeepSeek_V3.1T_MTP1_3_5K_1_5K_PD",
        "DeepSeek-V3.1-Terminus-w8a8-mtp-QuaRot",
        *(64, _TWO, 0, 3500, 1500, 700, 0, 9800.0, 0.97),
    ),
    Case("GLM-5.1-W8A8C8-3.5k-1.5k-0-20-PD", "GLM-5.1-w8a8c8", 64, _ONE, 0, 3500, 1500, 40, 6.87, 1449.1316, 0.97),
    Case("GLM-5.1-W8A8C8-64k-1k-90-50-PD", "GLM-5.1-w8a8c8", 64, _ONE, *_LONG, 1024, 128, 3.15, 2722.6, 0.97),
    Case("GLM-5.1-W8A8C8-128k-1k-90-50-PD", "GLM-5.1-w8a8c8", 64, _ONE, *_LONGER, 1024, 64, 1.52, 923.6, 0.97),
    Case("Kimi-K2.5-W4A8-16k-1k-TPOT50", "Kimi-K2.5-W4A8", 64, _TWO, 0, 16384, 1024, 256, 3, 2099.9, 0.95),
    Case("Kimi-K2.6-W4A8-3.5k-1.5k-TPOT50-PD", "Kimi-K2.6-w4a8", 32, _ONE, 0, 3500, 1500, 128, 2.5, 3206.8964, 0.97),
    Case("Kimi-K2.6-W4A8-64k-1k-TPOT50-PD", "Kimi-K2.6-w4a8", 32, _ONE, *_LONG, 1024, 15, 0.4, 347.4475, 0.97),
    Case("Kimi-K2.6-W4A8-128k-1k-TPOT50-PD", "Kimi-K2.6-w4a8", 32, _ONE, *_LONGER, 1024, 10, 0.3, 220.503, 0.97),
    Case("Kimi-K2.7-W4A8-64k-1k-TPOT50-PD", "Kimi-K2.7-Code-w4a8", 32, _ONE, *_LONG, 1024, 15, 0.4, 242.7762, 0.97),
    Case("Kimi-K2.7-W4A8-128k-1k-TPOT50-PD", "Kimi-K2.7-Code-w4a8", 32, _ONE, *_LONGER, 1024, 10, 0.3, 155.5781, 0.97),
    Case("Minimax_m2.7_in3_5_tpot50", "MiniMax-M2.7-w8a8-QuaRot", 48, _ONE, 0, 3500, 1500, 860, 0, 15006.5581, 0.97),
    Case(
        "Minimax_m2.7_in128k_1k_prefix90_tpot50",
        "MiniMax-M2.7-w8a8-QuaRot",
        32,
        _ONE,
        *_LONGER,
        1024,
        40,
        0,
        720.1,
        0.97,
    ),
    Case(
        "Qwen3.5-122B-A10B-w4a8-16k-1k-PD",
        "Qwen3.5-122B-A10B-w4a8",
        *(32, _ONE, 0, 16384, 1024, 8, 0, 526.2983, 0.97),
    ),
    Case(
        "Qwen3.5-122B-A10B-w4a8-128k-1k-PD",
        "Qwen3.5-122B-A10B-w4a8",
        *(48, _TWO, *_LONGER, 1024, 16, 0, 368.5119, 0.97),
    ),
    Case(
        "Qwen3.5-397B-w4a8_64k-1k-90-50-PD",
        "Qwen3.5-397B-A17B-w4a8-mtp",
        *(48, _ONE, *_LONG, 1024, 250, 1, 1005.6834, 0.97),
    ),
)


def cases_of(plan: Record) -> list[Case]:
    """The cases with the plan's model, by its name or the last folder of its path, if all engines run on their hardware."""
    names = {
        str(name).rstrip("/").rsplit("/", 1)[-1].casefold() for name in plan["model"].values() if isinstance(name, str)
    }
    used = {item["host"] for item in plan["services"] if item["devices"]}
    hardware = {item["hardware"] for item in plan["hosts"] if item["name"] in used}
    return [case for case in CASES if case.model.casefold() in names] if hardware == {HARDWARE} else []


def upstream_rows(
    cases: t.Sequence[Case], topology: Record, settings: Record, loads: t.Sequence[Record]
) -> list[dict[str, t.Any]]:
    """For each case ``{case, load, theirs, demanded, now, differs, verdict}``; ``now`` is None if no load of the report has its requests.

    ``differs`` says in words what else is not the same; only a case without differences is judged, and only beyond the spread.
    """
    found = []
    for case in cases:
        same = [
            load for load in loads if _requests(load, settings) == (case.load, case.prefix, case.input, case.output)
        ]
        load = same[0] if same else None
        demanded = case.throughput * case.least
        differs = [*_differences(case, topology), *([] if load else [_wanted(case)])]
        measured = (load or {}).get("median", {}).get("output_throughput")
        row = {"case": case.name, "load": case.load, "theirs": case.throughput, "demanded": round(demanded, 4)}
        verdict = OTHER if differs or load is None else _verdict(load, demanded)
        found.append({**row, "now": measured, "differs": differs, "verdict": verdict})
    return found


def about_upstream(rows: t.Sequence[Record]) -> t.Iterator[Finding]:
    """Cases whose throughput this deployment misses under the same conditions."""
    for row in rows:
        if row["verdict"] == MISSED:
            problem = (
                f"{row['now']:.4g} output tokens per second; vLLM-Ascend's CI demands {row['demanded']:.4g} for the same model, "
                f"NPUs, pools and requests (case {row['case']} of {SDIST})"
            )
            fix = "Compare the plan with the recipe of that case (plan -e inference_plan_show=advice), the tuning and the release."
            why = "The hardware can do more: its own makers' daily measurement did."
            yield Finding(f"load {row['load']}", "BENCH-UPSTREAM", problem, fix, severity="warning", why=why)


def _requests(load: Record, settings: Record) -> tuple[int, int, int, int]:
    return load["load"], settings["prefix"], settings["input"], settings["output"]


def _differences(case: Case, topology: Record) -> t.Iterator[str]:
    if topology["devices"] != case.devices:
        yield f"{case.devices} NPUs"
    if topology["pools"] != dict(case.pools):
        yield " and ".join(f"{number} {kind}" for kind, number in case.pools)
    if case.rate:
        yield f"at most {case.rate:g} requests per second"


def _wanted(case: Case) -> str:
    """The settings that measure the case's requests."""
    prefix = f"prefix {case.prefix}, " if case.prefix else ""
    return f"{prefix}input {case.input}, output {case.output}, load {case.load}"


def _verdict(load: Record, demanded: float) -> str:
    if load["median"].get("output_throughput") is None:
        return UNKNOWN
    if load["measurements"] < 3:
        return FEW
    if load["most"]["output_throughput"] < demanded:
        return MISSED
    return REACHED if load["least"]["output_throughput"] >= demanded else WITHIN
