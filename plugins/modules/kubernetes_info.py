#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_info
short_description: Read what a Kubernetes cluster has of a planned deployment
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Reads namespace, nodes, Kthena's CRDs, the deployment's objects, pods and warnings in one call.
  - Reports what the user has no permission to read as unknown, in RV(hidden).
options:
  require_pods:
    description: Fail if there are no pods of the deployment. In check mode they may be missing.
    type: bool
    default: false
  query_services:
    description: Also return the state of each service, with its version and counters. Engines and router are asked from this machine.
    type: bool
    default: false
  logs_since:
    description:
      - Also return what the logs of the pods of this revision have since this time of this machine, RV(ascend.inference.service_log#module:time).
    type: float
  brief:
    description: Return only RV(resolved_plan), RV(pods) and, with O(logs_since), RV(logs). It takes few requests.
    type: bool
    default: false
  support:
    description: Return only RV(support), the logs of all pods of the deployment for a support case, as M(ascend.inference.support_logs) does.
    type: dict
    suboptions:
      minutes:
        description: How far the logs go back.
        type: int
        default: 30
      mib:
        description: Most MiB of all logs together.
        type: int
        default: 64
      secrets:
        description: Values that are left out wherever they occur.
        type: list
        elements: str
        default: []
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
  - ascend.inference.kubernetes
"""

EXAMPLES = r"""
- name: Read the deployment
  ascend.inference.kubernetes_info:
    plan: "{{ inference_plan }}"
  register: found

- name: Show why it is not ready
  ansible.builtin.debug:
    msg: "{{ found.diagnosis }}"
  when: not found.ready
"""

RETURN = r"""
resolved_plan:
  description: The plan with the addresses of pods and router in it.
  returned: success
  type: dict
kthena_version:
  description: Version of Kthena that the CRD of ModelServing is of, V(v0.4.0), V(v1.0.0) or V(main); empty if older or unknown.
  returned: success
  type: str
  sample: v1.0.0
volcano_version:
  description: Newest version of Volcano whose fields the CRD of PodGroup has, V(v1.14.0) or V(v1.11.0); empty if older or unknown.
  returned: success
  type: str
  sample: v1.14.0
namespace_exists:
  description: Whether the namespace exists. V(true) also if it cannot be read.
  returned: success
  type: bool
nodes:
  description: How many devices of the plan's resource each node can allocate.
  returned: success
  type: dict
  sample: {"node1": "16"}
devices_held:
  description: How many of these devices pods of others hold on each node; null if the pods of all namespaces cannot be read.
  returned: success and O(query_services)
  type: dict
  sample: {"node1": 4}
objects:
  description: Objects that carry the deployment's labels.
  returned: success
  type: list
  elements: str
  sample: [ModelServing/deepseek-pd]
pods:
  description: The engines' pods.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the pod.
      type: str
    role:
      description: Role of the ModelServing, such as V(prefill).
      type: str
    address:
      description: IP address, empty if it has none yet.
      type: str
    node:
      description: Node that it is bound to.
      type: str
    ready:
      description: Whether it is ready.
      type: bool
    state:
      description: Its phase, and what keeps it from being ready.
      type: str
ready:
  description: Whether the engines run as planned.
  returned: success
  type: bool
missing:
  description: What is still missing for that.
  returned: success
  type: list
  elements: str
  sample: ["decode: 1 pods of 2"]
diagnosis:
  description: Why the engines are not ready, in several lines, with the last warnings of the namespace; empty if they are ready.
  returned: success
  type: str
services:
  description: A row for each service, as M(ascend.inference.service_status) returns it.
  returned: success and O(query_services)
  type: list
  elements: dict
findings:
  description: Findings of the deployment.
  returned: success and O(query_services)
  type: list
  elements: str
unreadable:
  description: Always V(false); hosts may have a plan that cannot be read.
  returned: success and O(query_services)
  type: bool
plan_digest:
  description: Digest of the plan that was applied last; empty if none was.
  returned: success and O(query_services)
  type: str
unverified:
  description: >-
    The plan, if it is applied and another one was verified last, or none; as M(ascend.inference.service_status) returns it. Empty if it is verified, if
    another plan is applied, and if the record cannot be read.
  returned: success and O(query_services)
  type: dict
exposure:
  description: Conditions of security advisories that the plan meets.
  returned: success and O(query_services)
  type: list
  elements: str
logs:
  description: Contents of the logs, by service, as M(ascend.inference.service_log) returns them.
  returned: success and O(logs_since)
  type: dict
support:
  description: The logs, as M(ascend.inference.support_logs) returns them.
  returned: success and O(support)
  type: dict
hidden:
  description: What the user has no permission to read.
  returned: success
  type: list
  elements: str
  sample: [nodes]
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils.kubernetes.arguments import CONNECTION, run
from ..module_utils.kubernetes.errors import KubernetesProblem
from ..module_utils.kubernetes.info import brief, info
from ..module_utils.kubernetes.logs import support

SUPPORT = {
    "minutes": {"type": "int", "default": 30},
    "mib": {"type": "int", "default": 64},
    "secrets": {"type": "list", "elements": "str", "default": [], "no_log": True},
}
ARGUMENTS = dict(
    CONNECTION,
    require_pods={"type": "bool", "default": False},
    query_services={"type": "bool", "default": False},
    logs_since={"type": "float"},
    support={"type": "dict", "options": SUPPORT},
    brief={"type": "bool", "default": False},
)


def found(cluster, params):
    """The module's result."""
    if params["support"] is not None:
        return {"support": support(cluster, params["plan"], **params["support"])}
    if params["brief"]:
        result = brief(cluster, params["plan"], params["logs_since"])
    else:
        result = info(cluster, params["plan"], params["query_services"], params["logs_since"])
    if params["require_pods"] and not result["pods"] and not cluster.check:
        raise KubernetesProblem(
            "Namespace {} has no pods of {}. Deploy it first: the playbook deploy or site.".format(
                cluster.namespace, params["plan"]["kubernetes"]["name"]
            )
        )
    return result


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    run(module, missing_required_lib("kubernetes"), lambda cluster: found(cluster, module.params))


if __name__ == "__main__":
    main()
