# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engine the watchdog restarts, if any, by the page of the probe and by its own earlier actions."""

from __future__ import annotations

import math
import re
from typing import Any, Mapping, NamedTuple, Sequence

from ..files.journal import WATCHDOG, Folder
from ..tools import foreign_json
from ..tools.foreign_json import number
from .answer import blamed_of, is_late, numbers_of

HOUR = 3600.0
KEPT = 100  # actions in the record
MOST_NAMED = 4  # services in a text
SLEWED = 60.0  # seconds by which a clock may go back without being said
AGAIN = 2  # rounds in a row in which nothing works over an engine: one may be an accident
# Within one line: whatever answers at the probe's port may send megabytes of beginnings.
_SUCCESS = re.compile(
    r'^inference_probe_(success|path_timestamp_seconds)\{[^}\n]*path="([^"\n]*)"\} (\S+)$', re.MULTILINE
)


class Decision(NamedTuple):
    """findings: texts. engine: the one that is restarted, "" for none; services: of its whole instance. stuck: all engines of the plan that are."""

    findings: list[str]
    engine: str = ""
    services: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()


def decide(
    page: Mapping[str, Any],
    engines: Mapping[str, Sequence[str]],
    actions: Sequence[Mapping[str, Any]],
    per_hour: int,
    restart: bool,
    now: float,
) -> Decision:
    """At most one engine. An old result, or more restarts than allowed in the last hour, stop it: a restart that did not help helps no second time.

    engines: {API of an engine: services of its instance}. actions: earlier ones, each with `at` (seconds since 1970) and `engine`.
    """
    unknown = _unknown(page)
    if unknown:
        return Decision([unknown])
    stuck = [str(name) for name in page["stuck"]]
    fails = [name for name, rounds in blamed_of(page).items() if rounds >= AGAIN and name not in stuck]
    findings = [f"{name} makes no progress" for name in stuck]
    findings += [f"{name} fails each request that the probe sends over it, while its peers work" for name in fails]
    stuck += fails
    known = [name for name in stuck if name in engines]
    findings += [f"{name} is stuck and is in no plan. Fix: run deploy" for name in stuck if name not in engines]
    if not (known and restart):
        return Decision(findings, stuck=tuple(known))
    recent = [action for action in actions if _recent(action.get("at"), now)]
    enough = too_many(recent, known[0], per_hour, now)
    if enough:
        return Decision([*findings, enough], stuck=tuple(known))
    often = [action.get("engine") for action in recent]
    chosen = min(known, key=lambda name: (often.count(name), name))
    if _alone(chosen, engines):
        findings.append(
            f"{chosen} is the only instance of its pool, so no request is answered from now until it is proven. To restart it at another time: "
            "inference_watchdog: report"
        )
    return Decision(findings, chosen, tuple(engines[chosen]), tuple(known))


def too_many(recent: Sequence[Mapping[str, Any]], engine: str, per_hour: int, now: float) -> str:
    """Why the engine is not restarted after the actions of the last hour; empty if it may be."""
    if len(recent) < per_hour:
        return ""
    names = ", ".join(str(action.get("engine")) for action in recent)
    later = [at for at in (number(action.get("at")) for action in recent) if at is not None and at > now + SLEWED]
    if later:
        return (
            f"the record of the watchdog has restarts of {names} that are later than now, because the clock was set, so it is unknown how many "
            f"were within the last hour, and nothing is restarted. Fix: check the clock of this host, then remove {WATCHDOG} from the "
            "deployment's folder"
        )
    return f"{names} restarted within the last hour, so nothing is restarted (inference_watchdog_per_hour: {per_hour}). Fix: read the logs of {engine}"


def counted(
    engine: str, services: Sequence[str], actions: Sequence[Mapping[str, Any]], per_hour: int, now: float
) -> Decision:
    """Whether this host agrees with a restart that the probe's host has chosen: what that one recorded is no limit for its own root."""
    # The probe's host noted each restart before, so that here a minute less counts.
    enough = too_many([action for action in actions if _recent(action.get("at"), now + SLEWED)], engine, per_hour, now)
    return Decision([enough]) if enough else Decision([], engine, tuple(services))


def _alone(chosen: str, engines: Mapping[str, Sequence[str]]) -> bool:
    """Whether no other instance has engines of this pool. The planner names an engine POOL-INSTANCE, or POOL-INSTANCE-RANK."""
    pool = {tuple(engines[name]) for name in engines if name.partition("-")[0] == chosen.partition("-")[0]}
    return len(pool) == 1


def _recent(at: Any, now: float) -> bool:
    """Whether an action is of the last hour. One without a time may be: what is unknown allows no restart."""
    return number(at) is None or now - at < HOUR


def _unknown(page: Mapping[str, Any]) -> str:
    if not isinstance(page.get("stuck"), list):
        return "The probe does not answer, so it is unknown whether engines make progress. Fix: run status"
    numbers = numbers_of(page)
    if numbers is None:
        return "The page of the probe has another form, so it is unknown whether engines make progress. Fix: run deploy"
    if numbers["paused"]:
        return "The probe is paused, so it is unknown whether engines make progress. Fix: wait until bench or drill has ended"
    if is_late(numbers):
        return "The probe has no new result, so it is unknown whether engines make progress. Fix: run status"
    return ""


def proven(metrics: str, services: Sequence[str], since: float) -> str:
    """Empty if the probe shows that clients get answers and that the instance takes part since that moment; else what is missing.

    services: of the instance. Each of its data-parallel ranks may have an API, and paths of its own.
    """
    seen: dict[str, dict[str, float]] = {}
    for name, path, value in _SUCCESS.findall(metrics):
        seen.setdefault(path, {})[name] = _float(value)
    new = {path: row.get("success") for path, row in seen.items() if row.get("path_timestamp_seconds", 0.0) > since}
    own = [path for path in seen if set(services) & set(path.split("->"))]
    bad = sorted(path for path in new if new[path] != 1.0 and (path in own or path == "clients"))
    if bad:
        return f"requests over {', '.join(bad)} fail"
    if "clients" not in new:
        return "no request of clients was tried since then"
    if own and not any(path in new for path in own):
        return f"no request over {', '.join(services[:MOST_NAMED])} was tried since then"
    return ""


def _float(text: str) -> float:
    """The number; NaN, which is neither a success nor a time after another one, for any other text."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def actions_of(base: str) -> list[dict[str, Any]]:
    """Earlier actions, the oldest first; empty without a record that root or the connected user wrote."""
    with Folder(base) as folder:
        found = folder.read(WATCHDOG).get("actions")
    return [action for action in found if isinstance(action, dict)] if isinstance(found, list) else []


def note(base: str, action: Mapping[str, Any]) -> None:
    """Add an action, or replace the last one if it has the same time. Raises OSError."""
    earlier = [known for known in actions_of(base) if known.get("at") != action["at"]]
    with Folder(base) as folder:
        if folder.descriptor is None:
            raise OSError(2, "No such file or directory", base)
        folder.write(WATCHDOG, {"actions": [*earlier, dict(action)][-KEPT:]})


def page_of(body: str) -> dict[str, Any]:
    """The page; {} if the answer is something else."""
    try:
        found = foreign_json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
