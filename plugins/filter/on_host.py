# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter on_host: the services of a plan that run on one host."""

from __future__ import annotations

import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils._planner import on_host


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"on_host": on_host}
