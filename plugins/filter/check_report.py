# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters check_report and check_text: the findings of a check as an HTML page and as text."""

from __future__ import annotations

DOCUMENTATION = """
name: _check_report
short_description: The findings of a check as an HTML page and as text
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.readable import judged
from ..plugin_utils.hosts.report_page import check_report
from ..plugin_utils.hosts.report_text import check_text


def report_filter(plan: t.Any, facts: t.Any, findings: t.Any, options: t.Any = None, run: t.Any = None) -> str:
    """The page's text."""
    planned, found, chosen, about = plain(plan), plain(findings), plain(options or {}), plain(run or {})
    return judged(lambda known: check_report(planned, known, found, chosen, about), plain(facts))


def text_filter(plan: t.Any, facts: t.Any, findings: t.Any, options: t.Any = None) -> str:
    """The text for a terminal."""
    planned, found, chosen = plain(plan), plain(findings), plain(options or {})
    return judged(lambda known: check_text(planned, known, found, chosen), plain(facts))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_check_report": report_filter, "_check_text": text_filter}
