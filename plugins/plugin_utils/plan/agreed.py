# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the plans that hosts recorded is used: whole, and the same on most of them. Root of one host can write any plan into its record."""

from __future__ import annotations

import collections
import json
import re
import typing as t

from ...module_utils.status.plan import PLAN_VERSION
from .handover import generated, part_of
from .record import WHOLE, digest_of, whole_plan
from .service import digest

Stored = t.Mapping[str, t.Any]
DAMAGED = "its recorded plan is damaged or was changed: {}"
RELEASE = re.compile(
    r"[\w.+-]{0,64}", re.ASCII
)  # messages tell people to set it as a variable, which Ansible evaluates
DIFFER = (
    "The first hosts of this deployment recorded different plans of what runs, and most of them have none of these, so none is used: what has to "
    "restart needs a pause. A run that ended while it recorded leaves such records, and so does a host whose files somebody changed. Fix: run deploy "
    "once with the inventory of the run that ended, then with this one; or allow the pause with -e inference_allow_pause=true"
)
UNREADABLE = (
    "The plan that the first hosts of this deployment recorded is damaged or was changed, so what is deployed is not known. Fix: find out who changed "
    "plan.json in the deployment's folder there; site writes it again"
)
OTHER = "its recorded plan is another one than that of most hosts (release {})"
UNRECORDED = (
    "it recorded no plan to go back to, as most hosts of that plan did (release {}), and gets its part of theirs"
)


def damage(stored: Stored) -> str:
    """Why a recorded plan is not the one that was made; empty if it is, or if another version of the collection made it."""
    try:
        whole = whole_plan(stored)
        if not RELEASE.fullmatch(str(whole.get("release", ""))):
            return DAMAGED.format("its release is no name of one")
        if whole.get("plan_version") != PLAN_VERSION:
            return ""
        right = whole["digest"] == digest_of(whole) == stored.get("digest", whole["digest"])
        strange = [item["name"] for item in whole["services"] if item["digest"] != _service_digest(item)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return DAMAGED.format(error)
    if strange or not right:
        return DAMAGED.format("its digest is not that of " + (", ".join(map(str, strange[:8])) or "the plan"))
    return ""


def _service_digest(item: Stored) -> str:
    """The digest of a service in a plan, as service.py makes it."""
    argv = (item.get("members") or item)["argv"]
    depends = {key: item[key] for key in ("env", "secret_env", "source", "files", "container")}
    peers = {"peers": item["peers"]} if item.get("peers") else {}
    return digest({"argv": argv, **depends, **peers, "start": {"limits": item["start"]["limits"]}})


def agreed(stored: t.Mapping[str, Stored]) -> dict[str, t.Any]:
    """``{host, others, given}`` of {host: recorded plan or {}}: a host with the plan to use, and why those of others are not used: {host: reason}.

    The plan is the one of more than half of the hosts that have a whole one, compared as a whole. Without such a plan ``host`` is empty.
    ``given``: hosts of this plan that recorded none, with what is said of them: if more than half of the plan's hosts have it, none of them
    prevents a rollback by hiding its record. So of two hosts none decides what runs on the other.
    """
    others = {host: damage(plan) for host, plan in stored.items() if plan}
    prints = {host: digest(whole_plan(stored[host])) for host, why in others.items() if not why}
    counted = collections.Counter(prints.values())
    most = next((name for name, count in counted.items() if 2 * count > len(prints)), "")
    if most:
        others.update(
            (host, OTHER.format(whole_plan(stored[host]).get("release")))
            for host, name in prints.items()
            if name != most
        )
    first = next((host for host, name in prints.items() if name == most), "")
    whole = whole_plan(stored[first]) if first else {}
    names = [item["name"] for item in whole.get("hosts", ())]
    known = sum(prints.get(name) == most for name in names)
    given = [name for name in names if name in stored and not stored[name]] if 2 * known > len(names) else []
    return {
        "host": first,
        "others": {host: why for host, why in others.items() if why},
        "given": dict.fromkeys(given, UNRECORDED.format(whole.get("release"))),
    }


def part_as_stored(stored: Stored, host: str) -> dict[str, t.Any]:
    """What ``host`` stores of the plan that another host stored; {} if the plan does not have it."""
    whole = dict(whole_plan(stored))
    if host not in [item["name"] for item in whole["hosts"]]:
        return {}
    if WHOLE not in stored:
        return whole
    part, more = part_of(whole, host), {WHOLE: stored[WHOLE]}
    if generated(whole):
        return {**whole, "stages": part["stages"], "question": part["question"], **more}
    return {**part, **more}


def part_for(own: Stored, stored: Stored, host: str, given: t.Container[str] = ()) -> Stored:
    """What ``host`` goes by: its part of the agreed plan ``stored``; its own record if that does not have it; without one a whole own record.

    A host that recorded nothing gets nothing, unless it is ``given`` its part, see `agreed`.
    """
    if not own and host not in given:
        return {}
    if stored:
        return part_as_stored(stored, host) or ({} if damage(own) else own)
    return {} if damage(own) else own


def text_of_most(texts: t.Sequence[str], warn: t.Callable[[str], object]) -> str:
    """The text of plan.json, of those of several hosts, whose plan more than half of them have; "" without one. ``warn`` is told why.

    Empty then: of two hosts with different plans neither decides for the other, and what is not known restarts nothing behind a router.
    """
    stored: dict[str, Stored] = {}
    for number, text in enumerate(texts):
        try:
            found = json.loads(text or "{}")
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            stored[str(number)] = found
    chosen = agreed(stored)
    if not chosen["host"] and any(plan and not damage(plan) for plan in stored.values()):
        warn(DIFFER)
    elif not chosen["host"] and any(text not in ("", "{}") for text in texts):
        warn(UNREADABLE)
    return texts[int(chosen["host"])] if chosen["host"] else ""
