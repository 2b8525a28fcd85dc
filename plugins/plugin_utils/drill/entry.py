# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults of a drill of the entry, on the host that has the clients' address when a fault is made, and the client that sends its load."""

from __future__ import annotations

import typing as t

from ...module_utils.host.virtual_address import unit_name
from ..description.findings import Finding, SettingsError
from ..entry.keys import plain_key
from ..entry.made import UNIT
from ..entry.pair import ALIVE, NAME
from ..entry.reading import read_entry, ways
from ..entry.settings import Entry, Team
from ..entry.told import settings_digest
from ..entry.twin import first_certificate
from ..plan.service import bracketed
from .settings import ENTRY_KINDS, WHY, Drill, Fault, read_drill, whole

Record = t.Mapping[str, t.Any]
CONFIRMED = "entry"  # the value of inference_drill_confirm, as that of a deployment is its name
PATH = "/v1/completions"  # of the load
DEFAULTS = {"before": 20, "after": 20, "window": 10, "request_timeout": 20, "recovery_timeout": 60}
# Seconds: keepalived finds out within nine that a program does not answer, and moves the address of a host that is silent within five.
LIMITS = {"entry": {"gap": 10, "failing": 10}, "address": {"gap": 5, "failing": 5}}
FAULTS = (Fault("entry"), Fault("entry", action="pause", seconds=20), Fault("address"))
MARGIN = 60  # seconds for Ansible's own steps during a load
WHERE = "the host that has the address"


def entry_drill(
    settings: t.Any, hosts: t.Mapping[str, str], texts: t.Mapping[str, str], raw: t.Any, confirmed: t.Any
) -> dict[str, t.Any]:
    """As ``drill_runs`` returns it, with ``plan``: what playbooks/shared/fault.yml reads of a plan, without secrets.

    ``settings``: inference_entry; ``texts``: contents of its files by path. Raises PlanError with everything that forbids the drill.
    """
    entry = read_entry(settings, hosts)
    drill = read_drill({**DEFAULTS, **raw} if isinstance(raw, t.Mapping) else raw)
    faults = drill.faults or tuple(map(whole, FAULTS if len(hosts) > 1 else FAULTS[:1]))
    client = _client(entry, texts)
    findings = [*_forbidden(entry, drill, confirmed, client), *_spare(drill, hosts)]
    findings += [problem for number, fault in enumerate(faults) for problem in _impossible(number, fault, hosts)]
    if findings or not client:
        raise SettingsError(findings)
    given = (raw.get("limits") or {}) if isinstance(raw, t.Mapping) else {}
    return {
        "host": "localhost",
        "settings": {
            name: getattr(drill, name) for name in drill.__dataclass_fields__ if name not in ("faults", "limits")
        },
        "limits": {name: getattr(drill.limits, name) for name in drill.limits.__dataclass_fields__},
        "engines": [],
        "faults": [_run(entry, drill, fault, given) for fault in faults],
        "plan": {
            "deployment": CONFIRMED,
            "digest": settings_digest(entry, hosts, texts),
            "release": "",
            "directory": "",
            "runtime": "systemd",
            "runtime_settings": {"target": "", "directory": "/etc/systemd/system"},
            "verify": {
                "model": client[1],
                "entry": {
                    "url": f"http{'' if entry.plain_http else 's'}://{bracketed(entry.address)}:{entry.port}",
                    "certificate": "" if entry.plain_http else first_certificate(texts[entry.certificate]),
                },
            },
        },
    }


def entry_drill_key(settings: t.Any, hosts: t.Mapping[str, str], texts: t.Mapping[str, str]) -> str:
    """The key of the load, which is secret."""
    client = _client(read_entry(settings, hosts), texts)
    return client[2] if client else ""


def _client(entry: Entry, texts: t.Mapping[str, str]) -> tuple[str, str, str] | None:
    """Team, model and key of the load: of a team without limits with a key in plain text, for a model of one deployment if it has such a one."""
    for name, team in sorted(entry.teams.items()):
        key = plain_key(texts[team.keys_file])
        models = sorted(entry.models) if "all" in team.models else sorted(team.models)
        if key and models and not _limited(team):
            return name, min(models, key=lambda model: len(ways(entry.models[model]))), key
    return None


def _limited(team: Team) -> bool:
    return any((team.requests_per_minute, team.concurrent, team.tokens_per_day, team.tokens_per_month))


def _forbidden(entry: Entry, drill: Drill, confirmed: t.Any, client: t.Any) -> t.Iterator[Finding]:
    if str(confirmed or "") != CONFIRMED:
        problem = "the drill is not confirmed: it kills programs of the entry, and requests of its clients fail"
        fix = f"Set inference_drill_confirm: {CONFIRMED}."
        yield Finding("inference_drill_confirm", "DRILL-CONFIRM", problem, fix, why="A drill by mistake is an outage.")
    if drill.host not in ("", "localhost"):
        problem = f"{drill.host} cannot send the load: the keys of teams stay on the controller"
        yield Finding("inference_drill.host", "DRILL-HOST", problem, "Remove it; localhost is the controller.", why=WHY)
    if not client:
        problem = "no team without limits has a key in plain text, with which the load could ask"
        fix = "Add a team for drills, without limits. Its keys_file has the key itself, and may be a vault."
        yield Finding("inference_entry.teams", "DRILL-TEAM", problem, fix, why=WHY)
    if PATH not in entry.paths:
        problem = f"the entry does not serve {PATH}, which the load requests"
        yield Finding("inference_entry.paths", "DRILL-SETTING", problem, f"Add {PATH}.", why=WHY)


def _spare(drill: Drill, hosts: t.Mapping[str, str]) -> t.Iterator[Finding]:
    if len(hosts) < 2 and not drill.without_spare:
        problem = "the entry has one host, and no other one serves meanwhile"
        fix = "Add a second host to the group entry, or accept the outage with without_spare: true."
        why = "Every request would fail until its program runs again."
        yield Finding("inference_drill.faults", "DRILL-SPARE", problem, fix, why=why)


def _impossible(number: int, fault: Fault, hosts: t.Mapping[str, str]) -> t.Iterator[Finding]:
    path = f"inference_drill.faults[{number}]"
    if fault.kind not in ENTRY_KINDS or fault.name:
        problem = f"a drill of the entry hits no {fault.kind} {fault.name}".rstrip()
        fix = f"Remove name, which is always {WHERE}, and set kind to one of: {', '.join(ENTRY_KINDS)}."
        yield Finding(path, "DRILL-SETTING", problem, fix, why=WHY)
    elif fault.kind == "address" and len(hosts) < 2:
        problem = "an entry on one host has no keepalived"
        yield Finding(path, "DRILL-SETTING", problem, "Remove the fault.", why=WHY)


def _run(entry: Entry, drill: Drill, fault: Fault, given: Record) -> dict[str, t.Any]:
    program = fault.kind == "entry"
    name = "entry" if program else "keepalived"
    how = {
        "kill": "kill",
        "pause": f"pause for {fault.seconds} s",
        "jitter": f"jitter ({fault.times} pauses of {fault.seconds} s)",
    }[fault.action]
    lasts = fault.seconds * (2 * fault.times - 1) if fault.action != "kill" else 0
    return {
        "label": f"{how}: {name} on {WHERE}",
        "kind": fault.kind,
        "host": "",
        "names": [name],
        "services": [
            {
                "name": name,
                "unit": UNIT if program else f"{unit_name(NAME)}.service",
                "url": f"http://127.0.0.1:{entry.status_port}{ALIVE}" if program else "",
            }
        ],
        "candidates": [],
        "keeps_keys": False,
        "part": fault.part,
        "action": "pause" if fault.action == "jitter" else fault.action,
        "seconds": fault.seconds,
        "times": fault.times,
        "timeout": drill.recovery_timeout,
        "longest": drill.before + lasts + drill.recovery_timeout + drill.after + MARGIN,
        "log_hosts": [],
        "limits": {key: value for key, value in LIMITS[fault.kind].items() if key not in given},
    }
