# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the playbook acceptance: what its archive has besides the report."""

from __future__ import annotations

DOCUMENTATION = """
name: _acceptance_archive
short_description: What the archive of the playbook acceptance has besides the report
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.acceptance.declaration import declaration, records


class FilterModule:
    """Filters for Ansible."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_acceptance_inventory": declaration, "_acceptance_records": records}
