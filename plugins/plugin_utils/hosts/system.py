# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of how a host was set up: its identity and name, mounts, memory, and the MTU of its interface."""

from __future__ import annotations

import typing as t

from ..description.findings import Finding
from ..plan.rules.base import Rules
from .npu import runs_here
from .observed import Observed, Record, majority, place

RULES = Rules()
LEAST_SYSTEMD = 240  # Type=exec
# Settings of units, by the version of systemd that introduced them; earlier ones write a line into the journal and go on.
RESTRICTIONS = {
    "ProtectHostname": 242,
    "RestrictSUIDSGID": 242,
    "ProtectKernelLogs": 244,
    "ProtectClock": 245,
    "ProtectProc": 247,
    "PrivateIPC": 248,
}
ANYBODY = ("", "localhost", "localhost.localdomain")


@RULES.rule(
    "HOST-CLONED",
    "Give each host its own name (hostnamectl) and, after cloning, a new machine id (systemd-machine-id-setup).",
    "hostname(7), machine-id(5)",
    "warning",
)
def cloned(case: Observed) -> t.Iterator[Finding]:
    """Two hosts have the same host name or machine id.

    Logs and metrics of the two cannot be distinguished, and a name that leads to the wrong host breaks their connections.
    """
    for key, label in (("hostname", "host name"), ("machine_id", "machine id")):
        owners: dict[str, str] = {}
        for host, facts in case.gathered("host"):
            found = str((facts.get("system") or {}).get(key) or "")
            if found in ANYBODY or str(host["address"]).startswith("127."):
                continue
            first = owners.setdefault(found, host["name"])
            if first != host["name"]:
                yield Finding.at(place(host), found, f"the {label} is that of {first}: {found}")


@RULES.rule("HOSTNAME-ADDRESS", "Correct /etc/hosts or the DNS record.", "knowledge_failures, host: N8", "warning")
def hostname_address(case: Observed) -> t.Iterator[Finding]:
    """The host's own name resolves to an address that the host does not have.

    Programs that look up their own name advertise that address, and other hosts connect to the wrong place.
    """
    planned = {host["address"]: host["name"] for host in case.hosts()}
    for host, facts in case.gathered("host"):
        nics = (facts.get("interfaces") or {}).values()
        own = {address for nic in nics for address in nic["addresses"]} | {host["address"]}
        found = (facts.get("system") or {}).get("hostname_addresses") or []
        if not nics or not found or own & set(found) or all(address.startswith("127.") for address in found):
            continue
        others = ", ".join(planned[address] for address in found if address in planned)
        problem = f"the host's own name resolves to {', '.join(found)}, " + (
            f"the address of {others}" if others else "which no interface of the host has"
        )
        yield Finding.at(place(host), ", ".join(found), problem)


@RULES.rule(
    "DISK-MOUNT",
    "Mount it with other options (findmnt --target shows the mount), or set another inference_root. A file system that became "
    "read-only by itself has errors: see dmesg.",
    "mount(8), options ro and noexec",
)
def mounts(case: Observed) -> t.Iterator[Finding]:
    """The file system of the deployment's root is read-only, or programs on it cannot be started.

    Nothing can be installed, or no service starts.
    """
    contained = case.plan["runtime_facts"]["contained"]
    for host, facts in case.gathered("host"):
        for disk in facts.get("disks") or []:
            problem = ""
            if disk.get("read_only"):
                problem = "the file system is mounted read-only"
            elif disk.get("no_exec") and not contained:
                problem = "the file system is mounted with noexec: programs on it cannot be started"
            if problem:
                yield Finding.at(f"{place(host)} {disk['path']}", disk["path"], problem)


@RULES.rule(
    "HOST-SYSTEMD",
    "Use a later release of the distribution, or another inference_runtime; or accept the rule.",
    "NEWS of systemd",
    "warning",
)
def systemd(case: Observed) -> t.Iterator[Finding]:
    """The host's systemd ignores restrictions of units, or, before version 240, does not know their type.

    A service that is taken over can do more there than the guide says. An unknown type is ignored too: a service that cannot be started seems to start.
    """
    if "target" not in case.plan["runtime_settings"]:  # of systemd, which has the units
        return
    for host, facts in case.gathered("host"):
        found = (facts.get("system") or {}).get("systemd_version") or 0
        lacking = [name for name, first in RESTRICTIONS.items() if 0 < found < first]
        if lacking:
            old = found < LEAST_SYSTEMD
            problem = f"systemd {found} ignores {', '.join(lacking)}" + (" and Type=exec" if old else "")
            yield Finding.at(place(host), found, problem, severity="error" if old else "")


@RULES.rule(
    "HOST-SELINUX",
    "Give inference_root the labels of /opt, for which policies have programs and libraries: semanage fcontext -a -e /opt ROOT; restorecon -R ROOT. "
    "Containers are concerned if docker info names selinux: label what they mount with container_file_t. Then deploy, and look at "
    "ausearch -m AVC -ts recent, which shows what was denied. The guide Security says what was never tried.",
    "semanage-fcontext(8), restorecon(8), docker-info(1)",
    "warning",
)
def selinux(case: Observed) -> t.Iterator[Finding]:
    """SELinux is enforcing on the host, and the collection sets no labels.

    A service whose program has the label of other files ends with status 203/EXEC, and a container cannot read what is mounted into it.
    """
    for host, facts in case.gathered("host"):
        if (facts.get("system") or {}).get("selinux_enforcing") is True:
            problem = f"SELinux is enforcing; what is installed below {case.plan['root']} has the labels that its folder gives"
            yield Finding.at(place(host), "enforcing", problem)


@RULES.rule(
    "DISK-INODES",
    "Delete small files on that file system (df -i shows its use), or set another inference_root.",
    "df(1), option -i",
    "warning",
)
def inodes(case: Observed) -> t.Iterator[Finding]:
    """Too few files can be created where the software is installed.

    The installation fails with "No space left on device", although space is free. With almost none left that is certain, and an error.
    """
    for host, facts in case.gathered("host"):
        for disk in facts.get("disks") or []:
            found = disk.get("free_inodes")
            if found is not None and found < case.thresholds.disk_free_inodes:
                problem = f"{found} more files can be created (needed: {case.thresholds.disk_free_inodes})"
                severity = "error" if found < case.thresholds.disk_least_inodes else ""
                yield Finding.at(f"{place(host)} {disk['path']}", found, problem, severity=severity)


@RULES.rule(
    "HOST-MEMORY-LOW",
    "Stop other programs (ps aux --sort=-rss), or plan fewer devices of this host.",
    "threshold memory_mib_per_device of this collection",
    "warning",
)
def memory_low(case: Observed) -> t.Iterator[Finding]:
    """Little of the host's memory is available for the planned engines.

    Each device has a process in the host's memory; the kernel kills one when the memory is used up.
    """
    for host, facts in case.gathered("host"):
        found = (facts.get("memory") or {}).get("memory_available_mib")
        needed = case.thresholds.memory_mib_per_device * len(case.planned_devices(host["name"]))
        if case.expects_npus(host) and found and found < needed and not runs_here(case, host):
            problem = f"{found} MiB are available (needed by the planned devices: {needed})"
            yield Finding.at(place(host), f"{found} MiB", problem)


@RULES.rule(
    "HOST-MTU-DIFFERS",
    "Set the same MTU on the interfaces of all hosts and on the switch ports between them.",
    "knowledge_failures, host: N9",
    "warning",
)
def mtu(case: Observed) -> t.Iterator[Finding]:
    """The MTU of the planned interface differs from that of the other hosts.

    Small requests succeed, and large ones are lost or stall.
    """
    found = {host["name"]: str(_mtu(host, facts) or "") for host, facts in case.gathered("host")}
    usual = majority(found)
    for name, value in found.items():
        if value and value != usual:
            yield Finding.at(name, value, f"the MTU is {value} here and {usual} on most hosts")


def _mtu(host: Record, facts: Record) -> int | None:
    nics = [nic for nic in (facts.get("interfaces") or {}).values() if host["address"] in nic["addresses"]]
    return nics[0].get("mtu") if nics and not str(host["address"]).startswith("127.") else None
