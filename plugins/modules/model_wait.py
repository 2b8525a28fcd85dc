#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_wait
short_description: Wait until a model is delivered, and show how far it is
version_added: 0.1.0
description:
  - Prints files, bytes, rate and remaining time until the process of M(ascend.inference.model_delivery) on the host has ended.
options:
  path:
    description: Folder of the model.
    type: path
    required: true
  run:
    description: The name that M(ascend.inference.model_delivery) got.
    type: str
    required: true
  timeout:
    description: Most seconds to wait.
    type: int
    default: 86400
  start_timeout:
    description: Most seconds until the delivery begins.
    type: int
    default: 60
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
  - ascend.inference.attributes.with_action
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.model_delivery
"""

EXAMPLES = r"""
- name: Wait for the model
  ascend.inference.model_wait:
    path: /models/Qwen3-30B-A3B
    run: "{{ run }}"
"""

RETURN = r"""
progress:
  description: As M(ascend.inference.model_delivery_info) returned it at last.
  returned: success
  type: dict
late:
  description: Why nobody waited any longer for a delivery that was still at work.
  returned: when it did not end in time, or nearly nothing came
  type: str
"""
