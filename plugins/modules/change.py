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
      - V(agree) finds the plan to go back to, on which most hosts agree, once for all hosts. V(take) returns the part of this host.
      - V(compare) compares what runs on this host with two plans, and asks its balancer which routers get requests.
      - V(choose) chooses the mode of the change O(goal) and prints what it costs, or refuses it, once for all hosts.
      - V(observe) compares what runs on this host with the plan, and keeps O(context). With O(registered) it also asks the host's routers and
        balancer, and reads what was recorded.
      - V(devices) asks the tools of this host for the addresses of its NPUs. V(generate) makes the rank table of LLMDataDist of them, once for all hosts.
      - V(write) writes the script of O(goal) and prints it, once for all hosts. The script after that of the goal V(lock) ends with the release of the lock,
        and has no other step if the lock was refused or a part failed meanwhile; V(end) says why.
      - V(play) plays the step O(number) on this host. The first host notes it in the lock of this run.
      - V(end) fails if a step has failed.
    type: str
    choices: [agree, take, choose, compare, observe, devices, generate, write, play, end]
    required: true
  context:
    description: With O(part=observe), the options C(runtime), C(settings), C(services) and C(secrets) of M(ascend.inference.service_state).
      With O(part=compare), C(plans) (C(old) and C(new)), C(settings) of the runtime, C(user) of the services, and C(secrets).
    type: dict
  registered:
    description: With O(part=observe), what M(ascend.inference.service_state) returned with the state present.
    type: dict
  directory:
    description: The deployment's folder.
    type: str
  goal:
    description: With O(part=write), what the change is for. With O(part=agree), O(part=take) and O(part=choose), V(upgrade), V(rollback) or V(back),
      the way back of an upgrade.
    type: str
    choices: [lock, restart, deploy, recreate, drained, changed, shifted, rejoin, upgrade, rollback, back]
  plan:
    description: With O(part=write), O(part=compare) and O(part=generate), the whole plan, or with O(part=devices) that of the host. With O(part=agree)
      and O(part=choose) that of the inventory, empty if it cannot be made. With O(registered) the plan whose routers and balancers on this host are
      asked, empty for none.
    type: dict
    default: {}
  options:
    description: With O(part=write), what O(goal) needs besides. For V(lock) options of M(ascend.inference.deployment_run), and
      C(watch), C(host) of the probe and options of M(ascend.inference.engine_watchdog), by which an engine is chosen under the lock. V(restart) restarts
      it then.
      For V(restart) C(names) of services, empty for all, and C(allow_pause). For V(deploy) C(allow_pause),
      C(early) (before the lock), C(check), C(inventory) (all hosts), C(leaving) and C(settings) of the runtime. For V(drained), V(changed) and
      V(shifted) C(this_round). With O(part=choose) C(asked) (the mode that was asked for, or empty), C(allow_pause), C(cann) (whether this collection
      installs CANN), and for V(back) the C(mode) of the upgrade. With O(part=devices) C(executables) of the tools and the C(timeout) of an answer
      in seconds.
    type: dict
    default: {}
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
files:
  description: With O(part=write), the task file of the role that plays each step.
  returned: success
  type: list
  elements: str
  sample: ["brief", "step"]
alone:
  description: With O(part=write), whether hosts go on without others, so that each one ends by itself.
  returned: success
  type: bool
  sample: false
watched:
  description: With O(part=write), after a lock with C(watch), the C(engine) that was chosen, empty for none, the C(names) of its instance, and C(at), when.
  returned: success
  type: dict
  sample: {}
plan:
  description: With O(part=take), what this host goes back to; empty if it has none of it.
  returned: success
  type: dict
  sample: {}
rank_table:
  description: With O(part=generate), the same file for all hosts.
  returned: success
  type: dict
  sample: {}
comparable:
  description: With O(part=take), whether this version of the collection wrote that plan, so that what runs can be compared with it.
  returned: success
  type: bool
  sample: true
mode:
  description: With O(part=choose), how the services change.
  returned: success
  type: str
  sample: rolling
rounds:
  description: With O(part=choose), for the mode blue_green, which half changes when.
  returned: success
  type: list
  elements: dict
  sample: []
left:
  description: With O(part=choose), the hosts of the play without a plan to go back to.
  returned: success
  type: list
  elements: str
  sample: []
recorded:
  description: With O(part=write), the text of the recorded plan that the change starts from; empty without one. With O(part=take) and O(goal=rollback),
    the plan that this host recorded.
  returned: success
  type: raw
  sample: ""
"""
