# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lookup recipes: the documented deployments whose settings the collection has."""

from __future__ import annotations

DOCUMENTATION = r"""
name: recipes
short_description: List the recipes of documented deployments
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Lists the names that C(inference_recipe) takes, each with its pools, hardware, release and source, as lines for people.
options:
  _terms:
    description: Not used.
    type: list
    elements: str
  fit:
    description: List the recipes that fit the hosts of the inventory, and why the others do not. No host is contacted.
    type: bool
    default: false
  name:
    description: The name of a recipe. Its variables are listed, as YAML for an inventory, and nothing else.
    type: str
    default: ""
    version_added: 0.1.0
  facts:
    description: A file that the playbook C(check) wrote (C(inference_check_json)), which has the number and memory of the hosts' NPUs.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: List the recipes
  ansible.builtin.debug:
    msg: "{{ query('ascend.inference.recipes') }}"

- name: List the recipes that fit the inventory
  ansible.builtin.debug:
    msg: "{{ query('ascend.inference.recipes', fit=true) }}"

- name: Write the variables of a recipe, to change them
  ansible.builtin.copy:
    content: "{{ query('ascend.inference.recipes', name='qwen3-235b-w8a8-a3') | join('\n') }}\n"
    dest: group_vars/all/recipe.yml
    mode: "0644"
  delegate_to: localhost
"""

RETURN = r"""
_raw:
  description: Lines of text.
  type: list
  elements: str
"""

import typing as t

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils.description.findings import PlanError, SettingsError
from ..plugin_utils.recipes.apply import unknown
from ..plugin_utils.recipes.catalogue import RECIPES
from ..plugin_utils.recipes.shelf import recipe_lines, yaml_lines
from ..plugin_utils.views.recipe_fit import fit_lines, racks


class LookupModule(LookupBase):
    """Ansible's entry point."""

    def run(self, terms: list[str], variables: t.Any = None, **kwargs: t.Any) -> list[str]:
        """The lines."""
        self.set_options(var_options=variables, direct=kwargs)
        name = self.get_option("name")
        if name and name not in RECIPES:
            raise AnsibleLookupError(str(SettingsError([unknown(name)])))
        if name:
            return yaml_lines(name, RECIPES[name])
        if not self.get_option("fit"):
            return recipe_lines()
        try:
            return fit_lines(racks(variables["groups"], variables["hostvars"], self.get_option("facts")))
        except PlanError as error:
            raise AnsibleLookupError(str(error)) from error
