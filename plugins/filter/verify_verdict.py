# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_verdict
short_description: Combine a verification report with the services' logs
version_added: 0.1.0
description:
  - Adds the results of M(ascend.inference.service_log) from each host to the report of M(ascend.inference.service_verify).
    A red flag in a log, or a probe request without its transfer line, fails the report.
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
  hosts:
    description:
      - Names of the first entries of O(logs). Of each of these, only the services of this host count. One that has a wrong form fails the report, which
        names its host; the others are evaluated.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Show the verdict
  ansible.builtin.debug:
    msg: "{{ gate.report | ascend.inference.verify_verdict(inference_plan.verify, [after.logs]) }}"
"""

RETURN = r"""
_value:
  description: >-
    The report, with the step C(logs) evaluated, C(transfer_ms) from the logs, C(tails) (last log lines of each failed service),
    C(causes) (known causes in these logs),
    C(request) (a curl command for the service) and
    C(explanation) (the report as lines).
  type: dict
"""

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.loader import plain
from ..plugin_utils.views.verify_verdict import judged_verdict


def verify_verdict(report, verify, logs, hosts=()):
    """The combined report. Raises AnsibleFilterError for an invalid section, and for an answer of the entry's host that is no report."""
    try:
        return judged_verdict(plain(report), verify, plain(logs), [str(host) for host in hosts])
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self):
        return {"verify_verdict": verify_verdict}
