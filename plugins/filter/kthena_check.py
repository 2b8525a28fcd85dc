# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kthena_check: what is wrong with a manifest, before any server sees it."""

from __future__ import annotations

DOCUMENTATION = """
name: kthena_check
short_description: Judges manifests of Kthena and of the objects that go with them
version_added: 0.1.0
author: The ascend.inference contributors (@ascend-inference)
description:
  - Judges a manifest of kind C(ModelServing), C(ModelServer), C(ModelRoute), C(Pod), C(ConfigMap), C(Service) or C(Deployment).
  - Knows the structural schema of Kthena's CRDs, their CEL rules, the rules of Kthena's webhooks, and what server and
    webhooks accept in a role's template although its pods can never be created, such as a file mode of 777 in decimal.
  - Asks no server.
positional: version
options:
  _input:
    description: A manifest, or a list of manifests.
    type: raw
    required: true
  version:
    description: The version of Kthena that the cluster runs.
    type: str
    choices: [v0.4.0, v1.0.0]
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
  description: The findings, in a stable order; an empty list if there is nothing to say.
  type: list
  elements: dict
  contains:
    id:
      description: The rule.
      type: str
      sample: POD-MODE
    path:
      description: The place in the manifest.
      type: str
      sample: ModelServing/demo.spec.replicas
    value:
      description: What stands there.
      type: str
    problem:
      description: What is wrong.
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
      description: Where the rule comes from.
      type: str
    text:
      description: All of it in one line.
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
