# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to be said of every private filter; the functions behind it say what they take and return."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
options:
  _input:
    description: What a playbook of this collection gives it.
    type: raw
    required: true
"""
