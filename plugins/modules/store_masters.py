#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: store_masters
short_description: Find the leader among several masters of the Mooncake store, or measure a failover
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - With O(state=found) finds the master that serves, and reads its counters.
  - With O(state=followed) waits until the leader has gone, another master serves, and its clients are back. The playbook
    C(ascend.inference.drill) runs it beside M(ascend.inference.service_fault), which kills or pauses the leader.
  - Changes nothing.
attributes:
  check_mode:
    description: Can run in check_mode and return the same result.
    support: full
    details: Does not wait for a failover.
  diff_mode:
    support: none
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  state:
    description: What to do.
    type: str
    choices: [found, followed]
    default: found
  masters:
    description: All masters.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the service.
        type: str
        required: true
      url:
        description: URL of its metrics port.
        type: str
        required: true
  timeout:
    description: Most seconds to wait, with V(found) for a leader and with V(followed) for a new leader with all clients.
    type: float
    default: 30
"""

EXAMPLES = r"""
- name: Find the leader
  ascend.inference.store_masters:
    masters:
      - {name: mooncake-master-0, url: "http://10.0.0.1:9003"}
      - {name: mooncake-master-1, url: "http://10.0.0.2:9003"}
  register: store
"""

RETURN = r"""
leader:
  description: Name of the master that serves at the end.
  returned: success
  type: str
  sample: mooncake-master-1
clients:
  description: Its clients; null if it does not give this counter.
  returned: success
  type: float
  sample: 16
stored_keys:
  description: Its keys; null if it does not give this counter.
  returned: success
  type: float
  sample: 200
before:
  description: The leader, clients and keys before the failover, with the same keys.
  returned: with O(state=followed)
  type: dict
  sample: {"leader": "mooncake-master-0", "clients": 16, "stored_keys": 200}
leaderless:
  description: Seconds between the last answer of the old leader and the first of the new one; null if there was no new leader.
  returned: with O(state=followed)
  type: float
  sample: 9.5
clients_after:
  description: Seconds until the new leader had as many clients as the old one; null if it did not get them.
  returned: with O(state=followed)
  type: float
  sample: 10.1
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.drill.masters import POLL, follow, look, named

MASTER = {"name": {"type": "str", "required": True}, "url": {"type": "str", "required": True}}
ARGUMENTS = {
    "state": {"type": "str", "choices": ["found", "followed"], "default": "found"},
    "masters": {"type": "list", "elements": "dict", "required": True, "options": MASTER},
    "timeout": {"type": "float", "default": 30},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    urls, timeout = named(module.params["masters"]), module.params["timeout"]
    deadline = time.monotonic() + timeout
    seen = look(urls)
    while not seen.leader and time.monotonic() < deadline:
        time.sleep(POLL)
        seen = look(urls)
    if not seen.leader:
        module.fail_json(
            msg="Not exactly one of {} serves. Fix: run ascend.inference.status, and check that a majority of etcd's members runs".format(
                ", ".join(sorted(urls))
            )
        )
    found = dict(seen._asdict())
    if module.params["state"] == "followed":
        found = dict(leaderless=None, clients_after=None, before=found, **found)
        if not module.check_mode:
            found.update(follow(urls, seen, timeout))
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()
