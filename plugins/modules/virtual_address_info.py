#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: virtual_address_info
short_description: Tell whether a host has an address now
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Reads the kernel's tables, so that it needs neither rights nor a program. With a virtual address it tells which balancer has the clients' requests.
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
options:
  address:
    description: The address.
    type: str
    required: true
seealso:
  - module: ascend.inference.virtual_address
"""

EXAMPLES = r"""
- name: Ask whether this host has the virtual address
  ascend.inference.virtual_address_info:
    address: 10.0.0.100
  register: asked
"""

RETURN = r"""
held:
  description: Whether the host has it.
  returned: success
  type: bool
  sample: true
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.virtual_address import holds


def main():
    module = AnsibleModule({"address": {"type": "str", "required": True}}, supports_check_mode=True)
    address = module.params["address"]
    try:
        held = holds(address)
    except ValueError:
        module.fail_json(msg=f"{address!r} is not an IP address. Fix: write one, such as 10.0.0.100")
    if held is None:
        module.fail_json(
            msg="the kernel's addresses below /proc/net cannot be read, so it is not known who has the virtual address. Fix: mount /proc"
        )
    module.exit_json(changed=False, held=held)


if __name__ == "__main__":
    main()
