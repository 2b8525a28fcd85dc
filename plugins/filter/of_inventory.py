# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _of_inventory: a value that names something on the controller, unless the host has answered it."""

from __future__ import annotations

DOCUMENTATION = """
name: _of_inventory
short_description: Refuse a value that a host has answered
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
  - For variables of a host that name something on the controller, such as the folder from which a model is copied. With
    C(inject_facts_as_vars), which is Ansible's default, a fact of the host replaces such a variable.
positional: facts, name, folder
options:
  _input:
    description: The value of the variable.
    type: raw
    required: true
  facts:
    description: C(ansible_facts) of the host.
    type: dict
    required: true
  name:
    description: The variable's name.
    type: str
    required: true
  folder:
    description: The host's C(inventory_dir), in which relative paths begin. Without it the value stays as it is.
    type: str
"""

EXAMPLES = """
src: "{{ model_origin | ascend.inference._of_inventory(ansible_facts, 'model_origin') }}"
"""

RETURN = """
_value:
  description: The same value, or with O(folder) its paths.
  type: raw
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.hosts.answered import of_inventory


def of_inventory_filter(value: t.Any, facts: t.Any, name: str, folder: str | None = None) -> t.Any:
    """Adapter: a refusal is an error of the filter."""
    try:
        return of_inventory(value, facts, name, folder)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_of_inventory": of_inventory_filter}
