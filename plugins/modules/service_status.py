#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_status
short_description: What the services of a host are doing, and what is odd about them
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Reads the plan that is deployed on the host, asks the runtime for the state of each service, and the services
    themselves for their health, version and counters. All services of the host are asked at the same time.
  - Works when services, the runtime or the deployed plan are missing; then it says so.
  - Nothing is changed.
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
options:
  directory:
    description: The deployment's folder on the host, which has C(plan.json).
    type: path
    required: true
  host:
    description: The host's name in the plan.
    type: str
    required: true
  planned:
    description:
      - What the inventory says of this host, as the filter P(ascend.inference._status_question#filter) returns it.
      - Compared with what is deployed, and used instead of it where nothing is. Without it nothing is compared.
    type: dict
  timeout:
    description: Seconds that a service has for each answer.
    type: int
    default: 5
  lines:
    description: How many lines of its log are returned for a service that does not run or does not answer.
    type: int
    default: 5
"""

EXAMPLES = r"""
- name: See how the services of this host are
  ascend.inference.service_status:
    directory: /opt/ascend-inference/deployments/inference
    host: "{{ inventory_hostname }}"
"""

RETURN = r"""
services:
  description: One entry for each service of the host, in start order.
  returned: always
  type: list
  elements: dict
  contains:
    service:
      description: Its name.
      type: str
    kind:
      description: What it is, such as V(prefill) or V(router).
      type: str
    state:
      description: V(running), V(absent), V(unknown) where the runtime cannot be asked, or the runtime's own word.
      type: str
    answers:
      description: Whether its health URL answers 200; null for a service without one.
      type: bool
    since:
      description: When it was started, in seconds since 1970; null if it does not run.
      type: float
    restarts:
      description: How often it ended unasked and was started again; null if unknown.
      type: int
    version:
      description: What it says itself.
      type: str
    requests:
      description: Requests V(done) since its start, V(running) and V(waiting); null where it does not count.
      type: dict
    kv:
      description: Prompt tokens by where their KV cache came from; of the store's master its clients and keys.
      type: dict
    digests:
      description: Digests of its settings, as it runs, as deployed, as planned.
      type: dict
    findings:
      description: What a person should look at.
      type: list
      elements: str
    log:
      description: The end of its log, if it does not run or does not answer.
      type: list
      elements: str
  sample:
    - service: decode-0
      kind: decode
      state: running
      answers: true
      since: 1795243174.0
      restarts: 0
      version: 0.23.0
      requests: {done: 8, running: 0, waiting: 0}
      kv: {prompt_tokens: 2751, local_compute: 649, local_cache_hit: 0, external_kv_transfer: 2102}
      digests: {running: 5a2e, deployed: 5a2e, planned: 5a2e}
      findings: []
      log: []
findings:
  description: What is wrong with the host as a whole.
  returned: always
  type: list
  elements: str
  sample: []
plan_digest:
  description: Digest of the deployed plan; empty if none is deployed.
  returned: always
  type: str
  sample: 6c48
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files import journal, tree
from ..module_utils.runtime.base import RuntimeProblem
from ..module_utils.runtime.registry import runtime_of
from ..module_utils.status.plan import deployed, question
from ..module_utils.status.services import Host

ARGUMENTS = {
    "directory": {"type": "path", "required": True},
    "host": {"type": "str", "required": True},
    "planned": {"type": "dict"},
    "timeout": {"type": "int", "default": 5},
    "lines": {"type": "int", "default": 5},
}


def unfinished(directory):
    """What the journal says of a change that has not ended, for the host's findings."""
    try:
        known = journal.read(directory)
    except (tree.TreeError, OSError):
        return []
    if known.get("phase") != journal.CHANGING:
        return []
    run, last = known.get("run", {}), known.get("verified") or {}
    text = "a change to release {} began at {} (by {} on {}) and has not ended. Fix: if it does not run any more, run site again".format(
        known.get("plan", {}).get("release"), known.get("since"), run.get("owner"), run.get("controller")
    )
    back = ", or rollback, which goes back to release {} (verified at {})".format(
        last.get("release"), last.get("since")
    )
    return [text + (back if last else "")]


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    said = module.params
    plan, problem = deployed(said["directory"])
    found = question(plan, said["host"]) if plan else None
    if not found and not said["planned"]:
        module.exit_json(
            changed=False, services=[], findings=["no deployment was finished here: " + problem], plan_digest=""
        )
    known = found or said["planned"]
    try:
        runtime = runtime_of(known["runtime"], known["runtime_settings"])
    except RuntimeProblem as error:
        module.fail_json(msg=str(error), services=[], findings=[str(error)], plan_digest="")
    rows, findings = Host(runtime, found, said["planned"]).look(said["timeout"], said["lines"])
    findings[:0] = unfinished(said["directory"])
    if problem:
        findings.insert(0, f"no deployment was finished here: {problem}. Fix: run ascend.inference.deploy")
    module.exit_json(changed=False, services=rows, findings=findings, plan_digest=plan["digest"] if plan else "")


if __name__ == "__main__":
    main()
