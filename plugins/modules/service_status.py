#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_status
short_description: Gather the status of a host's services
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Reads the deployed plan of the host, the state of each service from the runtime, and health, version and
    counters from the services. All services of the host are queried at the same time.
  - Missing services, a missing runtime or a missing deployed plan are reported as findings.
  - Nothing is changed.
attributes:
  diff_mode:
    support: none
extends_documentation_fragment:
  - ascend.inference.attributes.changing
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
      - The planned services of this host, as C(question) in the host's part of the plan, see P(ascend.inference.plan#lookup).
      - Compared with the deployed ones, or used instead of them if nothing is deployed. Without it nothing is compared.
    type: dict
  timeout:
    description: Timeout of each request to a service in seconds.
    type: int
    default: 4
  lines:
    description: Number of log lines to return for a service that does not run or does not answer.
    type: int
    default: 5
"""

EXAMPLES = r"""
- name: Gather the status of the services of this host
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
      description: Its kind, such as V(prefill) or V(router).
      type: str
    state:
      description: V(running), V(absent), V(unknown) if the runtime is not available, or the runtime's own state.
      type: str
    answers:
      description: Whether its health URL answers 200; null for a service without one.
      type: bool
    since:
      description: When it was started, in seconds since 1970; null if it does not run.
      type: float
    restarts:
      description: Number of restarts after unexpected exits; null if unknown.
      type: int
    version:
      description: The version that the service reports.
      type: str
    installed:
      description: Of an engine the version of vLLM in its environment, in a container the one of the plan; empty for others.
      type: str
    requests:
      description: Requests V(done) since its start, V(running) and V(waiting); null without a counter.
      type: dict
    kv:
      description: >-
        Prompt tokens by source of their KV cache; for a master of the store its clients, keys and, of several ones, its role; for etcd the
        bytes of its database and their limit; for the balancer its routers; for the probe its paths and how many of them are good, failed and
        unknown, whether V(clients) get answers, and the engines that are V(blamed), over which nothing works.
      type: dict
    digests:
      description: Digests of its running, deployed and planned configuration.
      type: dict
    secrets:
      description: Tells whether two services started with the same secrets; empty if they recorded none. The report leaves it out.
      type: str
    findings:
      description: Findings with fixes.
      type: list
      elements: str
    log:
      description: The last lines of its log, if it does not run or does not answer.
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
      installed: 0.23.0
      requests: {done: 8, running: 0, waiting: 0}
      kv: {prompt_tokens: 2751, local_compute: 649, local_cache_hit: 0, external_kv_transfer: 2102}
      digests: {running: 5a2e, deployed: 5a2e, planned: 5a2e}
      secrets: 0f3c51aa9be2
      findings: []
      log: []
findings:
  description: Findings of the host.
  returned: always
  type: list
  elements: str
  sample: []
unreadable:
  description: Whether a plan is deployed that cannot be used, so that its services are not known.
  returned: always
  type: bool
  sample: false
plan_digest:
  description: Digest of the deployed plan; empty if none is deployed.
  returned: always
  type: str
  sample: 6c48
unverified:
  description: >-
    The deployed plan, if another one was verified last, or none. C(digest), C(release) and C(since), when it was deployed; C(verified) has the same of the
    last verified one. Empty if it is verified, and if RV(findings) say that it is not, or that a change has not ended.
  returned: always
  type: dict
  sample: {}
locked:
  description: The run that holds the deployment's lock here, as in M(ascend.inference.deployment_run); empty if none does.
  returned: always
  type: dict
  sample: {}
exposure:
  description: Conditions of security advisories that the deployed plan meets; null without one, or if an older version wrote it.
  returned: always
  type: list
  elements: str
  sample: [always, images]
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.bench import running
from ..module_utils.drill import left
from ..module_utils.files import deployment_lock, edited, journal, tree
from ..module_utils.runtime.base import RuntimeProblem, brief
from ..module_utils.runtime.registry import runtime_of
from ..module_utils.status.plan import PLAN, deployed, question
from ..module_utils.status.services import Host
from ..module_utils.tools.disk import shortage
from ..module_utils.tools.text import visible

ARGUMENTS = {
    "directory": {"type": "path", "required": True},
    "host": {"type": "str", "required": True},
    "planned": {"type": "dict"},
    "timeout": {"type": "int", "default": 4},
    "lines": {"type": "int", "default": 5},
}

# Seconds for all questions to the runtime: a hanging Docker is one finding, and no host that does not answer.
RUNTIME = 5

DAMAGED = (
    "{} {}, so it is not known whether a change has ended, or an upgrade was interrupted half-way. Fix: if no run changes the deployment, run "
    "deploy with the settings of the last run, which writes the file again and names what has to restart for it; or rollback, which returns to the last "
    "verified plan"
)


def unfinished(directory):
    """What the journal says of a change that has not ended, for the host's findings."""
    try:
        known, damage = journal.read(directory), journal.damage(directory)
    except (tree.TreeError, OSError):
        return []
    if damage:
        return [DAMAGED.format(os.path.join(directory, journal.JOURNAL), damage)]
    last = verified(directory, known)
    if known.get("phase") == journal.DEPLOYED:
        return unverified(known, last)
    if known.get("phase") != journal.CHANGING:
        return []
    run = known.get("run", {})
    again = "upgrade with the same settings" if known.get("half") else "site again"
    text = "a change to release {} began at {} (by {} on {}) and has not ended. Fix: if it does not run any more, run {}".format(
        known.get("plan", {}).get("release"), known.get("since"), run.get("owner"), run.get("controller"), again
    )
    back = ", or rollback, which returns to release {}{}"
    return [text + (back.format(last["release"], last["since"]) if last else "")]


def verified(directory, known):
    """``{release, since, digest, at}`` of the last verified plan, also if the journal does not name it; {} without one. ``since``: the time ``at`` in words."""
    noted, plan = known.get("verified") or {}, journal.previous(directory, "verified")
    if not noted and not plan:
        return {}
    since = " (verified at {})".format(noted["since"]) if noted.get("since") else ""
    found = noted or plan
    return {
        "release": found.get("release"),
        "digest": found.get("digest"),
        "since": since,
        "at": noted.get("since", ""),
    }


def unverified(known, last):
    """An upgrade that was left before its verification: its services run, and nothing else says that nobody has tried them."""
    release = known.get("plan", {}).get("release")
    if not last or release in (None, last["release"]):
        return []
    text = "release {} was deployed at {} and has not been verified. Fix: run verify; if it fails, rollback returns to release {}{}"
    return [text.format(release, known.get("since"), last["release"], last["since"])]


def untried(directory, plan):
    """The value of RV(unverified): the services run with this plan, and nobody has tried it since. {} if the findings say so."""
    try:
        known, damage = journal.read(directory), journal.damage(directory)
        last = verified(directory, known) if not damage and known.get("phase") == journal.DEPLOYED else None
    except (tree.TreeError, OSError):
        return {}
    if last is None or last.get("digest") == plan["digest"] or unverified(known, last):
        return {}
    before = {"digest": last["digest"], "release": last["release"], "since": last["at"]} if last else {}
    return {"digest": plan["digest"], "release": plan["release"], "since": known.get("since", ""), "verified": before}


def measured(directory):
    """A benchmark that runs here, for the host's findings: its playbook may have been interrupted."""
    known = running.found(directory)
    return [running.sentence(known)] if known else []


def drilled(directory):
    """Services that a drill has paused, for the host's findings: its playbook may have been killed."""
    try:
        text = left.paused(directory)
    except (tree.TreeError, OSError):
        return []
    return [text] if text else []


def noted(directory, unreadable):
    """What is known in the deployment's folder, for the host's findings. ``unreadable``: they name the plan's own file already."""
    changing = unfinished(directory)
    # A change that has not ended may have listed files that it did not write yet.
    files = edited.findings(directory, removed=not changing, but={os.path.join(directory, PLAN)} if unreadable else ())
    full = list(filter(None, [shortage(directory)]))
    return [*full, *changing, *drilled(directory), *measured(directory), *files]


def no_plan(problem, unreadable):
    """The finding of a host whose plan is not known: none was deployed, or it cannot be read."""
    if not unreadable and "Fix: " in problem:
        return problem
    kind = (
        "the plan that is deployed on this host cannot be read"
        if unreadable
        else "no deployment was completed on this host"
    )
    return f"{kind}: {problem}" + ("" if "Fix: " in problem else ". Fix: run ascend.inference.deploy")


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    plan, problem = deployed(params["directory"])
    unreadable = not plan and os.path.lexists(os.path.join(params["directory"], PLAN))
    found = question(plan, params["host"]) if plan else None
    nothing = {"services": [], "unreadable": unreadable, "plan_digest": "", "unverified": {}, "exposure": None}
    nothing["locked"] = deployment_lock.holder_of(params["directory"])
    if not found and not params["planned"]:
        module.exit_json(changed=False, findings=[no_plan(problem, unreadable)], **nothing)
    known = found or params["planned"]
    try:
        runtime = runtime_of(known["runtime"], known["runtime_settings"], brief(RUNTIME))
    except RuntimeProblem as error:
        module.fail_json(msg=visible(str(error)), findings=[visible(str(error))], **nothing)
    host = Host(runtime, found, params["planned"], unreadable=unreadable)
    rows, findings = host.look(params["timeout"], params["lines"])
    first = [no_plan(problem, unreadable)] if problem else []
    findings = [*first, *noted(params["directory"], unreadable), *findings]
    digest = plan["digest"] if plan else ""
    told = {**nothing, "plan_digest": digest, "exposure": known.get("exposure"), "services": rows}
    told["unverified"] = untried(params["directory"], plan) if plan else {}
    module.exit_json(changed=False, findings=findings, **told)


if __name__ == "__main__":
    main()
