# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the playbooks check, status, monitoring and usage: what hosts of the entry are asked, should tell and told, and what teams have used."""

from __future__ import annotations

DOCUMENTATION = """
name: _entry_told
short_description: What hosts of the entry tell, and what teams have used
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.entry.checked import entry_checked, entry_engine_keys, entry_questions, files_checked
from ..plugin_utils.entry.deployed import entry_alone
from ..plugin_utils.entry.status import entry_report, entry_watched
from ..plugin_utils.entry.told import entry_expected
from ..plugin_utils.entry.usage import usage
from .entry import adapter


def report_filter(states: t.Any, expected: t.Any) -> dict[str, t.Any]:
    """Adapter: answers by host on the left."""
    return entry_report(plain(states), plain(expected))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        functions = (entry_checked, entry_engine_keys, entry_expected, entry_questions, entry_watched, usage)
        adapted = {f"_{function.__name__}": adapter(function) for function in functions}
        own = {
            "_entry_alone": entry_alone,
            "_entry_report": report_filter,
            "_entry_files_checked": adapter(files_checked),
        }
        return {**own, **adapted}
