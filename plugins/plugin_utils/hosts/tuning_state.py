# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of tuning for people and reports: each setting with the value that the profile wants and the value that was found."""

from __future__ import annotations

import typing as t

from .observed import Observed, Record
from .tuning_settings import BALANCER, GOVERNORS, PAGES, Wanted, state_of

Row = dict[str, t.Any]
MAPS = "vm.max_map_count"
UNKNOWN = "unknown"


def rows(case: Observed, host: Record, found: Wanted) -> list[Row]:
    """``[{setting, wanted, found, as_wanted, tuned}]``; ``tuned``: the playbook tune sets it. What the host does not have is left out."""
    state = state_of(case, host)
    lines = [
        _row(name, value, state["sysctl"][name]) for name, value in found.sysctl.items() if name in state["sysctl"]
    ]
    governors = state.get("governors") or {}
    if GOVERNORS in found.sysfs and governors.get("possible"):
        shown = ", ".join(f"{name} ({count} CPUs)" for name, count in sorted(governors["found"].items()))
        lines.append(_row("CPU governor", found.sysfs[GOVERNORS], shown, set(governors["found"]) == {"performance"}))
    for name, value in sorted(state.get("transparent_hugepages", {}).items()):
        if PAGES + name in found.sysfs:
            lines.append(_row(f"transparent_hugepage/{name}", found.sysfs[PAGES + name], value))
    for device, address in sorted(found.devices.items()):
        cpus = state["interrupts"][address]["cpus"]
        pair = ", ".join(cpus[kind] for kind in ("send", "update"))
        lines.append(_row(f"interrupts of device {device}", ", ".join(found.interrupts[address]), pair))
    if BALANCER in found.services:
        lines.append(_balancer(state, found))
    return lines + _others(case, host, state)


def _balancer(state: Record, found: Wanted) -> Row:
    active, banned = state["irqbalance"]["active"], set(state["irqbalance"]["banned"])
    if found.services[BALANCER] == "stopped":
        return _row("irqbalance", "stopped", "active" if active else "stopped")
    numbers = {number for address in found.interrupts for number in state["interrupts"][address]["numbers"].values()}
    shown = "stopped" if not active else f"excludes {len(numbers & banned)} of {len(numbers)} interrupts"
    return _row("irqbalance", "excludes the NPUs' interrupts", shown, not active or numbers <= banned)


def _others(case: Observed, host: Record, state: Record) -> list[Row]:
    """What belongs to every deployment: memory maps, and jemalloc outside of containers."""
    lines = []
    present = (case.part(host, "host").get("sysctl") or {}).get(MAPS)
    planned = (host.get("sysctl") or {}).get(MAPS)
    if planned and present is not None:
        lines.append(_row(MAPS, planned, str(present), tuned=False))
    wants = not case.plan["runtime_facts"]["contained"] and any(map(preloads, case.services(host["name"])))
    if state and wants:
        lines.append(
            _row("jemalloc", "installed", state["jemalloc"] or "not installed", bool(state["jemalloc"]), False)
        )
    return lines


def preloads(service: Record) -> bool:
    """Whether a planned service preloads jemalloc if it is there."""
    return any("libjemalloc.so" in str(file.get("content") or "") for file in service.get("files") or ())


def _row(setting: str, wanted: str, found: str, as_wanted: bool | None = None, tuned: bool = True) -> Row:
    equal = wanted == found if as_wanted is None else as_wanted
    return {"setting": setting, "wanted": wanted, "found": found, "as_wanted": equal, "tuned": tuned}


def unknown_row(setting: str, wanted: str) -> Row:
    """The row of what could not be gathered."""
    return _row(setting, wanted, UNKNOWN, False)


def states(case: Observed, wanted: t.Mapping[str, Wanted]) -> dict[str, dict[str, t.Any]]:
    """By host ``{profile, settings}``, of hosts with NPU engines whose state was gathered; for reports of benchmarks."""
    return {
        host["name"]: {"profile": host["tune"]["profile"], "settings": rows(case, host, wanted[host["name"]])}
        for host in case.hosts()
        if host.get("tune") and host["name"] in wanted
    }


def grouped_rows(found: t.Mapping[str, Record]) -> list[tuple[Row, list[str]]]:
    """Equal rows of all hosts once, each with its hosts; those that differ first. ``found`` as of :func:`states`."""
    groups: dict[tuple[t.Any, ...], list[str]] = {}
    for name, state in found.items():
        for row in state["settings"]:
            key = (row["as_wanted"], state["profile"], *(row[part] for part in ("setting", "wanted", "found")))
            groups.setdefault(key, []).append(name)
    names = ("as_wanted", "profile", "setting", "wanted", "found")
    return [
        (dict(zip(names, key, strict=True)), hosts)
        for key, hosts in sorted(groups.items(), key=lambda item: item[0][:3])
    ]


def state_lines(found: t.Mapping[str, Record]) -> list[str]:
    """The section of the report of a check; empty without tuned hosts."""
    if not found:
        return []
    profiles: dict[str, int] = {}
    for state in found.values():
        profiles[state["profile"]] = profiles.get(state["profile"], 0) + 1
    counted = ", ".join(f"{name} on {_hosts(count)}" for name, count in sorted(profiles.items()))
    lines = [f"Tuning: profile {counted}."]
    for row, hosts in grouped_rows(found):
        if not row["as_wanted"]:
            lines.append(
                f"  {row['setting']}: wanted {row['wanted']}, found {row['found']} on {_hosts(len(hosts), hosts)}."
            )
    equal = sorted({row["setting"] for row, dummy in grouped_rows(found) if row["as_wanted"]} - _odd(found))
    if equal:
        kinds = dict.fromkeys("interrupts" if name.startswith("interrupts of") else name for name in equal)
        lines.append(f"  As wanted: {', '.join(kinds)}.")
    return lines


def _odd(found: t.Mapping[str, Record]) -> set[str]:
    return {row["setting"] for state in found.values() for row in state["settings"] if not row["as_wanted"]}


def _hosts(count: int, names: t.Sequence[str] = ()) -> str:
    shown = "1 host" if count == 1 else f"{count} hosts"
    more = f", {count - 4} more" if count > 4 else ""
    return f"{shown} ({', '.join(names[:4])}{more})" if names else shown
