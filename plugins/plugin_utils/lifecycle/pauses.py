# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pauses: why services restart at once, and the texts that announce or refuse it."""

from __future__ import annotations

import typing as t

from ...module_utils.files.journal import UNKNOWN
from ..description.values import natural
from ..plan.revision import only_names_differ
from .change import Change

PAUSE = (
    "{names} must restart, and no other instance serves in the meantime: {reason}. Clients get errors until it is ready again, which takes "
    "{duration}. {state}"
    "Fix: run again with -e inference_allow_pause=true when a pause is acceptable{else_}."
)
READDRESSES = (
    "{names} must restart: {reason}. Clients get errors until it is ready again, which takes {duration}, and those that use the address before get them "
    "from then on. {state}Fix: run again with -e inference_allow_pause=true when that is acceptable and clients use the new address, or keep the one before."
)
UNFINISHED = (
    "An upgrade was interrupted after it began to change one half of the instances, so engines run that cannot exchange KV cache, and {names} "
    "do not run with the settings of this plan. This playbook would restart them at once, and clients get errors until the models are loaded. "
    "{state}Fix: run upgrade. With the settings of the interrupted run it continues, with the previous ones it rolls back, both without a pause. Or "
    "run again with -e inference_allow_pause=true when a pause is acceptable."
)
UNRECORDED = (
    "The record of changes (journal.json) of a host is damaged, so it is not known whether an upgrade was interrupted half-way, and {names} do not run "
    "with the settings of this plan: engines may run that cannot exchange KV cache. This playbook would restart these at once, and clients may get errors "
    "until the models are loaded. {state}Fix: run again with -e inference_allow_pause=true, which restarts no others and writes the record again. "
    "If an upgrade was interrupted, run upgrade with its settings instead, which continues it."
)
TAKEN = (
    "The plan gives NPUs or ports of {names} to {takers}, so the former must stop before the latter start{why}. Clients may get errors until "
    "then, and until the models are loaded. {state}"
    "Fix: run again with -e inference_allow_pause=true when a pause is acceptable, or plan other devices."
)
MOVES = (
    "{name} moves from {before} to {after}, so clients have to use another address, and those that use the one before get errors when it is "
    "removed. {state}Fix: run again with -e inference_allow_pause=true when that is acceptable, or keep {before} in the group."
)
REMOVES = (
    "{name} on {before} is removed, which is the clients' entry, so those that use it get errors from then on. {state}Fix: run again with "
    "-e inference_allow_pause=true when clients use another address, or plan it again."
)
LOSES = (
    "The virtual address {address} of the clients' entry is removed, so those that use it get errors from then on. {state}Fix: run again with "
    "-e inference_allow_pause=true when clients use another address, or plan it again."
)
REKEYED = (
    "{names} run with other values of inference_secrets than planned, and a restart writes none: services that restart may not be able to talk to the "
    "others. Nothing was restarted. Fix: put the former values back and run restart again; or run deploy with -e inference_allow_pause=true, which gives "
    "all services the planned ones."
)
EARLY = "Nothing was changed. "
UNWRITTEN = "Nothing was restarted, and no file of a service was written. "
HALVED = "a blue/green upgrade was interrupted"
MAYBE_HALVED = "it is not known whether a blue/green upgrade was interrupted"
SINGLE = "all requests go through it, and there is one of it"
READDRESSED = "the address that clients use changes from {before} to {after}"
TOGETHER = "all requests go through one of them, and they change together"
LAST = "no other router runs"
UNBALANCED = "the balancer in front of the routers does not run"
MOVED = "the clients' entry moves to another host"
PARTED = "other processes of the same instance move to another host"
REASSIGNED = "their NPUs or ports are given to others"
ALONE = "its pool has no other instance"
AWAY = "no other instance of its pool runs"
NO_API = "the engines of this router cannot be changed while it runs"
LINKED = "engines with LLMDataDist have to be restarted together"
OTHER = "engines before and after this change cannot exchange KV cache"
OTHER_NAME = "clients ask for the model by another name before this change than after it"
KEYS = "the keys between the router and the engines change"
KEYS_MIXED = (
    KEYS + ", and {names} started with the new ones already, so that requests between them and the others get 401"
)


Result = dict[str, t.Any]  # what ``steps.steps`` returns


def why_apart(change: Change) -> str:
    """Why engines before and after the change are not paired; empty if they are."""
    if not change.incompatible:
        return ""
    return OTHER_NAME if only_names_differ(change.plan, change.deployed) else OTHER


def why_unfinished(change: Change) -> str:
    """Why nothing restarts behind a router after a blue/green upgrade that was interrupted, or may have been."""
    return MAYBE_HALVED if change.unfinished == UNKNOWN else HALVED


def why_keys(change: Change) -> str:
    """Why routers and engines cannot restart one after the other because of their keys; empty if these do not change."""
    mixed = ", ".join(sorted(change.keys_mixed, key=natural))
    return (KEYS_MIXED.format(names=mixed) if mixed else KEYS) if change.keys_change else ""


def restart_at_once(
    result: Result, change: Change, names: t.Sequence[str], reason: str, duration: str = "as long as loading the model"
) -> None:
    """Record that services restart at once, as a note if that is allowed, else as a refusal."""
    result["pauses"][reason] = [*result["pauses"].get(reason, ()), *names]
    listed = ", ".join(names)
    if change.allow_pause:
        result["notes"].append(f"Pause: {listed} restart at once, because {reason}.")
        return
    given = {"names": listed, "reason": reason, "duration": duration, "else_": _otherwise(reason, change)}
    text = READDRESSES if reason.startswith(READDRESSED.partition("{")[0]) else PAUSE
    result["refusals"].append(text.format(**given, state=_state(change)))


def restart_unfinished(result: Result, change: Change, names: t.Sequence[str]) -> None:
    """The same after a blue/green upgrade was interrupted, or may have been: what runs is not what was recorded."""
    reason = why_unfinished(change)
    result["pauses"][reason] = list(names)
    if change.allow_pause:
        result["notes"].append(f"Pause: {', '.join(names)} restart at once, because {reason}.")
        return
    text = UNFINISHED if reason == HALVED else UNRECORDED
    result["refusals"].append(text.format(names=", ".join(names), state=_state(change)))


def stop_whole(
    result: Result,
    change: Change,
    whole_names: t.Collection[str],
    taken: t.Mapping[str, t.Mapping[str, set[str]]],
    reason: str,
) -> None:
    """Add the pause of the instances that stop whole, or its refusal, which names the processes whose NPUs are taken.

    ``reason``: why they cannot stop while others serve.
    """
    names = sorted(whole_names if change.allow_pause else {name for found in taken.values() for name in found})
    takers = sorted({name for found in taken.values() for new in found.values() for name in new})
    result["pauses"][REASSIGNED] = names
    if change.allow_pause:
        result["notes"].append(f"Pause: {', '.join(names)} stop first, because {REASSIGNED}.")
        return
    why = "" if reason == REASSIGNED else f", and not while others serve, because {reason}"
    given = {"names": ", ".join(names), "takers": ", ".join(takers), "why": why}
    result["refusals"].append(TAKEN.format(**given, state=_state(change)))


def move_entry(result: Result, change: Change, name: str, known: bool | None) -> None:
    """Announce that the clients' entry moves; refused only if it is known to run where it is deployed."""
    before, after = (
        next(service["host"] for service in each["services"] if service["name"] == name)
        for each in (change.deployed, change.plan)
    )
    result["pauses"][MOVED] = [name]
    if known and not change.allow_pause:
        result["refusals"].append(MOVES.format(name=name, before=before, after=after, state=_state(change)))
    else:
        result["notes"].append(f"Pause: {name} moves from {before} to {after}, so clients have to use another address.")


def remove_entry(result: Result, change: Change, name: str, known: bool | None) -> None:
    """Announce that the clients' entry is removed; refused only before the lock, as a rollback removes what it does not know."""
    before = next(service["host"] for service in change.deployed["services"] if service["name"] == name)
    if known and change.early and not change.allow_pause:
        result["refusals"].append(REMOVES.format(name=name, before=before, state=_state(change)))
    else:
        result["notes"].append(f"Pause: {name} on {before} is removed, so clients have to use another address.")


def lose_address(result: Result, change: Change, address: str) -> None:
    """Announce that the clients' virtual address is removed; refused only before the lock, see `remove_entry`."""
    if change.early and not change.allow_pause:
        result["refusals"].append(LOSES.format(address=address, state=_state(change)))
    else:
        result["notes"].append(f"Pause: the virtual address {address} is removed, so clients have to use another one.")


def _state(change: Change) -> str:
    return EARLY if change.early or change.check else UNWRITTEN


def _otherwise(reason: str, change: Change) -> str:
    """What else than a pause helps against a reason, as the end of a sentence."""
    plan, deployed = change.plan, change.deployed
    sent = [each["secret_env"] for each in plan["services"] if each["kind"] == "router"]
    apart = reason == OTHER or (reason.startswith(KEYS) and all(sent))  # each half has one key
    if apart and plan.get("balancer") and deployed.get("plan_version") == plan["plan_version"]:
        return ", or run upgrade, which changes blue/green without one where two instances of each pool allow it"
    return ", or add an instance first" if reason == ALONE else ""
