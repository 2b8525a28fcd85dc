# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_log
short_description: Read new lines of the services' logs
version_added: 0.1.0
description:
  - Without O(marks) it returns the current ends of the logs of one host's services.
    With these marks it returns red flags, lines of KV transfers and their milliseconds since then, and each log's last lines.
  - Reads files, the journal and containers' logs; changes nothing. Runs on the host where the services run.
author:
  - The ascend.inference contributors (@ascend-inference)
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
    details: It only reads.
  diff_mode:
    support: none
  platform:
    platforms: posix
options:
  verify:
    description: The section C(verify) of the plan; see M(ascend.inference.service_verify).
    type: dict
    required: true
  host:
    description: Inventory name of the host this runs on. The logs of the services on this host are read.
    type: str
    required: true
  marks:
    description: The marks of an earlier call. By default marks are created.
    type: dict
  brief:
    description: With O(marks) only counts of red flags and transfers are returned, for windows with many lines.
    type: bool
    default: false
  causes:
    description: Logs of services of this host by name, as the plan has them. Only the causes of failures in them are returned, as texts.
    type: dict
    default: {}
  known_issues:
    description: With O(causes), issues that upstream knows of the release, as of M(ascend.inference.service_state).
    type: list
    elements: dict
    default: []
seealso:
  - module: ascend.inference.service_verify
"""

EXAMPLES = r"""
- name: Record the ends of the logs
  ascend.inference.service_log:
    verify: "{{ inference_plan.verify }}"
    host: "{{ inventory_hostname }}"
  register: before

- name: Read the new lines of the logs
  ascend.inference.service_log:
    verify: "{{ inference_plan.verify }}"
    host: "{{ inventory_hostname }}"
    marks: "{{ before.marks }}"
  register: after
"""

RETURN = r"""
marks:
  description: Inode and size of the log (0 for a log that is not a file), and the time, by service.
  returned: without O(marks)
  type: dict
  sample: {decode-0: {inode: 131, size: 40960, time: 1790000000}}
time:
  description: The time of this host, for M(ascend.inference.kubernetes_info).
  returned: without O(marks)
  type: float
logs:
  description: Contents of the log, by service.
  returned: with O(marks), without O(brief)
  type: dict
  contains:
    readable:
      description: Whether the log could be read.
      type: bool
    problem:
      description: The reason why it could not be read.
      type: str
    red_flags:
      description: Lines since the mark that report lost, late or wrong KV.
      type: list
      elements: str
    alarms:
      description: Lines since the mark with the level of a warning or worse.
      type: list
      elements: str
    expired:
      description: Lines about KV of requests that began before the mark and that no decode engine fetched in time; none of RV(logs.red_flags).
      type: list
      elements: str
    transferred:
      description: Lines since the mark that report a received KV of a request.
      type: list
      elements: str
    delayed:
      description: Lines since the mark that report that prefill holds a request's KV.
      type: list
      elements: str
    transfer_ms:
      description: Milliseconds of the transfers, from those lines.
      type: list
      elements: float
    listening:
      description: Number of listener lines in the whole log.
      type: int
    tail:
      description: Its last lines.
      type: list
      elements: str
    causes:
      description: >-
        Known causes of failures in its last lines, as findings - C(id), C(path) (the service), C(problem), C(value) (the line), C(why), C(fix).
      type: list
      elements: dict
  sample: {decode-0: {readable: true, problem: "", red_flags: [], expired: [], alarms: [], listening: 0, tail: []}}
told:
  description: What the log of each service of O(causes) says of a failure.
  returned: with O(causes)
  type: list
  elements: str
  sample: ["decode-0: no error is in its log"]
counts:
  description: >-
    Of each service C(readable), C(problem), C(flags) (lines by the name of a red flag), C(first) (the first of them), C(expired) (number of
    lines about requests that began before the mark, which are no flags), C(transfers) of KV and the sum of their milliseconds, C(transfer_ms).
  returned: with O(marks) and O(brief)
  type: dict
  sample: {decode-0: {readable: true, problem: "", flags: {}, first: "", expired: 0, transfers: 64, transfer_ms: 801.5}}
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.runtime.base import RuntimeProblem, command
from ..module_utils.tools.runner import MOST_LOG
from ..module_utils.tools.text import visible
from ..module_utils.verify import logs
from ..module_utils.verify.plan import Log, PlanError, read_plan

ARGUMENTS = {
    "verify": {"type": "dict", "required": True},
    "host": {"type": "str", "required": True},
    "marks": {"type": "dict"},
    "brief": {"type": "bool", "default": False},
    "causes": {"type": "dict", "default": {}},
    "known_issues": {"type": "list", "elements": "dict", "default": []},
}


TIMEOUT = 300  # seconds that a runtime may take to print a log


def run(argv):
    """(return code, both streams as one text). docker writes a container's stderr to its own stderr. OSError if it hangs."""
    try:
        return command(argv, TIMEOUT, MOST_LOG)
    except RuntimeProblem as error:
        raise OSError(str(error)) from error


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    try:
        plan = read_plan(params["verify"])
    except PlanError as error:
        module.fail_json(msg=visible(f"The plan's section verify cannot be used: {error}."), problems=error.problems)
    services = logs.services_of(plan, params["host"])
    if params["causes"]:
        # Also of processes without an API, which the section verify does not have.
        known = {name: Log(*(log.get(key) or "" for key in Log._fields)) for name, log in params["causes"].items()}
        chosen = sorted((name, log) for name, log in known.items() if log.kind not in ("", "none"))
        read = logs.read(chosen, {}, plan.release.lines, run)
        module.exit_json(changed=False, told=[visible(text) for text in logs.told(read, params["known_issues"])])
    if params["marks"] is None:
        module.exit_json(changed=False, marks=logs.mark(services), time=time.time())
    if params["brief"]:
        module.exit_json(changed=False, counts=logs.counts(services, params["marks"], plan.release.lines, run))
    read = logs.read(services, params["marks"], plan.release.lines, run)
    module.exit_json(changed=False, logs=read)


if __name__ == "__main__":
    main()
