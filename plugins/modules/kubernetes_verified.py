#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_verified
short_description: Record the plan that a Kubernetes cluster was verified with, or read the one to roll back to
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Keeps the last verified plan and its predecessor in the ConfigMap C(DEPLOYMENT-verified).
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: The record holds two whole plans.
  idempotent:
    support: full
options:
  state:
    description:
      - V(recorded) records O(plan). It has to be the one that was applied last.
      - V(read) changes nothing and returns RV(previous_plan).
    type: str
    choices: [recorded, read]
    default: recorded
  directory:
    description:
      - A folder of the machine where this runs, in which it keeps the digests of the plans that it has recorded.
      - V(read) refuses a plan of the cluster that this machine has not recorded. If it has recorded none of the deployment, V(read) warns, and
        refuses a plan whose entry, router or secrets are not those of O(plan).
    type: path
    required: true
  adopt:
    description: Take over a ConfigMap of this name that was not created by this collection.
    type: bool
    default: false
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.kubernetes
  - ascend.inference.kubernetes.writer
"""

EXAMPLES = r"""
- name: Record the verified plan
  ascend.inference.kubernetes_verified:
    plan: "{{ inference_plan }}"
    directory: ~/.ansible/ascend-inference-verified

- name: Read the plan to roll back to
  ascend.inference.kubernetes_verified:
    plan: "{{ inference_plan }}"
    state: read
    directory: ~/.ansible/ascend-inference-verified
  register: record
"""

RETURN = r"""
previous_plan:
  description: The last verified plan that is not the one that was applied last.
  returned: when O(state=read)
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils.kubernetes.arguments import CONNECTION, WRITER, run
from ..module_utils.kubernetes.verified import (
    known_digests,
    note_digest,
    proven,
    read,
    refuse_other,
    rollback_plan,
    write,
)

ARGUMENTS = dict(
    CONNECTION,
    state={"type": "str", "default": "recorded", "choices": ["recorded", "read"]},
    directory={"type": "path", "required": True},
    adopt={"type": "bool", "default": False},
    **WRITER,
)


def handled(cluster, params):
    """The module's result."""
    if params["state"] == "read":
        restored = rollback_plan(*read(cluster, params["plan"]))
        refuse_other(params["plan"], restored)
        warning = proven(params["plan"], restored, known_digests(params["directory"], params["plan"]))
        return {"changed": False, "previous_plan": restored, "warnings": [warning] if warning else []}
    if (
        not cluster.check
    ):  # before the record: a digest too many proves nothing wrong, and one that is missing prevents a rollback
        note_digest(params["directory"], params["plan"])
    return {"changed": write(cluster, params["plan"], params["adopt"])}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    run(module, missing_required_lib("kubernetes"), lambda cluster: handled(cluster, module.params))


if __name__ == "__main__":
    main()
