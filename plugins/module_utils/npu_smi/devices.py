# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The NPU devices of this host: from /dev, else from npu-smi."""

from __future__ import annotations

import glob
import os
import re

from ..tools.errors import ToolError, answer
from ..tools.runner import Tool, ToolMissing, find_executable
from .table import parse_info

HOW = "Specify the devices with the option 'devices'."


def davinci_devices(folder="/dev"):
    """N of every /dev/davinciN, sorted."""
    names = [
        re.match(r"davinci(\d+)\Z", os.path.basename(path)) for path in glob.glob(os.path.join(folder, "davinci[0-9]*"))
    ]
    return sorted(int(name.group(1)) for name in names if name)


def find_devices(hccn_tool):
    """The physical ids of this host's devices: /dev/davinci*, else from npu-smi (next to hccn_tool or in PATH).

    An A2's table has no physical ids: the NPU ids are used, which are equal on a host with one chip per NPU.
    """
    found = davinci_devices()
    if found:
        return found
    sibling = os.path.join(os.path.dirname(hccn_tool.path), "npu-smi")
    try:
        npu_smi = Tool(find_executable("npu-smi", sibling if os.path.exists(sibling) else None), hccn_tool.timeout)
        npus, _warnings = answer(npu_smi, ["info"], parse_info)
    except (ToolMissing, ToolError) as error:
        raise ToolError(f"There is no /dev/davinci*, and {error}. {HOW}") from error
    key = "device_id" if any(npu["device_id"] is not None for npu in npus["npus"]) else "npu_id"
    ids = {npu[key] for npu in npus["npus"]}
    if None in ids:
        raise ToolError(f"npu-smi shows chips without an id. {HOW}")
    return sorted(ids)
