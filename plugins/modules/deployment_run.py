#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module deployment_run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: deployment_run
short_description: Begin or end a change of a deployment on a host
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - A deployment is changed by one run at a time. V(begin) takes the lock on the host and fails if another run holds it. V(end) releases
    what this run holds.
  - The lock of a run that has ended without releasing it is taken over if the controller can prove the end, which is the same machine and
    a process that is gone. Any other lock is taken over only by O(break_lock).
  - The host keeps a journal of the deployment's changes. With O(previous) it returns the plan for a rollback, with O(verified) it notes that
    the deployed plan is verified.
  - After a blue/green upgrade that was interrupted, V(begin) fails unless O(accept_half) says that the run knows of halves.
  - Reports no change, as a lock is no state of the deployment.
attributes:
  check_mode:
    details: No lock is taken or released.
  diff_mode:
    support: none
extends_documentation_fragment:
  - ascend.inference.attributes.changing
  - ascend.inference.attributes.with_action
options:
  directory:
    description: The deployment's folder on the host. The lock lies beside it.
    type: path
    required: true
  state:
    description: Whether the change begins or ends. V(note) writes O(step) into the lock that this run holds.
    type: str
    choices: [begin, end, note]
    required: true
  step:
    description: With O(state=note), the step that the change has reached, in words. The next run says it if this one is killed.
    type: str
    default: ""
  script:
    description: With O(state=note), all steps of the change, each with C(step) (its title and hosts) and C(state) (done, begun or open).
    type: list
    elements: dict
    default: []
  make:
    description: Whether V(begin) makes the folder that holds deployments. If not, and there is none, nothing is locked.
    type: bool
    default: true
  previous:
    description:
      - What RV(previous) is needed for. V(upgrade) wants the last verified plan, or the deployed one where none was ever verified.
        V(rollback) wants the last verified plan, or the one before it if that is what runs, and RV(last). V(verified) wants the last verified plan.
    type: str
    choices: ["", upgrade, rollback, verified]
    default: ""
  verified:
    description: With V(end), the digest of the plan that was verified. Noted if it is the deployed one. Empty notes nothing.
    type: str
    default: ""
  accept_half:
    description:
      - Whether V(begin) also succeeds after an upgrade was interrupted that had begun to change one half of the instances. Engines run then that
        cannot exchange KV cache, each half has routers of its own, and only one of them gets requests. If the journal is damaged, it is unknown
        whether it is so, and V(begin) warns.
      - Only for changes that know the half, or that bring no engine to a router.
    type: bool
    default: false
  hosts:
    description:
      - All hosts of the plan, on which this run may start services. V(begin) notes them before the first change, so that the next run finds a host
        that is in no recorded plan because this one was killed.
    type: list
    elements: str
    default: []
  placement:
    description: C(placement) of the plan, which V(begin) notes with the hosts, so that the next run keeps instances where this one has placed them.
    type: dict
  break_lock:
    description: The id of a run whose lock is taken over, as the error message names it. Evaluated on the controller.
    type: str
    default: ""
  run:
    description: The run, with C(id), C(owner), C(controller) and C(since). The action plugin fills it in.
    type: dict
    default: {}
  replace:
    description: The id of the run whose lock is taken over. The action plugin fills it in.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Lock the deployment
  ascend.inference.deployment_run:
    directory: /opt/ascend-inference/deployments/inference
    state: begin
    break_lock: "{{ inference_break_lock | default('') }}"

- name: Release the lock
  ascend.inference.deployment_run:
    directory: /opt/ascend-inference/deployments/inference
    state: end
"""

RETURN = r"""
previous:
  description: The plan for a rollback, empty if there is none.
  returned: with O(previous)
  type: dict
  sample: {}
last:
  description: The last verified plan, if no change was interrupted on this host; otherwise empty.
  returned: with O(previous) V(rollback)
  type: dict
  sample: {}
unverified:
  description: The plan that is deployed, if another one was verified last and no change was interrupted; otherwise empty.
  returned: with O(previous) V(upgrade)
  type: dict
  sample: {}
interrupted:
  description: The digest of the plan of a change that began and has not ended; empty if there is none, V(unknown) if the journal is damaged.
  returned: with O(previous)
  type: str
  sample: ""
half:
  description: The half of the instances that an upgrade was changing when it was interrupted; empty if there is none, V(unknown) if the journal is damaged.
  returned: with O(previous)
  type: str
  sample: ""
revisions:
  description:
    - The revisions that engines may have because a change began and has not ended. Empty if there is none; V(unknown) stands for any, if the
      journal is damaged or of an earlier version.
  returned: with O(previous)
  type: list
  elements: str
  sample: []
phase:
  description: The phase of the journal, which is V(changing), V(deployed) or V(verified); empty without a journal.
  returned: with O(previous)
  type: str
  sample: verified
verified:
  description: Whether O(verified) is the digest of the plan that is deployed, and no change of it was interrupted.
  returned: with O(verified)
  type: bool
holder:
  description: The run that holds the lock, in check mode as it is. Empty if none does.
  returned: success
  type: dict
  sample: {id: ansible-local-4711x, owner: deploy, controller: bastion, since: "2026-11-22T02:00:00Z"}
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.drill import left
from ..module_utils.files import begun, deployment_lock, journal, system_folders, tree
from ..module_utils.tools.disk import explained
from ..module_utils.tools.file_lock import Busy
from ..module_utils.tools.text import visible

ARGUMENTS = {
    "directory": {"type": "path", "required": True},
    "state": {"type": "str", "required": True, "choices": ["begin", "end", "note"]},
    "make": {"type": "bool", "default": True},
    "previous": {"type": "str", "default": "", "choices": ["", "upgrade", "rollback", "verified"]},
    "verified": {"type": "str", "default": ""},
    "accept_half": {"type": "bool", "default": False},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "placement": {"type": "dict"},
    "break_lock": {"type": "str", "default": ""},
    "run": {"type": "dict", "default": {}},
    "replace": {"type": "str", "default": ""},
    "step": {"type": "str", "default": ""},
    "script": {"type": "list", "elements": "dict", "default": []},
}
UNRECORDED = "The verification is not recorded on this host, so rollback will not know it: {}"
UNFINISHED = "a change has not ended. Fix: run status, which names it; end it, then verify again"
DAMAGED = (
    "{} {}, so it is not known whether an upgrade was interrupted after it had begun to change one half of the instances. Engines may run that cannot "
    "exchange KV cache"
)
REPAIR = (
    "{}: this playbook could mix them. Nothing was changed. Fix: run deploy with the settings of the last run, which looks at what runs, writes the file "
    "again and names what has to restart for it; or rollback. Then run this playbook again."
)
REPAIRED = "{}. Playbooks that deploy look at what runs, and write the file again with the plan that is deployed."
OTHER = "another plan than the verified one is deployed here, or none. Fix: run deploy, then verify again"
HALVED = (
    "an upgrade was interrupted after it had begun to change the {} half of the instances. Engines run that cannot exchange KV cache, each half has "
    "routers of its own, and only one of them gets requests: this playbook would mix them. Nothing was changed. Fix: run upgrade with the "
    "settings of the interrupted run, which goes on without a pause, or rollback, which returns to the verified plan; then run this playbook again."
)


def damaged(directory):
    """What is not known because the journal is damaged, or was when the change that has not ended began; "" if it is sound."""
    problem = journal.damage(directory)
    if not problem and journal.unfinished_half(directory) == journal.UNKNOWN:
        problem = "was damaged when a change began that has not ended"
    return DAMAGED.format(os.path.join(directory, journal.JOURNAL), problem) if problem else ""


def begin(params, directory, check):
    """Take the lock; returns the record of the run that holds it. A half that the run does not know is refused under the lock, and releases it."""
    here = params["run"].get("id")
    holder = deployment_lock.holder_of(directory)
    if not check:
        holder = deployment_lock.take(directory, params["run"], params["replace"], params["make"])
    ours = holder.get("id", here) in (here, params["replace"])
    half = journal.unfinished_half(directory) if ours and not params["accept_half"] else ""
    if half and not check:
        deployment_lock.release(directory, here)
    if half:
        raise tree.TreeError(REPAIR.format(damaged(directory)) if half == journal.UNKNOWN else HALVED.format(half))
    if ours and not check and params["hosts"]:
        begun.note(directory, params["hosts"], params["placement"])
    return holder


def notices(params, directory, check):
    """Sentences for who begins: a damaged journal, and a drill that was interrupted, whose paused processes are continued."""
    problem = damaged(directory) if params["accept_half"] else ""
    ended = left.resume(directory) if not check else ""
    return [text for text in (REPAIRED.format(problem) if problem else "", ended) if text]


def recorded(purpose, directory):
    """What the journal knows, for ``purpose``; {} without one."""
    if not purpose:
        return {}
    known, half = journal.read(directory), journal.unfinished_half(directory)
    phase = known.get("phase", "")
    begun_plan = (known.get("plan") or {}).get("digest", "") if phase == journal.CHANGING else ""
    return dict(
        {"unverified": journal.unverified(directory)} if purpose == "upgrade" else {},
        **({"last": journal.last(directory)} if purpose == "rollback" else {}),
        previous=journal.previous(directory, purpose),
        phase=phase,
        half=half,
        revisions=journal.revisions(directory),
        interrupted=journal.UNKNOWN if half == journal.UNKNOWN else begun_plan,
    )


def work(params, check):
    """The result of one call."""
    directory = params["directory"].rstrip("/")
    problem = system_folders.refusal(os.path.dirname(os.path.dirname(directory)) or "/")
    if problem:
        raise tree.TreeError(problem)
    if params["state"] == "begin":
        holder = begin(params, directory, check)
        ours = holder.get("id") == params["run"].get("id")
        try:  # under the lock: until then another run may have changed it
            result = dict(recorded(params["previous"], directory), holder=holder)
        except (tree.TreeError, OSError):
            if ours and not check:
                deployment_lock.release(directory, params["run"].get("id"))
            raise
        return dict(result, warnings_=notices(params, directory, check or not ours))
    result = recorded(params["previous"], directory)
    if params["state"] == "note" and not check:
        deployment_lock.note(directory, params["run"].get("id"), params["step"], params["script"])
    if check or params["state"] == "note":
        return dict(result, holder=deployment_lock.holder_of(directory))
    if params["verified"]:
        result["verified"] = journal.verified(directory, params["verified"], params["run"])
        if not result["verified"]:
            changing = journal.read(directory).get("phase") == journal.CHANGING
            why = damaged(directory) + ". Fix: run deploy, then verify again" if journal.damage(directory) else ""
            result["warnings_"] = [UNRECORDED.format(why or (UNFINISHED if changing else OTHER))]
    if deployment_lock.holder_of(directory).get("id") == params["run"].get("id"):
        left.forget(directory)  # a drill that comes to its end has started what did not come back
    deployment_lock.release(directory, params["run"].get("id"))
    return dict(result, holder=deployment_lock.holder_of(directory))


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    try:
        result = work(module.params, module.check_mode)
        for text in result.pop("warnings_", ()):
            module.warn(visible(text))
        module.exit_json(changed=False, **result)
    except (tree.TreeError, Busy, OSError) as error:
        module.fail_json(
            msg=visible(
                "Lock of {}: {}".format(module.params["directory"], explained(error, module.params["directory"]))
            )
        )


if __name__ == "__main__":
    main()
