# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter pages_index: the page that links a deployment's other pages."""

from __future__ import annotations

DOCUMENTATION = """
name: _pages_index
short_description: Link the pages of a deployment
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.pages.index import pages_index


def index_filter(pages: t.Any, deployment: t.Any) -> str:
    """Adapter: the pages on the left, the text of the index out."""
    return pages_index(str(deployment), plain(pages)["names"])


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_pages_index": index_filter}
