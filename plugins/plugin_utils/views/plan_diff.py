# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Differences between a plan and the deployed one, by service."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.text import visible
from ..plan.revision import only_names_differ
from ..plan.service import other_user

Plan = t.Mapping[str, t.Any]
Flag = tuple[str, ...]  # an option with its values
WORDS = ("argv", "source")
MAPPINGS = ("env", "secret_env")
PLACES = ("host", "devices")
HOSTS = {
    "rekeyed": "other values of inference_secrets",
    "outdated": "other files on the host",
}  # what plans do not show
UNKNOWN = "Not compared: {hosts}. More services than these may restart, and need a pause. Fix: correct what these hosts say, then show the differences again."
SAME = "No changes: the deployed plan is the same."
DEFAULT = "(service_user)"  # that of the role


def plan_diff(plan: Plan, deployed: Plan | None, seen: t.Mapping[str, t.Collection[str]] | None = None) -> list[str]:
    """Lines that begin with '+' (new), '-' (removed) or '~' (restarts, with reasons); one line if nothing changes.

    ``deployed`` is the deployed plan, or None. A service with the same digest does not change, unless its host says so. ``seen``:
    {rekeyed, outdated: names of services}, as the module service_state returns them.
    """
    if not deployed:
        return ["Nothing is deployed yet: every service is new."]
    planned, running = ({service["name"]: service for service in each["services"]} for each in (plan, deployed))
    lines = [
        f"release {deployed['release']} -> {plan['release']}" if deployed.get("release") != plan["release"] else "",
        _revisions(plan, deployed),
        _virtual_address(plan, deployed),
    ]
    lines += [f"+ {name} on {planned[name]['host']}" for name in planned if name not in running]
    lines += [f"- {name} on {running[name]['host']}" for name in running if name not in planned]
    user = f"user {deployed.get('user') or DEFAULT} -> {plan['user'] or DEFAULT}" if other_user(plan, deployed) else ""
    lines += [
        line
        for name in planned
        if name in running
        for line in _changes(
            name, running[name], planned[name], [user] * bool(user) + _of_hosts(name, running, planned, seen or {})
        )
    ]
    return [line for line in lines if line] or [SAME]


def not_compared(
    plan: Plan, deployed: Plan, runs: t.Iterable[t.Mapping[str, t.Any]], files: t.Iterable[t.Mapping[str, t.Any]]
) -> list[str]:
    """A line if hosts of the plan did not say what runs, or which of its files differ: silence is no answer.

    ``runs``, ``files``: what service_state and service_files returned on each host, in the order of the plan's hosts; {} where nothing came.
    """
    if not deployed or plan["runtime_facts"]["in_cluster"]:
        return []
    found = [
        f"{host['name']} ({visible(str(run.get('msg') or file.get('msg') or 'no answer'))[:200]})"
        for host, run, file in zip(plan["hosts"], runs, files, strict=False)
        if not (isinstance(run.get("outdated"), list) and isinstance(file.get("written"), list))
    ]
    return [UNKNOWN.format(hosts=", ".join(found))] if found else []


def _of_hosts(name: str, running: Plan, planned: Plan, seen: t.Mapping[str, t.Collection[str]]) -> list[str]:
    """Why a service restarts for what its host has, if the plans do not show why."""
    if running[name]["digest"] != planned[name]["digest"]:
        return [HOSTS["rekeyed"]] * (name in seen.get("rekeyed", ()))
    return [text for key, text in HOSTS.items() if name in seen.get(key, ())][:1]


def _revisions(plan: Plan, deployed: Plan) -> str:
    """A line if engines of the two plans are never paired; plans of earlier versions of the collection have no revision."""
    before, after = deployed.get("revision"), plan.get("revision")
    if not before or not after or before == after:
        return ""
    why = (
        "clients ask for the model by another name"
        if only_names_differ(plan, deployed)
        else "engines before and after cannot exchange KV cache"
    )
    return f"revision {before[:12]} -> {after[:12]}: {why}"


def _virtual_address(plan: Plan, deployed: Plan) -> str:
    """A line if the virtual address of the clients' entry, or how it is kept, changes."""
    before, after = (each.get("virtual_address") or {} for each in (deployed, plan))
    if before == after:
        return ""
    if before.get("address") != after.get("address"):
        return f"virtual address {before.get('address') or '(none)'} -> {after.get('address') or '(none)'}"
    changed = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
    return f"virtual address {after['address']}: {', '.join(changed)}"


def _changes(name: str, old: Plan, new: Plan, more: t.Sequence[str] = ()) -> list[str]:
    """``more``: reasons that the two services do not show."""
    if not more and old["digest"] == new["digest"] and all(old[place] == new[place] for place in PLACES):
        return []
    found = list(more)
    found += [f"{place} {old[place]} -> {new[place]}" for place in PLACES if old[place] != new[place]]
    for key in WORDS:
        found += [f"{key} {text}" for text in _options(_flags(old[key]), _flags(new[key]))]
    for key in MAPPINGS:
        for name_ in sorted(set(old[key]) | set(new[key])):
            before, after = old[key].get(name_, "(not set)"), new[key].get(name_, "(not set)")
            found += [f"{key} {name_} {before} -> {after}"] if before != after else []
    found += [f"file {path}" for path in _changed_files(old["files"], new["files"])]
    if old.get("peers") != new.get("peers"):
        found.append(f"hosts of the instance {_joined(old.get('peers') or ())} -> {_joined(new.get('peers') or ())}")
    if old["container"] != new["container"]:
        found.append("container")
    return [f"~ {name} on {new['host']} restarts: {'; '.join(found) or 'limits'}"]


def _options(old: t.Sequence[Flag], new: t.Sequence[Flag]) -> list[str]:
    """Options that went, have another value, or are new: ``- --a 1``, ``--b 1 -> 2``, ``+ --c 3``."""
    left = [flag for flag in new if flag not in old]
    found = []
    for flag in (flag for flag in old if flag not in new):
        other = next((each for each in left if each[0] == flag[0] and min(len(each), len(flag)) > 1), None)
        if other:
            left.remove(other)
        found.append(f"{_joined(flag)} -> {_joined(other[1:])}" if other else f"- {_joined(flag)}")
    return [*found, *(f"+ {_joined(flag)}" for flag in left)]


def _flags(argv: t.Sequence[str]) -> list[Flag]:
    """A command line as options with their values."""
    found: list[list[str]] = []
    for argument in argv:
        if argument.startswith("--") or not found or not found[-1][0].startswith("--"):
            found.append([argument])
        else:
            found[-1].append(argument)
    return [tuple(item) for item in found]


def _joined(arguments: t.Iterable[str]) -> str:
    return " ".join(arguments)


def _changed_files(old: t.Iterable[Plan], new: t.Iterable[Plan]) -> list[str]:
    before, after = ({item["path"]: item for item in each} for each in (old, new))
    return [path for path in sorted(set(before) | set(after)) if before.get(path) != after.get(path)]
