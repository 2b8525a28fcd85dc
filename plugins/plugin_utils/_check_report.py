# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a check as one self-contained HTML page: findings first, then devices, then the ping matrix."""

from __future__ import annotations

import html
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils._observed._case import Observed, Record
from ansible_collections.ascend.inference.plugins.plugin_utils._topology import natural

STYLE = """
:root { color-scheme: light dark; --ok: #2e9e5b; --warning: #d9a400; --error: #cf3030; --idle: #8883; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; }
thead th { border-bottom: 1px solid #8886; } .findings td:first-child { white-space: nowrap; font-weight: 600; }
.grid td { min-width: 2.2rem; text-align: center; border: 2px solid Canvas; border-radius: 6px; color: #fff; }
.matrix td, .matrix th { padding: 0; width: 1.1rem; height: 1.1rem; font-size: .6rem; text-align: center; }
.matrix th { padding-right: .4rem; white-space: nowrap; text-align: right; width: auto; }
.ok { background: var(--ok); } .warning { background: var(--warning); } .error { background: var(--error); }
.idle { background: var(--idle); } .key span { padding: .1rem .5rem; border-radius: 4px; color: #fff; }
p.verdict { padding: .6rem 1rem; border-left: 6px solid; background: #8881; }
p.verdict.ok { border-color: var(--ok); background: #2e9e5b18; } p.verdict.error { border-color: var(--error); background: #cf303018; }
p.verdict.warning { border-color: var(--warning); background: #d9a40018; }
"""
WORDS = {"error": "error", "warning": "warning", "accepted": "accepted"}
RANK = {"idle": 0, "ok": 1, "warning": 2, "error": 3}


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
    errors = sum(one["severity"] == "error" for one in findings)
    warnings = sum(one["severity"] == "warning" for one in findings)
    state = "error" if errors else "warning" if warnings else "ok"
    words = {
        "error": f"{errors} to mend before anything is deployed, {warnings} to look at.",
        "warning": f"Ready to deploy; {warnings} to look at.",
        "ok": "Ready to deploy: nothing was found.",
    }
    return f'<p class="verdict {state}">{words[state]}</p>'


def _findings(findings: t.Sequence[Record]) -> str:
    rows = "".join(
        f"<tr><td>{_text(one['path'])}</td><td>{WORDS[one['severity']]}</td><td>{_text(one['message'])}"
        f"<br><small>{_text(one['fix'])} ({_text(one['id'])})</small></td></tr>"
        for one in findings
    )
    if not rows:
        return ""
    head = "<thead><tr><th>Where</th><th>Severity</th><th>What, and what to do</th></tr></thead>"
    return f'<h2>Findings</h2><table class="findings">{head}<tbody>{rows}</tbody></table>'


def _grid(case: Observed, findings: t.Sequence[Record]) -> str:
    worst: dict[str, str] = {}
    for one in findings:
        state = one["severity"] if one["severity"] in RANK else "warning"
        worst[one["path"]] = max(worst.get(one["path"], "ok"), state, key=RANK.__getitem__)
    rows = []
    for host in case.hosts():
        planned = case.planned_devices(host["name"])
        cells = "".join(
            _cell(device, planned.get(device, ""), worst.get(f"{host['name']} device {device}", "ok"))
            for device in host["devices"]
        )
        rows.append(f"<tr><th>{_text(host['name'])}</th>{cells}</tr>")
    key = " ".join(f'<span class="{name}">{name}</span>' for name in ("ok", "warning", "error"))
    return f'<h2>Hosts and devices</h2><p class="key">{key} (grey: not planned)</p><table class="grid">{"".join(rows)}</table>'


def _cell(device: int, service: str, state: str) -> str:
    shown = state if service or state != "ok" else "idle"
    return f'<td class="{shown}" title="{_text(service or "not planned")}">{device}</td>'


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
    sources, targets = (sorted({one[side] for one in cells}, key=natural) for side in (0, 1))
    rows = [
        f"<tr><th>{_text(source)}</th>{''.join(_ping(cells.get((source, one)), one) for one in targets)}</tr>"
        for source in sources
    ]
    slowest = max((float(one.get("average_ms") or 0) for one in cells.values()), default=0.0)
    return (
        "<h2>Reachability between devices</h2>"
        f"<p>Each row's device pings the columns'; hover for names. Slowest answer: {slowest:.2f} ms.</p>"
        f'<table class="matrix">{"".join(rows)}</table>'
    )


def _ping(one: Record | None, target: str) -> str:
    if one is None:
        return '<td class="idle"></td>'
    if not one.get("reachable"):
        return f'<td class="error" title="{_text(target)}: no answer"></td>'
    time = float(one.get("average_ms") or 0)
    shade = min(0.25 + time / 4, 1.0)
    return f'<td class="ok" style="opacity:{1.25 - shade:.2f}" title="{_text(target)}: {time:.2f} ms"></td>'


def check_text(findings: t.Sequence[Record]) -> str:
    """The findings as lines for a terminal, most severe first; each says where, what and what to do."""
    if not findings:
        return "Nothing was found: every planned host is as the plan wants it."
    lines = []
    for number, one in enumerate(findings, 1):
        lines.append(f"{number}. {one['severity'].upper()} {one['path']}: {one['message']} [{one['id']}]")
        if one["fix"]:
            lines.append(f"   {one['fix']}")
    return "\n".join(lines)
