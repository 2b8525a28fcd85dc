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
"""

EXAMPLES = r"""
- name: List the recipes
  ansible.builtin.debug:
    msg: "{{ query('ascend.inference.recipes') }}"
"""

RETURN = r"""
_raw:
  description: Lines of text.
  type: list
  elements: str
"""

import typing as t

from ansible.plugins.lookup import LookupBase

from ..plugin_utils.recipes.apply import recipe_lines


class LookupModule(LookupBase):
    """Ansible's entry point."""

    def run(self, terms: list[str], variables: t.Any = None, **kwargs: t.Any) -> list[str]:
        """The lines."""
        return recipe_lines()
