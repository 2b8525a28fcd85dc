# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter plan_page: a plan as one HTML page."""

from __future__ import annotations

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.views.plan_page import plan_page


def plan_page_filter(plan: t.Any, run: t.Any = None) -> str:
    """Adapter: a plan in, the text of the page out."""
    return plan_page(plain(plan), plain(run or {}))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"plan_page": plan_page_filter}
