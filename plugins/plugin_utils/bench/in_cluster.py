# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods of a cluster are measured from the controller: its program sends the requests to the clients' entry. What it cannot see there is named."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ANSWERING_KINDS
from ..description.findings import Finding
from .settings import Bench

Record = t.Mapping[str, t.Any]
CONTROLLER = "localhost"
UNSEEN = (
    "the logs of the pods (messages about KV cache, times of transfers), the tuning of the nodes, and what the way from the controller to the "
    "entry adds to each time"
)


def findings(plan: Record, bench: Bench) -> list[Finding]:
    """Settings that cannot be followed in a cluster, or only there."""
    inside = plan["runtime_facts"]["in_cluster"]
    if not inside and bench.tokenizer:
        return [_refusal("tokenizer", "it is for Kubernetes, and engines on hosts have their model's", "Remove it.")]
    found = []
    if inside and not bench.program:
        fix = "Install vLLM (or AISBench) in an environment of its own on the controller, and name its program, such as /opt/client/bin/vllm."
        found.append(_refusal("program", "no program of the controller is named that sends the requests", fix))
    elif inside and not bench.program.startswith("/"):
        found.append(
            _refusal("program", f"{bench.program} is no absolute path", "Write the whole path on the controller.")
        )
    if inside and bench.host:
        fix = "Remove host: the controller sends the requests, from where clients would."
        found.append(_refusal("host", f"{bench.host} is no host of the inventory in a cluster", fix))
    if inside and not plan["verify"].get("entry"):
        fix = "Set inference_kubernetes.router.url, or measure through a gateway of your own with its tools."
        found.append(_refusal("", "the URL for clients is not known", fix))
    return found


def controller(plan: Record, bench: Bench) -> dict[str, t.Any] | None:
    """What stands for the engine in whose environment the program runs; None on hosts."""
    if not plan["runtime_facts"]["in_cluster"]:
        return None
    engine = next(item for item in plan["services"] if item["kind"] in ANSWERING_KINDS)
    trusted = [word for word in engine["argv"] if word == "--trust-remote-code"]
    return {
        "name": "the controller",
        "host": CONTROLLER,
        "argv": [bench.program, *trusted],
        "env": {},
        "source": [],
        "container": None,
        "scratch_directory": "",
        "tokenizer": bench.tokenizer,
    }


def vllm_of_client(plan: Record) -> str:
    """The version of the client: that of the engines, whose program it is; unknown for a program of the controller, which then has to be 0.10 or newer."""
    return "" if plan["runtime_facts"]["in_cluster"] else str(plan["release_facts"]["vllm"])


def unseen(plan: Record) -> t.Iterator[Finding]:
    """What a report of pods does not have."""
    if plan["runtime_facts"]["in_cluster"]:
        fix = "Read kubectl logs of the pods, and compare only with reports that were made from the same controller."
        why = "A report of hosts has it, so the two differ in more than the runtime."
        yield Finding("inference_runtime", "BENCH-CLUSTER", f"not seen: {UNSEEN}", fix, severity="remark", why=why)


def _refusal(name: str, problem: str, fix: str) -> Finding:
    path = f"inference_bench.{name}" if name else "inference_bench"
    return Finding(path, "BENCH-SETTING", problem, fix, why="Every request would fail, or nothing could be measured.")
