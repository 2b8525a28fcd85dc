# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the NPUs: there, healthy, free, of the planned kind."""

from __future__ import annotations

import typing as t

from ..plan.rules.base import Found, Rule
from ..releases.version import numbers
from .observed import Observed, place

HEALTHY = ("ok", "healthy")


def absent(case: Observed) -> t.Iterator[Found]:
    """Planned devices that npu-smi does not list."""
    for host, npus in case.npus():
        for device, service in sorted(case.planned_devices(host["name"]).items()):
            if device not in npus:
                yield Found(
                    place(host, device), service, f"{service} is planned on a device that npu-smi does not list"
                )


def unhealthy(case: Observed) -> t.Iterator[Found]:
    """Planned devices whose health is not OK."""
    for host, npus in case.npus():
        for device, service in sorted(case.planned_devices(host["name"]).items()):
            health = str(npus.get(device, {}).get("health") or "OK")
            if health.lower() not in HEALTHY:
                yield Found(place(host, device), health, f"the device of {service} reports health {health}")


def busy(case: Observed) -> t.Iterator[Found]:
    """Planned devices with processes of strangers; processes of this deployment's services are known by their pid."""
    for host, npus in case.npus():
        own = own_processes(case, host["name"])
        for device, service in sorted(case.planned_devices(host["name"]).items()):
            others = [one for one in npus.get(device, {}).get("processes") or [] if one.get("pid") not in own]
            if others:
                names = ", ".join(f"{one.get('name') or 'a process'} (pid {one.get('pid')})" for one in others)
                yield Found(place(host, device), names, f"the device of {service} is in use by {names}")


def own_processes(case: Observed, host: str) -> set[int]:
    """Process ids on a host that belong to this deployment (host_info's ``own_processes``)."""
    facts = case.facts.get(host, {}).get("host") or {}
    prefix = f"{case.plan['directory']}/services/"
    return {int(one["pid"]) for one in facts.get("own_processes", []) if str(one.get("service", "")).startswith(prefix)}


def count(case: Observed) -> t.Iterator[Found]:
    """Hosts without devices that the inventory gives them, though none of those is planned."""
    for host, npus in case.npus():
        missing = sorted(set(host["devices"]) - set(npus) - set(case.planned_devices(host["name"])))
        if missing:
            yield Found(place(host), missing, f"the inventory has devices {missing}, npu-smi does not list them")


def generation(case: Observed) -> t.Iterator[Found]:
    """Hosts of another generation than planned."""
    for host, facts in case.asked("npu"):
        seen = facts.get("generation")
        if seen and seen != host["hardware"]:
            yield Found(place(host), seen, f"the host is {seen}, but the plan is made for {host['hardware']}")


def driver_differs(case: Observed) -> t.Iterator[Found]:
    """Hosts whose driver is not the one that most hosts have."""
    seen = {host["name"]: str(facts.get("driver_version") or "") for host, facts in case.asked("npu")}
    versions = sorted(set(seen.values()) - {""}, key=lambda one: (-list(seen.values()).count(one), one))
    for name in sorted(seen):
        if seen[name] and seen[name] != versions[0]:
            yield Found(name, seen[name], f"driver {seen[name]}, while most hosts have {versions[0]}")


def driver_old(case: Observed) -> t.Iterator[Found]:
    """Hosts whose driver is older than the release needs, or, as a warning, than its documents recommend."""
    wanted = case.plan.get("release_facts", {})
    least, better = (numbers(str(wanted.get(key) or ""))[:2] for key in ("driver_minimum", "hdk"))
    for host, facts in case.asked("npu"):
        version = str(facts.get("driver_version") or "")
        found = numbers(version)[:2]  # the first two decide
        if found and found < least:
            needed = wanted["driver_minimum"]
            yield Found(place(host), version, f"driver {version} is older than {needed}, which the release needs")
        elif found and found < better:
            advice = f"driver {version} is older than {wanted['hdk']}, which the release's documents recommend"
            yield Found(place(host), version, advice, severity="warning")


def super_pods(case: Observed) -> t.Iterator[Found]:
    """Devices of one deployment in different super pods: HCCS does not reach from one to the other."""
    seen: dict[t.Any, str] = {}
    for host, npus in case.npus():
        for device in case.planned_devices(host["name"]):
            pod = (npus.get(device) or {}).get("super_pod_id")
            if pod is not None:
                seen.setdefault(pod, place(host, device))
    if len(seen) > 1:
        pods = sorted(seen, key=str)
        for pod in pods[1:]:
            yield Found(seen[pod], pod, f"super pod {pod}, while {seen[pods[0]]} is in super pod {pods[0]}")


def sdid_twice(case: Observed) -> t.Iterator[Found]:
    """Two devices of one super pod with the same super device id."""
    owner: dict[t.Any, str] = {}
    for host, npus in case.npus():
        for device in sorted(case.planned_devices(host["name"])):
            record = npus.get(device) or {}
            if record.get("sdid") is None:
                continue
            other = owner.setdefault((record.get("super_pod_id"), record["sdid"]), place(host, device))
            if other != place(host, device):
                yield Found(place(host, device), record["sdid"], f"{other} has the same super device id")


RULES = (
    Rule(
        "NPU-ABSENT",
        "error",
        "A planned device exists.",
        "Correct inference_devices, or have the card looked at.",
        "npu-smi info",
        absent,
    ),
    Rule(
        "NPU-HEALTH",
        "error",
        "A planned device is healthy.",
        "npu-smi info -t health -i <card> names the fault; reset or replace the card, or plan without it.",
        "npu-smi info",
        unhealthy,
    ),
    Rule(
        "NPU-BUSY",
        "error",
        "A planned device is free.",
        "Stop that process, or plan other devices.",
        "vllm-ascend #4725, #11968",
        busy,
    ),
    Rule(
        "NPU-COUNT",
        "warning",
        "The inventory says what the host has.",
        "Correct inference_devices of the host.",
        "npu-smi info",
        count,
    ),
    Rule(
        "NPU-GENERATION",
        "error",
        "The host is of the planned generation.",
        "Correct inference_hardware of the host.",
        "vllm-ascend #5599",
        generation,
    ),
    Rule(
        "DRIVER-DIFFERS",
        "warning",
        "All hosts of a deployment have the same driver.",
        "Bring the hosts to one driver version.",
        "vllm-ascend #2406, #5468",
        driver_differs,
    ),
    Rule(
        "DRIVER-OLD",
        "error",
        "The driver is as new as the release asks for.",
        "Upgrade driver and firmware (this collection never does), or choose an older release.",
        "vllm-ascend #2406, #3190",
        driver_old,
    ),
    Rule(
        "SUPER-POD",
        "error",
        "All devices of a deployment over HCCS are in one super pod.",
        "Plan hosts of one super pod, or inference_link: roce.",
        "vllm-ascend #2939",
        super_pods,
    ),
    Rule(
        "SDID-TWICE",
        "error",
        "A super device id is unique in its super pod.",
        "Have the super pod's configuration looked at.",
        "vllm-ascend #1680",
        sdid_twice,
    ),
)
