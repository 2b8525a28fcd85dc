# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of one host with their findings for the role tune, and the state of all hosts for reports of benchmarks."""

from __future__ import annotations

import typing as t

from ..plan.rules.base import judge
from .check_plan import observed
from .observed import Record
from .tuning import RULES, all_wanted
from .tuning_settings import Wanted
from .tuning_state import states, unknown_row

STATED = ("TUNE-DIFFERS",)  # what the role changes is in its diff


def tune_settings(plan: Record, name: str, state: Record, npu: Record) -> dict[str, t.Any]:
    """``{settings: options of host_tuning, findings: [...]}``.

    ``state`` is the result of tuning_info, ``npu`` that of npu_info (empty: not asked, or failed).
    """
    case = observed(
        plan,
        _facts({name: {"state": state, "npu": npu}}),
        {"tcp": "none", "ping": "none", "left_out": _others(plan, name)},
    )
    rules = [rule for rule in RULES if rule.id not in STATED]
    found = all_wanted(case).get(name) or Wanted()
    return {"settings": found.options(), "findings": [finding.as_dict() for finding in judge(case, rules, ())]}


def tune_states(plan: Record, found: t.Mapping[str, Record], npus: t.Mapping[str, Record]) -> dict[str, t.Any]:
    """By host ``{profile, settings}``, from the results of tuning_info and npu_info by host.

    What failed has a row that says so: a setting that is not known does not count as wanted.
    """
    facts = {name: {"state": state, "npu": npus.get(name)} for name, state in found.items()}
    case = observed(plan, _facts(facts), {"tcp": "none", "ping": "none"})
    known = states(case, all_wanted(case))
    for host in case.hosts():
        profile = (host.get("tune") or {}).get("profile", "")
        if profile and host["name"] not in known:
            known[host["name"]] = {"profile": profile, "settings": [unknown_row("all settings", f"profile {profile}")]}
        elif profile == "latency" and not case.part(host, "npu"):
            known[host["name"]]["settings"].append(unknown_row("interrupts of NPUs", "bound"))
    return known


def _others(plan: Record, name: str) -> list[str]:
    return [host["name"] for host in plan["hosts"] if host["name"] != name]


def _facts(gathered: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """The results of modules as facts of hosts; failed ones are missing."""
    found: dict[str, t.Any] = {}
    for name, item in gathered.items():
        state, npu = item["state"] or {}, item["npu"] or {}
        if "sysctl" in state:
            found[name] = {"host": {"tuning": state}, **({"npu": npu} if npu.get("npus") is not None else {})}
    return found
