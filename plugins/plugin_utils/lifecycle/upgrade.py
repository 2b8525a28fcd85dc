# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions of the playbook upgrade: preconditions, hosts behind a stage, next step, messages.

Ansible drops a failed or unreachable host and continues with the others. So each host records the stage that it
reached, and no host continues before all have reached it.
"""

from __future__ import annotations

import typing as t

Plan = t.Mapping[str, t.Any]
UNREACHED = "a host is unreachable"


def refusals(deployed: t.Mapping[str, Plan], plan: Plan, cann_installed: bool) -> list[str]:
    """Reasons against starting this upgrade; empty if it may start.

    ``deployed`` maps each planned host to the plan that is deployed there (empty if there is none).
    ``cann_installed`` is false where the hosts bring their own CANN or an image does.
    """
    unreadable = _other_version(plan, deployed)
    if unreadable:
        return unreadable
    found = []
    previous = _common(deployed)
    if previous is None or not _same_place(plan, previous):
        found.append(_nothing_to_go_back_to(plan, deployed))
    elif cann_installed:
        found += _shared_cann(plan, previous)
    return found


def _other_version(plan: Plan, deployed: t.Mapping[str, Plan]) -> list[str]:
    """A refusal if a host has a plan of another format: roles read keys of it that the other format does not have."""
    hosts = {
        host: previous.get("plan_version", "none")
        for host, previous in sorted(deployed.items())
        if previous and previous.get("plan_version") != plan["plan_version"]
    }
    if not hosts:
        return []
    versions = ", ".join(f"{host} has version {version}" for host, version in hosts.items())
    return [
        f"The deployed plan ({plan['directory']}/plan.json) was written by another version of this collection: {versions}, this "
        f"collection writes {plan['plan_version']}. If the new release did not work, the old plan could not be started again. "
        f"Fix: run upgrade with the version of the collection that deployed it; or run site, which starts the new release "
        f"without a way back."
    ]


def _common(deployed: t.Mapping[str, Plan]) -> Plan | None:
    """The plan that is deployed on all hosts, or None."""
    plans = list(deployed.values())
    return plans[0] if plans and plans[0] and all(plan == plans[0] for plan in plans) else None


def _host_names(plan: Plan) -> list[str]:
    return sorted(host["name"] for host in plan.get("hosts", ()))


def _same_place(plan: Plan, previous: Plan) -> bool:
    return previous.get("runtime") == plan["runtime"] and _host_names(previous) == _host_names(plan)


def _nothing_to_go_back_to(plan: Plan, deployed: t.Mapping[str, Plan]) -> str:
    lines = []
    for host, previous in sorted(deployed.items()):
        if previous:
            names = ", ".join(_host_names(previous))
            lines.append(f"{host} has release {previous['release']} on {names} with runtime {previous['runtime']}")
        else:
            lines.append(f"{host} has none")
    return (
        f"The deployed plans ({plan['directory']}/plan.json) do not match: {'; '.join(lines)}. An upgrade replaces a running "
        f"deployment and needs it for a rollback: the same plan on all of {', '.join(_host_names(plan))}, with runtime "
        f"{plan['runtime']}. Fix: use the playbook site for a first deployment, for other hosts and for another runtime."
    )


def _shared_cann(plan: Plan, previous: Plan) -> list[str]:
    old, new = (each["software"].get("cann") or {} for each in (previous, plan))
    if not old or not new or old["version"] == new["version"] or old["path"] != new["path"]:
        return []
    return [
        f"{previous['release']} runs on CANN {old['version']} and {plan['release']} needs {new['version']}, both in "
        f"{new['path']}. CANN's installers point the links there to the newest version, so the running engines would break "
        f"or use the wrong one. Fix: use a separate folder for each release, for example inference_cann_path: "
        f"{plan['root']}/cann-{plan['release']}, also for later runs."
    ]


def lagging(progress: t.Mapping[str, t.Any], stage: str) -> list[str]:
    """Names of the hosts that have not reached ``stage``; ``progress`` maps host -> {stage, reason} or nothing."""
    return sorted(host for host, state in progress.items() if (state or {}).get("stage") != stage)


def outcome(progress: t.Mapping[str, t.Any], release: str) -> dict[str, t.Any]:
    """The step after the switch: ``next`` is ``done`` or ``go_back``; ``message`` is the reason for ``go_back``."""
    behind = lagging(progress, "verified")
    if not behind:
        return {"next": "done", "message": ""}
    given = {str((progress[host] or {}).get("reason") or "").rstrip(".") for host in behind} - {""}
    reasons = sorted(given, reverse=True) or [UNREACHED]
    return {"next": "go_back", "message": f"Release {release} was not verified: {' | '.join(reasons)}"}
