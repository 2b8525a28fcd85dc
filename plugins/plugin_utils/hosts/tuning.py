# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of host tuning: what differs from the profile, what prevents a setting, and what works against it."""

from __future__ import annotations

import typing as t

from ..description.findings import Finding
from ..plan.rules.base import Rules
from .observed import Observed, computed_once, place
from .tuning_settings import Wanted, state_of, wanted
from .tuning_state import preloads, rows

RULES = Rules()
BINDING = "https://docs.vllm.ai/projects/ascend/en/latest/user_guide/feature_guide/cpu_binding.html"
GUIDE = (
    "https://docs.vllm.ai/projects/ascend/en/latest/developer_guide/performance_and_debug/optimization_and_tuning.html"
)
POOL = "https://docs.vllm.ai/projects/ascend/en/latest/user_guide/feature_guide/kv_pool.html"


@computed_once
def all_wanted(case: Observed) -> dict[str, Wanted]:
    """The settings of every host that has facts of tuning."""
    return {host["name"]: wanted(case, host) for host in case.hosts() if state_of(case, host)}


def _noted(case: Observed, rule: str) -> t.Iterator[Finding]:
    for host in case.hosts():
        found = all_wanted(case).get(host["name"])
        for device, value, problem in found.problems.get(rule, ()) if found else ():
            yield Finding.at(place(host, device), value, problem)


@RULES.rule(
    "TUNE-DIFFERS",
    "Run the playbook tune, or choose another inference_tune_profile for the host.",
    GUIDE,
    "remark",
)
def differs(case: Observed) -> t.Iterator[Finding]:
    """Settings of a host differ from its profile of tuning.

    Figures of hosts with different settings cannot be compared, and latency varies more.
    """
    for host in case.hosts():
        found = all_wanted(case).get(host["name"])
        odd = [row for row in rows(case, host, found) if row["tuned"] and not row["as_wanted"]] if found else []
        if odd:
            shown = ", ".join(f"{row['setting']} is {row['found']} (wanted: {row['wanted']})" for row in odd[:4])
            more = f", and {len(odd) - 4} more settings" if len(odd) > 4 else ""
            yield Finding.at(place(host), "", f"profile {host['tune']['profile']}: {shown}{more}")


@RULES.rule(
    "TUNE-JEMALLOC",
    "Install libjemalloc2 (Debian, Ubuntu) or jemalloc (openEuler), and restart the engines. Without it they start with the C library's allocator.",
    "https://github.com/vllm-project/vllm-ascend/issues/5609",
    "remark",
)
def jemalloc(case: Observed) -> t.Iterator[Finding]:
    """The plan preloads jemalloc, and the host does not have it.

    Engines start without it. vLLM-Ascend's guides use it on NPUs, and Mooncake's store may abort without it.
    """
    for host in case.hosts():
        state = state_of(case, host)
        if state and not case.plan["runtime_facts"]["contained"] and not state["jemalloc"]:
            names = [service["name"] for service in case.services(host["name"]) if preloads(service)]
            severity = "warning" if host.get("store_mib") else ""
            if names:
                text = f"{', '.join(names)} would preload jemalloc, which is not installed"
                yield Finding.at(place(host), "", text, severity=severity)


@RULES.rule(
    "TUNE-IRQBALANCE",
    "Set inference_tune: {irqbalance: exclude} or {irqbalance: stop}, and run the playbook tune.",
    BINDING,
    "warning",
)
def balanced(case: Observed) -> t.Iterator[Finding]:
    """irqbalance works against the binding of the NPUs' interrupts.

    There must be one binder: irqbalance moves interrupts every ten seconds.
    """
    yield from _noted(case, "TUNE-IRQBALANCE")


@RULES.rule(
    "TUNE-BINDERS",
    "Use a runtime that runs engines as a user of their own, or set additional-config.enable_cpu_binding: false.",
    BINDING,
    "warning",
)
def binders(case: Observed) -> t.Iterator[Finding]:
    """Two programs would bind the NPUs' interrupts.

    The one that writes last wins, so the binding is not known.
    """
    yield from _noted(case, "TUNE-BINDERS")


@RULES.rule(
    "TUNE-SLICES",
    "Allow more CPUs (fewer of inference_tune.housekeeping, CPUs that are offline), or use the profile safe.",
    BINDING,
    "warning",
)
def sliced(case: Observed) -> t.Iterator[Finding]:
    """An NPU has too few CPUs, or they are on another NUMA node.

    vLLM-Ascend's CPU binding needs five CPUs of an NPU, and interrupts that cross nodes are slow.
    """
    yield from _noted(case, "TUNE-SLICES")


@RULES.rule(
    "TUNE-INTERRUPTS",
    "Check the driver (grep sq_send_trigger_irq /proc/interrupts), or use the profile safe.",
    BINDING,
    "warning",
)
def interrupts(case: Observed) -> t.Iterator[Finding]:
    """The interrupts of an NPU cannot be found.

    The profile latency cannot bind them, so they stay where the kernel or irqbalance puts them.
    """
    yield from _noted(case, "TUNE-INTERRUPTS")


@RULES.rule(
    "TUNE-HUGE-PAGES",
    "Choose a smaller inference_store.segment_size, or set inference_tune: {huge_pages: false}.",
    POOL,
    "warning",
)
def huge(case: Observed) -> t.Iterator[Finding]:
    """The store's segments need more huge pages than the host can spare.

    Huge pages are taken from all other programs, so they are not reserved.
    """
    yield from _noted(case, "TUNE-HUGE-PAGES")


@RULES.rule(
    "TUNE-HOUSEKEEPING", "Use inference_runtime: systemd, or remove inference_tune.housekeeping.", BINDING, "warning"
)
def kept(case: Observed) -> t.Iterator[Finding]:
    """Housekeeping CPUs cannot be kept free of engines.

    Engines and routers share all CPUs as before.
    """
    yield from _noted(case, "TUNE-HOUSEKEEPING")


@RULES.rule(
    "TUNE-TOOLS",
    "Install numactl (migratepages) and util-linux (taskset, lscpu).",
    BINDING,
    "remark",
)
def tools(case: Observed) -> t.Iterator[Finding]:
    """Programs are missing that vLLM-Ascend's CPU binding calls.

    Without migratepages an engine's memory stays on another NUMA node; without taskset and lscpu nothing is bound.
    """
    for host in case.hosts():
        state = state_of(case, host)
        gaps = [name for name in ("lscpu", "migratepages", "taskset") if name not in state.get("tools", ())]
        arm = state.get("machine") == "aarch64"  # on others vLLM-Ascend binds nothing
        if state and gaps and arm and case.expects_npus(host) and not case.plan["runtime_facts"]["contained"]:
            yield Finding.at(place(host), ", ".join(gaps), f"not installed: {', '.join(gaps)}")
