#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_remove
short_description: Remove a deployment from a Kubernetes cluster
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Removes only objects with the labels of the deployment.
  - Routes, router and engines go first. ConfigMaps and Secrets follow when the pods that read them are gone.
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: Secrets are not shown.
  idempotent:
    support: full
options:
  timeout:
    description: Timeout for the pods to terminate, in seconds.
    type: int
    default: 1800
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.kubernetes
"""

EXAMPLES = r"""
- name: Remove the deployment
  ascend.inference.kubernetes_remove:
    plan: "{{ inference_plan }}"
"""

RETURN = r"""
removed:
  description: Objects that were removed, also by a run that then fails.
  returned: always
  type: list
  elements: str
  sample: [ModelServing/deepseek-pd, ConfigMap/deepseek-pd-cm]
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils.kubernetes.arguments import CONNECTION, run
from ..module_utils.kubernetes.changes import Changes
from ..module_utils.kubernetes.errors import KubernetesProblem
from ..module_utils.kubernetes.remove import remove

ARGUMENTS = dict(CONNECTION, timeout={"type": "int", "default": 1800})


def removed(cluster, params):
    """The module's result; also of a removal that fails halfway."""
    changes, keys = Changes(), ("changed", "removed", "diff")
    try:
        remove(cluster, params["plan"], params["timeout"], changes)
    except KubernetesProblem as error:
        error.result = {key: changes.result()[key] for key in keys}
        raise
    return {key: changes.result()[key] for key in keys}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    run(module, missing_required_lib("kubernetes"), lambda cluster: removed(cluster, module.params))


if __name__ == "__main__":
    main()
