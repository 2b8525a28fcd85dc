# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lookup plan: the plan of this run, or one host's part of it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: plan
short_description: Read the plan of this run, or one host's part of it
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Reads the plan that M(ascend.inference.plan) created earlier in the same run of C(ansible-playbook).
  - A host's part has the structure of the plan, with only the host's record and services. In addition it has C(stages), the stages of
    all hosts, and C(question), the option O(ascend.inference.service_status#module:planned) for this host.
options:
  _terms:
    description: Names of hosts. By default the whole plan is read, which takes longer in large deployments.
    type: list
    elements: str
  record:
    description: Whether to read what each host stores besides its part, which is the compressed plan in C(whole), and C(placement).
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show what runs on this host
  ansible.builtin.debug:
    msg: "{{ lookup('ascend.inference.plan', inventory_hostname).services | map(attribute='name') }}"
"""

RETURN = r"""
_raw:
  description: The plan, or the part of each given host.
  type: list
  elements: dict
"""

import typing as t

from ansible import constants
from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils.plan.handover import folder_of, take


class LookupModule(LookupBase):
    """Ansible's entry point."""

    def run(self, terms: list[str], variables: t.Any = None, **kwargs: t.Any) -> list[dict[str, t.Any]]:
        """One part for each name, or the whole plan without names."""
        self.set_options(var_options=variables, direct=kwargs)
        folder = folder_of(constants.DEFAULT_LOCAL_TMP)
        try:
            return [take(folder, str(host), self.get_option("record")) for host in terms or [""]]
        except FileNotFoundError as error:
            text = f"this run has no plan{' for ' + ', '.join(terms) if terms else ''}. Fix: import the playbook plan first."
            raise AnsibleLookupError(text) from error
