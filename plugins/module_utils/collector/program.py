# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of the timer ascend-inference-npu-metrics: one round of queries, one file for node_exporter. Only the standard library.

Called with the folder of node_exporter's textfile collector; optionally --npu-smi PATH and --hccn-tool PATH. hccn_tool is called for one
device after the other, and waits while another program holds its lock.
"""

from __future__ import annotations

import argparse
import sys
import time

from ..hccn.gather import read_devices
from ..npu_smi.devices import davinci_devices
from ..npu_smi.gather import gather
from ..tools.errors import ToolError
from ..tools.runner import Tool, ToolMissing, find_executable
from .metrics import samples, text_of
from .textfile import write

FILE = "ascend_inference_npu.prom"
TIMEOUT = 30  # seconds of one query; a chip that dropped off the bus lets the tools hang for 300
LINKS = ("link", "link_stat")


def read_npus(executable, trouble):
    """The chips with their memory errors; [] if npu-smi cannot say, and the reason in ``trouble``."""
    try:
        found = gather(Tool(find_executable("npu-smi", executable), TIMEOUT), ["table"], extra=("ecc",))
    except (ToolError, ToolMissing, ValueError) as error:
        trouble.append(str(error))
        return []
    trouble += found["warnings"]
    return found["npus"]


def read_links(executable, devices, trouble):
    """The links by device; {} on a host without hccn_tool."""
    try:
        tool = Tool(find_executable("hccn_tool", executable), TIMEOUT)
    except ToolMissing as error:
        if executable:
            trouble.append(str(error))
        return {}
    found = read_devices(tool, devices, list(LINKS), 1)
    trouble += [f"device {device}: {error}" for device in found for error in found[device]["errors"].values()]
    return found


def main(argv):
    """One round. The exit status is 1 if there is no device, or the state of one is not known; the file says of which."""
    parser = argparse.ArgumentParser(description="Metrics of NPUs for node_exporter")
    parser.add_argument("folder")
    parser.add_argument("--npu-smi", default="")
    parser.add_argument("--hccn-tool", default="")
    given = parser.parse_args(argv)
    trouble = []
    npus = read_npus(given.npu_smi, trouble)
    ids = {npu["npu_id"] if npu["device_id"] is None else npu["device_id"] for npu in npus} - {None}
    devices = sorted(ids | set(davinci_devices()))
    links = read_links(given.hccn_tool, devices, trouble)
    found = samples(npus, links, devices, time.time())
    write(given.folder, FILE, text_of(found))
    for line in trouble:
        sys.stderr.write(line + "\n")
    unknown = any(name == "inference_npu_query_failed" and value for name, labels, value in found)
    return 1 if unknown or not devices else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
