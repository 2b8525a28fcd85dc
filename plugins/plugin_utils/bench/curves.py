# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Curves and bars as inline SVG, drawn by the library pygal on the controller. No script, no font and no picture is loaded."""

from __future__ import annotations

import importlib
import re
import typing as t
from importlib.util import find_spec

# Names a curve and its values; None: not measured. Colours differ in lightness too, for readers who do not tell hues apart.
Curve = tuple[str, t.Sequence[float | None]]
COLORS = ("#1f6fb2", "#c77c11", "#2e9e5b", "#8a5cc7", "#5f6b76", "#0e8a94", "#a3387c")
EARLIER = ("#7fb2de", "#e2b36a", "#86cda3", "#b9a3de", "#a3adb6", "#6fc4ca", "#d58ebb")  # the same hues, lighter
LIMIT_COLOR = "#c2332b"
MISSING = (  # what is wrong, and the fix
    "the Python library pygal is not installed on the controller, so no curve can be drawn",
    "Run pip install pygal in the Python environment of ansible-playbook, or leave the variable out.",
)


class LibraryMissing(Exception):
    """pygal is not installed; the text says how to get it."""


def pygal_missing() -> bool:
    """Whether no curve can be drawn. The text and JSON of a report need none."""
    return find_spec("pygal") is None


def require_library() -> None:
    """Raises LibraryMissing."""
    if pygal_missing():
        raise LibraryMissing(f"inference_bench_html is set, and {MISSING[0]}. Fix: {MISSING[1]}")


def lines(
    title: str,
    axis: str,
    loads: t.Sequence[str],
    curves: t.Sequence[Curve],
    limit: float = 0,
    before: t.Sequence[Curve] = (),
    rates: bool = False,
) -> str:
    """An SVG element: one curve for each name over the loads, and a dashed line at the limit if it is not 0. Raises LibraryMissing.

    ``before``: dotted curves of an earlier report, in lighter colours of those of now with the same name.
    """
    names = [name for name, _values in curves]
    lighter = dict(zip(names, EARLIER, strict=False))
    shown = (*COLORS[: len(names)], *(lighter[name] for name, _values in before), LIMIT_COLOR)
    chart = _chart(
        "Line",
        title,
        shown,
        loads,
        x_title="requests that arrive in a second" if rates else "concurrent requests",
        y_title=axis,
    )
    for name, values in curves:
        chart.add(name, list(values), dots_size=4)
    for name, values in before:
        chart.add(f"{name} before", list(values), dots_size=3, stroke_style={"width": 2, "dasharray": "2, 4"})
    if limit:
        dashed = {"width": 2, "dasharray": "6, 4"}
        chart.add("limit", [limit] * len(loads), show_dots=False, stroke_style=dashed)
    return _svg(chart)


def bars(title: str, axis: str, names: t.Sequence[str], parts: t.Sequence[Curve]) -> str:
    """An SVG element: one horizontal bar for each name, made of the parts. Raises LibraryMissing."""
    chart = _chart(
        "HorizontalStackedBar", title, COLORS, names, x_title=axis, height=150 + 34 * len(names) + 20 * len(parts)
    )
    for name, values in parts:
        chart.add(name, list(values))
    return _svg(chart)


def _chart(kind: str, title: str, colors: t.Sequence[str], labels: t.Sequence[str], **options: t.Any) -> t.Any:
    require_library()
    # Not at the top: each run of ansible-playbook loads all filters, and a sixth of that time was this library's.
    pygal = importlib.import_module("pygal")
    style = pygal.style.Style(
        background="transparent",
        plot_background="transparent",
        colors=colors,
        font_family="system-ui, sans-serif",
        # The page has a light and a dark scheme; its variables hold the colours of both.
        foreground="var(--text)",
        foreground_strong="var(--text)",
        foreground_subtle="var(--line)",
        guide_stroke_color="var(--line)",
        major_guide_stroke_color="var(--line)",
        title_font_size=17,
        label_font_size=14,
        major_label_font_size=14,
        legend_font_size=14,
    )
    shape = {
        "width": 460,  # drawn this wide on a phone, too, where its words have to stay readable
        "height": 320,
        "include_x_axis": True,
        "legend_at_bottom": True,
        "legend_at_bottom_columns": 1,  # two names of curves are wider than a phone
        "truncate_legend": -1,
        "max_scale": 8,
    }
    given = {**shape, "title": title, "style": style, "x_labels": list(labels), **options}
    return getattr(pygal, kind)(js=[], disable_xml_declaration=True, **given)


def _svg(chart: t.Any) -> str:
    # The library adds its name as comments, and a script for tooltips, which a page that is passed on should not have.
    return re.sub(r"<!--.*?-->|<script.*?</script>", "", str(chart.render(is_unicode=True)), flags=re.DOTALL)
