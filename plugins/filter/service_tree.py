# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters service_folders and service_texts: services of a plan as options of the module service_files."""

from __future__ import annotations

DOCUMENTATION = """
name: _service_tree
short_description: Services of a plan as options of the module service_files
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.views.service_tree import files, folders


def service_folders(services: t.Any, plan: t.Any) -> list[dict[str, t.Any]]:
    """Adapter: services on the left, their plan as the argument."""
    return folders(plan, services)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_service_folders": service_folders, "_service_texts": files}
