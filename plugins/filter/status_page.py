# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter status_page: the status of services as one HTML page."""

from __future__ import annotations

DOCUMENTATION = """
name: _status_page
short_description: Draw a status report as one HTML page
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.views.status_page import status_page


def page_filter(report: t.Any, planned: t.Any = None, run: t.Any = None) -> str:
    """Adapter: a report in, the text of the page out."""
    return status_page(plain(report), plain(planned) or None, plain(run or {}))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_status_page": page_filter}
