# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the role kthena, documented in one file each."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.loader import plain
from ..plugin_utils.runtimes.kubernetes.filters import FILTERS


def adapted(name: str, function: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
    """The function as a filter: converts input to plain data and errors to AnsibleFilterError."""

    def call(*arguments: t.Any) -> t.Any:
        try:
            return function(*(plain(argument) for argument in arguments))
        except (KeyError, TypeError, ValueError) as error:
            raise AnsibleFilterError(f"{name}: {error}") from error

    return call


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {name: adapted(name, FILTERS[name]) for name in FILTERS}
