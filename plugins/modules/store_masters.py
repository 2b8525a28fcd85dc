#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: store_masters
short_description: Find the leader among several masters of the Mooncake store or members of its etcd, or measure a failover
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
  kind:
    description: What O(masters) are.
    type: str
    choices: [mooncake_master, etcd]
    default: mooncake_master
  spare:
    description: >-
      With V(etcd), fail if the members that serve would have no majority without the leader.
    type: bool
    default: false
  masters:
    description: All masters, or all members of etcd.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the service.
        type: str
        required: true
      url:
        description: URL of its metrics port, of a member of etcd that for clients.
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
  description: Name of the master that serves at the end, or of the member of etcd that leads a majority.
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
serving:
  description: The members of etcd that serve at the beginning; empty for masters.
  returned: success
  type: list
  elements: str
  sample: [etcd-0, etcd-1, etcd-2]
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

from ..module_utils.drill import etcd, masters
from ..module_utils.drill.masters import POLL, follow, named

MASTER = {"name": {"type": "str", "required": True}, "url": {"type": "str", "required": True}}
ARGUMENTS = {
    "state": {"type": "str", "choices": ["found", "followed"], "default": "found"},
    "kind": {"type": "str", "choices": ["mooncake_master", "etcd"], "default": "mooncake_master"},
    "spare": {"type": "bool", "default": False},
    "masters": {"type": "list", "elements": "dict", "required": True, "options": MASTER},
    "timeout": {"type": "float", "default": 30},
}


def found(module, look, urls):
    """The leader; fails without one, or where the others would have no majority."""
    deadline = time.monotonic() + module.params["timeout"]
    seen = look(urls)
    while not seen.leader and time.monotonic() < deadline:
        time.sleep(POLL)
        seen = look(urls)
    if not seen.leader:
        does = "leads a majority" if module.params["kind"] == "etcd" else "serves"
        module.fail_json(
            msg="Not exactly one of {} {}. Fix: run ascend.inference.status, and check that a majority of etcd's members runs".format(
                ", ".join(sorted(urls)), does
            )
        )
    problem = etcd.without_majority(urls, seen) if module.params["kind"] == "etcd" and module.params["spare"] else ""
    if problem:
        module.fail_json(msg=problem)
    return seen


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    look = etcd.look if module.params["kind"] == "etcd" else masters.look
    urls = named(module.params["masters"])
    seen = found(module, look, urls)
    result = dict(seen._asdict(), serving=list(seen.serving))
    if module.params["state"] == "followed":
        result = dict(leaderless=None, clients_after=None, before=dict(result), **result)
        if not module.check_mode:
            result.update(follow(urls, seen, module.params["timeout"], look))
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
