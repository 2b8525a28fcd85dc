# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_verdict
short_description: Join what the requests showed with what the logs say
version_added: 0.1.0
description:
  - Takes the report of M(ascend.inference.service_verify) and adds what M(ascend.inference.service_log) read on each host.
    A red flag in a log, or a probe request without its transfer line, fails a report that was green before.
author:
  - The ascend.inference contributors (@ascend-inference)
positional: _input, verify, logs
options:
  _input:
    description: The report.
    type: dict
    required: true
  verify:
    description: The section C(verify) of the plan.
    type: dict
    required: true
  logs:
    description: RV(ascend.inference.service_log#module:logs) of each host.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: The last word
  ansible.builtin.debug:
    msg: "{{ gate.report | ascend.inference.verify_verdict(inference_plan.verify, [after.logs]) }}"
"""

RETURN = r"""
_value:
  description: >-
    The report, with the step C(logs) judged, C(transfer_ms) from the logs, C(tails) (last lines of each service that a failure names),
    C(request) (a curl line that asks the service) and
    C(explanation) (all of it as lines).
  type: dict
"""

from ansible.errors import AnsibleFilterError

from ..module_utils.verify.plan import PlanError, read_plan
from ..module_utils.verify.verdict import verdict
from ..plugin_utils.views.verify_text import verify_text


def verify_verdict(report, verify, logs):
    """The joined report. Raises AnsibleFilterError for a section that is not the plan's."""
    try:
        joined = verdict(read_plan(verify), report, logs)
    except PlanError as error:
        raise AnsibleFilterError(f"The plan's section verify cannot be used: {error}.") from error
    return {**joined, "explanation": verify_text(joined)}


class FilterModule:
    """Names the filter to Ansible."""

    def filters(self):
        return {"verify_verdict": verify_verdict}
