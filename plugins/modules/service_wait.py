#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_wait
short_description: Wait until services answer, and see at once when one is dead
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Polls the health URL and the process of all given services together. A slow engine gets its whole timeout; a dead one
    fails within a second, with the last lines of its log.
  - Nothing is changed. In check mode nothing is waited for either.
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
options:
  runtime:
    description: What runs the services.
    type: str
    required: true
    choices: [supervisor, systemd, docker]
  socket:
    description: Unix socket of supervisord. Needed for O(runtime=supervisor).
    type: path
  services:
    description: The services to wait for.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the service.
        type: str
        required: true
      unit:
        description: Name of its program, unit or container.
        type: str
        required: true
      url:
        description: URL that answers 200 when the service is ready.
        type: str
        required: true
      timeout:
        description: Seconds after which a service that runs but does not answer is given up.
        type: int
        default: 1800
      log:
        description: Its log file, where the runtime writes one.
        type: path
        default: ""
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
- name: Wait for the engines
  ascend.inference.service_wait:
    runtime: systemd
    services:
      - {name: prefill-0, unit: inference-prefill-0.service, url: "http://10.0.0.1:7100/health", timeout: 1800}
"""

RETURN = r"""
ready:
  description: Seconds that each service took to answer, counted from the beginning of the wait.
  returned: always
  type: dict
  sample: {"prefill-0": 31.5}
failed_services:
  description: What is wrong with each service that failed.
  returned: always
  type: dict
  sample: {}
logs:
  description: The last lines of the logs of the services that failed.
  returned: always
  type: dict
  sample: {}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.runtime.wait import DockerRuntime, SupervisorRuntime, SystemdRuntime, Waiter

SERVICE = {
    "name": {"type": "str", "required": True},
    "unit": {"type": "str", "required": True},
    "url": {"type": "str", "required": True},
    "timeout": {"type": "int", "default": 1800},
    "log": {"type": "path", "default": ""},
}
ARGUMENTS = {
    "runtime": {"type": "str", "required": True, "choices": ["supervisor", "systemd", "docker"]},
    "socket": {"type": "path"},
    "services": {"type": "list", "elements": "dict", "required": True, "options": SERVICE},
    "restarts": {"type": "int", "default": 0},
    "lines": {"type": "int", "default": 30},
}


def runtime(params):
    """The runtime to ask."""
    if params["runtime"] == "supervisor":
        return SupervisorRuntime(params["socket"])
    return SystemdRuntime() if params["runtime"] == "systemd" else DockerRuntime()


def message(failed, logs):
    """All failures, each with its log's end."""
    return "\n\n".join(f"{name} {failed[name]}\n{logs[name]}" for name in sorted(failed))


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True, required_if=[("runtime", "supervisor", ("socket",))])
    if module.check_mode:
        module.exit_json(changed=False, ready={}, failed_services={}, logs={})
    services = {one["name"]: one for one in module.params["services"]}
    asked = runtime(module.params)
    ready, failed = Waiter(asked, module.params["restarts"]).wait(list(services.values()))
    logs = {name: asked.log(services[name], module.params["lines"]) for name in failed}
    result = {"changed": False, "ready": ready, "failed_services": failed, "logs": logs}
    if failed:
        module.fail_json(msg=message(failed, logs), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
