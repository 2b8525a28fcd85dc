# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as a table for people: one line for each service."""

from __future__ import annotations

import typing as t

HEAD = ("service", "host", "devices", "ports", "health")


def plan_table(plan: t.Mapping[str, t.Any]) -> list[str]:
    """Lines of the table, in start order, and the plan's findings below."""
    rows = [HEAD, *(_row(one) for one in plan["services"])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines + [f"{one['severity']}: [{one['id']}] {one['path']}: {one['message']}" for one in plan["findings"]]


def _row(service: t.Mapping[str, t.Any]) -> tuple[str, ...]:
    health = service["health"]["url"] if service["health"] else "-"
    return service["name"], service["host"], _ranges(service["devices"]), " ".join(map(_port, service["ports"])), health


def _port(port: t.Mapping[str, t.Any]) -> str:
    last = port["first"] + port["count"] - 1
    return f"{port['name']}:{port['first']}" + (f"-{last}" if port["count"] > 1 else "")


def _ranges(numbers: t.Sequence[int]) -> str:
    """0-3,8 for [0, 1, 2, 3, 8]; - for none."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) or "-"
