# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a check as one self-contained HTML page: findings first, then devices, then the ping matrix."""

from __future__ import annotations

import html
import typing as t

from ..description.findings import Finding, finding_lines
from ..description.variables import natural
from .observed import Observed, Record

STYLE = """
:root { color-scheme: light dark; --ok: #2e9e5b; --warning: #d9a400; --error: #cf3030; --idle: #8883; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; }
thead th { border-bottom: 1px solid #8886; } .findings td:first-child { white-space: nowrap; font-weight: 600; }
.findings td:nth-child(2) span { padding: .1rem .5rem; border-radius: 4px; color: #fff; }
.findings .accepted { background: #777; }
.grid td { min-width: 2.2rem; text-align: center; border: 2px solid Canvas; border-radius: 6px; color: #fff; }
.scroll { overflow-x: auto; }
.matrix td, .matrix th { padding: 0; min-width: .85rem; height: .85rem; font-size: .6rem; text-align: center; }
.matrix th.host { font-size: .75rem; padding: 0 .4rem; white-space: nowrap; vertical-align: middle; }
.matrix .first { border-left: 2px solid Canvas; } .matrix tbody tr:first-child > * { border-top: 2px solid Canvas; }
.ok { background: var(--ok); } .warning { background: var(--warning); } .error { background: var(--error); }
.idle { background: var(--idle); } .key span { padding: .1rem .5rem; border-radius: 4px; color: #fff; }
p.verdict { padding: .6rem 1rem; border-left: 6px solid; background: #8881; }
p.verdict.ok { border-color: var(--ok); background: #2e9e5b18; } p.verdict.error { border-color: var(--error); background: #cf303018; }
p.verdict.warning { border-color: var(--warning); background: #d9a40018; }
"""
RANK = {"ok": 0, "warning": 1, "error": 2}
MARKS = {"warning": " !", "error": " &#10007;"}  # not by colour alone


def check_report(plan: Record, facts: t.Mapping[str, Record], findings: t.Sequence[Record]) -> str:
    """The page's text. ``findings`` as ``check_plan`` returns them."""
    case = Observed(plan, facts)
    title = f"Check of {plan['deployment']}"
    body = [
        f"<h1>{_text(title)}</h1>",
        f"<p>{_text(plan['model']['name'] or plan['model']['path'])}, release {_text(plan['release'])}, "
        f"{len(case.hosts())} hosts, {len(plan['services'])} services</p>",
        _verdict(findings),
        _findings(findings),
        _grid(case, findings),
        _matrix(case),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{_text(title)}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>'
        + "\n".join(body)
        + "</body></html>\n"
    )


def _text(value: t.Any) -> str:
    return html.escape(str(value))


def _verdict(findings: t.Sequence[Record]) -> str:
    errors, warnings, accepted = (
        sum(one["severity"] == severity for one in findings) for severity in ("error", "warning", "accepted")
    )
    state = "error" if errors else "warning" if warnings else "ok"
    words = {
        "error": f"{errors} to mend before anything is deployed, {warnings} to look at",
        "warning": f"Ready to deploy; {warnings} to look at",
        "ok": "Ready to deploy: nothing was found",
    }
    rest = f", {accepted} accepted" if accepted else ""
    return f'<p class="verdict {state}">{words[state]}{rest}.</p>'


def _findings(findings: t.Sequence[Record]) -> str:
    rows = "".join(
        f'<tr><td>{_text(one["path"])}</td><td><span class="{one["severity"]}">{one["severity"]}</span></td>'
        f"<td>{_text(one['problem'])}<br>{_text(one['why'])}<br><small>{_text(one['fix'])} ({_text(one['id'])})</small></td></tr>"
        for one in findings
    )
    if not rows:
        return ""
    head = "<thead><tr><th>Where</th><th>Severity</th><th>What, and what to do</th></tr></thead>"
    return f'<h2>Findings</h2><table class="findings">{head}<tbody>{rows}</tbody></table>'


def _grid(case: Observed, findings: t.Sequence[Record]) -> str:
    rows = []
    for host in case.hosts():
        name, planned = host["name"], case.planned_devices(host["name"])
        places = {f"{name} device {device}": device for device in host["devices"]}
        own = [one for one in findings if f"{one['path']} ".startswith(f"{name} ") and one["path"] not in places]
        cells = _cell("host", "the host itself", own)
        for place, device in places.items():
            here = [one for one in findings if one["path"] == place]
            cells += _cell(str(device), planned.get(device, ""), here)
        rows.append(f"<tr><th>{_text(name)}</th>{cells}</tr>")
    key = " ".join(f'<span class="{name}">{name}{MARKS.get(name, "")}</span>' for name in ("ok", "warning", "error"))
    return (
        f'<h2>Hosts and devices</h2><p class="key">{key} (grey: not planned; hover for the reason)</p>'
        f'<div class="scroll"><table class="grid">{"".join(rows)}</table></div>'
    )


def _cell(label: str, owner: str, findings: t.Sequence[Record]) -> str:
    """A coloured cell; what was accepted colours nothing, but is said."""
    worst = max((one["severity"] for one in findings if one["severity"] in RANK), key=RANK.__getitem__, default="ok")
    state = worst if owner or worst != "ok" else "idle"
    said = "\n".join([owner or "not planned", *(f"{one['severity']}: {one['problem']}" for one in findings)])
    return f'<td class="{state}" title="{_text(said)}">{label}{MARKS.get(state, "")}</td>'


def _matrix(case: Observed) -> str:
    names = case.names()
    cells = {
        (f"{host['name']} device {device}", names.get(peer, peer)): one
        for host, facts in case.asked("ping")
        for device, peers in (facts.get("matrix") or {}).items()
        for peer, one in peers.items()
    }
    if not cells:
        return ""
    groups = [(host["name"], sorted(case.planned_devices(host["name"]))) for host in case.hosts()]
    groups = [(name, [f"{name} device {device}" for device in devices]) for name, devices in groups if devices]
    strangers = sorted(
        {target for dummy, target in cells} - {place for dummy, places in groups for place in places}, key=natural
    )
    columns = groups + ([("elsewhere", strangers)] if strangers else [])
    head = "".join(f'<th class="host first" colspan="{len(places)}">{_text(name)}</th>' for name, places in columns)
    times = sorted(float(one.get("average_ms") or 0) for one in cells.values() if one.get("reachable"))
    usual = times[len(times) // 2] if times else 0.0
    bodies = "".join(_rows(name, places, columns, cells, usual) for name, places in groups)
    slowest = f" Answers usually take {usual:.2f} ms, the slowest {times[-1]:.2f} ms." if times else ""
    return (
        "<h2>Reachability between devices</h2>"
        f"<p>Each row's device pings the columns' devices: green answers, yellow answers slowly, red does not answer, "
        f"grey was not asked; hover for names and times.{slowest}</p>"
        f'<div class="scroll"><table class="matrix"><thead><tr><th></th><th></th>{head}</tr></thead>{bodies}</table></div>'
    )


Group = tuple[str, list[str]]


def _rows(
    host: str,
    places: t.Sequence[str],
    columns: t.Sequence[Group],
    cells: t.Mapping[tuple[str, str], Record],
    usual: float,
) -> str:
    """One host's rows of the matrix."""
    rows = []
    for number, place in enumerate(places):
        label = f'<th class="host" rowspan="{len(places)}">{_text(host)}</th>' if number == 0 else ""
        pings = "".join(
            _ping(cells.get((place, one)), f"{place} to {one}", usual, one == group[0])
            for dummy, group in columns
            for one in group
        )
        rows.append(f"<tr>{label}<th>{_text(place.rsplit(' ', 1)[1])}</th>{pings}</tr>")
    return f"<tbody>{''.join(rows)}</tbody>"


def _ping(one: Record | None, pair: str, usual: float, first: bool) -> str:
    edge = " first" if first else ""
    if one is None:
        return f'<td class="idle{edge}"></td>'
    if not one.get("reachable"):
        return f'<td class="error{edge}" title="{_text(pair)}: no answer">&#10007;</td>'
    time = float(one.get("average_ms") or 0)
    slow = min(max(time / usual - 1, 0) / 9, 1) if usual else 0.0  # yellow at ten times the usual
    style = (
        f' style="background: color-mix(in srgb, var(--warning) {100 * slow:.0f}%, var(--ok))"' if slow > 0.05 else ""
    )
    return f'<td class="ok{edge}"{style} title="{_text(pair)}: {time:.2f} ms"></td>'


def check_text(findings: t.Sequence[Record]) -> str:
    """The findings as lines for a terminal, most severe first; each says where, what and what to do."""
    if not findings:
        return "Nothing was found: every planned host is as the plan wants it."
    return "\n".join(finding_lines((Finding.from_dict(finding) for finding in findings), severity=True)[1:])
