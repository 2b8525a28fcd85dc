#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: change
short_description: Play a change of a deployment, step by step
version_added: 0.1.0
description:
  - Observes the hosts, writes the list of all steps before the first one, and plays it. The role P(ascend.inference.service#role) uses it; it is not for
    playbooks of your own and may change.
  - All hosts of the play have to take part in each task. A step that fails is kept as a file of the run, so that no host leaves the play; later
    steps are skipped then, and O(part=end) fails.
author:
  - The ascend.inference contributors (@ascend-inference)
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  part:
    description:
      - V(compare) compares what runs on this host with two plans, and asks its balancer which routers get requests.
      - V(observe) compares what runs on this host with the plan, and keeps O(context). With O(registered) it also asks the host's routers and
        balancer, and reads what was recorded.
      - V(write) writes the script of O(goal) and prints it, once for all hosts.
      - V(play) plays the step O(number) on this host. The first host notes it in the lock of this run.
      - V(end) fails if a step has failed.
    type: str
    choices: [compare, observe, write, play, end]
    required: true
  context:
    description: With O(part=observe), the options C(runtime), C(settings), C(services) and C(secrets) of M(ascend.inference.service_state).
      With O(part=compare), C(plans) (C(old) and C(new)), C(settings) of the runtime, C(user) of the services, and C(secrets).
    type: dict
  registered:
    description: With O(part=observe), what M(ascend.inference.service_state) returned with the state present.
    type: dict
  members:
    description: With O(registered), what changes the engines of this host's routers that run, empty without.
    type: dict
    default: {}
  balancer:
    description: With O(registered), the plan's section of this host's balancer if it runs, empty without.
    type: dict
    default: {}
  directory:
    description: With O(part=observe), the deployment's folder.
    type: str
  goal:
    description: With O(part=write), what the change is for.
    type: str
    choices: [restart, deploy, recreate, drained, changed, shifted, rejoin]
  plan:
    description: With O(part=write) and O(part=compare), the whole plan.
    type: dict
  options:
    description: With O(part=write), what O(goal) needs besides. For V(restart) C(names) of services, empty for all, and C(allow_pause). For V(deploy)
      C(allow_pause), C(early) (before the lock), C(check), C(inventory) (all hosts) and C(settings) of the runtime. For V(drained), V(changed) and
      V(shifted) C(this_round).
    type: dict
  drain_timeout:
    description: With O(part=write), most seconds until engines and routers have finished their requests.
    type: int
  join_timeout:
    description: With O(part=write), most seconds of one answer of an engine that is proven.
    type: int
  number:
    description: With O(part=play), the number of the step, from 0.
    type: int
seealso:
  - module: ascend.inference.service_state
"""

EXAMPLES = r"""
- name: Play a step
  ascend.inference.change:
    part: play
    number: "{{ __service_number }}"
"""

RETURN = r"""
titles:
  description: With O(part=write), what each step does.
  returned: success
  type: list
  elements: str
  sample: ["Take decode-0 out of the routers", "Restart decode-0 and wait until ready, at most 3600 s"]
orphaned:
  description: With O(part=write), for each step the host outside of the play where it is played, empty for all others.
  returned: success
  type: list
  elements: str
  sample: ["", ""]
alone:
  description: With O(part=write), whether hosts go on without others, so that each one ends by itself.
  returned: success
  type: bool
  sample: false
old:
  description: With O(part=compare), what M(ascend.inference.service_state) returned for the old plan.
  returned: success
  type: dict
  sample: {"down": [], "outdated": ["decode-0"]}
new:
  description: With O(part=compare), the same for the new plan.
  returned: success
  type: dict
  sample: {"down": [], "outdated": []}
servers:
  description: With O(part=compare), what the balancer of this host has, by router; empty without.
  returned: success
  type: dict
  sample: {"router": {"state": "ready", "weight": 100}}
holds:
  description: With O(part=compare), whether this host has the virtual address.
  returned: success
  type: bool
  sample: false
recorded:
  description: With O(part=write), the text of the recorded plan that the change starts from; empty without one.
  returned: success
  type: str
  sample: ""
"""
