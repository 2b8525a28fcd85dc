# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A drill's report as text for the terminal, which is Markdown as well."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.how_many import how_many
from ...module_utils.tools.text import one_line
from ..pages.markdown import table

Record = t.Mapping[str, t.Any]
BARS = "▁▂▃▄▅▆▇█"
WIDTH = 72  # most characters of a timeline


def drill_text(report: Record) -> list[str]:
    """Lines: one section for each fault with a timeline, a table before and after, logs and findings."""
    settings, faults = report["settings"], report["faults"]
    good = sum(fault["passed"] for fault in faults)
    of = f"Release {report['release']}, plan " if report["release"] else "Settings "
    lines = [
        f"# Drill of {report['deployment']}: {'passed' if report['passed'] else 'FAILED'}, {good} of {len(faults)} faults survived",
        "",
        f"{of}{report['digest'][:12]}. Load from {report['host']}: {settings['rate']} requests per second, "
        f"each with its own prompt of about {settings['words']} words, {settings['tokens']} tokens at temperature 0, every second one streamed.",
    ]
    for number, fault in enumerate(faults, 1):
        lines += ["", f"## {number}. {fault['label']}: {'passed' if fault['passed'] else 'FAILED'}", ""]
        if fault["figures"]:
            lines += _figures(fault)
        for name, logged in fault["logged"].items():
            lines += ["", f"{name} logged {how_many(logged['count'], 'line')} with warnings or errors:", ""]
            lines += [f"    {line}" for line in logged["lines"]]
        for finding in fault["findings"]:
            lines += [
                "",
                f"{finding['id']} ({finding['severity']}): {finding['problem']}",
                f"  {finding['why']} Fix: {finding['fix']}",
            ]
    return [one_line(line) for line in lines]  # a text of a host makes no line of its own


def _figures(fault: Record) -> list[str]:
    before, after = fault["figures"]["baseline"], fault["figures"]["fault"]
    rows = [["", "requests", "answered", "failed", "empty", "wrong texts", "first text p50", "p99"]]
    for title, row in (("before", before), ("from the fault on", after)):
        wrong = f"{row['wrong']} of {row['compared']}" if row["compared"] else "-"
        times = [_seconds(row["first_p50"]), _seconds(row["first_p99"])]
        rows.append([title, *(str(row[name]) for name in ("requests", "answered", "failed", "empty")), wrong, *times])
    sentences = [f"No good answer for at most {after['gap']:.1f} s."]
    sentences.append(
        "The rate before the fault is not known."
        if not before["per_second"]
        else "95 % of the rate before the fault was not reached again."
        if after["recovered"] is None
        else f"Back at 95 % of the rate before after {after['recovered']:.1f} s."
    )
    if after["failed"] or after["empty"]:
        sentences.append(f"The last request that failed began {after['failing']:.1f} s after the fault.")
    for name, number in fault.get("aborted", {}).items():
        sentences.append(f"{how_many(number, 'request')} to {name} {'was' if number == 1 else 'were'} broken off.")
    for name, seconds in fault["recovered"].items():
        sentences.append(
            f"{name} did not come back." if seconds is None else f"{name} answered again after {seconds:.1f} s."
        )
    if fault.get("store"):
        sentences.append(_failover(fault["store"]))
    if fault.get("address"):
        before_, now = fault["address"]["before"], " and ".join(fault["address"]["after"]) or "no host"
        sentences.append(f"The address was on {before_} before and {'there' if now == before_ else 'on ' + now} after.")
    if after["unstable"]:
        sentences.append(f"{after['unstable']} texts differ at each repetition, which is no fault.")
    problems = [f"* {how_many(row['count'], 'time')}: {row['problem']}" for row in after["problems"]]
    return [*_timeline(fault), "", *table(rows), "", " ".join(sentences), *([""] if problems else []), *problems]


def _failover(store: Record) -> str:
    before = store["before"]
    if store["leaderless"] is None:
        return f"No master took over from {before['leader']}."
    if "clients" not in store:  # etcd
        return f"{store['leader']} led after {store['leaderless']:.1f} s without a leader."
    back = "not all clients came back"
    if store["clients_after"] is not None:
        back = f"its clients were back after {store['clients_after']:.1f} s"
    elif None in (before["clients"], store["clients"]):
        back = "whether all clients came back is not known"
    return (
        f"{store['leader']} led after {store['leaderless']:.1f} s without a leader, {back}; keys of the store: {_count(before['stored_keys'])} before, "
        f"{_count(store['stored_keys'])} after."
    )


def _count(number: float | None) -> str:
    return "unknown" if number is None else f"{number:.0f}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"


def _timeline(fault: Record) -> list[str]:
    """Good answers as bars, and below them where the fault was and where answers were bad."""
    rows = fault["figures"]["timeline"][1:]  # the first second is not a whole one
    if not rows:
        return []
    step = -(-len(rows) // WIDTH)
    ends = fault["lasted"] or 0.0
    bars, marks = "", ""
    groups: dict[int, list[Record]] = {}
    for row in rows:
        groups.setdefault(row["second"] // step, []).append(row)
    rates = {place: sum(row["good"] for row in group) / len(group) for place, group in sorted(groups.items())}
    # A burst after a pause must not flatten the rest.
    most = min(max(rates.values()), 1.5 * fault["figures"]["baseline"]["per_second"]) or 1.0
    for place, group in sorted(groups.items()):
        height = rates[place] / most
        bars += BARS[min(7, int(height * 8))] if rates[place] else " "
        bad = any(row["bad"] for row in group)
        hit = place == 0 or (0 < place * step < ends)
        marks += "X" if hit and bad else "^" if hit else "x" if bad else " "
    each = "second" if step == 1 else f"{step} seconds"
    return [
        f"    {bars}",
        f"    {marks.rstrip()}",
        f"    good answers, one column per {each}; ^ the fault, x failed or empty answers, X both",
    ]
