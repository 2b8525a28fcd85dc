# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters _visible and _one_line: text of another program, for a message or for a part of a line."""

from __future__ import annotations

DOCUMENTATION = """
name: _visible
short_description: Show control characters as escapes
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.utils.unsafe_proxy import wrap_var

from ..module_utils.tools.text import one_line, visible


def visible_filter(text: t.Any) -> str:
    """Adapter: anything that has a text, which is a host's and so no template (ansible-core before 2.19 would take it for one)."""
    return t.cast(str, wrap_var(visible(str(text))))


def one_line_filter(text: t.Any) -> str:
    """As ``visible_filter``, and line ends are escapes, too."""
    return t.cast(str, wrap_var(one_line(str(text))))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_one_line": one_line_filter, "_visible": visible_filter}
