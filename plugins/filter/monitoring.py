# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter of the role and the playbook monitoring: the files for Prometheus and Grafana."""

from __future__ import annotations

DOCUMENTATION = """
name: _monitoring_files
short_description: Compute the files for Prometheus and Grafana
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
  - Returns targets, rules and the dashboard of a deployment, and what they do not watch.
positional: settings, hosts
options:
  _input:
    description: The plan, as P(ascend.inference.launch_plan#filter) returns it.
    type: dict
    required: true
  settings:
    description: The variable C(inference_monitoring).
    type: dict
    required: true
  hosts:
    description: Names of the hosts of the inventory. Without them the name of the host is not compared.
    type: list
    elements: str
"""

EXAMPLES = """
monitoring: "{{ inference_plan | ascend.inference._monitoring_files(inference_monitoring | default({})) }}"
"""

RETURN = """
_value:
  description: >-
    C(files) and C(folders), options of M(ascend.inference.service_files), their C(paths), the C(configuration) that Prometheus
    needs, and C(notes) about what is not watched.
  type: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.description.loader import plain
from ..plugin_utils.monitoring.files import monitoring_files


def files_filter(plan: t.Any, settings: t.Any, hosts: t.Any = None) -> dict[str, t.Any]:
    """Adapter: the plan on the left. Raises AnsibleFilterError with all errors of the settings."""
    try:
        return monitoring_files(plain(plan), plain(settings), plain(hosts))
    except PlanError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_monitoring_files": files_filter}
