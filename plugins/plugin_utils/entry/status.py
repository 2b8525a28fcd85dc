# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of an entry as the playbook status shows them: rows, findings with their fixes; and what monitoring has to know of them."""

from __future__ import annotations

import typing as t

from ..hosts.connection import in_one_line
from ..hosts.readable import judged
from ..pages.markdown import table
from ..plan.service import bracketed
from .pair import NAME, own_address, pair_of
from .reading import read_entry

Record = t.Mapping[str, t.Any]
HEAD = ("host", "state", "address", "routers that answer", "settings")
MOST_OTHERS = 20  # models of a host that are shown although the inventory does not have them
UNIT = "journalctl -u ascend-inference-entry"
UNSEEN = (
    "Not watched: the entry, because its metrics can be read on its hosts alone. Fix: set inference_entry.monitoring to the addresses of "
    "Prometheus, and run the playbook entry"
)


def entry_report(states: t.Mapping[str, Record], expected: Record) -> dict[str, t.Any]:
    """``{lines, hosts, findings, healthy}``. ``states``: what entry_info answered on each host; ``expected``: what ``entry_expected`` returned.

    Of settings that cannot be read here ``expected`` has their ``problem``. An answer in a wrong form costs its host only.
    """

    def judge(found: t.Mapping[str, Record]) -> dict[str, t.Any]:
        return _report(found, expected)

    return judged(judge, states, lambda dummy, problem: {"failed": True, "msg": problem})


def _report(states: t.Mapping[str, Record], expected: Record) -> dict[str, t.Any]:
    problem = expected.get("problem", "")
    findings = [
        f"settings and files of the entry cannot be read here, so nothing is compared with them: {in_one_line(problem)}"
    ]
    findings = findings if problem else []
    rows = []
    for host, state in sorted(states.items()):
        rows.append(_row(host, state, expected))
        findings += [f"{host}: {text}" for text in _wrong(state, expected)]
    findings += _holders(states)
    lines = table([HEAD, *([row[name] for name in HEAD] for row in rows)])
    serving = sum(row["state"] == "serves" for row in rows)
    title = f"The entry: {serving} of {len(rows)} hosts serve" + ("" if findings else ", no findings")
    return {"lines": [title, *lines, *findings], "hosts": rows, "findings": findings, "healthy": not findings}


def _row(host: str, state: Record, expected: Record) -> dict[str, str]:
    if _lost(state):
        return {**dict.fromkeys(HEAD, "-"), "host": host, "state": "unknown"}
    if not state["answers"]:
        return {**dict.fromkeys(HEAD, "-"), "host": host, "state": "silent", "address": _held(state)}
    digest = expected.get("digest")
    same = "as here" if state["digest"] == digest else "others"
    return {
        "host": host,
        "state": "serves",
        "address": _held(state),
        "routers that answer": ", ".join(_routers(state, expected)),
        "settings": same if digest else "not compared",
    }


def _held(state: Record) -> str:
    return {True: "here", False: "standby"}.get(state["held"], "-")


def _routers(state: Record, expected: Record) -> t.Iterator[str]:
    """Such as ``qwen3 2/2``, and ``ds 0/2 (fallback)`` where a fallback answers."""
    wanted = expected.get("routers", {})
    for model, (first, fallback) in _models(state, expected):
        whole = f"/{wanted[model][0]}" if model in wanted else ""
        yield f"{model} {first + 0}{whole}" + (" (fallback)" if fallback and not first else "")


def _models(state: Record, expected: Record) -> list[tuple[str, list[int]]]:
    """The models that a host told of: those of the inventory, and some others, as a host may name any number."""
    wanted = expected.get("routers", {})
    other = sorted(model for model in state["routers"] if model not in wanted)[:MOST_OTHERS]
    return sorted((model, counts) for model, counts in state["routers"].items() if model in wanted or model in other)


def _lost(state: Record) -> str:
    """Why the host says nothing; empty if it does."""
    if state.get("unreachable") or state.get("failed") or "answers" not in state:
        return in_one_line(str(state.get("msg") or "the connection was lost"))
    return ""


def _wrong(state: Record, expected: Record) -> t.Iterator[str]:
    if _lost(state):
        yield f"its state is not known: {_lost(state)}"
        return
    if not state["answers"]:
        problem = in_one_line(str(state["problem"]))
        yield f"the entry does not answer ({problem}). Fix: look at its log ({UNIT}), then run ascend.inference.entry"
        return
    digest = expected.get("digest")
    if digest and state["digest"] != digest:
        problem = "it serves with other settings, keys of teams or another certificate than this inventory has"
        yield f"{problem}. Fix: run ascend.inference.entry"
    for model, (first, fallback) in _models(state, expected):
        if not first:
            problem = "its fallback answers" if fallback else "clients get status 503"
            yield f"no router of {model} answers, and {problem}. Fix: run status of its deployments"


def _holders(states: t.Mapping[str, Record]) -> list[str]:
    """Not exactly one of two hosts has the address; hosts that do not say so are not counted."""
    told = {host: state.get("held") for host, state in states.items() if not _lost(state)}
    having = sorted(host for host, held in told.items() if held)
    if len(having) > 1:
        return [
            f"{' and '.join(having)} have the address at once. Fix: let the hosts' network pass IP protocol 112 (VRRP) between them"
        ]
    if not having and len(told) == len(states) and False in told.values():
        fix = "see the log of keepalived (journalctl -u 'ascend-inference-address-*'), then run ascend.inference.entry"
        return [f"no host has the address, so clients reach nothing there. Fix: {fix}"]
    return []


def entry_watched(settings: t.Any, hosts: t.Mapping[str, str]) -> dict[str, t.Any]:
    """What the role monitoring reads in place of a plan. ``hosts``: addresses by the names of the group entry. Raises PlanError.

    Its files are named by a host, so that they are found again whatever the settings say by now.
    """
    entry = read_entry(settings, hosts, routed=False)
    open_ = entry.state == "present" and entry.monitoring
    places = {
        name: f"{bracketed(own_address(entry, pair_of(hosts, name)))}:{entry.status_port}" for name in hosts if open_
    }
    note = UNSEEN if entry.state == "present" and not places else ""
    return {
        "deployment": f"{NAME}-{min(hosts.values()).replace(':', '-')}",
        "entry": {"address": entry.address, "places": places, "note": note},
    }
