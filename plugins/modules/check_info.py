#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: check_info
short_description: Gather all facts for the check of a host in one call
version_added: 0.1.0
description:
  - Gathers what M(ascend.inference.host_info), M(ascend.inference.npu_info) and M(ascend.inference.hccn_info) return, in one
    module execution. npu-smi and hccn_tool run at the same time.
  - If a part fails the others are still returned. The failed part has its message under C(error) instead of its result.
  - Changes nothing.
options:
  devices:
    description: Physical ids of the devices whose network is checked. Without devices, NPUs are not checked either.
    type: list
    elements: int
    default: []
  link_details:
    description: Also gather optical module, counters, link history, MTU, speed and FEC mode of each device's RoCE port.
    type: bool
    default: true
  npu_smi:
    description: Path of npu-smi. By default it is searched for in E(PATH) and in the driver's default folders.
    type: path
  hccn_tool:
    description: Path of hccn_tool. By default it is searched for in E(PATH) and in the driver's default folders.
    type: path
  timeout:
    description: Timeout of one call of a vendor tool in seconds. After it the tool is killed with all its children.
    type: float
    default: 30
  workers:
    description: Number of devices that are queried with hccn_tool at the same time.
    type: int
    default: 16
  counter_seconds:
    description: Error counters that are not 0 are read again this many seconds later, to see whether they grow.
    type: float
    default: 3
  hccn_conf:
    description: The driver's file of NPU addresses.
    type: path
    default: /etc/hccn.conf
  cann_path:
    description: Folder in which CANN is installed.
    type: path
    default: /usr/local/Ascend
  record:
    description:
      - Also return each call of npu-smi and hccn_tool with its output as printed, and the text of O(hccn_conf). No further call is made.
    type: bool
    default: false
  deployment:
    description:
      - The deployment's own folder. The devices and ports of the deployments in the folders beside it are returned under C(neighbours) of
        C(host).
    type: path
extends_documentation_fragment:
  - ascend.inference.host_options
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.host_info
  - module: ascend.inference.npu_info
  - module: ascend.inference.hccn_info
"""

EXAMPLES = r"""
- name: Gather all facts for the check of a host with sixteen planned devices
  ascend.inference.check_info:
    devices: "{{ range(16) | list }}"
    models: [/models/DeepSeek-R1_w8a8_mtp]
    disks: [/opt]
  register: gathered
"""

RETURN = r"""
host:
  description:
    - As M(ascend.inference.host_info) returns it, with C(warnings); or only C(error).
    - C(neighbours) has the devices and ports of the host's other deployments, by deployment and service.
  returned: success
  type: dict
npu:
  description:
    - As M(ascend.inference.npu_info) returns it, with C(warnings); or only C(error).
    - The parts C(board) and C(ecc) of the chips of O(devices) are queried, too. If they fail for all chips it is only a warning.
    - C(ecc_growth) of a chip with memory errors has C(seconds) and the C(counters) that grew in that time.
  returned: when O(devices) are given
  type: dict
hccn:
  description:
    - As M(ascend.inference.hccn_info) returns it, with C(warnings); or only C(error).
    - C(growth) of a device with error counters that are not 0 has C(seconds) and the C(counters) that grew in that time.
    - C(hccn_conf_access) has C(mode), C(owner) and C(group) of O(hccn_conf). It is empty if there is no file.
  returned: when O(devices) are given
  type: dict
record:
  description:
    - Base64 of JSON compressed by zlib, with C(node) (the host's own name), C(commands) (C(argv), C(stdin), C(begin) in seconds since 1970,
      C(seconds), C(rc), C(timed_out), C(stdout), C(stderr) and C(problem)) and C(files) (path to text).
  returned: when O(record) is set
  type: str
  sample: eJyrVsrLT0lVslIA0wZKOgpKyfm5uYl5KcVAwehYID8tMycVxKmurQUASSoOQA==
"""

import time
from concurrent.futures import ThreadPoolExecutor

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.hccn.conf import read_access
from ..module_utils.hccn.gather import BASIC
from ..module_utils.hccn.growth import read_growth
from ..module_utils.hccn.report import report
from ..module_utils.host.gather import gather_host
from ..module_utils.host.neighbours import neighbours
from ..module_utils.npu_smi.gather import gather, read_ecc_growth
from ..module_utils.tools.errors import ToolError
from ..module_utils.tools.record import Recorder
from ..module_utils.tools.runner import Tool, ToolMissing, find_executable, run

COUNTERS = ("stats", "link_stat")
DETAILS = ("optical", "mtu", "speed", "fec")
SPEC = dict(
    devices=dict(type="list", elements="int", default=[]),
    link_details=dict(type="bool", default=True),
    npu_smi=dict(type="path"),
    hccn_tool=dict(type="path"),
    timeout=dict(type="float", default=30),
    workers=dict(type="int", default=16),
    hccn_conf=dict(type="path", default="/etc/hccn.conf"),
    models=dict(type="list", elements="path", default=[]),
    every_byte=dict(type="bool", default=False),
    disks=dict(type="list", elements="path", default=[]),
    cann_path=dict(type="path", default="/usr/local/Ascend"),
    reference=dict(type="float"),
    user=dict(type="str", default=""),
    driver_group=dict(type="str", default=""),
    counter_seconds=dict(type="float", default=3),
    record=dict(type="bool", default=False),
    deployment=dict(type="path"),
)


def host_part(params, _runner):
    """The part ``host``."""
    found = gather_host(
        params["models"],
        params["every_byte"],
        params["disks"],
        params["reference"],
        params["cann_path"],
        params["user"],
        params["driver_group"],
    )
    return dict(found, neighbours=neighbours(params["deployment"]) if params["deployment"] else [])


def npu_part(params, runner):
    """The part ``npu``: npu-smi's table and, if available, boards and memory errors."""
    tool = Tool(find_executable("npu-smi", params["npu_smi"]), params["timeout"], runner)
    begin = time.monotonic()
    found = gather(tool, None, extra=("board", "ecc"), devices=params["devices"])
    read_ecc_growth(tool, found, params["counter_seconds"], begin)
    return found


def hccn_part(params, runner):
    """The part ``hccn``: hccn_tool's state of each planned device."""
    tool = Tool(find_executable("hccn_tool", params["hccn_tool"]), params["timeout"], runner)
    queries = COUNTERS + BASIC + DETAILS if params["link_details"] else BASIC
    begin = time.monotonic()
    found = report(tool, sorted(set(params["devices"])), queries, params["workers"], params["hccn_conf"])
    if params["link_details"]:
        read_growth(tool, found["devices"], params["counter_seconds"], params["workers"], begin)
    return dict(found, hccn_conf_access=read_access(params["hccn_conf"]))


def attempt(part, params, runner):
    """A part's result, or only its error."""
    try:
        return part(params, runner)
    except (ToolMissing, ToolError, ValueError, OSError) as error:
        return {"error": str(error)}


def all_parts(params, runner):
    """The result of each part; they run at the same time."""
    with ThreadPoolExecutor(max_workers=3) as pool:
        parts = {"host": pool.submit(attempt, host_part, params, runner)}
        if params["devices"]:
            parts["npu"] = pool.submit(attempt, npu_part, params, runner)
            parts["hccn"] = pool.submit(attempt, hccn_part, params, runner)
        return {name: part.result() for name, part in parts.items()}


def main():
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    params = module.params
    wrong = [name for name in ("timeout", "workers") if params[name] <= 0]
    wrong += ["devices"] if any(device < 0 for device in params["devices"]) else []
    if wrong:
        module.fail_json(msg=f"{', '.join(wrong)}: expected a positive number")
    runner = Recorder() if params["record"] else run
    result = all_parts(params, runner)
    if params["record"]:
        runner.keep_file(params["hccn_conf"])
        result["record"] = runner.packed()
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
