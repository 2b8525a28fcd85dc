#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: hccn_ping
short_description: "For your playbooks: ping NPU peers over RoCE or HCCS"
version_added: 0.1.0
description:
  - Pings NPUs of other hosts from this host's NPUs and returns reachability, times and loss of each pair.
  - Evaluates the figures, because C(hccn_tool -hccs_ping) exits with 0 even if every packet is lost.
  - The two dies of one A3 NPU do not reach each other over RoCE. That is normal.
  - The output of C(-hccs_ping) is parsed in the format of the driver's open source. No output of a shipped driver is published.
extends_documentation_fragment:
  - ascend.inference.vendor_tool
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
options:
  peers:
    description:
      - The peers to ping.
    type: list
    elements: dict
    required: true
    suboptions:
      address:
        description:
          - With O(kind=roce) the address of the peer's RoCE port, with O(kind=hccs) that of its virtual NIC.
        type: str
      sdid:
        description:
          - Super device id of the peer. With O(kind=hccs) it is pinged if there is no O(peers[].address).
        type: int
      devices:
        description:
          - The devices of this host that ping the peer. By default all of O(devices).
        type: list
        elements: int
  devices:
    description:
      - Physical ids of this host's devices.
      - By default all devices of C(/dev/davinci*), else of npu-smi.
    type: list
    elements: int
  kind:
    description:
      - The plane. V(roce) is C(hccn_tool -ping), V(hccs) is C(hccn_tool -hccs_ping) within a super pod of A3.
    type: str
    choices: [roce, hccs]
    default: roce
  count:
    description:
      - Packets per pair. Over RoCE the tool sends three at a time, so the number is rounded up to a multiple of three.
    type: int
    default: 3
  max_loss_percent:
    description:
      - A pair that loses more is unreachable.
    type: float
    default: 0
  max_time_ms:
    description:
      - A pair whose average time is longer is unreachable. By default there is no limit.
    type: float
  fail:
    description:
      - Fail if a pair is unreachable. If V(false), only report it.
    type: bool
    default: true
  workers:
    description:
      - Number of devices that ping at the same time.
    type: int
    default: 16
  record:
    description:
      - Also return each call of hccn_tool with its output as printed.
    type: bool
    default: false
seealso:
  - module: ascend.inference.hccn_info
author:
  - The ascend.inference contributors (@ascend-inference)
"""

EXAMPLES = r"""
- name: Ping the NPUs of another host from every NPU of this A2 host
  ascend.inference.hccn_ping:
    peers:
      - address: 10.20.1.10
      - address: 10.20.1.11

- name: Ping the die of the same index on another host from each die of this A3 over HCCS, without failing
  ascend.inference.hccn_ping:
    kind: hccs
    peers:
      - {address: 192.1.2.199, devices: [0]}
      - {address: 192.1.2.198, devices: [1]}
    max_time_ms: 1
    fail: false
  register: fabric
"""

RETURN = r"""
matrix:
  description: Device id (as string) to peer (its address, else its SDID) to the result.
  returned: if the options are valid
  type: dict
  sample:
    "0":
      10.20.1.10: {reachable: true, reason: null, transmitted: 3, received: 3, loss_percent: 0.0, min_ms: 0.034, average_ms: 0.497,
                   max_ms: 1.418, plane_errors: []}
unreachable_pairs:
  description:
    - The pairs with too much loss, too long times, a failed plane check or no answer, with the reason.
    - Not called C(unreachable), because Ansible treats a result with that key as an unreachable host.
  returned: if the options are valid
  type: list
  elements: dict
  sample: [{device_id: 3, address: 10.20.1.13, sdid: null, reason: "100 % of 3 packets lost (allowed: 0 %)"}]
given_up:
  description: Devices whose pings timed out, so that their remaining peers were skipped.
  returned: if the options are valid
  type: list
  elements: dict
  sample: [{device_id: 3, pinged: 2, planned: 49}]
record:
  description: As RV(ascend.inference.check_info#module:record).
  returned: when O(record) is set
  type: str
  sample: eJyrVsrLT0lVslIA0wZKOgpKyfm5uYl5KcVAwehYID8tMycVxKmurQUASSoOQA==
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.hccn.gather import RetryingTool
from ..module_utils.hccn.ping import pairs, peer_errors, peer_name, ping_all
from ..module_utils.npu_smi.devices import find_devices
from ..module_utils.tools.errors import ToolError
from ..module_utils.tools.how_many import how_many
from ..module_utils.tools.record import Recorder
from ..module_utils.tools.runner import ToolMissing, run, tool_of
from ..module_utils.tools.text import visible

PEER = dict(address=dict(type="str"), sdid=dict(type="int"), devices=dict(type="list", elements="int"))
SPEC = dict(
    executable=dict(type="path"),
    timeout=dict(type="float", default=30),
    peers=dict(type="list", elements="dict", required=True, options=PEER),
    devices=dict(type="list", elements="int"),
    kind=dict(type="str", choices=["roce", "hccs"], default="roce"),
    count=dict(type="int", default=3),
    max_loss_percent=dict(type="float", default=0),
    max_time_ms=dict(type="float"),
    fail=dict(type="bool", default=True),
    workers=dict(type="int", default=16),
    record=dict(type="bool", default=False),
)


def ping(params, tool):
    """The module's result for its options."""
    wrong = peer_errors(params["peers"], params["kind"])
    if params["count"] < 1:
        wrong.append(f"count: {params['count']} is not a number of packets")
    if wrong:
        raise ToolError("; ".join(wrong))
    everybody = params["devices"] is None and any(peer["devices"] is None for peer in params["peers"])
    todo = pairs(find_devices(tool) if everybody else sorted(set(params["devices"] or [])), params["peers"])
    if not todo:
        raise ToolError("nothing to ping: specify devices and peers")
    limits = (params["max_loss_percent"], params["max_time_ms"])
    return ping_all(RetryingTool(tool), todo, params["kind"], params["count"], params["workers"], *limits)


def main():
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    runner = Recorder() if module.params["record"] else run
    try:
        result = ping(module.params, tool_of(module, "hccn_tool", runner))
    except (ToolMissing, ToolError) as error:
        module.fail_json(msg=visible(str(error)))
    if module.params["record"]:
        result["record"] = runner.packed()
    lost = result["unreachable_pairs"] = result.pop("unreachable")
    if lost and module.params["fail"]:
        first = "; ".join(f"device {pair['device_id']} to {peer_name(pair)}: {pair['reason']}" for pair in lost[:3])
        more = f" (and {len(lost) - 3} more)" if len(lost) > 3 else ""
        module.fail_json(
            msg=visible(f"{how_many(len(lost), 'unreachable pair')}: {first}{more}"), changed=False, **result
        )
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
