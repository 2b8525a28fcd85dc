#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module engine_watchdog."""

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_watchdog
short_description: Decide which engine without progress is restarted, and prove it afterwards
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Runs on the host of the deployment's probe and reads its pages. Restarts nothing itself; the playbook C(watchdog) does.
  - With O(counts) it runs on the other hosts, so that no host alone decides how often engines of others restart.
  - With O(mode=restart) it chooses at most one engine, and notes it in C(watchdog.json) of the deployment's folder before it returns, so that
    restarts that fail are counted too.
  - With O(proves) it waits until requests of the probe show that clients get answers and that the engine takes part again, and notes the result.
attributes:
  check_mode:
    details: Nothing is noted, and nothing is waited for.
  diff_mode:
    support: none
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  directory:
    description: The deployment's folder on the host.
    type: path
    required: true
  url:
    description: URL of the probe, without a path. Not used with O(counts).
    type: str
    required: true
  engines:
    description: The engines that answer requests, each with all services of its instance.
    type: dict
    default: {}
  mode:
    description: Whether an engine may be chosen.
    type: str
    choices: [report, restart]
    default: report
  per_hour:
    description: Most restarts within an hour.
    type: int
    default: 2
  counts:
    description: The engine that the probe's host has chosen. It is noted here, too, unless as many as O(per_hour) were within the last hour.
    type: str
    default: ""
  proves:
    description: The engine that was restarted. Empty chooses one.
    type: str
    default: ""
  since:
    description: RV(at) of the choice, with O(proves).
    type: float
    default: 0
  timeout:
    description: Seconds to wait for the proof.
    type: int
    default: 900
seealso:
  - module: ascend.inference.service_status
"""

EXAMPLES = r"""
- name: Find engines without progress
  ascend.inference.engine_watchdog:
    directory: /opt/ascend-inference/deployments/inference
    url: http://10.0.0.1:8013
    engines:
      decode-0: [decode-0, decode-0-1]
  register: watched
"""

RETURN = r"""
findings:
  description: What is wrong, or unknown.
  returned: success
  type: list
  elements: str
  sample: [decode-0 makes no progress]
engine:
  description: The engine to restart; empty for none.
  returned: success
  type: str
  sample: decode-0
services:
  description: All services of its instance.
  returned: success
  type: list
  elements: str
  sample: [decode-0, decode-0-1]
stuck:
  description: All engines of O(engines) that are without progress or fail each request.
  returned: without O(proves)
  type: list
  elements: str
  sample: [decode-0]
at:
  description: When it was chosen, in seconds since 1970.
  returned: success
  type: float
  sample: 1795243174.0
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.probe.watchdog import actions_of, counted, decide, note, page_of, proven
from ..module_utils.tools.disk import explained
from ..module_utils.tools.http_client import Target, ask
from ..module_utils.tools.text import visible

PAUSE = 2.0  # seconds between two looks
ARGUMENTS = {
    "directory": {"type": "path", "required": True},
    "url": {"type": "str", "required": True},
    "engines": {"type": "dict", "default": {}},
    "mode": {"type": "str", "default": "report", "choices": ["report", "restart"]},
    "per_hour": {"type": "int", "default": 2},
    "counts": {"type": "str", "default": ""},
    "proves": {"type": "str", "default": ""},
    "since": {"type": "float", "default": 0},
    "timeout": {"type": "int", "default": 900},
}


def chosen(params, check):
    """The decision as a result; noted if an engine is restarted because of it."""
    now, actions, most = time.time(), actions_of(params["directory"]), params["per_hour"]
    if params["counts"]:
        found = counted(params["counts"], services_of(params, params["counts"]), actions, most, now)
    else:
        page = page_of(ask(Target(params["url"]), "/health", timeout=10.0).body)
        found = decide(page, params["engines"], actions, most, params["mode"] == "restart", now)
    if found.engine and not check:
        note(params["directory"], {"at": now, "engine": found.engine, "services": found.services, "result": "began"})
    findings = [visible(text) for text in found.findings]
    return {
        "findings": findings,
        "engine": found.engine,
        "services": list(found.services),
        "stuck": list(found.stuck),
        "at": now,
    }


def services_of(params, engine):
    """Those of the instance of the engine."""
    return params["engines"].get(engine) or [engine]


def waited(params):
    """What is still missing at the end of the time; "" if the engine is proven."""
    began, end = time.time(), time.monotonic() + params["timeout"]
    while True:
        missing = proven(
            ask(Target(params["url"]), "/metrics", timeout=10.0).body, services_of(params, params["proves"]), began
        )
        if not missing or time.monotonic() > end:
            return missing
        time.sleep(PAUSE)


def proof(params, check):
    """The result of a restart; noted."""
    missing = "" if check else waited(params)
    action = {
        "at": params["since"],
        "engine": params["proves"],
        "services": services_of(params, params["proves"]),
    }
    if not check:
        note(params["directory"], dict(action, result=f"not proven: {missing}" if missing else "proven"))
    text = f"{params['proves']} was restarted, and after {params['timeout']} s {missing}. Fix: run verify, and read its log"
    findings = [visible(text)] if missing else []
    return {"findings": findings, "engine": "", "services": [], "at": params["since"]}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    work = proof if module.params["proves"] else chosen
    try:
        result = work(module.params, module.check_mode)
    except OSError as error:
        told = explained(error, module.params["directory"], ". Fix: run with become")
        module.fail_json(msg=visible(f"The record of the watchdog cannot be used: {told}"))
    module.exit_json(changed=bool(result["engine"]), **result)


if __name__ == "__main__":
    main()
