#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_share
short_description: Hand a model's files to other hosts for a while
version_added: 0.1.0
description:
  - Serves the files of one model by HTTP to who has the token, as a user without privileges, until the time is over or O(state=absent) ends it.
  - Run it with C(async).
options:
  path:
    description: Folder of the model.
    type: path
    required: true
  state:
    description: V(absent) ends the server.
    type: str
    choices: [present, absent]
    default: present
  address:
    description: Address of the host in the cluster's network.
    type: str
    default: ""
  port:
    description: The port.
    type: int
    default: 0
  token:
    description: What a host has to send to get a file.
    type: str
    default: ""
  seconds:
    description: Seconds after which the server ends by itself.
    type: int
    default: 3600
extends_documentation_fragment:
  - ascend.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: none
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.model_delivery
"""

EXAMPLES = r"""
- name: Hand out the model
  ascend.inference.model_share:
    path: /models/Qwen3-30B-A3B
    address: 192.0.2.1
    port: 7199
    token: "{{ token }}"
  async: 3600
  poll: 0
"""

RETURN = r""" # """

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files import own_folder
from ..module_utils.model import share
from ..module_utils.tools.text import visible

ARGUMENTS = dict(
    path=dict(type="path", required=True),
    state=dict(type="str", choices=["present", "absent"], default="present"),
    address=dict(type="str", default=""),
    port=dict(type="int", default=0),
    token=dict(type="str", default="", no_log=True),
    seconds=dict(type="int", default=3600),
)


def main():
    """Serve, or end the server."""
    required = [("state", "present", ("address", "port", "token"))]
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True, required_if=required)
    params = module.params
    if module.check_mode:
        module.exit_json(changed=False)
    try:
        if params["state"] == "absent":
            share.stop(params["path"])
            module.exit_json(changed=False)
        share.serve(params["path"], params["address"], params["port"], params["token"], params["seconds"])
    except (share.Refused, own_folder.Foreign, OSError) as error:
        module.fail_json(msg=visible(str(error)))
    module.exit_json(changed=False)


if __name__ == "__main__":
    main()
