# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a check as one self-contained HTML page: the picture of all devices first, then findings by cause, then tables.

Information is never given by colour or hover only: a cell with a finding has a mark and links to the finding's text.
"""

from __future__ import annotations

import typing as t

from ...module_utils.tools.how_many import how_many
from ..description.findings import Finding, grouped, places
from ..description.values import natural
from .check_plan import observed
from .observed import Observed, Record, fabric_address, links_by_device, npus_by_device, place, plane
from .page import escaped, whole_page
from .reach import Pings, coverage, pings
from .report_style import STYLE
from .report_text import verdict
from .tcp import tcp_coverage
from .tuning import all_wanted
from .tuning_state import grouped_rows, states
from .versions import COLUMNS, odd_ones, versions

RANK = {"idle": 0, "ok": 1, "warning": 2, "error": 3}
MARKS = {"warning": "!", "error": "&#10007;", "ok": "", "idle": ""}
DEVICE_MATRIX = 64  # maximum number of devices for a matrix by device; with more it is by host


def check_report(
    plan: Record,
    facts: t.Mapping[str, Record],
    findings: t.Sequence[Record],
    options: t.Mapping[str, t.Any] | None = None,
    run: t.Mapping[str, str] | None = None,
) -> str:
    """The page's text. ``findings`` and ``options`` as of ``check_plan``; ``run``: ``date`` and ``command`` of the check."""
    case = observed(plan, facts, options)
    groups = grouped(Finding.from_dict(finding) for finding in findings)
    found = pings(case)
    title = f"Check of {plan['deployment']}"
    body = [
        _head(case, findings, run or {}),
        _grid(case, groups),
        _findings(groups),
        _matrix(case, found),
        _versions(case),
        _tuning(case),
        _devices(case),
    ]
    inner = "\n".join(part for part in body if part)
    return whole_page(title, STYLE, f"<main><h1>{escaped(title)}</h1>{inner}</main>")


def _head(case: Observed, findings: t.Sequence[Record], run: t.Mapping[str, str]) -> str:
    plan, severities = case.plan, {finding["severity"] for finding in findings}
    state = "error" if "error" in severities else "warning" if "warning" in severities else "ok"
    answered = len(case.hosts()) - len(case.unreachable())
    facts = [
        ("Model", plan["model"].get("name") or plan["model"]["path"]),
        ("Release", f"{plan['release']}, runtime {plan['runtime']}"),
        ("Hosts", f"{answered} of {len(plan['hosts'])} answered; {how_many(len(plan['services']), 'service')}"),
        ("Pings", coverage(case) or "none planned"),
        ("Connections", tcp_coverage(case)),
        ("Left out", ", ".join(sorted(case.left_out))),
        ("Date", run.get("date", "")),
        ("Command", run.get("command", "")),
    ]
    rows = "".join(f"<dt>{name}</dt><dd>{escaped(value)}</dd>" for name, value in facts if value)
    text = verdict(findings)
    return f'<p class="verdict {state}">{escaped(text[:1].upper() + text[1:])}.</p><dl class="run">{rows}</dl>'


def _grid(case: Observed, groups: t.Sequence[t.Sequence[Finding]]) -> str:
    """All hosts with their devices, service by service."""
    here: dict[str, list[tuple[int, Finding]]] = {}
    for number, group in enumerate(groups):
        for finding in group:
            parts = finding.path.split(" ")
            where = " ".join(parts[:3]) if parts[1:2] == ["device"] else parts[0]
            here.setdefault(where, []).append((number, finding))
    hosts = "".join(_host(case, host, here) for host in case.hosts())
    key = "".join(
        f'<span class="cell {state}">{MARKS[state]} {state}</span>' for state in ("ok", "warning", "error", "idle")
    )
    explain = "each device: id, RoCE link, temperature, used HBM; idle: not planned; marks link to the finding"
    return f'<h2>Devices</h2><p class="key">{key} <small>{explain}</small></p><div class="hosts">{hosts}</div>'


def _host(case: Observed, host: Record, here: t.Mapping[str, list[tuple[int, Finding]]]) -> str:
    planned = case.planned_devices(host["name"])
    npus, links = npus_by_device(case.part(host, "npu")), links_by_device(case.part(host, "hccn"))
    known = host["name"] not in case.unreachable()
    services: dict[str, list[int]] = {}
    for device in host["devices"]:
        services.setdefault(planned.get(device, "not planned"), []).append(device)
    blocks = []
    for service, devices in services.items():
        cells = "".join(
            _cell(
                str(device),
                _measures(npus.get(device) or {}, links.get(device) or {}),
                here.get(place(host, device), []),
                ("ok" if known and device in npus else "warning") if device in planned else "idle",
            )
            for device in devices
        )
        blocks.append(f"<div><small>{escaped(service)}</small><div>{cells}</div></div>")
    others = [service["name"] for service in case.services(host["name"]) if not service["devices"]]
    name = _cell(host["name"], escaped(", ".join([str(host["address"]), *others])), here.get(host["name"], []), "ok")
    return f'<section><div class="name">{name}</div><div class="services">{"".join(blocks)}</div></section>'


def _cell(label: str, below: str, found: t.Sequence[tuple[int, Finding]], state: str) -> str:
    worst = max(
        (finding.severity for _number, finding in found if finding.severity in RANK), key=RANK.__getitem__, default="ok"
    )
    state = max(state, worst, key=RANK.__getitem__) if worst != "ok" else state
    inner = f"<b>{escaped(label)}</b>{' ' + MARKS[state] if MARKS[state] else ''}<i>{below}</i>"
    shown = [entry for entry in found if entry[1].severity == worst]
    if shown and worst != "ok":
        return f'<a class="cell {state}" href="#f{shown[0][0] + 1}" title="{escaped(shown[0][1].problem)}">{inner}</a>'
    return f'<span class="cell {state}">{inner}</span>'


def _measures(npu: Record, link: Record) -> str:
    """Link, temperature and used memory of a device, one per line."""
    lines = [escaped(link.get("link") or "")]
    if npu.get("temperature_celsius") is not None:
        lines.append(f"{npu['temperature_celsius']:g}&deg;C")
    if npu.get("hbm_total_mib"):
        lines.append(f"{(npu.get('hbm_used_mib') or 0) / 1024:.0f}/{npu['hbm_total_mib'] / 1024:.0f}G")
    return "<br>".join(lines)


def _findings(groups: t.Sequence[t.Sequence[Finding]]) -> str:
    parts: dict[str, list[str]] = {}
    for number, group in enumerate(groups, 1):
        first = group[0]
        value = _value(first) if len(group) == 1 and first.value not in first.problem else ""
        where = escaped(places([Finding(**{**vars(finding), "value": ""}) for finding in group]))
        every = ""
        if len(group) > 1:
            rows = "".join(f"<li>{escaped(finding.path)}{_value(finding)}</li>" for finding in group[:200])
            more = f"<li>and {len(group) - 200} more</li>" if len(group) > 200 else ""
            every = f"<details><summary>{len(group)} places</summary><ul>{rows}{more}</ul></details>"
        kind = "open" if first.severity in ("error", "warning") else "closed"
        parts.setdefault(kind, []).append(
            f'<article id="f{number}" tabindex="-1"><h3><span class="cell {first.severity}">{first.severity}</span> {where}</h3>'
            f"<p>{escaped(first.problem)}{value}</p>"
            f"<p>{escaped(first.why)}</p><p><strong>Fix:</strong> {escaped(first.fix)} <small>{escaped(first.id)}</small></p>{every}</article>"
        )
    text = f"<h2>Findings</h2>{''.join(parts['open'])}" if "open" in parts else ""
    if "closed" in parts:
        count = len(parts["closed"])
        text += f"<details open><summary>Remarks and accepted findings ({count})</summary>{''.join(parts['closed'])}</details>"
    return text


def _value(finding: Finding) -> str:
    return f" <code>{escaped(finding.value)}</code>" if finding.value else ""


def _matrix(case: Observed, found: Pings) -> str:
    """The ping matrix: by device in small deployments, else by host."""
    if not found.answers:
        return ""
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
    head = "".join(f'<th scope="col"><span>{escaped(label)}</span></th>' for _name, label in columns)
    rows = "".join(
        f'<tr><th scope="row">{escaped(label)}</th>'
        + "".join(_ping(cells.get((source, target)), usual) for target, _label in columns)
        + "</tr>"
        for source, label in sources
    )
    slowest = f" Median ping time {usual:.2f} ms, maximum {times[-1]:.2f} ms." if times else ""
    return (
        f"<h2>Reachability</h2><p>{escaped(coverage(case))}.{slowest} Rows ping columns: a number is the time in ms, or the pairs that"
        " failed of those pinged; empty cells were not pinged.</p>"
        f'<div class="scroll" tabindex="0"><table class="matrix"><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _ping(answers: list[Record] | None, usual: float) -> str:
    if not answers:
        return "<td>"
    lost = sum(not answer.get("reachable") for answer in answers)
    if lost:
        return f'<td class="error">&#10007;{lost}/{len(answers)}' if len(answers) > 1 else '<td class="error">&#10007;'
    times = [float(answer["average_ms"]) for answer in answers if answer.get("average_ms") is not None]
    slow = times and usual and max(times) > 10 * usual
    return f'<td class="{"warning" if slow else "ok"}">{f"{max(times):.2g}" if times else "+"}'


def _versions(case: Observed) -> str:
    table = versions(case)
    usual = {column: odd_ones(table, column) for column in COLUMNS}
    rows = "".join(
        f'<tr><th scope="row">{escaped(name)}</th>'
        + "".join(_version(row[column], name in usual[column][1]) for column in COLUMNS)
        + "</tr>"
        for name, row in table.items()
    )
    head = "".join(f'<th scope="col">{column}</th>' for column in COLUMNS)
    return (
        f'<h2>Versions</h2><p>{_odd(usual)}</p><div class="scroll" tabindex="0"><table class="plain"><thead><tr><th>host</th>{head}'
        f"</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _odd(usual: t.Mapping[str, tuple[str, list[str]]]) -> str:
    odd = [f"{column} on {len(names)}" for column, (_value, names) in usual.items() if names]
    return (
        f"Marked: values that differ from most hosts ({escaped(', '.join(odd))})."
        if odd
        else "Equal on all hosts that report them."
    )


def _version(value: str, odd: bool) -> str:
    return f'<td class="warning">{escaped(value)} !</td>' if odd else f"<td>{escaped(value) or '&ndash;'}</td>"


def _tuning(case: Observed) -> str:
    """Each setting of tuning with the wanted and the found value, and the hosts that have it."""
    found = grouped_rows(states(case, all_wanted(case)))
    rows = "".join(
        f'<tr><th scope="row">{escaped(row["setting"])}</th><td>{escaped(row["profile"])}</td><td>{escaped(row["wanted"])}</td>'
        + (f"<td>{escaped(row['found'])}" if row["as_wanted"] else f'<td class="warning">{escaped(row["found"])} !')
        + f"</td><td>{escaped(', '.join(hosts))}</td></tr>"
        for row, hosts in found
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("setting", "profile", "wanted", "found", "hosts"))
    return (
        f'<h2>Tuning</h2><div class="scroll" tabindex="0"><table class="plain"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        if found
        else ""
    )


def _devices(case: Observed) -> str:
    """Addresses and link partners of all planned devices."""
    rows = []
    for host, device, link in case.each_link():
        lldp = link.get("lldp") or {}
        partner = " ".join(str(lldp[key]) for key in ("system_name", "port") if lldp.get(key))
        service = case.planned_devices(host["name"])[device]
        address = fabric_address(link, plane(case.plan, host))
        cells = (device, service, address, plane(case.plan, host), partner)
        rows.append(
            f'<tr><th scope="row">{escaped(host["name"])}</th>'
            + "".join(f"<td>{escaped(cell)}" for cell in cells)
            + "</tr>"
        )
    if not rows:
        return ""
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("host", "device", "service", "address", "plane", "cabled to")
    )
    return (
        '<h2>Addresses and link partners</h2><div class="scroll" tabindex="0"><table class="plain">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
