# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of a deployment as one self-contained HTML page: what is wrong, the picture with the states, then a row for each service."""

from __future__ import annotations

import typing as t

from ..pages.render import Facts, origin, page, verdict_of
from .picture import picture, state_style
from .status_table import cluster_text, finding_texts, running_text, state_text, status_rows

Record = t.Mapping[str, t.Any]


def status_page(report: Record, planned: Record | None, run: t.Mapping[str, str] | None = None) -> str:
    """The page's text. ``report`` is of ``status_report``, ``planned`` the inventory's plan, which is drawn; ``run``: ``date`` and ``inventory``."""
    wrong, warned = finding_texts(report), [*report["notices"], *report["advisories"]]
    services = {row["service"]: state_text(row) for row in report["services"]}
    digests = sorted({row["plan_digest"] for row in report["hosts"].values() if row["plan_digest"]})
    facts: Facts = [("Cluster", cluster_text(report["hosts"])), ("Deployed plan", ", ".join(digests))]
    if planned:
        facts = [
            ("Model", planned["model"]["name"]),
            ("Release", planned["release"]),
            *facts,
            ("Inventory's plan", planned["digest"]),
        ]
    healthy = "ok" if not warned else "warning"
    return page(
        "status",
        f"Status of {report['deployment']}",
        verdict_of(running_text(report), [], [*facts, *origin(run)], healthy if report["healthy"] else "error"),
        texts=[("Findings", wrong), ("Notices", report["notices"]), ("Security advisories", report["advisories"])],
        picture=picture(planned, services) if planned else None,
        services=status_rows(report["services"]),
        states={text: state_style(text) for text in services.values()},
        logs=[(row["service"], row["log"]) for row in report["services"] if row["log"]],
    )
