#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_fault
short_description: Kill or pause processes of services, or break off their requests, and wait until the services have recovered
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Makes a fault on purpose, to prove that a service survives it. The playbook C(ascend.inference.drill) runs it beside M(ascend.inference.service_load).
  - Touches only processes of O(services), which the runtime names. All must run, else none is touched.
  - A pause always ends with its time, even if the module or its connection is ended. Requests are broken off by the module itself, so nothing is to be
    undone.
attributes:
  diff_mode:
    support: N/A
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  runtime:
    description: The plan's C(runtime).
    type: str
    required: true
  settings:
    description: The plan's C(runtime_settings).
    type: dict
    required: true
  services:
    description: The services, as the filter C(_service_states) returns them.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the service.
        type: str
        required: true
      unit:
        description: Name of its unit, program or container.
        type: str
        required: true
      url:
        description: URL that answers 200 when the service is ready.
        type: str
        default: ""
  directory:
    description:
      - The deployment's folder. The fault is noted there before it is made, until the services have recovered, so that the next run that locks
        the deployment continues what a killed run left paused. Empty notes nothing.
    type: path
    default: ""
  action:
    description:
      - V(kill) sends SIGKILL; the runtime has to start the services again.
      - V(pause) stops the processes and all that they started with SIGSTOP, and continues them after O(seconds).
      - V(abort) breaks off each request that waits for its answer, for O(seconds) or until another run locks the deployment. C(/health) answers
        meanwhile. Needs Linux 5.6 and a port in the URL of each service. Answers that begin within 20 ms pass.
    type: str
    choices: [kill, pause, abort]
    required: true
  part:
    description: V(main) is the main process of each service, V(rank) the process of one rank of an engine.
    type: str
    choices: [main, rank]
    default: main
  seconds:
    description: Duration of V(pause) and V(abort).
    type: float
    default: 60
  times:
    description: Number of pauses, with as much time between them.
    type: int
    default: 1
  timeout:
    description: Most seconds to wait until the services run and answer again.
    type: float
    default: 1800
"""

EXAMPLES = r"""
- name: Kill an engine
  ascend.inference.service_fault:
    runtime: systemd
    settings: {target: inference.target, directory: /etc/systemd/system}
    services:
      - name: decode-1
        unit: inference-decode-1.service
        url: http://10.0.0.3:7300/health
    action: kill
"""

RETURN = r"""
begun:
  description: When the fault began, in seconds since 1970.
  returned: when a fault was made
  type: float
  sample: 1790000000.5
ended:
  description: When it ended, in seconds since 1970; for V(kill) the same moment.
  returned: when a fault was made
  type: float
  sample: 1790000060.5
seconds:
  description: Seconds from RV(begun) to the end of the module, not counted by the clock of the host.
  returned: when a fault was made
  type: float
  sample: 101.8
aborted:
  description: How many requests were broken off, by service.
  returned: for V(abort)
  type: dict
  sample: {"decode-1": 214}
processes:
  description: The processes that got the signal, by service, as C(pid) and C(title).
  returned: success
  type: dict
  sample: {"decode-1": [{"pid": 4711, "title": "vllm serve /models/qwen3"}]}
recovered:
  description: >-
    Seconds after RV(ended) until each service answered, null if it did not within O(timeout). A killed service has to be a new process.
  returned: when a fault was made
  type: dict
  sample: {"decode-1": 41.3}
"""

import time
from urllib.parse import urlsplit

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.drill import left
from ..module_utils.drill.abort import abort
from ..module_utils.drill.fault import FaultError, kill, pause, recovered, victims
from ..module_utils.files.tree import TreeError
from ..module_utils.runtime.base import RuntimeProblem
from ..module_utils.runtime.registry import runtime_of
from ..module_utils.tools.text import visible

SERVICE = {
    "name": {"type": "str", "required": True},
    "unit": {"type": "str", "required": True},
    "url": {"type": "str", "default": ""},
}
ARGUMENTS = {
    "runtime": {"type": "str", "required": True},
    "settings": {"type": "dict", "required": True},
    "services": {"type": "list", "elements": "dict", "required": True, "options": SERVICE},
    "directory": {"type": "path", "default": ""},
    "action": {"type": "str", "choices": ["kill", "pause", "abort"], "required": True},
    "part": {"type": "str", "choices": ["main", "rank"], "default": "main"},
    "seconds": {"type": "float", "default": 60},
    "times": {"type": "int", "default": 1},
    "timeout": {"type": "float", "default": 1800},
}
SHOWN = 200  # characters of a process's title


def run(module):
    params = module.params
    runtime, services = runtime_of(params["runtime"], params["settings"]), params["services"]
    found = victims(runtime, services, params["part"], params["action"] != "kill")
    states = runtime.states(services)
    result = {
        "processes": {
            name: [{"pid": process.pid, "title": visible(process.title)[:SHOWN]} for process in processes]
            for name, processes in found.items()
        }
    }
    if module.check_mode:
        return result
    everything = [process for processes in found.values() for process in processes]
    folder = (params.get("directory") or "").rstrip("/")
    if folder:
        left.note(folder, params["action"], found)
    result["begun"], begin = time.time(), time.monotonic()
    if params["action"] == "kill":
        kill(everything)
        result["ended"] = result["begun"]
    elif params["action"] == "abort":
        watch = bool(folder) and left.noted(folder)
        result["aborted"] = aborted(services, found, params["seconds"], lambda: not watch or left.noted(folder))
        result["ended"] = time.time()
    else:
        pause(everything, params["seconds"], params["times"])
        result["ended"] = time.time()
    old = {unit: state["start_id"] for unit, state in states.items()} if params["action"] == "kill" else {}
    result["recovered"] = recovered(runtime, services, old, params["timeout"])
    if folder and None not in result["recovered"].values():
        left.forget(folder)
    result["seconds"] = time.monotonic() - begin
    return result


def aborted(services, found, seconds, wanted):
    """{service: how many of its requests were broken off}; one after the other, as a drill names one."""
    return {
        service["name"]: abort(
            service["name"], found[service["name"]], urlsplit(service["url"]).port or 0, seconds, wanted
        )
        for service in services
    }


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    try:
        result = run(module)
    except (FaultError, RuntimeProblem, TreeError, OSError) as error:
        module.fail_json(msg=visible(str(error)))
    module.exit_json(changed=True, **result)


if __name__ == "__main__":
    main()
