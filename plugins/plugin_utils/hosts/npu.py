# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of NPUs: presence, health, use by other processes, generation, memory and errors."""

from __future__ import annotations

import re
import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.findings import Finding
from ..plan.rules.base import Rules
from .observed import Observed, Record, majority, npus_by_device, place, plane

RULES = Rules()
HEALTHY = ("ok", "healthy")
FAILURES = "knowledge_failures, host, driver and network:"


@RULES.rule("NPU-ABSENT", "Correct inference_devices, or check the card.", "npu-smi reference, info")
def absent(case: Observed) -> t.Iterator[Finding]:
    """npu-smi does not list a planned device.

    The service planned on it cannot start.
    """
    for host, npus in case.npus():
        for device, service in sorted(case.planned_devices(host["name"]).items()):
            if device not in npus:
                yield Finding.at(place(host, device), service, "npu-smi does not list the device")


@RULES.rule(
    "NPU-HEALTH",
    "npu-smi info -t health -i CARD shows the fault; reset or replace the card, or plan without it (inference_devices).",
    "npu-smi reference, info",
)
def unhealthy(case: Observed) -> t.Iterator[Finding]:
    """A planned device is not healthy, or npu-smi does not report its health.

    Engines on such a chip fail or hang. npu-smi leaves out the health of a chip whose state it does not understand.
    """
    for host, device, _service, npu in case.each_npu():
        health = npu.get("health")
        if health is None:
            yield Finding.at(place(host, device), "", "npu-smi does not report the health of the device")
        elif str(health).lower() not in HEALTHY:
            yield Finding.at(place(host, device), health, f"npu-smi reports health {health}")


@RULES.rule(
    "NPU-BUSY",
    "Stop that process, or plan other devices.",
    "https://github.com/vllm-project/vllm-ascend/issues/4725",
)
def busy(case: Observed) -> t.Iterator[Finding]:
    """A process outside of this deployment uses a planned device.

    The engine may run out of device memory.
    """
    for host, device, _service, npu in case.each_npu():
        own = own_processes(case, host["name"])
        others = [process for process in npu.get("processes") or [] if process.get("pid") not in own]
        if not others:
            continue
        names = ", ".join(f"{process.get('name') or 'a process'} (pid {process.get('pid')})" for process in others)
        if not sees_processes(case, host) and runs_here(case, host):
            problem = f"in use by {names}; the connected user cannot see whether it belongs to this deployment"
            yield Finding.at(place(host, device), names, problem, "", "remark")
        else:
            yield Finding.at(place(host, device), names, f"in use by {names}")


def own_processes(case: Observed, host: str) -> set[int]:
    """Process ids on a host that belong to this deployment (host_info's ``own_processes``)."""
    facts = case.facts.get(host, {}).get("host") or {}
    prefix = f"{case.plan['directory']}/services/"
    return {
        int(process["pid"])
        for process in facts.get("own_processes") or []
        if str(process.get("service", "")).startswith(prefix)
    }


def sees_processes(case: Observed, host: Record) -> bool:
    """Whether the connected user can distinguish this deployment's processes from others."""
    return bool((case.part(host, "host").get("user") or {}).get("sees_processes", True))


def runs_here(case: Observed, host: Record) -> bool:
    """Whether this deployment's own services already listen on this host: one of its API ports is held."""
    held = {socket["port"] for socket in case.part(host, "host").get("listening") or []}
    return any(
        port["first"] in held
        for service in case.services(host["name"])
        for port in service["ports"]
        if port["name"] == "api"
    )


@RULES.rule("NPU-COUNT", "Correct inference_devices of the host.", "npu-smi reference, info", "warning")
def count(case: Observed) -> t.Iterator[Finding]:
    """The inventory lists unplanned devices of a host that npu-smi does not list.

    A later plan may use them.
    """
    for host, npus in case.npus():
        missing = sorted(set(host["devices"]) - set(npus) - set(case.planned_devices(host["name"])))
        if missing:
            yield Finding.at(place(host), missing, f"npu-smi does not list devices {missing} of the inventory")


@RULES.rule(
    "NPU-GENERATION",
    "Correct inference_hardware of the host.",
    "https://github.com/vllm-project/vllm-ascend/issues/5599",
)
def generation(case: Observed) -> t.Iterator[Finding]:
    """The host's NPUs are of a different generation than planned.

    Packages and images are built for one generation: engines do not start on another.
    """
    for host, facts in case.gathered("npu"):
        seen = facts.get("generation")
        if seen and seen != host["hardware"]:
            yield Finding.at(place(host), seen, f"the host is {seen}, but the plan is for {host['hardware']}")


@RULES.rule(
    "NPU-MODEL-DIFFERS",
    "Plan a pool on devices of one model, with the same memory (inference_pools.POOL.group).",
    "vLLM documentation, parallelism: all ranks of a group have the same shards",
)
def model_differs(case: Observed) -> t.Iterator[Finding]:
    """Devices of one pool differ in their model or in the size of their memory.

    All ranks of a group load shards of the same size: the smallest device runs out of memory, and the slowest one limits all.
    """
    kinds = {service["name"]: service["kind"] for service in case.plan["services"]}
    for kind in ENGINE_KINDS:
        names, sizes = {}, {}
        for host, device, service, npu in case.each_npu():
            if kinds[service] == kind:
                names[place(host, device)] = str(npu.get("name") or "")
                total = npu.get("hbm_total_mib")
                sizes[place(host, device)] = "" if total is None else str(total)
        for label, values, unit in (("model", names, ""), ("memory", sizes, " MiB")):
            usual = majority(values)
            for where, value in values.items():
                if value and value != usual:
                    problem = f"{label} {value}{unit}, while most devices of pool {kind} have {usual}{unit}"
                    yield Finding.at(where, value + unit, problem)


@RULES.rule(
    "HBM-USED",
    "Find the process (in another container, or killed); restart the container or reset the chip.",
    FAILURES + " N14",
)
def memory_used(case: Observed) -> t.Iterator[Finding]:
    """Memory of a planned device is in use, but not by the processes that npu-smi lists.

    The engine allocates a share of the total memory (gpu-memory-utilization) and fails at startup.
    """
    for host, device, _service, npu in case.each_npu():
        used, total = npu.get("hbm_used_mib"), npu.get("hbm_total_mib")
        owned = [process.get("memory_mib") for process in npu.get("processes") or []]
        if used is None or not total or None in owned:
            continue
        if 100.0 * (used - sum(owned)) / total > case.thresholds.hbm_used_percent:
            whose = f", but its processes have only {sum(owned)} MiB" if owned else " without a process"
            problem = f"{used} of {total} MiB are in use{whose} (allowed: {case.thresholds.hbm_used_percent:g} %)"
            yield Finding.at(place(host, device), f"{used} MiB", problem)


@RULES.rule(
    "NPU-TEMPERATURE",
    "Check fans, airflow and the load of neighbouring devices.",
    "threshold temperature_celsius of this collection",
    "warning",
)
def temperature(case: Observed) -> t.Iterator[Finding]:
    """A planned device is hot before the deployment starts.

    A hot chip throttles, and the slowest rank limits the speed of its group.
    """
    for host, device, _service, npu in case.each_npu():
        found, limit = npu.get("temperature_celsius"), case.thresholds.temperature_celsius
        if found is not None and found > limit:
            yield Finding.at(place(host, device), found, f"{found} degrees Celsius (allowed: {limit:g})")


@RULES.rule(
    "NPU-ECC",
    "Reset the chip, which replaces isolated pages; replace the card if the counters grow again.",
    "npu-smi reference, info -t ecc",
)
def memory_errors(case: Observed) -> t.Iterator[Finding]:
    """A planned device has uncorrected memory errors or many isolated pages.

    An uncorrected error stops the engine; many isolated pages indicate that one is likely.
    """
    for host, device, _service, npu in case.each_npu():
        ecc = npu.get("ecc") or {}
        double = sum(_counted(ecc, "double_bit_error_count"))
        isolated = sum(_counted(ecc, "isolated_pages_count"))
        growth = npu.get("ecc_growth") or {}
        more = sum(_counted(growth.get("counters") or {}, "double_bit_error_count"))
        if more:
            problem = f"{more} uncorrected memory errors in {growth['seconds']:g} seconds"
            yield Finding.at(place(host, device), double, problem)
        elif double > case.thresholds.ecc_double_bit_errors:
            past = f", but not in the last {growth['seconds']:g} seconds" if growth else ""
            problem = f"{double} uncorrected memory errors since the chip started{past}"
            yield Finding.at(place(host, device), double, problem, severity="warning" if growth else "")
        elif isolated > case.thresholds.ecc_isolated_pages:
            limit = case.thresholds.ecc_isolated_pages
            problem = f"{isolated} isolated memory pages (allowed: {limit})"
            yield Finding.at(place(host, device), isolated, problem, severity="warning")


KNOWN_ECC = re.compile(r"(?:^|_)(?:single|double)_bit_(?:error_count|aggregate_total_err_cnt|isolated_pages_count)$")


@RULES.rule(
    "NPU-ECC-UNKNOWN",
    "Look the counter up in the driver's npu-smi reference.",
    "npu-smi reference, info -t ecc",
    "remark",
)
def unknown_counters(case: Observed) -> t.Iterator[Finding]:
    """npu-smi reports memory errors under a name that this collection does not know.

    A counter of a newer driver is not evaluated, and may mean a fault.
    """
    for host, device, _service, npu in case.each_npu():
        for name, value in sorted((npu.get("ecc") or {}).items()):
            error = re.search("err|bit|isolated|fault", name)
            if error and not KNOWN_ECC.search(name) and isinstance(value, int) and value > 0:
                yield Finding.at(
                    place(host, device), f"{name} {value}", f"unknown memory error counter {name} is not 0"
                )


def _counted(ecc: Record, ending: str) -> list[int]:
    return [value for key, value in ecc.items() if key.endswith(ending) and isinstance(value, int)]


@RULES.rule(
    "SUPER-POD",
    "Plan hosts of one super pod, or set inference_link: roce.",
    "https://github.com/vllm-project/vllm-ascend/pull/2939",
)
def super_pods(case: Observed) -> t.Iterator[Finding]:
    """Devices of one deployment are in different super pods.

    HCCS does not connect super pods: no KV would be transferred.
    """
    pods: dict[str, str] = {}
    for host, device, _service, npu in case.each_npu():
        if npu.get("super_pod_id") is not None and plane(case.plan, host) == "hccs":
            pods[place(host, device)] = str(npu["super_pod_id"])
    usual = majority(pods)
    by_host: dict[str, dict[str, list[str]]] = {}
    for where, pod in pods.items():
        if pod != usual:
            by_host.setdefault(where.rsplit(" device ", 1)[0], {}).setdefault(pod, []).append(where)
    for host_name, found in by_host.items():
        for pod, places in found.items():
            whole = len(places) == len(case.planned_devices(host_name))
            for where in [host_name] if whole else places:
                yield Finding.at(where, pod, f"in super pod {pod}, while most devices are in super pod {usual}")


@RULES.rule(
    "SDID-TWICE",
    "Check the configuration of the super pod: npu-smi info -t spod-info -i CARD -c CHIP.",
    "https://github.com/vllm-project/vllm-ascend/issues/1680",
)
def sdid_twice(case: Observed) -> t.Iterator[Finding]:
    """Two devices of one super pod have the same super device id.

    Transfers reach the wrong device.
    """
    owners: dict[tuple[t.Any, t.Any], list[tuple[str, Record]]] = {}
    for host, device, _service, npu in case.each_npu():
        if npu.get("sdid") is not None:
            owners.setdefault((npu.get("super_pod_id"), npu["sdid"]), []).append((place(host, device), npu))
    for (_pod, sdid), places in owners.items():
        # the upper bits of an id are its server (npu-smi reference, spod-info): the device that contradicts them is wrong
        odd = [
            where for where, npu in places if npu.get("server_index") is not None and sdid >> 22 != npu["server_index"]
        ]
        if len(places) > 1:
            for where in odd if 0 < len(odd) < len(places) else [where for where, _npu in places[1:]]:
                others = ", ".join(other for other, _npu in places if other != where)
                yield Finding.at(where, sdid, f"{others} has the same super device id {sdid}")


@RULES.rule(
    "SDID-ODD",
    "Check the configuration of the super pod: npu-smi info -t spod-info -i CARD -c CHIP.",
    "npu-smi reference, info -t spod-info",
    "warning",
)
def sdid_odd(case: Observed) -> t.Iterator[Finding]:
    """A super device id does not match the device's server.

    The id consists of server, chip and die; a wrong one may be another device's id.
    """
    twice = {finding.path for finding in sdid_twice(case)}
    for host, device, _service, npu in case.each_npu():
        sdid, server = npu.get("sdid"), npu.get("server_index")
        if sdid is not None and server is not None and sdid >> 22 != server and place(host, device) not in twice:
            problem = f"super device id {sdid} is of server {sdid >> 22}, but the device belongs to server {server}"
            yield Finding.at(place(host, device), sdid, problem)


def dies(case: Observed, host: Record) -> dict[int, Record]:
    """The host's dies by device, for report pages."""
    return npus_by_device(case.part(host, "npu"))
