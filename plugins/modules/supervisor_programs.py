#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supervisor_programs
short_description: Keep the programs of one supervisord as planned
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Handles all programs of a host in one call, over supervisord's unix socket.
  - A program is restarted only if what it was started with differs from what is planned. It says so itself in a file
    that it writes at its start, so an interrupted run is repaired by the next one.
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: full
options:
  state:
    description:
      - V(present) starts supervisord if it does not run, has it read its configuration, and stops and drops programs
        that are no longer configured. It starts no program.
      - V(started) starts O(programs) that do not run and restarts those whose digest differs.
      - V(restarted) restarts O(programs).
      - V(stopped) stops O(programs).
      - V(absent) stops supervisord and all its programs.
    type: str
    choices: [present, started, restarted, stopped, absent]
    default: started
  socket:
    description: Unix socket of supervisord.
    type: path
    required: true
  command:
    description: The C(supervisord) to start. Needed for O(state=present).
    type: path
  config:
    description: Configuration file of supervisord. Needed for O(state=present).
    type: path
  programs:
    description: The programs that this call is about.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the program, which is its group as well.
        type: str
        required: true
      digest:
        description: What it has to run with.
        type: str
        default: ""
      digest_file:
        description: File in which the program writes, at its start, what it runs with.
        type: path
      newer:
        description: Files, such as secrets, that a running program must not be older than.
        type: list
        elements: path
        default: []
  timeout:
    description: Seconds that stopping may take.
    type: int
    default: 120
"""

EXAMPLES = r"""
- name: Start the engines that do not run, restart those whose command line changed
  ascend.inference.supervisor_programs:
    socket: /opt/ascend-inference/deployments/inference/run/supervisor.sock
    programs:
      - name: inference-prefill-0
        digest: 5a2e
        digest_file: /opt/ascend-inference/deployments/inference/run/prefill-0.digest
"""

RETURN = r"""
started:
  description: Programs that did not run and were started.
  returned: success
  type: list
  elements: str
  sample: [inference-prefill-0]
restarted:
  description: Programs that were stopped and started.
  returned: success
  type: list
  elements: str
  sample: []
stopped:
  description: Programs that were stopped or dropped.
  returned: success
  type: list
  elements: str
  sample: []
"""

import getpass
import os
import xmlrpc.client

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.runtime.programs import decide, difference
from ..module_utils.runtime.supervisor import Supervisor, SupervisorError

PROGRAM = {
    "name": {"type": "str", "required": True},
    "digest": {"type": "str", "default": ""},
    "digest_file": {"type": "path"},
    "newer": {"type": "list", "elements": "path", "default": []},
}
ARGUMENTS = {
    "state": {"type": "str", "default": "started", "choices": ["present", "started", "restarted", "stopped", "absent"]},
    "socket": {"type": "path", "required": True},
    "command": {"type": "path"},
    "config": {"type": "path"},
    "programs": {"type": "list", "elements": "dict", "default": [], "options": PROGRAM},
    "timeout": {"type": "int", "default": 120},
}


def apply(supervisor, params, start, again, stop):
    """Do what was decided."""
    if params["state"] == "absent":
        supervisor.shut_down(params["timeout"])
        return
    # One that is to start may wait for its next trial with what it had.
    supervisor.stop(start + again + stop, params["timeout"])
    for name in start + again:
        supervisor.start(name)


def ensure(supervisor, params, check):
    """supervisord runs with its present configuration; returns added and dropped names, and whether it was started."""
    if not supervisor.runs():
        if not check:
            kept = {key: os.environ[key] for key in ("HOME", "PATH", "LANG", "TZ") if key in os.environ}
            # Programs are started stage by stage by this module, and all at once when supervisord is started at boot.
            kept.update(ASCEND_INFERENCE_AUTOSTART="false", USER=getpass.getuser())
            supervisor.launch(params["command"], params["config"], kept)
        return [one["name"] for one in params["programs"]], [], True
    planned = {one["name"] for one in params["programs"]}
    known = set(supervisor.processes())
    if check:
        return sorted(planned - known), sorted(known - planned), False
    added, changed, removed = supervisor.differences()
    for name in changed + removed:
        supervisor.forget(name, params["timeout"])
    for name in added + changed:
        supervisor.add(name)
    return added + changed, removed, False


def work(module, supervisor):
    """The result of one call."""
    params, check = module.params, module.check_mode
    if params["state"] == "present":
        added, dropped, launched = ensure(supervisor, params, check)
        changed = bool(launched or added or dropped)
        lines = {
            "before": "".join(f"program {name}\n" for name in dropped),
            "after": "".join(f"program {name}\n" for name in added),
        }
        return {"changed": changed, "started": [], "restarted": [], "stopped": dropped, "diff": lines}
    states = supervisor.processes()
    start, again, stop = decide(params, states)
    changed = bool(start or again or stop) or (params["state"] == "absent" and supervisor.runs())
    if changed and not check:
        apply(supervisor, params, start, again, stop)
    lines = difference(params["programs"], states, start, again, stop)
    return {"changed": changed, "started": start, "restarted": again, "stopped": stop, "diff": lines}


def main():
    module = AnsibleModule(
        ARGUMENTS, supports_check_mode=True, required_if=[("state", "present", ("command", "config"))]
    )
    try:
        module.exit_json(**work(module, Supervisor(module.params["socket"])))
    except (SupervisorError, OSError, xmlrpc.client.Error) as error:
        module.fail_json(msg="supervisord at {}: {}".format(module.params["socket"], error))


if __name__ == "__main__":
    main()
