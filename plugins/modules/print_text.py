# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: print_text
short_description: Print text unchanged
version_added: 0.1.0
description:
  - Prints text on the controller, line by line, without quotes or indentation, so that it can be copied and piped.
  - M(ansible.builtin.debug) shows a text of several lines as one JSON string.
author:
  - The ascend.inference contributors (@ascend-inference)
extends_documentation_fragment:
  - ascend.inference.attributes.controller_action
options:
  text:
    description: The text to print.
    type: str
    required: true
seealso:
  - module: ansible.builtin.debug
"""

EXAMPLES = r"""
- name: Print the manifests of a plan
  ascend.inference.print_text:
    text: "{{ inference_plan | ascend.inference.kthena_manifests }}"
"""

RETURN = r""" # """
