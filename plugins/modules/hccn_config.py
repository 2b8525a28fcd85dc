#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: hccn_config
short_description: "For your playbooks: manage addresses, gateway, health detection, MTU and TLS of Ascend NPUs"
version_added: 0.1.0
description:
  - Configures each device of a host with C(hccn_tool). Reads first, changes only settings that differ on the device or in
    C(/etc/hccn.conf), and reads all settings back.
  - All devices are checked before the first one is changed. All problems are reported together.
  - Applies the changes in the order that the tool's side effects require. A new address drops the gateway and the routes outside of its network.
    A given gateway is set again. A gateway or route that would be lost is an error, unless O(accept_loss) is set.
  - Stops at the first change that fails, and reports the state of each device.
  - With O(rollback_file) the old values are kept on the host, and O(state=rolled_back) sets them again.
  - Needs root.
extends_documentation_fragment:
  - ascend.inference.vendor_tool
  - ascend.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  devices:
    description:
      - The devices and their settings. Omitted settings are not changed. Required if O(state=present).
    type: list
    elements: dict
    suboptions:
      device:
        description:
          - Physical id, N of C(/dev/davinciN).
        type: int
        required: true
      ip:
        description:
          - IPv4 address of the RoCE port. Needs O(devices[].netmask).
        type: str
      netmask:
        description:
          - Netmask in dotted notation, as in V(255.255.255.0).
        type: str
      gateway:
        description:
          - Default gateway. It must be in the network of the address.
        type: str
      netdetect:
        description:
          - The address that the device pings to check its network, usually the gateway.
        type: str
      tls:
        description:
          - Whether TLS is on. It must be the same on all devices of a cluster.
        type: bool
      mtu:
        description:
          - MTU in bytes. Some products do not support changing it.
        type: int
  hccn_conf:
    description:
      - The file in which the tool keeps its settings.
    type: path
    default: /etc/hccn.conf
  backup:
    description:
      - Create a backup of O(hccn_conf) next to it before the first change.
    type: bool
    default: true
  accept_loss:
    description:
      - Change an address even if that drops a gateway or routes outside of its network.
    type: bool
    default: false
  workers:
    description:
      - Number of devices that are read at the same time. Changes are made serially.
    type: int
    default: 16
  state:
    description:
      - V(present) applies O(devices).
      - V(rolled_back) sets the values in O(rollback_file) again, gives O(hccn_conf) the text that it had, and removes O(rollback_file).
        Nothing is changed if there is no such file. If others changed further lines of O(hccn_conf) since, the remembered settings
        are set and its other lines stay.
    type: str
    choices: [present, rolled_back]
    default: present
  rollback_file:
    description:
      - File on the host for the values of settings before the first change, and for the text of O(hccn_conf). Only root can read it.
        Values that it already has are kept, so that it holds those of before the first of several runs. Required if
        O(state=rolled_back).
    type: path
seealso:
  - module: ascend.inference.hccn_info
author:
  - The ascend.inference contributors (@ascend-inference)
"""

EXAMPLES = r"""
- name: Set the addresses of the first two NPUs, and switch TLS off
  ascend.inference.hccn_config:
    devices:
      - {device: 0, ip: 10.20.0.10, netmask: 255.255.255.0, gateway: 10.20.0.1, netdetect: 10.20.0.1, tls: false}
      - {device: 1, ip: 10.20.0.11, netmask: 255.255.255.0, gateway: 10.20.0.1, netdetect: 10.20.0.1, tls: false}
  become: true

- name: Only switch TLS off, on all sixteen NPUs
  ascend.inference.hccn_config:
    devices: "{{ dict(range(16) | zip([false] * 16)) | dict2items(key_name='device', value_name='tls') }}"
  become: true

- name: Show what would change
  ascend.inference.hccn_config:
    devices:
      - {device: 3, ip: 10.30.0.13, netmask: 255.255.255.0, gateway: 10.30.0.1}
  become: true
  check_mode: true
  diff: true

- name: Switch TLS off, and keep the old values
  ascend.inference.hccn_config:
    devices:
      - {device: 0, tls: false}
    rollback_file: /var/lib/ascend-inference/fabric.json
  become: true

- name: Set the old values again
  ascend.inference.hccn_config:
    state: rolled_back
    rollback_file: /var/lib/ascend-inference/fabric.json
  become: true
"""

RETURN = r"""
steps:
  description: The changes made, in their order, or in check mode those that would be made.
  returned: success and when a change failed
  type: list
  elements: dict
  contains:
    device:
      description: Physical id.
      type: int
    what:
      description: C(ip), C(gateway), C(netdetect), C(mtu) or C(tls).
      type: str
    command:
      description: The arguments of hccn_tool.
      type: str
  sample: [{device: 3, what: gateway, command: "-i 3 -gateway -s gateway 10.30.0.1"}]
states:
  description:
    - Device id (as string) to C(unchanged), C(changed), C(half set) or C(untouched) (not reached).
  returned: success and when a change failed
  type: dict
  sample: {"0": changed, "1": half set, "2": untouched}
backup_file:
  description: The copy of the file.
  returned: when a copy was made
  type: str
restored:
  description: Whether O(hccn_conf) gets, or in check mode would get, the text that it had.
  returned: when O(state=rolled_back) and there is a rollback file
  type: bool
diff:
  description:
    - The managed settings of every device before and after, as they are on the device and (C(_in_file)) in the file.
  returned: success and when a change failed
  type: dict
warnings:
  description: Accepted losses of routes, and problems of the file.
  returned: when there are any
  type: list
  elements: str
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.hccn import apply as work
from ..module_utils.hccn import rollback
from ..module_utils.hccn.changes import problems
from ..module_utils.hccn.gather import RetryingTool
from ..module_utils.tools.errors import ToolError
from ..module_utils.tools.runner import ToolMissing, tool_of
from ..module_utils.tools.text import visible

DEVICE = dict(
    device=dict(type="int", required=True),
    ip=dict(type="str"),
    netmask=dict(type="str"),
    gateway=dict(type="str"),
    netdetect=dict(type="str"),
    tls=dict(type="bool"),
    mtu=dict(type="int"),
)


def configure(module):
    """Read, plan, apply, read back; the module's result, with ``failed`` and ``msg`` if a change failed."""
    params, entries = module.params, module.params["devices"]
    wrong = problems(entries)
    if wrong:
        raise ToolError("Nothing was changed. " + "; ".join(wrong))
    retrying_tool, devices = RetryingTool(tool_of(module, "hccn_tool")), sorted(entry["device"] for entry in entries)
    queries = work.needed_queries(entries)
    state = work.read_state(retrying_tool, devices, queries, params["workers"])
    steps, notes = work.make_plan(entries, state, params["hccn_conf"], params["accept_loss"])
    before = work.view(entries, state, params["hccn_conf"])
    after = work.forecast(before, steps, work.lost_gateways(steps, state))
    result = dict(changed=bool(steps), warnings=notes, steps=[_shown(step) for step in steps])
    if not steps or module.check_mode:
        states = work.outcome(entries, steps, steps, None)[0]
        return _finished(result, before, after, states)
    if params["rollback_file"]:
        rollback.remember(params["rollback_file"], steps, state, params["hccn_conf"])
    if params["backup"]:
        result["backup_file"] = module.backup_local(os.path.realpath(params["hccn_conf"]))
    return _applied(
        module,
        result,
        entries,
        steps,
        before,
        after,
        lambda: work.read_state(retrying_tool, devices, queries, params["workers"]),
    )


def _applied(module, result, entries, steps, before, after, read):
    done, failed, message, notes = work.apply(RetryingTool(tool_of(module, "hccn_tool")), steps)
    states, missing = work.outcome(entries, steps, done, failed)
    result.update(changed=bool(done), steps=[_shown(step) for step in done], warnings=result["warnings"] + notes)
    try:
        found = work.view(entries, read(), module.params["hccn_conf"])
    except ToolError as error:
        message = message or f"All settings were applied, but they cannot be read back: {error}"
        return dict(
            _finished(result, before, {}, states),
            failed=True,
            msg=visible(work.failure_message(states, missing, message)),
        )
    if not failed and found != after:
        message = work.read_back_message(after, found)
    result = _finished(result, before, found, states)
    return dict(result, failed=True, msg=visible(work.failure_message(states, missing, message))) if message else result


def roll_back(module):
    """Set the values of the rollback file again; the same result as :func:`configure`, with ``restored``."""
    params = module.params
    record = rollback.load(params["rollback_file"])
    if record is None:
        return dict(changed=False, warnings=[], steps=[], states={}, diff=dict(before={}, after={}))
    retrying_tool, devices = RetryingTool(tool_of(module, "hccn_tool")), sorted(int(key) for key in record["devices"])
    queries = rollback.queries(record)
    state = work.read_state(retrying_tool, devices, queries, params["workers"])
    steps, notes, text = rollback.steps_back(record, state, params["hccn_conf"])
    before = rollback.values_of(record, state)
    after = rollback.forecast(before, steps, work.lost_gateways(steps, state))
    result = dict(changed=True, warnings=notes, steps=[_shown(step) for step in steps], restored=text is not None)
    entries = [dict(device=device) for device in devices]
    if module.check_mode:
        return _finished(result, before, after, work.outcome(entries, steps, steps, None)[0])
    done, failed, message, more = work.apply(retrying_tool, steps)
    states, missing = work.outcome(entries, steps, done, failed)
    result.update(changed=bool(done), steps=[_shown(step) for step in done], warnings=notes + more)
    if not failed and text is not None:
        rollback.write_text(params["hccn_conf"], text)
    found = rollback.values_of(record, work.read_state(retrying_tool, devices, queries, params["workers"]))
    if not failed and found != after:
        message = work.read_back_message(after, found)
    if message:
        message = visible(work.failure_message(states, missing, message))
        return dict(_finished(result, before, found, states), failed=True, msg=message)
    rollback.forget(params["rollback_file"])
    return dict(_finished(result, before, found, states), changed=True)


def _shown(step):
    return dict(device=step.device, what=step.what, command=" ".join(["-i", str(step.device)] + step.args))


def _finished(result, before, after, states):
    return dict(
        result, diff=dict(before=before, after=after), states={str(device): state for device, state in states.items()}
    )


def main():
    module = AnsibleModule(
        argument_spec=dict(
            executable=dict(type="path"),
            timeout=dict(type="float", default=30),
            devices=dict(type="list", elements="dict", options=DEVICE),
            hccn_conf=dict(type="path", default="/etc/hccn.conf"),
            backup=dict(type="bool", default=True),
            accept_loss=dict(type="bool", default=False),
            workers=dict(type="int", default=16),
            state=dict(type="str", choices=["present", "rolled_back"], default="present"),
            rollback_file=dict(type="path"),
        ),
        required_if=[("state", "present", ["devices"]), ("state", "rolled_back", ["rollback_file"])],
        supports_check_mode=True,
    )
    try:
        result = configure(module) if module.params["state"] == "present" else roll_back(module)
    except (ToolMissing, ToolError) as error:
        module.fail_json(msg=visible(str(error)))
    for warning in result.pop("warnings"):
        module.warn(visible(warning))
    module.fail_json(**result) if result.pop("failed", False) else module.exit_json(**result)


if __name__ == "__main__":
    main()
