# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an inventory that cannot be planned still tells: which deployment is meant, and on which hosts it may be.

Playbooks such as status and remove then work with the plans that the hosts stored.
"""

from __future__ import annotations

import typing as t

from ..description.inventory import GROUP, deployment_variables, members, unknown_group
from ..description.on_some_hosts import on_some_hosts
from ..description.values import natural
from ..description.variables import PREFIX, read_description
from ..runtimes.registry import runtime
from .deployment import directory_of
from .rules.runtime import is_deployment_name, is_root

NAMES = {PREFIX + "deployment", PREFIX + "root", GROUP}
RUNTIME = PREFIX + "runtime"


def unplanned(variables: t.Any, hostvars: t.Any, groups: t.Any) -> dict[str, t.Any]:
    """``{deployment, root, directory, hosts, runtime_facts}`` from Ansible's variables, without localhost.

    Empty if the name or the root is invalid, or differs between hosts: another deployment would be taken for this one.
    """
    group = str(variables[GROUP]) if GROUP in variables else ""
    hosts = members(groups, group)
    named = {name: _named(hostvars[name]) for name in hosts}
    found, conflicts = deployment_variables(_named(variables), named, hosts)
    conflicts += on_some_hosts(found, _named(variables), named, groups)
    description, findings = read_description(found)
    unclear = {finding.path for finding in (*findings, *conflicts, *unknown_group(groups, group))}
    if unclear & NAMES or not is_deployment_name(description.deployment) or not is_root(description.root):
        return {}
    return {
        "deployment": description.deployment,
        "root": description.root,
        "directory": directory_of(description),
        "runtime_facts": {} if RUNTIME in unclear else runtime(description.runtime).facts(),
        "hosts": sorted((name for name in hosts if name != "localhost"), key=natural),
    }


def _named(variables: t.Any) -> dict[str, t.Any]:
    """No other variable is read: one may be undefined, such as that of a vault, which is no reason to know nothing."""
    return {name: variables[name] for name in sorted({*NAMES, RUNTIME}) if name in variables}
