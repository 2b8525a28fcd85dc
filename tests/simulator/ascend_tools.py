# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A SIMULATOR of npu-smi and hccn_tool over a JSON state file. It measures nothing and controls nothing; it is for tests only.

Called as ``npu-smi`` or ``hccn_tool`` (by link), or with ``--as NAME`` first. ``--simulator`` prints that it is a simulator.
``ASCEND_SIMULATOR_STATE`` names the host's state file, which :mod:`ascend_cluster` writes and describes. All hosts of one folder
are connected, except as in its ``network.json``. Formats, exit statuses, streams, prompts and side effects are re-implemented from
known facts about drivers 23.x to 26.x; output that is not published (hccs_ping) follows the format strings of the open source code.
"""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import simulated_hccn_tool  # (siblings of this script)
import simulated_npu_smi
from simulated_host import Answer, Host

TOOLS = {"npu-smi": simulated_npu_smi.answer, "hccn_tool": simulated_hccn_tool.answer}


def main(argv):
    name, args = os.path.basename(argv[0]), argv[1:]
    if args[:1] == ["--as"]:
        name, args = args[1], args[2:]
    if args == ["--simulator"]:
        print(f"This is the ascend.inference simulator of {' and '.join(TOOLS)}, not a vendor tool.")
        return 0
    state = os.environ.get("ASCEND_SIMULATOR_STATE")
    if name not in TOOLS or not state:
        print("simulator: call me npu-smi or hccn_tool (or --as NAME), and set ASCEND_SIMULATOR_STATE", file=sys.stderr)
        return 70
    host = Host(state)
    answer = host.behave(name, args) or TOOLS[name](host, args)
    assert isinstance(answer, Answer)
    sys.stdout.write(answer.out)
    sys.stderr.write(answer.err)
    return answer.rc


if __name__ == "__main__":
    sys.exit(main(sys.argv))
