# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _unusable: why values of the role service cannot be used."""

from __future__ import annotations

DOCUMENTATION = """
name: _unusable
short_description: Why values of the role service cannot be used
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.description.service_values import unusable


def of_values(values: t.Any) -> str:
    """Adapter: values by their names on the left."""
    return unusable(plain(values))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_unusable": of_values}
