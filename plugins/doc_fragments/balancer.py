# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation that the modules of the balancer share."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  socket:
    description: Path of HAProxy's runtime socket, the plan's C(balancer.socket).
    type: path
    required: true
  state_file:
    description: File for the states and weights that HAProxy reads when it starts, the plan's C(balancer.state_file). None is written by default.
    type: path
    default: ""
  backend:
    description: Name of the routers' backend.
    type: str
    default: routers
"""
