# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter package_metadata: the requirements of packages that hosts build."""

from __future__ import annotations

DOCUMENTATION = """
name: _package_metadata
short_description: List the requirements of packages that hosts build
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
  - Lists what vLLM without a device requires, and what vLLM-Ascend requires if it is built. A version that is not known has an
    empty list.
positional: vllm, built
options:
  _input:
    description: The release of vLLM-Ascend.
    type: str
    required: true
  vllm:
    description: The version of vLLM.
    type: str
    required: true
  built:
    description: Whether vLLM-Ascend is built from source.
    type: bool
    default: false
"""

EXAMPLES = """
- name: Show what vLLM requires on hosts with NPUs
  ansible.builtin.debug:
    msg: "{{ '0.23.0' | ascend.inference._package_metadata('0.23.0') }}"
"""

RETURN = """
_value:
  description: Requirements by package and version.
  type: dict
  sample:
    vllm==0.23.0: [regex, cachetools]
"""

import typing as t

from ..plugin_utils.releases.package_indexes import metadata


def metadata_filter(release: t.Any, vllm: t.Any, built: t.Any = False) -> dict[str, list[str]]:
    """Requirements by package and version."""
    return metadata(str(vllm), str(release), bool(built))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_package_metadata": metadata_filter}
