#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: entry_info
short_description: Tell what an entry says of itself now
version_added: 0.1.0
description:
  - Reads the metrics of the entry on its host, and whether the host has the clients' address. Changes nothing.
  - An entry that does not answer is no error, but RV(answers) is false.
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
options:
  port:
    description: The port of its status page.
    type: int
    default: 8013
  address:
    description: The clients' address, which one of two hosts has. Without it RV(held) is null.
    type: str
    default: ""
  listens:
    description: Sockets of the entry, as C(ADDRESS:PORT). RV(taken) says which of them other programs have.
    type: list
    elements: str
    default: []
  configuration:
    description: The file that the entry's own program is started with.
    type: path
    default: ""
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.virtual_address_info
  - module: ascend.inference.entry_usage_info
"""

EXAMPLES = r"""
- name: Ask the entry which models have a router
  ascend.inference.entry_info:
    address: 192.0.2.100
  register: entry
"""

RETURN = r"""
answers:
  description: Whether the entry answers.
  returned: success
  type: bool
  sample: true
problem:
  description: Why it does not.
  returned: success
  type: str
  sample: ""
digest:
  description: A digest of its settings, keys of teams and certificate. Hosts with the same ones have the same digest.
  returned: success
  type: str
  sample: 0f3c51aa9be2
routers:
  description: For each model how many of its routers answer, and how many of its fallback.
  returned: success
  type: dict
  sample: {qwen3: [2, 0]}
held:
  description: Whether the host has the address; null if that is not known.
  returned: success
  type: bool
  sample: true
taken:
  description: Sockets of other programs where the entry listens, or would.
  returned: success
  type: list
  elements: str
  sample: ["0.0.0.0:443 (nginx: master process /usr/sbin/nginx)"]
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.entry.state import state, taken


def main():
    options = dict(
        port=dict(type="int", default=8013),
        address=dict(type="str", default=""),
        listens=dict(type="list", elements="str", default=[]),
        configuration=dict(type="path", default=""),
    )
    module = AnsibleModule(options, supports_check_mode=True)
    given = module.params
    others = taken(given["listens"], given["configuration"])
    module.exit_json(changed=False, taken=others, **state(given["port"], given["address"]))


if __name__ == "__main__":
    main()
