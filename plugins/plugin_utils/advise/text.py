# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The advice as text for the terminal, which is Markdown as well."""

from __future__ import annotations

import typing as t

from ..pages.markdown import table
from .declaration import settings_text
from .pools import HELD, IDLES, LIMITS, UNKNOWN, WAITS

Record = t.Mapping[str, t.Any]
STATES = {WAITS: "waits", IDLES: "idles", HELD: "is held up", UNKNOWN: "is not known", "works": "keeps up"}


def advise_text(report: Record) -> list[str]:
    """Lines: the verdict, a table of the pools, what each side does, the sizes, the declaration, the memory, what is not known."""
    lines = [f"# Advice for {report['deployment']}: {report['verdict']}", "", _source(report), ""]
    lines += [*table(pool_rows(report)), ""]
    lines += [f"* {_sentence(role, pool)}" for role, pool in report["pools"].items()]
    lines += [f"* {remark}" for remark in report["remarks"]]
    if report["outcome"] == "change":
        lines += ["", *_change(report)]
    if report["memory"]:
        lines += ["", "## Memory", "", "```text", *report["memory"], "```"]
    if report["unknown"]:
        lines += ["", "## Not known", ""]
        for finding in report["unknown"]:
            mark = ", so no sizes are advised" if finding["severity"] == "error" else ""
            lines += [f"* {finding['path']}: {finding['problem']}{mark}. {finding['why']} Fix: {finding['fix']}"]
    return lines


def pool_rows(report: Record) -> list[list[str]]:
    """A head, and a row for each pool; rates are of one instance, "?": not known."""
    rows = [
        [
            "pool",
            "instances",
            "NPUs each",
            "requests/s",
            "prompt tok/s",
            "output tok/s",
            "TPOT ms",
            "in queue",
            "queue ms",
            "busy",
        ]
    ]
    for role, pool in report["pools"].items():
        rates = (pool["rates"][name] for name in ("requests", "prompt", "output"))
        busy = "?" if pool["busy"] is None else f"{pool['busy']:.0%}"
        tpot = "-" if role == "prefill" else _number(pool["tpot_ms"])
        figures = [*map(_number, rates), tpot, _number(pool["waiting"]), _number(pool["queue_ms"]), busy]
        rows.append([role, str(pool["instances"]), str(pool["devices"] or "-"), *figures])
    return rows


def _source(report: Record) -> str:
    return (
        f"From {report['source']}. Release {report['release']}, plan {report['digest'][:12]}. "
        "Rates are of one instance; requests in the queue are means of one data-parallel rank."
    )


def _sentence(role: str, pool: Record) -> str:
    """What a pool does, with the figures that show it."""
    state, facts = pool["state"], []
    if role == "prefill" and pool["busy"] is not None:
        facts.append(f"it computes at most {pool['busy']:.0%} of the time")
    for name, words in LIMITS.items():
        if name in pool["limits"]:
            facts.append(f"{pool['limits'][name]:.0%} {words}")
    if pool["waiting"] is not None and role != "decode":
        facts.append(f"{_number(pool['waiting'])} requests of a rank wait on average")
    if pool["preemptions"]:
        facts.append(f"it preempted {pool['preemptions']:.0f} requests")
    return f"{role} {STATES[state]}{': ' if facts else ''}{', '.join(facts)}."


def _change(report: Record) -> list[str]:
    sizes, declared = report["sizes"], report["declaration"]
    now, wanted = sizes["now"], sizes["next"]
    used = sum(wanted[role] * report["pools"][role]["devices"] for role in wanted)
    rows = [
        ["", "prefill", "decode", "NPUs", "requests"],
        ["now", str(now["prefill"]), str(now["decode"]), str(sizes["devices"]), "1"],
        ["next", str(wanted["prefill"]), str(wanted["decode"]), str(used), f"up to {sizes['carried']:.2f} times"],
    ]
    lines = ["## Sizes to try next", "", *table(rows), ""]
    lines += [
        "The planner accepts this in the inventory:",
        "",
        "```yaml",
        *settings_text(declared).splitlines(),
        "```",
        "",
    ]
    lines += [
        f"One instance of {role} is left: while it restarts or is broken no request is served, and each change of it is a pause."
        for role in wanted
        if now[role] > 1 == wanted[role]
    ]
    lines += [
        "To try it without a change of the inventory, write it with `-e inference_advise_inventory=advice.yml` and add `-i advice.yml` after `-i hosts.yml`.",
        "The number of requests is an estimate: it holds if an instance works as fast as measured. Look at `plan --diff` first, and compare with `bench`",
        "(`inference_bench_compare`) afterwards.",
    ]
    return lines


def _number(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
