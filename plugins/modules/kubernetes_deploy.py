#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_deploy
short_description: Apply a plan to a Kubernetes cluster and wait until it serves
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Asks the server first whether the user may do what is needed. What is missing is reported at once, with a Role that is enough.
  - Checks the cluster and reports all findings at once. It is a finding if an object that the plan would write exists without
    the labels of the deployment, the Secret and the record of verified plans included.
  - Then submits all objects and a pod of each template as dry runs. Nothing is written before the server accepts all of them.
    Only a namespace that has to be created is created before, because a dry run needs it.
  - Applies all objects, waits for the engines and the router, and removes objects of the deployment that are no longer planned,
    except ConfigMaps that a running pod mounts.
  - Ends the wait at once if somebody removes the engines, or if another run gives them another plan. Then nothing is removed.
  - If an object cannot be applied, the objects applied before it get back their previous content.
  - A request that fails because the server is temporarily unavailable is repeated for a minute, or twice if the server has not answered before.
attributes:
  action:
    description: Has an action plugin, which shows the progress.
    support: full
  check_mode:
    support: full
    details: All requests are dry runs. The module does not wait.
  diff_mode:
    support: full
    details: Shows objects without their status. Secrets are not shown.
  idempotent:
    support: full
options:
  secrets:
    description: Values of the secrets that the plan refers to, by key, such as C(api_key).
    type: dict
    default: {}
  create_namespace:
    description: Create the namespace if it does not exist.
    type: bool
    default: false
  check_nodes:
    description: Refuse a plan whose pods fit on no node. Skipped if the nodes cannot be listed.
    type: bool
    default: true
  adopt:
    description: Take over existing objects with planned names that were not created by this collection.
    type: bool
    default: false
  timeout:
    description: Timeout for the engines to become ready, in seconds.
    type: int
    default: 1800
  router_timeout:
    description: Timeout for the router to become ready, in seconds.
    type: int
    default: 300
  stuck_timeout:
    description:
      - Seconds after which a pod of the plan that cannot pull its image, cannot be created, has crashed three times or is refused by the
        server ends the wait.
      - Twice as long for a controller that makes no pods of a role.
      - Five times as long for a pod that no node or scheduler takes, whose volumes or network are not ready, or whose node died before it could go.
    type: int
    default: 60
  pause:
    description:
      - Return with RV(waiting) after so many seconds of waiting for the engines.
      - With V(0) the task waits until the end, and prints once a minute what is missing.
    type: int
    default: 0
  allow_pause:
    description:
      - Allow what pauses the service. Without it other values of O(secrets) than those that pods run with, and O(restart) of a role that
        has one instance, are refused before anything is written.
    type: bool
    default: false
  restart:
    description:
      - Names of services whose pods are replaced though the plan is the same, one instance of a role after the other. Empty means all of them.
      - Instances of a role have one template, so the name of one replaces all.
      - The plan must be the one that was applied last.
    type: list
    elements: str
  waited:
    description: Seconds for which earlier runs with O(pause) have waited already. They count to O(timeout).
    type: int
    default: 0
  resume:
    description: RV(stuck) of a run that returned RV(waiting). Go on after it, without checks, and without applying the objects again.
    type: dict
seealso:
  - module: ascend.inference.kubernetes_info
  - module: ascend.inference.kubernetes_verified
  - module: ascend.inference.kubernetes_remove
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.kubernetes
  - ascend.inference.kubernetes.writer
"""

EXAMPLES = r"""
- name: Deploy the plan
  ascend.inference.kubernetes_deploy:
    plan: "{{ inference_plan }}"
    context: production
    secrets:
      api_key: "{{ vault_api_key }}"
"""

RETURN = r"""
created:
  description: Objects that were created.
  returned: always
  type: list
  elements: str
  sample: [ConfigMap/deepseek-pd-decode-0f3b3a11c2, ModelServing/deepseek-pd]
updated:
  description: Objects that were changed.
  returned: always
  type: list
  elements: str
  sample: []
removed:
  description: Objects of the deployment that were removed, as the plan no longer has them.
  returned: always
  type: list
  elements: str
  sample: []
progress:
  description: What was missing during the wait for the engines, each state once.
  returned: always
  type: list
  elements: str
  sample: ["decode: 1 pods of 2"]
stuck:
  description: Seconds for which pods have been in a state that waiting does not change. Pass it as O(resume) after RV(waiting).
  returned: always
  type: dict
  sample: {"deepseek-pd-0-decode-0-0: ImagePullBackOff": 20}
waiting:
  description: Whether O(pause) ended before the engines were ready.
  returned: success
  type: bool
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils.kubernetes.arguments import CONNECTION, WRITER, run
from ..module_utils.kubernetes.deploy import Deployment, Waiting
from ..module_utils.kubernetes.errors import KubernetesProblem

ARGUMENTS = dict(
    CONNECTION,
    secrets={"type": "dict", "default": {}, "no_log": True},
    create_namespace={"type": "bool", "default": False},
    check_nodes={"type": "bool", "default": True},
    adopt={"type": "bool", "default": False},
    timeout={"type": "int", "default": 1800},
    router_timeout={"type": "int", "default": 300},
    stuck_timeout={"type": "int", "default": 60},
    pause={"type": "int", "default": 0},
    resume={"type": "dict"},
    waited={"type": "int", "default": 0},
    allow_pause={"type": "bool", "default": False},
    restart={"type": "list", "elements": "str"},
    **WRITER,
)


def deployed(cluster, params):
    """The module's result."""
    work = Deployment(cluster, params["plan"], params, params["secrets"])
    try:
        work.run()
    except Waiting:
        return dict(work.result(), waiting=True)
    except KubernetesProblem as error:
        error.result = work.result()
        raise
    return dict(work.result(), waiting=False)


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    run(module, missing_required_lib("kubernetes"), lambda cluster: deployed(cluster, module.params))


if __name__ == "__main__":
    main()
