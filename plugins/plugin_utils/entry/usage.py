# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What teams have used: which days are read, a table for people, and CSV for accounts. Days are those of UTC."""

from __future__ import annotations

import csv
import datetime
import io
import os
import re
import typing as t
from decimal import Decimal

from ..description.findings import Finding, SettingsError
from ..description.outputs import unwritable
from ..pages.markdown import table
from .made import STATE
from .reading import MODEL, NAME, read_entry
from .settings import Entry

COUNTS = ("requests", "without_usage", "prompt_tokens", "completion_tokens", "cached_tokens")
MILLION = Decimal(1000000)
MOST_OTHERS = 20  # rows that are shown although the inventory does not have the team or model
MOST = 10**18  # of a count, which has 15 digits in a line
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def usage(
    settings: t.Any,
    hosts: t.Mapping[str, str],
    asked: t.Mapping[str, str],
    rows: t.Sequence[t.Mapping[str, t.Any]] = (),
) -> dict[str, t.Any]:
    """What to read, and what it says: all of ``usage_days`` and ``usage_report``. ``asked``: arguments of the former. Raises PlanError."""
    return {**usage_days(settings, hosts, **asked), **usage_report(settings, hosts, rows)}


def usage_days(
    settings: t.Any, hosts: t.Mapping[str, str], first: str, last: str, today: str, file: str = ""
) -> dict[str, str]:
    """``{folder, first, last}``: what to read. Days are ``YYYY-MM-DD``; empty ones stand for this month until today.

    ``file`` is what will be written on the controller, if anything. Raises PlanError, also if it cannot be written.
    """
    read_entry(settings, hosts, routed=False)
    given = {"inference_usage_first": first or f"{today[:8]}01", "inference_usage_last": last or today}
    findings = []
    for name, day in given.items():
        try:
            wrong = datetime.date.fromisoformat(day).isoformat() != day
        except ValueError:
            wrong = True
        if wrong:
            findings.append(_finding(name, f"'{day}' is not a day", "Write a day as 2026-11-30."))
    problem, fix = unwritable(os.path.realpath(os.path.expanduser(file))) if file else ("", "")
    if problem:
        findings.append(_finding("inference_usage_csv", problem, fix))
    begin, end = given.values()
    if not findings and begin > end:
        findings.append(_finding("inference_usage_first", f"{begin} is after {end}", "Swap the days, or correct one."))
    if findings:
        raise SettingsError(findings)
    return {"folder": STATE, "first": begin, "last": end}


def usage_report(
    settings: t.Any, hosts: t.Mapping[str, str], rows: t.Sequence[t.Mapping[str, t.Any]]
) -> dict[str, t.Any]:
    """``{lines, csv}`` from the rows of all hosts: sums by team and model as a table, and each day as CSV.

    A cost is there if a model has a price. Raises PlanError.
    """
    entry = read_entry(settings, hosts, routed=False)
    if not isinstance(rows, t.Sequence) or not all(map(_is_usage, rows)):
        problem = "a host answered rows that are no usage, so the sums would be wrong"
        raise SettingsError([_finding("", problem, "See what runs as Python on the host of the entry.")])
    days: dict[tuple[str, ...], list[int]] = {}
    sums: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        prompt, cached = row["counts"][2], row["counts"][4]
        told = [
            *row["counts"][:4],
            min(prompt, cached),
        ]  # a part of the prompt's: more would lower what another host counted
        for found, key in ((days, (row["day"], row["team"], row["model"])), (sums, (row["team"], row["model"]))):
            counts = found.setdefault(key, [0] * len(COUNTS))
            counts[:] = [count + int(more) for count, more in zip(counts, told, strict=True)]
    priced = any(model.prices for model in entry.models.values())
    head = [*COUNTS, *(["cost"] if priced else [])]
    if not sums:
        return {"lines": ["No request was answered in these days."], "csv": _csv([["day", "team", "model", *head]])}
    others = [
        key for key in sorted(sums) if key[0] not in entry.teams or key[1] not in entry.models
    ]  # a host may name any number
    left_out = frozenset(others[MOST_OTHERS:])
    shown = [
        [*key, *_cells(entry, key[-1], counts, priced)] for key, counts in sorted(sums.items()) if key not in left_out
    ]
    whole = [str(sum(column)) for column in zip(*sums.values(), strict=True)]
    cost = sum((_cost(entry, key[-1], counts) or Decimal(0) for key, counts in sums.items()), Decimal(0))
    shown.append(["all", "", *whole, *([_money(cost)] if priced else [])])
    listed = [[*key, *_cells(entry, key[-1], counts, priced)] for key, counts in sorted(days.items())]
    lines = table([["team", "model", *head], *shown])
    lines += (
        [
            f"{len(left_out)} more rows are of teams or models that the inventory does not have; inference_usage_csv has them"
        ]
        if left_out
        else []
    )
    return {"lines": lines, "csv": _csv([["day", "team", "model", *head], *listed])}


def _is_usage(row: t.Any) -> bool:
    """Whether an answer of a host can be added up, and written as CSV without a formula. A count below 0 would hide what the other host counted."""
    if not isinstance(row, t.Mapping):
        return False
    counts = row.get("counts")
    texts = ((DAY, "day"), (NAME, "team"), (MODEL, "model"))
    named = all(isinstance(row.get(key), str) and pattern.fullmatch(row[key]) for pattern, key in texts)
    whole = isinstance(counts, list) and [type(count) for count in counts] == [int] * len(COUNTS)
    return named and whole and all(0 <= count <= MOST for count in counts)


def _cells(entry: Entry, model: str, counts: t.Sequence[int], priced: bool) -> list[str]:
    cost = _cost(entry, model, counts)
    return [*map(str, counts), *(["" if cost is None else _money(cost)] if priced else [])]


def _cost(entry: Entry, model: str, counts: t.Sequence[int]) -> Decimal | None:
    """Tokens times prices; None without a price. Cached tokens are a part of the prompt's."""
    prices = entry.models[model].prices if model in entry.models else {}
    if not prices:
        return None
    price = {name: Decimal(str(value)) for name, value in prices.items()}
    prompt, completion, cached = counts[2:]
    fresh = price.get("prompt", Decimal(0))
    spent = (prompt - cached) * fresh + cached * price.get("cached", fresh)
    return (spent + completion * price.get("completion", Decimal(0))) / MILLION


def _money(cost: Decimal) -> str:
    return f"{cost:.4f}"


def _csv(rows: t.Iterable[t.Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _finding(path: str, problem: str, fix: str) -> Finding:
    return Finding(path, "ENTRY-SETTING", problem, fix, why="Nothing was read.")
