# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _lost: whether the first question to a host failed because the host does not answer in time."""

from __future__ import annotations

DOCUMENTATION = """
name: _lost
short_description: Tell whether a host did not answer in time
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.connection import hangs


def lost(result: t.Any) -> dict[str, t.Any]:
    """``{unreachable, msg}`` of a failed result, as later plays take it over."""
    message = str((plain(result) or {}).get("msg", ""))
    return {"unreachable": hangs(message), "msg": message}


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_lost": lost}
