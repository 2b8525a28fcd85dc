#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: own_folder
short_description: Make and remove a temporary folder, which is never another one of this name
version_added: 0.1.0
description:
  - Makes a folder with a mark, or goes on in one that has the mark, which an interrupted run left. Removes only a folder with the mark.
  - A folder without the mark belongs to somebody else. It is refused with O(state=present), and stays with O(state=absent).
options:
  path:
    description: The folder.
    type: path
    required: true
  state:
    description: Whether it should exist.
    type: str
    choices: [present, absent]
    default: present
extends_documentation_fragment:
  - ascend.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.source_archive
"""

EXAMPLES = r"""
- name: Make the folder
  ascend.inference.own_folder:
    path: /models/qwen.unpacking
  register: temporary

- name: Unpack the model
  ansible.builtin.unarchive:
    src: qwen.tar.gz
    dest: "{{ temporary.content }}"

- name: Remove the folder
  ascend.inference.own_folder:
    path: /models/qwen.unpacking
    state: absent
"""

RETURN = r"""
content:
  description: The folder in it that is for the content.
  returned: success
  type: str
  sample: /models/qwen.unpacking/content
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files import own_folder
from ..module_utils.tools.text import visible


def main():
    """Make or remove the folder."""
    module = AnsibleModule(
        dict(
            path=dict(type="path", required=True),
            state=dict(type="str", choices=["present", "absent"], default="present"),
        ),
        supports_check_mode=True,
    )
    path, absent = module.params["path"], module.params["state"] == "absent"
    changed = own_folder.is_own(path) == absent
    try:
        if not absent:
            own_folder.require_own(path)
        if not module.check_mode:
            # An archive may bring programs that run with the rights of their owner: nobody else reaches them before they are judged.
            own_folder.end(path) if absent else own_folder.begin(path, 0o700)
    except (own_folder.Foreign, OSError) as error:
        module.fail_json(msg=visible(str(error)))
    module.exit_json(changed=changed, content=os.path.join(path, own_folder.CONTENT))


if __name__ == "__main__":
    main()
