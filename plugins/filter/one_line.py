# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _one_line: text of another program, for a part of a line."""

from __future__ import annotations

DOCUMENTATION = """
name: _one_line
short_description: Show line ends and control characters as escapes
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.utils.unsafe_proxy import wrap_var

from ..module_utils.tools.text import one_line


def one_line_filter(text: t.Any) -> str:
    """Adapter: anything that has a text, which is a host's and so no template, as with ``_visible``."""
    return t.cast(str, wrap_var(one_line(str(text))))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_one_line": one_line_filter}
