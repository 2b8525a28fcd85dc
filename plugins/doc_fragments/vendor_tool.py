# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of every module that runs a vendor tool."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  executable:
    description:
      - Path of the vendor tool.
      - By default it is searched for in E(PATH), C(/usr/local/bin), C(/usr/local/sbin), C(/usr/local/Ascend/driver/tools),
        C(/usr/bin) and C(/usr/sbin).
    type: path
  timeout:
    description:
      - Timeout of one call of the tool in seconds. After it the tool is killed with all its children.
      - Both vendor tools can hang for minutes on a chip that dropped off the bus.
    type: float
    default: 30
notes:
  - Runs with Python 3.7 and newer on the target. Only the driver's own tools are needed there.
  - The folders of the driver's libraries are added to E(LD_LIBRARY_PATH), because non-login sessions often do not have them.
requirements:
  - the Ascend driver's tools npu-smi and hccn_tool
"""
