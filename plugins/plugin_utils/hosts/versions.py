# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of versions: driver, firmware, CANN, kernel, operating system; and the table of them."""

from __future__ import annotations

import typing as t

from ..description.findings import Finding
from ..plan.rules.base import Rules
from ..releases.version import numbers
from .observed import Observed, Record, later, majority, place

RULES = Rules()
COLUMNS = ("driver", "firmware", "CANN", "kernel", "OS", "machine")


def versions(case: Observed) -> dict[str, dict[str, str]]:
    """Versions by host: driver and firmware as npu-smi reports them, else from the installers' version files."""
    found = {host["name"]: _versions(case, host) for host in case.hosts()}
    boards = any(row["firmware"] for row in found.values())
    for host in case.hosts():
        if not boards:  # never mix the sources: their version formats differ
            found[host["name"]]["firmware"] = str((case.part(host, "host").get("software") or {}).get("firmware") or "")
    return found


def _versions(case: Observed, host: Record) -> dict[str, str]:
    npu, facts = case.part(host, "npu"), case.part(host, "host")
    software, system = facts.get("software") or {}, facts.get("system") or {}
    boards = {str((die.get("board") or {}).get("firmware_version") or "") for die in npu.get("npus") or []} - {""}
    return {
        "driver": str(npu.get("driver_version") or software.get("driver") or ""),
        "firmware": ", ".join(sorted(boards)),
        "CANN": str(software.get("cann") or ""),
        "kernel": str(system.get("kernel") or ""),
        "OS": str(system.get("os") or ""),
        "machine": str(system.get("machine") or ""),
    }


def odd_ones(table: t.Mapping[str, t.Mapping[str, str]], column: str) -> tuple[str, list[str]]:
    """The usual value of a column, and the hosts that have another one."""
    values = {name: row[column] for name, row in table.items()}
    usual = majority(values)
    return usual, [name for name, value in values.items() if value and value != usual]


def _differing(case: Observed, column: str, only_npu_hosts: bool = True) -> t.Iterator[Finding]:
    hosts = [host["name"] for host in case.hosts() if case.expects_npus(host) or not only_npu_hosts]
    table = {name: row for name, row in versions(case).items() if name in hosts}
    usual, odd = odd_ones(table, column)
    have = sum(row[column] == usual for row in table.values())
    for name in odd:
        yield Finding.at(
            name, table[name][column], f"{column} is {table[name][column]}, while {have} hosts have {usual}"
        )


@RULES.rule(
    "DRIVER-DIFFERS",
    "Install the same driver version on all hosts.",
    "https://github.com/vllm-project/vllm-ascend/issues/5468",
    "warning",
)
def driver_differs(case: Observed) -> t.Iterator[Finding]:
    """The driver version of a host differs from most hosts.

    The vendor does not test mixed driver versions together; they behave differently under the same load.
    """
    yield from _differing(case, "driver")


@RULES.rule(
    "FIRMWARE-DIFFERS",
    "Install the same firmware version on all NPUs.",
    "CANN installation guide, driver and firmware",
    "warning",
)
def firmware_differs(case: Observed) -> t.Iterator[Finding]:
    """The NPU firmware version of a host differs from most hosts.

    Driver and firmware are released as a pair; mixed versions behave differently under the same load.
    """
    yield from _differing(case, "firmware")


@RULES.rule(
    "SYSTEM-DIFFERS",
    "Install the same kernel and operating system on all hosts, or plan each pool on equal hosts.",
    "CANN installation guide, supported systems",
    "warning",
)
def system_differs(case: Observed) -> t.Iterator[Finding]:
    """The machine type or kernel of an engine's host differs from most hosts.

    The driver is built for one kernel, and wheels for one machine type.
    """
    for column in ("machine", "kernel"):
        yield from _differing(case, column)


@RULES.rule(
    "CANN-DIFFERS",
    "Install the same CANN version on all hosts, or let the collection install the one of the release (cann_method: run).",
    "CANN installation guide",
    "warning",
)
def cann_differs(case: Observed) -> t.Iterator[Finding]:
    """The CANN version of a host differs from most hosts, and the collection does not install CANN (cann_method: none).

    Collectives and transfers between hosts are tested with equal versions only. In containers the image has CANN.
    """
    if case.plan["runtime_facts"]["contained"]:
        return
    own = {host["name"] for host in case.hosts() if later(case, host, "cann_method") == "none"}
    yield from (finding for finding in _differing(case, "CANN") if finding.path in own)


@RULES.rule(
    "DRIVER-OLD",
    "Upgrade driver and firmware (this collection does not), or use an older release.",
    "https://github.com/vllm-project/vllm-ascend/issues/2406",
)
def driver_old(case: Observed) -> t.Iterator[Finding]:
    """The driver of a host is older than the release needs, or than its documentation recommends.

    CANN's libraries call functions that an old driver does not have.
    """
    wanted = case.plan.get("release_facts", {})
    least, better = (numbers(str(wanted.get(key) or ""))[:2] for key in ("driver_minimum", "hdk"))
    for host, facts in case.gathered("npu"):
        version = str(facts.get("driver_version") or "")
        found = numbers(version)[:2]  # only the first two numbers are compared
        if version and not version[0].isdigit():
            problem = f"driver {version} cannot be compared with {wanted['driver_minimum']}, which the release needs"
            yield Finding.at(place(host), version, problem, severity="warning")
        elif found and found < least:
            problem = f"driver {version} is older than {wanted['driver_minimum']}, which the release needs"
            yield Finding.at(place(host), version, problem)
        elif found and found < better:
            problem = f"driver {version} is older than {wanted['hdk']}, which the release's documentation recommends"
            yield Finding.at(place(host), version, problem, severity="warning")
