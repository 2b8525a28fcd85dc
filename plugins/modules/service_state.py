#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_state
short_description: Start, restart, stop or remove the services of a deployment
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Handles all given services of a host in one call, for every runtime that runs services on hosts.
  - A service is restarted only if what it was started with differs from what is planned. It writes that into a file at its
    start, so an interrupted run is repaired by the next one.
  - With O(wait), polls the health URL and the process of the services together. A slow engine gets its whole timeout; a dead
    one fails within a second, with the last lines of its log.
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
    details: Nothing is waited for.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: full
options:
  state:
    description:
      - V(present) registers O(services) with the runtime, and stops and removes services of the deployment that are not in
        O(services). It starts none. The files of units and programs are written before.
      - V(started) starts O(services) that do not run and restarts those that run with something else than planned.
      - V(restarted) restarts O(services).
      - V(stopped) stops O(services).
      - V(absent) stops and removes everything that the runtime has for the deployment.
    type: str
    choices: [present, started, restarted, stopped, absent]
    default: started
  runtime:
    description: The plan's C(runtime).
    type: str
    required: true
  settings:
    description:
      - The plan's C(runtime_settings), with what a role adds.
      - For V(systemd), C(target) and C(directory); for V(supervisor), C(socket), C(config), C(log) and C(command), which
        starts supervisord; for V(docker), C(deployment), C(pull) (missing, always or never), C(log_size) and C(log_copies).
    type: dict
    required: true
  services:
    description: The services that this call is about, as the filter P(ascend.inference._service_states#filter) returns them.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the service.
        type: str
        required: true
      unit:
        description: Name of its unit, program or container.
        type: str
        required: true
      digest:
        description: What it has to run with.
        type: str
        default: ""
      digest_file:
        description: File in which the service writes, at its start, what it runs with.
        type: path
      newer:
        description: Files, such as secrets, that a running service must not be older than.
        type: list
        elements: path
        default: []
      stop_timeout:
        description: Seconds that the service may take to stop.
        type: int
        default: 60
      stop_signal:
        description: Signal that stops it, without C(SIG).
        type: str
        default: TERM
      work_directory:
        description: Directory that has its C(run.sh).
        type: str
        default: ""
      container:
        description: The plan's C(container) of the service, for a runtime of containers.
        type: dict
      log:
        description: The plan's C(log) of the service; the end of it is shown when it fails.
        type: dict
        default: {}
      url:
        description: URL that answers 200 when the service is ready. A service without one is not waited for.
        type: str
        default: ""
      timeout:
        description: Seconds after which a service that runs but does not answer is given up.
        type: int
        default: 1800
  wait:
    description: Whether to wait, after V(started) and V(restarted), until the services answer.
    type: bool
    default: false
  restarts:
    description: How many restarts since the wait began are tolerated.
    type: int
    default: 0
  lines:
    description: How many lines of the log are shown when a service fails.
    type: int
    default: 30
"""

EXAMPLES = r"""
- name: Start the engines that do not run, restart those whose command line changed, and wait for them
  ascend.inference.service_state:
    runtime: systemd
    settings:
      target: inference.target
      directory: /etc/systemd/system
    services:
      - name: prefill-0
        unit: inference-prefill-0.service
        digest: 5a2e
        digest_file: /opt/ascend-inference/deployments/inference/run/prefill-0.digest
        url: http://10.0.0.1:7100/health
    wait: true
"""

RETURN = r"""
started:
  description: Units that did not run and were started.
  returned: always
  type: list
  elements: str
  sample: [inference-prefill-0.service]
restarted:
  description: Units that were stopped and started.
  returned: always
  type: list
  elements: str
  sample: []
stopped:
  description: Units that were stopped or removed.
  returned: always
  type: list
  elements: str
  sample: []
ready:
  description: Seconds that each service took to answer, counted from the beginning of the wait.
  returned: with O(wait)
  type: dict
  sample: {"prefill-0": 31.5}
failed_services:
  description: What is wrong with each service that failed.
  returned: with O(wait)
  type: dict
  sample: {}
logs:
  description: The last lines of the logs of the services that failed.
  returned: with O(wait)
  type: dict
  sample: {}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.runtime.base import NothingRuns, RuntimeProblem
from ..module_utils.runtime.decisions import decide, difference
from ..module_utils.runtime.registry import runtime_of
from ..module_utils.runtime.wait import Waiter

SERVICE = {
    "name": {"type": "str", "required": True},
    "unit": {"type": "str", "required": True},
    "digest": {"type": "str", "default": ""},
    "digest_file": {"type": "path"},
    "newer": {"type": "list", "elements": "path", "default": []},
    "stop_timeout": {"type": "int", "default": 60},
    "stop_signal": {"type": "str", "default": "TERM"},
    "work_directory": {"type": "str", "default": ""},
    "container": {"type": "dict"},
    "log": {"type": "dict", "default": {}},
    "url": {"type": "str", "default": ""},
    "timeout": {"type": "int", "default": 1800},
}
ARGUMENTS = {
    "state": {"type": "str", "default": "started", "choices": ["present", "started", "restarted", "stopped", "absent"]},
    "runtime": {"type": "str", "required": True},
    "settings": {"type": "dict", "required": True},
    "services": {"type": "list", "elements": "dict", "default": [], "options": SERVICE},
    "wait": {"type": "bool", "default": False},
    "restarts": {"type": "int", "default": 0},
    "lines": {"type": "int", "default": 30},
}


def registered(runtime, params, check):
    """The result of the states present and absent: what the runtime knows, whether it runs or not."""
    if params["state"] == "present":
        changed, added, removed = runtime.apply(params["services"], check)
    else:
        added, removed = [], runtime.remove(params["services"], check)
        changed = bool(removed)
    lines = {"before": "".join(f"{item}\n" for item in removed), "after": "".join(f"{item}\n" for item in added)}
    return {"changed": changed, "started": [], "restarted": [], "stopped": removed, "diff": lines}


def running(runtime, params, check):
    """The result of the states started, restarted and stopped."""
    try:
        states = runtime.states(params["services"])
    except NothingRuns:
        states = {}
    start, again, stop = decide(params["state"], params["services"], states, runtime.outdated)
    if not check:
        for verb, services in ((runtime.stop, stop), (runtime.restart, again), (runtime.start, start)):
            if services:
                verb(services)
    completed = params["state"] == "started" and runtime.complete(check)
    names = {"started": start, "restarted": again, "stopped": stop}
    result = {key: [service["unit"] for service in services] for key, services in names.items()}
    changed = bool(start or again or stop or completed)
    return dict(result, changed=changed, diff=difference(states, start, again, stop))


def waited(runtime, params):
    """What the wait for services with a URL found."""
    services = {service["name"]: service for service in params["services"] if service["url"]}
    ready, failed = Waiter(runtime, params["restarts"]).wait(list(services.values()))
    logs = {name: runtime.log(services[name], params["lines"]) for name in failed}
    return {"ready": ready, "failed_services": failed, "logs": logs}


def message(found):
    """All failures, each with its log's end."""
    failed, logs = found["failed_services"], found["logs"]
    return "\n\n".join(f"{name} {failed[name]}\n{logs[name]}" for name in sorted(failed))


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params, check = module.params, module.check_mode
    result = {}
    try:
        runtime = runtime_of(params["runtime"], params["settings"])
        work = registered if params["state"] in ("present", "absent") else running
        result = work(runtime, params, check)
        if params["wait"] and not check and params["state"] in ("started", "restarted"):
            result.update(waited(runtime, params))
    except (RuntimeProblem, OSError) as error:
        module.fail_json(msg="Services under {}: {}".format(params["runtime"], error), **result)
    if result.get("failed_services"):
        module.fail_json(msg=message(result), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
