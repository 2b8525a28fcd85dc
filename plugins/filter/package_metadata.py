# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter package_metadata: the requirements of packages that hosts build."""

from __future__ import annotations

DOCUMENTATION = """
name: _package_metadata
short_description: List the requirements of packages that hosts build
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.releases.package_indexes import metadata


def metadata_filter(release: t.Any, vllm: t.Any, built: t.Any = False) -> dict[str, list[str]]:
    """Requirements by package and version."""
    return metadata(str(vllm), str(release), bool(built))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_package_metadata": metadata_filter}
