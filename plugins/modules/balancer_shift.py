#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: balancer_shift
short_description: Move requests from routers to others behind a running balancer, and return them if the latter do worse
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Gives the routers O(to) 5, 50 and then 100 percent of the requests, by weights of HAProxy's runtime socket. HAProxy compares requests under way
    with the weights, so with few clients at a time the first share is larger.
  - In each step it asks all routers directly, and reads HAProxy's counters. If a request to O(to) fails or is answered without text, if
    more requests of clients fail there than before, or if the first token comes later than O(slower) allows, the routers O(origin) get all
    requests again at once, and the module fails with the reason.
  - The same holds if HAProxy restarts meanwhile, if another process changes these routers, or if O(to) gets requests already.
attributes:
  check_mode:
    details: Moves nothing and sends no request.
  diff_mode:
    support: none
extends_documentation_fragment:
  - ascend.inference.attributes.changing
  - ascend.inference.balancer
options:
  origin:
    description: Names of the routers that serve.
    type: list
    elements: str
    required: true
  to:
    description: Names of the routers that get the requests.
    type: list
    elements: str
    required: true
  routers:
    description: All of these routers.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Its name.
        type: str
        required: true
      url:
        description: Its URL.
        type: str
        required: true
  model:
    description: Name of the served model.
    type: str
    required: true
  token:
    description: Key of the routers' API, if they need one.
    type: str
    default: ""
  seconds:
    description: How long each step is watched.
    type: float
    default: 60.0
  slower:
    description: How many times later the first token may come at O(to) than at O(origin). Differences below 0.2 s do not count.
    type: float
    default: 2.0
  timeout:
    description: Timeout of one direct request, and the most seconds until the balancer finds a router ready.
    type: float
    default: 60.0
"""

EXAMPLES = r"""
- name: Move the requests to the second router
  ascend.inference.balancer_shift:
    socket: /opt/ascend-inference/deployments/inference/run/balancer.sock
    origin: [router]
    to: [router-1]
    routers:
      - {name: router, url: "http://10.0.0.1:8000"}
      - {name: router-1, url: "http://10.0.0.2:8020"}
    model: qwen
"""

RETURN = r"""
steps:
  description: Each step with its share in percent, the seconds watched, and both sides.
  returned: always
  type: list
  elements: dict
  sample:
    - share: 5
      seconds: 60.0
      origin: {requests: 190, failures: 0, asked: 60, first: 0.41, problems: []}
      to: {requests: 11, failures: 0, asked: 60, first: 0.44, problems: []}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.balancer.admin import Balancer, BalancerProblem
from ..module_utils.balancer.shift import Outcome, shift
from ..module_utils.drill.load import Service
from ..module_utils.tools.http_client import Target
from ..module_utils.tools.text import visible

ROUTER = {"name": {"type": "str", "required": True}, "url": {"type": "str", "required": True}}
ARGUMENTS = {
    "socket": {"type": "path", "required": True},
    "backend": {"type": "str", "default": "routers"},
    "state_file": {"type": "path", "default": ""},
    "origin": {"type": "list", "elements": "str", "required": True},
    "to": {"type": "list", "elements": "str", "required": True},
    "routers": {"type": "list", "elements": "dict", "required": True, "options": ROUTER},
    "model": {"type": "str", "required": True},
    "token": {"type": "str", "default": "", "no_log": True},
    "seconds": {"type": "float", "default": 60.0},
    "slower": {"type": "float", "default": 2.0},
    "timeout": {"type": "float", "default": 60.0},
}


def shown(steps):
    """The steps as plain data."""
    return [dict(step._asdict(), origin=dict(step.origin._asdict()), to=dict(step.to._asdict())) for step in steps]


def moved(module):
    """The outcome; nothing in check mode."""
    params = module.params
    urls = {router["name"]: router["url"].rstrip("/") for router in params["routers"]}
    unknown = sorted(set(params["origin"] + params["to"]) - set(urls))
    if unknown:
        module.fail_json(msg="routers has no {}. Fix: add their URLs".format(", ".join(unknown)))
    services = {
        name: Service(Target(urls[name], params["token"]), params["model"], timeout=params["timeout"])
        for name in params["origin"] + params["to"]
    }
    if module.check_mode:
        return Outcome([], "")
    balancer = Balancer(params["socket"], params["backend"], state_file=params["state_file"])
    options = {key: params[key] for key in ("seconds", "slower", "timeout")}
    try:
        return shift(balancer, params["origin"], services, params["to"], **options)
    except BalancerProblem as error:
        module.fail_json(msg=visible(f"Requests were not moved: {error}"), steps=[])


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    done = moved(module)
    if done.problem:
        text = "{} do not serve as well as {}: {}. The latter get all requests again. Fix: look into the logs of these routers and their engines"
        names = (", ".join(module.params["to"]), ", ".join(module.params["origin"]), done.problem)
        module.fail_json(msg=visible(text.format(*names)), steps=shown(done.steps))
    module.exit_json(changed=True, steps=shown(done.steps))


if __name__ == "__main__":
    main()
