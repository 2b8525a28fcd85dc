# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of hosts that compile: vLLM-Ascend for the chip, or Mooncake. Builds take tens of minutes, so they are checked before."""

from __future__ import annotations

import typing as t

from ..description.findings import Finding
from ..plan.rules.base import Rules
from .observed import Observed, Record, later, place

RULES = Rules()
TOOLS = {"vLLM-Ascend": ("git", "gcc", "g++", "make"), "Mooncake": ("git", "gcc", "g++", "make", "cmake")}
SOURCE = (
    "vllm-ascend setup.py and Dockerfiles: cmake comes with the build requirements, compilers and git do not; MAX_JOBS"
)


def builds(case: Observed, host: Record) -> list[str]:
    """What the host compiles: names of TOOLS."""
    plan = case.plan
    if plan["runtime_facts"]["contained"] or not case.expects_npus(host):
        return []
    software = plan.get("software") or {}
    engine = (software.get("engine", {}).get("builds") or {}).get(host["hardware"]) or {}
    found = ["vLLM-Ascend"] if engine.get("method") == "source" else []
    mooncake = software.get("mooncake") or {}
    method = later(case, host, "mooncake_method") or "auto"
    built = method == "source" or method == "auto" and not mooncake.get("package")
    return [*found, "Mooncake"] if mooncake.get("needed") and built else found


def _compiling(case: Observed) -> t.Iterator[tuple[Record, Record, list[str]]]:
    for host, facts in case.gathered("host"):
        names = builds(case, host)
        if names:
            yield host, facts, names


@RULES.rule(
    "BUILD-TOOLS",
    "Install the missing programs as root, connect as root (become), or use inference_runtime: docker, which builds nothing.",
    SOURCE,
)
def tools(case: Observed) -> t.Iterator[Finding]:
    """Programs that a planned build needs are missing, and the connected user cannot install them.

    The build ends after it has fetched its sources.
    """
    for host, facts, names in _compiling(case):
        present = facts.get("tools")
        if present is None or (facts.get("user") or {}).get("uid") == 0:
            continue  # root installs them from the distribution's sources
        missing = sorted({tool for name in names for tool in TOOLS[name]} - set(present))
        if missing:
            problem = f"{', '.join(missing)} missing for the build of {' and '.join(names)}"
            yield Finding.at(place(host), ", ".join(missing), problem)


@RULES.rule(
    "BUILD-MEMORY",
    "Set vllm_ascend_environment: {MAX_JOBS: '16'} to a number of compilers that fits, or stop other programs.",
    SOURCE,
    "warning",
)
def memory(case: Observed) -> t.Iterator[Finding]:
    """Too little memory is available for as many compilers as the host has processors.

    The kernel kills a compiler, and the build fails after many minutes.
    """
    for host, facts, names in _compiling(case):
        available = (facts.get("memory") or {}).get("memory_available_mib")
        needed = case.thresholds.build_mib_per_job * int(facts.get("processors") or 0)
        limited = "vLLM-Ascend" in names and "MAX_JOBS" in later(case, host, "vllm_ascend_environment")
        if available and available < needed and not limited:
            problem = f"{available} MiB are available, {facts['processors']} compilers need about {needed}"
            yield Finding.at(place(host), f"{available} MiB", problem)


@RULES.rule("BUILD-DISK", "Free disk space, or set another inference_root.", SOURCE, "warning")
def disk(case: Observed) -> t.Iterator[Finding]:
    """Too little disk space is free for the sources and objects of a planned build.

    The build fails halfway.
    """
    for host, facts, names in _compiling(case):
        needed = case.thresholds.disk_free_mib + case.thresholds.build_disk_mib
        for item in facts.get("disks") or []:
            if case.thresholds.disk_free_mib <= item["free_mib"] < needed:
                problem = f"{item['free_mib']} MiB are free, the build of {' and '.join(names)} needs {needed}"
                yield Finding.at(f"{place(host)} {item['path']}", f"{item['free_mib']} MiB", problem)
