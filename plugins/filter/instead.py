# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _instead: why a playbook is refused with a runtime, and what to use instead."""

from __future__ import annotations

DOCUMENTATION = """
name: _instead
short_description: Tell why a playbook has nothing to do with a runtime
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.runtimes.playbooks import instead


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_instead": instead}
