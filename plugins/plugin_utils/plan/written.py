# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The value of a finding is the one that the user wrote there, whatever a rule has computed from it."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils.tools.finding import Finding, shown

HIDDEN = "(hidden)"
Variables = t.Mapping[str, t.Any]


def as_written(
    findings: t.Iterable[Finding], variables: Variables, inventory: t.Mapping[str, t.Mapping[str, t.Any]]
) -> list[Finding]:
    """The findings, each with the text of the variable at its place. Without one, for secrets, lists and mappings they stay as they are."""
    return [_as_written(finding, variables, inventory) for finding in findings]


def _as_written(finding: Finding, variables: Variables, inventory: t.Mapping[str, t.Mapping[str, t.Any]]) -> Finding:
    host, _dot, rest = finding.path.partition(".")
    found: t.Any = inventory[host].get("variables", {}) if host in inventory else variables
    for key in (rest if host in inventory else finding.path).split("."):
        found = found.get(key) if isinstance(found, t.Mapping) else None
    # A place in kv-transfer-config may be that of the outer connector, and the value that of one inside.
    secret, inner = finding.path.startswith("inference_secrets"), "kv-transfer-config." in finding.path
    scalar = isinstance(found, (str, int, float)) and finding.value.lower() not in ("", HIDDEN, str(found).lower())
    known = scalar and finding.value != repr(found) and not secret and not inner
    return dataclasses.replace(finding, value=shown(found)) if known else finding
