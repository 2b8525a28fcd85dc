# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _image_differences: images that have one name and are not the same on all hosts."""

from __future__ import annotations

DOCUMENTATION = """
name: _image_differences
short_description: Images that have one name and are not the same on all hosts
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.images import image_differences


def differences(inspected: t.Any) -> list[str]:
    """Adapter: registered results by host on the left."""
    return image_differences(plain(inspected))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_image_differences": differences}
