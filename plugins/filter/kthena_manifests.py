# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kthena_manifests: the objects of a plan as YAML documents."""

from __future__ import annotations

DOCUMENTATION = """
name: kthena_manifests
short_description: The objects of a plan as YAML documents
version_added: 0.1.0
author: The ascend.inference contributors (@ascend-inference)
description:
  - Returns the Kubernetes objects of a plan as text, in the order in which they are applied.
positional: form
options:
  form:
    description: V(text) for one text, V(files) for a file for each object and a kustomization.
    type: str
    choices: [text, files]
    default: text
  _input:
    description: The plan.
    type: dict
    required: true
"""

EXAMPLES = """
- name: Print the manifests
  ascend.inference.print_text:
    text: "{{ inference_plan | ascend.inference.kthena_manifests }}"
"""

RETURN = """
_value:
  description: YAML documents; with O(form=files) a dictionary of them by file name.
  type: raw
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.loader import plain
from ..plugin_utils.runtimes.kubernetes.manifest_text import manifest_files, manifests


def kthena_manifests(plan: t.Any, form: str = "text") -> t.Any:
    """Adapter: a plan as plain data."""
    try:
        return (manifest_files if form == "files" else manifests)(plain(plan))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"kthena_manifests": kthena_manifests}
