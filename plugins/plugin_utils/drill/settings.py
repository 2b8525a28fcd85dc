# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variable `inference_drill`: which faults a drill makes, and the load meanwhile."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ...module_utils.tools.engine_kinds import ANSWERING_KINDS
from ..description.findings import Finding, SettingsError
from ..description.loader import Reader, choice, documented, factory, number

# The default comes first.
ENTRY_KINDS = ("entry", "address")
SERVICES = (
    "decode",
    *(kind for kind in ANSWERING_KINDS if kind != "decode"),
    "router",
    "mooncake_master",
    "etcd",
    "host",
)
KINDS = (*SERVICES, *ENTRY_KINDS)
SECONDS = {"kill": 0, "pause": 60, "jitter": 1, "abort": 60}
TIMES = {"kill": 1, "pause": 1, "jitter": 10, "abort": 1}
WHY = "The drill would fail requests and prove nothing."


@dataclass(frozen=True)
class Fault:
    """One fault. Each has its own load, baseline and figures."""

    kind: str = documented(
        "What is hit: an engine of a pool, another service, or all services of a host. Of an entry: its program, or address, which is keepalived.",
        choice(*KINDS),
    )
    name: str = documented(
        "Name of the service, or of the host. Default: the last one; of several masters of the store, or members of etcd, the leader.",
        "",
    )
    action: str = documented(
        "kill: SIGKILL; pause: SIGSTOP, and SIGCONT later; jitter: short pauses one after the other; "
        "abort: an engine breaks off each request, and its /health answers 200.",
        choice(*SECONDS),
    )
    part: str = documented(
        "main: the main process; rank: the process of one rank of an engine.", choice("main", "rank")
    )
    seconds: int = documented("Duration of a pause, or of abort. Default: 60, of jitter 1.", number(0, 0, 3600))
    times: int = documented("Number of pauses of jitter, with as much time between. Default: 10.", number(0, 0, 100))


@dataclass(frozen=True)
class DrillLimits:
    """What clients may notice. Wrong texts and empty answers are always errors."""

    failing: int = documented(
        "Most seconds after the fault at which a request may begin that fails: the time in which the router notices the fault.",
        number(10, 0),
    )
    gap: int = documented("Most seconds without a good answer.", number(15, 0))
    leader: int = documented(
        "Most seconds without a leader of the store or of etcd, if the leader is hit.", number(15, 0)
    )
    recovery: int = documented(
        "Most seconds until 95 % of the good answers before the fault. 0: no limit.", number(0, 0)
    )


@dataclass(frozen=True)
class Drill:
    """What the playbook drill does."""

    faults: tuple[Fault, ...] = documented(
        "The faults, one after the other. Default: kills one service of each kind that has a spare one.", ()
    )
    host: str = documented("Host of the inventory that sends the load. Default: the host of the clients' entry.", "")
    rate: int = documented("Requests per second.", number(4, 1, 1000))
    clients: int = documented("Most requests at a time. Further ones are not sent, and counted.", number(64, 1, 1024))
    words: int = documented("Words of a prompt.", number(64, 1))
    tokens: int = documented("Tokens of an answer.", number(16, 1))
    before: int = documented("Seconds of the load before the fault, the baseline.", number(60, 1))
    after: int = documented("Seconds of the load after the services have recovered.", number(60, 1))
    window: int = documented(
        "Seconds over which the rate of good answers is compared with the baseline.", number(30, 1)
    )
    compare: int = documented("Most requests whose texts are compared with a second answer afterwards.", number(200, 0))
    request_timeout: int = documented("Most seconds of a request.", number(300, 1))
    recovery_timeout: int = documented(
        "Most seconds until the services have recovered. They are started then. Default: their timeout of a start.",
        number(0, 0),
    )
    without_spare: bool = documented(
        "Whether services may be hit that have no spare one. Requests fail meanwhile.", False
    )
    limits: DrillLimits = documented("What clients may notice.", factory(DrillLimits))


def read_drill(raw: t.Any) -> Drill:
    """The settings. Raises PlanError with all errors."""
    reader = Reader()
    drill = t.cast(Drill, reader.record(Drill, raw, "inference_drill"))
    findings = reader.findings + [
        problem for number_, fault in enumerate(drill.faults) for problem in _contradictions(number_, fault)
    ]
    if findings:
        raise SettingsError(findings)
    return replace(drill, faults=tuple(whole(fault) for fault in drill.faults))


def whole(fault: Fault) -> Fault:
    """The fault with the durations of its action."""
    return replace(fault, seconds=fault.seconds or SECONDS[fault.action], times=fault.times or TIMES[fault.action])


def _contradictions(number_: int, fault: Fault) -> t.Iterator[Finding]:
    path = f"inference_drill.faults[{number_}]"
    if fault.part == "rank" and fault.kind not in ANSWERING_KINDS:
        problem = f"{fault.kind} has no ranks"
        yield Finding(f"{path}.part", "DRILL-SETTING", problem, "Remove part, or name a pool of engines.", why=WHY)
    if fault.action == "kill" and (fault.seconds or fault.times):
        problem = "a killed process has no duration"
        yield Finding(path, "DRILL-SETTING", problem, "Remove seconds and times, or set action: pause.", why=WHY)
    if fault.kind == "address" and fault.action != "kill":
        problem = "while keepalived is paused, both hosts have the address"
        yield Finding(f"{path}.action", "DRILL-SETTING", problem, "Set action: kill.", why=WHY)
    if fault.action == "abort" and (fault.kind not in ANSWERING_KINDS or fault.part == "rank" or fault.times):
        problem = "only an engine as a whole breaks off requests, for one duration"
        fix = f"Remove part and times, and set kind to one of: {', '.join(ANSWERING_KINDS)}."
        yield Finding(path, "DRILL-SETTING", problem, fix, why=WHY)
