#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module deployed_plan_info."""

from __future__ import annotations

DOCUMENTATION = r"""
module: deployed_plan_info
short_description: Read the plan that a host stores of a deployment
version_added: 0.1.0
description:
  - Returns the text of C(plan.json) in the deployment's folder, which C(deploy) wrote.
  - Reads the file only if nobody except root and the connected user can have written it, and follows no link to it. Otherwise a service's
    user could plant a plan that root carries out. Such a file counts as no plan, with a warning.
  - Changes nothing.
options:
  directory:
    description: The deployment's folder on the host.
    type: path
    required: true
  content:
    description: Whether the text is returned. It has the whole plan, so of many hosts one is enough.
    type: bool
    default: true
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.service_status
"""

EXAMPLES = r"""
- name: Read the deployed plan
  ascend.inference.deployed_plan_info:
    directory: /opt/ascend-inference/deployments/inference
  register: deployed

- name: Show the runtime of the deployed plan
  ansible.builtin.debug:
    msg: "{{ (deployed.content | from_json).runtime }}"
  when: deployed.content | length > 0
"""

RETURN = r"""
content:
  description: The text of the plan; empty if there is none, or none that is trusted.
  returned: success
  type: str
  sample: '{"plan_version": 4}'
half:
  description: The half of the instances that an upgrade was changing when it was interrupted; empty if there is none, V(unknown) if the journal is damaged.
  returned: success
  type: str
  sample: ""
revisions:
  description: The revisions that engines may have because a change began and has not ended; empty if there is none, V(unknown) stands for any.
  returned: success
  type: list
  elements: str
  sample: []
reason:
  description: Why there is no text; empty if there is.
  returned: success
  type: str
  sample: "/opt/ascend-inference/deployments/inference/plan.json: No such file or directory"
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files import journal
from ..module_utils.status.plan import PLAN, deployed_text
from ..module_utils.tools.text import visible

PRIVATE = (
    "The deployed plan in {} cannot be read by the connected user. It belongs to root, as other users of this host must not see commands and settings of "
    "services, so become is needed although nothing is changed. Fix: run with --become."
)
ARGUMENTS = {"directory": {"type": "path", "required": True}, "content": {"type": "bool", "default": True}}


def main():
    # type: () -> None
    """Run the module."""
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    directory = module.params["directory"].rstrip("/")
    try:
        text, reason = deployed_text(directory)
        half = journal.unfinished_half(directory) if text else ""
        revisions = journal.revisions(directory) if text else []
    except PermissionError:
        module.fail_json(msg=visible(PRIVATE.format(directory)))
    except OSError as error:
        module.fail_json(
            msg=visible(f"The deployed plan in {directory} cannot be read: {error.strerror}. Fix: correct that.")
        )
    if reason and os.path.lexists(os.path.join(directory, PLAN)):
        module.warn(visible(reason))
    known = {"half": half, "revisions": revisions, "reason": visible(reason)}
    module.exit_json(changed=False, content=text if module.params["content"] else "", **known)


if __name__ == "__main__":
    main()
