# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kthena_check: check a manifest without a server."""

from __future__ import annotations

DOCUMENTATION = """
name: kthena_check
short_description: Check manifests of Kthena and of related objects
version_added: 0.1.0
author: The ascend.inference contributors (@ascend-inference)
description:
  - Checks a manifest of kind C(ModelServing), C(ModelServer), C(ModelRoute), C(AutoscalingPolicy), C(Pod), C(ConfigMap), C(Service), C(Deployment),
    C(LeaderWorkerSet), C(NetworkPolicy), C(PodDisruptionBudget) or C(PodMonitor).
  - Covers names, all fields and their values, what the API server says of a pod, a Service and other objects beyond their schema, such as a probe
    with two handlers or a file mode of 777 in decimal, and rules of Kthena's webhooks.
  - Leaves to the server's dry run what exists in the cluster, quotas, volumes of other storage than claims and nodes, and the content of
    C(AutoscalingPolicy) and C(PodMonitor).
  - Contacts no server.
positional: version
options:
  _input:
    description: A manifest, or a list of manifests.
    type: raw
    required: true
  version:
    description: The version of Kthena in the cluster.
    type: str
    choices: [v0.4.0, v1.0.0, main]
    default: v1.0.0
"""

EXAMPLES = """
- name: Refuse what the cluster would refuse
  ansible.builtin.assert:
    that: findings | length == 0
    fail_msg: "{{ findings | map(attribute='text') | join('\\n') }}"
  vars:
    findings: "{{ lookup('ansible.builtin.file', 'serving.yaml') | from_yaml_all | list | ascend.inference.kthena_check('v1.0.0') }}"
"""

RETURN = """
_value:
  description: The findings, in a stable order; an empty list without findings.
  type: list
  elements: dict
  contains:
    id:
      description: The rule.
      type: str
      sample: POD-MODE
    path:
      description: The path in the manifest.
      type: str
      sample: ModelServing/demo.spec.replicas
    value:
      description: The value at this path.
      type: str
    problem:
      description: The problem.
      type: str
    why:
      description: What follows from it.
      type: str
    fix:
      description: How to fix it; empty where the problem says it.
      type: str
    severity:
      description: Always V(error).
      type: str
    source:
      description: What the rule is based on.
      type: str
    text:
      description: The finding as one line.
      type: str
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.runtimes.kubernetes.manifest.check import check_manifest


def kthena_check(manifests: t.Any, version: str = "v1.0.0") -> list[dict[str, str]]:
    """Adapter: one manifest or several, findings as plain data."""
    several = manifests if isinstance(manifests, (list, tuple)) else [manifests]
    found = [
        item for manifest in several if manifest is not None for item in check_manifest(plain(manifest), str(version))
    ]
    return [{**item.as_dict(), "text": item.text()} for item in found]


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"kthena_check": kthena_check}
