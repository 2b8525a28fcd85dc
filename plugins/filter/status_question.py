# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter status_question: what a host has to be asked about its services."""

from __future__ import annotations

import typing as t

from ..module_utils.status.plan import status_plan
from ..plugin_utils.description.loader import plain


def status_question(plan: t.Any, host: t.Any) -> dict[str, t.Any]:
    """Adapter: a plan on the left, a host's name as the argument."""
    return status_plan(plain(plan), str(host))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_status_question": status_question}
