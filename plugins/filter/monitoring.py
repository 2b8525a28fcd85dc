# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter of the role and the playbook monitoring: the files for Prometheus and Grafana."""

from __future__ import annotations

DOCUMENTATION = """
name: _monitoring_files
short_description: Compute the files for Prometheus and Grafana
extends_documentation_fragment: [ascend.inference.private]
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
