# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters cann_packages, missing_cann_packages: the names of CANN's package files."""

from __future__ import annotations

DOCUMENTATION = """
name: _cann_packages
short_description: The names of CANN's package files
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.releases.cann import cann_packages, missing_packages


def packages_filter(version: t.Any, hardware: t.Any, arch: t.Any) -> list[str]:
    """File names in the order of installation."""
    try:
        return cann_packages(str(version), str(hardware), str(arch))
    except ValueError as error:
        raise AnsibleFilterError(f"cann_packages: {error}") from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_cann_packages": packages_filter, "_missing_cann_packages": missing_packages}
