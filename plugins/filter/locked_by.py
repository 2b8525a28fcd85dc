# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _locked_by: the refusals of a deployment that another run changes."""

from __future__ import annotations

DOCUMENTATION = """
name: _locked_by
short_description: Refuse a deployment that another run changes
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
  - Says of each lock of another run who holds it, since when, and what to do.
positional: hosts, directory, broken
options:
  _input:
    description: The variable C(hostvars), with what hosts printed of their locks.
    type: dict
    required: true
  hosts:
    description: Names of the hosts that were asked.
    type: list
    elements: str
    required: true
  directory:
    description: The deployment's folder on the hosts.
    type: path
    required: true
  broken:
    description: Identifier of a run whose lock is taken over.
    type: str
    default: ""
"""

EXAMPLES = """
refusals: "{{ hostvars | ascend.inference._locked_by(__inference_asked, __inference_folder, inference_break_lock | default('')) }}"
"""

RETURN = """
_value:
  description: The refusals, as sentences.
  type: list
  elements: str
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
