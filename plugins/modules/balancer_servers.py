#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: balancer_servers
short_description: Drain routers behind a running balancer, and return them to it
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Changes servers of HAProxy by its runtime socket and reads back. A drained router gets no new requests, and those that it has go on.
  - HAProxy forgets these changes when it restarts, unless O(state_file) is the one that its configuration names.
attributes:
  check_mode:
    details: Does not wait.
extends_documentation_fragment:
  - ascend.inference.attributes.changing
  - ascend.inference.balancer
options:
  servers:
    description: Names of the routers.
    type: list
    elements: str
    required: true
  state:
    description:
      - V(ready) sends requests to them, and waits until they pass the balancer's health check. If they do not within O(timeout), the module fails.
      - V(drain) sends no more requests to them, and waits until they have none. After O(timeout) the module warns and succeeds.
    type: str
    choices: [ready, drain]
    default: ready
  weight:
    description: Their share of the requests relative to the other routers, 0 to 256. Without it the weight is not changed.
    type: int
  allow_last:
    description: Whether V(drain) may leave no other router that gets requests.
    type: bool
    default: false
  timeout:
    description: Most seconds to wait.
    type: int
    default: 300
"""

EXAMPLES = r"""
- name: Send no more requests to a router, and wait until it has none
  ascend.inference.balancer_servers:
    socket: /opt/ascend-inference/deployments/inference/run/balancer.sock
    servers: [router-1]
    state: drain

- name: Return it
  ascend.inference.balancer_servers:
    socket: /opt/ascend-inference/deployments/inference/run/balancer.sock
    servers: [router-1]
"""

RETURN = r"""
before:
  description: All routers of the balancer before, by name.
  returned: success
  type: dict
  sample: {"router": {"state": "ready", "up": true, "weight": 100, "requests": 3}}
after:
  description: The same, read back; in check mode as they would be.
  returned: success
  type: dict
  sample: {"router": {"state": "drain", "up": true, "weight": 100, "requests": 0}}
seconds:
  description: Seconds waited.
  returned: success
  type: float
  sample: 4.5
busy:
  description: Requests that each drained router still had after O(timeout).
  returned: success
  type: dict
  sample: {"router": 1}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.balancer.admin import Balancer, BalancerProblem
from ..module_utils.balancer.servers import bring, lines, shown
from ..module_utils.router.drain import FIX
from ..module_utils.tools.how_many import how_many
from ..module_utils.tools.text import visible

ARGUMENTS = {
    "socket": {"type": "path", "required": True},
    "backend": {"type": "str", "default": "routers"},
    "state_file": {"type": "path", "default": ""},
    "servers": {"type": "list", "elements": "str", "required": True},
    "state": {"type": "str", "choices": ["ready", "drain"], "default": "ready"},
    "weight": {"type": "int"},
    "allow_last": {"type": "bool", "default": False},
    "timeout": {"type": "int", "default": 300},
}


def brought(module):
    """The outcome, with a warning for each router that did not finish in time."""
    params = module.params
    if params["weight"] is not None and not 0 <= params["weight"] <= 256:
        module.fail_json(msg="weight is {}, and HAProxy takes 0 to 256. Fix: correct it".format(params["weight"]))
    balancer = Balancer(params["socket"], params["backend"], state_file=params["state_file"])
    options = {key: params[key] for key in ("weight", "allow_last", "timeout")}
    try:
        done = bring(balancer, params["servers"], params["state"], check=module.check_mode, **options)
    except BalancerProblem as error:
        module.fail_json(msg=visible(f"Routers of the balancer: {error}"))
    for name in sorted(done.busy):
        module.warn(
            "{} has {} after {} s, and is stopped now: what is not answered may fail. {}".format(
                name, how_many(done.busy[name], "request"), params["timeout"], FIX
            )
        )
    return done


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    done = brought(module)
    before, after = lines(done.before), lines(done.after)
    module.exit_json(
        changed=before != after,
        before=shown(done.before),
        after=shown(done.after),
        seconds=done.seconds,
        busy=done.busy,
        diff={"before": before, "after": after},
    )


if __name__ == "__main__":
    main()
