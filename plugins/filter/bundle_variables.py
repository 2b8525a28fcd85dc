# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter bundle_variables: the variables of a host that the list of a bundle depends on."""

from __future__ import annotations

DOCUMENTATION = """
name: _bundle_variables
short_description: Select the variables of a host that a bundle depends on
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.bundle.checkouts import VARIABLES
from ..plugin_utils.description.loader import plain

OWN = {
    "platform": "inference_bundle_platform",
    "environments": "__inference_environments",
    "sources": "inference_bundle_sources",
}
OF_ROLES = """cann_method cann_source cann_source_on_host cann_checksums router_script_image
    router_haproxy_package virtual_address_package etcd_package container_runtime_packages firewall_packages model_origin"""
NAMES = {**OWN, **{name: name for name in (*OF_ROLES.split(), *VARIABLES)}}


def bundle_variables(hostvars: t.Any) -> dict[str, t.Any]:
    """Those variables of a host that are set."""
    return {name: plain(hostvars[variable]) for name, variable in NAMES.items() if variable in hostvars}


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_bundle_variables": bundle_variables}
