# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTML pages: one file each out of a template of this folder, which loads nothing and runs nothing.

The template engine escapes every value. Content Security Policy Level 3, https://www.w3.org/TR/CSP3/
"""

from __future__ import annotations

import functools
import pathlib
import typing as t

import jinja2
from markupsafe import Markup

from ...module_utils.tools.how_many import how_many
from ...module_utils.tools.text import visible
from ..description.findings import REASON, Finding, grouped, places

Record = t.Mapping[str, t.Any]
Facts = list[tuple[str, t.Any]]
PLACES_SHOWN = 200  # of one finding
COUNTED = ("error", "warning", "remark")


@functools.cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: t.Any) -> t.Any:
    """A value as text, nothing for None; control characters are shown as such. Markup of our own stays."""
    if hasattr(value, "__html__"):
        return value
    return "" if value is None else visible(str(value))


def page(template: str, title: str, head: Record, **values: t.Any) -> str:
    """The text of a page. ``head`` is of :func:`verdict_of`; ``values`` are what the template names."""
    return _templates().get_template(f"{template}.html.j2").render(title=title, head=head, **values) + "\n"


def verdict_of(text: str, findings: t.Iterable[Record], facts: Facts, state: str = "") -> Record:
    """The head of a page: ``state`` (a style; by default the worst of the findings), ``verdict`` as a sentence, and the ``facts`` that are known."""
    found = {finding["severity"] for finding in findings}
    worst = next((severity for severity in ("error", "warning") if severity in found), "ok")
    return {"state": state or worst, "verdict": text[:1].upper() + text[1:], "facts": [row for row in facts if row[1]]}


def counted(findings: t.Iterable[Record], nothing: str = "no findings") -> str:
    """How many findings of each severity there are, as grouped: 1 error, 2 warnings."""
    severities = [group[0].severity for group in grouped(Finding.from_dict(finding) for finding in findings)]
    numbers = [(severities.count(name), name) for name in COUNTED]
    texts = [how_many(number, name) for number, name in numbers if number]
    texts += [f"{severities.count('accepted')} accepted"] if "accepted" in severities else []
    return ", ".join(texts) or nothing


def origin(run: Record | None) -> Facts:
    """Facts about the run that wrote the page: ``date``, ``inventory`` (a list of paths, of which the last two names are shown) and ``command``."""
    known = run or {}
    inventory = ", ".join("/".join(pathlib.PurePath(path).parts[-2:]) for path in known.get("inventory") or ())
    return [("Date", known.get("date", "")), ("Inventory", inventory), ("Command", known.get("command", ""))]


def findings_of(groups: t.Iterable[t.Sequence[Finding]]) -> dict[str, list[Record]]:
    """Groups of equal findings for the macro ``findings``: those that somebody has to mend are ``wanted``, errors first."""
    found: dict[str, list[Record]] = {"error": [], "warning": [], "others": []}
    for entry in entries(groups):
        found[entry["severity"] if entry["severity"] in found else "others"].append(entry)
    return {"wanted": found["error"] + found["warning"], "others": found["others"]}


def entries(groups: t.Iterable[t.Sequence[Finding]], every_place: bool = False) -> list[dict[str, t.Any]]:
    """Groups of equal findings for the macro ``article``, numbered; ``every_place``: all places in the heading, for paper."""
    return [_entry(number, group, every_place) for number, group in enumerate(groups, 1)]


def _entry(number: int, group: t.Sequence[Finding], every_place: bool) -> dict[str, t.Any]:
    first, several = group[0], len(group) > 1 and not every_place
    style = "warning" if first.severity == "unknown" else first.severity
    paths = ", ".join(dict.fromkeys(finding.path for finding in group))
    return {
        "number": number,
        "severity": first.severity,
        "style": style,
        "label": first.severity,
        "where": paths if every_place else places([Finding(**{**vars(finding), "value": ""}) for finding in group]),
        "problem": first.problem.rstrip("."),
        "value": first.value if len(group) == 1 and first.value not in first.problem else "",
        "why": first.why,
        "fix": first.fix if first.severity != "accepted" or first.fix.startswith(REASON) else "",
        "id": first.id,
        "count": len(group),
        "places": [(finding.path, finding.value) for finding in group[:PLACES_SHOWN]] if several else [],
    }


def markup(text: str) -> Markup:
    """A drawing of our own, such as an SVG element of a library: it is not escaped, so no text of others may be in it unescaped."""
    return Markup(text)  # noqa: S704 - the callers say what it is
