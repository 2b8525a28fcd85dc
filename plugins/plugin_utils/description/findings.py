# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as text: sorted and grouped, with reasons and fixes."""

from __future__ import annotations

import re
import typing as t

from ...module_utils.tools.finding import Finding
from .meaning import close
from .values import natural

PLACES_SHOWN = 4  # maximum number of places that are listed for a group of equal findings
GROUPS_SHOWN = 20  # maximum number of groups that are printed for one rule
REASON = "Accepted: "  # stands before the reason of an accepted finding, in place of its fix
CALM = {"remark": 1, "accepted": 2}  # severities that ask nobody for anything, and their order after the others
Written = t.Mapping[str, str]
DEVICE = re.compile(r"(?P<host>.+) device (?P<device>\d+)")


class PlanError(ValueError):
    """Planning failed. Carries all errors in a stable order, and the warnings beside them; its text is the complete report."""

    HEAD = "Planning failed"

    def __init__(
        self, findings: t.Iterable[Finding], warnings: t.Iterable[Finding] = (), written: Written | None = None
    ) -> None:
        self.findings, self.warnings = in_order(findings), in_order(warnings)
        super().__init__(report(self.findings, self.warnings, written, self.HEAD))

    def located(self, written: Written) -> PlanError:
        """The same with FILE:LINE of what findings are about, by their paths."""
        return PlanError(self.findings, self.warnings, written)


class SettingsError(PlanError):
    """The settings of a playbook are wrong, such as those of its measurements; the plan is good."""

    HEAD = "Refused"


def in_order(findings: t.Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once, by its place."""
    return tuple(sorted(set(findings), key=lambda finding: (natural(finding.path), finding)))


def refused(findings: t.Iterable[Finding]) -> PlanError:
    """What to raise for findings of which some are errors: these, and the warnings. Remarks and accepted findings can wait."""
    found = list(findings)
    warnings = [finding for finding in found if finding.severity == "warning"]
    return PlanError([finding for finding in found if finding.severity == "error"], warnings)


def report(
    findings: t.Sequence[Finding],
    warnings: t.Sequence[Finding] = (),
    written: Written | None = None,
    head: str = PlanError.HEAD,
) -> str:
    """The error text of a refused plan: all findings with path, reason and fix; equal ones are grouped. Warnings follow.

    ``written`` has FILE:LINE of paths, ``head`` says what was refused.
    """
    places_, entries = len(findings), len(grouped(findings))
    count = "1 error" if entries == 1 else f"{entries} errors"
    if places_ > entries:
        count += f" at {places_} places"
    lines = [f"{head}: {count}. No host was changed.", *finding_lines(findings, written=written)]
    if warnings:
        lines += ["", "Warnings about the same plan:", *finding_lines(warnings, True, written)]
    return "\n".join(lines)


def finding_lines(findings: t.Iterable[Finding], severity: bool = False, written: Written | None = None) -> list[str]:
    """Findings as numbered lines in the given order, optionally with their ``severity`` and where their paths are ``written``.

    Findings that differ only in path and value share one entry. Further entries of a rule are only counted. An accepted finding
    is one line, with the reason of the person who accepted it, because there is nothing to mend.
    """
    groups = grouped(findings)
    printed: dict[str, int] = {}
    lines: list[str] = []
    number = 0
    for group in groups:
        first = group[0]
        printed[first.id] = printed.get(first.id, 0) + 1
        if printed[first.id] > GROUPS_SHOWN:
            continue
        number += 1
        label = f"{number}. {first.severity.upper()} " if severity else f"{number}. "
        lines += ["", f"{label}{places(group)}: {first.problem.rstrip('.')}. [{first.id}]"]
        if first.severity == "accepted":  # nothing to mend
            lines[-1] += f" Reason: {first.fix.removeprefix(REASON)}" if first.fix.startswith(REASON) else ""
            continue
        at = dict.fromkeys(written[finding.path] for finding in group if finding.path in written) if written else {}
        lines += [f"   At: {_first([*at], ', ')}"] if at else []
        lines += _reasons(first)
    hidden = [
        f"{count - GROUPS_SHOWN} more of [{id_}]" for id_, count in sorted(printed.items()) if count > GROUPS_SHOWN
    ]
    return [*lines, "", f"... and {', '.join(hidden)}."] if hidden else lines


def _reasons(finding: Finding) -> list[str]:
    labelled = (("Why", finding.why), ("Fix", finding.fix))
    return [f"   {label}: {text}" for label, text in labelled if text]


def grouped(findings: t.Iterable[Finding]) -> list[list[Finding]]:
    """Findings grouped by everything but path and value, in the order of the first finding of each group."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        key = (finding.id, finding.severity, finding.problem, finding.why, finding.fix)
        groups.setdefault(key, []).append(finding)
    return list(groups.values())


def places(group: t.Sequence[Finding]) -> str:
    """The places of equal findings: one path, '16 devices on 4 hosts (n1: 0-3, ...)', or '9 places (a, b, ...)'."""
    if len(group) == 1:
        return group[0].place
    found = [match for finding in group if (match := DEVICE.fullmatch(finding.path))]
    if len(found) == len(group):
        devices: dict[str, list[int]] = {}
        for match in found:
            devices.setdefault(match["host"], []).append(int(match["device"]))
        hosts = "1 host" if len(devices) == 1 else f"{len(devices)} hosts"
        total = sum(len(set(numbers)) for numbers in devices.values())
        named = [f"{host}: {spans(numbers)}" for host, numbers in devices.items()]
        return f"{total} devices on {hosts} ({_first(named, '; ')})"
    values = {finding.value for finding in group}
    common = f" = {values.pop()}" if len(values) == 1 and group[0].value else ""
    named = [finding.path if common else finding.place for finding in group]
    return f"{len(group)} places ({_first(named, ', ')}){common}"


def _first(names: t.Sequence[str], separator: str) -> str:
    more = len(names) - PLACES_SHOWN
    return separator.join([*names[:PLACES_SHOWN], *([f"{more} more"] if more > 0 else [])])


def spans(numbers: t.Iterable[int], separator: str = " ") -> str:
    """Numbers as ranges, such as 0-7 7100 36000-36015."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return separator.join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def first_names(names: t.Iterable[str]) -> str:
    """The first names in their order, and how many there are more."""
    return _first(sorted(map(str, names), key=natural), ", ")


def nearest(name: str, known: t.Iterable[str], aliases: t.Mapping[str, str] | None = None) -> str:
    """``Did you mean 'x'? `` for the known name that is meant, else an empty string.

    ``aliases`` has other names of known ones, which precede likeness.
    """
    names = list(known)
    alias = (aliases or {}).get(str(name), "")
    found = [alias] if alias and alias in names else close(str(name), names)
    return f"Did you mean '{found[0]}'? " if found else ""
