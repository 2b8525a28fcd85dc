#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: systemd_units
short_description: Keep the systemd units of one deployment as planned
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Handles all units of a host in one call. The unit files are written before, by a template; each says C(PartOf=) the
    deployment's target, and by this line alone a unit is known as the deployment's.
  - A unit is restarted only if what it was started with differs from what is planned. It says so itself in a file
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
      - V(present) has systemd read its files again where they changed, enables O(units) and O(target) for the next boot,
        and stops and removes the target's units that are not in O(units). It starts no unit.
      - V(started) starts O(units) that do not run, restarts those whose digest differs, and has O(target) active.
      - V(restarted) restarts O(units).
      - V(stopped) stops O(units).
      - V(absent) stops, disables and removes the target and all its units.
    type: str
    choices: [present, started, restarted, stopped, absent]
    default: started
  target:
    description: The deployment's target.
    type: str
    required: true
  directory:
    description: Where the unit files lie.
    type: path
    default: /etc/systemd/system
  units:
    description: The units that this call is about.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the unit, with C(.service).
        type: str
        required: true
      digest:
        description: What it has to run with.
        type: str
        default: ""
      digest_file:
        description: File in which the unit writes, at its start, what it runs with.
        type: path
      newer:
        description: Files, such as secrets, that a running unit must not be older than. Its unit file is always one of them.
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
  ascend.inference.systemd_units:
    target: inference.target
    units:
      - name: inference-prefill-0.service
        digest: 5a2e
        digest_file: /opt/ascend-inference/deployments/inference/run/prefill-0.digest
"""

RETURN = r"""
started:
  description: Units that did not run and were started.
  returned: success
  type: list
  elements: str
  sample: [inference-prefill-0.service]
restarted:
  description: Units that were stopped and started.
  returned: success
  type: list
  elements: str
  sample: []
stopped:
  description: Units that were stopped or removed.
  returned: success
  type: list
  elements: str
  sample: []
"""

import os
import subprocess

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.runtime.programs import decide, difference
from ..module_utils.runtime.systemd import Systemd, SystemdError, began, state_of

UNIT = {
    "name": {"type": "str", "required": True},
    "digest": {"type": "str", "default": ""},
    "digest_file": {"type": "path"},
    "newer": {"type": "list", "elements": "path", "default": []},
}
ARGUMENTS = {
    "state": {"type": "str", "default": "started", "choices": ["present", "started", "restarted", "stopped", "absent"]},
    "target": {"type": "str", "required": True},
    "directory": {"type": "path", "default": "/etc/systemd/system"},
    "units": {"type": "list", "elements": "dict", "default": [], "options": UNIT},
    "timeout": {"type": "int", "default": 120},
}


def runner(timeout):
    """run(argv) -> (exit code, both streams as one text), in plain English and within the time-out."""
    environment = dict(os.environ, LC_ALL="C", SYSTEMD_COLORS="0", SYSTEMD_PAGER="")

    def run(argv):
        # Not AnsibleModule.run_command: that has no time-out.
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
        )
        return done.returncode, done.stdout.decode("utf-8", "replace")

    return run


def present(systemd, params, check):
    """The units are known to systemd and enabled, and no others of the target are left; nothing is started."""
    planned = [one["name"] for one in params["units"]]
    old = [name for name in systemd.own() if name not in planned]
    shown = systemd.show([*planned, systemd.target])
    unread = any(one["NeedDaemonReload"] == "yes" or one["LoadState"] == "not-found" for one in shown.values())
    disabled = [name for name, one in shown.items() if one["UnitFileState"] != "enabled"]
    if not check:
        if unread:
            systemd.call("daemon-reload")
        if disabled:
            systemd.call("enable", *disabled)
        remove(systemd, old)
    lines = {"before": "".join(f"unit {name}\n" for name in old), "after": ""}
    lines["after"] = "".join(f"unit {name} enabled\n" for name in disabled)
    return {"changed": bool(unread or disabled or old), "started": [], "restarted": [], "stopped": old, "diff": lines}


def remove(systemd, names):
    """Stop, disable and remove units."""
    if names:
        systemd.call("disable", "--now", *names)
        systemd.forget(names)


def absent(systemd, check):
    """Neither the target nor a unit of it is left."""
    names = systemd.own()
    names += [systemd.target] if os.path.lexists(os.path.join(systemd.directory, systemd.target)) else []
    if not check:
        remove(systemd, names)
    lines = {"before": "".join(f"unit {name}\n" for name in names), "after": ""}
    return {"changed": bool(names), "started": [], "restarted": [], "stopped": names, "diff": lines}


def states_of(systemd, units):
    """{unit: {state, start}}; the start is the moment when the unit wrote its digest."""
    shown = systemd.show([one["name"] for one in units])
    return {one["name"]: {"state": state_of(shown[one["name"]]), "start": began(one["digest_file"])} for one in units}


def act(systemd, start, again, stop):
    """Do what was decided, each kind in one order so that slow ends overlap."""
    for word, names in (("stop", stop), ("restart", again), ("start", start)):
        if names:
            systemd.run(["systemctl", "reset-failed", *names])  # no unit waits because it failed too often before
            systemd.call(word, *names)


def work(params, systemd, check):
    """The result of one call."""
    if params["state"] == "present":
        return present(systemd, params, check)
    if params["state"] == "absent":
        return absent(systemd, check)
    units = [
        dict(one, newer=[*one["newer"], os.path.join(params["directory"], one["name"])]) for one in params["units"]
    ]
    states = states_of(systemd, units)
    start, again, stop = decide({"state": params["state"], "programs": units}, states)
    changed = bool(start or again or stop)
    if changed and not check:
        act(systemd, start, again, stop)
    lines = difference(units, states, start, again, stop)
    return {"changed": changed, "started": start, "restarted": again, "stopped": stop, "diff": lines}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    systemd = Systemd(runner(params["timeout"]), params["directory"], params["target"])
    try:
        module.exit_json(**work(params, systemd, module.check_mode))
    except (SystemdError, OSError, subprocess.TimeoutExpired) as error:
        module.fail_json(msg="Units of {}: {}".format(params["target"], error))


if __name__ == "__main__":
    main()
