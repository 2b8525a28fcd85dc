# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the role tune and the playbook bench: settings of a host with their findings, and the state of all hosts."""

from __future__ import annotations

DOCUMENTATION = """
name: _tune
short_description: Settings of a host with their findings, and the state of all hosts
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.tuning_report import tune_settings, tune_states


def settings(plan: t.Any, host: t.Any, state: t.Any, npu: t.Any = None) -> dict[str, t.Any]:
    """Adapter: the plan on the left."""
    return tune_settings(plain(plan), str(host), plain(state), plain(npu or {}))


def states(plan: t.Any, found: t.Any, npus: t.Any) -> dict[str, t.Any]:
    """Adapter: the plan on the left."""
    return tune_states(plain(plan), plain(found), plain(npus))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_tune_settings": settings, "_tune_states": states}
