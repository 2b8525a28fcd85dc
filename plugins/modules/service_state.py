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
  - Handles all given services of a host in one call, for every runtime on hosts.
  - A service is restarted only if its configuration at start differs from the plan. It writes its digest to a file at its
    start, so an interrupted run is completed by the next one.
  - With O(wait), polls the health URLs and processes of all services in parallel. A slow engine gets its whole timeout; an
    exited one fails within a second, with the last lines of its log.
attributes:
  check_mode:
    details: Does not wait for readiness.
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  state:
    description:
      - V(present) registers O(services) with the runtime, and with O(remove) stops and removes services of the deployment that are not in
        O(services). It starts none. The files of units and programs must exist.
      - V(started) starts O(services) that are not running and restarts those whose configuration differs from the plan.
      - V(restarted) restarts O(services).
      - V(stopped) stops O(services).
      - V(absent) stops and removes everything of the deployment in the runtime.
    type: str
    choices: [present, started, restarted, stopped, absent]
    default: started
  runtime:
    description: The plan's C(runtime).
    type: str
    required: true
  settings:
    description:
      - The plan's C(runtime_settings), with additions of the role.
      - For V(systemd), C(target) and C(directory); for V(supervisor), C(socket), C(config), C(log) and C(command), which
        starts supervisord; for V(docker), C(deployment), C(records) (the folder of the deployment), C(pull) (missing, always or
        never), C(log_size) and C(log_copies).
    type: dict
    required: true
  services:
    description: The services, as the filter C(_service_states) returns them.
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
        description: Expected configuration digest.
        type: str
        default: ""
      digest_file:
        description: File in which the service records its configuration digest at start.
        type: path
      starts_file:
        description:
          - File in which the service counts its starts, to wait longer after each crash. A start or restart by this module
            begins the count anew. Only of a runtime whose services count.
        type: path
      newer:
        description: Files, such as secrets, that a running service must not be older than.
        type: list
        elements: path
        default: []
      stop_timeout:
        description: Timeout for stopping the service in seconds.
        type: int
        default: 60
      stop_signal:
        description: Signal that stops it, without C(SIG).
        type: str
        default: TERM
      script:
        description: Script that a container of the service runs.
        type: str
        default: ""
      container:
        description: The plan's C(container) of the service, for a runtime of containers.
        type: dict
      log:
        description: The plan's C(log) of the service; its last lines are shown if the service fails.
        type: dict
        default: {}
      url:
        description: URL that answers 200 when the service is ready. Without it the module does not wait for the service.
        type: str
        default: ""
      timeout:
        description: Timeout in seconds until a running service answers.
        type: int
        default: 1800
      known_issues:
        description: Issues that upstream knows of its release and settings, C({number, signs, text}). One whose C(signs) match a cause is said beside it.
        type: list
        elements: dict
        default: []
  own:
    description:
      - The deployment's folder, where the plan of other hosts names this one. Then only services are handled that the plan in this folder has, with
        the runtime of that plan; nothing is done on a host without the folder.
    type: path
  own_hosts:
    description: With O(own), names of hosts of the deployment. Nothing is done if the recorded placement on this host has none of them.
    type: list
    elements: str
    default: []
  secrets:
    description:
      - Digest of the planned secrets of each service, by its name, as the filter C(_secret_digests) returns them.
      - A process that recorded another one at its start is restarted. Without a record, nothing is known.
    type: dict
    default: {}
  written:
    description:
      - Files that this run is about to write, as RV(ascend.inference.service_files#module:written). Services that use them count as older than these,
        so that it is known before anything is written what restarts.
    type: list
    elements: str
    default: []
  compare:
    description: Whether V(present) changes nothing, as in check mode, but pulls the images that are always pulled, as these decide what restarts.
    type: bool
    default: false
  remove:
    description: Whether V(present) stops and removes services of the deployment that are not in O(services).
    type: bool
    default: true
  keep:
    description: Units that O(remove) leaves as they are, because they stop later.
    type: list
    elements: str
    default: []
  wait:
    description: Whether to wait, after V(started) and V(restarted), until the services answer.
    type: bool
    default: false
  restarts:
    description: Number of tolerated restarts while waiting.
    type: int
    default: 0
  lines:
    description: Number of log lines to show if a service fails.
    type: int
    default: 30
"""

EXAMPLES = r"""
- name: Start stopped engines, restart those with a changed command line, and wait for them
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
  description: Units that were not running and were started.
  returned: always
  type: list
  elements: str
  sample: [inference-prefill-0.service]
restarted:
  description: Units that were restarted.
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
other:
  description: Units of the deployment that are not in O(services); with O(remove) they were removed, but those in O(keep).
  returned: with O(state=present)
  type: list
  elements: str
  sample: []
down:
  description: Names of services that do not run.
  returned: with O(state=present)
  type: list
  elements: str
  sample: []
outdated:
  description: Names of running services whose configuration differs from the plan.
  returned: with O(state=present)
  type: list
  elements: str
  sample: [decode-0]
rekeyed:
  description: Names of running services that started with other secrets than planned. They are among RV(outdated).
  returned: with O(state=present)
  type: list
  elements: str
  sample: []
keyed:
  description: Names of running services that started with the planned secrets.
  returned: with O(state=present)
  type: list
  elements: str
  sample: [decode-0, prefill-0]
healthy:
  description:
    - Names of services that run as planned and answer now, or have no O(services[].url). With O(state=started) nothing would be done for them.
    - Empty if something else of the deployment, such as its target, is to be started.
  returned: with O(state=present)
  type: list
  elements: str
  sample: [prefill-0]
ready:
  description: Seconds until each service answered, from the beginning of the wait.
  returned: with O(wait)
  type: dict
  sample: {"prefill-0": 31.5}
failed_services:
  description: The problem of each failed service.
  returned: with O(wait)
  type: dict
  sample: {}
logs:
  description: The last lines of the logs of the services that failed.
  returned: with O(wait)
  type: dict
  sample: {}
causes:
  description: >-
    Known causes in the logs of the services that failed, as findings - C(id), C(problem), C(value) (the line of the log), C(why), C(fix).
  returned: with O(wait)
  type: dict
  sample: {}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.diagnosis.diagnose import LINES, causes_in, explanation, showing
from ..module_utils.runtime.base import RuntimeNotRunning, RuntimeProblem
from ..module_utils.runtime.decisions import decide, difference, keyed
from ..module_utils.runtime.registry import runtime_of
from ..module_utils.runtime.wait import Waiter, healthy
from ..module_utils.status.own_plan import bound
from ..module_utils.tools.disk import explained
from ..module_utils.tools.finding import Finding
from ..module_utils.tools.text import visible

SERVICE = {
    "name": {"type": "str", "required": True},
    "unit": {"type": "str", "required": True},
    "digest": {"type": "str", "default": ""},
    "digest_file": {"type": "path"},
    "starts_file": {"type": "path"},
    "newer": {"type": "list", "elements": "path", "default": []},
    "stop_timeout": {"type": "int", "default": 60},
    "stop_signal": {"type": "str", "default": "TERM"},
    "script": {"type": "str", "default": ""},
    "container": {"type": "dict"},
    "log": {"type": "dict", "default": {}},
    "url": {"type": "str", "default": ""},
    "timeout": {"type": "int", "default": 1800},
    "known_issues": {"type": "list", "elements": "dict", "default": []},
}
ARGUMENTS = {
    "state": {"type": "str", "default": "started", "choices": ["present", "started", "restarted", "stopped", "absent"]},
    "runtime": {"type": "str", "required": True},
    "settings": {"type": "dict", "required": True},
    "services": {"type": "list", "elements": "dict", "default": [], "options": SERVICE},
    "own": {"type": "path"},
    "own_hosts": {"type": "list", "elements": "str", "default": []},
    "secrets": {"type": "dict", "default": {}, "no_log": True},
    "written": {"type": "list", "elements": "str", "default": []},
    "compare": {"type": "bool", "default": False},
    "remove": {"type": "bool", "default": True},
    "keep": {"type": "list", "elements": "str", "default": []},
    "wait": {"type": "bool", "default": False},
    "restarts": {"type": "int", "default": 0},
    "lines": {"type": "int", "default": 30},
}


def registered(runtime, params, check):
    """The result of the states present and absent: services registered with the runtime."""
    more = {}
    if params["state"] == "present":
        remove, keep = params.get("remove", True), params.get("keep") or []
        if params.get("compare") and not check:
            runtime.refresh(params["services"])
            check = True
        options = dict({} if remove else {"remove": False}, **({"keep": keep} if keep else {}))
        changed, added, other = runtime.apply(params["services"], check, **options)
        removed = [unit for unit in other if unit not in keep] if remove else []
        more = dict(pending(runtime, params["services"]), other=other)
    else:
        added, removed = [], runtime.remove(params["services"], check)
        changed = bool(removed)
    lines = {"before": "".join(f"{item}\n" for item in removed), "after": "".join(f"{item}\n" for item in added)}
    return dict(more, changed=changed, started=[], restarted=[], stopped=removed, diff=lines)


def pending(runtime, services):
    """What the state started would start and restart now, by name, and for which services it would do nothing."""
    try:
        states = runtime.states(services)
    except RuntimeNotRunning:
        states = {}
    down, outdated, _stop = decide("started", services, states, runtime.outdated)
    left = [item for item in services if item not in down and item not in outdated]
    found = {"down": down, "outdated": outdated, "healthy": [] if runtime.complete(True) else healthy(left)}
    up = [item for item in services if item not in down]
    found.update(keyed=[item for item in up if keyed(item)], rekeyed=[item for item in up if keyed(item) is False])
    return {key: [item["name"] for item in found[key]] for key in found}


def running(runtime, params, check):
    """The result of the states started, restarted and stopped."""
    try:
        states = runtime.states(params["services"])
    except RuntimeNotRunning:
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
    """The result of waiting for services with a URL."""
    services = {service["name"]: service for service in params["services"] if service["url"]}
    ready, failed = Waiter(runtime, params["restarts"]).wait(list(services.values()))
    logs = {name: runtime.log(services[name], max(params["lines"], LINES)).splitlines() for name in failed}
    causes = {name: [found.as_dict() for found in causes_in(logs[name], name)] for name in failed}
    shown = {name: "\n".join(logs[name][-params["lines"] :]) for name in failed}
    return {"ready": ready, "failed_services": failed, "logs": shown, "causes": causes}


def message(found, issues):
    """All failures, each with the known causes in its log, known issues of the release, and the last lines. ``issues``: {service: its option}."""
    failed, logs, causes = found["failed_services"], found["logs"], found["causes"]
    texts = []
    for name in sorted(failed):
        known = [Finding.from_dict(cause) for cause in causes[name]]
        lines = [*map(explanation, known), *showing(issues.get(name, ()), known)]
        texts.append("\n".join([f"{name} {failed[name]}", *lines, logs[name]]))
    return "\n\n".join(texts)


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params, check = module.params, module.check_mode
    for service in params["services"]:
        service["secrets"] = params["secrets"].get(service["name"], "")
        service["written"] = params["written"]
    result = {}
    try:
        params = bound(params["own"], params) if params["own"] else params
        if params is None:
            module.exit_json(changed=False, started=[], restarted=[], stopped=[])
        runtime = runtime_of(params["runtime"], params["settings"])
        work = registered if params["state"] in ("present", "absent") else running
        result = work(runtime, params, check)
        if params["wait"] and not check and params["state"] in ("started", "restarted"):
            result.update(waited(runtime, params))
    except (RuntimeProblem, OSError) as error:
        told = explained(error, params["own"] or params["settings"].get("directory") or "/")
        module.fail_json(msg=visible("Services under {}: {}".format(params["runtime"], told)), **result)
    if result.get("failed_services"):
        issues = {service["name"]: service["known_issues"] for service in module.params["services"]}
        module.fail_json(msg=visible(message(result, issues)), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
