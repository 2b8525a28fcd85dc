# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _locked_by: the refusals of a deployment that another run changes."""

from __future__ import annotations

DOCUMENTATION = """
name: _locked_by
short_description: Refuse a deployment that another run changes
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible import constants

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle.run import refusals, this_run


def locked_by(hostvars: t.Any, hosts: t.Iterable[str], directory: t.Any, broken: t.Any = "") -> list[str]:
    """Adapter: ``hostvars`` on the left; what hosts printed in playbooks/shared/places.yml. ``broken``: id of a run whose lock is taken over."""
    found = {str(host): plain(hostvars[host].get("__inference_placement")) or {} for host in hosts if host in hostvars}
    printed = {host: str(result.get("stdout", "")) for host, result in found.items()}
    return refusals(printed, str(directory), this_run(constants.DEFAULT_LOCAL_TMP), str(broken))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_locked_by": locked_by}
