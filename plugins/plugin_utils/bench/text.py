# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark's report as text for the terminal, which is Markdown as well."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.text import one_line
from ..description.values import natural
from ..hosts.tuning_state import state_lines
from ..pages.markdown import table
from .aisbench import AISBENCH
from .capacity import capacity_text
from .passage import longest, passage_rows
from .report import SHOWN
from .services import TITLES as COUNTED

Record = t.Mapping[str, t.Any]
TITLES = {
    "ttft_p50": "TTFT p50",
    "ttft_p99": "TTFT p99",
    "tpot_p50": "TPOT p50",
    "tpot_p99": "TPOT p99",
    "e2el_p99": "E2E p99",
    "output_throughput": "tok/s",
    "request_goodput": "good/s",
}


def bench_text(report: Record) -> list[str]:
    """Lines: what was measured, a table of loads, shares of engines, the comparison, findings."""
    settings = report["settings"]
    lines = [
        f"# Benchmark of {report['deployment']}: {'passed' if report['passed'] else 'FAILED'}",
        "",
        f"{versions_text(report)}{_npus(report['devices'])}, plan {report['digest'][:12]}. "
        f"Profile {settings['profile']}: {settings['prefix'] + settings['input']} tokens in, {settings['output']} out, "
        f"{settings['repeats']} measurements of each load{sent_text(settings)}. Times in ms; median (least to most).",
        "",
    ]
    lines += [*known_lines(report), ""]
    tuned = state_lines(report.get("tuning") or {})
    lines += [*tuned, ""] if tuned else []
    if report.get("before"):
        lines += [f"Compared: {topology_text(report['before'])} before, {topology_text(report['topology'])} now.", ""]
    if report.get("other_versions"):
        lines += [f"Software of the earlier report: {other_versions_text(report)}.", ""]
    spent = longest(report.get("passages") or ())
    lines += [spent, ""] if spent else []
    lines += capacity_text(report.get("capacity"), digits)
    parts = (
        load_rows(report),
        passage_rows(report, digits),
        engine_rows(report),
        other_rows(report),
        comparison_rows(report),
        upstream_rows(report),
    )
    for rows in parts:
        if len(rows) > 1:
            lines += [*table(rows), ""]
    lines.pop()
    for finding in report["findings"]:
        lines += [
            "",
            f"{finding['id']} ({finding['severity']}) {finding['path']}: {finding['problem']}",
            f"  {finding['why']} Fix: {finding['fix']}",
        ]
    return [one_line(line) for line in lines]  # a text of a host makes no line of its own


def versions_text(report: Record) -> str:
    """The planned software; of a report that does not record it, release and vLLM."""
    known = report.get("versions") or {"release": report["release"], "vLLM": report["vllm"]}
    return ", ".join(f"{name} {version}" for name, version in known.items())


def other_versions_text(report: Record) -> str:
    """Versions of the earlier report that are not those of this one."""
    return ", ".join(f"{name} {version}" for name, version in (report.get("other_versions") or {}).items())


def known_lines(report: Record) -> list[str]:
    """What check and status found before the measurements, at most a few of each."""
    known = report.get("known") or {"check": None, "status": []}
    lines = [f"Status before: {text}" for text in _few(known["status"])]
    if known["check"] is None:
        return [*lines, "Check: not known (inference_bench_check)."]
    bad = [item for item in known["check"] if item["severity"] in ("error", "warning")]
    wrong = [f"{item['severity']} {item['id']} {item['path']}: {item['problem']}" for item in bad]
    return [*lines, *([f"Check: {text}" for text in _few(wrong)] or ["Check: no errors or warnings."])]


def _few(texts: t.Sequence[str], most: int = 8) -> list[str]:
    return [*texts[:most], *([f"and {len(texts) - most} more"] if len(texts) > most else [])]


def sent_text(settings: Record) -> str:
    """How requests were sent; nothing for completions of vLLM's own client that wait for nothing."""
    driver = " by AISBench" if settings.get("driver") == AISBENCH else ""
    most = f", at most {settings['at_once']} at a time" if settings.get("at_once") else ""
    return f"{driver}{' as chats' if settings.get('chat') else ''}{most}"


def _npus(number: int, before: str = ", ") -> str:
    """Nothing for a deployment on CPUs."""
    return f"{before}{number} NPUs" if number else ""


def topology_text(topology: Record) -> str:
    """Instances, NPUs and router in a few words.

    >>> topology_text({"pools": {"decode": 3, "prefill": 1}, "devices": 16, "router": "vllm_router", "policies": {"policy": "round_robin"}})
    '3 decode and 1 prefill on 16 NPUs, vllm_router (policy round_robin)'
    """
    pools = " and ".join(f"{number} {kind}" for kind, number in topology["pools"].items())
    policies = ", ".join(f"{name} {value}" for name, value in topology["policies"].items())
    router = f", {topology['router']}" if topology["router"] else ""
    return f"{pools}{_npus(topology['devices'], ' on ')}{router}" + (f" ({policies})" if policies else "")


def load_rows(report: Record) -> list[list[str]]:
    """A head, and a row for each load."""
    names = [name for name in SHOWN if any(load["median"].get(name) is not None for load in report["loads"])]
    per_device = ["tok/s per NPU"] if report["devices"] else []
    pool = ["loaded"] if any(load["round"] for load in report["loads"]) else []
    rows = [["load", "done", "failed", "empty", *(TITLES[name] for name in names), *per_device, *pool]]
    for load in report["loads"]:
        row = [load["title"], *(str(load[name]) for name in ("completed", "failed", "empty"))]
        row += [_cell(load, name) for name in names]
        if per_device:
            row.append(digits((load["median"].get("output_throughput") or 0) / report["devices"]))
        if pool:
            row.append("?" if load["loaded_share"] is None else f"{load['loaded_share']:.0%}")
        rows.append(row)
    return rows


def engine_rows(report: Record) -> list[list[str]]:
    """A head, and a row for each engine; "?": not known. Columns of transfers only if an engine counts them."""
    counters = {
        "requests": "requests",
        "prompt_tokens": "prompt tokens",
        "tokens_from_outside": "from outside",
        "preemptions": "preemptions",
        "queue_seconds": "queue s",
    }
    moved = report.get("transfers") or {}
    shared, head = report.get("shares") or {}, ["engine", "share", *counters.values()]
    rows = [[*head, *(["transfers", "ms each", "MiB/s", "failed"] if moved else [])]]
    for name, gained in sorted(report["engines"].items(), key=lambda item: natural(item[0])):
        known = gained or {}
        row = [name, f"{shared[name]:.1%}" if name in shared else "?"]
        row += [f"{known[counter]:.12g}" if counter in known else "?" for counter in counters]
        rows.append([*row, *(_transfers(moved.get(name)) if moved else [])])
    return rows


def _transfers(counted: Record | None) -> list[str]:
    if counted is None:
        return ["?"] * 4
    number, seconds = counted["number"], counted["seconds"]
    rate = digits(counted["bytes"] / 2**20 / seconds) if seconds and "bytes" in counted else "?"
    failed = f"{counted['failed']:.12g}" if "failed" in counted else "?"
    shown = f"{number:.12g}{' (log)' if counted['logged'] else ''}"
    return [shown, digits(1000 * seconds / number) if number else "-", rate, failed]


def other_rows(report: Record) -> list[list[str]]:
    """A head, and a row for each router and master of the store; what a version does not count is left out."""
    rows = [["service", "counted"]]
    for name, other in (report.get("others") or {}).items():
        titles, gained = COUNTED[other["kind"]], other["gained"] or {}
        counted = [f"{gained[counter]:.12g} {title}" for counter, title in titles.items() if counter in gained]
        rows.append([name, ", ".join(counted) or "?"])
    return rows


def comparison_rows(report: Record) -> list[list[str]]:
    """A head, and a row for each figure that is in both reports."""
    rows = [["load", "figure", "before", "now", "change", "verdict"]]
    for row in report["comparison"]:
        change = f"{row['now'] / row['before'] - 1:+.1%}"
        rows.append([row["load"], row["figure"], digits(row["before"]), digits(row["now"]), change, row["verdict"]])
    return rows


def upstream_rows(report: Record) -> list[list[str]]:
    """A head, and a row for each case of vLLM-Ascend's CI with the same model and hardware."""
    rows = [["vLLM-Ascend's CI", "load", "tok/s there", "demanded", "tok/s here", "verdict", "different there"]]
    for row in report.get("upstream") or ():
        figures = [digits(row[name]) if row[name] is not None else "-" for name in ("theirs", "demanded", "now")]
        rows.append([row["case"], str(row["load"]), *figures, row["verdict"], "; ".join(row["differs"])])
    return rows


def _cell(load: Record, name: str) -> str:
    middle, low, high = (load[part].get(name) for part in ("median", "least", "most"))
    if middle is None:
        return "-"
    return digits(middle) + (f" ({digits(low)} to {digits(high)})" if load["measurements"] > 1 else "")


def digits(value: float) -> str:
    """One decimal, and of smaller numbers three digits: 0.03 requests per second are not 0.0.

    >>> [digits(value) for value in (2042.13, 50.0, 3.14159, 0.0312, 0.0)]
    ['2042.1', '50.0', '3.14', '0.0312', '0']
    """
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"
