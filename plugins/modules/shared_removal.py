#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module shared_removal."""

from __future__ import annotations

DOCUMENTATION = r"""
module: shared_removal
short_description: Remove environments, caches and the model that deployments shared
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Removes only what carries a mark of this collection, and only if no deployment is left below the root. Everything else stays and is
    returned.
  - Folders of the collection's layout that are empty are removed in any case.
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  root:
    description: The plan's C(root). A folder of the system, such as V(/usr), is refused.
    type: path
    required: true
  caches:
    description: Remove environments and caches.
    type: bool
    default: false
  model:
    description: Folder of a model to remove. It stays unless the role P(ascend.inference.model#role) made it. Empty means none.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Remove what the last deployment left
  ascend.inference.shared_removal:
    root: /opt/ascend-inference
    caches: true
"""

RETURN = r"""
removed:
  description: What was removed, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: [/opt/ascend-inference/venvs/tools]
kept:
  description: What stays, each with the reason.
  returned: success
  type: list
  elements: dict
  sample: [{path: /opt/ascend-inference/venvs/mine, reason: was not made by this collection}]
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files.system_folders import is_no_data, refusal
from ..module_utils.install.shared_removal import decide, remove
from ..module_utils.tools.text import visible

ARGUMENTS = {
    "root": {"type": "path", "required": True},
    "caches": {"type": "bool", "default": False},
    "model": {"type": "str", "default": ""},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    root, model = module.params["root"].rstrip("/") or "/", module.params["model"].rstrip("/")
    problem = refusal(root) or (refusal(model, is_no_data) if model else "")
    if problem:
        module.fail_json(msg=visible(problem))
    try:
        removed, kept = decide(root, module.params["caches"], model)
        if not module.check_mode:
            remove(root, removed)
    except OSError as error:
        module.fail_json(msg=visible(f"Shared files below {root}: {error}"))
    lines = {"before": "".join(path + "\n" for path in removed), "after": "", "before_header": root}
    module.exit_json(changed=bool(removed), removed=removed, kept=kept, diff=lines)


if __name__ == "__main__":
    main()
