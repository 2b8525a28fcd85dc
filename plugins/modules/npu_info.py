#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: npu_info
short_description: "For your playbooks: gather facts of a host's Ascend NPUs with npu-smi"
version_added: 0.1.0
description:
  - Queries every NPU of the host with C(npu-smi) in one call and returns typed data.
  - Supports the tables of drivers 22.0 to 26.x for Atlas A2 (910B), A3 (two dies per NPU), the first 910, 310P and 950.
  - Unknown output is an error that quotes it, never an empty list. Inconsistencies are warnings.
extends_documentation_fragment:
  - ascend.inference.vendor_tool
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
options:
  gather:
    description:
      - Queries. By default the table, and on A3 the super pod.
      - V(table) is C(npu-smi info). It is also read if another part needs the chips.
      - V(board), V(health), V(usages), V(common), V(memory) and V(ecc) are C(npu-smi info -t) of that name for each NPU or
        chip. They are returned under the keys C(board), C(health_report), C(usages), C(common), C(memory) and C(ecc) of each entry of
        RV(npus).
      - V(superpod) is C(npu-smi info -t spod-info) for each chip of an A3 or 950.
      - V(topology) is C(npu-smi info -t topo).
      - A requested part that fails for all chips is an error. If it fails for some chips it is a warning.
    type: list
    elements: str
    choices: [table, board, health, usages, common, memory, ecc, topology, superpod]
seealso:
  - module: ascend.inference.hccn_info
author:
  - The ascend.inference contributors (@ascend-inference)
"""

EXAMPLES = r"""
- name: Gather facts of the NPUs
  ascend.inference.npu_info:
  register: npu

- name: Fail unless all sixteen dies are present, healthy and idle
  ansible.builtin.assert:
    that:
      - npu.npus | length == 16
      - npu.npus | rejectattr('health', 'eq', 'OK') | length == 0
      - npu.npus | map(attribute='processes') | flatten | length == 0

- name: Also gather error codes, firmware versions and the links between the NPUs
  ascend.inference.npu_info:
    gather: [table, health, board, topology]

- name: Parse output that was saved on another host
  ascend.inference.npu_info:
    executable: /root/print-saved-output.sh
"""

RETURN = r"""
npus:
  description: One entry per chip (on A3 per die), sorted by device, NPU and chip id. Values that the tool prints as C(-) or C(NA) are null.
  returned: success
  type: list
  elements: dict
  contains:
    npu_id:
      description: The NPU's (card's) id. Ids may be sparse. Null if the tool omitted the chip's first row and the id cannot be inferred.
      type: int
    chip_id:
      description: The chip's number on its NPU. Null on 950.
      type: int
    device_id:
      description:
        - The physical id, N of C(/dev/davinciN), from the column C(Phy-ID) of A3.
        - On 310P it is the column C(Device), which is the logical id. Null if the table has neither, as on A2.
      type: int
    name:
      description: The chip's name as printed. A3 always prints Ascend910.
      type: str
    health:
      description: C(OK), C(Warning), C(Alarm), C(Critical) or C(UNKNOWN).
      type: str
    bus_id:
      description: PCIe address.
      type: str
    power_watts:
      description: Power of the NPU in watts. An A3 prints it for the first die only.
      type: float
    temperature_celsius:
      description: Temperature in degrees Celsius.
      type: float
    aicore_percent:
      description: Load of the AI cores. On 950 the column C(NPU Util).
      type: float
    memory_used_mib:
      description: Used memory, column C(Memory-Usage), in MiB. A2 and A3 always print 0.
      type: int
    memory_total_mib:
      description: Memory, column C(Memory-Usage), in MiB.
      type: int
    hbm_used_mib:
      description: Used HBM in MiB. Null on 310P.
      type: int
    hbm_total_mib:
      description: HBM in MiB. Null on 310P.
      type: int
    hugepages_used:
      description: Used huge pages.
      type: int
    hugepages_total:
      description: Huge pages.
      type: int
    processes:
      description: The processes on this chip, at most eight (limit of the tool).
      type: list
      elements: dict
      contains:
        pid:
          description: Process id on the host.
          type: int
        name:
          description: Process name, often truncated, and empty for a process of another container.
          type: str
        memory_mib:
          description: Memory of the NPU that the process uses, in MiB.
          type: int
        container_pid:
          description: Process id in its container, from drivers 26.x on, else null.
          type: int
    super_pod_id:
      description: Id of the super pod. Null if the query failed.
      type: int
      returned: when O(gather) contains V(superpod), and by default on A3
    super_pod_size:
      description: Number of NPUs in the super pod.
      type: int
      returned: when O(gather) contains V(superpod), and by default on A3
    sdid:
      description: Super device id, null on 950. Its bits are checked against server index, chip and device id. A contradiction is a warning.
      type: int
      returned: when O(gather) contains V(superpod), and by default on A3
    server_index:
      description: Index of the server in its super pod.
      type: int
      returned: when O(gather) contains V(superpod), and by default on A3
    board:
      description: The output of C(-t board) with snake_case keys, such as C(firmware_version) and C(board_id).
      type: dict
      returned: when O(gather) contains V(board)
    health_report:
      description: The output of C(-t health) with the keys C(status), C(error_codes) (hexadecimal strings) and C(messages).
      type: dict
      returned: when O(gather) contains V(health)
    usages:
      description: The output of C(-t usages), such as C(hbm_usage_rate_percent). Newer drivers add keys.
      type: dict
      returned: when O(gather) contains V(usages)
    common:
      description: The output of C(-t common), such as C(aicore_count). The key C(mcu) contains the controller's own values.
      type: dict
      returned: when O(gather) contains V(common)
    memory:
      description: The output of C(-t memory), such as C(hbm_capacity_mib).
      type: dict
      returned: when O(gather) contains V(memory)
    ecc:
      description: The output of C(-t ecc), such as C(hbm_double_bit_error_count).
      type: dict
      returned: when O(gather) contains V(ecc)
  sample:
    - {npu_id: 4, chip_id: 1, device_id: 9, name: Ascend910, health: OK, bus_id: "0000:8F:00.0", power_watts: null,
       temperature_celsius: 51, aicore_percent: 0, memory_used_mib: 0, memory_total_mib: 0, hbm_used_mib: 2914,
       hbm_total_mib: 65536, hugepages_used: 0, hugepages_total: 0, processes: [], super_pod_id: 0, super_pod_size: 384,
       sdid: 17629193, server_index: 4}
npu_smi_version:
  description: Version of npu-smi itself.
  returned: success
  type: str
  sample: 25.5.1
driver_version:
  description: Version of the driver. It can differ from the tool's.
  returned: success
  type: str
  sample: 25.5.1
generation:
  description: C(910a), C(a2), C(a3), C(310p) or C(950). Null for another chip.
  returned: success
  type: str
  sample: a3
topology:
  description:
    - C(matrix) maps each NPU id (on A3 physical id) to the link to each other one, such as C(HCCS), C(SIO) or C(SYS).
    - C(cpu_affinity) maps it to the nearest CPUs, if the tool reports them.
  returned: when O(gather) contains V(topology)
  type: dict
  sample:
    matrix: {"12": {"12": X, "13": SIO}, "13": {"12": SIO, "13": X}}
    cpu_affinity: {}
warnings:
  description: Missing or inconsistent values in the tool's output.
  returned: when there are any
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.npu_smi.gather import PARTS, gather
from ..module_utils.tools.errors import ToolError
from ..module_utils.tools.runner import ToolMissing, tool_of
from ..module_utils.tools.text import visible


def main():
    module = AnsibleModule(
        argument_spec=dict(
            executable=dict(type="path"),
            timeout=dict(type="float", default=30),
            gather=dict(type="list", elements="str", choices=list(PARTS)),
        ),
        supports_check_mode=True,
    )
    try:
        result = gather(tool_of(module, "npu-smi"), module.params["gather"])
    except (ToolMissing, ToolError) as error:
        module.fail_json(msg=visible(str(error)))
    for warning in result.pop("warnings"):
        module.warn(visible(warning))
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
