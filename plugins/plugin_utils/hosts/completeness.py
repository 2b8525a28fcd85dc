# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of completeness: missing facts of planned hosts and devices are findings."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.findings import Finding
from ..plan.rules.base import Rules
from . import connection
from .observed import Observed, Record, computed_once, links_by_device, npus_by_device, place, plane

RULES = Rules()
TOOLS = {"npu": "npu-smi", "hccn": "hccn_tool", "ping": "hccn_tool -ping", "host": "host_info", "gather": "check_info"}
TRIED = {"npu": "npu-smi info", "hccn": "hccn_tool -i 0 -link -g", "ping": "hccn_tool -i 0 -ping -g address ADDRESS"}
TOOLS.update(tcp="port_probe", controller="port_probe of the controller")
HOST_PARTS = ("listening", "own_processes", "interfaces", "memory", "limits", "clock", "disks", "system", "access")
NEEDED = {"roce": ("link", "tls_enabled"), "hccs": ("vnic",), "host": ()}
FILLED = ("disks", "models")  # lists that are empty only if nothing was gathered
HOST_VALUES = (
    ("clock", "synchronised"),
    ("memory", "memory_available_mib"),
    ("memory", "shm_mib"),
    ("sysctl", "vm.max_map_count"),
    ("system", "kernel"),
    ("system", "machine"),
)
LINK_DETAILS = ("optical", "stats", "link_stat", "mtu", "speed", "fec")
MEASURES = {"hbm_used_mib": "HBM", "temperature_celsius": "temperature", "ecc": "memory errors", "board": "firmware"}
INFORMATION = {"roce": ("net_health",), "hccs": ("tls_enabled",), "host": ()}


@RULES.rule(
    "HOST-UNREACHABLE",
    "",
    "ansible-core documentation, Connection methods and details",
)
def unreachable(case: Observed) -> t.Iterator[Finding]:
    """A planned host is unreachable, or the connection to it was lost during the check.

    The host was not checked, and its planned services cannot be deployed.
    """
    for host in case.hosts():
        reason = case.unreachable().get(host["name"])
        if reason is None:
            continue
        if not reason:
            problem = "no facts were gathered: the host was not contacted, or the connection was lost"
            yield Finding.at(place(host), host["address"], problem, "See Ansible's messages above and check the host.")
            continue
        problem, fix = connection.cause(reason)
        yield Finding.at(place(host), connection.in_one_line(reason), problem, fix)


@RULES.rule("HOST-ANSWER", "", "npu-smi and hccn_tool")
def failed_tools(case: Observed) -> t.Iterator[Finding]:
    """A tool failed on a planned host.

    What the tool reports was not checked; a failed device could go unnoticed.
    """
    for host, kind, error in case.failed():
        if kind not in TOOLS or (kind != "gather" and _no_module_runs(case, host)):
            continue
        if kind == "gather" and connection.known(error):
            problem, fix = connection.cause(error)
            yield Finding.at(place(host), connection.in_one_line(error), problem, fix)
        else:
            example = f", such as {TRIED[kind]}" if kind in TRIED else ""
            fix = f"Run the command manually as root on the host{example}, and fix the error that it reports."
            yield Finding.at(f"{place(host)} {TOOLS[kind]}", "", error, fix)


def _no_module_runs(case: Observed, host: Record) -> bool:
    """Whether no module could start on the host: sudo or Python is the cause of all other failures there."""
    gathered = (case.facts.get(host["name"]) or {}).get("gather") or {}
    return connection.known(str(gathered.get("error") or ""))


@RULES.rule("RUNTIME", "", "role service, preflight of the runtime")
def runtime(case: Observed) -> t.Iterator[Finding]:
    """The runtime cannot run the planned services on a host.

    The services would not start.
    """
    for host, kind, error in case.failed():
        if kind == "runtime" and not _no_module_runs(case, host):
            message, _mark, fix = error.partition(" Fix: ")
            yield Finding.at(place(host), case.plan["runtime"], message, f"{fix[:1].upper()}{fix[1:]}")


@RULES.rule(
    "FACTS-MISSING",
    "Run the check again. If the fact is still missing, run the tool manually on the host and report its output as an issue.",
    "this collection: missing facts are not treated as healthy",
)
def missing(case: Observed) -> t.Iterator[Finding]:
    """A fact that the deployment depends on is missing.

    A missing fact may hide a fault.
    """
    lost = case.unreachable()
    for host in case.hosts():
        facts = case.facts.get(host["name"]) or {}
        if host["name"] in lost or "error" in (facts.get("gather") or {}):
            continue
        yield from _host_gaps(case, host, facts)
        if case.expects_npus(host):
            yield from _npu_gaps(case, host, facts)
            yield from _link_gaps(case, host, facts)


def _host_gaps(case: Observed, host: Record, facts: Record) -> t.Iterator[Finding]:
    found = facts.get("host")
    if not found:
        yield Finding.at(place(host), "", "the facts of the host are missing (module host_info)")
    elif "error" not in found:
        wanted = HOST_PARTS + (("models",) if _serves_model(case, host) else ())
        gaps = [name for name in wanted if found.get(name) is None or (name in FILLED and not found[name])]
        values = HOST_VALUES if case.expects_npus(host) else ()
        gaps += [f"{part}.{name}" for part, name in values if part not in gaps and not _value(found, part, name)]
        if gaps:
            reasons = [str(warning) for warning in found.get("warnings") or [] if _about_interfaces(str(warning))]
            reason = f" ({'; '.join(reasons)})" if "interfaces" in gaps and reasons else ""
            yield Finding.at(place(host), ", ".join(gaps), f"missing facts of the host: {', '.join(gaps)}{reason}")


def _value(found: Record, part: str, name: str) -> bool:
    """Whether a value of a part of the host's facts is known."""
    return (found.get(part) or {}).get(name) not in (None, "")


def _serves_model(case: Observed, host: Record) -> bool:
    return any(service["kind"] in ENGINE_KINDS for service in case.services(host["name"]))


def _npu_gaps(case: Observed, host: Record, facts: Record) -> t.Iterator[Finding]:
    found = facts.get("npu")
    if not found:
        yield Finding.at(place(host), "", "npu-smi was not run, although the plan uses NPUs of this host")
    elif "error" not in found:
        gaps = [name for name in ("generation", "driver_version") if not found.get(name)]
        if gaps:
            yield Finding.at(place(host), "", f"npu-smi does not report: {', '.join(gaps)}", severity="warning")
        npus = npus_by_device(found)
        for device in sorted(case.planned_devices(host["name"])):
            if device in npus and npus[device].get("processes") is None:
                yield Finding.at(place(host, device), "", "npu-smi does not report which processes use the device")
        yield from _measure_gaps(case, host, npus)


def _measure_gaps(case: Observed, host: Record, npus: t.Mapping[int, Record]) -> t.Iterator[Finding]:
    """Measures that rules depend on; a remark if the tool reports them of no planned device."""
    known = _known_measures(case)
    for device in sorted(case.planned_devices(host["name"])):
        gaps = [label for name, label in MEASURES.items() if device in npus and not _measured(npus[device], name)]
        for severity, names in (
            ("warning", [label for label in gaps if label in known]),
            ("remark", [label for label in gaps if label not in known]),
        ):
            if names:
                problem = f"npu-smi does not report: {', '.join(names)}"
                yield Finding.at(place(host, device), "", problem, severity=severity)


@computed_once
def known_details(case: Observed) -> list[str]:
    """Details of ports that hccn_tool reports of at least one device: others may lack the query in this version."""
    links = [link for _host, _device, link in case.each_link()]
    return [name for name in LINK_DETAILS if any(link.get(name) is not None for link in links)]


@computed_once
def _known_measures(case: Observed) -> set[str]:
    dies = [npu for _host, _device, _service, npu in case.each_npu()]
    return {label for name, label in MEASURES.items() if any(_measured(npu, name) for npu in dies)}


def _measured(npu: Record, name: str) -> bool:
    """Whether npu-smi states a measure: an answer whose counters or version are NA does not."""
    found = npu.get(name)
    if name == "ecc":
        return any(key.endswith("double_bit_error_count") and isinstance(found[key], int) for key in found or {})
    if name == "board":
        return bool((found or {}).get("firmware_version"))
    return found is not None


def _link_gaps(case: Observed, host: Record, facts: Record) -> t.Iterator[Finding]:
    found = facts.get("hccn")
    if not found:
        yield Finding.at(place(host), "", "hccn_tool was not run, although the plan uses NPUs of this host")
        return
    if "error" in found:
        return
    on = plane(case.plan, host)
    links = links_by_device(found)
    present = npus_by_device(case.part(host, "npu"))
    known = known_details(case)
    for device in sorted(case.planned_devices(host["name"])):
        record = links.get(device)
        if record is None:
            if device in present or not present:  # a device that npu-smi does not list has its own finding
                yield Finding.at(
                    place(host, device), "", "hccn_tool was not run for the device, or its output was lost"
                )
            continue
        errors = record.get("errors") or {}
        up = on == "roce" and str(record.get("link")).lower() == "up"
        details = tuple(name for name in known if name in record and up)
        for names, severity in ((NEEDED[on], ""), ((*INFORMATION[on], *details), "warning")):
            gaps = [name for name in names if record.get(name) is None and not set(errors) & {name, name.split("_")[0]}]
            if gaps and not record.get("hung"):
                yield Finding.at(
                    place(host, device), "", f"hccn_tool does not report: {', '.join(gaps)}", severity=severity
                )


@RULES.rule(
    "TOOL-WARNING",
    "Fix what the warning describes, or accept the finding with inference_check_ignore.",
    "npu-smi, hccn_tool and the modules that read them",
    "warning",
)
def warnings(case: Observed) -> t.Iterator[Finding]:
    """A tool reported a warning.

    The tool's output may be incomplete, or the host's software is.
    """
    for host in case.hosts():
        for kind in ("host", "npu", "hccn"):
            for warning in case.part(host, kind).get("warnings") or []:
                if not _has_own_finding(str(warning), host):
                    severity = "remark" if str(warning).startswith("unknown column ") else ""
                    text = connection.in_one_line(str(warning))
                    yield Finding.at(f"{place(host)} {TOOLS[kind]}", "", text, severity=severity)


def _about_interfaces(warning: str) -> bool:
    return "interfaces are unknown" in warning or "ip -json address" in warning


def _has_own_finding(warning: str, host: Record) -> bool:
    """Whether another rule (health, super device ids, missing facts, memory errors, hccn.conf of A2) reports the same fact."""
    if _about_interfaces(warning) or ("hccn.conf cannot be read" in warning and host["hardware"] != "a3"):
        return True
    own = ("has no card row", "SDID ", "All queries of all devices failed", "unknown health value", "ecc: ", "board: ")
    return any(text in warning for text in own)
