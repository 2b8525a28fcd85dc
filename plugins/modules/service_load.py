#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_load
short_description: Send requests to a service while something happens to it, and report what clients saw
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Sends completions with unique prompts at temperature 0, every second one as a stream, and records each answer.
  - The playbook C(ascend.inference.drill) runs it beside M(ascend.inference.service_fault).
  - Requests begin at fixed times, whether earlier ones were answered or not, as those of independent clients do.
attributes:
  check_mode:
    details: Sends no requests.
  diff_mode:
    support: N/A
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  state:
    description:
      - V(idle) reads the counters of O(engines) twice, O(seconds) apart, and fails if they have or finished requests - others use the service.
      - V(running) sends requests until V(reported) ends it, at most for O(seconds). Run it with C(async).
      - V(baseline) waits until requests were sent for O(seconds), and fails if one of them got no good answer.
      - V(reported) ends the load, repeats requests to find wrong texts, and returns figures.
    type: str
    choices: [idle, running, baseline, reported]
    required: true
  directory:
    description: Existing directory for the recorded answers, except for V(idle). Remove it at the end.
    type: path
  deployment:
    description: The deployment's folder on this host. V(running) also ends when another run takes its lock over from the one that holds it, or it is free.
    type: path
    default: ""
  url:
    description: URL of the clients' entry, without a path, except for V(idle).
    type: str
    default: ""
  model:
    description: Name of the model that requests ask for.
    type: str
    default: ""
  api_key:
    description: Key of the service.
    type: str
    default: ""
  ca_path:
    description: File with certificates of trusted authorities, for an entry with TLS.
    type: path
    default: ""
  validate_certs:
    description: Whether the certificate of the entry must be valid.
    type: bool
    default: true
  server_name:
    description: Name in the certificate, if it is not the URL's.
    type: str
    default: ""
  certificate:
    description: The certificate that the entry has to show, as PEM, whatever names it has. It is trusted in place of O(ca_path).
    type: str
    default: ""
  engines:
    description: The engines whose counters V(idle) reads.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the engine.
        type: str
        required: true
      url:
        description: URL of the engine's API, without a path.
        type: str
        required: true
  engine_api_key:
    description: Key of the engines, for their counters.
    type: str
    default: ""
  rate:
    description: Requests per second. V(0) means that each client asks again as soon as it has its answer.
    type: float
    default: 4
  clients:
    description: Most requests at a time.
    type: int
    default: 64
  words:
    description: Words of a prompt.
    type: int
    default: 64
  output_tokens:
    description: Tokens of an answer.
    type: int
    default: 16
  request_timeout:
    description: Most seconds of one request.
    type: float
    default: 300
  seconds:
    description: Duration, see O(state).
    type: float
    default: 5
  begun:
    description: When the fault began, in seconds since 1970, for V(reported). M(ascend.inference.service_fault) returns it.
    type: float
    default: 0
  earliest:
    description: The end of V(baseline) by the clock of this host, for V(reported). A fault that O(begun) earlier has another clock.
    type: float
    default: 0
  ago:
    description: Seconds since the fault, at least, for V(reported). A fault that O(begun) later than so long ago has another clock.
    type: float
    default: 0
  window:
    description: Seconds over which the rate of good answers is compared with the rate before the fault.
    type: float
    default: 30
  compare:
    description: Most requests that are repeated to compare their texts.
    type: int
    default: 200
"""

EXAMPLES = r"""
- name: Send requests
  ascend.inference.service_load:
    state: running
    url: http://10.0.0.1:8000
    model: qwen3
    directory: /tmp/drill
    seconds: 900
  async: 960
  poll: 0

- name: Measure the service before the fault
  ascend.inference.service_load:
    state: baseline
    directory: /tmp/drill
    seconds: 60

- name: Report what clients saw
  ascend.inference.service_load:
    state: reported
    url: http://10.0.0.1:8000
    model: qwen3
    directory: /tmp/drill
    begun: 1790000000.5
"""

RETURN = r"""
requests:
  description: Requests that were answered or failed so far.
  returned: if O(state) is V(running) or V(baseline)
  type: int
  sample: 240
ended:
  description: When the baseline was measured, in seconds since 1970.
  returned: if O(state) is V(baseline)
  type: float
  sample: 1790000000.1
figures:
  description: >-
    C(baseline) and C(fault) with C(requests), C(answered), C(failed), C(empty), and seconds to the first text; C(fault) also with C(gap), the longest
    time without a good answer, C(recovered), the seconds until 95 % of the baseline, C(failing), when the last failed request began, C(wrong) texts
    of those C(compared), and C(problems). C(timeline) has the good and bad answers of each second.
  returned: if O(state) is V(reported)
  type: dict
  sample:
    baseline: {requests: 240, answered: 240, failed: 0, empty: 0, first_p50: 0.05, first_p99: 0.09, seconds: 60.0, per_second: 4.0}
"""

import os
import time

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.drill.compare import chosen, compare
from ..module_utils.drill.figures import figures
from ..module_utils.drill.load import Load, Records, Service, repeat
from ..module_utils.drill.others import Holder, users
from ..module_utils.tools.http_client import Target
from ..module_utils.tools.text import visible

STOP = "stop"  # this file ends the load
POLL = 0.2
TOLERANCE = 1.0  # seconds between the clocks of two hosts
ENGINE = {"name": {"type": "str", "required": True}, "url": {"type": "str", "required": True}}
ARGUMENTS = {
    "state": {"type": "str", "choices": ["idle", "running", "baseline", "reported"], "required": True},
    "directory": {"type": "path"},
    "deployment": {"type": "path", "default": ""},
    "url": {"type": "str", "default": ""},
    "model": {"type": "str", "default": ""},
    "api_key": {"type": "str", "default": "", "no_log": True},
    "ca_path": {"type": "path", "default": ""},
    "validate_certs": {"type": "bool", "default": True},
    "server_name": {"type": "str", "default": ""},
    "certificate": {"type": "str", "default": ""},
    "engines": {"type": "list", "elements": "dict", "default": [], "options": ENGINE},
    "engine_api_key": {"type": "str", "default": "", "no_log": True},
    "rate": {"type": "float", "default": 4},
    "clients": {"type": "int", "default": 64},
    "words": {"type": "int", "default": 64},
    "output_tokens": {"type": "int", "default": 16, "no_log": False},
    "request_timeout": {"type": "float", "default": 300},
    "seconds": {"type": "float", "default": 5},
    "begun": {"type": "float", "default": 0},
    "earliest": {"type": "float", "default": 0},
    "ago": {"type": "float", "default": 0},
    "window": {"type": "float", "default": 30},
    "compare": {"type": "int", "default": 200},
}


def idle(module):
    params = module.params
    found = users(params["engines"], params["engine_api_key"], params["seconds"])
    if found:
        module.fail_json(
            msg=visible(
                "Others use the service: {}. A drill fails some of their requests. Nothing was changed. "
                "Fix: run the drill when no other client uses the service. If a drill was killed before, its load sends nothing more since this run has "
                "locked the deployment, but its last requests may have to end: run again".format("; ".join(found))
            )
        )
    return {}


def running(module, service, records):
    params = module.params
    load = Load(service, params["clients"], params["rate"], records.keep)
    holder = Holder(params["deployment"].rstrip("/"))
    end = time.monotonic() + params["seconds"]
    load.start()
    while time.monotonic() < end and not os.path.exists(os.path.join(params["directory"], STOP)) and not holder.gone():
        time.sleep(POLL)
    load.stop(params["request_timeout"] + 5)
    records.finish(load.unsent)
    return {"requests": len(records.read()[0])}


def baseline(module, records):
    params = module.params
    end, found = time.monotonic() + params["seconds"] + params["request_timeout"], []
    while not found or time.time() - min(request.begun for request in found) < params["seconds"]:
        time.sleep(POLL)
        found, unsent = records.read()
        if unsent is not None or time.monotonic() > end:
            module.fail_json(msg="The load ended before the baseline was measured. No fault was made.")
    bad = [request for request in found if request.problem]
    if bad:
        text = "{} of {} requests got no good answer before any fault: {}. No fault was made. Fix: run ascend.inference.verify"
        module.fail_json(msg=visible(text.format(len(bad), len(found), bad[0].problem)))
    return {"requests": len(found), "ended": time.time()}


def same_clock(module):
    """The fault's host has counted its begin; with another clock, its failures would count as those of the baseline, and the fault would pass."""
    params, latest = module.params, time.time() - module.params["ago"]
    apart = max(params["earliest"] - params["begun"], params["begun"] - latest)
    if apart > TOLERANCE:
        module.fail_json(
            msg=f"The clock of the fault's host and the clock of the load's host differ by at least {apart:.1f} s, so it is not known which answers "
            "came before the fault. Fix: set up chrony on both, then repeat the drill"
        )


def reported(module, service, records):
    params = module.params
    with open(os.path.join(params["directory"], STOP), "w"):
        pass
    end, unsent = time.monotonic() + params["request_timeout"] + 30, None
    while unsent is None:
        time.sleep(POLL)
        found, unsent = records.read()
        if time.monotonic() > end:
            module.fail_json(msg="The load did not end, so nothing is known about the answers.")
    found.sort(key=lambda request: request.begun)
    after = [request for request in found if request.ended > params["begun"]]
    before = [request for request in found if request.ended <= params["begun"]]
    result = figures(found, params["begun"], params["window"])
    for name, requests, most in (("baseline", before, params["compare"] // 4), ("fault", after, params["compare"])):
        texts = compare(chosen(requests, most), lambda request: repeat(service, request))
        result[name].update(
            compared=texts.compared, wrong=len(texts.wrong), unstable=texts.unstable, not_repeated=texts.lost
        )
    result["fault"]["unsent"] = unsent
    for row in result["fault"]["problems"]:
        row["problem"] = visible(row["problem"])
    return {"figures": result}


def main():
    required = [("state", state, ("directory",)) for state in ("running", "baseline", "reported")]
    required += [("state", state, ("url", "model")) for state in ("running", "reported")]
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True, required_if=required)
    params = module.params
    if module.check_mode:
        module.exit_json(changed=False)
    if params["state"] == "idle":
        module.exit_json(changed=False, **idle(module))
    shown = {"ca_data": params["certificate"], "check_name": not params["certificate"]}
    names = ("url", "api_key", "ca_path", "validate_certs", "server_name")
    target = Target(*(params[name] for name in names), **shown)
    service = Service(target, params["model"], params["words"], params["output_tokens"], params["request_timeout"])
    records = Records(os.path.join(params["directory"], "requests.jsonl"))
    try:
        if params["state"] == "running":
            result = running(module, service, records)
        elif params["state"] == "baseline":
            result = baseline(module, records)
        else:
            same_clock(module)
            result = reported(module, service, records)
    except OSError as error:
        module.fail_json(msg=visible(f"The recorded answers cannot be kept: {error}"))
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
