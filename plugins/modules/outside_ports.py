#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: outside_ports
short_description: Find planned ports that answer a machine outside of the cluster
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Opens a TCP connection to each planned port of each host and closes it again. Runs on the machine from which the ports are tried,
    such as the controller. Nothing is sent.
  - Ranges of more than 256 ports are not tried. Their ports are chosen at random when engines start.
attributes:
  diff_mode:
    support: none
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  hosts:
    description: The hosts of the plan. Of each, C(name), C(address) and C(firewall) are read.
    type: list
    elements: dict
    required: true
  timeout:
    description: Seconds to wait for an answer of a port.
    type: int
    default: 2
"""

EXAMPLES = r"""
- name: Try the ports from here
  ascend.inference.outside_ports:
    hosts: "{{ lookup('ascend.inference.plan').hosts }}"
  register: outside
"""

RETURN = r"""
open:
  description: The ports that answer.
  returned: success
  type: list
  elements: dict
  sample: [{host: node1, address: 10.0.0.11, port: 7100, sources: [cluster], what: prefill-0 api}]
exposed:
  description: Those of RV(open) that only the cluster or the monitoring needs.
  returned: success
  type: list
  elements: dict
  sample: []
untried:
  description: Planned ports that this machine could not try, such as without a route. It is unknown whether they answer.
  returned: success
  type: list
  elements: dict
  sample: []
text:
  description: The result as text, with the fix.
  returned: success
  type: str
  sample: 12 planned ports were tried from here, each for 2 s.
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.firewall.outside import exposed, probe, report, targets
from ..module_utils.tools.text import visible

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "dict", "required": True},
    "timeout": {"type": "int", "default": 2},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    timeout = module.params["timeout"]
    try:
        tried, left = targets(module.params["hosts"])
    except (KeyError, ValueError) as error:
        module.fail_json(msg=f"hosts are not those of a plan: {error}")
    opened, untested = probe(tried, timeout)
    found = exposed(opened)
    module.exit_json(
        changed=False,
        open=[target._asdict() for target in opened],
        exposed=[target._asdict() for target in found],
        untried=[target._asdict() for target, dummy in untested],
        text=visible(report(found, tried, left, timeout, untested)),
    )


if __name__ == "__main__":
    main()
