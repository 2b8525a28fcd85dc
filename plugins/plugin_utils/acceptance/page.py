# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a handover as one self-contained HTML page, to print and to sign."""

from __future__ import annotations

import typing as t

from ..bench.text import load_rows
from ..pages.render import entries, origin, page, verdict_of
from .report import NOT, PASSED
from .text import MEANINGS, facts, groups, stage_rows, version_rows

Record = t.Mapping[str, t.Any]


def acceptance_page(report: Record, inventory: t.Sequence[str] = ()) -> str:
    """The page's text: the deviations come first, with all their places. ``inventory``: paths; the report, which others get, does not have them."""
    state = {PASSED: "ok", NOT: "error"}.get(report["verdict"], "warning")
    found = entries(groups(report), every_place=True)
    return page(
        "acceptance",
        f"Acceptance of {report['deployment']}",
        verdict_of(report["verdict"], [], [*facts(report), *origin({"inventory": inventory})], state),
        deviations=[{**entry, "label": MEANINGS[entry["severity"]]} for entry in found],
        number=len(report["deviations"]),
        stages=stage_rows(report),
        figures=report["figures"],
        loads=load_rows(report["bench"]) if report["bench"] else [],
        versions=version_rows(report),
    )
