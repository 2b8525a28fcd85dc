# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a check as one self-contained HTML page: the picture of all devices first, then findings by cause, then tables.

Information is never given by colour or hover only: a cell with a finding has a mark and links to the finding's text.
"""

from __future__ import annotations

import typing as t

from ...module_utils.tools.how_many import how_many
from ..description.findings import Finding, grouped
from ..description.values import natural
from ..pages.render import findings_of, origin, page, verdict_of
from .check_plan import observed
from .observed import Observed, Record, fabric_address, links_by_device, npus_by_device, place, plane
from .reach import Pings, coverage, pings
from .report_text import verdict
from .tcp import tcp_coverage
from .tuning import all_wanted
from .tuning_state import grouped_rows, states
from .versions import COLUMNS, odd_ones, versions

Shown = dict[str, t.Any]  # what the template shows in one place
Found = t.Sequence[tuple[int, Finding]]
RANK = {"idle": 0, "ok": 1, "warning": 2, "error": 3}
MARKS = {"warning": "!", "error": "✗", "ok": "", "idle": ""}
DEVICE_MATRIX = 64  # maximum number of devices for a matrix by device; with more it is by host


def check_report(
    plan: Record,
    facts: t.Mapping[str, Record],
    findings: t.Sequence[Record],
    options: t.Mapping[str, t.Any] | None = None,
    run: t.Mapping[str, str] | None = None,
) -> str:
    """The page's text. ``findings`` and ``options`` as of ``check_plan``; ``run``: ``date``, ``inventory`` and ``command`` of the check."""
    case = observed(plan, facts, options)
    groups = grouped(Finding.from_dict(finding) for finding in findings)
    answered = len(case.hosts()) - len(case.unreachable())
    known = [
        ("Model", plan["model"].get("name") or plan["model"]["path"]),
        ("Release", f"{plan['release']}, runtime {plan['runtime']}"),
        ("Hosts", f"{answered} of {len(plan['hosts'])} answered; {how_many(len(plan['services']), 'service')}"),
        ("Pings", coverage(case) or "none planned"),
        ("Connections", tcp_coverage(case)),
        ("Left out", ", ".join(sorted(case.left_out))),
        ("Plan", plan.get("digest", "")),
        *origin(run),
    ]
    found = pings(case)
    return page(
        "check",
        f"Check of {plan['deployment']}",
        verdict_of(verdict(findings), findings, known),
        marks=MARKS,
        hosts=_hosts(case, groups),
        findings=findings_of(groups),
        coverage=coverage(case),
        matrix=_matrix(case, found) if found.answers else None,
        **_versions(case),
        tuning=grouped_rows(states(case, all_wanted(case))),
        devices=_devices(case),
    )


def _hosts(case: Observed, groups: t.Sequence[t.Sequence[Finding]]) -> list[Shown]:
    """All hosts with their devices, service by service."""
    here: dict[str, list[tuple[int, Finding]]] = {}
    for number, group in enumerate(groups, 1):
        for finding in group:
            parts = finding.path.split(" ")
            where = " ".join(parts[:3]) if parts[1:2] == ["device"] else parts[0]
            here.setdefault(where, []).append((number, finding))
    return [_host(case, host, here) for host in case.hosts()]


def _host(case: Observed, host: Record, here: t.Mapping[str, Found]) -> Shown:
    planned = case.planned_devices(host["name"])
    npus, links = npus_by_device(case.part(host, "npu")), links_by_device(case.part(host, "hccn"))
    known = host["name"] not in case.unreachable()
    services: dict[str, list[Shown]] = {}
    for device in host["devices"]:
        state = ("ok" if known and device in npus else "warning") if device in planned else "idle"
        measures = _measures(npus.get(device) or {}, links.get(device) or {})
        cell = _cell(str(device), measures, here.get(place(host, device), []), state)
        services.setdefault(planned.get(device, "not planned"), []).append(cell)
    others = [service["name"] for service in case.services(host["name"]) if not service["devices"]]
    named = _cell(host["name"], [", ".join([str(host["address"]), *others])], here.get(host["name"], []), "ok")
    return {"name": named, "services": services}


def _cell(label: str, below: list[str], found: Found, state: str) -> Shown:
    """A cell in the worst state of its findings, with a link to the first of these."""
    known = [entry for entry in found if entry[1].severity in RANK]
    worst = max((finding.severity for _number, finding in known), key=RANK.__getitem__, default="ok")
    first = next((entry for entry in known if entry[1].severity == worst), None) if worst != "ok" else None
    cell = {"label": label, "below": below, "state": max(state, worst, key=RANK.__getitem__) if first else state}
    return {**cell, "finding": first[0], "problem": first[1].problem} if first else {**cell, "finding": 0}


def _measures(npu: Record, link: Record) -> list[str]:
    """Link, temperature and used memory of a device, one per line."""
    lines = [str(link.get("link") or "")]
    if npu.get("temperature_celsius") is not None:
        lines.append(f"{npu['temperature_celsius']:g}°C")
    if npu.get("hbm_total_mib"):
        lines.append(f"{(npu.get('hbm_used_mib') or 0) / 1024:.0f}/{npu['hbm_total_mib'] / 1024:.0f}G")
    return lines


def _matrix(case: Observed, found: Pings) -> Shown:
    """The ping matrix: by device in small deployments, else by host."""
    devices = {end for pair in case.pairs for end in pair}
    if len(devices) <= DEVICE_MATRIX:
        cells = {pair: [answer] for pair, answer in found.answers.items()}
    else:
        cells = {}
        for pair, answer in found.answers.items():
            first, second = (end.rsplit(" device ", 1)[0] for end in pair)
            cells.setdefault((first, second), []).append(answer)
    sources, columns = (
        [(name, name.replace(" device ", ":")) for name in sorted({pair[side] for pair in cells}, key=natural)]
        for side in (0, 1)
    )
    times = sorted(answer["average_ms"] for answer in found.answers.values() if answer.get("average_ms") is not None)
    usual = times[len(times) // 2] if times else 0.0
    rows = [
        (label, [_ping(cells.get((source, target)), usual) for target, _label in columns]) for source, label in sources
    ]
    slowest = f" Median ping time {usual:.2f} ms, maximum {times[-1]:.2f} ms." if times else ""
    return {"slowest": slowest, "columns": [label for _name, label in columns], "rows": rows}


def _ping(answers: list[Record] | None, usual: float) -> tuple[str, str]:
    """State and text of a cell of the matrix."""
    if not answers:
        return "", ""
    lost = sum(not answer.get("reachable") for answer in answers)
    if lost:
        return "error", f"✗{lost}/{len(answers)}" if len(answers) > 1 else "✗"
    times = [float(answer["average_ms"]) for answer in answers if answer.get("average_ms") is not None]
    slow = times and usual and max(times) > 10 * usual
    return "warning" if slow else "ok", f"{max(times):.2g}" if times else "+"


def _versions(case: Observed) -> Shown:
    """The table of versions, of which those that differ from most hosts are marked."""
    table = versions(case)
    usual = {column: odd_ones(table, column) for column in COLUMNS}
    rows = [(name, [(row[column], name in usual[column][1]) for column in COLUMNS]) for name, row in table.items()]
    odd = [f"{column} on {len(names)}" for column, (_value, names) in usual.items() if names]
    return {"columns": COLUMNS, "versions": rows, "odd": ", ".join(odd)}


def _devices(case: Observed) -> list[list[str]]:
    """Addresses and link partners of all planned devices; the first row is the head."""
    rows = [["host", "device", "service", "address", "plane", "cabled to"]]
    for host, device, link in case.each_link():
        lldp = link.get("lldp") or {}
        partner = " ".join(str(lldp[key]) for key in ("system_name", "port") if lldp.get(key))
        service, own = case.planned_devices(host["name"])[device], plane(case.plan, host)
        rows.append([host["name"], str(device), service, fabric_address(link, own), own, partner])
    return rows
