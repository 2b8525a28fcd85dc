# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _leaving_engines: engines that are deployed and no longer planned."""

from __future__ import annotations

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle.steps import leaving_engines
from ..plugin_utils.plan.record import stored_plan, whole_plan


def leaving_engines_filter(text: t.Any, plan: t.Any) -> list[dict[str, t.Any]]:
    """Adapter: the recorded plan.json on the left, empty without one."""
    return [dict(engine) for engine in leaving_engines(whole_plan(plain(plan)), stored_plan(str(text or "")))]


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_leaving_engines": leaving_engines_filter}
