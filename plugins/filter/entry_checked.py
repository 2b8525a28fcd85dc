# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the playbook check: what hosts of the entry are asked, and what of it would not work."""

from __future__ import annotations

DOCUMENTATION = """
name: _entry_checked
short_description: What of an entry would not work
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.entry.checked import entry_checked, files_checked
from ..plugin_utils.entry.questions import entry_engine_keys, entry_questions
from .entry import adapter


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        functions = (entry_checked, entry_engine_keys, entry_questions)
        return {
            "_entry_files_checked": adapter(files_checked),
            **{f"_{function.__name__}": adapter(function) for function in functions},
        }
