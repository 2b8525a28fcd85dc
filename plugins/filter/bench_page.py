# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _bench_page: a report of the playbooks bench and trace as one HTML page."""

from __future__ import annotations

DOCUMENTATION = """
name: _bench_page
short_description: Show the report of a benchmark as an HTML page
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.trace.text import page_of


def page_filter(report: t.Any, run: t.Any = None) -> str:
    """Adapter: the report of the filter _bench_report on the left."""
    return page_of(plain(report), plain(run or {}))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_bench_page": page_filter}
