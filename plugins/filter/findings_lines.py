# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter findings_lines: findings as numbered lines of text."""

from __future__ import annotations

DOCUMENTATION = """
name: _findings_lines
short_description: Return findings as numbered lines
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.findings import Finding, finding_lines
from ..plugin_utils.description.loader import plain


def findings_lines(findings: t.Any) -> list[str]:
    """Findings (dicts) as numbered lines; equal ones are grouped."""
    return finding_lines([Finding.from_dict(finding) for finding in plain(findings)])


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_findings_lines": findings_lines}
