# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Plan the deployment that the inventory describes
version_added: 0.1.0
description:
  - Creates the plan from the C(inference_*) variables and the inventory, shows it, and stores it for the other plays of this run. The
    lookup P(ascend.inference.plan#lookup) reads it.
  - Reports all errors of the description together. Runs on the controller and changes nothing.
author:
  - The ascend.inference contributors (@ascend-inference)
extends_documentation_fragment:
  - ascend.inference.attributes.controller_action
options:
  show:
    description: The part of the plan to print.
    type: str
    choices: [table, advice, commands, diff, json, memory, none, rules]
    default: table
  model_facts:
    description:
      - File that the playbook C(check) wrote (C(inference_check_json)). With it the memory of each pool is shown, and a plan whose engines
        cannot start is refused.
    type: str
    default: ""
  ignore:
    description: Ids of checks whose findings are accepted, for O(model_facts).
    type: list
    elements: str
    default: []
  only:
    description: Whether the following plays match no hosts.
    type: bool
    default: false
  quiet:
    description: Whether to print only a refusal, because the plan is shown later.
    type: bool
    default: false
  optional:
    description:
      - Whether the run can go on without a plan. What cannot be planned is no failure then, if the inventory names one deployment. Its
        result has RV(unplanned).
    type: bool
    default: false
  playbook:
    description: The playbook that plans. Files on the controller that it writes at its end are judged before it begins.
    type: str
    default: ""
  deployed:
    description:
      - The hosts' files C(placement.json) by host, empty texts for hosts without one. Instances keep the places that they have there. The
        run must have a plan; it stays the same if it has these places. A file that is not a placement is ignored with a warning.
    type: dict
seealso:
  - plugin: ascend.inference.launch_plan
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Create the plan
  ascend.inference.plan:
    show: commands
"""

RETURN = r"""
unplanned:
  description: Why there is no plan.
  returned: with O(optional), if the inventory cannot be planned
  type: str
  sample: "Planning failed: 1 error. No host was changed. They are listed above."
selection:
  description:
    - The selection of hosts for the playbooks. Not facts, because a fact cache would keep them beyond the run.
    - With RV(unplanned) it has RV(selection.deployment), RV(selection.root), RV(selection.directory) and RV(selection.hosts) only.
  returned: success
  type: dict
  contains:
    deployment:
      description: Name of the deployment, if planning failed.
      type: str
    root:
      description: The folder of all deployments on every host, if planning failed.
      type: str
    hosts:
      description: Names of the planned hosts. Empty with O(only). If planning failed, those of all hosts that may belong to the deployment.
      type: list
      elements: str
    directory:
      description: The deployment's folder on every host.
      type: str
    asked:
      description: Names of the hosts whose C(placement.json) is read.
      type: list
      elements: str
    left:
      description: Names of hosts that have services according to O(deployed) and none in the plan.
      type: list
      elements: str
    lost:
      description: The same for hosts that are not in the inventory.
      type: list
      elements: str
    router_hosts:
      description: Names of the hosts that run the router of a deployment in a cluster. Empty with O(only).
      type: list
      elements: str
    cluster:
      description: V(localhost) if the deployment runs in a cluster, which is reached from there. Empty with O(only).
      type: list
      elements: str
    engine:
      description: Name of the engine.
      type: str
    runtime_facts:
      description: Facts of the runtime.
      type: dict
    show:
      description: The value of O(show).
      type: str
"""
