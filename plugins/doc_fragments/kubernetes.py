# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules for Kubernetes have in common."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  plan:
    description: A plan whose runtime is C(kubernetes), as the filter P(ascend.inference.launch_plan#filter) makes it.
    type: dict
    required: true
  kubeconfig:
    description:
      - Path of the kubeconfig. Without it E(KUBECONFIG) or C(~/.kube/config) is used, or in a pod its service account.
    type: path
  context:
    description: Context in the kubeconfig. Without it the current one is used.
    type: str
  poll:
    description: Polling interval, and delay before a failed request is repeated, in seconds.
    type: int
    default: 5
requirements:
  - kubernetes >= 24.2 (Python library)
"""

    WRITER = r"""
options:
  force_conflicts:
    description: Take over fields that another manager owns.
    type: bool
    default: false
"""
