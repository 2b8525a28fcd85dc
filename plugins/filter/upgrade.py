# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private filters of the playbook upgrade."""

from __future__ import annotations

DOCUMENTATION = """
name: _upgrade
short_description: The outcome of the playbook upgrade
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle import outcome


def adapted(function: t.Callable[..., t.Any], fact: str) -> t.Callable[..., t.Any]:
    """The function as a filter of ``hostvars``: its first argument becomes {host: the fact ``fact`` of that host, or {}}."""

    def call(hostvars: t.Any, hosts: t.Iterable[str], *arguments: t.Any) -> t.Any:
        found = {host: plain(hostvars[host].get(fact)) or {} for host in hosts}
        return wrap_var(function(found, *map(plain, arguments)))  # texts of hosts are no templates

    return call


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file; a leading underscore marks them as private."""
        return {
            "_upgrade_lagging": adapted(outcome.lagging, "__inference_upgrade"),
            "_upgrade_outcome": adapted(outcome.outcome, "__inference_upgrade"),
            "_upgrade_went_back": lambda *given: wrap_var(outcome.went_back(*map(plain, given))),
        }
