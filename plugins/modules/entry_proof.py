#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: entry_proof
short_description: Prove what an entry does with its settings
version_added: 0.1.0
description:
  - Starts a second process of the entry's program with the same models, teams, shares and limits, on free ports of the host itself, with stand-ins
    for routers and with other keys. Sends requests, and ends it.
  - So what teams may use is not touched. Each router then gets one request with one token, and the address of clients one without a key.
  - Nothing of the host is changed.
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
options:
  twin:
    description: Files, command and expectations, as the role C(entry) makes them.
    type: dict
    required: true
  routers:
    description: Models with addresses of routers, which get one request with one token each. O(routers[].key) is a name in O(engine_keys).
    type: list
    elements: dict
    default: []
    suboptions:
      model: {description: Name of the model., type: str, required: true}
      address: {description: Address and port of the router., type: str, required: true}
      key: {description: Name of the engines' key., type: str, default: ""}
  engine_keys:
    description: Keys of engines by names.
    type: dict
    default: {}
  address:
    description: Address of clients, if they reach this host. It has to ask for a key.
    type: str
    default: ""
  port:
    description: Its port.
    type: int
    default: 443
  certificate:
    description: SHA-256 of the certificate that it has to show, in DER. Empty without TLS.
    type: str
    default: ""
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.entry_usage_info
"""

EXAMPLES = r"""
- name: Prove routes, refusals, shares, limits and usage
  ascend.inference.entry_proof:
    twin: "{{ entry_settings | ascend.inference._entry_twin(entry_hosts) }}"
"""

RETURN = r"""
steps:
  description: What was tried. C(status) is C(passed), C(failed) or C(skipped), C(detail) has figures or the reason.
  returned: always
  type: list
  elements: dict
  sample: [{step: requests_per_minute of lab, status: passed, detail: "60 of 60 in 0 s, then 429"}]
lines:
  description: The same for people, below a line that says whether all of it was proven.
  returned: always
  type: list
  elements: str
  sample: ["The entry is verified:", "requests_per_minute of lab: passed, 60 of 60 in 0 s, then 429"]
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.entry.proof import proof
from ..module_utils.entry.served import door, routers

ALL = "The entry is verified:"
SOME = "The entry does what its settings say. Not proven is what was skipped:"
WRONG = (
    "The entry does not do what its settings say. {}. Fix: if routers refuse a model, correct its name or its deployment; else report it with the version "
    "of the program"
)


def main():
    way = dict(model=dict(required=True), address=dict(required=True), key=dict(default="", no_log=False))
    options = dict(
        twin=dict(type="dict", required=True, no_log=False),
        routers=dict(type="list", elements="dict", default=[], options=way),
        engine_keys=dict(type="dict", default={}, no_log=True),
        address=dict(default=""),
        port=dict(type="int", default=443),
        certificate=dict(default=""),
    )
    module = AnsibleModule(options, supports_check_mode=True)
    given = module.params
    try:
        steps = proof(given["twin"]) + routers(given["routers"], given["engine_keys"])
        if given["address"]:
            steps += door(given["address"], given["port"], given["certificate"])
    except OSError as error:
        text = f"The settings of the entry were not proven: {error}. Fix: see what the program says, and run the playbook again"
        module.fail_json(msg=text, steps=[], lines=[])
    lines = ["{step}: {status}, {detail}".format(**step) for step in steps]
    wrong = [line for line, step in zip(lines, steps) if step["status"] == "failed"]
    if wrong:
        module.fail_json(msg=WRONG.format("; ".join(wrong)), steps=steps, lines=lines)
    head = SOME if any(step["status"] == "skipped" for step in steps) else ALL
    module.exit_json(changed=False, steps=steps, lines=[head, *lines])


if __name__ == "__main__":
    main()
