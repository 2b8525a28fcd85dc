# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _round_plan: the mixed plan of a round."""

from __future__ import annotations

DOCUMENTATION = """
name: _rounds
short_description: The mixed plan of a round
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle import halves
from ..plugin_utils.plan.handover import part_of
from ..plugin_utils.plan.record import whole_plan


def round_plan(given: t.Any, previous: t.Any, plan: t.Any, host: t.Any) -> dict[str, t.Any]:
    """Adapter: a round on the left; the previous plan as a host stores it; the part of one host out."""
    found = plain(given)
    old = whole_plan(plain(previous))
    return part_of(halves.mixed(old, plain(plan), found["revisions"], found["target"]), str(host))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filter of this file."""
        return {"_round_plan": round_plan}
